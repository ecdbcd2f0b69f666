//! The vector instructions that every function of this crate is written with.
//!
//! A method is one instruction of a machine (or of LLVM) with a result that IEEE 754 defines to
//! the last bit, or an entry of a table. There is no branch on a value, only masks and [`Lanes::select`]; hence an
//! implementation may compute at once (numbers, [`Pack`](crate::Pack)) or write down the
//! instructions (an emitter of code), and both give the same bits.
//!
//! The only exception from "no branches" is [`Lanes::rarely`], whose result does not depend on
//! whether an implementation branches.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// One or more numbers of type `f64` or `f32`.
///
/// The operators `+ - * /` are the correctly rounded ones (`fadd fsub fmul fdiv` without
/// fast-math flags) and unary `-` flips the sign bit (`fneg`).
///
/// ```
/// use cotangent_math::Lanes;
/// fn square_minus_one<L: Lanes>(x: L) -> L {
///     x.fma(x, L::splat(-1.0))
/// }
/// assert_eq!(square_minus_one(3.0_f64), 8.0);
/// ```
pub trait Lanes:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Integers of the same width: `i64` lanes for doubles, `i32` lanes for singles.
    type Bits: LaneBits<Mask = Self::Mask>;
    /// One truth value a lane.
    type Mask: LaneMask;
    /// As many doubles as there are lanes. Doubles are their own wide lanes.
    type Wide: Lanes;
    /// Whether the lanes are `f64`.
    const DOUBLE: bool;

    /// A constant in every lane, rounded to `f32` for singles.
    fn splat(c: f64) -> Self;
    /// |x|: clears the sign bit (`llvm.fabs`).
    fn abs(self) -> Self;
    /// The correctly rounded square root (`llvm.sqrt`).
    fn sqrt(self) -> Self;
    /// self·b + c, rounded once (`llvm.fma`).
    fn fma(self, b: Self, c: Self) -> Self;
    /// The nearest integer, ties to even (`llvm.roundeven`).
    fn round_even(self) -> Self;
    /// The magnitude of self with the sign of `sign` (`llvm.copysign`).
    fn copysign(self, sign: Self) -> Self;
    /// self < o, false where one is NaN (`fcmp olt`).
    fn lt(self, o: Self) -> Self::Mask;
    /// self ≤ o, false where one is NaN (`fcmp ole`).
    fn le(self, o: Self) -> Self::Mask;
    /// self > o, false where one is NaN (`fcmp ogt`).
    fn gt(self, o: Self) -> Self::Mask;
    /// self ≥ o, false where one is NaN (`fcmp oge`).
    fn ge(self, o: Self) -> Self::Mask;
    /// self = o, false where one is NaN (`fcmp oeq`).
    fn eq(self, o: Self) -> Self::Mask;
    /// self ≠ o, true where one is NaN (`fcmp une`).
    fn ne(self, o: Self) -> Self::Mask;
    /// `yes` where the mask holds, `no` elsewhere (`select`).
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// self where self < o, o elsewhere, hence `o` where one is NaN (`fcmp olt` and `select`; the
    /// instruction `minpd` of x86).
    #[inline(always)]
    fn smaller(self, o: Self) -> Self {
        Self::select(self.lt(o), self, o)
    }
    /// self where self > o, o elsewhere, hence `o` where one is NaN (`fcmp ogt` and `select`; the
    /// instruction `maxpd` of x86).
    #[inline(always)]
    fn larger(self, o: Self) -> Self {
        Self::select(self.gt(o), self, o)
    }
    /// The same bits as integers (`bitcast`).
    fn to_bits(self) -> Self::Bits;
    /// The same bits as numbers (`bitcast`).
    fn from_bits(bits: Self::Bits) -> Self;
    /// The entry of a table that the lowest bits of an index name: 4 bits for doubles, 5 for singles
    /// (the instruction `vpermi2pd` of x86, or a load from memory for each lane).
    fn look_up(table: &'static Table, index: Self::Bits) -> Self;
    /// The same numbers as doubles (`fpext`; nothing for doubles).
    fn widen(self) -> Self::Wide;
    /// Doubles rounded to these lanes (`fptrunc`; nothing for doubles).
    fn narrow(wide: Self::Wide) -> Self;
    /// `slow()` where the mask holds, `values` elsewhere.
    ///
    /// By meaning this is a [`select`](Self::select) of each of the K values. An implementation may
    /// branch around `slow` when no lane of the mask holds (`llvm.vector.reduce.or` and `br`): the
    /// bits are the same. `slow` has no side effects and may itself contain such a call; what it gives
    /// in other lanes is dropped. Closures are passed as `#[inline(always)] || …`: else they are not
    /// compiled for the features of the function that they end up in.
    fn rarely<const K: usize>(
        mask: Self::Mask,
        values: [Self; K],
        slow: impl FnOnce() -> [Self; K],
    ) -> [Self; K];
}

/// As many numbers as two vector registers of AVX-512 hold, for [`Lanes::look_up`].
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// For lanes of `f64`.
    pub doubles: [f64; 16],
    /// For lanes of `f32`.
    pub singles: [f32; 32],
}

/// The integers of [`Lanes`]: 64 bits for doubles and 32 bits for singles; everything wraps.
pub trait LaneBits: Copy {
    /// One truth value a lane.
    type Mask: LaneMask;

    /// A constant in every lane; its low 32 bits for singles.
    fn splat(c: i64) -> Self;
    /// self + o (`add`).
    fn add(self, o: Self) -> Self;
    /// self − o (`sub`).
    fn sub(self, o: Self) -> Self;
    /// Bitwise and (`and`).
    fn and(self, o: Self) -> Self;
    /// Bitwise or (`or`).
    fn or(self, o: Self) -> Self;
    /// Bitwise exclusive or (`xor`).
    fn xor(self, o: Self) -> Self;
    /// Shifts left by a constant, less than the width (`shl`).
    fn shl(self, by: u32) -> Self;
    /// Shifts right by a constant, less than the width, and fills with zeros (`lshr`).
    fn shr(self, by: u32) -> Self;
    /// Shifts right by a constant, less than the width, and fills with the sign (`ashr`).
    fn sar(self, by: u32) -> Self;
    /// self = o (`icmp eq`).
    fn eq(self, o: Self) -> Self::Mask;
    /// self < o as signed integers (`icmp slt`).
    fn lt(self, o: Self) -> Self::Mask;
    /// `yes` where the mask holds, `no` elsewhere (`select`).
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
}

/// One truth value a lane (`i1`), with the operators `& | ^ !`.
pub trait LaneMask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

impl LaneMask for bool {}
