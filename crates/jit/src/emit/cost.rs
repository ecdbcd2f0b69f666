//! What the body of a kernel takes with lanes along one dimension or another.

use std::ops::AddAssign;

use cotangent_ir::{Dim, Function, Op, Structure, Value};
use cotangent_ops::Opcode;

use super::Emitter;
use super::classify::{Class, body_args, classes};
use super::kernels::{UNROLLED, is_kernel};

impl Emitter<'_> {
    /// What a body takes, about, in instructions. With `inner`, kernels in it have lanes of their own.
    pub(super) fn body_cost(
        &self,
        body: &Function,
        args: &[Class],
        width: usize,
        inner: bool,
    ) -> f64 {
        let moving = vec![true; body.params().len()];
        let (moves, stays) = self.body_costs(body, args, &moving, width, inner);
        moves + stays
    }

    /// The same in two: what depends on parameters that move in a loop around, and what that loop needs once.
    fn body_costs(
        &self,
        body: &Function,
        args: &[Class],
        moving: &[bool],
        width: usize,
        inner: bool,
    ) -> (f64, f64) {
        let found = classes(body, args);
        let (mut moves, mut stays) = (0.0, 0.0);
        let mut moved: Vec<bool> = Vec::with_capacity(body.len());
        for value in body.values() {
            let operands: Vec<Value> = body.operands(value).collect();
            let class = |v: Value| found[v.index()];
            let own = match body.op(value) {
                Op::Param(k) => moving.get(k as usize).copied().unwrap_or(true),
                _ => operands.iter().any(|v| moved[v.index()]),
            };
            let cost = match body.op(value) {
                op if op.is_leaf() => 0.0,
                Op::Part(_) | Op::Table(_) | Op::Extent(_) => 0.0,
                Op::Load | Op::Put | Op::PutAdd => {
                    let from = if body.op(value) == Op::Load { 1 } else { 2 };
                    let last = operands.len() - 1;
                    let outer =
                        operands[from..last.max(from)].iter().all(|v| class(*v) == Class::One);
                    let len = body.ty(value).len().unwrap_or(1).min(16) as f64;
                    let near = operands.len() > from
                        && (class(operands[last]) == Class::Step(1)
                            && operands.len() - from == body.ty(operands[0]).dims().len());
                    let same = operands[from..].iter().all(|v| class(*v) == Class::One);
                    match () {
                        () if same => 1.0,
                        () if outer && near => 1.5,
                        () => width as f64 * if body.ty(value).is_scalar() { 1.0 } else { len },
                    }
                }
                Op::Elementary(code, _) => {
                    let len = body.ty(value).len().unwrap_or(1) as f64;
                    len * if is_cheap(code) { 1.0 } else { 12.0 }
                }
                Op::Structure(_) => {
                    let (a, b) = self.structure_costs(body, value, &found, &moved, width, inner);
                    moves += a;
                    stays += b;
                    0.0
                }
                _ => body.ty(value).len().unwrap_or(1) as f64,
            };
            moved.push(own);
            if own { &mut moves } else { &mut stays }.add_assign(cost);
        }
        (moves, stays)
    }

    /// What an operation with bodies takes, in the same way.
    fn structure_costs(
        &self,
        body: &Function,
        value: Value,
        found: &[Class],
        moved: &[bool],
        width: usize,
        inner: bool,
    ) -> (f64, f64) {
        let Some(structure) = body.structure(value) else { return (0.0, 0.0) };
        let operands: Vec<Value> = body.operands(value).collect();
        let given: Vec<Class> = operands.iter().map(|v| found[v.index()]).collect();
        let rounds: f64 = match structure {
            Structure::For { .. } => match body.stack_dim(value) {
                Dim::Size(n) => n as f64,
                _ => 10.0,
            },
            Structure::While { .. } => 10.0,
            _ => structure
                .domain()
                .iter()
                .map(|d| if let Dim::Size(n) = d { *n as f64 } else { 10.0 })
                .product(),
        };
        let kernel = is_kernel(body, value);
        let (mut moves, mut stays) = (2.0, 0.0);
        for inside in structure.bodies() {
            let count = inside.params().len();
            let mut args = body_args(structure, &given, count);
            let captured = |k: usize| {
                let operand = structure.operand_of(k).filter(|_| k >= structure.own_params().0);
                operand.map(|operand| moved[operands[operand].index()])
            };
            // What is written out has numbers for indices.
            let written = rounds * inside.operations().max(1) as f64;
            let loops = !kernel || written > UNROLLED as f64;
            let with = |own: bool, outer: bool| -> Vec<bool> {
                (0..count).map(|k| captured(k).map_or(own, |moves| moves && outer)).collect()
            };
            let costs = |args: &[Class], own, outer, inner| {
                self.body_costs(inside, args, &with(own, outer), width, inner)
            };
            if !loops {
                let (a, b) = costs(&args, false, true, inner);
                moves += rounds * a;
                stays += rounds * b;
                continue;
            }
            // Once for each round, once for all of them, and once for all rounds of what is around.
            let (mut each, mut once) = costs(&args, true, false, inner);
            let (_, mut outside) = costs(&args, true, true, inner);
            let last = structure.domain().len().wrapping_sub(1);
            if inner && kernel && rounds >= width as f64 / 2.0 {
                args[last] = Class::Step(1);
                let (lanes, before) = costs(&args, true, false, false);
                let lanes = (lanes + 8.0 / rounds * width as f64) / width as f64;
                if rounds * lanes + before < rounds * each + once {
                    (each, once) = (lanes, before);
                    (_, outside) = costs(&args, true, true, false);
                }
            }
            moves += rounds * each + once - outside.min(once);
            stays += outside.min(once);
        }
        (moves, stays)
    }
}

/// Whether an operation is an instruction or two.
pub(crate) fn is_cheap(code: Opcode) -> bool {
    matches!(
        code,
        Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::Neg
            | Opcode::Abs
            | Opcode::Max
            | Opcode::Min
            | Opcode::StrongMul
            | Opcode::MulAdd
    )
}
