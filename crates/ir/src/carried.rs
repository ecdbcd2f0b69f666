//! What loops carry and branches give: numbers, masks, indices, arrays, and what is made of them.

use std::panic::Location;

use cotangent_numbers::fault::{Fault, raise};

use crate::function::Value;
use crate::trace::{Traced, TracedMask};
use crate::trace_array::TracedArray;
use crate::trace_index::{TracedIndex, TracedIndices};
use crate::trace_region::{Place, Trace};
use crate::types::{Dim, Element, Type};

/// A value of a trace, whatever it is.
#[derive(Clone, Copy, Debug)]
pub enum TracedValue {
    /// A number.
    Number(Traced),
    /// A truth value.
    Mask(TracedMask),
    /// An index.
    Index(TracedIndex),
    /// An array of numbers.
    Array(TracedArray),
    /// An array of indices.
    Indices(TracedIndices),
}

impl TracedValue {
    /// A value of a trace as what its type says.
    pub(crate) fn of(trace: &Trace, value: Value, at: &'static Location<'static>) -> Self {
        let ty = trace.builder.ty(value);
        match (ty.element(), ty.is_scalar()) {
            _ if ty.dims().contains(&Dim::Any) => {
                let what =
                    format!("{ty} has no size that is known; go round a known number of times");
                raise(Fault::Misfit { what, at })
            }
            (Element::F64 | Element::F32, true) => TracedValue::Number(Traced::of(trace, value)),
            (Element::F64 | Element::F32, false) => {
                TracedValue::Array(TracedArray::of(trace, value))
            }
            (Element::I64 | Element::I32, true) => {
                TracedValue::Index(TracedIndex::of(trace, value))
            }
            (Element::I64 | Element::I32, false) => {
                TracedValue::Indices(TracedIndices::of(trace, value))
            }
            (Element::Bool, true) => TracedValue::Mask(TracedMask::of(trace, value)),
            (Element::Bool, false) => {
                let what = format!("{ty} cannot be handed out; give numbers or indices instead");
                raise(Fault::Misfit { what, at })
            }
        }
    }

    pub(crate) fn place(self) -> Place {
        match self {
            TracedValue::Number(x) => x.place,
            TracedValue::Mask(x) => x.place,
            TracedValue::Index(x) => x.place,
            TracedValue::Array(x) => x.place,
            TracedValue::Indices(x) => x.place,
        }
    }

    /// The value in a trace in which it has a place; a constant is added.
    pub(crate) fn value_in(self, trace: &mut Trace, place: Place) -> Value {
        match self {
            TracedValue::Number(x) => x.value_in(trace, place),
            TracedValue::Mask(x) => x.value_in(trace, place),
            TracedValue::Index(x) => x.value_in(trace, place),
            TracedValue::Array(_) | TracedValue::Indices(_) => place.value(),
        }
    }

    /// Its type, where numbers are of this type.
    pub(crate) fn ty(self, number: Type) -> Type {
        match self {
            TracedValue::Number(_) => number,
            TracedValue::Mask(_) => Type::BOOL,
            TracedValue::Index(_) => Type::I64,
            TracedValue::Array(x) => x.ty,
            TracedValue::Indices(x) => x.ty,
        }
    }
}

/// Values that are taken one after the other.
#[derive(Debug)]
pub struct Values {
    rest: std::vec::IntoIter<TracedValue>,
    at: &'static Location<'static>,
}

impl Values {
    pub(crate) fn new(values: Vec<TracedValue>, at: &'static Location<'static>) -> Self {
        Values { rest: values.into_iter(), at }
    }

    /// The next value, as what it must be: a number, an array, an index, …. Another is a fault.
    #[track_caller]
    pub fn take<T: TryFrom<TracedValue>>(&mut self) -> T {
        match self.rest.next().map(T::try_from) {
            Some(Ok(value)) => value,
            _ => self.misfit("a value"),
        }
    }

    fn misfit(&self, wanted: &str) -> ! {
        let what = format!("{wanted} was given and something else comes back; check `Carried`");
        raise(Fault::Misfit { what, at: self.at })
    }
}

/// What a loop carries from round to round, or a branch gives: numbers, masks, indices and arrays, and
/// tuples, arrays and lists of them. A structure of one's own hands on to its fields.
///
/// ```
/// use cotangent_ir::{Carried, Traced, TracedValue, Values, fori, trace};
///
/// #[derive(Clone)]
/// struct Ball { height: Traced, speed: Traced }
///
/// impl Carried for Ball {
///     fn values(&self, to: &mut Vec<TracedValue>) {
///         self.height.values(to);
///         self.speed.values(to);
///     }
///     fn with_values(&self, from: &mut Values) -> Self {
///         Ball { height: self.height.with_values(from), speed: self.speed.with_values(from) }
///     }
/// }
///
/// let f = trace("fall", 2, |x| {
///     let start = Ball { height: x[0], speed: x[1] };
///     let end = fori(100, start, |_, b| Ball {
///         height: b.height + b.speed * 0.01,
///         speed: b.speed - 9.81 * 0.01,
///     });
///     vec![end.height]
/// })?;
/// let (mut height, mut speed) = (10.0, 3.0);
/// for _ in 0..100 {
///     (height, speed) = (height + speed * 0.01, speed - 9.81 * 0.01);
/// }
/// assert_eq!(f.run(&[10.0, 3.0]).unwrap(), [height]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
pub trait Carried: Sized {
    /// Hands out the values it is made of.
    fn values(&self, to: &mut Vec<TracedValue>);

