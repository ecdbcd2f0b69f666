//! Operators and methods of the number types, generated.

/// Generates what follows from [`Lift`](cotangent_ops::Lift): operators with itself and with `f64`
/// on either side, comparisons, sums, conversion from `f64`, and the table's methods.
#[doc(hidden)]
#[macro_export]
macro_rules! number {
    ([$($generics:tt)*] $Number:ty) => {
        $crate::number!(@operator [$($generics)*] $Number, Add add AddAssign add_assign);
        $crate::number!(@operator [$($generics)*] $Number, Sub sub SubAssign sub_assign);
        $crate::number!(@operator [$($generics)*] $Number, Mul mul MulAssign mul_assign);
        $crate::number!(@operator [$($generics)*] $Number, Div div DivAssign div_assign);
        $crate::number!(@operator [$($generics)*] $Number, Rem rem RemAssign rem_assign);

        impl<$($generics)*> std::ops::Neg for $Number {
            type Output = Self;
            #[inline(always)]
            #[track_caller]
            fn neg(self) -> Self {
                cotangent_ops::Lift::unary(self, cotangent_ops::ops::Neg)
            }
        }

        impl<$($generics)*> std::ops::Neg for &$Number {
            type Output = $Number;
            #[inline(always)]
            #[track_caller]
            fn neg(self) -> $Number {
                -*self
            }
        }

        impl<$($generics)*> From<f64> for $Number {
            #[inline(always)]
            fn from(c: f64) -> Self {
                cotangent_ops::Lift::lift(c)
            }
        }

        $crate::number!(@compare [$($generics)*] $Number, $Number, |y| *y);
        $crate::number!(@compare [$($generics)*] $Number, f64, |y| cotangent_ops::Lift::lift(*y));

        impl<$($generics)*> PartialEq<$Number> for f64 {
            #[inline(always)]
            #[track_caller]
            fn eq(&self, y: &$Number) -> bool {
                y == self
            }
        }

        impl<$($generics)*> PartialOrd<$Number> for f64 {
            #[inline(always)]
            #[track_caller]
            fn partial_cmp(&self, y: &$Number) -> Option<std::cmp::Ordering> {
                <$Number as From<f64>>::from(*self).partial_cmp(y)
            }
        }

        impl<$($generics)*> std::iter::Sum for $Number {
            #[inline]
            #[track_caller]
            fn sum<I: Iterator<Item = Self>>(mut terms: I) -> Self {
                let Some(mut sum) = terms.next() else { return Self::from(0.0) };
                for term in terms {
                    sum += term;
                }
                sum
            }
        }

        impl<$($generics)*> std::iter::Product for $Number {
            #[inline]
            #[track_caller]
            fn product<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.reduce(|a, b| a * b).unwrap_or_else(|| Self::from(1.0))
            }
        }

        impl<'item, $($generics)*> std::iter::Sum<&'item $Number> for $Number {
            #[inline]
            #[track_caller]
            fn sum<I: Iterator<Item = &'item $Number>>(iter: I) -> Self {
                iter.copied().sum()
            }
        }

        impl<'item, $($generics)*> std::iter::Product<&'item $Number> for $Number {
            #[inline]
            #[track_caller]
            fn product<I: Iterator<Item = &'item $Number>>(iter: I) -> Self {
                iter.copied().product()
            }
        }

        cotangent_ops::for_each_operation!(inherent, { [$($generics)*] $Number });
        $crate::implement_num_traits!([$($generics)*] $Number);
    };

    (@operator [$($generics:tt)*] $Number:ty, $Op:ident $op:ident $Assign:ident $assign:ident) => {
        impl<$($generics)*> std::ops::$Op for $Number {
            type Output = Self;
            #[inline(always)]
            #[track_caller]
            fn $op(self, y: Self) -> Self {
                cotangent_ops::Lift::binary(self, y, cotangent_ops::ops::$Op)
            }
        }

        impl<$($generics)*> std::ops::$Op<f64> for $Number {
            type Output = Self;
            #[inline(always)]
            #[track_caller]
            fn $op(self, y: f64) -> Self {
                cotangent_ops::Lift::binary_constant(self, y, cotangent_ops::ops::$Op)
            }
        }

        impl<$($generics)*> std::ops::$Op<$Number> for f64 {
            type Output = $Number;
            #[inline(always)]
            #[track_caller]
            fn $op(self, y: $Number) -> $Number {
                cotangent_ops::Lift::constant_binary(self, y, cotangent_ops::ops::$Op)
            }
        }

        impl<$($generics)*> std::ops::$Op<&$Number> for $Number {
            type Output = $Number;
            #[inline(always)]
            #[track_caller]
            fn $op(self, y: &$Number) -> $Number {
                std::ops::$Op::$op(self, *y)
            }
        }

        impl<$($generics)*> std::ops::$Op<$Number> for &$Number {
            type Output = $Number;
            #[inline(always)]
            #[track_caller]
            fn $op(self, y: $Number) -> $Number {
                std::ops::$Op::$op(*self, y)
            }
        }

        impl<$($generics)*> std::ops::$Op<&$Number> for &$Number {
            type Output = $Number;
            #[inline(always)]
            #[track_caller]
            fn $op(self, y: &$Number) -> $Number {
                std::ops::$Op::$op(*self, *y)
            }
        }

        impl<$($generics)*> std::ops::$Op<f64> for &$Number {
            type Output = $Number;
            #[inline(always)]
            #[track_caller]
            fn $op(self, y: f64) -> $Number {
                std::ops::$Op::$op(*self, y)
            }
        }

        impl<$($generics)*> std::ops::$Op<&$Number> for f64 {
            type Output = $Number;
            #[inline(always)]
            #[track_caller]
            fn $op(self, y: &$Number) -> $Number {
                std::ops::$Op::$op(self, *y)
            }
        }

        impl<$($generics)*> std::ops::$Assign for $Number {
            #[inline(always)]
            #[track_caller]
            fn $assign(&mut self, y: Self) {
                cotangent_ops::Lift::binary_assign(self, y, cotangent_ops::ops::$Op);
            }
        }

        impl<$($generics)*> std::ops::$Assign<&$Number> for $Number {
            #[inline(always)]
            #[track_caller]
            fn $assign(&mut self, y: &Self) {
                cotangent_ops::Lift::binary_assign(self, *y, cotangent_ops::ops::$Op);
            }
        }

        impl<$($generics)*> std::ops::$Assign<f64> for $Number {
            #[inline(always)]
            #[track_caller]
            fn $assign(&mut self, y: f64) {
                *self = std::ops::$Op::$op(*self, y);
            }
        }
    };

    (@compare [$($generics:tt)*] $Number:ty, $Other:ty, |$y:ident| $lift:expr) => {
        impl<$($generics)*> PartialEq<$Other> for $Number {
            #[inline(always)]
            #[track_caller]
            fn eq(&self, $y: &$Other) -> bool {
                cotangent_ops::Lift::decide(*self, $lift, cotangent_ops::Comparison::Equal)
            }

            #[inline(always)]
            #[track_caller]
            #[allow(clippy::partialeq_ne_impl, reason = "each comparison is decided as written")]
            fn ne(&self, $y: &$Other) -> bool {
                cotangent_ops::Lift::decide(*self, $lift, cotangent_ops::Comparison::Differ)
            }
        }

        impl<$($generics)*> PartialOrd<$Other> for $Number {
            #[inline(always)]
            #[track_caller]
            fn partial_cmp(&self, $y: &$Other) -> Option<std::cmp::Ordering> {
                cotangent_ops::Lift::order(*self, $lift)
            }

            #[inline(always)]
            #[track_caller]
            fn lt(&self, $y: &$Other) -> bool {
                cotangent_ops::Lift::decide(*self, $lift, cotangent_ops::Comparison::Less)
            }

            #[inline(always)]
            #[track_caller]
            fn le(&self, $y: &$Other) -> bool {
                cotangent_ops::Lift::decide(*self, $lift, cotangent_ops::Comparison::AtMost)
            }

            #[inline(always)]
            #[track_caller]
            fn gt(&self, $y: &$Other) -> bool {
                cotangent_ops::Lift::decide(*self, $lift, cotangent_ops::Comparison::Greater)
            }

            #[inline(always)]
            #[track_caller]
            fn ge(&self, $y: &$Other) -> bool {
                cotangent_ops::Lift::decide(*self, $lift, cotangent_ops::Comparison::AtLeast)
            }
        }
    };
}

