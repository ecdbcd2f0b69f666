//! The elementary operations as methods, generated from the table.

use std::ops::Neg;

use crate::define::{Binary, ops};
use crate::{Arithmetic, Comparison, Lift, Mask, Precision, Primitive, special};

macro_rules! declare {
    (unary { $($(#[$udoc:meta])* $ukind:ident $uname:ident $U:ident $(($n:ident : $N:ty))? [$ux:ident] -> $uy:ident {
                 value: $uvalue:expr; $($ubody:tt)* })* }
     binary { $($(#[$bdoc:meta])* $bkind:ident $bname:ident $B:ident [$bx:ident, $by:ident] -> $bz:ident {
                 value: $bvalue:expr; $($bbody:tt)* })* }
     ternary { $($(#[$tdoc:meta])* method $tname:ident $T:ident [$tx:ident, $ty:ident, $tz:ident] -> $tw:ident {
                 value: $tvalue:expr; $($tbody:tt)* })* }
    ) => {
        /// The elementary operations of the table, for `f64`, `f32` and every number type.
        ///
        /// Formulas that must hold for all of them, such as the derivatives in the table, are
        /// written over this trait. User code is written over [`Scalar`](crate::Scalar), which
        /// adds arithmetic with `f64`.
        ///
        /// ```
        /// use cotangent_ops::Elementary;
        ///
        /// fn logistic<T: Elementary>(x: T) -> T {
        ///     (T::one() + (-x).exp()).recip()
        /// }
        /// assert_eq!(logistic(0.0_f64), 0.5);
        /// assert_eq!(logistic(0.0_f32), 0.5);
        /// ```
        pub trait Elementary: Arithmetic {
            /// The outcome of a comparison, for [`select`](Elementary::select).
            type Mask: Mask;

            /// Whether operations are recorded, so that one record for a whole array is worth its
            /// overhead.
            const RECORDS: bool;

            /// Whether it is a plain floating-point number, which carries nothing but its value.
            const PLAIN: bool;

            /// The number that stands for a constant.
            fn constant(c: f64) -> Self;

            /// The number that stands for a constant of which `c` is the rounded value, such as π.
            ///
            /// It differs from [`constant`](Elementary::constant) only where rounding is accounted
            /// for: an interval then encloses the exact constant.
            fn rounded(c: f64) -> Self;

            /// The plain value: what `f64` would have computed.
            ///
            /// Branching on it loses nothing but the derivative across the branch. A number that
            /// has no value (a global sparsity tracer) reports an error.
            fn value(self) -> f64;

            /// The limits of the floating-point format underneath.
            fn precision() -> Precision;

            /// Zero.
            #[inline(always)]
            fn zero() -> Self {
                Self::constant(0.0)
            }

            /// One.
            #[inline(always)]
            fn one() -> Self {
                Self::constant(1.0)
            }

            $(declare!(@declare $ukind $(#[$udoc])* $uname ($($n: $N)?));)*

            $(declare!(@declare2 $bkind $(#[$bdoc])* $bname $by);)*

            $($(#[$tdoc])* fn $tname(self, $ty: impl Into<Self>, $tz: impl Into<Self>) -> Self;)*

            /// Applies an operation of two arguments, the second a constant.
            fn with_constant<O: Binary>(self, y: f64, op: O) -> Self;

            /// Applies an operation of two arguments, the first a constant.
            fn constant_with<O: Binary>(x: f64, y: Self, op: O) -> Self;

            /// Sine and cosine.
            #[inline(always)]
            #[track_caller]
            fn sin_cos(self) -> (Self, Self) {
                (self.sin(), self.cos())
            }

            /// Compares without branching.
            fn compare(self, y: impl Into<Self>, comparison: Comparison) -> Self::Mask;

            /// Whether x < y, for [`select`](Elementary::select).
            #[inline(always)]
            #[track_caller]
            fn less(self, y: impl Into<Self>) -> Self::Mask {
                self.compare(y, Comparison::Less)
            }

            /// Whether x ≤ y, for [`select`](Elementary::select).
            #[inline(always)]
            #[track_caller]
            fn at_most(self, y: impl Into<Self>) -> Self::Mask {
                self.compare(y, Comparison::AtMost)
            }

            /// Whether x > y, for [`select`](Elementary::select).
            #[inline(always)]
            #[track_caller]
            fn greater(self, y: impl Into<Self>) -> Self::Mask {
                self.compare(y, Comparison::Greater)
            }

            /// Whether x ≥ y, for [`select`](Elementary::select).
            #[inline(always)]
            #[track_caller]
            fn at_least(self, y: impl Into<Self>) -> Self::Mask {
                self.compare(y, Comparison::AtLeast)
            }

            /// Whether x = y, for [`select`](Elementary::select).
            #[inline(always)]
            #[track_caller]
            fn equals(self, y: impl Into<Self>) -> Self::Mask {
                self.compare(y, Comparison::Equal)
            }

            /// Whether x ≠ y, for [`select`](Elementary::select).
            #[inline(always)]
            #[track_caller]
            fn differs(self, y: impl Into<Self>) -> Self::Mask {
                self.compare(y, Comparison::Differ)
            }

            /// `x` where the mask holds, `y` elsewhere, without a branch in the program.
            ///
            /// This is how a function with cases stays valid for all inputs when it is recorded or
            /// traced; an `if` on a comparison fixes the case that was met.
            fn select(mask: Self::Mask, x: impl Into<Self>, y: impl Into<Self>) -> Self;

            /// Whether the value is NaN (a branch).
            fn is_nan(self) -> bool;

            /// Whether the value is neither infinite nor NaN (a branch).
            fn is_finite(self) -> bool;

            /// A plain number that stands for this one where a sample will do; none if it has no value.
            fn sample(self) -> Option<f64>;

            /// A number of which nothing is known and that depends on nothing, of types whose numbers may
            /// lack a value or stand for many: a sparsity tracer, an interval.
            #[inline(always)]
            fn unknown() -> Option<Self> {
                None
            }

            /// Whether both are known to carry the same; if not, they may all the same.
            #[inline(always)]
            fn same(self, _: Self) -> bool {
                false
            }

            /// The size by which pivots are chosen: zero if a division by the number is not safe.
            fn pivot_size(self) -> f64;

            /// Whether the number and everything it carries is zero.
            fn vanishes(self) -> bool;

            /// Whether the number and everything it carries is finite.
            fn all_finite(self) -> bool;

            /// Applies an operation on arrays that brings its own derivative rules.
            fn array<P: Primitive>(primitive: &P, x: &[Self], y: &mut [Self]);

            /// The slice itself if the numbers are plain `f64`.
            #[inline]
            fn as_f64s(_: &[Self]) -> Option<&[f64]> {
                None
            }

            /// The slice itself if the numbers are plain `f64`.
            #[inline]
            fn as_f64s_mut(_: &mut [Self]) -> Option<&mut [f64]> {
                None
            }

            /// The slice itself if the numbers are plain `f32`.
            #[inline]
            fn as_f32s(_: &[Self]) -> Option<&[f32]> {
                None
            }

            /// The slice itself if the numbers are plain `f32`.
            #[inline]
            fn as_f32s_mut(_: &mut [Self]) -> Option<&mut [f32]> {
                None
            }
        }

        impl<L: Lift> Elementary for L {
            type Mask = <L as Lift>::Mask;

            const RECORDS: bool = <L as Lift>::RECORDS;

            const PLAIN: bool = <L as Lift>::PLAIN;

            #[inline(always)]
            fn constant(c: f64) -> Self {
                L::lift(c)
            }

            #[inline(always)]
            fn rounded(c: f64) -> Self {
                L::lift_rounded(c)
            }

            #[inline(always)]
            #[track_caller]
            fn value(self) -> f64 {
                self.primal()
            }

            #[inline]
            fn precision() -> Precision {
                <L as Lift>::precision()
            }

            $(declare!(@lift $ukind $uname $U ($($n: $N)?));)*

            $(declare!(@lift2 $bkind $bname $B);)*

            $(
                #[inline(always)]
                #[track_caller]
                fn $tname(self, y: impl Into<Self>, z: impl Into<Self>) -> Self {
                    self.ternary(y.into(), z.into(), ops::$T)
                }
            )*

            #[inline(always)]
            #[track_caller]
            fn with_constant<O: Binary>(self, y: f64, op: O) -> Self {
                self.binary_constant(y, op)
            }

            #[inline(always)]
            #[track_caller]
            fn constant_with<O: Binary>(x: f64, y: Self, op: O) -> Self {
                L::constant_binary(x, y, op)
            }

            #[inline(always)]
            #[track_caller]
            fn compare(self, y: impl Into<Self>, comparison: Comparison) -> Self::Mask {
                Lift::compare(self, y.into(), comparison)
            }

            #[inline(always)]
            #[track_caller]
            fn select(mask: Self::Mask, x: impl Into<Self>, y: impl Into<Self>) -> Self {
                L::choose(mask, x.into(), y.into())
            }

            #[inline(always)]
            #[track_caller]
            fn is_nan(self) -> bool {
                self.value_is_nan()
            }

            #[inline(always)]
            #[track_caller]
            fn is_finite(self) -> bool {
                self.value_is_finite()
            }

            #[inline(always)]
            fn sample(self) -> Option<f64> {
                Lift::sample(self)
            }

            #[inline(always)]
            fn unknown() -> Option<Self> {
                <L as Lift>::unknown()
            }

            #[inline(always)]
            fn same(self, other: Self) -> bool {
                Lift::same(self, other)
            }

            #[inline(always)]
            #[track_caller]
            fn pivot_size(self) -> f64 {
                Lift::pivot_size(self)
            }

            #[inline(always)]
            fn vanishes(self) -> bool {
                Lift::vanishes(self)
            }

            #[inline(always)]
            fn all_finite(self) -> bool {
                Lift::all_finite(self)
            }

            #[inline(always)]
            #[track_caller]
            fn array<P: Primitive>(primitive: &P, x: &[Self], y: &mut [Self]) {
                <L as Lift>::array(primitive, x, y);
            }

            #[inline]
            fn as_f64s(x: &[Self]) -> Option<&[f64]> {
                L::doubles(x)
            }

            #[inline]
            fn as_f64s_mut(x: &mut [Self]) -> Option<&mut [f64]> {
                L::doubles_mut(x)
            }

            #[inline]
            fn as_f32s(x: &[Self]) -> Option<&[f32]> {
                L::singles(x)
            }

            #[inline]
            fn as_f32s_mut(x: &mut [Self]) -> Option<&mut [f32]> {
                L::singles_mut(x)
            }
        }

        declare!(@float f64 (
            $($ukind $uname ($($n: $N)?) [$ux] ($uvalue))*
        ) ($($bkind $bname [$bx, $by] ($bvalue))*) ($($tname [$tx, $ty, $tz] ($tvalue))*)
        {
            #[inline]
            fn as_f64s(x: &[f64]) -> Option<&[f64]> {
                Some(x)
            }

            #[inline]
            fn as_f64s_mut(x: &mut [f64]) -> Option<&mut [f64]> {
                Some(x)
            }

            #[inline]
            fn precision() -> Precision {
                Precision::DOUBLE
            }
        });
        declare!(@float f32 (
            $($ukind $uname ($($n: $N)?) [$ux] ($uvalue))*
        ) ($($bkind $bname [$bx, $by] ($bvalue))*) ($($tname [$tx, $ty, $tz] ($tvalue))*) {
            #[inline]
            fn as_f32s(x: &[f32]) -> Option<&[f32]> {
                Some(x)
            }

            #[inline]
            fn as_f32s_mut(x: &mut [f32]) -> Option<&mut [f32]> {
                Some(x)
            }

            #[inline]
            fn precision() -> Precision {
                Precision::SINGLE
            }
        });
    };

    (@declare operator $(#[$doc:meta])* $name:ident ()) => {};
    (@declare method $(#[$doc:meta])* $name:ident ($($n:ident: $N:ty)?)) => {
        $(#[$doc])* fn $name(self $(, $n: $N)?) -> Self;
    };
    (@declare2 operator $(#[$doc:meta])* $name:ident $y:ident) => {};
    (@declare2 method $(#[$doc:meta])* $name:ident $y:ident) => {
        $(#[$doc])* fn $name(self, $y: impl Into<Self>) -> Self;
    };

    (@lift operator $name:ident $Op:ident ()) => {};
    (@lift method $name:ident $Op:ident ($($n:ident: $N:ty)?)) => {
        #[inline(always)]
        #[track_caller]
        fn $name(self $(, $n: $N)?) -> Self {
            self.unary(ops::$Op $(($n))?)
        }
    };
    (@lift2 operator $name:ident $Op:ident) => {};
    (@lift2 method $name:ident $Op:ident) => {
        #[inline(always)]
        #[track_caller]
        fn $name(self, y: impl Into<Self>) -> Self {
            self.binary(y.into(), ops::$Op)
        }
    };

    (@float $F:ident ($($ukind:ident $uname:ident ($($n:ident: $N:ty)?) [$ux:ident] ($uvalue:expr))*)
        ($($bkind:ident $bname:ident [$bx:ident, $by:ident] ($bvalue:expr))*)
        ($($tname:ident [$tx:ident, $ty:ident, $tz:ident] ($tvalue:expr))*) { $($extra:item)* }) => {
        #[allow(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN must take the other way")]
        impl Elementary for $F {
            type Mask = bool;

            const RECORDS: bool = false;

            const PLAIN: bool = true;

            #[inline(always)]
            fn constant(c: f64) -> $F {
                c as $F
            }

            #[inline(always)]
            fn rounded(c: f64) -> $F {
                c as $F
            }

            #[inline(always)]
            fn value(self) -> f64 {
                f64::from(self)
            }

            $(declare!(@float_method $F $ukind $uname ($($n: $N)?) [$ux] ($uvalue));)*

            $(declare!(@float_method2 $F $bkind $bname [$bx, $by] ($bvalue));)*

            $(
                #[inline]
                fn $tname(self, $ty: impl Into<$F>, $tz: impl Into<$F>) -> $F {
                    let ($tx, $ty, $tz): ($F, $F, $F) = (self, $ty.into(), $tz.into());
                    $tvalue
                }
            )*

            #[inline(always)]
            fn with_constant<O: Binary>(self, y: f64, op: O) -> $F {
                op.value(self, y as $F)
            }

            #[inline(always)]
            fn constant_with<O: Binary>(x: f64, y: $F, op: O) -> $F {
                op.value(x as $F, y)
            }

            #[inline(always)]
            fn compare(self, y: impl Into<$F>, comparison: Comparison) -> bool {
                comparison.holds(&self, &y.into())
            }

            #[inline(always)]
            fn select(mask: bool, x: impl Into<$F>, y: impl Into<$F>) -> $F {
                if mask { x.into() } else { y.into() }
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                <$F>::is_nan(self)
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                <$F>::is_finite(self)
            }

            #[inline(always)]
            fn sample(self) -> Option<f64> {
                Some(f64::from(self))
            }

            #[inline(always)]
            fn pivot_size(self) -> f64 {
                f64::from(self).abs()
            }

            #[inline(always)]
            fn vanishes(self) -> bool {
                self == 0.0
            }

            #[inline(always)]
            fn all_finite(self) -> bool {
                <$F>::is_finite(self)
            }

            #[inline]
            fn array<P: Primitive>(primitive: &P, x: &[$F], y: &mut [$F]) {
                primitive.value(x, y);
            }

            $($extra)*
        }
    };
    (@float_method $F:ident operator $name:ident () [$x:ident] ($value:expr)) => {};
    (@float_method $F:ident method $name:ident ($($n:ident: $N:ty)?) [$x:ident] ($value:expr)) => {
        #[inline]
        fn $name(self $(, $n: $N)?) -> $F {
            let $x: $F = self;
            $value
        }
    };
    (@float_method2 $F:ident operator $name:ident [$x:ident, $y:ident] ($value:expr)) => {};
    (@float_method2 $F:ident method $name:ident [$x:ident, $y:ident] ($value:expr)) => {
        #[inline]
        fn $name(self, $y: impl Into<$F>) -> $F {
            let ($x, $y): ($F, $F) = (self, $y.into());
            $value
        }
    };
}

/// What the table's value expressions use beyond the methods of `f64` and `f32`.
trait FloatExtras: Copy + PartialOrd + Neg<Output = Self> {
    /// Applies a function of `f64`, rounding once for `f32`.
    fn by(self, f: impl Fn(f64) -> f64) -> Self;

    /// The greater number; the first of equal ones, the other of a NaN.
    fn larger(self, y: Self) -> Self;

    /// The smaller number; the first of equal ones, the other of a NaN.
    fn smaller(self, y: Self) -> Self;

    /// Repeated squaring for small exponents, the same on every platform (the precision of `powi` is
    /// unspecified); its error grows with the exponent, so beyond it is that of `powf`.
    fn integer_power(self, n: i32) -> Self;
}

macro_rules! float_extras {
    ($F:ident) => {
        impl FloatExtras for $F {
            #[inline]
            fn by(self, f: impl Fn(f64) -> f64) -> $F {
                f(f64::from(self)) as $F
            }

            #[inline(always)]
            fn larger(self, y: $F) -> $F {
                if self >= y || y.is_nan() { self } else { y }
            }

            #[inline(always)]
            fn smaller(self, y: $F) -> $F {
                if self <= y || y.is_nan() { self } else { y }
            }

            #[inline(always)]
            fn integer_power(self, n: i32) -> $F {
                // The short cases are what user code has; with a literal exponent one remains.
                match n {
                    0 => 1.0,
                    1 => self,
                    2 => self * self,
                    3 => self * self * self,
                    -1 => self.recip(),
                    n if n.unsigned_abs() > 16 => self.by(|x| x.powf(f64::from(n))),
                    _ => {
                        let mut power = 1.0;
                        let mut square = self;
                        let mut rest = n.unsigned_abs();
                        loop {
                            if rest & 1 == 1 {
                                power *= square;
                            }
                            rest >>= 1;
                            if rest == 0 {
                                break;
                            }
                            square *= square;
                        }
                        if n < 0 { 1.0 / power } else { power }
                    }
                }
            }
        }
    };
}

float_extras!(f64);
float_extras!(f32);

crate::for_each_operation!(declare);
