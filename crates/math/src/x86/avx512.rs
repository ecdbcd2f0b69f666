//! [`Lanes`] in the registers of AVX-512 (`avx512f` and `avx512dq`).

use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use super::pair::Pair;
use crate::{LaneBits, LaneMask, Lanes, Table};

/// To the nearest integer, ties to even, without the inexact flag.
const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

vectors! {
    D8(__m512d), D8Bits(__m512i), D8Mask(__mmask8), f64, i64, true,
    _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_xor_pd
    _mm512_and_pd _mm512_andnot_pd _mm512_or_pd _mm512_sqrt_pd _mm512_fmadd_pd
    _mm512_roundscale_pd _mm512_min_pd _mm512_max_pd _mm512_cmp_pd_mask _mm512_mask_blend_pd
    _mm512_castpd_si512 _mm512_castsi512_pd,
    _mm512_set1_epi64 _mm512_add_epi64 _mm512_sub_epi64 _mm512_and_si512 _mm512_or_si512
    _mm512_xor_si512 _mm512_sll_epi64 _mm512_srl_epi64 _mm512_sra_epi64 _mm512_cmpeq_epi64_mask
    _mm512_cmpgt_epi64_mask _mm512_mask_blend_epi64,
    _kand_mask8 _kor_mask8 _kxor_mask8 _knot_mask8 _cvtmask8_u32;
    type Wide = Self;
    #[inline(always)]
    fn look_up(table: &'static Table, index: D8Bits) -> Self {
        let (low, high) = table.doubles.split_at(8);
        // SAFETY: only functions compiled for the features come here, and both halves are as long as
        // a register.
        Self(unsafe {
            let (low, high) = (_mm512_loadu_pd(low.as_ptr()), _mm512_loadu_pd(high.as_ptr()));
            _mm512_permutex2var_pd(low, index.0, high)
        })
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
    S16(__m512), S16Bits(__m512i), S16Mask(__mmask16), f32, i32, false,
    _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_xor_ps
    _mm512_and_ps _mm512_andnot_ps _mm512_or_ps _mm512_sqrt_ps _mm512_fmadd_ps
    _mm512_roundscale_ps _mm512_min_ps _mm512_max_ps _mm512_cmp_ps_mask _mm512_mask_blend_ps
    _mm512_castps_si512 _mm512_castsi512_ps,
    _mm512_set1_epi32 _mm512_add_epi32 _mm512_sub_epi32 _mm512_and_si512 _mm512_or_si512
    _mm512_xor_si512 _mm512_sll_epi32 _mm512_srl_epi32 _mm512_sra_epi32 _mm512_cmpeq_epi32_mask
    _mm512_cmpgt_epi32_mask _mm512_mask_blend_epi32,
    _kand_mask16 _kor_mask16 _kxor_mask16 _knot_mask16 _cvtmask16_u32;
    type Wide = Pair<D8>;
    #[inline(always)]
    fn look_up(table: &'static Table, index: S16Bits) -> Self {
        let (low, high) = table.singles.split_at(16);
        // SAFETY: only functions compiled for the features come here, and both halves are as long as
        // a register.
        Self(unsafe {
            let (low, high) = (_mm512_loadu_ps(low.as_ptr()), _mm512_loadu_ps(high.as_ptr()));
            _mm512_permutex2var_ps(low, index.0, high)
        })
    }
    #[inline(always)]
    fn widen(self) -> Pair<D8> {
        // SAFETY: only functions compiled for the features come here.
        unsafe {
            let high = _mm512_extractf32x8_ps::<1>(self.0);
            let low = _mm512_castps512_ps256(self.0);
            Pair(D8(_mm512_cvtps_pd(low)), D8(_mm512_cvtps_pd(high)))
        }
    }
    #[inline(always)]
    fn narrow(wide: Pair<D8>) -> Self {
        // SAFETY: only functions compiled for the features come here.
        unsafe {
            let low = _mm512_castps256_ps512(_mm512_cvtpd_ps(wide.0.0));
            Self(_mm512_insertf32x8::<1>(low, _mm512_cvtpd_ps(wide.1.0)))
        }
    }
}
