//! A recorded function, the programs that are derived from it, and what runs them.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use cotangent_ir as ir;
use cotangent_jit::{Compiled as Machine, JitError, Options, Workspace};
use cotangent_optimize::{reroll, simplify};
use cotangent_transform as transform;
use crossbeam_utils::atomic::AtomicCell;
use rustc_hash::FxHashSet;

use super::BLOCK;
use super::sparse::SparseEngine;
use crate::error::check_size;
use crate::{Error, Real};

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
pub(crate) struct Recordings<T: Real> {
    /// How many parameters move, from the first on; the others are constants.
    moving: usize,
    /// The first, for which nothing is locked: most functions have no other.
    pub(crate) first: Recording<T>,
    more: RwLock<Vec<Arc<Recording<T>>>>,
}

/// Records a function anew, where none of the recordings goes.
pub(crate) type Anew<'a> = &'a dyn Fn() -> Result<ir::Function, Error>;

/// How a recording is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Its machine code, if it goes this way there.
    Engine,
    /// The interpreter on doubles, as it was recorded, which decides.
    Interpreter,
}

impl<T: Real> Recordings<T> {
    pub(crate) fn new(program: &ir::Function, moving: usize) -> Self {
        let first = Recording::new(program, moving, true);
        Recordings { moving, first, more: RwLock::default() }
    }

    /// The same computed in other numbers; what is compiled is compiled anew.
    pub(super) fn of<U: Real>(self) -> Recordings<U> {
        let Recording { program, flat, moving, rolls, .. } = self.first;
        let first = Recording::of(program, flat, moving, rolls);
        Recordings { moving: self.moving, first, more: RwLock::default() }
    }

    /// The same with operations as they were recorded.
    pub(super) fn in_recorded_order(self) -> Self {
        let program = self.first.flat.as_ref().unwrap_or(&self.first.program);
        let first = Recording::new(program, self.moving, false);
        Recordings { first, more: RwLock::default(), ..self }
    }

    pub(crate) fn len(&self) -> usize {
        1 + self.more.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Tries something on the way through the branches that goes there. `attempt` gives nothing where a recording goes another
    /// way.
    pub(crate) fn on<R>(
        &self,
        anew: Option<Anew<'_>>,
        mut attempt: impl FnMut(&Recording<T>, By) -> Result<Option<R>, Error>,
    ) -> Result<R, Error> {
        if let Some(found) = attempt(&self.first, By::Engine)? {
            return Ok(found);
        }
        let other =
            "a branch goes another way here than where the function was recorded; use `compile_at`";
        let other = || Error::Compiled(other.to_string());
        let anew = anew.ok_or_else(other)?;
        let list = || self.more.read().unwrap_or_else(PoisonError::into_inner);
        let mut tried = 0;
        loop {
            while let Some(recording) = { list().get(tried).cloned() } {
                if let Some(found) = attempt(&recording, By::Engine)? {
                    return Ok(found);
                }
                tried += 1;
            }
            let new = Recording::new(&anew()?, self.moving, self.first.rolls);
            // Just where a branch turns, and machine code rounds to the other side: what recorded it decides.
            if self.first.program == new.program {
                return attempt(&self.first, By::Interpreter)?.ok_or_else(other);
            }
            let same = list().iter().find(|known| known.program == new.program).cloned();
            if let Some(recording) = same {
                return attempt(&recording, By::Interpreter)?.ok_or_else(other);
            }
            let mut list = self.more.write().unwrap_or_else(PoisonError::into_inner);
            // Somebody else may have come first.
            if list.len() == tried {
                list.push(Arc::new(new));
            }
        }
    }

    /// Runs what computes something, on the way through the branches that goes there.
    pub(crate) fn run(
        &self,
        kind: Kind,
        x: &[&[T]],
        out: &mut [&mut [T]],
        anew: Option<Anew<'_>>,
    ) -> Result<(), Error> {
        self.on(anew, |recording, by| {
            let ran = match by {
                By::Engine => recording.engine(kind)?.run(x, out)?,
                By::Interpreter => in_doubles(&recording.decided(kind)?, x, out)?,
            };
            Ok(ran.then_some(()))
        })
    }
}

/// One way through the branches of a function. Its programs are of doubles; what runs is made of numbers T.
pub(crate) struct Recording<T: Real> {
    pub(crate) program: ir::Function,
    /// As it was recorded, where the program has kernels instead.
    pub(super) flat: Option<ir::Function>,
    moving: usize,
    /// Whether what repeats itself becomes kernels.
    pub(super) rolls: bool,
    /// How many numbers each parameter that moves has, and each result.
    pub(super) columns: Vec<usize>,
    pub(super) results: Vec<usize>,
    engines: [OnceLock<Result<Engine<T>, Error>>; KINDS],
    pub(super) sparse: [OnceLock<Result<SparseEngine<T>, Error>>; 2],
    /// Whether dense matrices are less work by way of their entries.
    pub(super) by_entries: [OnceLock<bool>; 2],
    /// Entries on their way into matrices, points on their way into blocks.
    pub(super) spare: Spare<Vec<T>>,
}

impl<T: Real> Recording<T> {
    /// A program, of which the first parameters move; as kernels, if it is flat and repeats itself, and if that is wanted.
    fn new(program: &ir::Function, moving: usize, rolls: bool) -> Self {
        let mut program = simplify(program);
        let (mut flat, mut moving) = (None, moving.min(program.params().len()));
        if rolls && let Some(rolled) = reroll(&program, moving, &[]) {
            flat = Some(std::mem::replace(&mut program, simplify(&rolled)));
            // Those that move are one array now.
            moving = moving.min(1);
        }
        Recording::of(program, flat, moving, rolls)
    }

