//! Arrays that are traced.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::panic::Location;

use cotangent_numbers::fault::{Fault, raise};
use cotangent_ops::{Opcode, Operation, ops};

use crate::combinators::{map_over, max_over, min_over, prod_over, sum_over};
use crate::function::Value;
use crate::table::Table;
use crate::trace::Traced;
use crate::trace_index::{
    Indices, TracedIndex, TracedIndices, array_of, check_range, check_rank, load, sizes,
};
use crate::trace_region::{Place, Trace, with, with_all, with_outermost};
use crate::types::{Element, Type};

/// An array of numbers in a trace. It is a small `Copy` value, whatever the size of the array.
///
/// Operators and the functions of the table work element by element, with arrays of the same shape and with
/// numbers. Nothing is changed in place: [`with`](TracedArray::with) gives another array.
///
/// ```
/// use cotangent_ir::trace_arrays;
///
/// let f = trace_arrays("norm", &[&[3], &[3]], |x| ((x[0] - x[1]) * 2.0).abs().sum())?;
/// assert_eq!(f.run(&[1.0, 2.0, 3.0, 3.0, 2.0, 2.0]).unwrap(), [4.0 + 0.0 + 2.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TracedArray {
    pub(crate) place: Place,
    pub(crate) ty: Type,
}

/// An array, or one number for all of its elements.
#[derive(Clone, Copy, Debug)]
pub enum Elements {
    /// One number.
    Number(Traced),
    /// An array.
    Array(TracedArray),
}

impl From<f64> for Elements {
    fn from(c: f64) -> Self {
        Elements::Number(Traced::from(c))
    }
}

impl From<Traced> for Elements {
    fn from(number: Traced) -> Self {
        Elements::Number(number)
    }
}

impl From<TracedArray> for Elements {
    fn from(array: TracedArray) -> Self {
        Elements::Array(array)
    }
}

impl From<&TracedArray> for Elements {
    fn from(array: &TracedArray) -> Self {
        Elements::Array(*array)
    }
}

impl Elements {
    fn place(self) -> Place {
        match self {
            Elements::Number(x) => x.place,
            Elements::Array(x) => x.place,
        }
    }

    fn value_in(self, trace: &mut Trace, place: Place) -> Value {
        match self {
            Elements::Number(x) => x.value_in(trace, place),
            Elements::Array(_) => place.value(),
        }
    }

    fn array(self) -> Option<Type> {
        match self {
            Elements::Number(_) => None,
            Elements::Array(x) => Some(x.ty),
        }
    }
}

fn misfit(what: String, at: &'static Location<'static>) -> ! {
    raise(Fault::Misfit { what, at })
}

/// The type of an array of numbers; a fault if there are no dimensions.
fn checked(element: Element, shape: &[usize], at: &'static Location<'static>) -> Type {
    if shape.is_empty() {
        misfit("an array has one dimension at least; use a number".to_string(), at);
    }
    array_of(element, shape)
}

impl TracedArray {
    /// A value of a trace that is an array of numbers.
    pub(crate) fn of(trace: &Trace, value: Value) -> Self {
        TracedArray { place: trace.at(value), ty: trace.builder.ty(value) }
    }

    /// An array that is known, row by row.
    ///
    /// ```
    /// use cotangent_ir::{TracedArray, sum_over, trace};
    ///
    /// let f = trace("f", 1, |x| {
    ///     let weights = TracedArray::constant([3], &[0.5, 0.25, 0.125]);
    ///     vec![sum_over(0..3, |i| weights.at(i) * x[0])]
    /// })?;
    /// assert_eq!(f.run(&[8.0]).unwrap(), [7.0]);
    /// # Ok::<(), cotangent_numbers::Fault>(())
    /// ```
    #[track_caller]
    pub fn constant(shape: impl AsRef<[usize]>, entries: &[f64]) -> TracedArray {
        let (shape, at) = (shape.as_ref(), Location::caller());
        with_outermost(at, |trace| {
            let ty = checked(trace.ty.element(), shape, at);
            match Table::numbers(ty, entries) {
                Some(table) => {
                    let value = trace.builder.table(table);
                    TracedArray::of(trace, value)
                }
                None => misfit(format!("{} numbers are no array {ty}", entries.len()), at),
            }
        })
    }

    /// An array of one number everywhere.
    #[track_caller]
    pub fn filled(shape: impl AsRef<[usize]>, number: impl Into<Traced>) -> TracedArray {
        let (number, at) = (number.into(), Location::caller());
        with_all(vec![number.place], at, |trace, places| {
            let ty = checked(trace.ty.element(), shape.as_ref(), at);
            let value = number.value_in(trace, places[0]);
            let value = trace.builder.fill(value, ty);
            TracedArray::of(trace, value)
        })
    }

