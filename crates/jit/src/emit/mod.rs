//! From a function to LLVM's text.
//!
//! A function becomes straight text with explicit loops and explicit vectors: the points of a kernel are the lanes of
//! vectors. What is the same for all lanes stays a scalar, indices that go up by the same step from lane to lane stay
//! a scalar and a step, so that elements side by side are read as one vector. Arrays stand in an arena whose places are
//! decided here, once, by when they are used last.

mod accumulate;
mod arena;
mod borders;
mod carries;
mod chains;
mod classify;
mod control;
mod cost;
mod counted;
mod dense;
mod early;
mod elements;
mod elementwise;
mod failure;
mod growing;
mod kernels;
mod known;
mod lines;
mod math;
mod memory;
mod parts;
mod reduce;
mod scalar;
mod short;
mod stream;
mod tasks;
mod text;
mod tiles;
mod turned;
mod uses;
mod value;
mod watch;

use std::collections::BTreeMap;

use cotangent_ir::ranges::{Range, range};
use cotangent_ir::{Element, Function, Op, Structure, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{JitError, Options};
use arena::Arena;
pub(crate) use cost::is_cheap;
pub(crate) use failure::Failure;
pub(crate) use kernels::is_read_at_points;
use text::Text;
use uses::{destinations, last_uses, last_uses_of};
pub(crate) use value::llvm_type;
use value::{Array, Base, Val};

/// The text of a program, and what is needed to run it.
#[derive(Debug)]
pub(crate) struct Emitted {
    /// In modules that are compiled one beside the other; the last has the function `run`.
    pub(crate) modules: Vec<String>,
    /// Bytes of scratch memory.
    pub(crate) arena: usize,
    /// Where in the arena memory that grows is noted.
    pub(crate) stacks: Vec<usize>,
    /// Whether all parameters are one argument, one behind the other, and all results another.
    pub(crate) packed: bool,
    /// Whether kernels are called.
    pub(crate) kernels: bool,
    /// Whether threads share tables.
    pub(crate) shared: bool,
    /// What a status other than 0 means: its number less one.
    pub(crate) failures: Vec<Failure>,
    /// By result: whether a NaN in it, where there should be none, has stopped the run already.
    pub(crate) watched: Vec<bool>,
}

type Result<T> = std::result::Result<T, JitError>;

/// The lanes that text is written for.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    /// How many there are; 1 is no vector at all.
    pub(super) width: usize,
    /// Which of them count; all, if there is none.
    pub(super) mask: Option<String>,
}

impl Lanes {
    fn none() -> Lanes {
        Lanes { width: 1, mask: None }
    }
}

/// The most calls of elementary functions that are written out: of those that are done once, and where there are loops. (A network
/// of six layers, 75 calls in a loop and the loop back: 12.2 ms instead of 14.4, for 140 ms more in LLVM. Where they stand side by
/// side, what tanh and its slope have in common is computed once, and constants stay in registers.)
const INLINED: (usize, usize) = (12, 100);

/// The most lines of a function in the text. Longer ones take LLVM more than their share of time, and run slower.
const PART: usize = 400;

const PARAMS: &str = "ptr noalias %args, ptr noalias align 64 %arena";

/// Of a function that reads pointers into the arena from the arena.
const SHARED: &str = "ptr noalias %args, ptr align 64 %arena";

/// The most elements of an array, as in the interpreter.
const ENTRIES: usize = 1 << 28;

/// The most bytes of memory that is planned.
const ARENA: usize = 1 << 37;

/// A status is returned by every function; 0 is fine. More rounds than this is no end.
pub(super) const ROUNDS: i64 = 100_000_000;

