//! Dimensions with names given sizes.

use std::convert::Infallible;
use std::sync::Arc;

use crate::build::Builder;
use crate::build_arrays::Copied;
use crate::function::{Function, Param, Value};
use crate::library;
use crate::op::Op;
use crate::structure::Structure;
use crate::types::{Dim, Type};

/// What names stand for.
pub(crate) type Sizes = [(&'static str, Dim)];

fn dim(dim: Dim, sizes: &Sizes) -> Dim {
    match dim {
        Dim::Symbol(name) => {
            sizes.iter().find(|(symbol, _)| *symbol == name).map_or(dim, |(_, size)| *size)
        }
        other => other,
    }
}

fn dims(all: &[Dim], sizes: &Sizes) -> Vec<Dim> {
    all.iter().map(|d| dim(*d, sizes)).collect()
}

fn ty(ty: Type, sizes: &Sizes) -> Type {
    if ty.is_scalar() || ty == Type::PARTS {
        return ty;
    }
    Type::array(ty.element(), &dims(ty.dims(), sizes))
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
        if let Some(origin) = &self.library {
            let types: Vec<Type> = origin.types.iter().map(|t| ty(*t, sizes)).collect();
            if let Ok(function) = library::function(self.name(), &types) {
                return function;
            }
        }
        let mut b = Builder::new(self.name());
        let args: Vec<Value> = self
            .params()
            .iter()
            .map(|p| b.add_param(Param { ty: ty(p.ty, sizes), ..p.clone() }))
            .collect();
        let change = |b: &mut Builder, copies: &mut Copied, value| -> Result<bool, Infallible> {
            match (self.op(value), self.structure(value)) {
                (Op::Fill, _) => {
                    let scalar = copies.of(self.operand(value, 0));
                    let filled = b.fill(scalar, ty(self.ty(value), sizes));
                    copies.set(value, filled);
                }
                (_, Some(structure)) => {
                    // What is called has names of its own, for what it was given.
                    let mut new = structure.with_bodies(|body| Arc::new(body.specialised(sizes)));
                    if let Structure::Tab { dims: domain, .. }
                    | Structure::Red { dims: domain, .. }
                    | Structure::Acc { dims: domain, .. } = &mut new
                    {
                        *domain = dims(domain, sizes);
                    }
                    let parts = b.structure(new, &copies.operands(self, value));
                    copies.set_parts(value, parts);
                }
                _ => return Ok(false),
            }
            Ok(true)
        };
        let Ok(results) = self.write_into(&mut b, &args, change);
        let mut new = b.finish(results);
        new.rule = self.rule().map(|rule| Arc::new(rule.specialised(sizes)));
        new
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
