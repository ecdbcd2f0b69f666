//! A program with the values of its operations beside them.

use rustc_hash::FxHashMap;

use crate::domains::walk::Walk;
use crate::function::{Function, Value};
use crate::interpret::RunError;
use crate::machine::Machine;
use crate::machine::watch::{At, Seen, Watcher};
use crate::slot::{Integers, Kind, Numbers, Slot, Truths, by_kind};

/// Elements of an array that are shown at its beginning.
const SHOWN: usize = 4;
/// Runs of an operation that are shown before the last one.
const FIRST: usize = 2;
/// Comments begin here, where lines are short enough.
const COLUMN: usize = 40;

/// The program, and beside each operation what it gave: inside kernels and loops at the first points or
/// rounds and at the last, with how often it was run. The comments make it no other program.
///
/// ```
/// use cotangent_ir::{explain, parse};
///
/// let f = parse("fn @f(%x: f64) -> f64 { %p = for %i < 5 (%p = 1.0) { %q = mul %p, %x yield %q } ret %p }").unwrap();
/// let text = explain(&f, &[2.0])?;
/// assert!(text.contains("%1 = mul %p, %x                     // 2.0, 4.0, …, 32.0 (5 times)"));
/// assert_eq!(parse(&text).unwrap(), f);
/// # Ok::<(), cotangent_ir::RunError>(())
/// ```
///
/// # Errors
/// As [`run`](Function::run).
pub fn explain(f: &Function, x: &[f64]) -> Result<String, RunError> {
    let mut teller = Teller { walk: Walk::new(f), seen: FxHashMap::default() };
    let results = f.run_on(&mut Machine::watched(&mut teller, 1), x)?;
    let Teller { walk, seen } = teller;
    let mut notes: FxHashMap<usize, String> =
        seen.into_iter().map(|(line, runs)| (line, runs.written())).collect();
    let mut rest = x;
    let mut given = Vec::with_capacity(f.params().len());
    for param in f.params() {
        let (own, after) = rest.split_at(param.ty.len().unwrap_or(0).min(rest.len()));
        rest = after;
        let written: Vec<String> = own.iter().map(|x| format!("{x:?}")).collect();
        given.push(format!("%{} = {}", param.name, abridged(&written, param.ty.is_scalar())));
    }
    if let Some(head) = walk.listing.heads.get(&0) {
        notes.insert(*head, given.join(", "));
    }
    let written: Vec<String> = results.iter().map(|x| format!("{x:?}")).collect();
    let last = walk.listing.own_lines.saturating_sub(2);
    notes.insert(last, abridged(&written, written.len() == 1));
    let mut text = String::new();
    for (k, line) in walk.listing.lines.iter().enumerate() {
        // What the library does is told, but is no part of the program.
        if k >= walk.listing.own_lines {
            text.push_str("// ");
        }
        text.push_str(line);
        if let Some(note) = notes.get(&k).filter(|note| !note.is_empty()) {
            let width = line.chars().count();
            text.extend(std::iter::repeat_n(' ', COLUMN.saturating_sub(width).max(1)));
            text.push_str("// ");
            text.push_str(note);
        }
        text.push('\n');
    }
    Ok(text)
}

/// What an operation gave, the first times and the last.
#[derive(Default)]
struct Runs {
    first: Vec<String>,
    last: String,
    times: usize,
}

impl Runs {
    fn add(&mut self, value: String) {
        self.times += 1;
        match self.first.len() < FIRST {
            true => self.first.push(value),
            false => self.last = value,
        }
    }

    fn written(&self) -> String {
        let first = self.first.join(", ");
        match self.times {
            1 => first,
            n if n == self.first.len() => format!("{first} ({n} times)"),
            n if n == self.first.len() + 1 => format!("{first}, {} ({n} times)", self.last),
            n => format!("{first}, …, {} ({n} times)", self.last),
        }
    }
}

struct Teller {
    walk: Walk,
    /// By line.
    seen: FxHashMap<usize, Runs>,
}

/// A number, or the first and the last elements of an array.
fn abridged(written: &[String], scalar: bool) -> String {
    match written {
        [one] if scalar => one.clone(),
        few if few.len() <= SHOWN + 1 => format!("[{}]", few.join(", ")),
        many => {
            let last = &many[many.len() - 1];
            format!("[{}, …, {last}] ({} elements)", many[..SHOWN].join(", "), many.len())
        }
    }
}

fn written(slot: &Slot<f64>, scalar: bool) -> String {
    fn all<K: Kind<f64, Item: std::fmt::Debug>>(slot: &Slot<f64>, scalar: bool) -> Vec<String> {
        let view = slot.view::<K>(scalar, 1);
        (0..slot.len()).map(|e| format!("{:?}", view.at(e, 0))).collect()
    }
    type S = f64;
    let entries = match slot {
        Slot::Number(_) | Slot::Numbers(_) => all::<Numbers<S>>(slot, scalar),
        Slot::Integer(_) | Slot::Integers(_) => all::<Integers<S>>(slot, scalar),
        Slot::Truth(_) | Slot::Truths(_) => all::<Truths<S>>(slot, scalar),
    };
    abridged(&entries, scalar)
}

impl Watcher<f64> for Teller {
    fn operation(&mut self, seen: &Seen<'_, f64>) {
        let line = self.walk.line(seen.value);
        // Of an array that is written to, the elements that now stand at the place.
        let value = written(seen.result, seen.result.len() == 1 && is_one(seen.result));
        self.seen.entry(line).or_default().add(value);
    }

    fn structure(&mut self, f: &Function, value: Value, parts: &[Slot<f64>], _: usize) {
        let line = self.walk.line(value);
        let Some(structure) = f.structure(value) else { return };
        let types = structure.part_types(f.stack_dim(value));
        let all = parts.iter().zip(types).map(|(slot, ty)| written(slot, ty.is_scalar()));
        let all: Vec<String> = all.collect();
        self.seen.entry(line).or_default().add(all.join("; "));
    }

    fn reduced(&mut self, _: &Function, _: Value, _: [f64; 3]) {}

    fn enter(&mut self, f: &Function, value: Value, body: usize, at: At<'_>, _: usize) {
        self.walk.enter(f, value, body, at);
    }

    fn leave(&mut self) {
        self.walk.leave();
    }
}

fn is_one(slot: &Slot<f64>) -> bool {
    type S = f64;
    by_kind!(slot, K => <K<S> as Kind<S>>::one(slot).is_some())
}
