//! Results so long that they are in no cache when somebody reads them: they are written past the caches.
//!
//! A store to memory that is in no cache reads the line first. Whole lines that are written past the caches are not read, so a
//! map over a long array moves two thirds of the bytes. (Measured, a product and sum over 80 MB: 0.28 ns an element instead of
//! 0.35; over 4 MB 0.18 instead of 0.15.) Such stores must begin where lines do, so vectors are counted from there: the first and
//! the last are written in part.

use cotangent_ir::Element;

use super::kernels::Kernel;
use super::value::{Array, Base, Val};
use super::{Emitter, Lanes, Result};

/// Bytes of a result from which on it is written past the caches: more than the last of them has for one program.
pub(super) const LONG: usize = 32 << 20;

/// Of a store past the caches; modules end with what it means.
pub(super) const STREAMED: &str = ", !nontemporal !1";

impl Emitter<'_> {
    /// The result of a table that is written past the caches, if there is one: a long list, the only one that is made.
    pub(super) fn stream_of(&self, kernel: &Kernel<'_>, outs: &[Option<Array>]) -> Option<Array> {
        let mut made = outs.iter().flatten();
        let (Some(out), None) = (made.next(), made.next()) else { return None };
        let whole = match kernel.lane {
            Some((0, width)) => width * out.element().bytes() == self.vector_bytes,
            _ => false,
        };
        let list =
            kernel.sizes.len() == 1 && kernel.points() == out.len && out.element().is_float();
        let long = out.len.saturating_mul(out.element().bytes()) >= LONG;
        let fits = self.nested == 0 && whole && list && long && kernel.inside.is_none();
        (fits && kernel.copies == 1 && matches!(out.base, Base::Arg(..))).then(|| out.clone())
    }

    /// For the elements of such a result, or of a block of it: vectors that begin where lines do, and what is before and behind them.
    pub(super) fn streamed(
        &mut self,
        out: &Array,
        bounds: Option<&(String, String)>,
        width: usize,
        mut body: impl FnMut(&mut Self, &Val, &Lanes) -> Result<()>,
    ) -> Result<()> {
        let (size, bytes) = (out.len, out.element().bytes());
        let (from, to) = bounds.cloned().unwrap_or_else(|| ("0".to_string(), size.to_string()));
        let pointer = self.pointer(out);
        let address = self.op(format_args!("ptrtoint ptr {pointer} to i64"));
        let beyond = self.op(format_args!("and i64 {address}, {}", width * bytes - 1));
        // How many elements the first vector would have before the first.
        let ahead = self.op(format_args!("lshr i64 {beyond}, {}", bytes.ilog2()));
        let first = self.op(format_args!("icmp eq i64 {from}, 0"));
        let cut = self.op(format_args!("icmp ne i64 {ahead}, 0"));
        let head = self.op(format_args!("and i1 {first}, {cut}"));
        let start = self.op(format_args!("select i1 {head}, i64 {width}, i64 {from}"));
        let last = self.op(format_args!("icmp eq i64 {to}, {size}"));
        let all = self.op(format_args!("add nsw i64 {size}, {ahead}"));
        let end = self.op(format_args!("select i1 {last}, i64 {all}, i64 {to}"));
        let whole = self.op(format_args!("and i64 {end}, {}", -(width as i64)));
        self.when(&head, |e| {
            let at = e.op(format_args!("sub nsw i64 0, {ahead}"));
            let lanes = e.lanes_by("uge", &ahead, width);
            body(e, &Val::Affine(at, 1), &lanes)
        })?;
        self.streaming = Some(out.base.clone());
        self.count(&start, &whole, width, |e, k| {
            let at = e.op(format_args!("sub nsw i64 {k}, {ahead}"));
            body(e, &Val::Affine(at, 1), &Lanes { width, mask: None })
        })?;
        self.streaming = None;
        let rest = self.op(format_args!("icmp slt i64 {whole}, {end}"));
        self.when(&rest, |e| {
            let at = e.op(format_args!("sub nsw i64 {whole}, {ahead}"));
            let count = e.op(format_args!("sub nsw i64 {end}, {whole}"));
            let lanes = e.lanes_by("ult", &count, width);
            body(e, &Val::Affine(at, 1), &lanes)
        })?;
        // Nobody is to read what was there before.
        self.line(format_args!("fence seq_cst"));
        Ok(())
    }

    /// The lanes whose numbers compare with a number.
    pub(super) fn lanes_by(&mut self, comparison: &str, count: &str, width: usize) -> Lanes {
        let all = Lanes { width, mask: None };
        let count = self.many(&Val::One(count.to_string()), Element::I64, &all);
        let lanes: Vec<String> = (0..width).map(|k| format!("i64 {k}")).collect();
        let lanes = format!("<{}>", lanes.join(", "));
        let mask = self.op(format_args!("icmp {comparison} <{width} x i64> {lanes}, {count}"));
        Lanes { width, mask: Some(mask) }
    }
}
