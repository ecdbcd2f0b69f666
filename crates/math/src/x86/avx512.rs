//! [`Lanes`] in the registers of AVX-512 (`avx512f` and `avx512dq`).
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
        $sar:ident;
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
                Self(unsafe { $blend(mask.0, no.0, yes.0) })
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
                if mask.0 != 0 {
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
                Self(unsafe { _mm512_and_si512(self.0, o.0) })
            }
            #[inline(always)]
            fn or(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { _mm512_or_si512(self.0, o.0) })
            }
            #[inline(always)]
            fn xor(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { _mm512_xor_si512(self.0, o.0) })
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
                $mask(unsafe { $eqi(self.0, o.0) })
            }
            #[inline(always)]
            fn lt(self, o: Self) -> $mask {
                // SAFETY: only functions compiled for the features come here.
                $mask(unsafe { $gti(o.0, self.0) })
            }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $blendi(mask.0, no.0, yes.0) })
            }
        }

        impl LaneMask for $mask {}
        impl BitAnd for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitand(self, o: Self) -> Self {
                Self(self.0 & o.0)
            }
        }
        impl BitOr for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitor(self, o: Self) -> Self {
                Self(self.0 | o.0)
            }
        }
        impl BitXor for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitxor(self, o: Self) -> Self {
                Self(self.0 ^ o.0)
            }
        }
        impl Not for $mask {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                Self(!self.0)
            }
        }
    };
}

vectors! {
    D8(__m512d), D8Bits(__m512i), D8Mask(__mmask8), f64, true,
    _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_xor_pd
    _mm512_and_pd _mm512_andnot_pd _mm512_or_pd _mm512_sqrt_pd _mm512_fmadd_pd
    _mm512_roundscale_pd _mm512_min_pd _mm512_max_pd _mm512_cmp_pd_mask _mm512_mask_blend_pd
    _mm512_castpd_si512 _mm512_castsi512_pd
    i64, _mm512_set1_epi64 _mm512_add_epi64 _mm512_sub_epi64 _mm512_sll_epi64 _mm512_srl_epi64
    _mm512_cmpeq_epi64_mask _mm512_cmpgt_epi64_mask _mm512_mask_blend_epi64 _mm512_sra_epi64;
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
    S16(__m512), S16Bits(__m512i), S16Mask(__mmask16), f32, false,
    _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_xor_ps
    _mm512_and_ps _mm512_andnot_ps _mm512_or_ps _mm512_sqrt_ps _mm512_fmadd_ps
    _mm512_roundscale_ps _mm512_min_ps _mm512_max_ps _mm512_cmp_ps_mask _mm512_mask_blend_ps
    _mm512_castps_si512 _mm512_castsi512_ps
    i32, _mm512_set1_epi32 _mm512_add_epi32 _mm512_sub_epi32 _mm512_sll_epi32 _mm512_srl_epi32
    _mm512_cmpeq_epi32_mask _mm512_cmpgt_epi32_mask _mm512_mask_blend_epi32 _mm512_sra_epi32;
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
