//! Checks of derivatives against each other.

use std::fmt;

use cotangent_numbers::fault;
use cotangent_ops::Primitive;

use crate::backend::{
    Backend, FiniteDifferences, Forward, Reverse, SecondOrder, SecondOrderBackend,
};
use crate::error::Error;
use crate::function::{Arity, Differentiable};
use crate::operator::sizes;
use crate::point::{Point, Sizes};

/// How one way to compute derivatives compares to the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What was computed, and how.
    pub what: String,
    /// The row and column of the worst entry.
    pub worst: (usize, usize),
    /// The worst entry.
    pub found: f64,
    /// The reference's entry there.
    pub expected: f64,
    /// The error of the worst entry, relative to the largest entry of its row, or to a thousandth of
    /// the value if that is more.
    pub error: f64,
    /// The error that is still right for this method.
    pub tolerance: f64,
}

impl Comparison {
    /// Whether the worst entry is right.
    pub fn passes(&self) -> bool {
        self.error <= self.tolerance
    }

    fn new(
        what: impl Into<String>,
        found: &[f64],
        expected: &[f64],
        values: &[f64],
        tolerance: f64,
    ) -> Comparison {
        let rows = values.len();
        let mut comparison = Comparison {
            what: what.into(),
            worst: (0, 0),
            found: found.first().copied().unwrap_or(0.0),
            expected: expected.first().copied().unwrap_or(0.0),
            error: 0.0,
            tolerance,
        };
        for (k, (a, b)) in found.iter().zip(expected).enumerate() {
            let (i, j) = (k % rows, k / rows);
            let row = expected.iter().skip(i).step_by(rows).filter(|v| v.is_finite());
            // A derivative that is zero by cancellation is as exact as the value lets it be.
            let floor = (1e-3 * values[i].abs()).max(1e-300);
            let scale = row.fold(floor, |m: f64, v| m.max(v.abs()));
            let same = a == b || (a.is_nan() && b.is_nan());
            let error = if same { 0.0 } else { (a - b).abs() / scale };
            if error > comparison.error || error.is_nan() {
                comparison.worst = (i, j);
                (comparison.found, comparison.expected) = (*a, *b);
                comparison.error = if error.is_nan() { f64::INFINITY } else { error };
            }
        }
        comparison
    }
}

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What the others were compared to.
    pub reference: String,
    /// The comparisons.
    pub comparisons: Vec<Comparison>,
}

impl Report {
    /// Whether all are right.
    pub fn passes(&self) -> bool {
        self.comparisons.iter().all(Comparison::passes)
    }

