//! One program, read in several ways.

use std::io::{self, Write};

use cotangent::Interval;
use cotangent_ir::{
    Contracted, Function, Hunted, cond, contract, count, hunt, jacobian_pattern,
    local_jacobian_pattern, map_over, trace, trace_arrays,
};
use cotangent_numbers::{Dual, Elementary};
use serde::Serialize;

use super::{agree, failed};
use crate::Failure;
use crate::tour::print::{code, remark, title};

fn program() -> Result<Function, Failure> {
    trace_arrays("f", &[&[4]], |x| {
        let x = x[0];
        // The tour shows the lines from here:
        map_over(0..3, |i| {
            let (a, b) = (x.at(i), x.at(i + 1));
            cond(a.greater(0.0), || a * b, || b.sqrt())
        })
        // to here.
    })
    .map_err(failed)
}

#[derive(Serialize)]
pub(super) struct Section {
    source: String,
    point: Vec<f64>,
    values: Vec<f64>,
    /// With the first number anywhere between −0.1 and 0.1.
    bounds: Vec<[f64; 2]>,
    /// Rows of the Jacobian's pattern, for all points and near the point.
    pattern: Vec<String>,
    local_pattern: Vec<String>,
    operations: String,
    not_a_number: String,
    /// The side of a box before and after: what is left where two curves meet.
    contracted: [[f64; 2]; 2],
    meets: f64,
}

impl Section {
    pub(super) fn new() -> Result<Section, Failure> {
        let f = program()?;
        let x = [0.5, 2.0, -1.0, 0.25];
        let values = f.run(&x).map_err(failed)?;
        agree("values", &values, &[1.0, -2.0, 0.5], 1e-15)?;
        let near: Vec<Interval> = (0..4)
            .map(|k| if k == 0 { Interval::new(-0.1, 0.1) } else { Interval::point(x[k]) })
            .collect();
        let bounds = f.run(&near).map_err(failed)?;
        for first in [-0.1, -0.01, 0.01, 0.1] {
            let inside = f.run(&[first, x[1], x[2], x[3]]).map_err(failed)?;
            if bounds.iter().zip(&inside).any(|(bound, y)| !bound.contains(*y)) {
                return Err(Failure::No(format!("{bounds:?} does not contain {inside:?}")));
            }
        }
        let global = jacobian_pattern(&f).map_err(failed)?;
        let local = local_jacobian_pattern(&f, &x).map_err(failed)?;
        // Partials that are not zero must be in both.
        for column in 0..4 {
            let moved: Vec<Dual<f64>> =
                (0..4).map(|k| Dual::new(x[k], [f64::from(u8::from(k == column))])).collect();
            for (row, y) in f.run(&moved).map_err(failed)?.iter().enumerate() {
                let missing = [&global, &local].iter().any(|p| !p.contains(row, column));
                if y.partials[0] != 0.0 && missing {
                    return Err(Failure::No(format!("({row}, {column}) is not in the pattern")));
                }
            }
        }
        let found = hunt(&f, &[0.5, -2.0, -1.0, 0.25], Hunted::Nan).map_err(failed)?;
        let found = found.ok_or_else(|| Failure::No("a NaN was not found".to_string()))?;
        let meet = trace("meet", 2, |x| vec![x[1] - (-x[0]).exp(), x[1] - x[0].powi(2)]);
        let before = Interval::new(0.0, 10.0);
        let mut sides = [before; 2];
        let on = [Interval::point(0.0); 2];
        let narrower = contract(&meet.map_err(failed)?, &mut sides, &on).map_err(failed)?;
        // Where the curves meet, by Newton's method.
        let mut meets = 1.0_f64;
        for _ in 0..20 {
            meets -= (meets * meets - (-meets).exp()) / (2.0 * meets + (-meets).exp());
        }
        let near = Interval::new(meets - 1e-15, meets + 1e-15);
        let holds = sides[0].low() <= near.high() && near.low() <= sides[0].high();
        if narrower != Contracted::Narrower || !holds {
            return Err(Failure::No(format!("{sides:?} does not contain {meets}")));
        }
        let ends = |i: Interval| [i.low(), i.high()];
        let rows = |text: String| text.lines().map(str::to_string).collect();
        let source = crate::tour::shown(include_str!("readings.rs"));
        let source = source.lines().map(|l| l.strip_prefix("        ").unwrap_or(l));
        Ok(Section {
            source: source.collect::<Vec<_>>().join("\n"),
            point: x.to_vec(),
            values,
            bounds: bounds.into_iter().map(ends).collect(),
            pattern: rows(global.to_string()),
            local_pattern: rows(local.to_string()),
            operations: count(&f, &x).map_err(failed)?.to_string(),
            not_a_number: found.to_string(),
            contracted: [ends(before), ends(sides[0])],
            meets,
        })
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        title(out, "One program, read in many ways")?;
        code(out, &self.source)?;
        writeln!(out, "  at {:?} it gives {:?}", self.point, self.values)?;
        let bounds: Vec<String> =
            self.bounds.iter().map(|[low, high]| format!("[{low:.3}, {high:.3}]")).collect();
        writeln!(out, "  with the first anywhere in [-0.1, 0.1]: {}", bounds.join(" "))?;
        remark(out, "the first branch is then undecided: both sides are followed and joined")?;
        writeln!(out, "  its Jacobian's pattern for all points, and near this one:")?;
        for (all, near) in self.pattern.iter().zip(&self.local_pattern) {
            writeln!(out, "    {all}    {near}")?;
        }
        writeln!(out, "  {}", self.operations)?;
        writeln!(out, "  at [0.5, -2.0, -1.0, 0.25]:")?;
        for line in self.not_a_number.lines() {
            writeln!(out, "    {line}")?;
        }
        let [[a, b], [low, high]] = self.contracted;
        code(out, "contract(&meet, &mut sides, &[0, 0])?   // y − exp(−x) = 0 and y − x² = 0")?;
        writeln!(
            out,
            "  of {a} ≤ x ≤ {b} is left {low:.9} ≤ x ≤ {high:.9}; Newton: {:.9}",
            self.meets
        )
    }
}
