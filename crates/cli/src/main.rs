//! The `cotangent` command. One file for each verb.

mod build;
mod color;
mod doctor;
mod draw;
mod gradbench;
mod ops;
mod optimize;
mod program;
mod spy;
mod tour;

use std::process::ExitCode;

use anstream::eprintln;
use anstyle::{AnsiColor, Style};
use clap::{Parser, Subcommand};

/// Automatic differentiation of ordinary Rust.
#[derive(Parser)]
#[command(
    version,
    about,
    after_help = "Exit status: 0 fine, 1 the answer is no, 2 bad input.\n\
                  Colour follows the terminal, NO_COLOR and CLICOLOR_FORCE."
)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// A function and all that cotangent makes of it, then functions as programs
    Tour(tour::Arguments),
    /// Colourings of a sparse matrix: how few products find all its entries
    Color(color::Arguments),
    /// A picture of a sparse matrix, in the terminal or as a file
    Spy(spy::Arguments),
    /// A program in text (.ct): checked and printed, or as a picture
    Show(program::Show),
    /// The derivative of a program, as a program
    Diff(program::Diff),
    /// A program made simpler, by rules and a cost model
    Opt(optimize::Arguments),
    /// A program at a point
    Run(program::Run),
    /// A program and its derivatives as a library for C and Rust
    Build(build::Arguments),
    /// What was found on this machine: libLLVM, the processor, the width of vectors
    Doctor(doctor::Arguments),
    /// The tool of `GradBench`: its protocol, JSON lines on standard input and output
    #[command(long_about = gradbench::HELP)]
    Gradbench,
    /// The table of elementary operations: partials, classes, accuracy, singular points
    Ops(ops::Arguments),
}

/// Why a command could not do what it was asked for.
#[derive(Debug)]
enum Failure {
    /// What was asked for makes no sense.
    Input(String),
    /// The same, with the place in the text drawn.
    Drawn(String),
    /// It was computed, and the answer is no.
    No(String),
    /// Nobody reads the output any more.
    Closed,
}

impl From<cotangent::Error> for Failure {
    fn from(error: cotangent::Error) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Input(format!("the output could not be written: {error}")),
        }
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().verb {
        Verb::Tour(arguments) => tour::run(&arguments),
        Verb::Color(arguments) => color::run(&arguments),
        Verb::Spy(arguments) => spy::run(&arguments),
        Verb::Show(arguments) => program::show(&arguments),
        Verb::Diff(arguments) => program::diff(&arguments),
        Verb::Opt(arguments) => optimize::run(&arguments),
        Verb::Run(arguments) => program::run(&arguments),
        Verb::Build(arguments) => build::run(&arguments),
        Verb::Doctor(arguments) => doctor::run(&arguments),
        Verb::Gradbench => gradbench::serve(std::io::stdin().lock(), std::io::stdout().lock())
            .map_err(Failure::from),
        Verb::Ops(arguments) => ops::run(&arguments),
    };
    let (message, code) = match outcome {
        Ok(()) | Err(Failure::Closed) => return ExitCode::SUCCESS,
        Err(Failure::No(message)) => (message, 1),
        Err(Failure::Input(message)) => (message, 2),
        Err(Failure::Drawn(report)) => {
            #[allow(clippy::print_stderr, reason = "this is what a command says when it fails")]
            {
                eprintln!("{}", report.trim_end());
            }
            return ExitCode::from(2);
        }
    };
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    #[allow(clippy::print_stderr, reason = "this is what a command says when it fails")]
    {
        eprintln!("{red}error:{red:#} {message}");
    }
    ExitCode::from(code)
}
