//! Rows of lanes side by side, written as wholes: squares of elements and lanes are turned over in registers.
//!
//! Processors write one lane of a scatter after the other (and some take dozens of cycles to begin with: on Zen 4 the six
//! elements that thirty are longer than three vectors were a quarter of the time of a Jacobian), so none is left over: the last
//! square of a long row shares elements with the one before, and short rows are squares of which some lines do not count.

use cotangent_ir::{Element, Integral};

use super::elements::first_lanes;
use super::value::{Array, Base, Val};
use super::{Emitter, Lanes, Result, internal, llvm_type};

impl Emitter<'_> {
    /// Writes an array as a row of another.
    pub(super) fn store_row(
        &mut self,
        array: &Array,
        out: &Array,
        point: &Val,
        cx: &Lanes,
    ) -> Result<()> {
        let (w, len) = (cx.width, array.len);
        let row = self.integral(Integral::Mul, point, &Val::int(len as i64), Element::I64, cx);
        let own = array.varies && !out.varies && w > 1 && cx.mask.is_none();
        let number = array.element() != Element::Bool;
        if let (Val::Affine(_, 1), Val::Affine(first, _)) = (point, &row)
            && own
            && number
            && len > 1
        {
            let lines = self.gathered_rows(out);
            let (to, base) = match &lines {
                Some(lines) => {
                    let base = Base::Pointer(lines.room.clone());
                    let room = Array { watched: out.watched, ..Array::new(base, out.ty, out.len) };
                    (room, Val::One(lines.ahead.clone()))
                }
                None => (out.clone(), Val::One(first.clone())),
            };
            let whole = len / w * w;
            if whole > 0 {
                self.count("0", &whole.to_string(), w, |e, k| {
                    e.square((array, &to), &base, &Val::One(k.to_string()), cx)
                })?;
            }
            if len > whole {
                let last = Val::int(len.saturating_sub(w) as i64);
                self.square((array, &to), &base, &last, cx)?;
            }
            return match &lines {
                Some(lines) => self.write_lines((lines, out), first, len, w),
                None => Ok(()),
            };
        }
        self.each(len, |e, k| {
            let x = e.load(array, k, cx);
            let at = e.integral(Integral::Add, &row, k, Element::I64, cx);
            e.store(out, &at, &x, cx);
            Ok(())
        })
    }

    /// Writes a vector of elements of each lane, from an element on; of a shorter row all of them.
    fn square(
        &mut self,
        (array, out): (&Array, &Array),
        base: &Val,
        from: &Val,
        cx: &Lanes,
    ) -> Result<()> {
        let (w, none) = (cx.width, Lanes::none());
        let count = array.len.min(w);
        let mut rows = Vec::with_capacity(w);
        for c in 0..count {
            let at = self.integral(Integral::Add, from, &Val::int(c as i64), Element::I64, &none);
            match self.load(array, &at, cx) {
                Val::Many(x) => rows.push(x),
                _ => return Err(internal("an array without lanes")),
            }
        }
        rows.resize(w, "zeroinitializer".to_string());
        self.turn(&mut rows, array.element(), w);
        let mask = (count < w).then(|| first_lanes(count, w));
        let lanes = Lanes { width: w, mask };
        for (lane, x) in rows.into_iter().enumerate() {
            let far = Val::int((lane * array.len) as i64);
            let at = self.integral(Integral::Add, base, from, Element::I64, &none);
            let at = self.integral(Integral::Add, &at, &far, Element::I64, &none);
            let Val::One(at) = at else { return Err(internal("a place in lanes")) };
            self.store(out, &Val::Affine(at, 1), &Val::Many(x), &lanes);
        }
        Ok(())
    }

    /// Turns a square over: what was the element of a lane becomes the lane of an element.
    fn turn(&mut self, rows: &mut [String], element: Element, w: usize) {
        let ty = llvm_type(element, w);
        let mut d = 1;
        while d < w {
            for i in (0..w).filter(|i| i & d == 0) {
                let (a, b) = (rows[i].clone(), rows[i + d].clone());
                let pick = |low: bool| -> String {
                    let lane = |j: usize| match (j & d == 0, low) {
                        (true, true) => j,
                        (false, true) => w + j - d,
                        (true, false) => j + d,
                        (false, false) => w + j,
                    };
                    (0..w).map(|j| format!("i32 {}", lane(j))).collect::<Vec<_>>().join(", ")
                };
                let (low, high) = (pick(true), pick(false));
                rows[i] =
                    self.op(format_args!("shufflevector {ty} {a}, {ty} {b}, <{w} x i32> <{low}>"));
                rows[i + d] =
                    self.op(format_args!("shufflevector {ty} {a}, {ty} {b}, <{w} x i32> <{high}>"));
            }
            d *= 2;
        }
    }
}
