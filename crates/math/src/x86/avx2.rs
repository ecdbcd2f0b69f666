//! [`Lanes`] in the registers of AVX2 and FMA.

use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use super::pair::Pair;
use crate::{LaneBits, LaneMask, Lanes, Table};

/// To the nearest integer, ties to even, without the inexact flag.
const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

vectors! {
    D4(__m256d), D4Bits(__m256i), D4Mask(__m256d), f64, i64, true,
    _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_xor_pd
    _mm256_and_pd _mm256_andnot_pd _mm256_or_pd _mm256_sqrt_pd _mm256_fmadd_pd _mm256_round_pd
    _mm256_min_pd _mm256_max_pd _mm256_cmp_pd blend_pd _mm256_castpd_si256 _mm256_castsi256_pd,
    _mm256_set1_epi64x _mm256_add_epi64 _mm256_sub_epi64 _mm256_and_si256 _mm256_or_si256
    _mm256_xor_si256 _mm256_sll_epi64 _mm256_srl_epi64 sar_epi64 eq_epi64 gt_epi64 blend_epi64,
    _mm256_and_pd _mm256_or_pd _mm256_xor_pd not_pd _mm256_movemask_pd;
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
    S8(__m256), S8Bits(__m256i), S8Mask(__m256), f32, i32, false,
    _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_xor_ps
    _mm256_and_ps _mm256_andnot_ps _mm256_or_ps _mm256_sqrt_ps _mm256_fmadd_ps _mm256_round_ps
    _mm256_min_ps _mm256_max_ps _mm256_cmp_ps blend_ps _mm256_castps_si256 _mm256_castsi256_ps,
    _mm256_set1_epi32 _mm256_add_epi32 _mm256_sub_epi32 _mm256_and_si256 _mm256_or_si256
    _mm256_xor_si256 _mm256_sll_epi32 _mm256_srl_epi32 _mm256_sra_epi32 eq_epi32 gt_epi32
    blend_epi32,
    _mm256_and_ps _mm256_or_ps _mm256_xor_ps not_ps _mm256_movemask_ps;
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

/// What has masks, which are registers of numbers here.
macro_rules! masked {
    (
        $reg:ty, $blend:ident $blendi:ident $eq:ident $gt:ident $not:ident;
        $blendv:ident $cmpeq:ident $cmpgt:ident $xor:ident $tof:ident $toi:ident
    ) => {
        #[inline(always)]
        unsafe fn $blend(mask: $reg, no: $reg, yes: $reg) -> $reg {
            // SAFETY: the caller is compiled for the features, as below.
            unsafe { $blendv(no, yes, mask) }
        }
        #[inline(always)]
        unsafe fn $blendi(mask: $reg, no: __m256i, yes: __m256i) -> __m256i {
            // SAFETY: as above.
            unsafe { _mm256_blendv_epi8(no, yes, $toi(mask)) }
        }
        #[inline(always)]
        unsafe fn $eq(a: __m256i, b: __m256i) -> $reg {
            // SAFETY: as above.
            unsafe { $tof($cmpeq(a, b)) }
        }
        #[inline(always)]
        unsafe fn $gt(a: __m256i, b: __m256i) -> $reg {
            // SAFETY: as above.
            unsafe { $tof($cmpgt(a, b)) }
        }
        #[inline(always)]
        unsafe fn $not(mask: $reg) -> $reg {
            // SAFETY: as above.
            unsafe { $xor(mask, $tof(_mm256_set1_epi64x(-1))) }
        }
    };
}
masked! {
    __m256d, blend_pd blend_epi64 eq_epi64 gt_epi64 not_pd;
    _mm256_blendv_pd _mm256_cmpeq_epi64 _mm256_cmpgt_epi64 _mm256_xor_pd _mm256_castsi256_pd
    _mm256_castpd_si256
}
masked! {
    __m256, blend_ps blend_epi32 eq_epi32 gt_epi32 not_ps;
    _mm256_blendv_ps _mm256_cmpeq_epi32 _mm256_cmpgt_epi32 _mm256_xor_ps _mm256_castsi256_ps
    _mm256_castps_si256
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
