//! A recorded function, the programs that are derived from it, and what runs them.

use std::sync::{Mutex, OnceLock, PoisonError};

use cotangent_ir as ir;
use cotangent_jit::{Compiled as Machine, JitError, Options, Workspace};
use cotangent_optimize::simplify;
use cotangent_transform as transform;

use super::BLOCK;
use crate::Error;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Value,
    Gradient,
    Jacobian,
    Hessian,
    Pushforward,
    Pullback,
    Hvp,
    Values,
    Gradients,
}

const KINDS: usize = 9;

/// One way through the branches of a function.
pub(super) struct Recording {
    pub(super) program: ir::Function,
    engines: [OnceLock<Result<Engine, Error>>; KINDS],
}

impl Recording {
    pub(super) fn new(program: ir::Function) -> Recording {
        Recording { program, engines: Default::default() }
    }

    /// The program that computes something.
    pub(super) fn derived(&self, kind: Kind) -> Result<ir::Function, Error> {
        let f = &self.program;
        let derived = match kind {
            // It is simplified already.
            Kind::Value => return Ok(f.clone()),
            Kind::Gradient => transform::gradient(f),
            Kind::Jacobian => transform::jacobian(f),
            Kind::Hessian => transform::hessian(f),
            Kind::Pushforward => transform::linearize(f),
            Kind::Pullback => transform::reverse(f),
            Kind::Hvp => transform::gradient(f).and_then(|g| transform::linearize(&simplify(&g))),
            Kind::Values => transform::batch(f, ir::Dim::Size(BLOCK), |_| true),
            Kind::Gradients => transform::gradient(f)
                .and_then(|g| transform::batch(&simplify(&g), ir::Dim::Size(BLOCK), |_| true)),
        };
        let program = derived.map_err(|e| Error::Compiled(e.to_string()))?;
        Ok(simplify(&program))
    }

    pub(super) fn engine(&self, kind: Kind) -> Result<&Engine, Error> {
        let made = self.engines[kind as usize].get_or_init(|| Ok(Engine::new(self.derived(kind)?)));
        made.as_ref().map_err(Clone::clone)
    }
}

/// A program that can be run.
pub(super) enum Engine {
    /// Machine code, and workspaces that nobody uses at the moment.
    Machine(Machine, Mutex<Vec<Workspace>>),
    Interpreter(ir::Function),
}

impl Engine {
    fn new(program: ir::Function) -> Engine {
        match Machine::new(&program, &Options::default()) {
            Ok(machine) => Engine::Machine(machine, Mutex::new(Vec::new())),
            Err(why) => {
                said(&why);
                Engine::Interpreter(program)
            }
        }
    }

    /// Whether a branch would go another way is not an error here.
    pub(super) fn run(&self, x: &[&[f64]], out: &mut [&mut [f64]]) -> Result<bool, Error> {
        let outcome = match self {
            Engine::Machine(machine, spare) => {
                let unused = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let mut workspace = unused.unwrap_or_else(|| machine.workspace());
                let outcome = machine.run_guarded(x, out, &mut workspace);
                spare.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
                outcome
            }
            Engine::Interpreter(program) => match interpret(program, x, out) {
                Err(ir::RunError::Guard { .. }) => Ok(false),
                outcome => outcome.map(|()| true),
            },
        };
        outcome.map_err(|error| Error::Compiled(error.to_string()))
    }
}

/// Runs a program without machine code.
pub(super) fn interpret(
    program: &ir::Function,
    x: &[&[f64]],
    out: &mut [&mut [f64]],
) -> Result<(), ir::RunError> {
    let found = program.run(&x.concat())?;
    let mut rest = &found[..];
    for to in out {
        let (own, after) = rest.split_at(to.len());
        to.copy_from_slice(own);
        rest = after;
    }
    Ok(())
}

/// Says once that there is no machine code, and why.
fn said(why: &JitError) {
    static ONCE: OnceLock<()> = OnceLock::new();
    if matches!(why, JitError::NoLlvm(_)) {
        ONCE.get_or_init(|| tracing::warn!("programs are interpreted: {why}"));
    } else {
        tracing::info!("a program is interpreted: {why}");
    }
}
