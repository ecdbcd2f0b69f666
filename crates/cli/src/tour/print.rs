//! The tour as text.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};

use super::Tour;

const TITLE: Style = Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));
const CODE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
const PICTURE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));
const REMARK: Style = Style::new().dimmed();

pub(super) fn title(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "\n{TITLE}{text}{TITLE:#}")
}

pub(super) fn remark(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "{REMARK}  {text}{REMARK:#}")
}

pub(super) fn code(out: &mut impl Write, text: &str) -> io::Result<()> {
    for line in text.lines() {
        writeln!(out, "  {CODE}{line}{CODE:#}")?;
    }
    Ok(())
}

pub(super) fn numbers(numbers: &[f64]) -> String {
    numbers.iter().map(|v| format!("{v:>10.4}")).collect()
}

pub(super) fn print(tour: &Tour, out: &mut impl Write) -> io::Result<()> {
    title(out, "A function, written once")?;
    code(out, &tour.source)?;

    title(out, "Its value and gradient at a swinging chain of three beads")?;
    code(out, "value_and_gradient(&f, &Forward::default(), &x)?   // or Reverse, or Auto")?;
    let g = &tour.gradient;
    writeln!(out, "  x        {}", numbers(&tour.point))?;
    writeln!(out, "  f(x)     {}", numbers(&[tour.value]))?;
    writeln!(out, "  forward  {}", numbers(&g.forward))?;
    writeln!(out, "  reverse  {}", numbers(&g.reverse))?;
    writeln!(out, "  by hand  {}", numbers(&g.hand))?;
    remark(
        out,
        &format!(
            "{} ways to its derivatives agree; the worst for its method is off by {}",
            g.ways, g.worst
        ),
    )?;
    remark(out, &format!("Auto takes {}", g.auto[0]))?;
    remark(out, &format!("    but {}", g.auto[1]))?;

    title(out, "Its Hessian")?;
    code(out, "hessian(&f, &Auto, &x)?")?;
    for row in &tour.hessian {
        writeln!(out, "  {}", numbers(row))?;
    }

    title(out, "Its Taylor series: the last bead is pushed to the right by t")?;
    code(out, "taylor_along(&f, &x, &direction, 8)?")?;
    let t = &tour.taylor;
    for (k, c) in t.coefficients.iter().enumerate() {
        let (sign, power) = (if *c < 0.0 { "−" } else { "+" }, superscript(k));
        write!(out, "{}{sign} {:.4}{power}", if k % 5 == 0 { "\n  " } else { " " }, c.abs())?;
    }
    writeln!(out)?;
    remark(out, &format!("at t = {}: series {:.6}, function {:.6}", t.step, t.series, t.value))?;

    title(out, "Rigorous bounds: every coordinate may be off by a thousandth")?;
    code(out, "bounds(&f, &box)?; jacobian_bounds(&f, &box)?")?;
    let b = &tour.bounds;
    writeln!(out, "  {:>10.5} ≤ f ≤ {:.5}", b.value[0], b.value[1])?;
    for (i, [low, high]) in b.gradient.iter().enumerate() {
        writeln!(out, "  {low:>10.5} ≤ ∂f/∂x{} ≤ {high:.5}", subscript(i))?;
    }

    let s = &tour.sparsity;
    let share = 100.0 * s.nonzeros as f64 / (s.variables * s.variables) as f64;
    title(out, "Its sparse Hessian, for twenty beads")?;
    code(out, "sparse_hessian(&f, &Sparse::default(), &x)?; spy(&hessian_sparsity(&f, &x)?, 40)")?;
    for line in s.picture.lines() {
        writeln!(out, "  {PICTURE}{line}{PICTURE:#}")?;
    }
    let size = format!("{0} × {0}, {1} entries ({share:.0} %)", s.variables, s.nonzeros);
    let products = format!("its entries from {} products with vectors", s.products);
    remark(out, &format!("{size}, found without computing a derivative; {products}"))?;
    remark(out, &s.explained)?;

    title(out, "What the function does, and where it goes wrong")?;
    code(out, "operations(&f, &x)?; find_nan(&f, &x)?")?;
    let counts: Vec<String> =
        tour.operations.by_name.iter().map(|(name, count)| format!("{count} {name}")).collect();
    writeln!(out, "  {} operations: {}", tour.operations.total, counts.join(", "))?;
    let fault = &tour.not_a_number;
    writeln!(
        out,
        "  with the second bead flown off to 10²⁰⁰, `{}`\n    of    {}\n    gives {}\n    in    {}:{}",
        fault.operation,
        fault.operands.join("\n    and   "),
        fault.result,
        fault.file,
        fault.line
    )?;
    tour.programs.print(out)?;
    if !tour.times.is_empty() {
        times(tour, out)?;
    }
    writeln!(out)?;
    remark(out, "`cotangent ops` lists the operations; the crate's documentation has the rest.")
}

fn times(tour: &Tour, out: &mut impl Write) -> io::Result<()> {
    title(out, "Times, beside the gradient written by hand")?;
    let mut sizes: Vec<usize> = tour.times.iter().map(|t| t.variables).collect();
    sizes.dedup();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = vec!["".to_string(), "by".to_string()];
    header.extend(sizes.iter().map(|n| format!("{n} variables")));
    table.set_header(header);
    for first in tour.times.iter().filter(|t| t.variables == sizes[0]) {
        let mut row = vec![first.what.to_string(), first.how.to_string()];
        for time in tour.times.iter().filter(|t| (t.what, t.how) == (first.what, first.how)) {
            row.push(format!("{}  {:>6.1}×", duration(time.nanoseconds), time.ratio));
        }
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.to_string().lines() {
        writeln!(out, "  {line}")?;
    }
    remark(out, "the shortest of many runs; × is the ratio to the gradient written by hand")
}

fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        t if t < 1e3 => format!("{t:.0} ns"),
        t if t < 1e6 => format!("{:.1} µs", t / 1e3),
        t => format!("{:.1} ms", t / 1e6),
    }
}

/// The k-th power of t.
pub(super) fn superscript(k: usize) -> String {
    match k {
        0 => String::new(),
        1 => "·t".to_string(),
        _ => format!("·t{}", script(k, ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'])),
    }
}

fn subscript(i: usize) -> String {
    script(i, ['₀', '₁', '₂', '₃', '₄', '₅', '₆', '₇', '₈', '₉'])
}

fn script(n: usize, digits: [char; 10]) -> String {
    n.to_string().chars().filter_map(|c| digits.get(c.to_digit(10)? as usize)).collect()
}
