//! The first operation that makes a NaN or an infinity.

use std::fmt;

use crate::domains::walk::{Walk, Within};
use crate::function::{Function, Value};
use crate::interpret::RunError;
use crate::machine::Machine;
use crate::machine::watch::{At, Seen, Watcher};
use crate::op::Op;
use crate::slot::{Numbers, Slot};

/// What is hunted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hunted {
    /// A NaN made of operands that are none.
    Nan,
    /// A NaN or an infinity made of finite operands.
    NotFinite,
}

impl Hunted {
    fn is_bad(self, x: f64) -> bool {
        match self {
            Hunted::Nan => x.is_nan(),
            Hunted::NotFinite => !x.is_finite(),
        }
    }
}

/// An operation that made what was hunted for.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The operation as it is printed.
    pub operation: String,
    /// Its line in the printed program, from 1; behind its end, if it is in a function of the library.
    pub line: usize,
    /// The bodies it was run in, the outermost first: points of kernels, rounds of loops.
    pub within: Vec<Within>,
    /// Which element of an array it was.
    pub element: Option<usize>,
    /// The operands that are numbers.
    pub operands: Vec<f64>,
    /// The result.
    pub result: f64,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: `{}` gives {:?}", self.line, self.operation, self.result)?;
        if let Some(element) = self.element {
            write!(f, " as element {element}")?;
        }
        let operands: Vec<String> = self.operands.iter().map(|x| format!("{x:?}")).collect();
        write!(f, " of {}", operands.join(", "))?;
        self.within.iter().rev().try_for_each(|within| write!(f, "\n  in {within}"))
    }
}

/// The first operation, in the order in which they are run, that makes a NaN (or an infinity) of operands
/// that are none: with its line in the printed program, its operands, the points of kernels and the rounds
/// of loops it is in. Without one, the function gives no NaN of its own making.
///
/// ```
/// use cotangent_ir::{Hunted, hunt, parse};
///
/// let f = parse("fn @f(%x: [3]f64) -> [3]f64 { %y = tab (%i < 3) { %a = ld %x[%i] %b = ln %a yield %b } ret %y }").unwrap();
/// let found = hunt(&f, &[1.0, 2.0, -3.0], Hunted::Nan)?.unwrap();
/// assert_eq!(found.to_string(), "line 4: `%2 = ln %1` gives NaN of -3.0\n  in `tab` in line 2, point (2)");
/// assert_eq!(hunt(&f, &[1.0, 2.0, 3.0], Hunted::Nan)?, None);
/// # Ok::<(), cotangent_ir::RunError>(())
/// ```
///
/// # Errors
/// As [`run`](Function::run), if the run ends before something is found.
pub fn hunt(f: &Function, x: &[f64], hunted: Hunted) -> Result<Option<Found>, RunError> {
    let mut hunter = Hunter { walk: Walk::new(f), hunted, found: None };
    // Point by point: the first one is what a reader expects.
    let ran = f.run_on(&mut Machine::watched(&mut hunter, 1), x);
    match (hunter.found, ran) {
        (Some(found), _) => Ok(Some(found)),
        (None, Ok(_)) => Ok(None),
        (None, Err(error)) => Err(error),
    }
}

struct Hunter {
    walk: Walk,
    hunted: Hunted,
    found: Option<Found>,
}

impl Hunter {
    fn catch(&mut self, value: Value, element: Option<usize>, operands: Vec<f64>, result: f64) {
        if self.found.is_some()
            || !self.hunted.is_bad(result)
            || operands.iter().any(|x| self.hunted.is_bad(*x))
        {
            return;
        }
        let line = self.walk.line(value);
        self.found = Some(Found {
            operation: self.walk.text(line).to_string(),
            line: line + 1,
            within: self.walk.within().to_vec(),
            element,
            operands,
            result,
        });
    }
}

impl Watcher<f64> for Hunter {
    fn operation(&mut self, seen: &Seen<'_, f64>) {
        let f = seen.function;
        if !matches!(f.op(seen.value), Op::Elementary(..) | Op::PutAdd) {
            return;
        }
        // Of an array that is added to, the elements and what is added.
        let shown = if f.op(seen.value) == Op::PutAdd { 2 } else { seen.operands.len() };
        let result = seen.result.view::<Numbers<f64>>(seen.result.len() == 1, 1);
        for e in 0..seen.result.len() {
            if !self.hunted.is_bad(result.at(e, 0)) {
                continue;
            }
            let of = |slot: &Slot<f64>| slot.view::<Numbers<f64>>(slot.len() == 1, 1).at(e, 0);
            let operands: Vec<f64> = seen.operands[..shown].iter().map(of).collect();
            let element = (seen.result.len() > 1).then_some(e);
            self.catch(seen.value, element, operands, result.at(e, 0));
        }
    }

    fn structure(&mut self, _: &Function, _: Value, _: &[Slot<f64>], _: usize) {}

    fn reduced(&mut self, _: &Function, value: Value, [before, x, after]: [f64; 3]) {
        if self.found.is_some() || !self.hunted.is_bad(after) {
            return;
        }
        // The operation itself stands outside its body.
        let last = self.walk.within().last().cloned();
        let line = last.map_or(0, |within| within.line.saturating_sub(1));
        self.catch(value, None, vec![before, x], after);
        let text = self.walk.text(line).trim_end_matches('{').trim().to_string();
        if let Some(found) = &mut self.found {
            (found.operation, found.line) = (text, line + 1);
        }
    }

    fn enter(&mut self, f: &Function, value: Value, body: usize, at: At<'_>, _: usize) {
        self.walk.enter(f, value, body, at);
    }

    fn leave(&mut self) {
        self.walk.leave();
    }

    fn is_done(&self) -> bool {
        self.found.is_some()
    }
}
