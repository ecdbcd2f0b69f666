//! From a function to LLVM's text.
//!
//! A function becomes straight text with explicit loops and explicit vectors: the points of a kernel are the lanes of
//! vectors. What is the same for all lanes stays a scalar, indices that go up by the same step from lane to lane stay
//! a scalar and a step, so that elements side by side are read as one vector. Arrays stand in an arena whose places are
//! decided here, once, by when they are used last.

mod accumulate;
mod arena;
mod classify;
mod control;
mod elementwise;
mod kernels;
mod math;
mod memory;
mod scalar;
mod value;

use std::collections::BTreeMap;
use std::fmt::{Arguments, Write as _};

use cotangent_ir::ranges::{Range, range};
use cotangent_ir::{Element, Function, Op, Structure, Type, Value};
use rustc_hash::FxHashMap;

use crate::{JitError, Options};
use arena::Arena;
pub(crate) use value::llvm_type;
use value::{Array, Base, Val};

/// The text of a program, and what is needed to run it.
#[derive(Debug)]
pub(crate) struct Emitted {
    pub(crate) text: String,
    /// Bytes of scratch memory.
    pub(crate) arena: usize,
    /// Where in the arena memory that grows is noted.
    pub(crate) stacks: Vec<usize>,
    /// Whether all parameters are one argument, one behind the other, and all results another.
    pub(crate) packed: bool,
    /// What a status other than 0 means: its number less one.
    pub(crate) failures: Vec<Failure>,
}

/// Why a run stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An index outside an array.
    Index { function: String, dimension: usize, ty: Type },
    /// A guard that came out otherwise.
    Guard { function: String, guard: usize },
    /// A loop that does not end.
    Endless { function: String },
    /// Anything else.
    Other { function: String, what: String },
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

/// The most calls of elementary functions that are written out.
const INLINED: usize = 12;

/// The most lines of a function in the text. Longer ones take LLVM more than their share of time, and run slower.
const PART: usize = 400;

const PARAMS: &str = "ptr noalias %args, ptr noalias align 64 %arena";

/// A status is returned by every function; 0 is fine. More rounds than this is no end.
pub(super) const ROUNDS: i64 = 100_000_000;

/// What a function of the text is written into.
#[derive(Default)]
struct Text {
    /// Lines of code.
    lines: usize,
    /// Stack places and pointers, before all else.
    entry: String,
    code: String,
    /// Arguments whose pointers have been loaded.
    pointers: FxHashMap<usize, String>,
}

pub(super) struct Emitter<'o> {
    options: &'o Options,
    /// Functions that are done: one for each part of a long program.
    done: Vec<String>,
    /// Bytes of a vector register.
    vector_bytes: usize,
    packed: bool,
    text: Text,
    next: usize,
    arena: Arena,
    stacks: Vec<usize>,
    failures: Vec<Failure>,
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
    /// Where values of a long program are kept from part to part.
    kept: FxHashMap<Value, usize>,
    /// Where a value is to stand, if somebody has asked for it.
    dests: FxHashMap<Value, Array>,
}

/// Writes a function whose dimensions are all known.
pub(crate) fn emit(f: &Function, options: &Options, vector_bytes: usize) -> Result<Emitted> {
    let mut e = Emitter {
        options,
        done: Vec::new(),
        vector_bytes,
        packed: is_packed(f),
        text: Text::default(),
        next: 0,
        arena: Arena::default(),
        stacks: Vec::new(),
        failures: Vec::new(),
        copy: 0,
        only: None,
        fails: FxHashMap::default(),
        declared: BTreeMap::new(),
        tables: String::new(),
        functions: BTreeMap::new(),
        calls: 0,
        table_names: FxHashMap::default(),
    };
    e.function(f)?;
    let width = vector_bytes * 8;
    let mut text = String::new();
    let _ = writeln!(text, "{}", e.tables);
    for part in &e.done {
        text += part;
    }
    text += &e.whole();
    for function in e.functions.values() {
        let _ = writeln!(text, "{function}");
    }
    for declaration in e.declared.values() {
        let _ = writeln!(text, "{declaration}");
    }
    let inline = if e.calls <= INLINED { "alwaysinline" } else { "noinline" };
    let _ = writeln!(
        text,
        "attributes #1 = {{ nounwind {inline} \"no-builtins\" \"min-legal-vector-width\"=\"{width}\" \
         \"prefer-vector-width\"=\"{width}\" }}\n!0 = !{{!\"branch_weights\", i32 1, i32 10000}}"
    );
    let _ = writeln!(
        text,
        "attributes #0 = {{ nounwind \"no-builtins\" \"min-legal-vector-width\"=\"{width}\" \
         \"prefer-vector-width\"=\"{width}\" }}"
    );
    Ok(Emitted {
        text,
        arena: e.arena.size(),
        stacks: e.stacks,
        packed: e.packed,
        failures: e.failures,
    })
}

