//! What a pattern counts rows and entries with.

/// An index of a [`Pattern`](crate::Pattern): `usize`, or `u32` for half the memory.
pub trait Index:
    Copy + Ord + std::hash::Hash + std::fmt::Debug + Default + Send + Sync + sealed::Sealed + 'static
{
    /// The largest one.
    const LARGEST: usize;

    /// From a number that is known to be in range.
    fn of(n: usize) -> Self;

    /// As a number.
    fn at(self) -> usize;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for usize {}
    impl Sealed for u32 {}
}

impl Index for usize {
    const LARGEST: usize = usize::MAX;

    #[inline(always)]
    fn of(n: usize) -> Self {
        n
    }

    #[inline(always)]
    fn at(self) -> usize {
        self
    }
}

impl Index for u32 {
    const LARGEST: usize = u32::MAX as usize;

    #[inline(always)]
    fn of(n: usize) -> Self {
        n as u32
    }

    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }
}