    /// The comparison with the largest error for its tolerance.
    pub fn worst(&self) -> Option<&Comparison> {
        let ratio = |c: &Comparison| c.error / c.tolerance;
        self.comparisons.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "compared to {}:", self.reference)?;
        for c in &self.comparisons {
            let verdict = if c.passes() { "ok" } else { "WRONG" };
            let (row, column) = c.worst;
            write!(f, "  {verdict:5}  {:<40} worst error {:.1e}", c.what, c.error)?;
            if c.error > 0.0 {
                write!(f, " at ({row}, {column}): {:e} for {:e}", c.found, c.expected)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Errors that rounding explains, and those of finite differences.
const EXACT: f64 = 1e-9;
const DIFFERENCES: f64 = 1e-4;

/// Compares the Jacobian, and of a function of one output the Hessian, by all backends.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::check_derivatives;
///
/// let f = function!(|x: &[S]| -> S { x[0].sin() * x[1].exp() });
/// let report = check_derivatives(&f, &[0.3, 0.7])?;
/// assert!(report.passes(), "{report}");
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// A failed comparison means a kink or jump at the point, a function that is not the same at each
/// call, a wrong rule of your own, or a bug here.
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn check_derivatives<'a, F: Differentiable>(
    f: &F,
    at: impl Into<Point<'a, f64>>,
) -> Result<Report, Error> {
    let at = at.into();
    let sizes = sizes(f, at)?;
    let first = jacobian(f, &Forward::default(), sizes, at)?;
    let values = crate::evaluate(f, at)?;
    let mut comparisons = Vec::new();
    let mut compare = |what: &str, found: Vec<f64>, tolerance: f64| {
        comparisons.push(Comparison::new(what, &found, &first, &values, tolerance));
    };
    let single = Forward { chunk: Some(1) };
    compare("Jacobian, forward mode, one direction", jacobian(f, &single, sizes, at)?, EXACT);
    compare("Jacobian, reverse mode", jacobian(f, &Reverse::default(), sizes, at)?, EXACT);
    let replay = Reverse { replay: true };
    compare("Jacobian, reverse mode, replayed", jacobian(f, &replay, sizes, at)?, EXACT);
    let richardson = FiniteDifferences::richardson();
    compare("Jacobian, finite differences", jacobian(f, &richardson, sizes, at)?, DIFFERENCES);
    let second = F::Output::ONE.then(|| hessian(f, &Forward::default(), sizes, at));
    // A rule of first order has no Hessian to compare.
    let first_order = matches!(&second, Some(Err(e)) if e.is_without_second_order());
    if let Some(second) = second.filter(|_| !first_order) {
        let second = second?;
        let values = vec![values[0]; sizes.inputs];
        let mut compare = |what: &str, found: Vec<f64>, tolerance: f64| {
            comparisons.push(Comparison::new(what, &found, &second, &values, tolerance));
        };
        let (forward, reverse) = (Forward::default(), Reverse::default());
        macro_rules! combination {
            ($what:literal, $outer:expr, $inner:expr, $tolerance:expr) => {
                let backend = SecondOrder { outer: $outer, inner: $inner };
                compare(concat!("Hessian, ", $what), hessian(f, &backend, sizes, at)?, $tolerance);
            };
        }
        combination!("forward over forward", forward, forward, EXACT);
        combination!("forward over reverse", forward, reverse, EXACT);
        combination!("reverse over forward", reverse, forward, EXACT);
        combination!("reverse over reverse", reverse, reverse, EXACT);
        combination!("differences of reverse", richardson, reverse, DIFFERENCES);
    }
    Ok(Report { reference: "forward mode".to_string(), comparisons })
}

fn jacobian<F: Differentiable, B: Backend>(
    f: &F,
    backend: &B,
    sizes: Sizes,
    at: Point<'_, f64>,
) -> Result<Vec<f64>, Error> {
    use crate::backend::Engine;
    let engine = backend.engine(f, sizes, at)?;
    let (mut y, mut j) = (vec![0.0; sizes.outputs], vec![0.0; sizes.outputs * sizes.inputs]);
    engine.jacobian(at, &mut y, &mut j, &mut Engine::<f64>::workspace(&engine))?;
    Ok(j)
}

fn hessian<F: Differentiable, B: SecondOrderBackend>(
    f: &F,
    backend: &B,
    sizes: Sizes,
    at: Point<'_, f64>,
) -> Result<Vec<f64>, Error> {
    use crate::backend::SecondOrderEngine;
    let engine = backend.second_order(f, sizes, at)?;
    let (mut g, mut h) = (vec![0.0; sizes.inputs], vec![0.0; sizes.inputs * sizes.inputs]);
    engine.hessian(at, &mut g, &mut h, &mut SecondOrderEngine::<f64>::workspace(&engine))?;
    Ok(h)
}

/// Checks the rules of an array operation against finite differences of its value, and against each
/// other by the adjoint identity ⟨w, J·v⟩ = ⟨Jᵀ·w, v⟩.
///
/// # Errors
/// NaN in the point, and what the rules raised.
pub fn check_rule<P: Primitive>(rule: &P, outputs: usize, x: &[f64]) -> Result<Report, Error> {
    crate::point::check_numbers("the point", x)?;
    let (n, m) = (x.len(), outputs);
    fault::catch(|| {
        let mut y = vec![0.0; m];
        let saved = rule.value_and_save(x, &mut y);
        let mut expected = vec![0.0; m * n];
        let method = FiniteDifferences::richardson();
        let mut room = crate::backend::Differences::new(m);
        for j in 0..n {
            let value = |t: f64, y: &mut [f64]| {
                let mut moved = x.to_vec();
                moved[j] += t;
                rule.value(&moved, y);
            };
            let scale = x[j].abs().max(1.0);
            let column = &mut expected[j * m..(j + 1) * m];
            crate::backend::differentiate(&method, scale, &mut room, value, column);
        }
        let mut columns = vec![0.0; m * n];
        for j in 0..n {
            let mut unit = vec![0.0; n];
            unit[j] = 1.0;
            rule.pushforward(x, &y, &unit, &mut columns[j * m..(j + 1) * m]);
        }
        let mut rows = vec![0.0; m * n];
        for i in 0..m {
            let (mut unit, mut row) = (vec![0.0; m], vec![0.0; n]);
            unit[i] = 1.0;
            rule.pullback(x, &y, &saved, &unit, &mut row);
            for (j, v) in row.into_iter().enumerate() {
                rows[i + j * m] = v;
            }
        }
        let comparisons = vec![
            Comparison::new("pushforward", &columns, &expected, &y, DIFFERENCES),
            Comparison::new("pullback", &rows, &expected, &y, DIFFERENCES),
            Comparison::new("pullback against pushforward", &rows, &columns, &y, EXACT),
        ];
        Report { reference: format!("differences of `{}`", rule.name()), comparisons }
    })
    .map_err(Error::from)
}
