//! What a function takes, for [`trace_with`](crate::trace_with): numbers, arrays and indices.

use crate::carried::{Carried, Values};
use crate::trace::Traced;
use crate::trace_array::TracedArray;
use crate::trace_index::{TracedIndex, TracedIndices, array_of};
use crate::types::{Element, Type};

/// What a function takes: a [`number`], an [`array()`], an [`index`] or [`indices`], and tuples, arrays and
/// lists of them.
pub trait Inputs {
    /// What the traced code is given.
    type Traced: Carried;

    /// The types, one for each parameter.
    fn types(&self, to: &mut Vec<Type>);

    /// What the traced code is given, from the parameters.
    fn traced(&self, from: &mut Values) -> Self::Traced;
}

/// A number that a function takes.
#[derive(Clone, Copy, Debug)]
pub struct Number;

/// An index that a function takes.
#[derive(Clone, Copy, Debug)]
pub struct Index;

/// An array of numbers that a function takes.
#[derive(Clone, Debug)]
pub struct Array(Vec<usize>);

/// An array of indices that a function takes.
#[derive(Clone, Debug)]
pub struct Indices(Vec<usize>);

/// A number that a function takes.
pub fn number() -> Number {
    Number
}

/// An index that a function takes.
pub fn index() -> Index {
    Index
}

/// An array of numbers that a function takes.
pub fn array(shape: impl AsRef<[usize]>) -> Array {
    Array(shape.as_ref().to_vec())
}

/// An array of indices that a function takes.
pub fn indices(shape: impl AsRef<[usize]>) -> Indices {
    Indices(shape.as_ref().to_vec())
}

macro_rules! inputs {
    ($($Input:ident $Traced:ident |$self:ident| $ty:expr),*) => {
        $(impl Inputs for $Input {
            type Traced = $Traced;

            fn types(&$self, to: &mut Vec<Type>) {
                to.push($ty);
            }

            fn traced(&self, from: &mut Values) -> $Traced {
                from.take()
            }
        })*
    };
}

inputs!(
    Number Traced |self| Type::F64,
    Index TracedIndex |self| Type::I64,
    Array TracedArray |self| array_of(Element::F64, &self.0),
    Indices TracedIndices |self| array_of(Element::I64, &self.0)
);

impl<T: Inputs> Inputs for Vec<T> {
    type Traced = Vec<T::Traced>;

    fn types(&self, to: &mut Vec<Type>) {
        self.iter().for_each(|input| input.types(to));
    }

    fn traced(&self, from: &mut Values) -> Self::Traced {
        self.iter().map(|input| input.traced(from)).collect()
    }
}

impl<T: Inputs, const N: usize> Inputs for [T; N] {
    type Traced = [T::Traced; N];

    fn types(&self, to: &mut Vec<Type>) {
        self.iter().for_each(|input| input.types(to));
    }

    fn traced(&self, from: &mut Values) -> Self::Traced {
        std::array::from_fn(|k| self[k].traced(from))
    }
}

macro_rules! tuples {
    ($(($($T:ident $k:tt),+);)*) => {
        $(impl<$($T: Inputs),+> Inputs for ($($T,)+) {
            type Traced = ($($T::Traced,)+);

            fn types(&self, to: &mut Vec<Type>) {
                $(self.$k.types(to);)+
            }

            fn traced(&self, from: &mut Values) -> Self::Traced {
                ($(self.$k.traced(from),)+)
            }
        })*
    };
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}
