//! Short arrays that no lanes share: they stand on the stack in whole vectors, which LLVM keeps in registers, or are made where a loop
//! carries them.
//!
//! What is behind the last element of such an array is computed with, like all else, and never looked at. So no operation
//! needs a mask, and what one writes the next one reads as it was written: a vector that was written in part is not handed on
//! by the processor until it is in the cache (a step of an LSTM of 14 elements took twice as long with masks).

use cotangent_ir::{Element, Op, Type, Value};

use super::value::{Array, Base, Val, stored_type};
use super::{Emitter, Frame, Lanes, Result};

/// The most vectors of a short array.
pub(super) const VECTORS: usize = 4;

/// The most bytes of short arrays of a function; what is more stands in the arena, where vectors are written in part. (With 32 kB that was
/// a part of the arrays of a network of six layers, whose gradient took 1.1 times as long. LLVM puts 13 kB of them on the stack.)
const STACK: usize = 1 << 16;

impl Emitter<'_> {
    /// Whether an array stands on the stack.
    pub(super) fn is_short(&self, frame: &Frame<'_>, ty: Type, len: usize) -> bool {
        // The stack of one part of a long program is not that of the next.
        !frame.long
            && !self.options.scalar
            && len > 1
            && len * ty.element().bytes() <= VECTORS * self.vector_bytes
            && self.text.stack < STACK
    }

    /// Room for a short array.
    pub(super) fn short_array(&mut self, ty: Type, len: usize) -> Array {
        // Operations take two vectors at a time, of the widest element among their operands.
        let bytes = (len * ty.element().bytes()).next_multiple_of(2 * self.vector_bytes);
        self.text.stack += bytes;
        let place = self.slot(&format!("[{bytes} x i8], align 64"));
        Array { roomy: true, ..Array::new(Base::Pointer(place), ty, len) }
    }

    /// An operation on short arrays, element by element: where it is asked to be, or in an array of its own.
    pub(super) fn short(
        &mut self,
        vals: &[Val],
        from: &[Element],
        (op, ty, len): (Op, Type, usize),
        width: usize,
        place: Option<Array>,
    ) -> Result<Val> {
        let to = place.unwrap_or_else(|| self.short_array(ty, len));
        let mut k = 0;
        while k < len {
            // Two vectors at a time wait less for each other's results (an LSTM: 0.9 of the time), four have no registers left.
            let width = if len - k > width { 2 * width } else { width };
            let lanes = Lanes { width, mask: None };
            let at = Val::Affine(k.to_string(), 1);
            let mut args = Vec::with_capacity(vals.len());
            for val in vals {
                args.push(match val {
                    Val::Array(array) => self.load_whole(array, k, &lanes),
                    number => number.clone(),
                });
            }
            let x = self.pointwise(op, &args, from, ty.element(), &lanes)?;
            self.store(&to, &at, &x, &lanes);
            k += width;
        }
        Ok(Val::Array(to))
    }

    /// Where in the arena a short array may be written as it is made: in place of an operand that nobody needs any more, or where
    /// somebody wants it.
    pub(super) fn short_place(
        &mut self,
        frame: &Frame<'_>,
        value: Value,
        (operands, vals): (&[Value], &[Val]),
        ty: Type,
    ) -> Option<Array> {
        let fits = |e: &Self, array: &Array| {
            array.roomy && !array.varies && array.ty == ty && e.is_in_arena(array)
        };
        if let Some(place) = self.place_of(frame, value) {
            let place = Some(place).filter(|place| fits(self, place)).cloned()?;
            self.hand_over(&place);
            return Some(place);
        }
        let dest = frame.dests.get(&value);
        let place = operands.iter().zip(vals).find_map(|(operand, val)| match val {
            Val::Array(array)
                if fits(self, array)
                    && dest.is_none_or(|dest| dest.base == array.base)
                    && Self::dies(frame, *operand, value)
                    && self.is_alone(array) =>
            {
                Some(array.clone())
            }
            _ => None,
        })?;
        self.retain(&Val::Array(place.clone()));
        Some(place)
    }

    /// Elements side by side from a known place on; beyond the end there is anything, or zeros.
    fn load_whole(&mut self, array: &Array, from: usize, lanes: &Lanes) -> Val {
        let left = array.len.saturating_sub(from);
        let mask = match left >= lanes.width || self.is_roomy(array) {
            true => None,
            false => Some(super::elements::first_lanes(left, lanes.width)),
        };
        self.load(array, &Val::Affine(from.to_string(), 1), &Lanes { mask, ..lanes.clone() })
    }

    /// Whether a vector may be read that begins in an array and ends behind it.
    pub(super) fn is_roomy(&self, array: &Array) -> bool {
        array.roomy || self.is_in_arena(array)
    }

    /// Copies an array in whole vectors, if there is room for that.
    pub(super) fn copy_whole(&mut self, from: &Array, to: &Array) -> bool {
        let element = from.element();
        let width = self.width(element);
        let bytes = width * stored_type_bytes(element);
        let pays = from.len * stored_type_bytes(element) <= VECTORS * self.vector_bytes;
        if !pays || bytes != self.vector_bytes || !to.roomy {
            return false;
        }
        let lanes = Lanes { width, mask: None };
        for k in (0..from.len).step_by(width) {
            let x = self.load_whole(from, k, &lanes);
            self.store(to, &Val::Affine(k.to_string(), 1), &x, &lanes);
        }
        true
    }
}

/// Bytes of an element in memory.
fn stored_type_bytes(element: Element) -> usize {
    if stored_type(element, 1) == "i8" { 1 } else { element.bytes() }
}
