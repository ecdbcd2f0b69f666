//! Functions by name, applied to numbers and to slices, with the widest vectors the processor has.
//!
//! Every way gives the same bits.

use crate::Lanes;

/// A function of one argument over any lanes.
///
/// Loops take this and no closure: only a method that is always inlined becomes part of a function
/// compiled for more features than the program.
trait Function: Copy {
    fn call<L: Lanes>(self, x: L) -> L;
}

/// A function of two arguments over any lanes.
trait Function2: Copy {
    fn call<L: Lanes>(self, x: L, y: L) -> L;
}

/// The n-th power.
#[derive(Clone, Copy)]
struct Power(i32);

impl Function for Power {
    #[inline(always)]
    fn call<L: Lanes>(self, x: L) -> L {
        crate::powi(x, self.0)
    }
}

/// Vector registers that slices are loaded into.
#[cfg(target_arch = "x86_64")]
mod registers {
    use super::{Function, Function2};
    use crate::Lanes;
    use crate::x86::{avx2, avx512};
    use std::arch::x86_64::*;

    /// Lanes that are read from and written to slices.
    pub(super) trait Register<T, const N: usize>: Lanes {
        /// The numbers of an array.
        fn load(x: &[T; N]) -> Self;
        /// Back into an array.
        fn store(self, out: &mut [T; N]);
    }

    macro_rules! register {
        ($name:path, $float:ty, $n:expr, $load:ident, $store:ident) => {
            impl Register<$float, $n> for $name {
                #[inline(always)]
                fn load(x: &[$float; $n]) -> Self {
                    // SAFETY: the array is as long as the register, and only functions compiled
                    // for the features come here.
                    $name(unsafe { $load(x.as_ptr()) })
                }
                #[inline(always)]
                fn store(self, out: &mut [$float; $n]) {
                    // SAFETY: as for `load`.
                    unsafe { $store(out.as_mut_ptr(), self.0) }
                }
            }
        };
    }
    use avx2::{D4, S8};
    use avx512::{D8, S16};
    register!(D8, f64, 8, _mm512_loadu_pd, _mm512_storeu_pd);
    register!(S16, f32, 16, _mm512_loadu_ps, _mm512_storeu_ps);
    register!(D4, f64, 4, _mm256_loadu_pd, _mm256_storeu_pd);
    register!(S8, f32, 8, _mm256_loadu_ps, _mm256_storeu_ps);

    /// Maps a slice; what is left over at the end is padded with ones.
    #[inline(always)]
    pub(super) fn map<T: Copy + From<bool>, R: Register<T, N>, const N: usize>(
        x: &[T],
        out: &mut [T],
        f: impl Function,
    ) {
        let (chunks, tail) = x.as_chunks::<N>();
        let (outs, out_tail) = out.as_chunks_mut::<N>();
        for (x, out) in chunks.iter().zip(outs) {
            f.call(R::load(x)).store(out);
        }
        if !tail.is_empty() {
            let mut pad = [T::from(true); N];
            pad[..tail.len()].copy_from_slice(tail);
            f.call(R::load(&pad)).store(&mut pad);
            out_tail.copy_from_slice(&pad[..tail.len()]);
        }
    }

    /// Maps two slices; what is left over at the end is padded with ones.
    #[inline(always)]
    pub(super) fn map2<T: Copy + From<bool>, R: Register<T, N>, const N: usize>(
        x: &[T],
        y: &[T],
        out: &mut [T],
        f: impl Function2,
    ) {
        let (xs, x_tail) = x.as_chunks::<N>();
        let (ys, y_tail) = y.as_chunks::<N>();
        let (outs, out_tail) = out.as_chunks_mut::<N>();
        for ((x, y), out) in xs.iter().zip(ys).zip(outs) {
            f.call(R::load(x), R::load(y)).store(out);
        }
        if !x_tail.is_empty() {
            let mut pad = [T::from(true); N];
            let mut pad_y = pad;
            pad[..x_tail.len()].copy_from_slice(x_tail);
            pad_y[..y_tail.len()].copy_from_slice(y_tail);
            f.call(R::load(&pad), R::load(&pad_y)).store(&mut pad);
            out_tail.copy_from_slice(&pad[..x_tail.len()]);
        }
    }
}

