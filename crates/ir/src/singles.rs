//! Programs of doubles as programs of singles.

use crate::function::Function;
use crate::retype::Retype;
use crate::types::{Dim, Element};

/// Doubles become singles.
struct Singles;

impl Retype for Singles {
    fn element(&self, element: Element) -> Element {
        match element {
            Element::F64 => Element::F32,
            other => other,
        }
    }

    fn dim(&self, dim: Dim) -> Dim {
        dim
    }
}

impl Function {
    /// The function with singles in the place of doubles, in its bodies, in what it calls and in its rule, too. Integers, truth
    /// values and guards stay.
    ///
    /// What is known is rounded where it stands: take derivatives and simplify before, so that constants have been put
    /// together in doubles.
    ///
    /// ```
    /// use cotangent_ir::parse;
    ///
    /// let f = parse("fn @f(%x: [3]f64, %i: i64) -> f64 { %e = ld %x[%i] %r = mul %e, 0.1 ret %r }").unwrap();
    /// let g = f.in_singles();
    /// assert!(g.to_string().starts_with("fn @f(%x: [3]f32, %i: i64) -> f32"));
    /// assert!(g.verify().is_ok());
    /// assert_eq!(g.in_singles(), g);
    /// ```
    #[must_use]
    pub fn in_singles(&self) -> Function {
        self.retyped(&Singles)
    }
}
