//! Array operations on the tape: one node each, with their own pullback.

use std::sync::Arc;

use cotangent_ops::{Elementary, Primitive};

use super::record::Tape;
use super::var::Var;
use crate::Base;
use crate::fault::{Fault, raise};
use crate::trace::{self, NO_STAMP};

/// The slot of an operand that is a constant.
const CONSTANT: u32 = u32::MAX;

/// Where the operands of an array operation are.
#[derive(Clone, Debug)]
pub(super) enum Slots {
    /// One after the other.
    Range(u32),
    /// Anywhere; `CONSTANT` for constants.
    List(Vec<u32>),
}

/// An array operation on the tape.
pub(super) struct Block<T> {
    /// How many scalar nodes come before it.
    pub(super) after: usize,
    /// The slots of its results.
    pub(super) first: usize,
    pub(super) results: usize,
    pub(super) operands: Slots,
    pub(super) count: usize,
    pub(super) rule: Box<dyn Rule<T>>,
    /// The operation itself, for programs.
    pub(super) primitive: Option<(Arc<dyn AnyPrimitive>, Vec<f64>)>,
}

/// An array operation with the values it was recorded at.
pub(super) trait Rule<T>: Send + Sync {
    fn pullback(&self, cotangent: &[T], gradient: &mut [T]);
    fn pushforward(&self, tangent: &[T], image: &mut [T]);
}

pub(super) struct Recorded<P: Primitive, T: Base> {
    pub(super) primitive: P,
    pub(super) x: Vec<T>,
    pub(super) y: Vec<T>,
    pub(super) saved: P::Saved<T>,
}

impl<P: Primitive, T: Base> Rule<T> for Recorded<P, T> {
    fn pullback(&self, cotangent: &[T], gradient: &mut [T]) {
        self.primitive.pullback(&self.x, &self.y, &self.saved, cotangent, gradient);
    }

    fn pushforward(&self, tangent: &[T], image: &mut [T]) {
        self.primitive.pushforward(&self.x, &self.y, tangent, image);
    }
}

/// A primitive of any type, on plain numbers.
pub(super) trait AnyPrimitive: Send + Sync {
    fn name(&self) -> &str;
    fn value(&self, x: &[f64], y: &mut [f64]);
    fn record(&self, x: Vec<f64>, y: &mut [f64]) -> Box<dyn Rule<f64>>;
    fn pushforward(&self, x: &[f64], y: &[f64], dx: &[f64], dy: &mut [f64]);
    fn depends(&self, output: usize, input: usize) -> bool;
    fn is_linear(&self) -> bool;
}

impl<P: Primitive> AnyPrimitive for P {
    fn name(&self) -> &str {
        Primitive::name(self)
    }

    fn value(&self, x: &[f64], y: &mut [f64]) {
        Primitive::value(self, x, y);
    }

    fn record(&self, x: Vec<f64>, y: &mut [f64]) -> Box<dyn Rule<f64>> {
        let saved = self.value_and_save(&x, y);
        Box::new(Recorded { primitive: self.clone(), x, y: y.to_vec(), saved })
    }

    fn pushforward(&self, x: &[f64], y: &[f64], dx: &[f64], dy: &mut [f64]) {
        Primitive::pushforward(self, x, y, dx, dy);
    }

    fn depends(&self, output: usize, input: usize) -> bool {
        Primitive::depends(self, output, input)
    }

    fn is_linear(&self) -> bool {
        Primitive::is_linear(self)
    }
}

/// Evaluates an array operation and puts it on the tape with this stamp.
#[track_caller]
pub(super) fn record<P: Primitive, T: Base>(
    primitive: &P,
    stamp: u32,
    x: &[Var<T>],
    y: &mut [Var<T>],
) {
    let values: Vec<T> = x.iter().map(|x| x.value).collect();
    let mut results = vec![T::zero(); y.len()];
    if stamp == NO_STAMP {
        T::array(primitive, &values, &mut results);
        for (y, value) in y.iter_mut().zip(results) {
            *y = Var::fixed(value);
        }
        return;
    }
    // Outside the arena: a base that records, too, does so here.
    let saved = primitive.value_and_save(&values, &mut results);
    let operands = slots(x);
    let constants = || x.iter().filter(|x| x.stamp == NO_STAMP).map(|x| x.value.value()).collect();
    let count = x.len();
    let first = trace::with::<Tape<T>, _>(stamp, |tape| {
        let first = tape.reserve_slots(results.len());
        tape.blocks.push(Block {
            after: tape.nodes.len(),
            first: first as usize,
            results: results.len(),
            operands,
            count,
            primitive: tape
                .listing
                .is_some()
                .then(|| (Arc::new(primitive.clone()) as Arc<dyn AnyPrimitive>, constants())),
            rule: Box::new(Recorded {
                primitive: primitive.clone(),
                x: values,
                y: results.clone(),
                saved,
            }),
        });
        first
    });
    for ((y, value), slot) in y.iter_mut().zip(results).zip(first..) {
        *y = Var { value, slot, stamp };
    }
}

