//! [`Lanes`] in the registers of AVX2 and FMA.
//!
//! The values exist only inside functions compiled for these features (see `slices`).

use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use super::pair::Pair;
use crate::{LaneBits, LaneMask, Lanes, Table};

/// To the nearest integer, ties to even, without the inexact flag.
const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

macro_rules! vectors {
    (
        $name:ident($reg:ty), $bits:ident($ireg:ty), $mask:ident($mreg:ty), $float:ty, $double:expr,
        $set1f:ident $add:ident $sub:ident $mul:ident $div:ident $xorf:ident $andf:ident $andnotf:ident
        $orf:ident $sqrt:ident $fma:ident $round:ident $min:ident $max:ident $cmp:ident $blend:ident
        $toi:ident $tof:ident
        $int:ty, $set1i:ident $addi:ident $subi:ident $shl:ident $shr:ident
        $eqi:ident $gti:ident $blendi:ident
        $tomask:ident $movemask:ident $fromi:ident $sar:ident;
        $($extra:tt)*
    ) => {
        #[derive(Clone, Copy)]
        pub(crate) struct $name(pub(crate) $reg);
        #[derive(Clone, Copy)]
        pub(crate) struct $bits($ireg);
        #[derive(Clone, Copy)]
        pub(crate) struct $mask($mreg);

        impl Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                // SAFETY: the value exists, hence the processor has the features.
                Self(unsafe { $add(self.0, o.0) })
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                // SAFETY: as for `add`.
                Self(unsafe { $sub(self.0, o.0) })
            }
        }
        impl Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                // SAFETY: as for `add`.
                Self(unsafe { $mul(self.0, o.0) })
            }
        }
        impl Div for $name {
            type Output = Self;
            #[inline(always)]
            fn div(self, o: Self) -> Self {
                // SAFETY: as for `add`.
                Self(unsafe { $div(self.0, o.0) })
            }
        }
        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // SAFETY: as for `add`.
                Self(unsafe { $xorf(self.0, $set1f(-0.0)) })
            }
        }

        impl Lanes for $name {
            type Bits = $bits;
            type Mask = $mask;
            const DOUBLE: bool = $double;

            $($extra)*

            #[inline(always)]
            fn splat(c: f64) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $set1f(c as $float) })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $andnotf($set1f(-0.0), self.0) })
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $fma(self.0, b.0, c.0) })
            }
            #[inline(always)]
            fn round_even(self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $round::<NEAREST>(self.0) })
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                unsafe {
                    let minus = $set1f(-0.0);
                    Self($orf($andnotf(minus, self.0), $andf(minus, sign.0)))
                }
            }
            #[inline(always)]
            fn lt(self, o: Self) -> $mask {
                // SAFETY: only functions compiled for the features come here.
                $mask(unsafe { $cmp::<_CMP_LT_OQ>(self.0, o.0) })
            }
            #[inline(always)]
            fn le(self, o: Self) -> $mask {
                // SAFETY: only functions compiled for the features come here.
                $mask(unsafe { $cmp::<_CMP_LE_OQ>(self.0, o.0) })
            }
            #[inline(always)]
            fn gt(self, o: Self) -> $mask {
                // SAFETY: only functions compiled for the features come here.
                $mask(unsafe { $cmp::<_CMP_GT_OQ>(self.0, o.0) })
            }
            #[inline(always)]
            fn ge(self, o: Self) -> $mask {
                // SAFETY: only functions compiled for the features come here.
                $mask(unsafe { $cmp::<_CMP_GE_OQ>(self.0, o.0) })
            }
            #[inline(always)]
            fn eq(self, o: Self) -> $mask {
                // SAFETY: only functions compiled for the features come here.
                $mask(unsafe { $cmp::<_CMP_EQ_OQ>(self.0, o.0) })
            }
            #[inline(always)]
            fn ne(self, o: Self) -> $mask {
                // SAFETY: only functions compiled for the features come here.
                $mask(unsafe { $cmp::<_CMP_NEQ_UQ>(self.0, o.0) })
            }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $blend(no.0, yes.0, mask.0) })
            }
            #[inline(always)]
            fn smaller(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $min(self.0, o.0) })
            }
            #[inline(always)]
            fn larger(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $max(self.0, o.0) })
            }
            #[inline(always)]
            fn to_bits(self) -> $bits {
                // SAFETY: only functions compiled for the features come here.
                $bits(unsafe { $toi(self.0) })
            }
            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $tof(bits.0) })
            }
            #[inline(always)]
            fn rarely<const K: usize>(
                mask: $mask,
                values: [Self; K],
                slow: impl FnOnce() -> [Self; K],
            ) -> [Self; K] {
                // SAFETY: only functions compiled for the features come here.
                if unsafe { $movemask(mask.0) } != 0 {
                    let mut out = slow();
                    for k in 0..K {
                        out[k] = Self::select(mask, out[k], values[k]);
                    }
                    out
                } else {
                    values
                }
            }
        }

        impl LaneBits for $bits {
            type Mask = $mask;

            #[inline(always)]
            fn splat(c: i64) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $set1i(c as $int) })
            }
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $addi(self.0, o.0) })
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $subi(self.0, o.0) })
            }
            #[inline(always)]
            fn and(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { _mm256_and_si256(self.0, o.0) })
            }
            #[inline(always)]
            fn or(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { _mm256_or_si256(self.0, o.0) })
            }
            #[inline(always)]
            fn xor(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { _mm256_xor_si256(self.0, o.0) })
            }
            #[inline(always)]
            fn shl(self, by: u32) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $shl(self.0, _mm_cvtsi32_si128(by as i32)) })
            }
            #[inline(always)]
            fn shr(self, by: u32) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $shr(self.0, _mm_cvtsi32_si128(by as i32)) })
            }
            #[inline(always)]
            fn sar(self, by: u32) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $sar(self.0, _mm_cvtsi32_si128(by as i32)) })
            }
            #[inline(always)]
            fn eq(self, o: Self) -> $mask {
                // SAFETY: only functions compiled for the features come here.
                $mask(unsafe { $tomask($eqi(self.0, o.0)) })
            }
            #[inline(always)]
            fn lt(self, o: Self) -> $mask {
                // SAFETY: only functions compiled for the features come here.
                $mask(unsafe { $tomask($gti(o.0, self.0)) })
            }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $blendi(no.0, yes.0, $fromi(mask.0)) })
            }
        }

        impl LaneMask for $mask {}
        impl BitAnd for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitand(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $andf(self.0, o.0) })
            }
        }
        impl BitOr for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitor(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $orf(self.0, o.0) })
            }
        }
        impl BitXor for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitxor(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $xorf(self.0, o.0) })
            }
        }
        impl Not for $mask {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $xorf(self.0, $tomask(_mm256_set1_epi64x(-1))) })
            }
        }
    };
}

