//! Rows that a loop keeps where nobody knows beforehand how many there will be.

use cotangent_ir::{Dim, Element, Integral, Type};

use super::value::{Array, Base, Val};
use super::{Emitter, Failure, Lanes, ROUNDS, Result, internal};

/// Rows that a loop keeps, in memory that grows.
pub(super) struct Growing {
    /// Where in the arena its pointer stands.
    at: usize,
    /// A place on the stack with the pointer, which stays in a register while rounds write rows.
    pointer: String,
    /// A row.
    row: Type,
    len: usize,
}

impl Growing {
    /// Bytes of a row.
    fn bytes(&self) -> usize {
        self.len * self.row.element().bytes()
    }
}

impl Emitter<'_> {
    pub(super) fn grown(&mut self, row: Type) -> Result<Growing> {
        let len = self.known(row)?;
        let (at, pointer) = (self.growing(), self.slot("ptr"));
        let stack = Growing { at, pointer, row, len };
        self.note_rows(&stack);
        Ok(stack)
    }

    /// Makes room for so many rows.
    pub(super) fn grow(&mut self, stack: &Growing, rows: &str) {
        let place = self.op(format_args!("getelementptr i8, ptr %arena, i64 {}", stack.at));
        let bytes = self.op(format_args!("mul i64 {rows}, {}", stack.bytes()));
        let size = self.op(format_args!("getelementptr i8, ptr {place}, i64 8"));
        let has = self.op(format_args!("load i64, ptr {size}"));
        let short = self.op(format_args!("icmp ult i64 {has}, {bytes}"));
        // Nothing in it can fail.
        let _ = self.seldom(&short, |e| {
            e.call("void", "cotangent_grow", &[("ptr", &place), ("i64", &bytes)]);
            e.note_rows(stack);
            Ok(())
        });
    }

    /// Notes where the rows of a stack are.
    fn note_rows(&mut self, stack: &Growing) {
        let place = self.op(format_args!("getelementptr i8, ptr %arena, i64 {}", stack.at));
        let pointer = self.op(format_args!("load ptr, ptr {place}"));
        self.line(format_args!("store ptr {pointer}, ptr {}", stack.pointer));
    }

    /// Makes room for so many rows in each of some stacks, of which `before` are there. `limit` is a place where it is noted for how many
    /// there is room in all of them, or how many there may be: a round looks at that alone, and what it has in registers stays there.
    pub(super) fn grow_all(
        &mut self,
        stacks: &[&Growing],
        limit: &str,
        (before, rows): (&str, &str),
        endless: Failure,
    ) -> Result<()> {
        let has = self.op(format_args!("load i64, ptr {limit}"));
        let short = self.op(format_args!("icmp slt i64 {has}, {rows}"));
        self.seldom(&short, |e| {
            let ends = Val::One(e.op(format_args!("icmp slt i64 {before}, {ROUNDS}")));
            e.require(&ends, true, endless, &Lanes::none());
            e.line(format_args!("store i64 {ROUNDS}, ptr {limit}"));
            // Rows of nothing need no room.
            for stack in stacks.iter().filter(|stack| stack.bytes() > 0) {
                e.grow(stack, rows);
                let at = stack.at + 8;
                let size = e.op(format_args!("getelementptr i8, ptr %arena, i64 {at}"));
                let size = e.op(format_args!("load i64, ptr {size}"));
                let own = e.op(format_args!("udiv i64 {size}, {}", stack.bytes()));
                let all = e.op(format_args!("load i64, ptr {limit}"));
                let less = e.op(format_args!("icmp slt i64 {own}, {all}"));
                let least = e.op(format_args!("select i1 {less}, i64 {own}, i64 {all}"));
                e.line(format_args!("store i64 {least}, ptr {limit}"));
            }
            Ok(())
        })
    }

    /// The rows as an array.
    pub(super) fn grown_array(&mut self, stack: &Growing, rows: &str) -> Val {
        let pointer = self.op(format_args!("load ptr, ptr {}", stack.pointer));
        let ty = stack.row.within(&[Dim::Any]);
        Val::Array(Array {
            rows: Some(rows.to_string()),
            ..Array::new(Base::Pointer(pointer), ty, 0)
        })
    }

    /// Writes a row.
    pub(super) fn stack(
        &mut self,
        stack: &Growing,
        row: &str,
        val: &Val,
        cx: &Lanes,
    ) -> Result<()> {
        let Val::Array(all) = self.grown_array(stack, "0") else {
            return Err(internal("no stack"));
        };
        let first = self.op(format_args!("mul i64 {row}, {}", stack.len));
        self.each(stack.len, |e, k| {
            let at = e.integral(Integral::Add, &Val::One(first.clone()), k, Element::I64, cx);
            let x = e.element_of(val, k, cx);
            e.store(&all, &at, &x, cx);
            Ok(())
        })
    }
}
