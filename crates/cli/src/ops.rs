//! `cotangent ops`: the table of elementary operations.

use std::io::Write;

use anstyle::Style;
use comfy_table::{Table, presets};
use cotangent_ops::{Info, Opcode};
use serde::Serialize;

use crate::Failure;

/// What to list.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cotangent ops\n  cotangent ops atan2\n  cotangent ops --json | jq .[].name"
)]
pub(crate) struct Arguments {
    /// Only this operation, with everything the table says of it.
    operation: Option<String>,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// An operation, as printed.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    arguments: usize,
    partials: Vec<Partial>,
    class: &'static str,
    domain: (f64, f64),
    ulps: u32,
    singular: &'static str,
}

#[derive(Serialize)]
struct Partial {
    name: &'static str,
    formula: String,
}

impl Row {
    fn new(info: &Info) -> Row {
        let flags = info.flags;
        let class = if !flags.first.contains(&true) {
            "constant between jumps"
        } else if !flags.second.contains(&true) && !flags.mixed.contains(&true) {
            "linear in each piece"
        } else {
            "nonlinear"
        };
        let partials = info.formulas().map(|(name, formula)| Partial { name, formula });
        Row {
            name: info.name,
            arguments: info.arity,
            partials: partials.collect(),
            class,
            domain: info.domain,
            ulps: info.ulps,
            singular: info.singular,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let infos = Opcode::ALL.iter().map(|op| op.info());
    let rows: Vec<Row> = match &arguments.operation {
        None => infos.map(Row::new).collect(),
        Some(name) => {
            let found = infos.clone().find(|info| info.name == name);
            vec![Row::new(found.ok_or_else(|| unknown(name))?)]
        }
    };
    let mut out = anstream::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &rows).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["operation", "arguments", "class", "ulps", "singular points"]);
    for row in &rows {
        table.add_row([
            row.name.to_string(),
            row.arguments.to_string(),
            row.class.to_string(),
            row.ulps.to_string(),
            row.singular.to_string(),
        ]);
    }
    writeln!(out, "{table}")?;
    if let ([row], Some(_)) = (&rows[..], &arguments.operation) {
        let dim = Style::new().dimmed();
        for partial in &row.partials {
            writeln!(out, "  {} = {}", partial.name, partial.formula)?;
        }
        writeln!(
            out,
            "{dim}  y, z or w after the last argument is the value; k(c) and r(c) are constants{dim:#}"
        )?;
    }
    Ok(())
}

fn unknown(name: &str) -> Failure {
    let near = |info: &&Info| info.name.contains(name) || name.contains(info.name);
    let candidates: Vec<&str> =
        Opcode::ALL.iter().map(|op| op.info()).filter(near).map(|info| info.name).collect();
    let hint = match &candidates[..] {
        [] => "`cotangent ops` lists all".to_string(),
        some => format!("did you mean {}?", some.join(", ")),
    };
    Failure::Input(format!("there is no operation `{name}`; {hint}"))
}
