//! Indices that the count of a loop keeps inside: the rounds of a loop, and the rounds counted down.
//!
//! The way back of a `while` reads the rows that the way there has kept, of which there are as many as it has rounds. Nobody knows how
//! many, but that they are inside is known.

use cotangent_ir::{Function, Integral, Op, Value};

use super::{Emitter, Frame};

impl Emitter<'_> {
    /// Notes which values of a `for` body in the function `f` are at least zero and less than the number of rounds, which is `end`, while
    /// that body is written.
    pub(super) fn note_counts(
        &mut self,
        f: &Function,
        body: &Function,
        operands: &[Value],
        carries: usize,
        end: &str,
    ) {
        let one = |f: &Function, v: Value, c: i64| f.op(v) == Op::Integer(c);
        // Whether a value is one less than another.
        let last = |f: &Function, v: Value, is_rounds: &dyn Fn(Value) -> bool| {
            let side = |k: usize| f.operand(v, k);
            match f.op(v) {
                Op::Integral(Integral::Add) => {
                    is_rounds(side(0)) && one(f, side(1), -1)
                        || is_rounds(side(1)) && one(f, side(0), -1)
                }
                Op::Integral(Integral::Sub) => is_rounds(side(0)) && one(f, side(1), 1),
                _ => false,
            }
        };
        // What a parameter of the body is outside: the counter and the carries come first, in both.
        let outside = |v: Value| match body.op(v) {
            Op::Param(k) if k as usize > carries => operands.get(k as usize).copied(),
            _ => None,
        };
        let rounds = |v: Value| outside(v) == Some(operands[0]);
        let is_last = |v: Value| {
            outside(v).is_some_and(|v| last(f, v, &|w| w == operands[0])) || last(body, v, &rounds)
        };
        for value in body.values() {
            let counted = match body.op(value) {
                Op::Param(0) => true,
                Op::Integral(Integral::Sub) => {
                    let counter = body.operand(value, 1);
                    body.op(counter) == Op::Param(0) && is_last(body.operand(value, 0))
                }
                _ => false,
            };
            if counted {
                self.counts.insert((std::ptr::from_ref(body), value), end.to_string());
            }
        }
    }

    /// The body has been written.
    pub(super) fn forget_counts(&mut self, body: &Function) {
        self.counts.retain(|(noted, _), _| !std::ptr::eq(*noted, body));
    }

    /// Whether an index is known to be inside of a dimension of so many elements.
    pub(super) fn is_counted(&self, frame: &Frame<'_>, index: Value, size: &str) -> bool {
        self.counts.get(&(std::ptr::from_ref(frame.f), index)).is_some_and(|end| end == size)
    }
}
