//! The second half of the tour: functions as programs.
//!
//! One file for each section: what is computed, what it is checked against, how it is shown.

mod compiled;
mod looped;
mod normalised;
mod readings;
mod series;
mod traced;

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

use crate::Failure;

#[derive(Serialize)]
pub(super) struct Programs {
    traced: traced::Section,
    looped: looped::Section,
    normalised: normalised::Section,
    readings: readings::Section,
    series: series::Section,
    compiled: compiled::Section,
}

impl Programs {
    pub(super) fn new() -> Result<Programs, Failure> {
        Ok(Programs {
            traced: traced::Section::new()?,
            looped: looped::Section::new()?,
            normalised: normalised::Section::new()?,
            readings: readings::Section::new()?,
            series: series::Section::new()?,
            compiled: compiled::Section::new()?,
        })
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.traced.print(out)?;
        self.looped.print(out)?;
        self.normalised.print(out)?;
        self.readings.print(out)?;
        self.series.print(out)?;
        self.compiled.print(out)
    }
}

/// An error of a crate below.
fn failed(error: impl Display) -> Failure {
    Failure::Input(error.to_string())
}

/// The largest difference between numbers that must agree.
fn agree(what: &str, found: &[f64], expected: &[f64], tolerance: f64) -> Result<f64, Failure> {
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs() / (1.0 + b.abs()));
    let worst = differences.fold(0.0, f64::max);
    // Not a number is no agreement.
    if found.len() == expected.len() && worst <= tolerance {
        return Ok(worst);
    }
    Err(Failure::No(format!("{what}: {found:?}, but {expected:?} was expected")))
}
