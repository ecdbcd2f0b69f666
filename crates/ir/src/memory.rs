//! How much memory a run takes, before it runs.

use crate::function::{Function, Value};
use crate::op::{Integral, Op};
use crate::structure::Structure;
use crate::types::{Dim, Type};

impl Function {
    /// The bytes of all values that are there at once, at most: parameters, results and what lies between,
    /// each from where it is made to its last use, bodies included. None if a size is not known before.
    ///
    /// ```
    /// use cotangent_ir::parse;
    ///
    /// let f = parse("fn @f(%x: [100]f64) -> [100]f64 { %y = sin %x %z = cos %y ret %z }").unwrap();
    /// assert_eq!(f.peak_bytes(), Some(1600));
    /// ```
    pub fn peak_bytes(&self) -> Option<usize> {
        let mut last = vec![0usize; self.len()];
        for value in self.values() {
            for operand in self.operands(value) {
                last[operand.index()] = value.index();
            }
        }
        for kept in self.results().iter().chain(self.guards().iter().map(|g| &g.condition)) {
            last[kept.index()] = usize::MAX;
        }
        // What a structure gives stands until the last use of its parts.
        let mut dying: Vec<Vec<Value>> = vec![Vec::new(); self.len()];
        let (mut now, mut most) = (0usize, 0usize);
        for value in self.values() {
            let bytes = self.bytes_of(value)?;
            let inside = match self.structure(value) {
                Some(structure) => self.inside(value, structure)?,
                None => 0,
            };
            now = now.checked_add(bytes)?;
            most = most.max(now.checked_add(inside)?);
            let at = last[value.index()];
            if at != usize::MAX {
                dying[at.max(value.index())].push(value);
            }
            for dead in std::mem::take(&mut dying[value.index()]) {
                now -= self.bytes_of(dead)?;
            }
        }
        Some(most)
    }

    /// The bytes that the bodies take while they run, without what they are given.
    fn inside(&self, value: Value, structure: &Structure) -> Option<usize> {
        let mut most = 0;
        for body in structure.bodies() {
            let given: usize = body
                .params()
                .iter()
                .enumerate()
                .filter(|(k, _)| *k >= structure.own_params().0)
                .map(|(_, p)| bytes(p.ty, None).unwrap_or(0))
                .sum();
            most = most.max(body.peak_bytes()?.saturating_sub(given));
        }
        // What is stacked grows while the loop runs.
        let stacked = self
            .parts_of(value)
            .into_iter()
            .flatten()
            .try_fold(0usize, |all, part| all.checked_add(self.bytes_of(part)?))?;
        most.checked_add(stacked)
    }

    fn bytes_of(&self, value: Value) -> Option<usize> {
        let ty = self.ty(value);
        if ty == Type::PARTS {
            return Some(0);
        }
        let rounds = match self.op(value) {
            Op::Part(_) => {
                let whole = self.operand(value, 0);
                match self.structure(whole) {
                    Some(Structure::For { .. }) => self.at_most(self.operand(whole, 0)),
                    _ => None,
                }
            }
            // What is given is counted by whom it is given.
            Op::Param(_) if ty.dims().contains(&Dim::Any) => return Some(0),
            _ => None,
        };
        bytes(ty, rounds)
    }

    /// The largest that an integer can be, if that is known.
    pub(crate) fn at_most(&self, value: Value) -> Option<usize> {
        match self.op(value) {
            Op::Integer(c) => Some(usize::try_from(c).unwrap_or(0)),
            Op::Integral(Integral::Min) => {
                let [a, b] = [0, 1].map(|k| self.at_most(self.operand(value, k)));
                a.into_iter().chain(b).min()
            }
            _ => None,
        }
    }
}

/// The bytes of a type; `rounds` is the dimension that is not known.
fn bytes(ty: Type, rounds: Option<usize>) -> Option<usize> {
    ty.dims().iter().try_fold(ty.element().bytes(), |all, dim| {
        all.checked_mul(match dim {
            Dim::Size(n) => *n,
            Dim::Symbol(_) => return None,
            Dim::Any => rounds?,
        })
    })
}
