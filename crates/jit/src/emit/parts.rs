//! Long programs in parts: functions of the text that are not too long, with values kept in the arena between them.

use std::fmt::Write as _;

use cotangent_ir::{Op, Type, Value};

use super::value::{self, Array, Base, Val};
use super::{Emitter, Frame, INLINED, Lanes, PARAMS, Result, SHARED, llvm_type};

/// How many parts are compiled together, at least: a module costs a millisecond whatever is in it.
const TOGETHER: usize = 2;
/// Of a function with more instructions it is taken that it needs more registers than there are. To put the stack in order takes some instructions,
/// which short functions would feel.
const FULL: usize = 200;
/// Modules, at most.
const MODULES: usize = 32;

impl Frame<'_> {
    /// Whether there are parts of structures that are still to become values.
    pub(super) fn has_parts(&self) -> bool {
        self.parts.iter().any(|(whole, parts)| {
            let used = self.all_parts.get(whole);
            parts.iter().enumerate().any(|(k, part)| {
                part.is_some() && used.is_some_and(|used| matches!(used.get(k), Some(Some(_))))
            })
        })
    }
}

impl Emitter<'_> {
    /// The text in modules: one, or some parts in each if there are many.
    pub(super) fn modules(&self) -> Vec<String> {
        // What parts share stands in one module with them: threads' functions and tables.
        if self.done.len() <= TOGETHER || !self.tasks.is_empty() || !self.tables.is_empty() {
            return vec![self.one_module()];
        }
        let mut modules = Vec::with_capacity(MODULES + 1);
        let mut all = String::new();
        let together = self.done.len().div_ceil(MODULES).max(TOGETHER);
        for (k, parts) in self.done.chunks(together).enumerate() {
            modules.push(self.module(
                &parts.concat().replace("define internal i64 @part", "define hidden i64 @part"),
            ));
            for part in k * together..k * together + parts.len() {
                let _ = writeln!(all, "declare hidden i64 @part{part}(ptr, ptr)");
            }
        }
        modules.push(self.module(&(all + &self.whole())));
        modules
    }

    /// The text in one module.
    pub(super) fn one_module(&self) -> String {
        let own: String = self.tasks.iter().chain(&self.done).map(String::as_str).collect();
        self.module(&(own + &self.whole()))
    }

    /// Functions with all that they call.
    fn module(&self, own: &str) -> String {
        let width = self.vector_bytes * 8;
        let mut text = format!("{}\n{own}", self.tables);
        let mut open: Vec<&String> = self.functions.keys().collect();
        // Functions call functions: until nobody calls another one.
        loop {
            let called = |name: &&String| text.contains(&format!("@{name}("));
            let (found, rest): (Vec<&String>, Vec<&String>) = open.into_iter().partition(called);
            open = rest;
            if found.is_empty() {
                break;
            }
            for name in found {
                let _ = writeln!(text, "{}", self.functions[name]);
            }
        }
        for declaration in self.declared.values() {
            let _ = writeln!(text, "{declaration}");
        }
        let most = if own.contains(" phi ") { INLINED.1 } else { INLINED.0 };
        let inline = if self.calls <= most { "alwaysinline" } else { "noinline" };
        let vectors =
            format!("\"min-legal-vector-width\"=\"{width}\" \"prefer-vector-width\"=\"{width}\"");
        // As versions before 16 say it; later ones read it as `memory(none)`.
        let pure = "nounwind willreturn readnone";
        let _ = writeln!(text, "attributes #1 = {{ {pure} {inline} \"no-builtins\" {vectors} }}");
        let _ = writeln!(text, "attributes #0 = {{ nounwind \"no-builtins\" {vectors} }}");
        // Registers that are put on the stack stand on lines of their own there.
        let aligned = match width {
            // As the stack stands anyway.
            0..=128 => String::new(),
            _ => format!(" alignstack={}", width / 8),
        };
        // A long stack is touched page by page, so that it ends at the guard page of a thread, not behind it.
        let probed = "\"probe-stack\"=\"inline-asm\"";
        let _ = writeln!(
            text,
            "attributes #2 = {{ nounwind{aligned} \"no-builtins\" {probed} {vectors} }}"
        );
        text + "!0 = !{!\"branch_weights\", i32 1, i32 10000}\n!1 = !{i32 1}\n"
    }

    /// The function that runs the parts one after the other.
    pub(super) fn whole(&self) -> String {
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
    pub(super) fn close(&mut self) {
        let part = self.done.len();
        let params = if std::mem::take(&mut self.recalled) { SHARED } else { PARAMS };
        let text = self.closed(&format!("part{part}"), params);
        self.done.push(text);
    }

    /// The function that has been written, ended.
    pub(super) fn closed(&mut self, name: &str, params: &str) -> String {
        self.stop_if_watched();
        self.line(format_args!("ret i64 0"));
        let mut fails: Vec<(usize, String)> = self.fails.drain().collect();
        fails.sort();
        for (code, label) in fails {
            self.label(&label);
            self.line(format_args!("ret i64 {}", code + 1));
        }
        let text = std::mem::take(&mut self.text);
        // Short ones have nothing to put there.
        let attributes = if text.lines > FULL { "#2" } else { "#0" };
        format!(
            "define internal i64 @{name}({params}) {attributes} {{\nentry:\n{}  br label %start\nstart:\n{}}}\n",
            text.entry, text.code
        )
    }

    /// Ends a part of a long program: what the next parts need is kept in memory.
    pub(super) fn cut(&mut self, frame: &mut Frame<'_>) {
        let mut new: Vec<Value> = Vec::new();
        let Frame { open, values, .. } = frame;
        open.retain(|v| values[v.index()].is_some());
        for value in frame.open.clone() {
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
    pub(super) fn deliver(
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
    pub(super) fn recall(&mut self, frame: &mut Frame<'_>, value: Value) {
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
                self.recalled = true;
                Val::Array(Array { base: Base::Pointer(text), ..array })
            }
            _ => {
                let ty = llvm_type(frame.f.ty(value).element(), 1);
                Val::One(self.op(format_args!("load {ty}, ptr {pointer}")))
            }
        });
    }
}