pub(super) struct Emitter<'o> {
    options: &'o Options,
    /// Whether products and sums may be rounded once.
    contracts: bool,
    /// Sums that loops go on with, by the body they stand in.
    chains: FxHashSet<chains::Sum>,
    /// Indices that are less than the number of rounds of a loop, with that, by the body they stand in.
    counts: FxHashMap<(*const Function, Value), String>,
    /// Whether comparisons of marked numbers stop the run if one is NaN.
    marked: bool,
    /// The result whose vectors begin where lines do, and go past the caches.
    streaming: Option<Base>,
    /// Where rows of a long result are gathered.
    lines: Option<lines::Lines>,
    /// Results that are looked at while they are written.
    watched: Vec<Value>,
    /// Functions that are done: one for each part of a long program.
    done: Vec<String>,
    /// Bytes of a vector register.
    vector_bytes: usize,
    packed: bool,
    text: Text,
    next: usize,
    arena: Arena,
    /// Functions that threads run.
    tasks: Vec<String>,
    /// Where in the arena the memory of tasks is noted.
    pool: Option<usize>,
    /// Whether a pointer that is kept in the arena is read in this part of a long program.
    recalled: bool,
    /// How many kernels are around.
    nested: usize,
    stacks: Vec<usize>,
    /// Whether kernels of others are called.
    kernels: bool,
    failures: Vec<Failure>,
    /// Whether sums at several points are written together here.
    tiled: bool,
    /// Which of several accumulators a step of a loop adds to.
    copy: usize,
    /// Which of several additions of an accumulation is written, of how many, and how many there were.
    only: Option<(usize, usize, usize)>,
    fails: FxHashMap<usize, String>,
    declared: BTreeMap<String, String>,
    tables: String,
    functions: BTreeMap<String, String>,
    /// How often functions are called: few calls are written out where they stand.
    calls: usize,
    table_names: FxHashMap<Vec<u8>, String>,
}

/// The values of a function while its text is written.
struct Frame<'f> {
    f: &'f Function,
    values: Vec<Option<Val>>,
    parts: FxHashMap<Value, Vec<Option<Val>>>,
    last: Vec<Option<Value>>,
    all_parts: FxHashMap<Value, Vec<Option<Value>>>,
    ranges: Vec<Range>,
    /// Which results a value is.
    result_of: FxHashMap<Value, Vec<usize>>,
    /// The parameters of a long program: numbers are read where they are used.
    origins: Vec<Val>,
    /// The values of a long program that somebody may still need.
    open: Vec<Value>,
    /// Where values of a long program are kept from part to part.
    kept: FxHashMap<Value, usize>,
    /// Whether it is a long program, which is written in parts.
    long: bool,
    /// Whether it is the program itself.
    top: bool,
    /// Where a value is to stand, if somebody has asked for it.
    dests: FxHashMap<Value, Array>,
}

/// Writes a function whose dimensions are all known; all in one module, if it is to be together. With marks, a comparison of a
/// number that is marked (`keep`) stops the run where it is NaN.
pub(crate) fn emit(
    f: &Function,
    options: &Options,
    vector_bytes: usize,
    together: bool,
    marked: bool,
) -> Result<Emitted> {
    let mut e = Emitter {
        options,
        contracts: options.contract,
        chains: FxHashSet::default(),
        counts: FxHashMap::default(),
        marked,
        streaming: None,
        lines: None,
        watched: Vec::new(),
        done: Vec::new(),
        vector_bytes,
        packed: is_packed(f),
        text: Text::default(),
        next: 0,
        arena: Arena::default(),
        tasks: Vec::new(),
        pool: None,
        recalled: false,
        nested: 0,
        stacks: Vec::new(),
        kernels: false,
        failures: Vec::new(),
        tiled: false,
        copy: 0,
        only: None,
        fails: FxHashMap::default(),
        declared: BTreeMap::new(),
        tables: String::new(),
        functions: BTreeMap::new(),
        calls: 0,
        table_names: FxHashMap::default(),
    };
    let watched = e.function(f)?;
    if e.arena.size() > ARENA {
        return Err(JitError::Unsupported(format!(
            "@{}, which takes {} bytes",
            f.name(),
            e.arena.size()
        )));
    }
    let shared = !e.tasks.is_empty();
    Ok(Emitted {
        modules: if together { vec![e.one_module()] } else { e.modules() },
        arena: e.arena.size(),
        stacks: e.stacks.into_iter().chain(e.pool).collect(),
        packed: e.packed,
        kernels: e.kernels,
        shared,
        failures: e.failures,
        watched,
    })
}

