//! Indices that are traced, arrays of them, and tables of indices that are known.

use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::panic::Location;
use std::sync::Arc;

use cotangent_numbers::fault::{Fault, raise};
use cotangent_ops::Comparison;

use crate::function::Value;
use crate::op::Integral;
use crate::table::{Entries, Table};
use crate::trace::{Traced, TracedMask};
use crate::trace_region::{Place, Trace, with, with_all, with_outermost};
use crate::types::{Dim, Element, Type};

/// An integer of a trace: what a loop counts with and an array is indexed by.
///
/// Arithmetic goes with `usize`, which sizes and literals are; other integers go by `TracedIndex::from`. It
/// wraps around; a quotient is rounded down, so that
/// `(i - 1) % n` is an index for every `i`.
///
/// ```
/// use cotangent_ir::{TracedArray, sum_over, trace_arrays};
///
/// let n = 4;
/// let ring = trace_arrays("ring", &[&[n]], |x| {
///     sum_over(0..n, |i| x[0].at(i) * x[0].at((i + 1) % n))
/// })?;
/// assert_eq!(ring.run(&[1.0, 2.0, 3.0, 4.0]).unwrap(), [2.0 + 6.0 + 12.0 + 4.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[derive(Clone, Copy)]
pub struct TracedIndex {
    /// The integer itself, if it is constant.
    c: i64,
    pub(crate) place: Place,
}

impl TracedIndex {
    pub(crate) fn fixed(c: i64) -> Self {
        TracedIndex { c, place: Place::NONE }
    }

    /// A value of a trace that is an integer.
    pub(crate) fn of(trace: &Trace, value: Value) -> Self {
        match trace.builder.known_integer(value) {
            Some(c) => TracedIndex::fixed(c),
            None => TracedIndex { c: 0, place: trace.at(value) },
        }
    }

    /// The value in a trace in which it has a place; a constant is added.
    pub(crate) fn value_in(self, trace: &mut Trace, place: Place) -> Value {
        match place.is_constant() {
            true => trace.builder.integer(self.c),
            false => place.value(),
        }
    }

    /// The integer, if it is the same whenever the function runs.
    pub fn known(self) -> Option<i64> {
        self.place.is_constant().then_some(self.c)
    }

    #[track_caller]
    fn combine(self, other: Self, integral: Integral) -> Self {
        if let (Some(a), Some(b)) = (self.known(), other.known()) {
            return TracedIndex::fixed(integral.apply(a, b, Element::I64));
        }
        with([self.place, other.place], Location::caller(), |trace, [p, q]| {
            let (x, y) = (self.value_in(trace, p), other.value_in(trace, q));
            let value = trace.builder.integral(integral, x, y);
            TracedIndex::of(trace, value)
        })
    }

    /// The smaller.
    #[must_use]
    #[track_caller]
    pub fn min(self, other: impl Into<Self>) -> Self {
        self.combine(other.into(), Integral::Min)
    }

    /// The larger.
    #[must_use]
    #[track_caller]
    pub fn max(self, other: impl Into<Self>) -> Self {
        self.combine(other.into(), Integral::Max)
    }

    /// Compares without branching.
    #[track_caller]
    pub fn compare(self, other: impl Into<Self>, comparison: Comparison) -> TracedMask {
        let other = other.into();
        if let (Some(a), Some(b)) = (self.known(), other.known()) {
            return TracedMask::from(comparison.holds(&a, &b));
        }
        with([self.place, other.place], Location::caller(), |trace, [p, q]| {
            let (x, y) = (self.value_in(trace, p), other.value_in(trace, q));
            let value = trace.builder.compare(comparison, x, y);
            TracedMask::of(trace, value)
        })
    }

    /// Whether it is less.
    #[track_caller]
    pub fn less(self, other: impl Into<Self>) -> TracedMask {
        self.compare(other, Comparison::Less)
    }

    /// Whether it is at most so much.
    #[track_caller]
    pub fn at_most(self, other: impl Into<Self>) -> TracedMask {
        self.compare(other, Comparison::AtMost)
    }

    /// Whether it is greater.
    #[track_caller]
    pub fn greater(self, other: impl Into<Self>) -> TracedMask {
        self.compare(other, Comparison::Greater)
    }

    /// Whether it is at least so much.
    #[track_caller]
    pub fn at_least(self, other: impl Into<Self>) -> TracedMask {
        self.compare(other, Comparison::AtLeast)
    }

    /// Whether both are the same.
    #[track_caller]
    pub fn equal(self, other: impl Into<Self>) -> TracedMask {
        self.compare(other, Comparison::Equal)
    }

    /// Whether they are not the same.
    #[track_caller]
    pub fn differ(self, other: impl Into<Self>) -> TracedMask {
        self.compare(other, Comparison::Differ)
    }