    /// An array of zeros.
    #[track_caller]
    pub fn zeros(shape: impl AsRef<[usize]>) -> TracedArray {
        TracedArray::filled(shape, 0.0)
    }

    /// A list of numbers as an array, so that it can be indexed by traced indices.
    ///
    /// ```
    /// use cotangent_ir::{TracedArray, sum_over, trace};
    ///
    /// let f = trace("f", 3, |x| {
    ///     let all = TracedArray::from_numbers(x);
    ///     vec![sum_over(0..3, |i| all.at(i) * i.to_number())]
    /// })?;
    /// assert_eq!(f.run(&[5.0, 6.0, 7.0]).unwrap(), [6.0 + 14.0]);
    /// # Ok::<(), cotangent_numbers::Fault>(())
    /// ```
    #[track_caller]
    pub fn from_numbers(numbers: &[Traced]) -> TracedArray {
        let at = Location::caller();
        let places = numbers.iter().map(|x| x.place).collect();
        with_all(places, at, |trace, places| {
            let ty = array_of(trace.ty.element(), &[numbers.len()]);
            let mut array = trace.builder.constant(0.0, ty);
            for (k, (number, place)) in numbers.iter().zip(places).enumerate() {
                let (value, index) =
                    (number.value_in(trace, *place), trace.builder.integer(k as i64));
                array = trace.builder.put(array, value, &[index]);
            }
            TracedArray::of(trace, array)
        })
    }

    /// All elements, row by row.
    #[track_caller]
    pub fn numbers(self) -> Vec<Traced> {
        let (shape, at) = (self.shape(), Location::caller());
        let element = |mut number: usize| {
            let mut indices = vec![TracedIndex::from(0usize); shape.len()];
            for (index, size) in indices.iter_mut().zip(&shape).rev() {
                *index = TracedIndex::from(number % size);
                number /= size;
            }
            load((self.place, self.ty), &indices, at, Traced::of)
        };
        (0..self.len()).map(element).collect()
    }

    /// The sizes of its dimensions.
    pub fn shape(self) -> Vec<usize> {
        sizes(self.ty)
    }

    /// How many elements it has.
    pub fn len(self) -> usize {
        self.ty.len().unwrap_or(0)
    }

    /// Whether it has no elements.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// An element: `x.at(i)`, `x.at((i, j))`, `x.at([i, j])`.
    #[track_caller]
    pub fn at(self, indices: impl Indices) -> Traced {
        let (indices, at) = (indices.indices(), Location::caller());
        check_rank(self.ty, indices.len(), at);
        load((self.place, self.ty), &indices, at, Traced::of)
    }

    /// The array of the elements that begin with these indices, fewer than there are dimensions: of a matrix,
    /// `x.row(i)` is a row.
    #[track_caller]
    pub fn row(self, indices: impl Indices) -> TracedArray {
        let (indices, at) = (indices.indices(), Location::caller());
        let rank = self.ty.dims().len();
        if indices.len() >= rank {
            let what = format!(
                "a part of {} has fewer than {rank} indices, {} are given; use `at`",
                self.ty,
                indices.len()
            );
            misfit(what, at);
        }
        load((self.place, self.ty), &indices, at, TracedArray::of)
    }

    /// The array with another element at a place, or with fewer indices other elements.
    #[must_use]
    #[track_caller]
    pub fn with(self, indices: impl Indices, value: impl Into<Elements>) -> TracedArray {
        self.store(&indices.indices(), value.into(), false, Location::caller())
    }

    /// The array with something added at a place, or with fewer indices at several.
    #[must_use]
    #[track_caller]
    pub fn add_at(self, indices: impl Indices, value: impl Into<Elements>) -> TracedArray {
        self.store(&indices.indices(), value.into(), true, Location::caller())
    }

    fn store(
        self,
        indices: &[TracedIndex],
        value: Elements,
        add: bool,
        at: &'static Location<'static>,
    ) -> TracedArray {
        let (rank, inner) = (self.ty.dims().len(), self.ty.after(indices.len()));
        if indices.is_empty() || indices.len() > rank {
            misfit(
                format!("{} has {rank} dimensions, {} indices are given", self.ty, indices.len()),
                at,
            );
        }
        if let Some(found) = value.array().filter(|found| *found != inner) {
            misfit(format!("{found} does not go where {inner} is; the array is {}", self.ty), at);
        }
        check_range(self.ty, indices, at);
        let places = [self.place, value.place()].into_iter();
        let places = places.chain(indices.iter().map(|i| i.place)).collect();
        with_all(places, at, |trace, places| {
            let new = value.value_in(trace, places[1]);
            let indices: Vec<Value> =
                indices.iter().zip(&places[2..]).map(|(i, p)| i.value_in(trace, *p)).collect();
            let array = places[0].value();
            let stored = match add {
                true => trace.builder.put_add(array, new, &indices),
                false => trace.builder.put(array, new, &indices),
            };
            TracedArray::of(trace, stored)
        })
    }

