//! Tables: arrays of integers or numbers that are known, written down in the function.
//!
//! A table is an operation without operands, not a constant that is copied to where it is used: a body
//! captures it like any other array, so that it stands in the text once and is laid out once a run.

use std::fmt;
use std::sync::Arc;

use crate::build::Builder;
use crate::function::{Function, Value};
use crate::op::Op;
use crate::types::{Dim, Element, Type};

/// The entries of a table, row by row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entries {
    /// Integers.
    Integers(Vec<i64>),
    /// Numbers, by their bits.
    Numbers(Vec<u64>),
}

/// An array that is known.
///
/// ```
/// use cotangent_ir::parse;
///
/// let f = parse("fn @next(%x: [3]f64) -> f64 {
///   %next = table [1, 2, 0] : [3]i64
///   %s = red sum (%i < 3) {
///     %j = ld %next[%i]
///     %a = ld %x[%i]
///     %b = ld %x[%j]
///     %p = mul %a, %b
///     yield %p
///   }
///   ret %s
/// }").unwrap();
/// assert_eq!(f.run(&[1.0, 2.0, 3.0]).unwrap(), [2.0 + 6.0 + 3.0]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    ty: Type,
    entries: Entries,
}

/// Whether a type is that of an array of so many entries.
fn fits(ty: Type, len: usize) -> bool {
    !ty.is_scalar() && ty != Type::PARTS && ty.len() == Some(len)
}

impl Table {
    /// A table of integers; none if there are not as many as the type has elements.
    pub fn integers(ty: Type, entries: Vec<i64>) -> Option<Table> {
        let narrow = ty.element() == Element::I32;
        let fit = ty.element().is_integer()
            && fits(ty, entries.len())
            && (!narrow || entries.iter().all(|c| i32::try_from(*c).is_ok()));
        fit.then_some(Table { ty, entries: Entries::Integers(entries) })
    }

    /// A table of numbers; none if there are not as many as the type has elements.
    pub fn numbers(ty: Type, entries: &[f64]) -> Option<Table> {
        let single = ty.element() == Element::F32;
        // Singles are kept as the doubles they are.
        let kept = |c: &f64| if single { f64::from(*c as f32) } else { *c };
        let fit = ty.element().is_float() && fits(ty, entries.len());
        let bits = || entries.iter().map(|c| kept(c).to_bits()).collect();
        fit.then(|| Table { ty, entries: Entries::Numbers(bits()) })
    }

    /// A table of as many entries as the type has elements.
    pub(crate) fn of(ty: Type, entries: Entries) -> Table {
        Table { ty, entries }
    }

    /// Its type.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// Its entries.
    pub fn entries(&self) -> &Entries {
        &self.entries
    }

    /// Where an element stands, if all indices are in range.
    fn place(&self, indices: &[i64]) -> Option<usize> {
        let dims = self.ty.dims();
        if indices.len() != dims.len() {
            return None;
        }
        dims.iter().zip(indices).try_fold(0, |place, (dim, index)| match dim {
            Dim::Size(n) => {
                let index = usize::try_from(*index).ok().filter(|i| i < n)?;
                Some(place * n + index)
            }
            _ => None,
        })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        let comma = |k: usize| if k > 0 { ", " } else { "" };
        match &self.entries {
            Entries::Integers(entries) => {
                for (k, c) in entries.iter().enumerate() {
                    write!(f, "{}{c}", comma(k))?;
                }
            }
            Entries::Numbers(entries) => {
                for (k, bits) in entries.iter().enumerate() {
                    let c = f64::from_bits(*bits);
                    write!(f, "{}{}", comma(k), crate::print::written_entry(c, self.ty))?;
                }
            }
        }
        write!(f, "] : {}", self.ty)
    }
}

impl Builder {
    /// An array that is known; equal ones are one.
    pub fn table(&mut self, table: impl Into<Arc<Table>>) -> Value {
        let table = table.into();
        let ty = table.ty;
        let tables = &mut self.function.tables;
        let known = tables.iter().position(|other| Arc::ptr_eq(other, &table) || *other == table);
        let number = known.unwrap_or_else(|| {
            tables.push(table);
            tables.len() - 1
        });
        self.intern(Op::Table(number as u32), ty, &[])
    }

    /// The element of a table at a place that is known.
    pub(crate) fn known_entry(&mut self, array: Value, indices: &[Value]) -> Option<Value> {
        let table = self.function.table(array)?.clone();
        let indices: Vec<i64> =
            indices.iter().map(|v| self.known_integer(*v)).collect::<Option<_>>()?;
        let (place, ty) = (table.place(&indices)?, Type::scalar(table.ty.element()));
        Some(match &table.entries {
            Entries::Integers(entries) => self.integer_of(entries[place], ty),
            Entries::Numbers(entries) => self.constant(f64::from_bits(entries[place]), ty),
        })
    }
}

impl Function {
    /// The table that a value is.
    pub fn table(&self, value: Value) -> Option<&Arc<Table>> {
        match self.op(value) {
            Op::Table(k) => self.tables.get(k as usize),
            _ => None,
        }
    }
}
