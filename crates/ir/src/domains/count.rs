//! What a run of a function costs: operations and bytes.

use std::collections::BTreeMap;
use std::fmt;

use cotangent_ops::Opcode;

use crate::function::{Function, Value};
use crate::interpret::RunError;
use crate::machine::watch::{At, Seen, Watcher};
use crate::machine::{LANES, Machine};
use crate::op::Op;
use crate::slot::Slot;
use crate::structure::{Reducer, Structure};
use crate::types::Type;

/// What a run did: every point of a kernel and every round of a loop counts.
///
/// Scalars are taken to stand in registers. Bytes are those of elements that are read from arrays and
/// written to them: by `ld`, `put` and `put_add`, by operations on whole arrays, by kernels and loops that
/// make arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    operations: BTreeMap<Opcode, u64>,
    /// Comparisons of numbers and integers.
    pub comparisons: u64,
    /// Selections.
    pub selects: u64,
    /// Operations on truth values.
    pub logic: u64,
    /// Operations on integers.
    pub integers: u64,
    /// Changes of type.
    pub casts: u64,
    /// Elements that are read.
    pub loads: u64,
    /// Elements that are written.
    pub stores: u64,
    /// Elements that are put in order.
    pub sorted: u64,
    /// Bytes of the elements that are read.
    pub bytes_read: u64,
    /// Bytes of the elements that are written.
    pub bytes_written: u64,
    /// Points of kernels.
    pub points: u64,
    /// Rounds of loops.
    pub rounds: u64,
    /// Branches that are taken.
    pub branches: u64,
    /// Calls of functions.
    pub calls: u64,
}

impl Counts {
    /// How often an operation of the table was run, the additions of sums and of `put_add` included.
    pub fn of(&self, op: Opcode) -> u64 {
        self.operations.get(&op).copied().unwrap_or(0)
    }

    /// All operations of the table.
    pub fn total(&self) -> u64 {
        self.operations.values().sum()
    }

    /// The operations of the table that were run, in its order.
    pub fn iter(&self) -> impl Iterator<Item = (Opcode, u64)> + '_ {
        self.operations.iter().map(|(op, n)| (*op, *n))
    }

    /// Bytes that are read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    fn add(&mut self, op: Opcode, times: u64) {
        if times > 0 {
            *self.operations.entry(op).or_insert(0) += times;
        }
    }

    fn read(&mut self, ty: Type, elements: u64) {
        self.loads += elements;
        self.bytes_read += elements * ty.element().bytes() as u64;
    }

    fn write(&mut self, ty: Type, elements: u64) {
        self.stores += elements;
        self.bytes_written += elements * ty.element().bytes() as u64;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} operations", self.total())?;
        let each: Vec<String> = self.iter().map(|(op, n)| format!("{n} {}", op.name())).collect();
        if !each.is_empty() {
            write!(f, " ({})", each.join(", "))?;
        }
        let others = [
            (self.comparisons, "comparisons"),
            (self.selects, "selects"),
            (self.logic, "of truth values"),
            (self.integers, "of integers"),
            (self.casts, "casts"),
            (self.sorted, "elements sorted"),
            (self.points, "points"),
            (self.rounds, "rounds"),
            (self.branches, "branches"),
            (self.calls, "calls"),
        ];
        for (n, what) in others.into_iter().filter(|(n, _)| *n > 0) {
            write!(f, ", {n} {what}")?;
        }
        if self.loads + self.stores > 0 {
            let (loads, read) = (self.loads, self.bytes_read);
            let (stores, written) = (self.stores, self.bytes_written);
            write!(f, ", {loads} loads of {read} bytes, {stores} stores of {written} bytes")?;
        }
        Ok(())
    }
}