    fn of(program: ir::Function, flat: Option<ir::Function>, moving: usize, rolls: bool) -> Self {
        let len = |ty: ir::Type| ty.len().unwrap_or(0);
        Recording {
            columns: program.params()[..moving].iter().map(|p| len(p.ty)).collect(),
            results: program.results().iter().map(|v| len(program.ty(*v))).collect(),
            program,
            flat,
            moving,
            rolls,
            engines: Default::default(),
            sparse: Default::default(),
            by_entries: Default::default(),
            spare: Spare::default(),
        }
    }

    /// The parameters that move.
    pub(super) fn moving(&self) -> &[ir::Param] {
        &self.program.params()[..self.moving]
    }

    /// The program that computes something.
    pub(crate) fn derived(&self, kind: Kind) -> Result<ir::Function, Error> {
        match self.written_out(kind) {
            Some(small) => Ok(small),
            None => self.in_arrays(kind),
        }
    }

    /// The same with parameters and results as the program has them.
    pub(super) fn in_arrays(&self, kind: Kind) -> Result<ir::Function, Error> {
        derived_from(&self.program, self.moving().len(), kind)
    }

    /// The same by the operations that were recorded, in their order: what they say of a branch is what the recording saw.
    pub(super) fn decided(&self, kind: Kind) -> Result<ir::Function, Error> {
        match &self.flat {
            Some(flat) => derived_from(flat, self.columns.iter().sum(), kind),
            None => self.derived(kind),
        }
    }

    pub(crate) fn engine(&self, kind: Kind) -> Result<&Engine<T>, Error> {
        let made = self.engines[kind as usize].get_or_init(|| Ok(Engine::new(self.derived(kind)?)));
        made.as_ref().map_err(Clone::clone)
    }
}

/// The program that computes something of another one, whose first parameters move.
fn derived_from(f: &ir::Function, moving: usize, kind: Kind) -> Result<ir::Function, Error> {
    let names: FxHashSet<&str> = f.params().iter().take(moving).map(|p| p.name.as_str()).collect();
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

/// A program of doubles in the numbers T. It goes to singles last of all: what is known has been computed in doubles, and is
/// rounded once.
pub(super) fn in_numbers<T: Real>(program: ir::Function) -> ir::Function {
    if T::ELEMENT == ir::Element::F32 { program.in_singles() } else { program }
}

/// A program that can be run on lists of T.
pub(crate) enum Engine<T> {
    Machine(Machine, Spare<Workspace>),
    Interpreter(ir::Function, PhantomData<T>),
}

/// Memory that nobody uses at the moment: one that is had without a lock, and others.
pub(crate) struct Spare<T> {
    one: AtomicCell<Option<Box<T>>>,
    more: Mutex<Vec<Box<T>>>,
}

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Spare { one: AtomicCell::new(None), more: Mutex::default() }
    }
}

