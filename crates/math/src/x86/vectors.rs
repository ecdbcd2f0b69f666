//! [`Lanes`](crate::Lanes) in a register, from the names of its instructions.

/// Numbers, integers and truth values of one register, each method one instruction.
///
/// Their values exist only inside functions compiled for the features that the instructions need (see
/// `slices`). Blends take the mask first, then what is chosen where it does not hold.
macro_rules! vectors {
    (
        $name:ident($reg:ty), $bits:ident($ireg:ty), $mask:ident($mreg:ty), $float:ty, $int:ty, $double:expr,
        $set1f:ident $add:ident $sub:ident $mul:ident $div:ident $xorf:ident $andf:ident $andnotf:ident
        $orf:ident $sqrt:ident $fma:ident $round:ident $min:ident $max:ident $cmp:ident $blend:ident
        $toi:ident $tof:ident,
        $set1i:ident $addi:ident $subi:ident $andi:ident $ori:ident $xori:ident $shl:ident $shr:ident
        $sar:ident $eqi:ident $gti:ident $blendi:ident,
        $andm:ident $orm:ident $xorm:ident $notm:ident $lanes:ident;
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
                // SAFETY: only functions compiled for the features come here.
                if unsafe { $lanes(mask.0) } != 0 {
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
                Self(unsafe { $andi(self.0, o.0) })
            }
            #[inline(always)]
            fn or(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $ori(self.0, o.0) })
            }
            #[inline(always)]
            fn xor(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $xori(self.0, o.0) })
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
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $andm(self.0, o.0) })
            }
        }
        impl BitOr for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitor(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $orm(self.0, o.0) })
            }
        }
        impl BitXor for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitxor(self, o: Self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $xorm(self.0, o.0) })
            }
        }
        impl Not for $mask {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                // SAFETY: only functions compiled for the features come here.
                Self(unsafe { $notm(self.0) })
            }
        }
    };
}
