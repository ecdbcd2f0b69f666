//! `nalgebra::RealField` for the number types, through `simba`.
//!
//! Code that knows only nalgebra (a Cholesky factorisation, a norm, a rotation) then runs on dual
//! numbers, tape variables, jets, local tracers and observers as it stands. A tracer without a value
//! cannot take part: nalgebra branches on values.

macro_rules! real_field {
    ([$($generics:tt)*] $Number:ty) => {
        impl<$($generics)*> simba::simd::SimdValue for $Number {
            type Element = Self;
            type SimdBool = bool;

            const LANES: usize = 1;

            #[inline(always)]
            fn splat(value: Self) -> Self {
                value
            }

            #[inline(always)]
            fn extract(&self, _: usize) -> Self {
                *self
            }

            #[inline(always)]
            unsafe fn extract_unchecked(&self, _: usize) -> Self {
                *self
            }

            #[inline(always)]
            fn replace(&mut self, _: usize, value: Self) {
                *self = value;
            }

            #[inline(always)]
            unsafe fn replace_unchecked(&mut self, _: usize, value: Self) {
                *self = value;
            }

            #[inline(always)]
            fn select(self, condition: bool, other: Self) -> Self {
                if condition { self } else { other }
            }
        }

        impl<$($generics)*> simba::scalar::Field for $Number {}

        impl<$($generics)*> simba::scalar::SubsetOf<$Number> for $Number {
            #[inline]
            fn to_superset(&self) -> Self {
                *self
            }

            #[inline]
            fn from_superset_unchecked(element: &Self) -> Self {
                *element
            }

            #[inline]
            fn is_in_subset(_: &Self) -> bool {
                true
            }
        }

        crate::nalgebra::real_field!(@superset [$($generics)*] $Number, f64);
        crate::nalgebra::real_field!(@superset [$($generics)*] $Number, f32);

        impl<$($generics)*> approx::AbsDiffEq for $Number {
            type Epsilon = Self;

            fn default_epsilon() -> Self {
                num_traits::Float::epsilon()
            }

            fn abs_diff_eq(&self, other: &Self, epsilon: Self) -> bool {
                *self == *other || cotangent_ops::Elementary::abs(*self - *other) <= epsilon
            }
        }

        impl<$($generics)*> approx::RelativeEq for $Number {
            fn default_max_relative() -> Self {
                num_traits::Float::epsilon()
            }

            fn relative_eq(&self, other: &Self, epsilon: Self, max_relative: Self) -> bool {
                let difference = cotangent_ops::Elementary::abs(*self - *other);
                let (a, b) = (cotangent_ops::Elementary::abs(*self), cotangent_ops::Elementary::abs(*other));
                *self == *other || difference <= epsilon || difference <= cotangent_ops::Elementary::max(a, b) * max_relative
            }
        }

        impl<$($generics)*> approx::UlpsEq for $Number {
            fn default_max_ulps() -> u32 {
                <f64 as approx::UlpsEq>::default_max_ulps()
            }

            fn ulps_eq(&self, other: &Self, epsilon: Self, max_ulps: u32) -> bool {
                use cotangent_ops::Lift as _;
                approx::AbsDiffEq::abs_diff_eq(self, other, epsilon)
                    || approx::UlpsEq::ulps_eq(&self.primal(), &other.primal(), 0.0, max_ulps)
            }
        }

        impl<$($generics)*> simba::scalar::ComplexField for $Number {
            type RealField = Self;

            fn from_real(re: Self) -> Self {
                re
            }

            fn real(self) -> Self {
                self
            }

            fn imaginary(self) -> Self {
                Self::from(0.0)
            }

            fn modulus(self) -> Self {
                cotangent_ops::Elementary::abs(self)
            }

            fn modulus_squared(self) -> Self {
                self * self
            }

            fn argument(self) -> Self {
                if self >= 0.0 { Self::from(0.0) } else { Self::from(std::f64::consts::PI) }
            }

            fn norm1(self) -> Self {
                cotangent_ops::Elementary::abs(self)
            }

            fn scale(self, factor: Self) -> Self {
                self * factor
            }

            fn unscale(self, factor: Self) -> Self {
                self / factor
            }

            fn conjugate(self) -> Self {
                self
            }

            fn is_finite(&self) -> bool {
                cotangent_ops::Elementary::is_finite(*self)
            }

            fn try_sqrt(self) -> Option<Self> {
                (self >= 0.0).then(|| cotangent_ops::Elementary::sqrt(self))
            }

            fn powf(self, n: Self) -> Self {
                cotangent_ops::Elementary::powf(self, n)
            }

            fn powc(self, n: Self) -> Self {
                cotangent_ops::Elementary::powf(self, n)
            }

            fn powi(self, n: i32) -> Self {
                cotangent_ops::Elementary::powi(self, n)
            }

            fn mul_add(self, a: Self, b: Self) -> Self {
                cotangent_ops::Elementary::mul_add(self, a, b)
            }

            fn log(self, base: Self) -> Self {
                cotangent_ops::Elementary::log(self, base)
            }

            fn hypot(self, other: Self) -> Self {
                cotangent_ops::Elementary::hypot(self, other)
            }

            fn sin_cos(self) -> (Self, Self) {
                cotangent_ops::Elementary::sin_cos(self)
            }

            fn sinh_cosh(self) -> (Self, Self) {
                (cotangent_ops::Elementary::sinh(self), cotangent_ops::Elementary::cosh(self))
            }

            fn sinc(self) -> Self {
                cotangent_ops::Elementary::sinc(self)
            }

            crate::nalgebra::real_field!(@unary floor ceil round trunc fract abs recip sqrt cbrt exp exp2
                exp_m1 ln log2 log10 ln_1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh);
        }

        impl<$($generics)*> simba::scalar::RealField for $Number {
            fn is_sign_positive(&self) -> bool {
                num_traits::Float::is_sign_positive(*self)
            }

            fn is_sign_negative(&self) -> bool {
                num_traits::Float::is_sign_negative(*self)
            }

            fn copysign(self, sign: Self) -> Self {
                cotangent_ops::Elementary::copysign(self, sign)
            }

            fn max(self, other: Self) -> Self {
                cotangent_ops::Elementary::max(self, other)
            }

            fn min(self, other: Self) -> Self {
                cotangent_ops::Elementary::min(self, other)
            }

            fn clamp(self, min: Self, max: Self) -> Self {
                cotangent_ops::Elementary::clamp(self, min, max)
            }

            fn atan2(self, other: Self) -> Self {
                cotangent_ops::Elementary::atan2(self, other)
            }

            fn min_value() -> Option<Self> {
                Some(num_traits::Bounded::min_value())
            }

            fn max_value() -> Option<Self> {
                Some(num_traits::Bounded::max_value())
            }

            crate::nalgebra::real_field!(@constants pi PI, two_pi TAU, frac_pi_2 FRAC_PI_2, frac_pi_3 FRAC_PI_3,
                frac_pi_4 FRAC_PI_4, frac_pi_6 FRAC_PI_6, frac_pi_8 FRAC_PI_8, frac_1_pi FRAC_1_PI,
                frac_2_pi FRAC_2_PI, frac_2_sqrt_pi FRAC_2_SQRT_PI, e E, log2_e LOG2_E, log10_e LOG10_E,
                ln_2 LN_2, ln_10 LN_10);
        }
    };
    (@superset [$($generics:tt)*] $Number:ty, $F:ident) => {
        impl<$($generics)*> simba::scalar::SupersetOf<$F> for $Number {
            #[inline]
            fn is_in_subset(&self) -> bool {
                cotangent_ops::Lift::vanishes(*self - cotangent_ops::Lift::primal(*self))
            }

            #[inline]
            fn to_subset_unchecked(&self) -> $F {
                cotangent_ops::Lift::primal(*self) as $F
            }

            #[inline]
            fn from_subset(element: &$F) -> Self {
                Self::from(f64::from(*element))
            }
        }
    };
    (@unary $($name:ident)*) => {
        $(
            fn $name(self) -> Self {
                cotangent_ops::Elementary::$name(self)
            }
        )*
    };
    (@constants $($name:ident $constant:ident),*) => {
        $(
            fn $name() -> Self {
                cotangent_ops::Lift::lift_rounded(std::f64::consts::$constant)
            }
        )*
    };
}

pub(crate) use real_field;

use crate::observe::{Observed, Observer};
use crate::tracer::{Dependence, Local};
use crate::{Base, Brand, Dual, Dual2Of, Endpoint, Interval, Jet, Plain, Taylor, Var, Width};

real_field!([T: Base + std::fmt::Display, const N: usize, B: Brand + 'static] Dual<T, N, B>);
real_field!([T: Base + std::fmt::Display, W: Width, B: Brand + 'static] Dual2Of<T, W, B>);
real_field!([T: Base + std::fmt::Display, const L: usize] Jet<T, L>);
real_field!([T: Base + std::fmt::Display] Taylor<T>);
real_field!([T: Base + std::fmt::Display] Var<T>);
real_field!([T: Base<Mask = bool> + std::fmt::Display] Plain<T>);
real_field!([T: Endpoint] Interval<T>);
real_field!([D: Dependence] Local<D>);
real_field!([T: Base + std::fmt::Display, W: Observer] Observed<T, W>);
