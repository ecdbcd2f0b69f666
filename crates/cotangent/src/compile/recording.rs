//! A recorded function, the programs that are derived from it, and what runs them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use cotangent_ir as ir;
use cotangent_jit::{Compiled as Machine, JitError, Options, Workspace};
use cotangent_optimize::{reroll, simplify};
use cotangent_transform as transform;
use rustc_hash::FxHashSet;

use super::BLOCK;
use crate::Error;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Value,
    Gradient,
    Jacobian,
    Hessian,
    Pushforward,
    Pullback,
    Hvp,
    /// Outputs, their first and second derivatives, among others: of one input.
    Second,
    Values,
    Gradients,
}

const KINDS: usize = 10;

/// The ways through the branches of a function that have been recorded.
pub(crate) struct Recordings {
    /// How many parameters move, from the first on; the others are constants.
    moving: usize,
    list: RwLock<Vec<Arc<Recording>>>,
}

/// Records a function anew, where none of the recordings goes.
pub(crate) type Anew<'a> = &'a dyn Fn() -> Result<ir::Function, Error>;

impl Recordings {
    pub(crate) fn new(program: &ir::Function, moving: usize) -> Recordings {
        let first = Recording::new(program, moving);
        Recordings { moving, list: RwLock::new(vec![Arc::new(first)]) }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(crate) fn get(&self, k: usize) -> Option<Arc<Recording>> {
        self.list.read().unwrap_or_else(PoisonError::into_inner).get(k).cloned()
    }

    /// Runs what computes something, on the way through the branches that goes there.
    pub(crate) fn run(
        &self,
        kind: Kind,
        x: &[&[f64]],
        out: &mut [&mut [f64]],
        anew: Option<Anew<'_>>,
    ) -> Result<(), Error> {
        let mut tried = 0;
        loop {
            while let Some(recording) = self.get(tried) {
                if recording.engine(kind)?.run(x, out)? {
                    return Ok(());
                }
                tried += 1;
            }
            let Some(anew) = anew else {
                let what = "a branch goes another way here than where the function was recorded; use `compile_at`";
                return Err(Error::Compiled(what.to_string()));
            };
            let new = Recording::new(&anew()?, self.moving);
            let same = {
                let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
                list.iter().find(|known| known.program == new.program).cloned()
            };
            if let Some(recording) = same {
                // Just where a branch turns, and machine code rounds to the other side: what recorded it decides.
                let found = interpret(&recording.derived(kind)?, x, out);
                return found.map_err(|error| Error::Compiled(error.to_string()));
            }
            let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
            // Somebody else may have come first.
            if list.len() == tried {
                list.push(Arc::new(new));
            }
        }
    }
}

/// One way through the branches of a function.
pub(crate) struct Recording {
    pub(crate) program: ir::Function,
    moving: usize,
    engines: [OnceLock<Result<Engine, Error>>; KINDS],
}

impl Recording {
    /// A program, of which the first parameters move; as kernels, if it is flat and repeats itself.
    fn new(program: &ir::Function, moving: usize) -> Recording {
        let program = simplify(program);
        let engines = Default::default();
        match reroll(&program, moving) {
            // Those that move are one array now.
            Some(rolled) => {
                Recording { program: simplify(&rolled), moving: moving.min(1), engines }
            }
            None => Recording { program, moving, engines },
        }
    }

    /// The program that computes something.
    pub(crate) fn derived(&self, kind: Kind) -> Result<ir::Function, Error> {
        let f = &self.program;
        let names: FxHashSet<&str> =
            f.params().iter().take(self.moving).map(|p| p.name.as_str()).collect();
        let moves = |p: &ir::Param| names.contains(p.name.as_str());
        let derived = match kind {
            // It is simplified already.
            Kind::Value => return Ok(f.clone()),
            Kind::Gradient => transform::gradient_to(f, moves),
            Kind::Jacobian => transform::jacobian_to(f, moves),
            Kind::Hessian => transform::hessian_to(f, moves),
            Kind::Pushforward => transform::linearize_to(f, moves),
            Kind::Pullback => transform::reverse_to(f, moves),
            Kind::Hvp => transform::gradient_to(f, moves)
                .and_then(|g| transform::linearize_to(&simplify(&g), moves)),
            Kind::Second => transform::jacobian_to(f, moves)
                .and_then(|g| transform::jacobian_to(&simplify(&g), moves)),
            Kind::Values => transform::batch(f, ir::Dim::Size(BLOCK), |_| true),
            Kind::Gradients => transform::gradient_to(f, moves)
                .and_then(|g| transform::batch(&simplify(&g), ir::Dim::Size(BLOCK), |_| true)),
        };
        let program = derived.map_err(|e| Error::Compiled(e.to_string()))?;
        Ok(simplify(&program))
    }

    pub(crate) fn engine(&self, kind: Kind) -> Result<&Engine, Error> {
        let made = self.engines[kind as usize].get_or_init(|| Ok(Engine::new(self.derived(kind)?)));
        made.as_ref().map_err(Clone::clone)
    }
}

/// A program that can be run.
pub(crate) enum Engine {
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
    pub(crate) fn run(&self, x: &[&[f64]], out: &mut [&mut [f64]]) -> Result<bool, Error> {
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
fn interpret(
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
