//! Long results of rows, written past the caches: the rows of some lanes are gathered on the stack until they are whole lines.
//!
//! Rows hardly ever begin where lines do, so each of their vectors touches two lines, and each line is read before it is written. (A
//! Jacobian of 1.3·10⁶ blocks of 2×15, 300 MB: 40 ms instead of 65. For lists see `stream.rs`.) Rows of all lanes of a step together are a
//! whole number of vectors, however long they are, so how far behind the beginning of a vector they begin is the same in all steps:
//! what is left over at the end of one is where the next one begins.

use std::fmt::Write as _;

use cotangent_ir::Element;

use super::elements::first_lanes;
use super::kernels::Kernel;
use super::stream::{LONG, STREAMED};
use super::value::{Array, Base};
use super::{Emitter, Lanes, Result, llvm_type};

/// The most bytes of rows that are gathered: a part of the smallest cache.
const GATHERED: usize = 8 << 10;

/// Where rows are gathered.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// The result whose rows these are.
    out: Base,
    /// A place on the stack that begins where lines do, for the rows of a step and a vector.
    pub(super) room: String,
    /// How many elements of its first vector are not those of the step.
    pub(super) ahead: String,
    /// Places of a truth value, whether nothing has been written yet, and of the pointer to what is written next.
    first: String,
    next: String,
}

impl Emitter<'_> {
    /// The result of a table whose rows are written past the caches, if there is one.
    pub(super) fn rows_by_lines(
        &self,
        kernel: &Kernel<'_>,
        outs: &[Option<Array>],
    ) -> Option<Array> {
        let Some((0, width)) = kernel.lane else { return None };
        let plain = kernel.sizes.len() == 1 && kernel.copies == 1 && kernel.inside.is_none();
        let points = kernel.points();
        let fits = |out: &&Array| {
            let bytes = out.element().bytes();
            let row = out.len / points.max(1);
            matches!(out.base, Base::Arg(..))
                && !out.varies
                && out.element().is_float()
                && width * bytes == self.vector_bytes
                && out.len.saturating_mul(bytes) >= LONG
                && row > 1
                && row * width * bytes <= GATHERED
        };
        let out = outs.iter().flatten().find(fits)?;
        (self.nested == 0 && plain).then(|| out.clone())
    }

    /// Runs a loop over all points in which rows of a result are gathered.
    pub(super) fn by_lines(
        &mut self,
        (out, points, width): (&Array, usize, usize),
        body: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let (bytes, vector) = (out.element().bytes(), self.vector_bytes);
        let room = self.fresh("%s");
        let all = out.len / points * width * bytes + vector;
        let _ = writeln!(self.text.entry, "  {room} = alloca [{all} x i8], align 64");
        let (first, next) = (self.slot("i1"), self.slot("ptr"));
        self.line(format_args!("store i1 true, ptr {first}"));
        let pointer = self.pointer(out);
        let address = self.op(format_args!("ptrtoint ptr {pointer} to i64"));
        let beyond = self.op(format_args!("and i64 {address}, {}", vector - 1));
        let ahead = self.op(format_args!("lshr i64 {beyond}, {}", bytes.ilog2()));
        let lines = Lines { out: out.base.clone(), room, ahead, first, next };
        self.lines = Some(lines.clone());
        let done = body(self);
        self.lines = None;
        done?;
        let none = self.op(format_args!("load i1, ptr {}", lines.first));
        let some = self.op(format_args!("xor i1 {none}, true"));
        self.when(&some, |e| {
            let lanes = e.lanes_by("ult", &lines.ahead, width);
            let next = e.op(format_args!("load ptr, ptr {}", lines.next));
            e.copy_vector((&lines.room, &next), out.element(), &lanes);
            Ok(())
        })?;
        // Nobody is to read what was there before.
        self.line(format_args!("fence seq_cst"));
        Ok(())
    }

    /// Where rows of a result are gathered, if they are.
    pub(super) fn gathered_rows(&self, out: &Array) -> Option<Lines> {
        self.lines.clone().filter(|lines| lines.out == out.base)
    }

    /// Writes the vectors that are whole, of rows of `row` elements that begin at an element of the result.
    pub(super) fn write_lines(
        &mut self,
        (lines, out): (&Lines, &Array),
        begin: &str,
        row: usize,
        width: usize,
    ) -> Result<()> {
        let (element, vector) = (out.element(), self.vector_bytes);
        let ty = llvm_type(element, width);
        let place = self.address(out, begin, 1);
        let back = self.op(format_args!("sub nsw i64 0, {}", lines.ahead));
        let to = self
            .op(format_args!("getelementptr {}, ptr {place}, i64 {back}", llvm_type(element, 1)));
        // Of the first vector only what is ours.
        let first = self.op(format_args!("load i1, ptr {}", lines.first));
        let whole = self.op(format_args!("xor i1 {first}, true"));
        self.line(format_args!("store i1 false, ptr {}", lines.first));
        self.when(&first, |e| {
            let own = e.lanes_by("uge", &lines.ahead, width);
            e.copy_vector((&lines.room, &to), element, &own);
            Ok(())
        })?;
        let stream = |e: &mut Self, k: usize| {
            let [from, to] = [&lines.room, &to]
                .map(|base| e.op(format_args!("getelementptr i8, ptr {base}, i64 {}", k * vector)));
            let x = e.op(format_args!("load {ty}, ptr {from}, align {vector}"));
            e.line(format_args!("store {ty} {x}, ptr {to}, align {vector}{STREAMED}"));
        };
        self.when(&whole, |e| {
            stream(e, 0);
            Ok(())
        })?;
        (1..row).for_each(|k| stream(self, k));
        let bytes = (row * vector).to_string();
        let [rest, end] = [&lines.room, &to]
            .map(|base| self.op(format_args!("getelementptr i8, ptr {base}, i64 {bytes}")));
        let x = self.op(format_args!("load {ty}, ptr {rest}, align {vector}"));
        self.line(format_args!("store {ty} {x}, ptr {}, align {vector}", lines.room));
        self.line(format_args!("store ptr {end}, ptr {}", lines.next));
        Ok(())
    }

    /// Copies some lanes of a vector to where a line begins.
    fn copy_vector(&mut self, (from, to): (&str, &str), element: Element, lanes: &Lanes) {
        let (width, vector) = (lanes.width, self.vector_bytes);
        let all = first_lanes(width, width);
        let mask = lanes.mask.as_ref().unwrap_or(&all);
        let ty = llvm_type(element, width);
        let x = self.op(format_args!("load {ty}, ptr {from}, align {vector}"));
        self.store_masked(&x, to, (element, width), vector, mask);
    }
}