/// The table's operations as inherent methods, so that a number type can be used without importing
/// a trait and beside traits with methods of the same names.
#[doc(hidden)]
#[macro_export]
macro_rules! inherent {
    ({ [$($generics:tt)*] $Number:ty }
     unary { $($(#[$udoc:meta])* $ukind:ident $uname:ident $U:ident $(($n:ident : $N:ty))? [$ux:ident] -> $uy:ident $ubody:tt)* }
     binary { $($(#[$bdoc:meta])* $bkind:ident $bname:ident $B:ident [$bx:ident, $by:ident] -> $bz:ident $bbody:tt)* }
     ternary { $($(#[$tdoc:meta])* method $tname:ident $T3:ident [$tx:ident, $ty:ident, $tz:ident] -> $tw:ident $tbody:tt)* }
    ) => {
        /// The operations of the table.
        impl<$($generics)*> $Number {
            $($crate::inherent!(@unary $ukind $(#[$udoc])* $uname ($($n: $N)?));)*
            $($crate::inherent!(@binary $bkind $(#[$bdoc])* $bname $by);)*
            $(
                $(#[$tdoc])*
                #[inline(always)]
                #[track_caller]
                pub fn $tname(self, $ty: impl Into<Self>, $tz: impl Into<Self>) -> Self {
                    cotangent_ops::Elementary::$tname(self, $ty, $tz)
                }
            )*

            /// Sine and cosine.
            #[inline(always)]
            #[track_caller]
            pub fn sin_cos(self) -> (Self, Self) {
                cotangent_ops::Elementary::sin_cos(self)
            }
        }
    };
    (@unary operator $(#[$doc:meta])* $name:ident ()) => {};
    (@unary method $(#[$doc:meta])* $name:ident ($($n:ident: $N:ty)?)) => {
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $name(self $(, $n: $N)?) -> Self {
            cotangent_ops::Elementary::$name(self $(, $n)?)
        }
    };
    (@binary operator $(#[$doc:meta])* $name:ident $y:ident) => {};
    (@binary method $(#[$doc:meta])* $name:ident $y:ident) => {
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $name(self, $y: impl Into<Self>) -> Self {
            cotangent_ops::Elementary::$name(self, $y)
        }
    };
}

pub(crate) use inherent;
pub(crate) use number;
