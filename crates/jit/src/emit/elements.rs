//! Loops over the elements of arrays: one after the other, or side by side as vectors.

use cotangent_ir::{Element, Integral};

use super::value::Val;
use super::{Emitter, Lanes, Result, internal};

impl Emitter<'_> {
    /// For each of some elements, one after the other.
    pub(super) fn each(
        &mut self,
        len: usize,
        body: impl FnOnce(&mut Self, &Val) -> Result<()>,
    ) -> Result<()> {
        match len {
            0 => Ok(()),
            1 => body(self, &Val::int(0)),
            _ => self.count("0", &len.to_string(), 1, |e, k| body(e, &Val::One(k.to_string()))),
        }
    }

    /// For some elements of arrays that lie side by side: as vectors of them where there are no lanes yet.
    pub(super) fn side_by_side(
        &mut self,
        len: usize,
        width: usize,
        cx: &Lanes,
        body: impl FnMut(&mut Self, &Val, &Lanes) -> Result<()>,
    ) -> Result<()> {
        self.side_by_side_in(1, len, width, cx, body)
    }

    /// The same, several vectors a round: each knows its number (`copy`), so that sums need not wait for each other.
    pub(super) fn side_by_side_in(
        &mut self,
        copies: usize,
        len: usize,
        width: usize,
        cx: &Lanes,
        body: impl FnMut(&mut Self, &Val, &Lanes) -> Result<()>,
    ) -> Result<()> {
        self.side_by_side_from(0, copies, len, width, cx, body)
    }

    /// The same from a whole vector on.
    pub(super) fn side_by_side_from(
        &mut self,
        first: usize,
        copies: usize,
        len: usize,
        width: usize,
        cx: &Lanes,
        mut body: impl FnMut(&mut Self, &Val, &Lanes) -> Result<()>,
    ) -> Result<()> {
        if cx.width > 1 || width == 1 || len == 1 {
            return self.each(len, |e, k| body(e, k, cx));
        }
        let inner = Lanes { width, mask: None };
        let round = copies * width;
        let rounds = if copies > 1 { first + (len - first) / round * round } else { first };
        if rounds > first {
            self.count(&first.to_string(), &rounds.to_string(), round, |e, k| {
                for copy in 0..copies {
                    let from = e.integral(
                        Integral::Add,
                        &Val::One(k.to_string()),
                        &Val::int((copy * width) as i64),
                        Element::I64,
                        &Lanes::none(),
                    );
                    let Val::One(from) = from else { return Err(internal("an index in lanes")) };
                    e.copy = copy;
                    body(e, &Val::Affine(from, 1), &inner)?;
                }
                e.copy = 0;
                Ok(())
            })?;
        }
        let whole = len / width * width;
        if whole == rounds + width {
            body(self, &Val::Affine(rounds.to_string(), 1), &inner)?;
        } else if whole > rounds {
            self.count(&rounds.to_string(), &whole.to_string(), width, |e, k| {
                body(e, &Val::Affine(k.to_string(), 1), &inner)
            })?;
        }
        if whole < len {
            let inner = Lanes { width, mask: Some(first_lanes(len - whole, width)) };
            body(self, &Val::Affine(whole.to_string(), 1), &inner)?;
        }
        Ok(())
    }

    /// For some of the elements that lie side by side, from a whole vector on to another or to the end.
    pub(super) fn side_by_side_between(
        &mut self,
        (from, to): &(String, String),
        len: usize,
        width: usize,
        mut body: impl FnMut(&mut Self, &Val, &Lanes) -> Result<()>,
    ) -> Result<()> {
        let whole = len / width * width;
        let less = self.op(format_args!("icmp slt i64 {to}, {whole}"));
        let end = self.op(format_args!("select i1 {less}, i64 {to}, i64 {whole}"));
        let all = Lanes { width, mask: None };
        self.count(from, &end, width, |e, k| body(e, &Val::Affine(k.to_string(), 1), &all))?;
        if whole == len {
            return Ok(());
        }
        let last = self.op(format_args!("icmp eq i64 {to}, {len}"));
        self.when(&last, |e| {
            let some = Lanes { width, mask: Some(first_lanes(len - whole, width)) };
            body(e, &Val::Affine(whole.to_string(), 1), &some)
        })
    }
}

impl Emitter<'_> {
    /// For the whole vectors of a block that lie between two places.
    pub(super) fn whole_between(
        &mut self,
        (from, to): &(String, String),
        (first, last): (usize, usize),
        width: usize,
        mut body: impl FnMut(&mut Self, &Val, &Lanes) -> Result<()>,
    ) -> Result<()> {
        let later = self.op(format_args!("icmp sgt i64 {from}, {first}"));
        let from = self.op(format_args!("select i1 {later}, i64 {from}, i64 {first}"));
        let earlier = self.op(format_args!("icmp slt i64 {to}, {last}"));
        let to = self.op(format_args!("select i1 {earlier}, i64 {to}, i64 {last}"));
        let all = Lanes { width, mask: None };
        self.count(&from, &to, width, |e, k| body(e, &Val::Affine(k.to_string(), 1), &all))
    }

    /// For the vectors before a place and from another on; of a block, those that are its own.
    pub(super) fn at_ends(
        &mut self,
        bounds: Option<&(String, String)>,
        (first, last): (usize, usize),
        len: usize,
        width: usize,
        body: &mut impl FnMut(&mut Self, &Val, &Lanes) -> Result<()>,
    ) -> Result<()> {
        for k in (0..first).step_by(width).chain((last..len).step_by(width)) {
            let mask = (k + width > len).then(|| first_lanes(len - k, width));
            let lanes = Lanes { width, mask };
            let at = Val::Affine(k.to_string(), 1);
            match bounds {
                None => body(self, &at, &lanes)?,
                Some((from, to)) => {
                    let low = self.op(format_args!("icmp sle i64 {from}, {k}"));
                    let high = self.op(format_args!("icmp sgt i64 {to}, {k}"));
                    let own = self.op(format_args!("and i1 {low}, {high}"));
                    self.when(&own, |e| body(e, &at, &lanes))?;
                }
            }
        }
        Ok(())
    }
}

/// The mask of the first few lanes.
pub(super) fn first_lanes(count: usize, width: usize) -> String {
    let bits: Vec<&str> =
        (0..width).map(|k| if k < count { "i1 true" } else { "i1 false" }).collect();
    format!("<{}>", bits.join(", "))
}
