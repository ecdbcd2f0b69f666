//! Dimensions with names given sizes.

use crate::function::Function;
use crate::retype::Retype;
use crate::types::{Dim, Element, Type};

/// What names stand for.
pub(crate) type Sizes = [(&'static str, Dim)];

impl Retype for Sizes {
    fn element(&self, element: Element) -> Element {
        element
    }

    fn dim(&self, dim: Dim) -> Dim {
        match dim {
            Dim::Symbol(name) => {
                self.iter().find(|(symbol, _)| *symbol == name).map_or(dim, |(_, size)| *size)
            }
            other => other,
        }
    }
}

impl Function {
    /// The function with sizes for dimensions that have names. Names that are not given stay.
    ///
    /// ```
    /// use cotangent_ir::{Dim, parse};
    ///
    /// let f = parse("fn @sum<n>(%x: [n]f64) -> f64 {
    ///   %s = red sum (%i < n) { %e = ld %x[%i] yield %e } ret %s }").unwrap();
    /// assert!(f.run(&[1.0, 2.0, 3.0]).is_err());
    /// let three = f.specialised(&[("n", Dim::Size(3))]);
    /// assert_eq!(three.run(&[1.0, 2.0, 3.0]).unwrap(), [6.0]);
    /// ```
    #[must_use]
    pub fn specialised(&self, sizes: &[(&'static str, Dim)]) -> Function {
        self.retyped(sizes)
    }

    /// What the names of dimensions stand for if the function is given arguments of these types; none if they
    /// do not fit.
    pub fn sizes_for(&self, types: &[Type]) -> Option<Vec<(&'static str, Dim)>> {
        let mut sizes: Vec<(&'static str, Dim)> = Vec::new();
        for (param, given) in self.params().iter().zip(types) {
            let (own, theirs) = (param.ty.dims(), given.dims());
            if own.len() != theirs.len() || param.ty.element() != given.element() {
                return None;
            }
            for (a, b) in own.iter().zip(theirs) {
                match a {
                    Dim::Symbol(name) => match sizes.iter().find(|(symbol, _)| symbol == name) {
                        None => sizes.push((name, *b)),
                        Some((_, known)) if known == b => {}
                        Some(_) => return None,
                    },
                    other if other == b => {}
                    _ => return None,
                }
            }
        }
        Some(sizes)
    }
}