    /// The integer as a number.
    #[track_caller]
    pub fn to_number(self) -> Traced {
        if let Some(c) = self.known().filter(|c| c.unsigned_abs() <= 1 << 53) {
            return Traced::fixed(c as f64, false);
        }
        with([self.place], Location::caller(), |trace, [place]| {
            let value = self.value_in(trace, place);
            let value = trace.builder.cast(value, trace.ty.element());
            Traced::of(trace, value)
        })
    }
}

impl fmt::Debug for TracedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some(c) => write!(f, "{c}"),
            None => write!(f, "%{}", self.place.id),
        }
    }
}

impl From<i64> for TracedIndex {
    fn from(c: i64) -> Self {
        TracedIndex::fixed(c)
    }
}

impl From<i32> for TracedIndex {
    fn from(c: i32) -> Self {
        TracedIndex::fixed(i64::from(c))
    }
}

impl From<usize> for TracedIndex {
    /// No array is longer than 2⁶³ − 1.
    fn from(c: usize) -> Self {
        TracedIndex::fixed(i64::try_from(c).unwrap_or(i64::MAX))
    }
}

impl From<&TracedIndex> for TracedIndex {
    fn from(index: &TracedIndex) -> Self {
        *index
    }
}

macro_rules! integral {
    ($($Op:ident $op:ident),*) => {
        $(
            impl $Op for TracedIndex {
                type Output = Self;
                #[track_caller]
                fn $op(self, other: Self) -> Self {
                    self.combine(other, Integral::$Op)
                }
            }
            integral!(@with $Op $op usize);
        )*
    };
    (@with $Op:ident $op:ident $T:ty) => {
        impl $Op<$T> for TracedIndex {
            type Output = Self;
            #[track_caller]
            fn $op(self, other: $T) -> Self {
                self.combine(TracedIndex::from(other), Integral::$Op)
            }
        }

        impl $Op<TracedIndex> for $T {
            type Output = TracedIndex;
            #[track_caller]
            fn $op(self, other: TracedIndex) -> TracedIndex {
                TracedIndex::from(self).combine(other, Integral::$Op)
            }
        }
    };
}

integral!(Add add, Sub sub, Mul mul, Div div, Rem rem);

impl Neg for TracedIndex {
    type Output = Self;
    #[track_caller]
    fn neg(self) -> Self {
        TracedIndex::from(0usize) - self
    }
}

/// What an array is indexed by: an index, or several as a tuple, an array or a slice.
pub trait Indices {
    /// The indices, one for each of the first dimensions.
    fn indices(&self) -> Vec<TracedIndex>;
}

macro_rules! one_index {
    ($($T:ty),*) => {
        $(impl Indices for $T {
            fn indices(&self) -> Vec<TracedIndex> {
                vec![TracedIndex::from(*self)]
            }
        })*
    };
}

one_index!(TracedIndex, usize, i64, i32);

impl<I: Indices> Indices for [I] {
    fn indices(&self) -> Vec<TracedIndex> {
        self.iter().flat_map(Indices::indices).collect()
    }
}

impl<I: Indices, const N: usize> Indices for [I; N] {
    fn indices(&self) -> Vec<TracedIndex> {
        self.as_slice().indices()
    }
}

impl<I: Indices> Indices for Vec<I> {
    fn indices(&self) -> Vec<TracedIndex> {
        self.as_slice().indices()
    }
}

impl<I: Indices + ?Sized> Indices for &I {
    fn indices(&self) -> Vec<TracedIndex> {
        (**self).indices()
    }
}

macro_rules! indices_of_tuples {
    ($(($($T:ident $k:tt),+);)*) => {
        $(impl<$($T: Indices),+> Indices for ($($T,)+) {
            fn indices(&self) -> Vec<TracedIndex> {
                let mut all = Vec::new();
                $(all.extend(self.$k.indices());)+
                all
            }
        })*
    };
}

indices_of_tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
}

/// The sizes of an array whose dimensions are known.
pub(crate) fn sizes(ty: Type) -> Vec<usize> {
    let size = |dim: &Dim| match dim {
        Dim::Size(n) => *n,
        Dim::Symbol(_) | Dim::Any => 0,
    };
    ty.dims().iter().map(size).collect()
}

/// The type of an array of these sizes.
pub(crate) fn array_of(element: Element, sizes: &[usize]) -> Type {
    let dims: Vec<Dim> = sizes.iter().map(|n| Dim::Size(*n)).collect();
    Type::array(element, &dims)
}

/// Loads what indices lead to, checking that there are as many as wanted.
pub(crate) fn load<R>(
    (array, ty): (Place, Type),
    indices: &[TracedIndex],
    at: &'static Location<'static>,
    wrap: impl FnOnce(&Trace, Value) -> R,
) -> R {
    let places = std::iter::once(array).chain(indices.iter().map(|i| i.place)).collect();
    check_range(ty, indices, at);
    with_all(places, at, |trace, places| {
        let values: Vec<Value> =
            indices.iter().zip(&places[1..]).map(|(i, p)| i.value_in(trace, *p)).collect();
        let value = trace.builder.load(places[0].value(), &values);
        wrap(trace, value)
    })
}

