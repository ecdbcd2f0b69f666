//! Tables that threads share out: blocks of the points of the first dimension, each a call of a function of its own.
//!
//! What a block needs comes through the arena; what it makes for itself stands in memory that each thread has. A block
//! writes its own elements of the results, so that it makes no difference who runs it, and when.

use cotangent_ir::{Dim, Function, Structure, Type};
use rustc_hash::FxHashMap;

use super::kernels::Kernel;
use super::value::{Array, Base, Val, is_constant};
use super::{Emitter, Lanes, Result, internal, llvm_type};
use crate::blocks::work;

/// The most blocks: more than threads, so that nobody waits long for the last.
const BLOCKS: usize = 32;

const PARAMS: &str =
    "ptr noalias %args, ptr align 64 %arena, ptr noalias align 64 %private, i64 %block";

/// How a table is shared out.
#[derive(Clone, Copy)]
pub(super) struct Blocks {
    count: usize,
    /// Points of the first dimension in each.
    points: usize,
}

impl<'o> Emitter<'o> {
    /// How a table is shared out, if it is worth it.
    pub(super) fn blocks(
        &self,
        kernel: &Kernel<'_>,
        captures: &[Val],
        cx: &Lanes,
    ) -> Option<Blocks> {
        let least = self.options.least_shared()?;
        let plain = |val: &Val| match val {
            Val::One(_) => true,
            Val::Array(array) => array.rows.is_none(),
            _ => false,
        };
        if self.nested > 0 || cx.width > 1 || !captures.iter().all(plain) || grows(kernel.body) {
            return None;
        }
        let dims: Vec<Dim> = kernel.sizes.iter().map(|n| Dim::Size(*n)).collect();
        let work = work(&dims, kernel.body);
        if work < least {
            return None;
        }
        let size = *kernel.sizes.first()?;
        let whole = match kernel.lane {
            Some((0, width)) => width,
            _ => 1,
        };
        let most = ((4.0 * work / least) as usize).clamp(1, BLOCKS);
        let points = size.div_ceil(most).next_multiple_of(whole);
        let count = size.div_ceil(points);
        (count > 1).then_some(Blocks { count, points })
    }

    /// Writes a table as a function that threads call, and the call.
    pub(super) fn shared_table(
        &mut self,
        kernel: &mut Kernel<'_>,
        blocks: Blocks,
        captures: &[Val],
        outs: &[Option<Array>],
    ) -> Result<()> {
        // What stands in registers goes through memory.
        let rank = kernel.sizes.len();
        let mut handed: Vec<(String, String)> = Vec::new();
        let arrays = outs.iter().flatten().cloned().map(Val::Array);
        for (k, val) in captures.iter().cloned().chain(arrays).enumerate() {
            let (text, ty) = match val {
                Val::One(text) => (text, llvm_type(kernel.body.params()[rank + k].ty.element(), 1)),
                Val::Array(Array { base: Base::Pointer(text), .. }) => (text, "ptr".to_string()),
                _ => continue,
            };
            if !is_constant(&text) && handed.iter().all(|(known, _)| *known != text) {
                handed.push((text, ty));
            }
        }
        let room = self.allocate(Type::I64, handed.len().max(1), false, 1);
        let Base::Arena(at) = room.base else { return Err(internal("a task in a task")) };
        for (k, (text, ty)) in handed.iter().enumerate() {
            let place = at + 8 * k;
            let pointer = self.op(format_args!("getelementptr i8, ptr %arena, i64 {place}"));
            self.line(format_args!("store {ty} {text}, ptr {pointer}"));
        }
        // The function.
        let (text, fails) = (std::mem::take(&mut self.text), std::mem::take(&mut self.fails));
        let before = self.arena.enter();
        let mut names: FxHashMap<String, String> = FxHashMap::default();
        for (k, (text, ty)) in handed.into_iter().enumerate() {
            let place = at + 8 * k;
            let pointer = self.op(format_args!("getelementptr i8, ptr %arena, i64 {place}"));
            let own = self.op(format_args!("load {ty}, ptr {pointer}"));
            names.insert(text, own);
        }
        let here = |array: &Array| match &array.base {
            Base::Pointer(text) => {
                let name = names.get(text).unwrap_or(text).clone();
                Array { base: Base::Pointer(name), ..array.clone() }
            }
            _ => array.clone(),
        };
        let captures: Vec<Val> = captures
            .iter()
            .map(|val| match val {
                Val::One(text) => Val::One(names.get(text).unwrap_or(text).clone()),
                Val::Array(array) => Val::Array(here(array)),
                other => other.clone(),
            })
            .collect();
        let outs: Vec<Option<Array>> = outs.iter().map(|out| out.as_ref().map(here)).collect();
        let Blocks { count, points } = blocks;
        let size = kernel.sizes[0];
        let from = self.op(format_args!("mul nuw nsw i64 %block, {points}"));
        let end = self.op(format_args!("add nuw nsw i64 {from}, {points}"));
        let less = self.op(format_args!("icmp slt i64 {end}, {size}"));
        let end = self.op(format_args!("select i1 {less}, i64 {end}, i64 {size}"));
        kernel.bounds = Some((from, end));
        kernel.captures = vec![captures.clone()];
        self.nest(kernel, &Lanes::none(), &mut |e, indices, cx| {
            e.table_point(kernel, indices, &captures, &outs, cx)
        })?;
        let bytes = self.arena.leave(before);
        let name = format!("task{}", self.tasks.len());
        let task = self.closed(&name, PARAMS);
        self.tasks.push(task);
        (self.text, self.fails) = (text, fails);
        // The call.
        let pool = self.pool();
        let pool = self.op(format_args!("getelementptr i8, ptr %arena, i64 {pool}"));
        let args = [
            ("ptr", format!("@{name}")),
            ("ptr", "%args".to_string()),
            ("ptr", "%arena".to_string()),
            ("ptr", pool),
            ("i64", bytes.to_string()),
            ("i64", count.to_string()),
        ];
        let args: Vec<(&str, &str)> = args.iter().map(|(ty, x)| (*ty, x.as_str())).collect();
        let status = self.call("i64", "cotangent_tasks", &args);
        let well = self.op(format_args!("icmp eq i64 {status}, 0"));
        let n = self.fresh("");
        self.line(format_args!("br i1 {well}, label %w{n}, label %f{n}"));
        self.label(&format!("f{n}"));
        self.line(format_args!("ret i64 {status}"));
        self.label(&format!("w{n}"));
        self.release(Val::Array(room));
        Ok(())
    }
}

/// Whether memory grows in a body: that is noted in the arena, which is everybody's.
fn grows(body: &Function) -> bool {
    body.values().any(|v| match body.structure(v) {
        Some(Structure::While { .. }) => true,
        Some(Structure::For { .. }) if !matches!(body.stack_dim(v), Dim::Size(_)) => true,
        Some(structure) => structure.bodies().any(|inner| grows(inner)),
        None => false,
    })
}