fn slots<T: Base>(x: &[Var<T>]) -> Slots {
    let start = x.first().map_or(0, |x| x.slot);
    let contiguous = x.iter().zip(start..).all(|(x, slot)| x.stamp != NO_STAMP && x.slot == slot);
    if contiguous {
        Slots::Range(start)
    } else {
        Slots::List(x.iter().map(|x| if x.stamp == NO_STAMP { CONSTANT } else { x.slot }).collect())
    }
}

impl<T: Elementary> Block<T> {
    /// Adds what the cotangents of the results give to those of the operands.
    pub(super) fn reverse(&self, adjoints: &mut [T], scratch: &mut Vec<T>) {
        let (before, results) = adjoints.split_at_mut(self.first);
        let cotangent = &results[..self.results];
        if cotangent.iter().all(|c| c.vanishes()) {
            return;
        }
        match &self.operands {
            Slots::Range(start) => {
                let start = *start as usize;
                self.rule.pullback(cotangent, &mut before[start..start + self.count]);
            }
            Slots::List(slots) => {
                scratch.clear();
                scratch.resize(self.count, T::zero());
                self.rule.pullback(cotangent, scratch);
                for (slot, value) in
                    slots.iter().zip(scratch.iter()).filter(|(s, _)| **s != CONSTANT)
                {
                    before[*slot as usize] += *value;
                }
            }
        }
    }

    /// The tangents of the results from those of the operands.
    pub(super) fn forward(&self, tangents: &mut [T], scratch: &mut Vec<T>) {
        let (before, results) = tangents.split_at_mut(self.first);
        gather(&self.operands, self.count, before, scratch, |_| T::zero());
        self.rule.pushforward(scratch, &mut results[..self.results]);
    }
}

/// Copies operands out of the slots before a block.
pub(super) fn gather<T: Copy>(
    operands: &Slots,
    count: usize,
    before: &[T],
    out: &mut Vec<T>,
    mut constant: impl FnMut(usize) -> T,
) {
    out.clear();
    match operands {
        Slots::Range(start) => {
            out.extend_from_slice(&before[*start as usize..*start as usize + count]);
        }
        Slots::List(slots) => {
            let mut constants = 0;
            out.extend(slots.iter().map(|slot| {
                if *slot == CONSTANT {
                    constants += 1;
                    constant(constants - 1)
                } else {
                    before[*slot as usize]
                }
            }));
        }
    }
}

/// A primitive of a program: known on plain numbers, with first derivatives.
#[derive(Clone)]
pub(super) struct Erased(pub(super) Arc<dyn AnyPrimitive>);

impl Erased {
    #[cold]
    fn order(&self) -> ! {
        raise(Fault::RuleOrder { name: self.0.name().to_string() })
    }
}

impl Primitive for Erased {
    type Saved<T: Elementary> = Option<Box<dyn Rule<f64>>>;

    fn name(&self) -> &str {
        self.0.name()
    }

    fn value<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        match (T::as_f64s(x), T::as_f64s_mut(y)) {
            (Some(x), Some(y)) => self.0.value(x, y),
            _ => self.order(),
        }
    }

    fn value_and_save<T: Elementary>(&self, x: &[T], y: &mut [T]) -> Self::Saved<T> {
        match (T::as_f64s(x), T::as_f64s_mut(y)) {
            (Some(x), Some(y)) => Some(self.0.record(x.to_vec(), y)),
            _ => self.order(),
        }
    }

    fn pushforward<T: Elementary>(&self, x: &[T], y: &[T], dx: &[T], dy: &mut [T]) {
        match (T::as_f64s(x), T::as_f64s(y), T::as_f64s(dx), T::as_f64s_mut(dy)) {
            (Some(x), Some(y), Some(dx), Some(dy)) => self.0.pushforward(x, y, dx, dy),
            _ => self.order(),
        }
    }

    fn pullback<T: Elementary>(
        &self,
        _: &[T],
        _: &[T],
        saved: &Self::Saved<T>,
        cotangent: &[T],
        gradient: &mut [T],
    ) {
        match (saved, T::as_f64s(cotangent), T::as_f64s_mut(gradient)) {
            (Some(rule), Some(cotangent), Some(gradient)) => rule.pullback(cotangent, gradient),
            _ => self.order(),
        }
    }

    fn depends(&self, output: usize, input: usize) -> bool {
        self.0.depends(output, input)
    }

    fn is_linear(&self) -> bool {
        self.0.is_linear()
    }
}