    /// The sum of all elements, first to last.
    #[track_caller]
    pub fn sum(self) -> Traced {
        with([self.place], Location::caller(), |trace, [place]| {
            let total = trace.builder.total(place.value(), false);
            Traced::of(trace, total)
        })
    }

    fn ranges(self) -> Vec<std::ops::Range<usize>> {
        self.shape().into_iter().map(|n| 0..n).collect()
    }

    /// The product of all elements, first to last.
    #[track_caller]
    pub fn product(self) -> Traced {
        prod_over(self.ranges(), |i| self.at(i))
    }

    /// The largest element.
    #[track_caller]
    pub fn largest(self) -> Traced {
        max_over(self.ranges(), |i| self.at(i))
    }

    /// The smallest element.
    #[track_caller]
    pub fn smallest(self) -> Traced {
        min_over(self.ranges(), |i| self.at(i))
    }

    /// A function of each element.
    ///
    /// ```
    /// use cotangent_ir::{select, trace_arrays};
    /// use cotangent_numbers::Elementary;
    ///
    /// let f = trace_arrays("relu", &[&[3]], |x| x[0].map(|x| select(x.greater(0.0), x, 0.0.into())))?;
    /// assert_eq!(f.run(&[-1.0, 2.0, 3.0]).unwrap(), [0.0, 2.0, 3.0]);
    /// # Ok::<(), cotangent_numbers::Fault>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn map(self, f: impl FnOnce(Traced) -> Traced) -> TracedArray {
        map_over(self.ranges(), |i| f(self.at(i)))
    }

    /// The array with its dimensions in the opposite order: of a matrix, the transpose.
    #[must_use]
    #[track_caller]
    pub fn transposed(self) -> TracedArray {
        let mut ranges = self.ranges();
        ranges.reverse();
        map_over(ranges, |mut i| {
            i.reverse();
            self.at(i)
        })
    }

    /// The sum of the products of elements in the same place.
    #[track_caller]
    pub fn dot(self, other: TracedArray) -> Traced {
        if self.ty != other.ty {
            let what = format!("`dot` of {} and {}: the shapes differ", self.ty, other.ty);
            misfit(what, Location::caller());
        }
        sum_over(self.ranges(), |i| self.at(&i) * other.at(&i))
    }

    /// The product of matrices, or of a matrix and a list on either side.
    ///
    /// ```
    /// use cotangent_ir::trace_arrays;
    ///
    /// let f = trace_arrays("f", &[&[2, 3], &[3]], |x| x[0].matmul(x[1]))?;
    /// assert_eq!(f.run(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 0.0, 2.0]).unwrap(), [7.0, 16.0]);
    /// # Ok::<(), cotangent_numbers::Fault>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn matmul(self, other: TracedArray) -> TracedArray {
        let (a, b) = (self.shape(), other.shape());
        match (&a[..], &b[..]) {
            ([n, k], [l, m]) if k == l => map_over((0..*n, 0..*m), |(i, j)| {
                sum_over(0..*k, |k| self.at((i, k)) * other.at((k, j)))
            }),
            ([n, k], [l]) if k == l => {
                map_over(0..*n, |i| sum_over(0..*k, |k| self.at((i, k)) * other.at(k)))
            }
            ([k], [l, m]) if k == l => {
                map_over(0..*m, |j| sum_over(0..*k, |k| self.at(k) * other.at((k, j))))
            }
            _ => {
                let what =
                    format!("`matmul` of {} and {}: the shapes do not fit", self.ty, other.ty);
                misfit(what, Location::caller())
            }
        }
    }

    /// The order of the elements of a list, the smallest first, equal ones as they stand.
    #[track_caller]
    pub fn argsort(self) -> TracedIndices {
        let at = Location::caller();
        if self.ty.dims().len() != 1 {
            misfit(format!("`argsort` takes a list, this is {}", self.ty), at);
        }
        with([self.place], at, |trace, [place]| {
            let order = trace.builder.argsort(place.value());
            TracedIndices::of(trace, order)
        })
    }

    /// What derivatives do not go through.
    #[must_use]
    #[track_caller]
    pub fn stop(self) -> TracedArray {
        with([self.place], Location::caller(), |trace, [place]| {
            let value = trace.builder.stop(place.value());
            TracedArray::of(trace, value)
        })
    }

    /// The array itself; in a loop reverse mode keeps it, whatever it takes.
    #[must_use]
    #[track_caller]
    pub fn keep(self) -> TracedArray {
        with([self.place], Location::caller(), |trace, [place]| {
            let value = trace.builder.keep(place.value());
            TracedArray::of(trace, value)
        })
    }

    /// The array itself; in a loop reverse mode computes it again and never keeps it.
    #[must_use]
    #[track_caller]
    pub fn recompute(self) -> TracedArray {
        with([self.place], Location::caller(), |trace, [place]| {
            let value = trace.builder.recompute(place.value());
            TracedArray::of(trace, value)
        })
    }
}

