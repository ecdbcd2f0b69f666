//! Running functions with arrays and bodies, on any kind of number.
//!
//! Kernels run their body for a block of points at a time, one operation for all of them; loops inside go
//! round for all lanes together, and lanes that part at a branch or leave a loop go on by themselves. Sums
//! go from the first point to the last whatever the block.
//!
//! Numbers may lack a value (see [`unknown`]): then a branch is taken both ways and a loop until nothing
//! changes any more.

mod accumulate;
mod control;
mod elementwise;
mod kernels;
mod memory;
pub(crate) mod unknown;
pub(crate) mod watch;

use std::rc::Rc;

use cotangent_numbers::Scalar;
use rustc_hash::FxHashSet;

use crate::function::{Function, Value};
use crate::interpret::RunError;
use crate::op::Op;
use crate::slot::{Kind, List, Slot};
use crate::structure::Structure;
use crate::types::{Dim, Type};
use accumulate::Split;
use unknown::outcome;
use watch::{At, Seen, Watcher};

/// Points of a domain that are computed at a time.
pub(crate) const LANES: usize = 256;

/// The most rounds that a `while` goes; fewer where that is tested.
const ROUNDS: usize = if cfg!(test) { 10_000 } else { 100_000_000 };

/// The most entries of a value, those of all lanes together: 2 GB of doubles.
const ENTRIES: usize = 1 << 28;

const UNDECIDED: &str = "an integer depends on a comparison that is not decided";

/// Buffers of each kind that are kept to be used again.
const SPARE: usize = 64;

/// A function made ready: which values are used no more, and where.
pub(crate) struct Code<'f> {
    pub(crate) function: &'f Function,
    steps: Vec<Step>,
    args: Vec<Arg>,
    /// By result: whether it is one of a later number, too.
    kept: Vec<bool>,
    /// Whether it asks how long something is that a loop stacked, which may differ from lane to lane.
    pub(crate) asks: bool,
    bodies: Vec<Vec<Code<'f>>>,
    /// Of the body of an `acc`: what derives from its targets.
    split: Option<Split>,
}

/// A value made ready.
#[derive(Clone, Copy)]
struct Step {
    op: Op,
    ty: Type,
    /// Where its operands begin and end.
    from: u32,
    to: u32,
}

/// An operand made ready.
#[derive(Clone, Copy)]
struct Arg {
    value: u32,
    /// Whether it is used no more.
    last: bool,
    ty: Type,
}

impl Arg {
    fn scalar(self) -> bool {
        self.ty.is_scalar()
    }
}

impl<'f> Code<'f> {
    pub(crate) fn new(function: &'f Function) -> Self {
        let mut last_use = vec![None; function.len()];
        for value in function.values() {
            for operand in function.operands(value) {
                last_use[operand.index()] = Some(value);
            }
        }
        for kept in function.results().iter().chain(function.guards().iter().map(|g| &g.condition))
        {
            last_use[kept.index()] = None;
        }
        let mut steps = Vec::with_capacity(function.len());
        let mut args: Vec<Arg> = Vec::new();
        let mut operands: Vec<Value> = Vec::new();
        for value in function.values() {
            let from = args.len();
            operands.clear();
            operands.extend(function.operands(value));
            let repeated = if operands.len() > 16 { repeated(&operands) } else { Vec::new() };
            for (k, operand) in operands.iter().copied().enumerate() {
                // An operand that stands there twice is moved the last time.
                let again = match repeated.get(k) {
                    Some(again) => *again,
                    None => operands[k + 1..].contains(&operand),
                };
                let last = last_use[operand.index()] == Some(value) && !again;
                args.push(Arg { value: operand.0, last, ty: function.ty(operand) });
            }
            steps.push(Step {
                op: function.op(value),
                ty: function.ty(value),
                from: from as u32,
                to: args.len() as u32,
            });
        }
        let bodies: Vec<Vec<Code<'f>>> = function
            .structures
            .iter()
            .map(|s| {
                s.bodies()
                    .map(|body| {
                        let mut code = Code::new(body);
                        if let Structure::Acc { dims, targets, .. } = s {
                            code.split = Some(Split::new(body, dims.len(), *targets));
                        }
                        code
                    })
                    .collect()
            })
            .collect();
        let own = function.values().any(|value| {
            let of = |k: u32| function.ty(function.operand(value, 0)).dims().get(k as usize);
            matches!(function.op(value), Op::Extent(k) if of(k) == Some(&Dim::Any))
        });
        let asks = own || bodies.iter().flatten().any(|code| code.asks);
        let kept = repeated(function.results());
        Code { function, steps, args, kept, asks, bodies, split: None }
    }

