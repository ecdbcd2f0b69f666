//! What is known of all lanes while text is written: the indices at the ends of stencils, which are clamped, and loads at them.
//!
//! There are instructions that load each lane from a place of its own, but they take as long as eight loads. At an end most lanes
//! still stand side by side, and the others are the same element. (The gradient of Rosenbrock as a table, n = 10: 28 ns with such
//! instructions, 15 without.)

use cotangent_ir::{Element, Integral};
use cotangent_ops::Comparison;

use super::value::{Array, Val, scalar_type};
use super::{Emitter, Lanes, llvm_type};

impl Val {
    /// The integers that the lanes are known to be.
    pub(super) fn lanes(&self, width: usize) -> Option<Vec<i64>> {
        match self {
            Val::One(text) => Some(vec![text.parse().ok()?; width]),
            Val::Affine(text, step) => {
                let first: i64 = text.parse().ok()?;
                let at = |k: usize| first.checked_add(step.checked_mul(i64::try_from(k).ok()?)?);
                (0..width).map(at).collect()
            }
            Val::Many(text) => {
                let all = text.strip_prefix('<')?.strip_suffix('>')?.split(", ");
                all.map(|lane| lane.split_once(' ')?.1.parse().ok()).collect()
            }
            _ => None,
        }
    }

    /// Integers as lanes.
    fn of_lanes(lanes: &[i64], element: Element) -> Val {
        let first = lanes.first().copied().unwrap_or_default();
        let step = lanes.get(1).and_then(|second| second.checked_sub(first)).unwrap_or_default();
        let at = |k: usize| first.wrapping_add(step.wrapping_mul(k as i64));
        // What goes up by steps is written as integers of 64 bits.
        let stepped = step == 0 || element == Element::I64;
        if stepped && lanes.iter().enumerate().all(|(k, lane)| *lane == at(k)) {
            return if step == 0 { Val::int(first) } else { Val::Affine(first.to_string(), step) };
        }
        let one = scalar_type(element);
        Val::Many(vector(lanes.iter().map(|lane| format!("{one} {lane}"))))
    }

    /// Integers that are known in all lanes of both.
    pub(super) fn folded(
        integral: Integral,
        x: &Val,
        y: &Val,
        element: Element,
        width: usize,
    ) -> Option<Val> {
        let (x, y) = (x.lanes(width)?, y.lanes(width)?);
        let lanes: Vec<i64> =
            x.into_iter().zip(y).map(|(x, y)| integral.apply(x, y, element)).collect();
        Some(Val::of_lanes(&lanes, element))
    }

    /// How such integers compare.
    pub(super) fn compared(comparison: Comparison, x: &Val, y: &Val, width: usize) -> Option<Val> {
        let (x, y) = (x.lanes(width)?, y.lanes(width)?);
        let lanes: Vec<bool> = x.iter().zip(&y).map(|(x, y)| comparison.holds(x, y)).collect();
        match lanes.iter().all(|lane| *lane == lanes[0]) {
            true => Some(Val::One(lanes[0].to_string())),
            false => Some(Val::Many(vector(lanes.iter().map(|lane| format!("i1 {lane}"))))),
        }
    }
}

/// A constant vector.
fn vector(lanes: impl Iterator<Item = String>) -> String {
    format!("<{}>", lanes.collect::<Vec<String>>().join(", "))
}

impl Emitter<'_> {
    /// Elements at places that are known: most side by side, and the others the same for several lanes, as where a stencil ends.
    /// Otherwise none, and each lane loads for itself.
    pub(super) fn load_known(&mut self, array: &Array, index: &Val, cx: &Lanes) -> Option<Val> {
        let (element, w) = (array.element(), cx.width);
        let places = index.lanes(w)?;
        let counts: Vec<bool> = match &cx.mask {
            None => vec![true; w],
            Some(mask) => known_mask(mask)?,
        };
        // By where lane 0 would be: how many lanes stand beside it.
        let first = |k: usize| places[k].wrapping_sub(k as i64);
        let beside =
            |at: i64| (0..w).filter(|k| counts[*k] && first(*k) == at).collect::<Vec<usize>>();
        let own = (0..w).filter(|k| counts[*k]).map(first).max_by_key(|at| beside(*at).len())?;
        let side = beside(own);
        let mut others: Vec<i64> =
            (0..w).filter(|k| counts[*k] && !side.contains(k)).map(|k| places[k]).collect();
        others.sort_unstable();
        others.dedup();
        if side.len() == 1 && others.iter().all(|at| *at == places[side[0]]) {
            return Some(self.load(array, &Val::int(places[side[0]]), cx));
        }
        if others.len() > 2 {
            return None;
        }
        let mask_of =
            |lanes: &dyn Fn(usize) -> bool| vector((0..w).map(|k| format!("i1 {}", lanes(k))));
        let place = self.address(array, &own.to_string(), w);
        let x = self.load_masked(&place, element, w, &mask_of(&|k| side.contains(&k)));
        let mut all = self.loaded(x, element, w);
        for at in others {
            let one = self.load(array, &Val::int(at), cx);
            let one = self.many(&one, element, cx);
            let mask = mask_of(&|k| !side.contains(&k) && places[k] == at);
            let (masks, ty) = (llvm_type(Element::Bool, w), llvm_type(element, w));
            all = self.op(format_args!("select {masks} {mask}, {ty} {one}, {ty} {all}"));
        }
        Some(Val::Many(all))
    }
}

/// The lanes of a mask, if it is a constant.
fn known_mask(mask: &str) -> Option<Vec<bool>> {
    let all = mask.strip_prefix('<')?.strip_suffix('>')?.split(", ");
    all.map(|lane| lane.strip_prefix("i1 ")?.parse().ok()).collect()
}
