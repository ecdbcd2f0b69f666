//! Functions written anew with other types: the same change wherever a type stands.

use std::convert::Infallible;
use std::sync::Arc;

use crate::build::Builder;
use crate::build_arrays::Copied;
use crate::function::{Function, Param, Value};
use crate::library;
use crate::op::Op;
use crate::structure::Structure;
use crate::table::{Entries, Table};
use crate::types::{Dim, Element, Type};

/// A change of types.
pub(crate) trait Retype {
    /// What an element becomes. What is a number stays one, and so does what is none.
    fn element(&self, element: Element) -> Element;

    /// What a dimension becomes.
    fn dim(&self, dim: Dim) -> Dim;

    /// What dimensions become.
    fn dims(&self, dims: &[Dim]) -> Vec<Dim> {
        dims.iter().map(|dim| self.dim(*dim)).collect()
    }

    /// What a type becomes.
    fn ty(&self, ty: Type) -> Type {
        match ty {
            Type::PARTS => ty,
            _ if ty.is_scalar() => Type::scalar(self.element(ty.element())),
            _ => Type::array(self.element(ty.element()), &self.dims(ty.dims())),
        }
    }
}

impl Function {
    /// The function with other types, those of its bodies, of what it calls and of its rule included.
    pub(crate) fn retyped(&self, change: &(impl Retype + ?Sized)) -> Function {
        if let Some(origin) = &self.library {
            let types: Vec<Type> = origin.types.iter().map(|ty| change.ty(*ty)).collect();
            if let Ok(function) = library::function(self.name(), &types) {
                return function;
            }
        }
        let mut b = Builder::new(self.name());
        let args: Vec<Value> = self
            .params()
            .iter()
            .map(|p| b.add_param(Param { ty: change.ty(p.ty), ..p.clone() }))
            .collect();
        let write = |b: &mut Builder, copies: &mut Copied, value| -> Result<bool, Infallible> {
            let ty = || change.ty(self.ty(value));
            let copy = match self.op(value) {
                op @ (Op::Constant(_) | Op::Rounded(_)) => b.copy(op, ty(), &[]),
                Op::Cast => b.cast(copies.of(self.operand(value, 0)), ty().element()),
                Op::Fill => b.fill(copies.of(self.operand(value, 0)), ty()),
                Op::Table(_) => match self.table(value).and_then(|table| retyped(table, ty())) {
                    Some(table) => b.table(table),
                    None => return Ok(false),
                },
                Op::Structure(_) => {
                    let Some(structure) = self.structure(value) else { return Ok(false) };
                    // What is called has names of its own, for what it was given.
                    let mut new = structure.with_bodies(|body| Arc::new(body.retyped(change)));
                    if let Structure::Tab { dims, .. }
                    | Structure::Red { dims, .. }
                    | Structure::Acc { dims, .. } = &mut new
                    {
                        *dims = change.dims(dims);
                    }
                    let parts = b.structure(new, &copies.operands(self, value));
                    copies.set_parts(value, parts);
                    return Ok(true);
                }
                _ => return Ok(false),
            };
            copies.set(value, copy);
            Ok(true)
        };
        let Ok(results) = self.write_into(&mut b, &args, write);
        let mut new = b.finish(results);
        new.rule = self.rule().map(|rule| Arc::new(rule.retyped(change)));
        new
    }
}

/// The same entries as another type; none if that is what they are.
fn retyped(table: &Table, ty: Type) -> Option<Table> {
    match table.entries() {
        Entries::Numbers(bits) if table.ty() != ty => {
            let numbers: Vec<f64> = bits.iter().map(|bits| f64::from_bits(*bits)).collect();
            Table::numbers(ty, &numbers)
        }
        _ => None,
    }
}