/// An operation of the table, element by element.
#[track_caller]
fn elementwise<O: Operation, const N: usize>(op: O, operands: [Elements; N]) -> TracedArray {
    let (code, at): (Opcode, _) = (O::INFO.opcode, Location::caller());
    let mut arrays = operands.iter().filter_map(|x| x.array());
    if let Some(first) = arrays.next()
        && let Some(other) = arrays.find(|ty| *ty != first)
    {
        let name = code.info().name;
        misfit(format!("`{name}` works element by element, but {first} and {other} differ"), at);
    }
    with(operands.map(Elements::place), at, |trace, places| {
        let mut values = [Value(0); N];
        for ((to, x), place) in values.iter_mut().zip(&operands).zip(places) {
            *to = x.value_in(trace, place);
        }
        let value = trace.builder.elementary(code, op.parameter(), &values);
        TracedArray::of(trace, value)
    })
}

macro_rules! methods {
    (unary { $($(#[$udoc:meta])* $ukind:ident $uname:ident $U:ident $(($n:ident : $N:ty))? [$ux:ident] -> $uy:ident $ubody:tt)* }
     binary { $($(#[$bdoc:meta])* $bkind:ident $bname:ident $B:ident [$bx:ident, $by:ident] -> $bz:ident $bbody:tt)* }
     ternary { $($(#[$tdoc:meta])* method $tname:ident $T3:ident [$tx:ident, $ty:ident, $tz:ident] -> $tw:ident $tbody:tt)* }
    ) => {
        /// The operations of the table, element by element.
        impl TracedArray {
            $(methods!(@unary $ukind $(#[$udoc])* $uname $U ($($n: $N)?));)*
            $(methods!(@binary $bkind $(#[$bdoc])* $bname $B $by);)*
            $(
                $(#[$tdoc])*
                #[must_use]
                #[track_caller]
                pub fn $tname(self, $ty: impl Into<Elements>, $tz: impl Into<Elements>) -> TracedArray {
                    elementwise(ops::$T3, [self.into(), $ty.into(), $tz.into()])
                }
            )*
        }
    };
    (@unary operator $(#[$doc:meta])* $name:ident $U:ident ()) => {};
    (@unary method $(#[$doc:meta])* $name:ident $U:ident ($($n:ident: $N:ty)?)) => {
        $(#[$doc])*
        #[must_use]
        #[track_caller]
        pub fn $name(self $(, $n: $N)?) -> TracedArray {
            elementwise(ops::$U $(($n))?, [self.into()])
        }
    };
    (@binary operator $(#[$doc:meta])* $name:ident $B:ident $y:ident) => {};
    (@binary method $(#[$doc:meta])* $name:ident $B:ident $y:ident) => {
        $(#[$doc])*
        #[must_use]
        #[track_caller]
        pub fn $name(self, $y: impl Into<Elements>) -> TracedArray {
            elementwise(ops::$B, [self.into(), $y.into()])
        }
    };
}

cotangent_ops::for_each_operation!(methods);

macro_rules! operators {
    ($($Op:ident $op:ident),*) => {
        $(
            operators!(@one $Op $op TracedArray, TracedArray);
            operators!(@one $Op $op TracedArray, Traced);
            operators!(@one $Op $op TracedArray, f64);
            operators!(@one $Op $op Traced, TracedArray);
            operators!(@one $Op $op f64, TracedArray);
        )*
    };
    (@one $Op:ident $op:ident $X:ty, $Y:ty) => {
        impl $Op<$Y> for $X {
            type Output = TracedArray;
            #[track_caller]
            fn $op(self, y: $Y) -> TracedArray {
                elementwise(ops::$Op, [Elements::from(self), Elements::from(y)])
            }
        }
    };
}

operators!(Add add, Sub sub, Mul mul, Div div, Rem rem);

impl Neg for TracedArray {
    type Output = TracedArray;
    #[track_caller]
    fn neg(self) -> TracedArray {
        elementwise(ops::Neg, [self.into()])
    }
}
