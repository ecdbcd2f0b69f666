//! Results that are looked at while they are written: whether plain products were good enough is known without another walk
//! through memory.

use cotangent_ir::{Element, Function, Op, Structure, Value};
use std::fmt::Write as _;

use super::value::{Array, Val, splat};
use super::{Emitter, Failure, Lanes, llvm_type};

impl Emitter<'_> {
    /// The place of a result, looked at from now on, if a NaN in it says anything.
    pub(super) fn watched(&mut self, array: Array) -> Array {
        let watched = self.marked && array.element().is_float() && self.is_outside(&array);
        if watched {
            self.watched.push(array.base.clone());
        }
        Array { watched, ..array }
    }

    /// Notes whether one of the numbers that are written is none, in the lanes that count.
    pub(super) fn watch(&mut self, x: &str, element: Element, cx: &Lanes) {
        let (ty, truth) = (llvm_type(element, cx.width), llvm_type(Element::Bool, cx.width));
        let none = self.op(format_args!("fcmp uno {ty} {x}, {x}"));
        let none = self.masked(&none, cx);
        let place = match self.text.watched.get(&cx.width) {
            Some(place) => place.clone(),
            None => {
                let place = self.slot(&truth);
                let no = splat("false", "i1", cx.width);
                let _ = writeln!(self.text.entry, "  store {truth} {no}, ptr {place}");
                self.text.watched.insert(cx.width, place.clone());
                place
            }
        };
        let before = self.op(format_args!("load {truth}, ptr {place}"));
        let all = self.op(format_args!("or {truth} {before}, {none}"));
        self.line(format_args!("store {truth} {all}, ptr {place}"));
    }

    /// Stops a function that has written a NaN where that says something. It is at its end.
    pub(super) fn stop_if_watched(&mut self) {
        for (width, place) in std::mem::take(&mut self.text.watched) {
            let truth = llvm_type(Element::Bool, width);
            let any = self.op(format_args!("load {truth}, ptr {place}"));
            let any = match width {
                1 => Val::One(any),
                _ => Val::Many(any),
            };
            let failure = Failure::Undefined { function: String::new() };
            self.require(&any, false, failure, &Lanes { width, mask: None });
        }
    }

    /// Whether a result was looked at while it was written, all of it.
    pub(super) fn was_watched(&self, f: &Function, result: Value, out: &Array) -> bool {
        let table = match f.op(result) {
            Op::Part(_) => f.structure(f.operand(result, 0)),
            _ => None,
        };
        matches!(table, Some(Structure::Tab { .. })) && self.watched.contains(&out.base)
    }
}