/// Indices that are known must be in range: what is wrong at every point is said at once.
pub(crate) fn check_range(ty: Type, indices: &[TracedIndex], at: &'static Location<'static>) {
    for (k, (index, size)) in indices.iter().zip(sizes(ty)).enumerate() {
        let inside = |i: i64| usize::try_from(i).is_ok_and(|i| i < size);
        if let Some(i) = index.known().filter(|i| !inside(*i)) {
            let what =
                format!("index {i} is out of range: dimension {k} of {ty} has {size} elements");
            raise(Fault::Misfit { what, at });
        }
    }
}

/// As many indices as an array has dimensions.
pub(crate) fn check_rank(ty: Type, indices: usize, at: &'static Location<'static>) {
    let rank = ty.dims().len();
    if indices != rank {
        let what = format!("an element of {ty} has {rank} indices, {indices} are given");
        raise(Fault::Misfit { what, at });
    }
}

/// An array of integers in a trace: a table, or what a function takes or computes.
#[derive(Clone, Copy, Debug)]
pub struct TracedIndices {
    pub(crate) place: Place,
    pub(crate) ty: Type,
}

impl TracedIndices {
    /// A value of a trace that is an array of integers.
    pub(crate) fn of(trace: &Trace, value: Value) -> Self {
        TracedIndices { place: trace.at(value), ty: trace.builder.ty(value) }
    }

    /// An element.
    #[track_caller]
    pub fn at(self, indices: impl Indices) -> TracedIndex {
        let (indices, at) = (indices.indices(), Location::caller());
        check_rank(self.ty, indices.len(), at);
        load((self.place, self.ty), &indices, at, TracedIndex::of)
    }

    /// How many elements there are.
    pub fn len(self) -> usize {
        self.ty.len().unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The sizes of its dimensions.
    pub fn shape(self) -> Vec<usize> {
        sizes(self.ty)
    }
}

/// A table of indices that is known when a function is traced, for gathers: who is whose neighbour.
///
/// It belongs to no trace and can be used in many. In a function it stands once, however many bodies use it.
///
/// ```
/// use cotangent_ir::{IndexTable, sum_over, trace_arrays};
///
/// let next = IndexTable::new(&[2, 0, 1]);
/// let f = trace_arrays("f", &[&[3]], |x| sum_over(0..3, |i| x[0].at(i) * x[0].at(next.at(i))))?;
/// assert!(f.to_string().contains("table [2, 0, 1] : [3]i64"));
/// assert_eq!(f.run(&[1.0, 2.0, 3.0]).unwrap(), [3.0 + 2.0 + 6.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct IndexTable {
    table: Arc<Table>,
}

impl IndexTable {
    /// A list of indices.
    pub fn new(entries: &[usize]) -> Self {
        let entries: Vec<i64> =
            entries.iter().map(|i| i64::try_from(*i).unwrap_or(i64::MAX)).collect();
        IndexTable::of(&[entries.len()], entries)
    }

    /// A table of several dimensions, row by row.
    ///
    /// # Errors
    /// Another number of entries than the dimensions have.
    #[track_caller]
    pub fn shaped(shape: &[usize], entries: &[usize]) -> Result<Self, Fault> {
        let all = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        if shape.is_empty() || all != Some(entries.len()) {
            let what = format!("a table of {} entries is not of shape {shape:?}", entries.len());
            return Err(Fault::Misfit { what, at: Location::caller() });
        }
        let entries = entries.iter().map(|i| i64::try_from(*i).unwrap_or(i64::MAX)).collect();
        Ok(IndexTable::of(shape, entries))
    }

    fn of(shape: &[usize], entries: Vec<i64>) -> Self {
        let ty = array_of(Element::I64, shape);
        IndexTable { table: Arc::new(Table::of(ty, Entries::Integers(entries))) }
    }

    /// The entries, row by row.
    pub fn entries(&self) -> &[i64] {
        match self.table.entries() {
            Entries::Integers(entries) => entries,
            Entries::Numbers(_) => &[],
        }
    }

    /// The sizes of its dimensions.
    pub fn shape(&self) -> Vec<usize> {
        sizes(self.table.ty())
    }

    /// An entry.
    #[track_caller]
    pub fn at(&self, indices: impl Indices) -> TracedIndex {
        let indices = indices.indices();
        self.traced().at(indices)
    }

    /// The table in the trace that is being made.
    #[track_caller]
    pub fn traced(&self) -> TracedIndices {
        // In the outermost body, so that it stands and is laid out once.
        with_outermost(Location::caller(), |trace| {
            let value = trace.builder.table(self.table.clone());
            TracedIndices::of(trace, value)
        })
    }
}
