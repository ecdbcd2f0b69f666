//! Work that is done again and again is done once, and so in the gradient.

use std::io::{self, Write};

use cotangent_ir::{Function, map_over, sum_over, trace_arrays};
use cotangent_optimize::simplify;
use cotangent_transform::reverse;
use serde::Serialize;

use super::{agree, failed};
use crate::Failure;
use crate::tour::print::{code, remark, title};

fn program(n: usize) -> Result<Function, Failure> {
    trace_arrays("normalised", &[&[n]], |x| {
        let x = x[0];
        // The tour shows the lines from here:
        map_over(0..n, |i| {
            let length = sum_over(0..n, |j| x.at(j) * x.at(j)).sqrt();
            x.at(i) / length // the length, again for each i
        })
        // to here.
    })
    .map_err(failed)
}

#[derive(Serialize)]
pub(super) struct Section {
    source: String,
    sizes: Vec<Size>,
    /// The largest difference between cotangents and those by hand.
    error: f64,
}

/// What is to be done at one size, by the cost model.
#[derive(Serialize)]
struct Size {
    n: usize,
    written: f64,
    simplified: f64,
    /// Of the function and its cotangents.
    reverse: f64,
}

impl Section {
    pub(super) fn new() -> Result<Section, Failure> {
        let mut sizes = Vec::new();
        for n in [100, 10_000] {
            let f = program(n)?;
            let simple = simplify(&f);
            let backwards = simplify(&reverse(&simple)?);
            sizes.push(Size {
                n,
                written: f.cost().total(),
                simplified: simple.cost().total(),
                reverse: backwards.cost().total(),
            });
        }
        let n = 100;
        let x: Vec<f64> = (0..n).map(|i| (0.3 * f64::from(i)).sin()).collect();
        let w: Vec<f64> = (0..n).map(|i| (0.7 * f64::from(i)).cos()).collect();
        let backwards = simplify(&reverse(&simplify(&program(x.len())?))?);
        let found = backwards.run(&[&x[..], &w].concat()).map_err(failed)?.split_off(x.len());
        // With u = x/|x|: (w − u (u·w)) / |x|.
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let along = x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() / (length * length);
        let expected: Vec<f64> = x.iter().zip(&w).map(|(x, w)| (w - x * along) / length).collect();
        let error = agree("the cotangents of a normalised vector", &found, &expected, 1e-12)?;
        let source = crate::tour::shown(include_str!("normalised.rs"));
        let source = source.lines().map(|l| l.strip_prefix("        ").unwrap_or(l));
        Ok(Section { source: source.collect::<Vec<_>>().join("\n"), sizes, error })
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        title(out, "What is done again and again is done once")?;
        code(out, &self.source)?;
        code(out, "simplify(&f); simplify(&reverse(&simplify(&f))?)")?;
        writeln!(
            out,
            "  {:>8}{:>16}{:>16}{:>22}",
            "n", "as written", "simplified", "with cotangents"
        )?;
        for size in &self.sizes {
            let Size { n, written, simplified, reverse } = size;
            writeln!(out, "  {n:>8}{written:>16.0}{simplified:>16.0}{reverse:>22.0}")?;
        }
        remark(
            out,
            "costs in additions, by a model; the last two columns grow as n does, not as n²",
        )?;
        remark(out, &format!("the cotangents are off by {:.0e} from those by hand", self.error))
    }
}
