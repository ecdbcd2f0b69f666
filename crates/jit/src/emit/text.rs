//! Lines of text: instructions, labels, calls, loops, and what stops a run.

use std::collections::BTreeMap;
use std::fmt::{Arguments, Write as _};

use cotangent_ir::Element;
use rustc_hash::FxHashMap;

use super::value::{self, Val, llvm_type};
use super::{Emitter, Failure, Lanes, Result};

/// What a function of the text is written into.
#[derive(Default)]
pub(super) struct Text {
    /// Lines of code.
    pub(super) lines: usize,
    /// Stack places and pointers, before all else.
    pub(super) entry: String,
    pub(super) code: String,
    /// Bytes of arrays on the stack.
    pub(super) stack: usize,
    /// Arguments whose pointers have been loaded.
    pub(super) pointers: FxHashMap<usize, String>,
    /// By width: places where it is noted in which lanes a NaN was written.
    pub(super) watched: BTreeMap<usize, String>,
}

impl Emitter<'_> {
    pub(super) fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    /// An instruction with a result.
    pub(super) fn op(&mut self, text: Arguments<'_>) -> String {
        self.next += 1;
        self.text.lines += 1;
        let _ = writeln!(self.text.code, "  %{} = {text}", Number(self.next));
        format!("%{}", Number(self.next))
    }

    /// An instruction without a result.
    pub(super) fn line(&mut self, text: Arguments<'_>) {
        let _ = writeln!(self.text.code, "  {text}");
    }

    pub(super) fn label(&mut self, label: &str) {
        let _ = writeln!(self.text.code, "{label}:");
    }

    /// A place on the stack for one value.
    pub(super) fn slot(&mut self, ty: &str) -> String {
        let name = self.fresh("%s");
        let _ = writeln!(self.text.entry, "  {name} = alloca {ty}");
        name
    }

    /// Calls a function that is declared once.
    pub(super) fn call(&mut self, ret: &str, name: &str, args: &[(&str, &str)]) -> String {
        self.declare(ret, name, args);
        let args: Vec<String> = args.iter().map(|(ty, x)| format!("{ty} {x}")).collect();
        let args = args.join(", ");
        if ret == "void" {
            self.line(format_args!("call void @{name}({args})"));
            return String::new();
        }
        self.op(format_args!("call {ret} @{name}({args})"))
    }

    pub(super) fn declare(&mut self, ret: &str, name: &str, args: &[(&str, &str)]) {
        if !self.declared.contains_key(name) {
            let types: Vec<&str> = args.iter().map(|(ty, _)| *ty).collect();
            let text = format!("declare {ret} @{name}({})", types.join(", "));
            self.declared.insert(name.to_string(), text);
        }
    }

    /// A loop over integers from one to another, by a step; the body gets the index.
    pub(super) fn count(
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
    pub(super) fn when(
        &mut self,
        condition: &str,
        body: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.branches(condition, "", body)
    }

    /// Text that runs only where a condition holds, which it hardly ever does: what is in registers goes to memory there, if it must.
    pub(super) fn seldom(
        &mut self,
        condition: &str,
        body: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.branches(condition, SELDOM, body)
    }

    fn branches(
        &mut self,
        condition: &str,
        how_often: &str,
        body: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let n = self.fresh("");
        self.line(format_args!("br i1 {condition}, label %t{n}, label %e{n}{how_often}"));
        self.label(&format!("t{n}"));
        body(self)?;
        self.line(format_args!("br label %e{n}"));
        self.label(&format!("e{n}"));
        Ok(())
    }

    /// Stops the run where a condition is not as expected, in a lane that counts.
    pub(super) fn require(
        &mut self,
        condition: &Val,
        expected: bool,
        failure: Failure,
        cx: &Lanes,
    ) {
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
        self.line(format_args!("br i1 {flag}, label %{label}, label %{go}{SELDOM}"));
        self.label(&go);
    }

    /// A mask within the lanes that count.
    pub(super) fn masked(&mut self, mask: &str, cx: &Lanes) -> String {
        match &cx.mask {
            None => mask.to_string(),
            Some(own) => {
                let ty = llvm_type(Element::Bool, cx.width);
                self.op(format_args!("and {ty} {own}, {mask}"))
            }
        }
    }

    /// Whether a mask holds in any lane.
    pub(super) fn any(&mut self, mask: &str, cx: &Lanes) -> String {
        let ty = llvm_type(Element::Bool, cx.width);
        let name = format!("llvm.vector.reduce.or.v{}i1", cx.width);
        self.call("i1", &name, &[(&ty, mask)])
    }
}

/// Of a branch whose first way is hardly ever taken; modules end with what it means.
const SELDOM: &str = ", !prof !0";

/// How values are named: `%v12`.
struct Number(usize);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "v{}", self.0)
    }
}