/// Which instructions a call may use.
///
/// Calls choose the best one; this is for tests, which compare them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// One number after the other.
    Plain,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 (`avx512f` and `avx512dq`).
    Avx512,
}

impl Level {
    /// The best that the processor has.
    #[inline]
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Plain
    }
}

macro_rules! levels {
    ($float:ty, $many:ident, $n512:expr, $n256:expr, $r512:ident, $r256:ident) => {
        mod $many {
            #[cfg(target_arch = "x86_64")]
            use super::registers;
            use super::{Function, Function2, Level};
            #[cfg(target_arch = "x86_64")]
            use crate::x86::{avx2::$r256, avx512::$r512};

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq")]
            fn avx512<F: Function>(f: F, x: &[$float], out: &mut [$float]) {
                registers::map::<$float, $r512, $n512>(x, out, f);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<F: Function>(f: F, x: &[$float], out: &mut [$float]) {
                registers::map::<$float, $r256, $n256>(x, out, f);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq")]
            fn avx512_2<F: Function2>(f: F, x: &[$float], y: &[$float], out: &mut [$float]) {
                registers::map2::<$float, $r512, $n512>(x, y, out, f);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2_2<F: Function2>(f: F, x: &[$float], y: &[$float], out: &mut [$float]) {
                registers::map2::<$float, $r256, $n256>(x, y, out, f);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn with_fma<F: Function>(f: F, x: $float) -> $float {
                f.call(x)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn with_fma_2<F: Function2>(f: F, x: $float, y: $float) -> $float {
                f.call(x, y)
            }

            #[inline]
            pub(super) fn one<F: Function>(f: F, x: $float) -> $float {
                #[cfg(target_arch = "x86_64")]
                if Level::best() >= Level::Avx2 {
                    // SAFETY: the processor has the features.
                    return unsafe { with_fma(f, x) };
                }
                f.call(x)
            }
            #[inline]
            pub(super) fn two<F: Function2>(f: F, x: $float, y: $float) -> $float {
                #[cfg(target_arch = "x86_64")]
                if Level::best() >= Level::Avx2 {
                    // SAFETY: the processor has the features.
                    return unsafe { with_fma_2(f, x, y) };
                }
                f.call(x, y)
            }
            pub(super) fn many<F: Function>(f: F, level: Level, x: &[$float], out: &mut [$float]) {
                assert_eq!(x.len(), out.len(), "as many results as arguments");
                match level.min(Level::best()) {
                    // SAFETY: the processor has the features.
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => unsafe { avx512(f, x, out) },
                    // SAFETY: the processor has the features.
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => unsafe { avx2(f, x, out) },
                    _ => out.iter_mut().zip(x).for_each(|(out, &x)| *out = f.call(x)),
                }
            }
            pub(super) fn many2<F: Function2>(
                f: F,
                level: Level,
                x: &[$float],
                y: &[$float],
                out: &mut [$float],
            ) {
                assert_eq!(x.len(), out.len(), "as many results as first arguments");
                assert_eq!(y.len(), out.len(), "as many results as second arguments");
                match level.min(Level::best()) {
                    // SAFETY: the processor has the features.
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => unsafe { avx512_2(f, x, y, out) },
                    // SAFETY: the processor has the features.
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => unsafe { avx2_2(f, x, y, out) },
                    _ => {
                        let arguments = x.iter().zip(y);
                        out.iter_mut()
                            .zip(arguments)
                            .for_each(|(out, (&x, &y))| *out = f.call(x, y));
                    }
                }
            }
        }
    };
}
levels!(f64, many_f64, 8, 4, D8, D4);
levels!(f32, many_f32, 16, 8, S16, S8);

/// `f64` or `f32`, for [`Unary::apply`] and [`Binary::apply`].
pub trait Number: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn unary(function: Unary, x: Self) -> Self;
    #[doc(hidden)]
    fn binary(function: Binary, x: Self, y: Self) -> Self;
    #[doc(hidden)]
    fn unary_slice(function: Unary, level: Level, x: &[Self], out: &mut [Self]);
    #[doc(hidden)]
    fn binary_slice(function: Binary, level: Level, x: &[Self], y: &[Self], out: &mut [Self]);
    #[doc(hidden)]
    fn powi_slice(level: Level, n: i32, x: &[Self], out: &mut [Self]);
}

mod sealed {
    /// Only `f64` and `f32`.
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
}

macro_rules! functions {
    (
        unary: $($(#[$doc1:meta])* $name1:ident $function1:ident,)*;
        binary: $($(#[$doc2:meta])* $name2:ident $function2:ident,)*;
    ) => {
        /// A function of one argument.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Unary {
            $($(#[$doc1])* $name1,)*
        }
        /// A function of two arguments.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Binary {
            $($(#[$doc2])* $name2,)*
        }

        impl Unary {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name1),*];

            /// The function over any lanes.
            #[inline(always)]
            pub fn call<L: Lanes>(self, x: L) -> L {
                match self {
                    $(Self::$name1 => crate::$function1(x),)*
                }
            }
        }
        impl Binary {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name2),*];

            /// The function over any lanes.
            #[inline(always)]
            pub fn call<L: Lanes>(self, x: L, y: L) -> L {
                match self {
                    $(Self::$name2 => crate::$function2(x, y),)*
                }
            }
        }

        /// One type a function, so that loops are compiled for each.
        mod each {
            use super::{Function, Function2};
            use crate::Lanes;
            $(
                #[derive(Clone, Copy)]
                pub(super) struct $name1;
                impl Function for $name1 {
                    #[inline(always)]
                    fn call<L: Lanes>(self, x: L) -> L {
                        crate::$function1(x)
                    }
                }
            )*
            $(
                #[derive(Clone, Copy)]
                pub(super) struct $name2;
                impl Function2 for $name2 {
                    #[inline(always)]
                    fn call<L: Lanes>(self, x: L, y: L) -> L {
                        crate::$function2(x, y)
                    }
                }
            )*
        }

        functions!(number f64 many_f64; $($name1)*; $($name2)*);
        functions!(number f32 many_f32; $($name1)*; $($name2)*);
    };
    (number $float:ident $module:ident; $($name1:ident)*; $($name2:ident)*) => {
        impl Number for $float {
            fn unary(function: Unary, x: $float) -> $float {
                match function {
                    $(Unary::$name1 => $module::one(each::$name1, x),)*
                }
            }
            fn binary(function: Binary, x: $float, y: $float) -> $float {
                match function {
                    $(Binary::$name2 => $module::two(each::$name2, x, y),)*
                }
            }
            fn unary_slice(function: Unary, level: Level, x: &[$float], out: &mut [$float]) {
                match function {
                    $(Unary::$name1 => $module::many(each::$name1, level, x, out),)*
                }
            }
            fn powi_slice(level: Level, n: i32, x: &[$float], out: &mut [$float]) {
                $module::many(Power(n), level, x, out);
            }
            fn binary_slice(
                function: Binary,
                level: Level,
                x: &[$float],
                y: &[$float],
                out: &mut [$float],
            ) {
                match function {
                    $(Binary::$name2 => $module::many2(each::$name2, level, x, y, out),)*
                }
            }
        }
    };
}

functions! {
    unary:
    /// eˣ.
    Exp exp,
    /// 2ˣ.
    Exp2 exp2,
    /// eˣ − 1.
    ExpM1 exp_m1,
    /// The natural logarithm.
    Ln ln,
    /// The logarithm to base 2.
    Log2 log2,
    /// The logarithm to base 10.
    Log10 log10,
    /// ln(1 + x).
    Ln1p ln_1p,
    /// The sine.
    Sin sin,
    /// The cosine.
    Cos cos,
    /// The tangent.
    Tan tan,
    /// The hyperbolic tangent.
    Tanh tanh,
    /// 1/cosh², the slope of the hyperbolic tangent.
    Sech2 sech2,
    /// 1/(1 + e⁻ˣ).
    Sigmoid sigmoid,
    /// ln(1 + eˣ).
    Softplus softplus,
    /// The hyperbolic sine.
    Sinh sinh,
    /// The hyperbolic cosine.
    Cosh cosh,
    /// The cube root.
    Cbrt cbrt,
    /// The inverse sine.
    Asin asin,
    /// The inverse cosine.
    Acos acos,
    /// The inverse tangent.
    Atan atan,
    /// The inverse hyperbolic sine.
    Asinh asinh,
    /// The inverse hyperbolic cosine.
    Acosh acosh,
    /// The inverse hyperbolic tangent.
    Atanh atanh,
    /// The error function.
    Erf erf,
    /// 1 − the error function.
    Erfc erfc,
    /// The logarithm of the magnitude of the gamma function.
    LnGamma ln_gamma,
    /// The derivative of the logarithm of the gamma function.
    Digamma digamma,
    ;
    binary:
    /// x to the power y.
    Pow pow,
    /// √(x² + y²).
    Hypot hypot,
    /// The angle of the point (second, first).
    Atan2 atan2,
    ;
}

impl Unary {
    /// The function of one number.
    pub fn apply<T: Number>(self, x: T) -> T {
        T::unary(self, x)
    }
}

impl Binary {
    /// The function of two numbers.
    pub fn apply<T: Number>(self, x: T, y: T) -> T {
        T::binary(self, x, y)
    }
}

/// out\[i\] = function(x\[i\]).
///
/// # Panics
///
/// If the lengths differ.
pub fn apply_f64(function: Unary, x: &[f64], out: &mut [f64]) {
    apply_at(Level::Avx512, function, x, out);
}

/// out\[i\] = function(x\[i\]).
///
/// # Panics
///
/// If the lengths differ.
pub fn apply_f32(function: Unary, x: &[f32], out: &mut [f32]) {
    apply_at(Level::Avx512, function, x, out);
}

/// out\[i\] = function(x\[i\], y\[i\]).
///
/// # Panics
///
/// If the lengths differ.
pub fn apply2_f64(function: Binary, x: &[f64], y: &[f64], out: &mut [f64]) {
    apply2_at(Level::Avx512, function, x, y, out);
}

/// out\[i\] = function(x\[i\], y\[i\]).
///
/// # Panics
///
/// If the lengths differ.
pub fn apply2_f32(function: Binary, x: &[f32], y: &[f32], out: &mut [f32]) {
    apply2_at(Level::Avx512, function, x, y, out);
}

/// [`apply_f64`] and [`apply_f32`] with instructions of this level at most.
///
/// # Panics
///
/// If the lengths differ.
pub fn apply_at<T: Number>(level: Level, function: Unary, x: &[T], out: &mut [T]) {
    T::unary_slice(function, level, x, out);
}

/// [`apply2_f64`] and [`apply2_f32`] with instructions of this level at most.
///
/// # Panics
///
/// If the lengths differ.
pub fn apply2_at<T: Number>(level: Level, function: Binary, x: &[T], y: &[T], out: &mut [T]) {
    T::binary_slice(function, level, x, y, out);
}

/// out\[i\] = x\[i\]ⁿ, with instructions of this level at most.
///
/// # Panics
///
/// If the lengths differ.
pub fn apply_powi<T: Number>(level: Level, n: i32, x: &[T], out: &mut [T]) {
    T::powi_slice(level, n, x, out);
}