impl Emitter<'_> {
    fn function(&mut self, f: &Function) -> Result<()> {
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
        for (result, out) in saved.into_iter().zip(&outs) {
            match &result {
                Val::Array(array) if array.base == out.base => {}
                Val::Array(array) => self.copy(array, out, &cx),
                scalar => self.store(out, &Val::int(0), scalar, &cx),
            }
            self.release(result);
        }
        self.close();
        Ok(())
    }

    /// The function that runs the parts one after the other.
    fn whole(&self) -> String {
        let mut text = format!("define i64 @run({PARAMS}) #0 {{\nentry:\n");
        if let [_] = &self.done[..] {
            let _ = writeln!(
                text,
                "  %s = tail call i64 @part0(ptr %args, ptr %arena)\n  ret i64 %s\n}}"
            );
            return text;
        }
        for k in 0..self.done.len() {
            let _ = writeln!(text, "  %s{k} = call i64 @part{k}(ptr %args, ptr %arena)");
            let _ = writeln!(text, "  %c{k} = icmp eq i64 %s{k}, 0");
            let _ = writeln!(text, "  br i1 %c{k}, label %go{k}, label %stop{k}");
            let _ = writeln!(text, "stop{k}:\n  ret i64 %s{k}\ngo{k}:");
        }
        text += "  ret i64 0\n}\n";
        text
    }

    /// Ends a function: what it goes to when something is wrong.
    fn close(&mut self) {
        self.line(format_args!("ret i64 0"));
        let mut fails: Vec<(usize, String)> = self.fails.drain().collect();
        fails.sort();
        for (code, label) in fails {
            self.label(&label);
            self.line(format_args!("ret i64 {}", code + 1));
        }
        let text = std::mem::take(&mut self.text);
        self.done.push(format!(
            "define internal i64 @part{}({PARAMS}) #0 {{\nentry:\n{}  br label %start\nstart:\n{}}}\n",
            self.done.len(),
            text.entry,
            text.code
        ));
    }

    /// Ends a part of a long program: what the next parts need is kept in memory.
    fn cut(&mut self, frame: &mut Frame<'_>) {
        let mut new: Vec<Value> = Vec::new();
        for value in frame.f.values() {
            if let Op::Param(k) = frame.f.op(value)
                && frame.values[value.index()].is_some()
            {
                frame.values[value.index()] = Some(frame.origins[k as usize].clone());
                continue;
            }
            match &frame.values[value.index()] {
                Some(Val::One(text)) if !value::is_constant(text) => new.push(value),
                Some(Val::Array(Array { base: Base::Pointer(_), .. })) => new.push(value),
                _ => {}
            }
        }
        let fresh = new.iter().filter(|v| !frame.kept.contains_key(v)).count();
        let room = self.allocate(Type::I64, fresh.max(1), false, 1);
        let mut at = match room.base {
            Base::Arena(at) => at,
            _ => 0,
        };
        for value in new {
            let Some(val) = frame.values[value.index()].clone() else { continue };
            let place = match frame.kept.get(&value) {
                Some(place) => *place,
                None => {
                    let pointer = self.op(format_args!("getelementptr i8, ptr %arena, i64 {at}"));
                    match &val {
                        Val::Array(Array { base: Base::Pointer(text), .. }) => {
                            self.line(format_args!("store ptr {text}, ptr {pointer}"));
                        }
                        Val::One(text) => {
                            let ty = llvm_type(frame.f.ty(value).element(), 1);
                            self.line(format_args!("store {ty} {text}, ptr {pointer}"));
                        }
                        _ => {}
                    }
                    frame.kept.insert(value, at);
                    at += 8;
                    at - 8
                }
            };
            frame.values[value.index()] = Some(Val::Kept(place, Box::new(val)));
        }
        self.close();
    }

    /// Numbers among the results of a long program are written as soon as they are there.
    fn deliver(
        &mut self,
        frame: &mut Frame<'_>,
        value: Value,
        outs: &[Array],
        cx: &Lanes,
    ) -> Result<()> {
        if !frame.f.ty(value).is_scalar() {
            return Ok(());
        }
        if frame.result_of.is_empty() {
            for (k, result) in frame.f.results().iter().enumerate() {
                frame.result_of.entry(*result).or_default().push(k);
            }
        }
        for k in frame.result_of.get(&value).cloned().unwrap_or_default() {
            self.recall(frame, value);
            let val = frame.get(value)?.clone();
            self.store(&outs[k], &Val::int(0), &val, cx);
        }
        Ok(())
    }

    /// Operands that an earlier part has computed are read again.
    fn recall(&mut self, frame: &mut Frame<'_>, value: Value) {
        if let Some(Val::Array(array)) = &frame.values[value.index()]
            && frame.f.ty(value).is_scalar()
        {
            let array = array.clone();
            frame.values[value.index()] = Some(self.load(&array, &Val::int(0), &Lanes::none()));
            return;
        }
        let Some(Val::Kept(place, val)) = frame.values[value.index()].clone() else { return };
        let pointer = self.op(format_args!("getelementptr i8, ptr %arena, i64 {place}"));
        frame.values[value.index()] = Some(match *val {
            Val::Array(array) => {
                let text = self.op(format_args!("load ptr, ptr {pointer}"));
                Val::Array(Array { base: Base::Pointer(text), ..array })
            }
            _ => {
                let ty = llvm_type(frame.f.ty(value).element(), 1);
                Val::One(self.op(format_args!("load {ty}, ptr {pointer}")))
            }
        });
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
        // Only the program itself has places for its results.
        let top = !outs.is_empty();
        let mut frame = Frame {
            f,
            values: vec![None; f.len()],
            parts: FxHashMap::default(),
            last: last_uses(f),
            all_parts: f.all_parts(),
            ranges,
            result_of: FxHashMap::default(),
            origins: Vec::new(),
            kept: FxHashMap::default(),
            dests: destinations(f, outs),
        };
        let long = top && f.values().len() > PART;
        if long {
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
            if long {
                if self.text.lines > PART && self.stacks.is_empty() {
                    self.cut(&mut frame);
                }
                f.operands(value).for_each(|operand| self.recall(&mut frame, operand));
            }
            match f.op(value) {
                Op::Param(_) => {}
                Op::Structure(_) => self.structure(&mut frame, value, cx)?,
                Op::Part(k) => {
                    let whole = f.operand(value, 0);
                    let part = frame.parts.get_mut(&whole).and_then(|p| p[k as usize].take());
                    let part = part.ok_or_else(|| internal("a part is missing"))?;
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
            Structure::Tab { dims, body } => self.tab(frame, value, dims, body, &operands, cx)?,
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
                let args = self.handed(frame, &operands)?;
                let ranges = operands.iter().map(|v| range(f, *v, &frame.ranges)).collect();
                self.body(function, args, cx, ranges, &[])?
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
        let len = ty.len().filter(|len| *len < 1 << 40);
        len.ok_or_else(|| {
            JitError::Unsupported(format!(
                "an array of type {ty}, whose size is not known before it runs"
            ))
        })
    }

    // Text.

    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    /// An instruction with a result.
    fn op(&mut self, text: Arguments<'_>) -> String {
        self.next += 1;
        self.text.lines += 1;
        let _ = writeln!(self.text.code, "  %{} = {text}", Number(self.next));
        format!("%{}", Number(self.next))
    }

    /// An instruction without a result.
    fn line(&mut self, text: Arguments<'_>) {
        let _ = writeln!(self.text.code, "  {text}");
    }

    fn label(&mut self, label: &str) {
        let _ = writeln!(self.text.code, "{label}:");
    }

    /// A place on the stack for one value.
    fn slot(&mut self, ty: &str) -> String {
        let name = self.fresh("%s");
        let _ = writeln!(self.text.entry, "  {name} = alloca {ty}");
        name
    }

    /// Calls a function that is declared once.
    fn call(&mut self, ret: &str, name: &str, args: &[(&str, &str)]) -> String {
        self.declare(ret, name, args);
        let args: Vec<String> = args.iter().map(|(ty, x)| format!("{ty} {x}")).collect();
        let args = args.join(", ");
        if ret == "void" {
            self.line(format_args!("call void @{name}({args})"));
            return String::new();
        }
        self.op(format_args!("call {ret} @{name}({args})"))
    }

    fn declare(&mut self, ret: &str, name: &str, args: &[(&str, &str)]) {
        if !self.declared.contains_key(name) {
            let types: Vec<&str> = args.iter().map(|(ty, _)| *ty).collect();
            let text = format!("declare {ret} @{name}({})", types.join(", "));
            self.declared.insert(name.to_string(), text);
        }
    }

    /// A loop over integers from one to another, by a step; the body gets the index.
    fn count(
        &mut self,
        from: &str,
        to: &str,
        step: usize,
        body: impl FnOnce(&mut Self, &str) -> Result<()>,
    ) -> Result<()> {
        let n = self.fresh("");
        let (before, head, inside, next, after) =
            (format!("b{n}"), format!("h{n}"), format!("i{n}"), format!("n{n}"), format!("a{n}"));
        self.line(format_args!("br label %{before}"));
        self.label(&before);
        self.line(format_args!("br label %{head}"));
        self.label(&head);
        self.line(format_args!("%x{n} = phi i64 [ {from}, %{before} ], [ %y{n}, %{next} ]"));
        self.line(format_args!("%c{n} = icmp slt i64 %x{n}, {to}"));
        self.line(format_args!("br i1 %c{n}, label %{inside}, label %{after}"));
        self.label(&inside);
        body(self, &format!("%x{n}"))?;
        self.line(format_args!("br label %{next}"));
        self.label(&next);
        self.line(format_args!("%y{n} = add nsw i64 %x{n}, {step}"));
        self.line(format_args!("br label %{head}"));
        self.label(&after);
        Ok(())
    }

    /// Text that runs only where a condition holds.
    fn when(&mut self, condition: &str, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let n = self.fresh("");
        self.line(format_args!("br i1 {condition}, label %t{n}, label %e{n}"));
        self.label(&format!("t{n}"));
        body(self)?;
        self.line(format_args!("br label %e{n}"));
        self.label(&format!("e{n}"));
        Ok(())
    }

    /// Stops the run where a condition is not as expected, in a lane that counts.
    fn require(&mut self, condition: &Val, expected: bool, failure: Failure, cx: &Lanes) {
        let flag = match condition {
            Val::One(c) => match expected {
                true => self.op(format_args!("xor i1 {c}, true")),
                false => c.clone(),
            },
            many => {
                let c = self.many(many, Element::Bool, cx);
                let ty = llvm_type(Element::Bool, cx.width);
                let bad = match expected {
                    true => {
                        let all = value::splat("true", "i1", cx.width);
                        self.op(format_args!("xor {ty} {c}, {all}"))
                    }
                    false => c,
                };
                let bad = self.masked(&bad, cx);
                self.any(&bad, cx)
            }
        };
        let code = self.failures.iter().position(|f| *f == failure).unwrap_or_else(|| {
            self.failures.push(failure);
            self.failures.len() - 1
        });
        let label = self.fails.entry(code).or_insert_with(|| format!("fail{code}")).clone();
        let go = self.fresh("g");
        self.line(format_args!("br i1 {flag}, label %{label}, label %{go}"));
        self.label(&go);
    }

    /// A mask within the lanes that count.
    fn masked(&mut self, mask: &str, cx: &Lanes) -> String {
        match &cx.mask {
            None => mask.to_string(),
            Some(own) => {
                let ty = llvm_type(Element::Bool, cx.width);
                self.op(format_args!("and {ty} {own}, {mask}"))
            }
        }
    }

    /// Whether a mask holds in any lane.
    fn any(&mut self, mask: &str, cx: &Lanes) -> String {
        let ty = llvm_type(Element::Bool, cx.width);
        let name = format!("llvm.vector.reduce.or.v{}i1", cx.width);
        self.call("i1", &name, &[(&ty, mask)])
    }
}

impl Frame<'_> {
    fn get(&self, value: Value) -> Result<&Val> {
        self.values[value.index()]
            .as_ref()
            .ok_or_else(|| internal("a value is used after its last use"))
    }
}

/// How values are named: `%v12`.
struct Number(usize);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// Many pointers cost more than they say: many numbers come in one argument.
fn is_packed(f: &Function) -> bool {
    let results = f.results().iter().map(|v| f.ty(*v));
    let mut types = f.params().iter().map(|p| p.ty).chain(results);
    f.params().len() + f.results().len() > 12 && types.all(|ty| ty.element() == Element::F64)
}

fn internal(what: &str) -> JitError {
    JitError::Internal(what.to_string())
}

/// By value: what uses it last; itself if nothing does, nothing if it is a result.
fn last_uses(f: &Function) -> Vec<Option<Value>> {
    last_uses_of(f, |_| false)
}

/// The same, where some results are handed on at once.
fn last_uses_of(f: &Function, delivered: impl Fn(Value) -> bool) -> Vec<Option<Value>> {
    let mut last: Vec<Option<Value>> = f.values().map(Some).collect();
    for value in f.values() {
        for operand in f.operands(value) {
            last[operand.index()] = Some(value);
        }
    }
    let guards = f.guards().iter().map(|guard| guard.condition);
    for kept in f.results().iter().copied().filter(|v| !delivered(*v)).chain(guards) {
        last[kept.index()] = None;
    }
    last
}

/// Where results are to stand, and what they are made of in place.
fn destinations(f: &Function, outs: &[Array]) -> FxHashMap<Value, Array> {
    let mut dests: FxHashMap<Value, Array> = FxHashMap::default();
    if outs.is_empty() {
        return dests;
    }
    let mut taken = vec![false; f.len()];
    for (result, out) in f.results().iter().zip(outs) {
        if !std::mem::replace(&mut taken[result.index()], true) && !f.ty(*result).is_scalar() {
            dests.insert(*result, out.clone());
        }
    }
    let last = last_uses(f);
    for value in f.values().rev() {
        let Some(dest) = dests.get(&value).cloned() else { continue };
        let (made_of, user) = match f.op(value) {
            Op::Put | Op::PutAdd => (f.operand(value, 0), value),
            Op::Stop | Op::Keep | Op::Recompute => (f.operand(value, 0), value),
            Op::Part(k) => {
                let whole = f.operand(value, 0);
                match f.structure(whole) {
                    Some(Structure::Acc { targets, .. }) if (k as usize) < *targets => {
                        (f.operand(whole, k as usize), whole)
                    }
                    Some(Structure::For { carries, .. }) if (k as usize) < *carries => {
                        (f.operand(whole, 1 + k as usize), whole)
                    }
                    _ => continue,
                }
            }
            _ => continue,
        };
        let once = f.operands(user).filter(|v| *v == made_of).count() == 1;
        if last[made_of.index()] == Some(user) && once && f.ty(made_of) == f.ty(value) {
            dests.entry(made_of).or_insert(dest);
        }
    }
    dests
}
