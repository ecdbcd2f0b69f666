//! Values while a function runs: scalars, arrays, and both for several points at once.
//!
//! A body of a kernel runs for a block of points at a time, the *lanes*. What is the same for all of them is
//! kept once; what varies is kept lane by lane, element by element: entry `e · lanes + lane`.

use std::marker::PhantomData;
use std::rc::Rc;

use cotangent_numbers::Scalar;

use crate::machine::Machine;

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Slot<S: Scalar> {
    Number(S),
    Integer(i64),
    Truth(S::Mask),
    Numbers(List<S>),
    Integers(List<i64>),
    Truths(List<S::Mask>),
}

/// Several of a kind: elements, lanes, or both.
#[derive(Clone, Debug)]
pub(crate) struct List<T> {
    pub(crate) data: Rc<Vec<T>>,
    /// Whether each lane has its own elements.
    pub(crate) varies: bool,
    /// Elements of each lane.
    pub(crate) len: usize,
}

/// Where the entries of a value stand: entry (e, lane) at e·step + lane·stride.
#[derive(Clone, Copy)]
pub(crate) struct View<'v, T> {
    pub(crate) data: &'v [T],
    step: usize,
    stride: usize,
}

impl<T: Copy> View<'_, T> {
    #[inline(always)]
    pub(crate) fn at(&self, element: usize, lane: usize) -> T {
        self.data[element * self.step + lane * self.stride]
    }

    /// All entries in order, if there are so many of them.
    #[inline]
    pub(crate) fn full(&self, entries: usize) -> Option<&[T]> {
        (self.data.len() == entries && (self.step != 0 || self.stride != 0)).then_some(self.data)
    }

    /// The entry that serves all lanes and elements.
    #[inline]
    pub(crate) fn only(&self) -> Option<T> {
        (self.step == 0 && self.stride == 0).then(|| self.data.first().copied()).flatten()
    }
}

/// Numbers, integers or truth values.
pub(crate) trait Kind<S: Scalar> {
    type Item: Copy;
    fn list(slot: &Slot<S>) -> Option<&List<Self::Item>>;
    fn list_mut(slot: &mut Slot<S>) -> Option<&mut List<Self::Item>>;
    fn one(slot: &Slot<S>) -> Option<&Self::Item>;
    fn many(list: List<Self::Item>) -> Slot<S>;
    fn single(item: Self::Item) -> Slot<S>;
    fn nothing() -> Self::Item;
    /// Buffers that are free.
    fn spare<'m>(machine: &'m mut Machine<'_, S>) -> &'m mut Vec<Rc<Vec<Self::Item>>>;
}