/// Runs a function and counts what it does.
///
/// ```
/// use cotangent_ir::{count, parse};
/// use cotangent_ops::Opcode;
///
/// let f = parse("fn @f(%x: [4]f64) -> f64 { %s = red sum (%i < 4) { %a = ld %x[%i] %b = mul %a, %a yield %b } ret %s }").unwrap();
/// let counts = count(&f, &[1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!((counts.of(Opcode::Mul), counts.of(Opcode::Add)), (4, 3));
/// assert_eq!(counts.to_string(), "7 operations (3 add, 4 mul), 4 points, 4 loads of 32 bytes, 0 stores of 0 bytes");
/// # Ok::<(), cotangent_ir::RunError>(())
/// ```
///
/// # Errors
/// As [`run`](Function::run).
pub fn count(f: &Function, x: &[f64]) -> Result<Counts, RunError> {
    let mut counter = Counter(Counts::default());
    f.run_on(&mut Machine::watched(&mut counter, LANES), x)?;
    Ok(counter.0)
}

struct Counter(Counts);

impl Watcher<f64> for Counter {
    fn operation(&mut self, seen: &Seen<'_, f64>) {
        let Counter(counts) = self;
        let f = seen.function;
        let (ty, lanes) = (f.ty(seen.value), seen.lanes as u64);
        let each = seen.result.len() as u64 * lanes;
        match f.op(seen.value) {
            Op::Elementary(code, _) => counts.add(code, each),
            Op::Compare(_) => counts.comparisons += each,
            Op::Select => counts.selects += each,
            Op::And | Op::Or | Op::Not => counts.logic += each,
            Op::Integral(_) => counts.integers += each,
            Op::Cast => counts.casts += each,
            Op::Argsort => counts.sorted += each,
            Op::Load => return counts.read(ty, each),
            Op::Put => return counts.write(ty, each),
            Op::PutAdd => {
                counts.add(Opcode::Add, each);
                counts.read(ty, each);
                return counts.write(ty, each);
            }
            // The dimensions and the copies cost nothing.
            Op::Extent(_) | Op::Stop | Op::Keep | Op::Recompute => return,
            _ => {}
        }
        // What is done with whole arrays reads and writes them.
        for (operand, slot) in f.operands(seen.value).zip(seen.operands) {
            let ty = f.ty(operand);
            if !ty.is_scalar() {
                counts.read(ty, slot.len() as u64 * lanes);
            }
        }
        if !ty.is_scalar() {
            counts.write(ty, each);
        }
    }

    fn structure(&mut self, f: &Function, value: Value, parts: &[Slot<f64>], lanes: usize) {
        let Counter(counts) = self;
        let Some(structure) = f.structure(value) else { return };
        let types = structure.part_types(f.stack_dim(value));
        // Arrays that kernels and loops make, carries and targets aside: those are written by bodies.
        let made = match structure {
            Structure::Tab { .. } => 0,
            Structure::For { carries, .. } | Structure::While { carries, .. } => *carries,
            _ => parts.len(),
        };
        for (slot, ty) in parts.iter().zip(&types).skip(made).filter(|(_, ty)| !ty.is_scalar()) {
            counts.write(*ty, slot.len() as u64 * lanes as u64);
        }
        match structure {
            Structure::If { .. } => counts.branches += lanes as u64,
            Structure::Call { .. } => counts.calls += lanes as u64,
            _ => {}
        }
    }

    fn reduced(&mut self, f: &Function, value: Value, _: [f64; 3]) {
        let Some(Structure::Red { reducer, .. }) = f.structure(value) else { return };
        match reducer {
            Reducer::Sum => self.0.add(Opcode::Add, 1),
            Reducer::Product => self.0.add(Opcode::Mul, 1),
            Reducer::Max => self.0.add(Opcode::Max, 1),
            Reducer::Min => self.0.add(Opcode::Min, 1),
            Reducer::ArgMax | Reducer::ArgMin => self.0.comparisons += 1,
        }
    }

    fn enter(&mut self, f: &Function, value: Value, body: usize, at: At<'_>, lanes: usize) {
        match (at, f.structure(value)) {
            (At::Points(..), _) => self.0.points += lanes as u64,
            // The condition is asked once more than there are rounds.
            (At::Round(_), Some(Structure::While { .. })) if body == 0 => {}
            (At::Round(_), _) => self.0.rounds += lanes as u64,
            _ => {}
        }
    }

    fn leave(&mut self) {}
}