vectors! {
    D4(__m256d), D4Bits(__m256i), D4Mask(__m256d), f64, true,
    _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_xor_pd
    _mm256_and_pd _mm256_andnot_pd _mm256_or_pd _mm256_sqrt_pd _mm256_fmadd_pd _mm256_round_pd
    _mm256_min_pd _mm256_max_pd _mm256_cmp_pd _mm256_blendv_pd _mm256_castpd_si256
    _mm256_castsi256_pd
    i64, _mm256_set1_epi64x _mm256_add_epi64 _mm256_sub_epi64 _mm256_sll_epi64 _mm256_srl_epi64
    _mm256_cmpeq_epi64 _mm256_cmpgt_epi64 _mm256_blendv_epi8 _mm256_castsi256_pd
    _mm256_movemask_pd _mm256_castpd_si256 sar_epi64;
    type Wide = Self;
    #[inline(always)]
    fn look_up(table: &'static Table, index: D4Bits) -> Self {
        let index = index.and(D4Bits::splat(15));
        // SAFETY: only functions compiled for the features come here, and the table has 16 entries.
        Self(unsafe { _mm256_i64gather_pd::<8>(table.doubles.as_ptr(), index.0) })
    }
    #[inline(always)]
    fn widen(self) -> Self {
        self
    }
    #[inline(always)]
    fn narrow(wide: Self) -> Self {
        wide
    }
}

vectors! {
    S8(__m256), S8Bits(__m256i), S8Mask(__m256), f32, false,
    _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_xor_ps
    _mm256_and_ps _mm256_andnot_ps _mm256_or_ps _mm256_sqrt_ps _mm256_fmadd_ps _mm256_round_ps
    _mm256_min_ps _mm256_max_ps _mm256_cmp_ps _mm256_blendv_ps _mm256_castps_si256
    _mm256_castsi256_ps
    i32, _mm256_set1_epi32 _mm256_add_epi32 _mm256_sub_epi32 _mm256_sll_epi32 _mm256_srl_epi32
    _mm256_cmpeq_epi32 _mm256_cmpgt_epi32 _mm256_blendv_epi8 _mm256_castsi256_ps
    _mm256_movemask_ps _mm256_castps_si256 _mm256_sra_epi32;
    type Wide = Pair<D4>;
    #[inline(always)]
    fn look_up(table: &'static Table, index: S8Bits) -> Self {
        let index = index.and(S8Bits::splat(31));
        // SAFETY: only functions compiled for the features come here, and the table has 32 entries.
        Self(unsafe { _mm256_i32gather_ps::<4>(table.singles.as_ptr(), index.0) })
    }
    #[inline(always)]
    fn widen(self) -> Pair<D4> {
        // SAFETY: only functions compiled for the features come here.
        unsafe {
            let high = _mm256_extractf128_ps::<1>(self.0);
            let low = _mm256_castps256_ps128(self.0);
            Pair(D4(_mm256_cvtps_pd(low)), D4(_mm256_cvtps_pd(high)))
        }
    }
    #[inline(always)]
    fn narrow(wide: Pair<D4>) -> Self {
        // SAFETY: only functions compiled for the features come here.
        Self(unsafe { _mm256_set_m128(_mm256_cvtpd_ps(wide.1.0), _mm256_cvtpd_ps(wide.0.0)) })
    }
}

/// An arithmetic shift of 64 bits, which AVX2 has not: the sign bit is moved along and extended.
#[inline(always)]
unsafe fn sar_epi64(x: __m256i, by: __m128i) -> __m256i {
    // SAFETY: the caller is compiled for the features.
    unsafe {
        let sign = _mm256_srl_epi64(_mm256_set1_epi64x(i64::MIN), by);
        _mm256_sub_epi64(_mm256_xor_si256(_mm256_srl_epi64(x, by), sign), sign)
    }
}