impl Emitter<'_> {
    /// Writes the program; which results are looked at while they are written.
    fn function(&mut self, f: &Function) -> Result<Vec<bool>> {
        let mut args = Vec::new();
        let cx = Lanes::none();
        let mut at = 0;
        for (k, param) in f.params().iter().enumerate() {
            let len = self.known(param.ty)?;
            let base = if self.packed { Base::Arg(0, at) } else { Base::Arg(k, 0) };
            at += len * param.ty.element().bytes();
            let array = Array::new(base, param.ty, len);
            args.push(match param.ty.is_scalar() && f.values().len() <= PART {
                true => self.load(&array, &Val::int(0), &cx),
                false => Val::Array(array),
            });
        }
        let count = f.params().len();
        let mut outs = Vec::new();
        at = 0;
        for (k, result) in f.results().iter().enumerate() {
            let ty = f.ty(*result);
            let len = self.known(ty)?;
            let base = if self.packed { Base::Arg(1, at) } else { Base::Arg(count + k, 0) };
            at += len * ty.element().bytes();
            outs.push(self.outside(base, ty, len));
        }
        let ranges = vec![None; count];
        let results = self.body(f, args, &cx, ranges, &outs)?;
        // What stands in the memory of another result goes first: that is about to be written.
        let mut saved = Vec::with_capacity(results.len());
        for (result, out) in results.into_iter().zip(&outs) {
            saved.push(match &result {
                Val::Array(array) if self.is_outside(array) && array.base != out.base => {
                    let to = self.allocate(array.ty, array.len, false, 1);
                    self.copy(array, &to, &cx);
                    self.release(result);
                    Val::Array(to)
                }
                _ => result,
            });
        }
        let mut watched = Vec::with_capacity(outs.len());
        for (k, (result, out)) in saved.into_iter().zip(&outs).enumerate() {
            let here = matches!(&result, Val::Array(array) if array.base == out.base);
            watched.push(here && self.watched.contains(&f.results()[k]));
            match &result {
                Val::Array(_) if here => {}
                Val::Array(array) => self.copy(array, out, &cx),
                scalar => self.store(out, &Val::int(0), scalar, &cx),
            }
            self.release(result);
        }
        self.close();
        Ok(watched)
    }

    /// The results of a body. References to what the arguments stand in are taken over, those of the results handed on.
    fn body(
        &mut self,
        f: &Function,
        args: Vec<Val>,
        cx: &Lanes,
        ranges: Vec<Range>,
        outs: &[Array],
    ) -> Result<Vec<Val>> {
        let wanted: Vec<Option<Array>> = outs.iter().cloned().map(Some).collect();
        self.body_after(f, args, cx, ranges, (outs, &wanted), &[])
    }

    /// The same with results where somebody wants them, if that can be.
    fn body_into(
        &mut self,
        f: &Function,
        args: Vec<Val>,
        cx: &Lanes,
        ranges: Vec<Range>,
        wanted: &[Option<Array>],
    ) -> Result<Vec<Val>> {
        self.body_after(f, args, cx, ranges, (&[], wanted), &[])
    }

    /// The same where some scalars have been written before.
    fn body_after(
        &mut self,
        f: &Function,
        args: Vec<Val>,
        cx: &Lanes,
        ranges: Vec<Range>,
        (outs, wanted): (&[Array], &[Option<Array>]),
        early: &[Option<Val>],
    ) -> Result<Vec<Val>> {
        // Only the program itself has memory of others for its results.
        let top = !outs.is_empty();
        let mut frame = Frame { top, ..Frame::of(f, ranges, wanted) };
        let long = top && f.values().len() > PART;
        if long {
            frame.long = true;
            frame.last = last_uses_of(f, |v| f.ty(v).is_scalar());
            frame.origins = args.clone();
        }
        let mut args: Vec<Option<Val>> = args.into_iter().map(Some).collect();
        for value in f.values() {
            if let Op::Param(k) = f.op(value) {
                frame.values[value.index()] = args[k as usize].take();
            }
        }
        // Parameters that are not used.
        args.into_iter().flatten().for_each(|val| self.release(val));
        for value in f.values() {
            if let Some(val) = early.get(value.index()).cloned().flatten() {
                frame.values[value.index()] = Some(val);
                self.forget(&mut frame, value);
                continue;
            }
            if long {
                if self.text.lines > PART && self.stacks.is_empty() && !frame.has_parts() {
                    self.cut(&mut frame);
                }
                frame.open.push(value);
                f.operands(value).for_each(|operand| self.recall(&mut frame, operand));
            }
            match f.op(value) {
                Op::Param(_) => {}
                Op::Structure(_) => self.structure(&mut frame, value, cx)?,
                Op::Part(k) => {
                    let whole = f.operand(value, 0);
                    let part = frame.parts.get_mut(&whole).and_then(|p| p[k as usize].take());
                    let mut part = part.ok_or_else(|| internal("a part is missing"))?;
                    // The stack of one part of a long program is not that of the next.
                    if let (true, Val::Array(array)) = (long, &part)
                        && matches!(array.base, Base::Pointer(_))
                        && array.block.is_none()
                        && array.rows.is_none()
                    {
                        let to = self.allocate(array.ty, array.len, false, 1);
                        self.copy(array, &to, cx);
                        part = Val::Array(to);
                    }
                    frame.values[value.index()] = Some(part);
                }
                _ => {
                    let val = self.operation(&mut frame, value, cx)?;
                    frame.values[value.index()] = Some(val);
                }
            }
            if long {
                self.deliver(&mut frame, value, outs, cx)?;
            }
            if !matches!(f.op(value), Op::Part(_)) {
                self.forget(&mut frame, value);
            }
        }
        for (k, guard) in f.guards().iter().enumerate() {
            self.recall(&mut frame, guard.condition);
            let condition = frame.get(guard.condition)?.clone();
            let function = f.name().to_string();
            let failure = Failure::Guard { function, guard: k };
            self.require(&condition, guard.expected, failure, cx);
        }
        let mut results = Vec::with_capacity(f.results().len());
        for (k, result) in f.results().iter().enumerate() {
            if long && f.ty(*result).is_scalar() {
                let out = Val::Array(outs[k].clone());
                self.retain(&out);
                results.push(out);
                continue;
            }
            self.recall(&mut frame, *result);
            let val = frame.get(*result)?.clone();
            self.retain(&val);
            results.push(val);
        }
        for val in frame.values.into_iter().flatten() {
            self.release(val);
        }
        for val in frame.parts.into_values().flatten().flatten() {
            self.release(val);
        }
        Ok(results)
    }

    /// Operands that are used no more give their memory back.
    fn forget(&mut self, frame: &mut Frame<'_>, value: Value) {
        let operands: Vec<Value> = frame.f.operands(value).collect();
        for operand in operands {
            if frame.last[operand.index()] == Some(value)
                && let Some(val) = frame.values[operand.index()].take()
            {
                self.release(val);
            }
        }
        // What nobody uses.
        if frame.last[value.index()] == Some(value)
            && let Some(val) = frame.values[value.index()].take()
        {
            self.release(val);
        }
    }

    /// Whether a value is used for the last time by another.
    fn dies(frame: &Frame<'_>, value: Value, user: Value) -> bool {
        frame.last[value.index()] == Some(user)
            && frame.f.operands(user).filter(|v| *v == value).count() == 1
    }

    fn structure(&mut self, frame: &mut Frame<'_>, value: Value, cx: &Lanes) -> Result<()> {
        let f = frame.f;
        let Some(structure) = f.structure(value) else { return Err(internal("no structure")) };
        let operands: Vec<Value> = f.operands(value).collect();
        let parts = match structure {
            Structure::Tab { dims, body } => {
                match self.product(frame, value, (dims, body), &operands, cx)? {
                    Some(parts) => parts,
                    None => self.tab(frame, value, dims, body, &operands, cx)?,
                }
            }
            Structure::Red { dims, reducer, body } => {
                self.red(frame, value, dims, *reducer, body, &operands, cx)?
            }
            Structure::Acc { dims, targets, body } => {
                self.acc(frame, value, dims, *targets, body, &operands, cx)?
            }
            Structure::For { carries, body } => {
                self.for_loop(frame, value, *carries, body, &operands, cx)?
            }
            Structure::While { carries, condition, body } => {
                self.while_loop(frame, value, *carries, condition, body, &operands, cx)?
            }
            Structure::If { yes, no } => self.branch(frame, value, yes, no, &operands, cx)?,
            Structure::Call { function } => {
                match self.library_call(frame, value, function, &operands, cx)? {
                    Some(parts) => parts,
                    None => {
                        let args = self.handed(frame, &operands)?;
                        let ranges = operands.iter().map(|v| range(f, *v, &frame.ranges)).collect();
                        self.body(function, args, cx, ranges, &[])?
                    }
                }
            }
            Structure::Derive(derive) => {
                return Err(JitError::Unsupported(format!(
                    "`{}` that has not been lowered",
                    derive.mode.name()
                )));
            }
        };
        frame.parts.insert(value, parts.into_iter().map(Some).collect());
        Ok(())
    }

    /// Operands as arguments of a body, each with a reference of its own.
    fn handed(&mut self, frame: &Frame<'_>, operands: &[Value]) -> Result<Vec<Val>> {
        let mut args = Vec::with_capacity(operands.len());
        for operand in operands {
            let val = frame.get(*operand)?.clone();
            self.retain(&val);
            args.push(val);
        }
        Ok(args)
    }

    /// How many elements a type has.
    pub(super) fn known(&self, ty: Type) -> Result<usize> {
        let len = ty.len().filter(|len| *len <= ENTRIES);
        len.ok_or_else(|| {
            JitError::Unsupported(format!(
                "an array of type {ty}, whose size is not known before it runs or too large"
            ))
        })
    }
}