    /// The length of the longest array, of those whose length is known.
    pub(crate) fn longest(&self) -> usize {
        let own = self.steps.iter().filter_map(|step| step.ty.len()).max().unwrap_or(1);
        self.bodies.iter().flatten().map(Code::longest).fold(own, usize::max)
    }

    fn step(&self, value: Value) -> (Step, &[Arg]) {
        let step = self.steps[value.index()];
        (step, &self.args[step.from as usize..step.to as usize])
    }
}

/// Which values come again later.
fn repeated(values: &[Value]) -> Vec<bool> {
    let mut seen = FxHashSet::default();
    let mut again: Vec<bool> = values.iter().rev().map(|v| !seen.insert(*v)).collect();
    again.reverse();
    again
}

type Slots<S> = Vec<Slot<S>>;

/// Values of a function while it runs.
pub(crate) struct Frame<S: Scalar> {
    slots: Vec<Option<Slot<S>>>,
    parts: Vec<Vec<Option<Slot<S>>>>,
}

impl<S: Scalar> Frame<S> {
    pub(crate) fn new(f: &Function) -> Self {
        Frame { slots: vec![None; f.len()], parts: vec![Vec::new(); f.structures.len()] }
    }

    pub(crate) fn slot(&self, value: Value) -> Option<&Slot<S>> {
        self.slots[value.index()].as_ref()
    }
}

/// What runs have in common: who looks on, and buffers that are free.
pub(crate) struct Machine<'w, S: Scalar> {
    pub(crate) watcher: Option<&'w mut dyn Watcher<S>>,
    /// Points of a domain that are computed at a time.
    pub(crate) block: usize,
    /// Whether guards of functions that are called must hold.
    pub(crate) guarded: bool,
    /// Whether numbers may lack a value, so that integers and truth values may.
    open: bool,
    /// Whether what loops stack in unknown number is kept as one row that stands for all.
    summary: bool,
    pub(crate) numbers: Vec<Rc<Vec<S>>>,
    pub(crate) integers: Vec<Rc<Vec<i64>>>,
    pub(crate) truths: Vec<Rc<Vec<S::Mask>>>,
    operands: Slots<S>,
}

impl<'w, S: Scalar> Machine<'w, S> {
    pub(crate) fn new() -> Self {
        let unknown = S::unknown();
        Machine {
            watcher: None,
            block: LANES,
            guarded: true,
            open: unknown.is_some(),
            summary: unknown.is_some_and(|u| u.sample().is_none()),
            numbers: Vec::new(),
            integers: Vec::new(),
            truths: Vec::new(),
            operands: Vec::new(),
        }
    }

    /// With somebody who looks on: then points come one after the other.
    pub(crate) fn watched(watcher: &'w mut dyn Watcher<S>, block: usize) -> Self {
        Machine { watcher: Some(watcher), block, ..Machine::new() }
    }

    /// An integer among the results, as a number. On tracers one that is not known depends on nothing; on
    /// intervals there is no number for it.
    pub(crate) fn shown(&self, f: &Function, c: i64) -> Result<S, RunError> {
        match self.open && !self.summary && c == unknown::UNKNOWN {
            true => fault(f, UNDECIDED.to_string()),
            false => Ok(S::constant(c as f64)),
        }
    }

    /// Keeps the buffer of a value that is used no more.
    pub(crate) fn recycle(&mut self, slot: Slot<S>) {
        fn keep<T>(spare: &mut Vec<Rc<Vec<T>>>, mut data: Rc<Vec<T>>) {
            if spare.len() < SPARE && Rc::get_mut(&mut data).is_some() {
                spare.push(data);
            }
        }
        match slot {
            Slot::Numbers(list) => keep(&mut self.numbers, list.data),
            Slot::Integers(list) => keep(&mut self.integers, list.data),
            Slot::Truths(list) => keep(&mut self.truths, list.data),
            Slot::Number(_) | Slot::Integer(_) | Slot::Truth(_) => {}
        }
    }

    /// An empty buffer.
    fn buffer<K: Kind<S>>(&mut self, entries: usize) -> Rc<Vec<K::Item>> {
        let Some(mut data) = K::spare(self).pop() else {
            return Rc::new(Vec::with_capacity(entries));
        };
        if let Some(list) = Rc::get_mut(&mut data) {
            list.clear();
            list.reserve(entries);
        }
        data
    }

