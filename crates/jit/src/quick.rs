//! Short programs: called with what stands on the stack, without a workspace.
//!
//! A gradient of ten variables takes 5 ns. What lies around it must not take longer: with a list of pointers in a workspace,
//! layouts walked through for each argument and a workspace taken from those that are spare it was 15 to 30.

use std::mem::MaybeUninit;

use crate::Compiled;
use crate::compiled::Layout;
use crate::run::{Line, Number};

/// The most parameters and results; several numbers that are taken in one list count as one.
const MOST: usize = 8;
/// The most lines of memory between the parts of a program.
const LINES: usize = 8;
/// The most numbers that are copied from lists, or into them, where a program takes all in one.
const COPIED: usize = 64;

/// How many numbers each pointer leads to that the code takes.
#[derive(Debug)]
pub(crate) struct Quick {
    takes: Box<[usize]>,
    gives: Box<[usize]>,
    /// How far each pointer is behind the first number, if all arguments stand in one list and all results in one.
    starts: [usize; MOST],
    /// Whether all arguments are taken in one list, and all results given in one.
    packed: bool,
}

impl Quick {
    /// For a program that needs nothing but a little memory of its own.
    pub(crate) fn new(
        takes: &Layout,
        gives: &Layout,
        packed: bool,
        arena: usize,
    ) -> Option<Box<Quick>> {
        let pieces = |layout: &Layout| -> Box<[usize]> {
            if packed {
                [layout.len].into()
            } else {
                layout.parts.iter().map(|part| part.len).collect()
            }
        };
        let (takes, gives) = (pieces(takes), pieces(gives));
        if takes.len() + gives.len() > MOST || arena > LINES * size_of::<Line>() {
            return None;
        }
        let mut starts = [0; MOST];
        let (ours, theirs) = starts.split_at_mut(takes.len());
        for (starts, lens) in [(ours, &takes), (theirs, &gives)] {
            let mut sum = 0;
            for (start, len) in starts.iter_mut().zip(lens) {
                (*start, sum) = (sum, sum + len);
            }
        }
        Some(Box::new(Quick { takes, gives, starts, packed }))
    }
}

impl Compiled {
    /// A run without a workspace on all arguments in one list, to all results in one; nothing, if that cannot be.
    #[inline]
    pub(crate) fn at_once<T: Number>(&self, x: &[T], results: &mut [T]) -> Option<u64> {
        let quick = self.quick.as_ref()?;
        if self.element != Some(T::ELEMENT) || self.lens() != (x.len(), results.len()) {
            return None;
        }
        let takes = quick.takes.len();
        let (x, y) = (x.as_ptr().cast_mut(), results.as_mut_ptr());
        // All of them, needed or not: that is two vectors, and no branch.
        let pointers: [*mut T; MOST] = std::array::from_fn(|k| {
            let list = if k < takes { x } else { y };
            list.wrapping_add(quick.starts[k])
        });
        // SAFETY: each parameter and result stands in its list, at its place.
        Some(unsafe { self.run_with(&pointers) })
    }

    /// A run with memory of the stack.
    ///
    /// # Safety
    /// There is a pointer for each parameter and result (or one to all of either), to as many elements as their types say.
    #[inline]
    unsafe fn run_with<T>(&self, pointers: &[*mut T; MOST]) -> u64 {
        let mut memory = MaybeUninit::<[Line; LINES]>::uninit();
        // SAFETY: as in `run_here`; the memory is as large as the arena, in which the code reads only what it has written.
        unsafe { (self.run)(pointers.as_ptr().cast(), memory.as_mut_ptr().cast()) }
    }

    /// Runs a short program without a workspace; whether it did, and came to its end. If not, there is more to be said than that:
    /// run it with one, which does.
    #[inline]
    pub fn run_alone<T: Number>(&self, x: &[&[T]], results: &mut [&mut [T]]) -> bool {
        self.quickly(x, results)
            .is_some_and(|status| self.is_done(status) || status == 0 && !self.has_nan(results))
    }