impl<'f> Frame<'f> {
    fn of(f: &'f Function, ranges: Vec<Range>, wanted: &[Option<Array>]) -> Frame<'f> {
        Frame {
            f,
            values: vec![None; f.len()],
            parts: FxHashMap::default(),
            last: last_uses(f),
            all_parts: f.all_parts(),
            ranges,
            result_of: FxHashMap::default(),
            origins: Vec::new(),
            open: Vec::new(),
            kept: FxHashMap::default(),
            long: false,
            top: false,
            dests: destinations(f, wanted),
        }
    }
}

impl Frame<'_> {
    fn get(&self, value: Value) -> Result<&Val> {
        self.values[value.index()]
            .as_ref()
            .ok_or_else(|| internal("a value is used after its last use"))
    }
}

/// Many pointers cost more than they say: many numbers of one kind come in one argument.
fn is_packed(f: &Function) -> bool {
    let results = f.results().iter().map(|v| f.ty(*v));
    let mut types = f.params().iter().map(|p| p.ty).chain(results);
    let first = types.next().map(Type::element);
    f.params().len() + f.results().len() > 12
        && first.is_some_and(Element::is_float)
        && types.all(|ty| Some(ty.element()) == first)
}

fn internal(what: &str) -> JitError {
    JitError::Internal(what.to_string())
}
