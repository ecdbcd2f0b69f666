//! `cotangent color`: colourings of the pattern in a Matrix Market file.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, presets};
use cotangent::coloring::{
    Coloring, ColoringError, Cost, Costs, Decompression, Greedy, Order, Pattern, Problem, Ties,
    check_coloring, read_matrix_market,
};
use serde::Serialize;

use crate::Failure;

/// What to colour, and how.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cotangent color jacobian.mtx\n  \
    cotangent color hessian.mtx.gz --structure symmetric --decompression substitution --order all --verify\n  \
    cotangent color jacobian.mtx --partition auto --costs 1,3 --threads 4 --json")]
pub(crate) struct Arguments {
    /// A Matrix Market file, plain or gzip.
    file: PathBuf,
    /// Whether the matrix counts as symmetric.
    #[arg(long, value_enum, default_value_t = Structure::Nonsymmetric)]
    structure: Structure,
    /// What is coloured (columns of a symmetric matrix).
    #[arg(long, value_enum, default_value_t = Partition::Column)]
    partition: Partition,
    /// How entries are found from products (symmetric and bidirectional).
    #[arg(long, value_enum, default_value_t = How::Direct)]
    decompression: How,
    /// The orders to try, separated by commas: natural, random, largest-first, smallest-last,
    /// incidence-degree, dynamic-largest-first, increasing-degree, perfect-elimination, all.
    #[arg(long, default_value = "natural", value_delimiter = ',')]
    order: Vec<String>,
    /// Make colours neutral that no entry is read from.
    #[arg(long)]
    postprocess: bool,
    /// Break ties in orders as ColPack does.
    #[arg(long)]
    colpack: bool,
    /// Colour on so many threads: large patterns are then coloured in blocks, with the same colours for
    /// any number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// What products with the matrix and with its transpose cost: the best colouring costs least.
    #[arg(long, value_name = "JVP,VJP", value_delimiter = ',', default_values_t = [1.0, 1.0])]
    costs: Vec<f64>,
    /// Check every colouring, slowly, by its definition.
    #[arg(long)]
    verify: bool,
    /// One JSON object for each colouring instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Structure {
    Nonsymmetric,
    Symmetric,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Partition {
    Column,
    Row,
    Bidirectional,
    Auto,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum How {
    Direct,
    Substitution,
}

/// A colouring that was tried.
#[derive(Serialize)]
struct Tried {
    rows: usize,
    cols: usize,
    nnz: usize,
    structure: &'static str,
    partition: &'static str,
    decompression: &'static str,
    order: String,
    colors: Colors,
    seconds: Seconds,
    verified: Option<bool>,
    best: bool,
    #[serde(skip)]
    cost: f64,
    #[serde(skip)]
    reason: String,
}

#[derive(Serialize)]
struct Colors {
    row: usize,
    column: usize,
    total: usize,
}

#[derive(Serialize)]
struct Seconds {
    read: f64,
    order: f64,
    color: f64,
}

fn orders(names: &[String]) -> Result<Vec<Order>, Failure> {
    let mut orders = Vec::new();
    let known = || Order::ALL.into_iter().chain([Order::Random(1), Order::PerfectElimination]);
    for name in names {
        if name == "all" {
            orders.extend(Order::ALL);
        } else {
            let found = known().find(|order| order.name() == name);
            orders.push(found.ok_or_else(|| {
                let names: Vec<&str> = known().map(|order| order.name()).collect();
                Failure::Input(format!(
                    "there is no order `{name}`; choose from {}, all",
                    names.join(", ")
                ))
            })?);
        }
    }
    Ok(orders)
}

fn problems(arguments: &Arguments) -> Result<Vec<Problem>, Failure> {
    let decompression = match arguments.decompression {
        How::Direct => Decompression::Direct,
        How::Substitution => Decompression::Substitution,
    };
    Ok(match (arguments.structure, arguments.partition) {
        (Structure::Symmetric, Partition::Column) => vec![Problem::Symmetric(decompression)],
        (Structure::Symmetric, Partition::Auto) => {
            vec![
                Problem::Symmetric(Decompression::Direct),
                Problem::Symmetric(Decompression::Substitution),
                Problem::Column,
            ]
        }
        (Structure::Symmetric, _) => {
            return Err(Failure::Input(
                "a symmetric matrix is coloured by columns; leave out --partition, or say \
                 --structure nonsymmetric"
                    .to_string(),
            ));
        }
        (_, Partition::Column) => vec![Problem::Column],
        (_, Partition::Row) => vec![Problem::Row],
        (_, Partition::Bidirectional) => vec![Problem::Bidirectional(decompression)],
        (_, Partition::Auto) => {
            vec![Problem::Column, Problem::Row, Problem::Bidirectional(decompression)]
        }
    })
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let start = Instant::now();
    let market = read_matrix_market(&arguments.file).map_err(|e| Failure::Input(e.to_string()))?;
    let read = start.elapsed().as_secs_f64();
    let pattern = market.pattern;
    let orders = orders(&arguments.order)?;
    let problems = problems(arguments)?;
    let costs = costs(arguments)?;
    let all = || -> Result<Vec<(Tried, Coloring)>, Failure> {
        let ways = problems.iter().flat_map(|p| orders.iter().map(move |order| (*p, order)));
        ways.map(|(problem, order)| one(arguments, &pattern, problem, order, read, &costs))
            .collect()
    };
    let mut tried = match arguments.threads {
        None => all()?,
        Some(threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build();
            let refused =
                |e| Failure::Input(format!("{threads} threads could not be started: {e}"));
            pool.map_err(refused)?.install(all)?
        }
    };
    // The first of equal ones.
    let least = tried.iter().map(|(t, _)| t.cost).fold(f64::INFINITY, f64::min);
    if let Some((first, _)) = tried.iter_mut().find(|(t, _)| t.cost == least) {
        first.best = true;
    }
    let mut out = anstream::stdout().lock();
    if arguments.json {
        for (tried, _) in &tried {
            let line = serde_json::to_string(tried).map_err(std::io::Error::from)?;
            writeln!(out, "{line}")?;
        }
    } else {
        print(&tried, &pattern, &mut out)?;
    }
    match tried.iter().find(|(t, _)| t.verified == Some(false)) {
        Some((wrong, _)) => Err(Failure::No(wrong.reason.clone())),
        None => Ok(()),
    }
}

fn costs(arguments: &Arguments) -> Result<Costs, Failure> {
    let cost = |value: &f64| Some(Cost::each(*value));
    match &arguments.costs[..] {
        [jvp, vjp] if [jvp, vjp].iter().all(|c| c.is_finite() && **c > 0.0) => {
            Ok(Costs { jvp: cost(jvp), vjp: cost(vjp), hvp: None })
        }
        _ => Err(Failure::Input("costs are two positive numbers, such as --costs 1,3".into())),
    }
}

fn one(
    arguments: &Arguments,
    pattern: &Pattern,
    problem: Problem,
    order: &Order,
    read: f64,
    costs: &Costs,
) -> Result<(Tried, Coloring), Failure> {
    let greedy = Greedy {
        ties: if arguments.colpack { Ties::ColPack } else { Ties::Oldest },
        postprocess: arguments.postprocess,
        parallel: arguments.threads.is_some(),
        ..Greedy::default()
    };
    let input = |error: ColoringError| Failure::Input(error.to_string());
    let start = Instant::now();
    let permutation = greedy.permutation(pattern, problem, order).map_err(input)?;
    let ordered = start.elapsed().as_secs_f64();
    let greedy = Greedy { orders: vec![Order::Given(permutation)], ..greedy };
    let start = Instant::now();
    let coloring = greedy.color(pattern, problem).map_err(input)?;
    let color = start.elapsed().as_secs_f64();
    let checked = arguments.verify.then(|| check_coloring(pattern, &coloring));
    let (partition, decompression) = match problem {
        Problem::Column => ("column", "direct"),
        Problem::Row => ("row", "direct"),
        Problem::Symmetric(d) => ("column", name(d)),
        Problem::Bidirectional(d) => ("bidirectional", name(d)),
    };
    let symmetric = matches!(problem, Problem::Symmetric(_));
    let tried = Tried {
        rows: pattern.nrows(),
        cols: pattern.ncols(),
        nnz: pattern.nnz(),
        structure: if symmetric { "symmetric" } else { "nonsymmetric" },
        partition,
        decompression,
        order: order.to_string(),
        colors: Colors {
            row: coloring.row_count(),
            column: coloring.column_count(),
            total: coloring.count(),
        },
        seconds: Seconds { read, order: ordered, color },
        verified: checked.as_ref().map(Result::is_ok),
        best: false,
        cost: costs.total(coloring.column_count(), coloring.row_count()),
        reason: checked.and_then(Result::err).map_or(String::new(), |e| e.to_string()),
    };
    Ok((tried, coloring))
}

fn name(decompression: Decompression) -> &'static str {
    match decompression {
        Decompression::Direct => "direct",
        Decompression::Substitution => "substitution",
    }
}

fn print(
    tried: &[(Tried, Coloring)],
    pattern: &Pattern,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "partition",
        "decompression",
        "order",
        "row",
        "column",
        "total",
        "ms",
        "checked",
        "",
    ]);
    for (t, _) in tried {
        table.add_row([
            t.partition.to_string(),
            t.decompression.to_string(),
            t.order.clone(),
            t.colors.row.to_string(),
            t.colors.column.to_string(),
            t.colors.total.to_string(),
            format!("{:.2}", 1e3 * (t.seconds.order + t.seconds.color)),
            t.verified.map_or("", |ok| if ok { "ok" } else { "WRONG" }).to_string(),
            if t.best { "best" } else { "" }.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(3).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{} × {}, {} entries", pattern.nrows(), pattern.ncols(), pattern.nnz())?;
    writeln!(out, "{table}")?;
    if let Some((_, best)) = tried.iter().find(|(t, _)| t.best) {
        writeln!(out)?;
        crate::spy::draw(pattern, Some(best), out)?;
    }
    Ok(())
}

/// The style that stands for a colour: six, then again; the first is plain for what has none.
pub(crate) fn style(color: u32) -> Style {
    let palette = [
        AnsiColor::Red,
        AnsiColor::Green,
        AnsiColor::Yellow,
        AnsiColor::Blue,
        AnsiColor::Magenta,
        AnsiColor::Cyan,
    ];
    match color {
        0 => Style::new().dimmed(),
        color => {
            let ansi = palette[(color as usize - 1) % palette.len()];
            Style::new().fg_color(Some(anstyle::Color::Ansi(ansi)))
        }
    }
}
