//! Results that are looked at while they are written: whether plain products were good enough is known without another walk
//! through memory.

use std::fmt::Write as _;

use cotangent_ir::{Element, Value};

use super::value::{Array, Val, splat};
use super::{Emitter, Failure, Frame, Lanes, llvm_type};

impl Emitter<'_> {
    /// The place of a part of a table, looked at if it is a result in which a NaN says something.
    pub(super) fn watched(&mut self, frame: &Frame<'_>, part: Value, out: Array) -> Array {
        // Only the program itself has places for its results.
        let result =
            frame.top && frame.dests.contains_key(&part) && frame.f.results().contains(&part);
        let float = out.element().is_float();
        let watched = self.marked && self.nested == 0 && result && float && self.is_outside(&out);
        if watched {
            self.watched.push(part);
        }
        Array { watched, ..out }
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
}
