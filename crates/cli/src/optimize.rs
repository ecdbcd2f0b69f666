//! `cotangent opt`: a program made simpler.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use cotangent_optimize::{Class, Options, Stats, optimize, reroll};

use crate::Failure;
use crate::draw::{Emit, written};
use crate::program::read;

/// Which program, and what may change.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cotangent opt f.ct\n  cotangent diff f.ct | cotangent opt - --stats\n  cotangent opt f.ct --class reassoc --class contract --trace-rules\n  cotangent opt trace.ct --reroll"
)]
pub(crate) struct Arguments {
    /// A program in text; `-` for standard input.
    file: PathBuf,
    /// Every use of a rule: its name, what was there, what is there now.
    #[arg(long)]
    trace_rules: bool,
    /// What it cost and costs, and how often each pass and rule was used.
    #[arg(long)]
    stats: bool,
    /// Rules that may change more than nothing; several times for several classes. Signs of zeros by default.
    #[arg(long, value_enum)]
    class: Vec<Allowed>,
    /// Repeated parts of a program without loops become kernels, its parameters one array; sums of like terms are then added up in
    /// lanes by machine code.
    #[arg(long)]
    reroll: bool,
    /// What is written.
    #[arg(long, value_enum, default_value_t = Emit::Text)]
    emit: Emit,
    /// The program and what was done as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Allowed {
    /// Only what gives the same bits.
    Exact,
    /// The sign of a zero, and zero coefficients that win over everything.
    Zero,
    /// Products and sums in one operation.
    Contract,
    /// Sums and products in another order.
    Reassoc,
    /// What holds of finite numbers.
    Approx,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let remarks = arguments.trace_rules || arguments.stats;
    if remarks && arguments.emit != Emit::Text && !arguments.json {
        let remedy = "leave out --emit, or take --json";
        return Err(Failure::Input(format!(
            "--trace-rules and --stats stand in the text; {remedy}"
        )));
    }
    let mut f = read(&arguments.file)?;
    let mut options = match arguments.class[..] {
        [Allowed::Exact] => Options::exact(),
        _ => Options::default(),
    };
    for class in &arguments.class {
        options = match class {
            Allowed::Exact => options,
            Allowed::Zero => options.with(Class::Zero),
            Allowed::Contract => options.with(Class::Contract),
            Allowed::Reassoc => options.with(Class::Reassoc),
            Allowed::Approx => options.with(Class::Approx),
        };
    }
    if arguments.reroll {
        let flat = optimize(&f, &options).function;
        let Some(rolled) = reroll(&flat, flat.params().len(), &[]) else {
            let what = "parts that are repeated often enough, in a program of numbers without arrays and loops";
            return Err(Failure::No(format!("@{} has no {what}", f.name())));
        };
        f = rolled;
    }
    options.trace = arguments.trace_rules;
    let done = optimize(&f, &options);
    let text = written(&done.function, arguments.emit)?;
    let mut out = anstream::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", json(f.name(), &text, &done.stats))?;
        return Ok(());
    }
    // Remarks are comments, so that the output is a program still.
    for step in &done.stats.steps {
        writeln!(out, "// {}: {} → {}", step.rule, step.before, step.after)?;
    }
    if arguments.stats {
        for line in done.stats.to_string().lines() {
            writeln!(out, "// {line}")?;
        }
    }
    Ok(write!(out, "{text}")?)
}

fn json(name: &str, text: &str, stats: &Stats) -> serde_json::Value {
    let cost = |cost: &cotangent_ir::Cost| {
        let mut parts: serde_json::Map<String, serde_json::Value> = cost
            .parts()
            .iter()
            .map(|(name, count, _)| ((*name).to_string(), (*count).into()))
            .collect();
        parts.insert("total".to_string(), cost.total().into());
        serde_json::Value::from(parts)
    };
    let steps: Vec<serde_json::Value> = stats
        .steps
        .iter()
        .map(|s| serde_json::json!({ "rule": s.rule, "before": s.before, "after": s.after }))
        .collect();
    serde_json::json!({
        "name": name,
        "text": text,
        "before": cost(&stats.before),
        "after": cost(&stats.after),
        "rounds": stats.rounds,
        "rules": stats.rules,
        "steps": steps,
    })
}