    /// The same made of other values, taken in the order in which they are handed out.
    #[must_use]
    fn with_values(&self, from: &mut Values) -> Self;
}

macro_rules! carried {
    ($($T:ident $Kind:ident $name:literal),*) => {
        $(
            impl Carried for $T {
                fn values(&self, to: &mut Vec<TracedValue>) {
                    to.push(TracedValue::$Kind(*self));
                }

                fn with_values(&self, from: &mut Values) -> Self {
                    match from.rest.next() {
                        Some(TracedValue::$Kind(value)) => value,
                        _ => from.misfit($name),
                    }
                }
            }

            impl TryFrom<TracedValue> for $T {
                type Error = TracedValue;

                fn try_from(value: TracedValue) -> Result<Self, TracedValue> {
                    match value {
                        TracedValue::$Kind(value) => Ok(value),
                        other => Err(other),
                    }
                }
            }

            impl From<$T> for TracedValue {
                fn from(value: $T) -> Self {
                    TracedValue::$Kind(value)
                }
            }
        )*
    };
}

carried!(
    Traced Number "a number",
    TracedMask Mask "a truth value",
    TracedIndex Index "an index",
    TracedArray Array "an array",
    TracedIndices Indices "an array of indices"
);

impl Carried for TracedValue {
    fn values(&self, to: &mut Vec<TracedValue>) {
        to.push(*self);
    }

    fn with_values(&self, from: &mut Values) -> Self {
        match from.rest.next() {
            Some(value) => value,
            None => from.misfit("a value"),
        }
    }
}

impl<T: Carried> Carried for Vec<T> {
    fn values(&self, to: &mut Vec<TracedValue>) {
        self.iter().for_each(|part| part.values(to));
    }

    fn with_values(&self, from: &mut Values) -> Self {
        self.iter().map(|part| part.with_values(from)).collect()
    }
}

impl<T: Carried, const N: usize> Carried for [T; N] {
    fn values(&self, to: &mut Vec<TracedValue>) {
        self.iter().for_each(|part| part.values(to));
    }

    fn with_values(&self, from: &mut Values) -> Self {
        std::array::from_fn(|k| self[k].with_values(from))
    }
}

/// Values that are computed at every point of a domain: what arrays of them are made of.
///
/// A number becomes an array over the domain, an index an array of indices, an array an array with more
/// dimensions; tuples, arrays and lists become those of arrays.
pub trait Tabulated: Carried {
    /// All of them.
    type Table;

    /// All of them, from the arrays they have become.
    fn table(&self, from: &mut Values) -> Self::Table;
}

macro_rules! tabulated {
    ($($T:ident $Table:ident $Kind:ident $name:literal),*) => {
        $(impl Tabulated for $T {
            type Table = $Table;

            fn table(&self, from: &mut Values) -> $Table {
                match from.rest.next() {
                    Some(TracedValue::$Kind(all)) => all,
                    _ => from.misfit($name),
                }
            }
        })*
    };
}

tabulated!(
    Traced TracedArray Array "a number",
    TracedArray TracedArray Array "an array",
    TracedIndex TracedIndices Indices "an index",
    TracedIndices TracedIndices Indices "an array of indices"
);

impl<T: Tabulated> Tabulated for Vec<T> {
    type Table = Vec<T::Table>;

    fn table(&self, from: &mut Values) -> Self::Table {
        self.iter().map(|part| part.table(from)).collect()
    }
}

impl<T: Tabulated, const N: usize> Tabulated for [T; N] {
    type Table = [T::Table; N];

    fn table(&self, from: &mut Values) -> Self::Table {
        std::array::from_fn(|k| self[k].table(from))
    }
}

macro_rules! tuples {
    ($(($($T:ident $k:tt),*);)*) => {
        $(
            impl<$($T: Carried),*> Carried for ($($T,)*) {
                #[allow(unused_variables, clippy::unused_unit, reason = "of nothing")]
                fn values(&self, to: &mut Vec<TracedValue>) {
                    $(self.$k.values(to);)*
                }

                #[allow(unused_variables, clippy::unused_unit, reason = "of nothing")]
                fn with_values(&self, from: &mut Values) -> Self {
                    ($(self.$k.with_values(from),)*)
                }
            }

            impl<$($T: Tabulated),*> Tabulated for ($($T,)*) {
                type Table = ($($T::Table,)*);

                #[allow(unused_variables, clippy::unused_unit, reason = "of nothing")]
                fn table(&self, from: &mut Values) -> Self::Table {
                    ($(self.$k.table(from),)*)
                }
            }
        )*
    };
}

tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}