impl<T> Spare<T> {
    /// What was given back last, or what is made anew.
    pub(super) fn take(&self, new: impl FnOnce() -> T) -> Box<T> {
        let more = || self.more.lock().unwrap_or_else(PoisonError::into_inner).pop();
        self.one.take().or_else(more).unwrap_or_else(|| Box::new(new()))
    }

    pub(super) fn give(&self, used: Box<T>) {
        if let Some(other) = self.one.swap(Some(used)) {
            self.more.lock().unwrap_or_else(PoisonError::into_inner).push(other);
        }
    }
}

impl<T: Real> Spare<Vec<T>> {
    /// So many zeros.
    #[allow(
        clippy::box_collection,
        reason = "in its box it is taken and given back without a lock"
    )]
    pub(super) fn zeros(&self, len: usize) -> Box<Vec<T>> {
        let mut list = self.take(Vec::new);
        list.clear();
        list.resize(len, T::zero());
        list
    }
}

impl<T: Real> Engine<T> {
    /// What runs a program of doubles.
    pub(super) fn new(program: ir::Function) -> Self {
        let program = in_numbers::<T>(program);
        match Machine::new(&program, &Options::default()) {
            Ok(machine) => Engine::Machine(machine, Spare::default()),
            Err(why) => {
                said(&why);
                Engine::Interpreter(program, PhantomData)
            }
        }
    }

    /// Whether a branch would go another way is not an error here.
    pub(crate) fn run(&self, x: &[&[T]], out: &mut [&mut [T]]) -> Result<bool, Error> {
        match self {
            Engine::Machine(machine, spare) => {
                // Taking a workspace and giving it back is two exchanges between processors: as long as a short program.
                if machine.run_alone(x, out) {
                    return Ok(true);
                }
                let mut workspace = spare.take(|| machine.workspace());
                let outcome = machine.run_guarded(x, out, &mut workspace);
                spare.give(workspace);
                outcome.map_err(|error| Error::Compiled(error.to_string()))
            }
            Engine::Interpreter(program, _) => taken(T::interpreted(program, &x.concat()), out),
        }
    }
}

/// Runs a program on doubles, whatever is given, without machine code; whether its branches go this way.
pub(super) fn in_doubles<T: Real>(
    program: &ir::Function,
    x: &[&[T]],
    out: &mut [&mut [T]],
) -> Result<bool, Error> {
    let x: Vec<f64> = x.iter().flat_map(|x| x.iter()).map(|x| (*x).into()).collect();
    taken(program.run(&x), out)
}

/// Takes what the interpreter gave; whether the branches went this way.
fn taken<S: Real, T: Real>(
    outcome: Result<Vec<S>, ir::RunError>,
    out: &mut [&mut [T]],
) -> Result<bool, Error> {
    let found = match outcome {
        Err(ir::RunError::Guard { .. }) => return Ok(false),
        outcome => outcome.map_err(|error| Error::Compiled(error.to_string()))?,
    };
    let places = out.iter().map(|to| to.len()).sum();
    check_size(
        "the results",
        found.len(),
        places,
        "a truth value has no derivative; leave it out",
    )?;
    let places = out.iter_mut().flat_map(|to| to.iter_mut());
    places.zip(&found).for_each(|(to, found)| *to = T::nearest((*found).into()));
    Ok(true)
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