macro_rules! kind {
    ($(#[$doc:meta])* $Kind:ident, $T:ty, $One:ident, $Many:ident, $spare:ident, $nothing:expr) => {
        $(#[$doc])*
        pub(crate) struct $Kind<S>(PhantomData<S>);

        impl<S: Scalar> Kind<S> for $Kind<S> {
            type Item = $T;
            fn list(slot: &Slot<S>) -> Option<&List<$T>> {
                match slot {
                    Slot::$Many(list) => Some(list),
                    _ => None,
                }
            }
            fn list_mut(slot: &mut Slot<S>) -> Option<&mut List<$T>> {
                match slot {
                    Slot::$Many(list) => Some(list),
                    _ => None,
                }
            }
            fn one(slot: &Slot<S>) -> Option<&$T> {
                match slot {
                    Slot::$One(x) => Some(x),
                    _ => None,
                }
            }
            fn many(list: List<$T>) -> Slot<S> {
                Slot::$Many(list)
            }
            fn single(x: $T) -> Slot<S> {
                Slot::$One(x)
            }
            fn nothing() -> $T {
                $nothing
            }
            fn spare<'m>(machine: &'m mut Machine<'_, S>) -> &'m mut Vec<Rc<Vec<$T>>> {
                &mut machine.$spare
            }
        }
    };
}

kind!(
    /// Numbers.
    Numbers, S, Number, Numbers, numbers, S::zero()
);
kind!(
    /// Integers.
    Integers, i64, Integer, Integers, integers, 0
);
kind!(
    /// Truth values.
    Truths, S::Mask, Truth, Truths, truths, S::Mask::from(false)
);

/// Does the same for each kind.
macro_rules! by_kind {
    ($slot:expr, $K:ident => $body:expr) => {
        match $slot {
            Slot::Number(_) | Slot::Numbers(_) => {
                type $K<S> = crate::slot::Numbers<S>;
                $body
            }
            Slot::Integer(_) | Slot::Integers(_) => {
                type $K<S> = crate::slot::Integers<S>;
                $body
            }
            Slot::Truth(_) | Slot::Truths(_) => {
                type $K<S> = crate::slot::Truths<S>;
                $body
            }
        }
    };
}
pub(crate) use by_kind;

impl<S: Scalar> Slot<S> {
    /// Entries that were computed: of a scalar, of an array, of either for each lane.
    pub(crate) fn new<K: Kind<S>>(
        data: Vec<K::Item>,
        scalar: bool,
        varies: bool,
        len: usize,
    ) -> Self {
        match (scalar && !varies, data.first()) {
            (true, Some(x)) => K::single(*x),
            _ => K::many(List { data: Rc::new(data), varies, len }),
        }
    }

    /// As [`new`](Slot::new), of a buffer.
    pub(crate) fn shared<K: Kind<S>>(
        data: Rc<Vec<K::Item>>,
        scalar: bool,
        varies: bool,
        len: usize,
    ) -> Self {
        match (scalar && !varies, data.first()) {
            (true, Some(x)) => K::single(*x),
            _ => K::many(List { data, varies, len }),
        }
    }

    /// Whether lanes have their own.
    pub(crate) fn varies(&self) -> bool {
        by_kind!(self, K => K::<S>::list(self).is_some_and(|list| list.varies))
    }

    /// Elements of each lane.
    pub(crate) fn len(&self) -> usize {
        by_kind!(self, K => K::<S>::list(self).map_or(1, |list| list.len))
    }

    /// The entries; those of scalars serve every element.
    pub(crate) fn view<K: Kind<S>>(&self, scalar: bool, lanes: usize) -> View<'_, K::Item> {
        match (K::list(self), K::one(self)) {
            (Some(list), _) => View {
                data: &list.data,
                step: if scalar {
                    0
                } else if list.varies {
                    lanes
                } else {
                    1
                },
                stride: usize::from(list.varies),
            },
            (None, Some(x)) => View { data: std::slice::from_ref(x), step: 0, stride: 0 },
            // Types have been checked.
            (None, None) => View { data: &[], step: 0, stride: 0 },
        }
    }

    /// Some of the lanes.
    pub(crate) fn pick(&self, chosen: &[usize], lanes: usize) -> Slot<S> {
        if !self.varies() {
            return self.clone();
        }
        by_kind!(self, K => match K::<S>::list(self) {
            None => self.clone(),
            Some(list) => {
                let mut data = Vec::with_capacity(list.len * chosen.len());
                for element in 0..list.len {
                    let row = &list.data[element * lanes..(element + 1) * lanes];
                    data.extend(chosen.iter().map(|lane| row[*lane]));
                }
                // One lane by itself has nothing that varies; a kernel inside then has lanes of its own.
                K::<S>::many(List { data: Rc::new(data), varies: chosen.len() > 1, len: list.len })
            }
        })
    }

    /// Of a single lane that had its own: the same as if there were no others.
    pub(crate) fn narrowed(self, scalar: bool) -> Slot<S> {
        by_kind!(&self, K => match K::<S>::list(&self) {
            Some(list) if scalar && list.len == 1 && list.data.len() == 1 => {
                K::<S>::single(list.data[0])
            }
            Some(list) if list.varies => {
                K::<S>::many(List { data: list.data.clone(), varies: false, len: list.len })
            }
            _ => self,
        })
    }

    /// A value as an array of one row.
    pub(crate) fn rowed(self, lanes: usize) -> Slot<S> {
        by_kind!(&self, K => match K::<S>::one(&self) {
            Some(x) => {
                K::<S>::many(List { data: Rc::new(vec![*x; lanes]), varies: lanes > 1, len: 1 })
            }
            None => self,
        })
    }

    /// All lanes with elements of their own.
    pub(crate) fn spread(self, scalar: bool, lanes: usize) -> Slot<S> {
        if self.varies() {
            return self;
        }
        let len = self.len();
        by_kind!(&self, K => {
            let view = self.view::<K<S>>(scalar, lanes);
            let data = (0..len).flat_map(|e| std::iter::repeat_n(view.at(e, 0), lanes)).collect();
            K::<S>::many(List { data: Rc::new(data), varies: true, len })
        })
    }

    /// Writes what some lanes have into this, in which every lane has its own.
    pub(crate) fn place(&mut self, chosen: &[usize], from: &Slot<S>, scalar: bool, lanes: usize) {
        by_kind!(from, K => {
            let view = from.view::<K<S>>(scalar, chosen.len());
            let len = from.len();
            if let Some(list) = K::<S>::list_mut(self) {
                // What a loop stacked may be longer for some lanes.
                if list.len < len {
                    let data = Rc::make_mut(&mut list.data);
                    data.resize(len * lanes, K::<S>::nothing());
                    list.len = len;
                }
                let data = Rc::make_mut(&mut list.data);
                for element in 0..len {
                    for (k, lane) in chosen.iter().enumerate() {
                        data[element * lanes + lane] = view.at(element, k);
                    }
                }
            }
        });
    }
}