    fn enter(&mut self, f: &Function, value: Value, body: usize, at: At<'_>, lanes: usize) {
        if let Some(watcher) = &mut self.watcher {
            watcher.enter(f, value, body, at, lanes);
        }
    }

    fn leave(&mut self) {
        if let Some(watcher) = &mut self.watcher {
            watcher.leave();
        }
    }
}

/// What went wrong, with the function it went wrong in.
fn fault<T>(f: &Function, what: String) -> Result<T, RunError> {
    let function =
        if f.name().is_empty() { "a body".to_string() } else { format!("@{}", f.name()) };
    Err(RunError::Value { function, what })
}

/// The number of entries of a value in all lanes, if there is room for it.
fn room(f: &Function, len: usize, width: usize) -> Result<usize, RunError> {
    match len.checked_mul(width).filter(|all| *all <= ENTRIES) {
        Some(all) => Ok(all),
        None => {
            let points = if width > 1 { format!(" at {width} points") } else { String::new() };
            let what =
                format!("an array of {len} elements{points} is too large: at most {ENTRIES} fit");
            fault(f, what)
        }
    }
}

impl Code<'_> {
    /// The results for some lanes. The frame is that of this function.
    pub(crate) fn run<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        frame: &mut Frame<S>,
        mut args: Vec<Option<Slot<S>>>,
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let f = self.function;
        for value in f.values() {
            self.value(machine, frame, value, &mut args, lanes, true)?;
        }
        let mut results = Vec::with_capacity(f.results().len());
        for (k, result) in f.results().iter().enumerate() {
            let kept = self.kept[k] || f.guards().iter().any(|g| g.condition == *result);
            let place = &mut frame.slots[result.index()];
            match if kept { place.clone() } else { place.take() } {
                Some(slot) => results.push(slot),
                None => return fault(f, format!("result {k} is missing")),
            }
        }
        Ok(results)
    }

    /// Computes one value. Operands that are used no more are moved if they may be.
    fn value<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        frame: &mut Frame<S>,
        value: Value,
        args: &mut [Option<Slot<S>>],
        lanes: usize,
        moves: bool,
    ) -> Result<(), RunError> {
        let f = self.function;
        let (step, operands) = self.step(value);
        let slot = match step.op {
            Op::Param(k) => match args[k as usize].take() {
                Some(slot) => slot,
                None => return fault(f, format!("parameter {k} is missing")),
            },
            Op::Structure(k) => {
                let slots = operands
                    .iter()
                    .map(|arg| {
                        let place = &mut frame.slots[arg.value as usize];
                        if arg.last && moves { place.take() } else { place.clone() }
                    })
                    .collect();
                let parts = self.structure(machine, value, k as usize, slots, lanes)?;
                if let Some(watcher) = &mut machine.watcher {
                    watcher.structure(f, value, &parts, lanes);
                }
                frame.parts[k as usize] = parts.into_iter().map(Some).collect();
                return Ok(());
            }
            Op::Part(part) => {
                let Op::Structure(k) = self.steps[operands[0].value as usize].op else {
                    return fault(f, "a part of nothing".to_string());
                };
                match frame.parts[k as usize].get_mut(part as usize).and_then(Option::take) {
                    Some(slot) => slot,
                    None => return fault(f, format!("part {part} is missing")),
                }
            }
            Op::Constant(bits) => Slot::Number(S::constant(f64::from_bits(bits))),
            Op::Rounded(bits) => Slot::Number(S::rounded(f64::from_bits(bits))),
            Op::Truth(truth) => Slot::Truth(S::Mask::from(truth)),
            Op::Integer(c) => Slot::Integer(c),
            Op::Table(_) => self.table(value),
            op => {
                let mut slots = std::mem::take(&mut machine.operands);
                for arg in operands {
                    let place = &mut frame.slots[arg.value as usize];
                    match if arg.last && moves { place.take() } else { place.clone() } {
                        Some(slot) => slots.push(slot),
                        None => {
                            return fault(f, format!("an operand of `{}` is missing", op.name()));
                        }
                    }
                }
                let slot = self.watched(machine, value, &mut slots, lanes)?;
                slots.drain(..).for_each(|slot| machine.recycle(slot));
                machine.operands = slots;
                slot
            }
        };
        if let Some(old) = frame.slots[value.index()].replace(slot) {
            machine.recycle(old);
        }
        Ok(())
    }

    /// An operation without a body, and somebody who looks on.
    fn watched<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        value: Value,
        slots: &mut Slots<S>,
        lanes: usize,
    ) -> Result<Slot<S>, RunError> {
        let (step, args) = self.step(value);
        let put = matches!(step.op, Op::Put | Op::PutAdd);
        let run = |machine: &mut Machine<'_, S>, slots: &mut Slots<S>| match step.op {
            Op::Put | Op::PutAdd => self.put(machine, step, args, slots, lanes),
            Op::Load => self.load(machine, step, args, slots, lanes),
            _ => self.operation(machine, step, args, slots, lanes),
        };
        if machine.watcher.is_none() {
            return run(machine, slots);
        }
        // Of an array that is written to, what stood at the place, and what stands there now.
        let at = |machine: &mut Machine<'_, S>, array: &Slot<S>, indices: &[Slot<S>]| {
            let loaded = Step { op: Op::Load, ty: args[1].ty, ..step };
            let args: Vec<Arg> = [&args[..1], &args[2..]].concat();
            let slots: Slots<S> = std::iter::once(array).chain(indices).cloned().collect();
            self.load(machine, loaded, &args, &slots, lanes)
        };
        let mut seen = slots.clone();
        if put {
            seen[0] = at(machine, &slots[0], &slots[2..])?;
        }
        let result = run(machine, slots)?;
        let shown = if put { at(machine, &result, &seen[2..])? } else { result.clone() };
        if let Some(watcher) = &mut machine.watcher {
            let f = self.function;
            watcher.operation(&Seen { function: f, value, operands: &seen, result: &shown, lanes });
            if watcher.is_done() {
                return fault(f, "what was looked for has been found".to_string());
            }
        }
        Ok(result)
    }

    fn structure<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        value: Value,
        k: usize,
        mut operands: Vec<Option<Slot<S>>>,
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let f = self.function;
        let bodies = &self.bodies[k];
        match &f.structures[k] {
            Structure::Tab { dims, body } => {
                self.tab(machine, value, &bodies[0], dims, body, &operands, lanes)
            }
            Structure::Red { dims, reducer, body } => {
                self.red(machine, value, &bodies[0], (dims, *reducer), body, &operands, lanes)
            }
            Structure::Acc { dims, targets, .. } => {
                let captures = operands.split_off(*targets);
                self.acc(machine, value, &bodies[0], dims, operands, &captures, lanes)
            }
            Structure::For { carries, .. } => {
                let captures = operands.split_off(1 + carries);
                let bound = operands.remove(0);
                self.repeat(machine, value, &bodies[0], bound, operands, &captures, lanes)
            }
            Structure::While { carries, .. } => {
                let captures = operands.split_off(*carries);
                self.while_holds(machine, value, bodies, operands, &captures, lanes)
            }
            Structure::If { .. } => {
                let condition = operands.remove(0);
                self.branch(machine, value, bodies, condition, &operands, lanes)
            }
            Structure::Derive(derive) => {
                let what = format!("`{}` has not been lowered; lower it first", derive.mode.name());
                fault(f, what)
            }
            Structure::Call { .. } => {
                let code = &bodies[0];
                let mut frame = Frame::new(code.function);
                machine.enter(f, value, 0, At::Once, lanes);
                let results = code.run(machine, &mut frame, operands, lanes)?;
                machine.leave();
                if machine.guarded {
                    code.check_guards(&frame)?;
                }
                Ok(results)
            }
        }
    }

    /// Whether the guards came out as they were recorded, for every lane.
    pub(crate) fn check_guards<S: Scalar>(&self, frame: &Frame<S>) -> Result<(), RunError> {
        for (k, guard) in self.function.guards().iter().enumerate() {
            let holds = |mask: &S::Mask| outcome::<S>(*mask) == Some(guard.expected);
            let all = match frame.slot(guard.condition) {
                Some(Slot::Truth(mask)) => holds(mask),
                Some(Slot::Truths(masks)) => masks.data.iter().all(holds),
                _ => true,
            };
            if !all {
                let function = self.function.name().to_string();
                return Err(RunError::Guard { function, guard: k });
            }
        }
        Ok(())
    }

    fn result_types(&self) -> Vec<Type> {
        self.function.results().iter().map(|v| self.function.ty(*v)).collect()
    }
}

fn list<T: Copy>(x: T, len: usize, lanes: usize) -> List<T> {
    List { data: Rc::new(vec![x; len * lanes]), varies: lanes > 1, len }
}

/// How many elements an array has: those of unknown number are one row where they are summed up.
fn size_of<S: Scalar>(machine: &Machine<'_, S>, ty: Type) -> Option<usize> {
    match ty.dims().first() {
        Some(Dim::Any) if machine.summary => ty.after(1).len(),
        _ => ty.len(),
    }
}