    /// A run without a workspace; nothing, if there must be one, or if sizes do not fit.
    #[inline]
    pub(crate) fn quickly<T: Number>(&self, x: &[&[T]], results: &mut [&mut [T]]) -> Option<u64> {
        let quick = self.quick.as_ref()?;
        if self.element != Some(T::ELEMENT) {
            return None;
        }
        let takes = quick.takes.len();
        if x.len() != takes || results.len() != quick.gives.len() {
            return self.with_others(quick, x, results);
        }
        // As it is in most calls: a list for each.
        let mut pointers = [std::ptr::null_mut::<T>(); MOST];
        let mut same = true;
        for ((to, x), len) in pointers.iter_mut().zip(x).zip(&quick.takes) {
            *to = x.as_ptr().cast_mut();
            same &= x.len() == *len;
        }
        for ((to, y), len) in pointers[takes..].iter_mut().zip(results).zip(&quick.gives) {
            *to = y.as_mut_ptr();
            same &= y.len() == *len;
        }
        // SAFETY: each parameter and result has a list of its own.
        same.then(|| unsafe { self.run_with(&pointers) })
    }

    /// [`quickly`](Compiled::quickly) with lists that hold several arguments or results, or that have to be put together.
    #[inline(never)]
    fn with_others<T: Number>(
        &self,
        quick: &Quick,
        x: &[&[T]],
        results: &mut [&mut [T]],
    ) -> Option<u64> {
        let mut pointers = [std::ptr::null_mut::<T>(); MOST];
        let (takes, gives) = pointers.split_at_mut(quick.takes.len());
        let mut copied = [const { MaybeUninit::<T>::uninit() }; COPIED];
        let mut found = [const { MaybeUninit::<T>::uninit() }; COPIED];
        let given = x.iter().map(|x| (x.as_ptr().cast_mut(), x.len()));
        if !placed(&quick.takes, given, takes) {
            takes[0] = together(quick, x, &mut copied)?;
        }
        let asked = results.iter_mut().map(|y| (y.as_mut_ptr(), y.len()));
        let apart = !placed(&quick.gives, asked, gives);
        if apart {
            let len = quick.gives.iter().sum();
            if !quick.packed
                || len > COPIED
                || results.iter().map(|y| y.len()).sum::<usize>() != len
            {
                return None;
            }
            gives[0] = found.as_mut_ptr().cast();
        }
        // SAFETY: each parameter and result stands in a list whole, or in the lists of here.
        let status = unsafe { self.run_with(&pointers) };
        // A run that has stopped may have written nothing: then nothing is read.
        if apart && status == 0 {
            let mut rest = found.as_ptr().cast::<T>();
            for y in results {
                // SAFETY: a run that is not stopped has written all results, and together the lists are as long as these.
                unsafe { rest.copy_to_nonoverlapping(y.as_mut_ptr(), y.len()) };
                rest = rest.wrapping_add(y.len());
            }
        }
        Some(status)
    }
}

/// Writes pointers to pieces of so many numbers that lists are made of; whether each piece stands in a list whole, and nothing is
/// left over.
fn placed<T>(
    pieces: &[usize],
    mut lists: impl Iterator<Item = (*mut T, usize)>,
    to: &mut [*mut T],
) -> bool {
    let (mut at, mut left) = (std::ptr::NonNull::<T>::dangling().as_ptr(), 0);
    for (len, to) in pieces.iter().zip(to) {
        if left == 0 && *len > 0 {
            let Some(list) = lists.find(|(_, len)| *len > 0) else { return false };
            (at, left) = list;
        }
        if left < *len {
            return false;
        }
        *to = at;
        at = at.wrapping_add(*len);
        left -= len;
    }
    left == 0 && lists.all(|(_, len)| len == 0)
}

/// All arguments in one list.
fn together<T: Number>(
    quick: &Quick,
    x: &[&[T]],
    copied: &mut [MaybeUninit<T>; COPIED],
) -> Option<*mut T> {
    let len = quick.takes.iter().sum();
    if !quick.packed || len > COPIED || x.iter().map(|x| x.len()).sum::<usize>() != len {
        return None;
    }
    for (to, x) in copied.iter_mut().zip(x.iter().flat_map(|x| x.iter())) {
        to.write(*x);
    }
    Some(copied.as_mut_ptr().cast())
}
