//! What an optimisation did.

use std::collections::BTreeMap;
use std::fmt;

use cotangent_ir::{Builder, Cost, Function, Op, Value, takes_parameter};

use crate::options::Options;

/// One use of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rule.
    pub rule: &'static str,
    /// What was there.
    pub before: String,
    /// What is there now.
    pub after: String,
}

/// What became of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// How often it ran.
    pub runs: usize,
    /// How often it changed something.
    pub changed: usize,
    /// How often it made the program dearer and was taken back.
    pub dropped: usize,
}

/// What an optimisation did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// How often each rule was used, by its name.
    pub rules: BTreeMap<&'static str, usize>,
    /// What became of each pass.
    pub passes: BTreeMap<&'static str, Runs>,
    /// How many rounds of all passes there were.
    pub rounds: usize,
    /// What the function cost.
    pub before: Cost,
    /// What it costs now.
    pub after: Cost,
    /// Every use of a rule in its order, if that was asked for.
    pub steps: Vec<Step>,
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "before  {}", self.before)?;
        writeln!(f, "after   {}", self.after)?;
        writeln!(f, "rounds  {}", self.rounds)?;
        for (name, runs) in &self.passes {
            let Runs { runs, changed, dropped } = runs;
            writeln!(
                f,
                "pass    {name}: {changed} of {runs} changed something, {dropped} taken back"
            )?;
        }
        for (name, count) in &self.rules {
            writeln!(f, "rule    {name}: {count}")?;
        }
        Ok(())
    }
}

/// Counts while passes run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) rules: BTreeMap<&'static str, usize>,
    pub(crate) steps: Vec<Step>,
    pub(crate) options: Options,
}

impl Tally {
    pub(crate) fn new(options: Options) -> Tally {
        Tally { options, ..Tally::default() }
    }

    /// A rule was used.
    pub(crate) fn count(&mut self, rule: &'static str, step: impl FnOnce() -> (String, String)) {
        *self.rules.entry(rule).or_default() += 1;
        if self.options.trace {
            let (before, after) = step();
            self.steps.push(Step { rule, before, after });
        }
    }

    /// A change of an operation with a body.
    pub(crate) fn structural(&mut self, rule: &'static str, before: &str, after: &str) {
        self.count(rule, || (before.to_string(), after.to_string()));
    }
}

/// A value as a formula, so deep.
pub(crate) fn formula(f: &Function, value: Value, depth: usize) -> String {
    match f.op(value) {
        Op::Param(k) => format!("%{}", f.params()[k as usize].name),
        Op::Constant(bits) => format!("{:?}", f64::from_bits(bits)),
        Op::Rounded(bits) => format!("~{:?}", f64::from_bits(bits)),
        Op::Truth(truth) => truth.to_string(),
        Op::Integer(c) => c.to_string(),
        _ if depth == 0 => "…".to_string(),
        op => {
            let operands: Vec<Value> = f.operands(value).collect();
            operation(f, op, &operands, depth - 1)
        }
    }
}

/// An operation as a formula.
pub(crate) fn operation(f: &Function, op: Op, operands: &[Value], depth: usize) -> String {
    let args: Vec<String> = operands.iter().map(|v| formula(f, *v, depth)).collect();
    match op {
        Op::Elementary(code, parameter) if takes_parameter(code) => {
            format!("{}{{{parameter}}}({})", op.name(), args.join(", "))
        }
        Op::Structure(_) => "…".to_string(),
        op => format!("{}({})", op.name(), args.join(", ")),
    }
}

/// An operation that is to be built, as a formula.
pub(crate) fn pending(b: &Builder, op: Op, operands: &[Value]) -> String {
    operation(b.function(), op, operands, 3)
}
