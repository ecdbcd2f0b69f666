//! The traits of `num-traits`, so that generic numeric code runs on the number types as it stands.
//!
//! Conversions to integers and `classify` see the value only. `is_zero` and `is_one` look at
//! everything a number carries: library code uses them to skip work on structural zeros, which
//! would lose derivatives. `==` compares values, so that a program takes the same branches with
//! and without derivatives.

#[doc(hidden)]
#[macro_export]
macro_rules! implement_num_traits {
    ([$($generics:tt)*] $Number:ty) => {
        impl<$($generics)*> num_traits::Zero for $Number {
            #[inline]
            fn zero() -> Self {
                Self::from(0.0)
            }

            #[inline]
            fn is_zero(&self) -> bool {
                cotangent_ops::Lift::vanishes(*self)
            }
        }

        impl<$($generics)*> num_traits::One for $Number {
            #[inline]
            fn one() -> Self {
                Self::from(1.0)
            }

            #[inline]
            fn is_one(&self) -> bool {
                cotangent_ops::Lift::vanishes(*self - 1.0)
            }
        }

        impl<$($generics)*> num_traits::Num for $Number {
            type FromStrRadixErr = <f64 as num_traits::Num>::FromStrRadixErr;

            fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
                <f64 as num_traits::Num>::from_str_radix(text, radix).map(Self::from)
            }
        }

        impl<$($generics)*> num_traits::Inv for $Number {
            type Output = Self;
            #[inline]
            #[track_caller]
            fn inv(self) -> Self {
                self.recip()
            }
        }

        impl<$($generics)*> num_traits::Pow<$Number> for $Number {
            type Output = Self;
            #[inline]
            #[track_caller]
            fn pow(self, exponent: $Number) -> Self {
                self.powf(exponent)
            }
        }

        impl<$($generics)*> num_traits::Pow<f64> for $Number {
            type Output = Self;
            #[inline]
            #[track_caller]
            fn pow(self, exponent: f64) -> Self {
                self.powf(exponent)
            }
        }

        impl<$($generics)*> num_traits::Pow<i32> for $Number {
            type Output = Self;
            #[inline]
            #[track_caller]
            fn pow(self, exponent: i32) -> Self {
                self.powi(exponent)
            }
        }

        impl<$($generics)*> num_traits::MulAdd for $Number {
            type Output = Self;
            #[inline]
            #[track_caller]
            fn mul_add(self, a: Self, b: Self) -> Self {
                cotangent_ops::Elementary::mul_add(self, a, b)
            }
        }

        impl<$($generics)*> num_traits::Signed for $Number {
            #[inline]
            #[track_caller]
            fn abs(&self) -> Self {
                cotangent_ops::Elementary::abs(*self)
            }

            #[inline]
            #[track_caller]
            #[allow(deprecated, reason = "asked for by the trait")]
            fn abs_sub(&self, other: &Self) -> Self {
                num_traits::Float::abs_sub(*self, *other)
            }

            #[inline]
            #[track_caller]
            fn signum(&self) -> Self {
                cotangent_ops::Elementary::signum(*self)
            }

            #[inline]
            #[track_caller]
            fn is_positive(&self) -> bool {
                *self > 0.0
            }

            #[inline]
            #[track_caller]
            fn is_negative(&self) -> bool {
                *self < 0.0
            }
        }

        impl<$($generics)*> num_traits::ToPrimitive for $Number {
            #[track_caller]
            fn to_i64(&self) -> Option<i64> {
                num_traits::ToPrimitive::to_i64(&cotangent_ops::Lift::primal(*self))
            }

            #[track_caller]
            fn to_u64(&self) -> Option<u64> {
                num_traits::ToPrimitive::to_u64(&cotangent_ops::Lift::primal(*self))
            }

            #[track_caller]
            fn to_f64(&self) -> Option<f64> {
                Some(cotangent_ops::Lift::primal(*self))
            }
        }

        impl<$($generics)*> num_traits::NumCast for $Number {
            fn from<X: num_traits::ToPrimitive>(x: X) -> Option<Self> {
                x.to_f64().map(<Self as From<f64>>::from)
            }
        }

        impl<$($generics)*> num_traits::FromPrimitive for $Number {
            fn from_i64(x: i64) -> Option<Self> {
                Some(<Self as From<f64>>::from(x as f64))
            }

            fn from_u64(x: u64) -> Option<Self> {
                Some(<Self as From<f64>>::from(x as f64))
            }

            fn from_f64(x: f64) -> Option<Self> {
                Some(<Self as From<f64>>::from(x))
            }
        }

        impl<$($generics)*> num_traits::Bounded for $Number {
            fn min_value() -> Self {
                <Self as From<f64>>::from(-<Self as cotangent_ops::Lift>::precision().max)
            }

            fn max_value() -> Self {
                <Self as From<f64>>::from(<Self as cotangent_ops::Lift>::precision().max)
            }
        }

        $crate::implement_num_traits!(@constants [$($generics)*] $Number:
            E FRAC_1_PI FRAC_1_SQRT_2 FRAC_2_PI FRAC_2_SQRT_PI FRAC_PI_2 FRAC_PI_3 FRAC_PI_4 FRAC_PI_6
            FRAC_PI_8 LN_10 LN_2 LOG10_E LOG2_E PI SQRT_2);

        impl<$($generics)*> num_traits::Float for $Number {
            fn nan() -> Self {
                <Self as From<f64>>::from(f64::NAN)
            }

            fn infinity() -> Self {
                <Self as From<f64>>::from(f64::INFINITY)
            }

            fn neg_infinity() -> Self {
                <Self as From<f64>>::from(f64::NEG_INFINITY)
            }

            fn neg_zero() -> Self {
                <Self as From<f64>>::from(-0.0)
            }

            fn min_value() -> Self {
                num_traits::Bounded::min_value()
            }

            fn min_positive_value() -> Self {
                <Self as From<f64>>::from(<Self as cotangent_ops::Lift>::precision().min_positive)
            }

            fn epsilon() -> Self {
                <Self as From<f64>>::from(<Self as cotangent_ops::Lift>::precision().epsilon)
            }

            fn max_value() -> Self {
                num_traits::Bounded::max_value()
            }

            #[inline]
            #[track_caller]
            fn is_nan(self) -> bool {
                cotangent_ops::Elementary::is_nan(self)
            }

            #[inline]
            #[track_caller]
            fn is_infinite(self) -> bool {
                !cotangent_ops::Elementary::is_finite(self) && !cotangent_ops::Elementary::is_nan(self)
            }

            #[inline]
            #[track_caller]
            fn is_finite(self) -> bool {
                cotangent_ops::Elementary::is_finite(self)
            }

            #[track_caller]
            fn is_normal(self) -> bool {
                cotangent_ops::Lift::primal(self).is_normal()
            }

            #[track_caller]
            fn classify(self) -> std::num::FpCategory {
                cotangent_ops::Lift::primal(self).classify()
            }

            #[track_caller]
            fn is_sign_positive(self) -> bool {
                cotangent_ops::Lift::primal(self).is_sign_positive()
            }

            #[track_caller]
            fn is_sign_negative(self) -> bool {
                cotangent_ops::Lift::primal(self).is_sign_negative()
            }

            #[track_caller]
            fn integer_decode(self) -> (u64, i16, i8) {
                num_traits::Float::integer_decode(cotangent_ops::Lift::primal(self))
            }

            #[inline]
            #[track_caller]
            fn abs_sub(self, other: Self) -> Self {
                cotangent_ops::Elementary::max(self - other, 0.0)
            }

            #[inline]
            #[track_caller]
            fn sin_cos(self) -> (Self, Self) {
                cotangent_ops::Elementary::sin_cos(self)
            }

            #[inline]
            #[track_caller]
            fn mul_add(self, a: Self, b: Self) -> Self {
                cotangent_ops::Elementary::mul_add(self, a, b)
            }

            #[inline]
            #[track_caller]
            fn clamp(self, min: Self, max: Self) -> Self {
                cotangent_ops::Elementary::clamp(self, min, max)
            }

            #[inline]
            #[track_caller]
            fn powi(self, n: i32) -> Self {
                cotangent_ops::Elementary::powi(self, n)
            }

            $crate::implement_num_traits!(@unary floor ceil round trunc fract abs signum
                recip sqrt exp exp2 ln log2 log10 to_degrees to_radians cbrt sin cos tan asin acos atan
                exp_m1 ln_1p sinh cosh tanh asinh acosh atanh);
            $crate::implement_num_traits!(@binary powf log max min hypot atan2 copysign);
        }
    };
    (@unary $($name:ident)*) => {
        $(
            #[inline]
            #[track_caller]
            fn $name(self) -> Self {
                cotangent_ops::Elementary::$name(self)
            }
        )*
    };
    (@binary $($name:ident)*) => {
        $(
            #[inline]
            #[track_caller]
            fn $name(self, other: Self) -> Self {
                cotangent_ops::Elementary::$name(self, other)
            }
        )*
    };
    (@constants [$($generics:tt)*] $Number:ty: $($name:ident)*) => {
        #[allow(non_snake_case, reason = "named by the trait")]
        impl<$($generics)*> num_traits::FloatConst for $Number {
            $(
                fn $name() -> Self {
                    cotangent_ops::Lift::lift_rounded(std::f64::consts::$name)
                }
            )*
        }
    };
}
