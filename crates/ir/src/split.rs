//! Loops as loops of loops, for checkpoints: the same rounds in the same order.
//!
//! Reverse mode keeps what it needs of every round of a loop. Of a loop of loops it keeps what it needs of
//! every round of the outermost one, and goes through the inner ones again, one at a time, when it comes to
//! them. So n rounds as a nest of L loops take about L · n^(1/L) states, at the price of L times the rounds.

use std::sync::Arc;

use crate::build::Builder;
use crate::function::{Function, Value};
use crate::op::Integral;
use crate::structure::Structure;
use crate::types::Type;

/// The lengths of nested loops that go round n times in all and keep no more than so many states: as few loops
/// as possible, the outermost first. None if fewer than two states a loop would be left.
///
/// ```
/// use cotangent_ir::loop_lengths;
///
/// assert_eq!(loop_lengths(9, 6), Some(vec![3, 3]));
/// assert_eq!(loop_lengths(5, 10), Some(vec![5]));
/// let lengths = loop_lengths(1_000_000, 100).unwrap();
/// assert!(lengths.iter().sum::<usize>() <= 100 && lengths.iter().product::<usize>() >= 1_000_000);
/// assert_eq!(loop_lengths(1_000_000, 3), None);
/// ```
pub fn loop_lengths(rounds: usize, states: usize) -> Option<Vec<usize>> {
    let enough = |lengths: &[usize]| {
        lengths
            .iter()
            .try_fold(1usize, |all, n| all.checked_mul(*n))
            .is_none_or(|all| all >= rounds)
    };
    for loops in 1..=states / 2 {
        let mut lengths: Vec<usize> =
            (0..loops).map(|k| states / loops + usize::from(k < states % loops)).collect();
        if !enough(&lengths) {
            continue;
        }
        // No more states than it takes.
        for k in 0..loops {
            while lengths[k] > 1 {
                lengths[k] -= 1;
                if !enough(&lengths) {
                    lengths[k] += 1;
                    break;
                }
            }
        }
        return Some(lengths);
    }
    (rounds <= states).then(|| vec![rounds])
}

impl Builder {
    /// A `for` as a nest of loops of these lengths, the outermost first; its parts. Loops that stack values
    /// stay as they are.
    ///
    /// # Panics
    /// If there are fewer operands than it takes.
    pub fn split_loop(
        &mut self,
        structure: &Structure,
        operands: &[Value],
        lengths: &[usize],
    ) -> Vec<Value> {
        let Structure::For { carries, body } = structure else {
            return self.structure(structure.clone(), operands);
        };
        if lengths.len() < 2 || body.results().len() > *carries {
            return self.structure(structure.clone(), operands);
        }
        let zero = self.integer(0);
        let nest = Nest { body, carries: *carries, lengths };
        let (bound, rest) = (operands[0], &operands[1..]);
        let (carried, captures) = rest.split_at(*carries);
        nest.write(self, 0, (bound, zero), carried, captures)
    }
}

struct Nest<'n> {
    body: &'n Function,
    carries: usize,
    lengths: &'n [usize],
}

impl Nest<'_> {
    /// The loop of a level: from a round on, as far as its length goes and there are rounds.
    fn write(
        &self,
        b: &mut Builder,
        level: usize,
        (rounds, from): (Value, Value),
        carried: &[Value],
        captures: &[Value],
    ) -> Vec<Value> {
        let below: usize = self.lengths[level + 1..].iter().product();
        let left = b.integral(Integral::Sub, rounds, from);
        let (each, up) = (b.integer(below as i64), b.integer(below as i64 - 1));
        let rounded = b.integral(Integral::Add, left, up);
        let segments = b.integral(Integral::Div, rounded, each);
        let length = b.integer(self.lengths[level] as i64);
        let bound = b.integral(Integral::Min, segments, length);
        let mut inner = Builder::new("");
        let index = inner.param("i", Type::I64);
        let params = self.body.params();
        let own = inner.params_of(&params[1..=self.carries]);
        let inner_rounds = inner.param("n", Type::I64);
        let inner_from = inner.param("from", Type::I64);
        let inner_captures = inner.params_of(&params[1 + self.carries..]);
        let each = inner.integer(below as i64);
        let further = inner.integral(Integral::Mul, index, each);
        let at = inner.integral(Integral::Add, inner_from, further);
        let results = if level + 1 == self.lengths.len() {
            let args: Vec<Value> = [at].into_iter().chain(own).chain(inner_captures).collect();
            inner.inline(self.body, &args)
        } else {
            self.write(&mut inner, level + 1, (inner_rounds, at), &own, &inner_captures)
        };
        let body = Arc::new(inner.finish(results));
        let operands: Vec<Value> = [bound]
            .into_iter()
            .chain(carried.iter().copied())
            .chain([rounds, from])
            .chain(captures.iter().copied())
            .collect();
        b.structure(Structure::For { carries: self.carries, body }, &operands)
    }
}
