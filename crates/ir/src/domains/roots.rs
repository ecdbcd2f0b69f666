//! All zeros of a small square system in a box, enclosed: branch and prune.
//!
//! Boxes are contracted, tested by the operator of Krawczyk (Neumaier, *Interval methods for systems of
//! equations*, 1990, chapter 5) and halved. Nothing is dropped without proof.

use std::fmt;

use cotangent_numbers::interval::Trilean;
use cotangent_numbers::{Dual, Interval};
use cotangent_ops::{Elementary, Opcode};

use crate::domains::contract::{ContractError, Contracted, Contractor};
use crate::domains::inverse::set;
use crate::function::Function;
use crate::interpret::Room;
use crate::op::Op;

/// The most boxes that are looked at; those that are left then are given as they are.
const BOXES: usize = 200_000;
/// The most steps in which the enclosure of a zero is made narrower.
const STEPS: usize = 50;
/// By how much a box is made wider on each side so that a zero on its edge is inside.
const WIDER: f64 = 0.1;

/// A box in which there is, or may be, a zero.
#[derive(Clone, Debug)]
pub struct Enclosure {
    /// Its sides.
    pub sides: Vec<Interval>,
    /// Whether it is proven that there is exactly one zero in it. If not, there may be any number, or none.
    pub unique: bool,
}

impl fmt::Display for Enclosure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.unique { "one zero in " } else { "perhaps zeros in " })?;
        let sides: Vec<String> = self.sides.iter().map(ToString::to_string).collect();
        f.write_str(&sides.join(" × "))
    }
}

/// Encloses all zeros of a function with as many results as inputs in a box: every zero in the box lies in
/// one of the enclosures, and no enclosure that is proven to have exactly one zero shares it with another.
/// Sides of enclosures that are not proven are narrower than the tolerance, unless too many boxes are left.
///
/// ```
/// use cotangent_ir::{roots, trace};
/// use cotangent_numbers::Interval;
///
/// // A circle and a line.
/// let f = trace("f", 2, |x| vec![x[0] * x[0] + x[1] * x[1] - 2.0, x[0] - x[1]]).unwrap();
/// let found = roots(&f, &[Interval::new(-10.0, 10.0); 2], 1e-8)?;
/// assert_eq!(found.len(), 2);
/// assert!(found.iter().all(|zero| zero.unique));
/// assert!(found[1].sides.iter().all(|side| side.contains(1.0)));
/// # Ok::<(), cotangent_ir::ContractError>(())
/// ```
///
/// # Errors
/// Another number of results than inputs, of intervals than inputs, and a function that cannot be
/// [unrolled](crate::unrolled).
pub fn roots(
    f: &Function,
    sides: &[Interval],
    tolerance: f64,
) -> Result<Vec<Enclosure>, ContractError> {
    let contractor = Contractor::new(f)?;
    let n = contractor.flat.params().len();
    let length = |what: &'static str, found: usize| match n == found {
        true => Ok(()),
        false => {
            let function = f.name().to_string();
            Err(ContractError::Length { function, what, expected: n, found })
        }
    };
    length("inputs", sides.len())?;
    length("inputs; as many results are needed", contractor.flat.results().len())?;
    let mut search = Search {
        n,
        tolerance: tolerance.max(0.0),
        domain: sides.iter().map(|side| set(*side)).collect(),
        contractor,
        zeros: Vec::new(),
        doubtful: Vec::new(),
        room: Room::default(),
    };
    search.run()?;
    Ok(search.result())
}

/// A zero: the box in which it is the only one, and a narrower one that it is in.
struct Zero {
    alone: Vec<Interval>,
    sides: Vec<Interval>,
}

struct Search {
    n: usize,
    tolerance: f64,
    domain: Vec<Interval>,
    contractor: Contractor,
    zeros: Vec<Zero>,
    doubtful: Vec<Vec<Interval>>,
    room: Room<Dual<Interval>>,
}

/// What the operator of Krawczyk says.
enum Verdict {
    /// No zero in the box.
    Nothing,
    /// Exactly one, in the narrower box.
    One(Vec<Interval>),
    /// All zeros are in the narrower box.
    Within(Vec<Interval>),
    /// It does not apply.
    Unknown,
}

impl Search {
    fn run(&mut self) -> Result<(), ContractError> {
        let zero = vec![Interval::point(0.0); self.n];
        let mut open = vec![self.domain.clone()];
        let mut looked = 0usize;
        while let Some(mut sides) = open.pop() {
            looked += 1;
            if looked > BOXES {
                self.doubtful.push(sides);
                self.doubtful.append(&mut open);
                break;
            }
            if self.contractor.contract(&mut sides, &zero)? == Contracted::Empty {
                continue;
            }
            // What lies where a known zero is the only one needs no further look.
            if self.zeros.iter().any(|known| inside(&sides, &known.alone)) {
                continue;
            }
            match self.krawczyk(&sides) {
                Verdict::Nothing => continue,
                Verdict::One(inner) => {
                    self.found(sides, inner);
                    continue;
                }
                Verdict::Within(inner) => {
                    let much =
                        inner.iter().zip(&sides).any(|(new, old)| new.width() < 0.7 * old.width());
                    sides = inner;
                    if much {
                        open.push(sides);
                        continue;
                    }
                }
                Verdict::Unknown => {}
            }
            // A zero on the edge of a box is inside a wider one.
            let wider: Vec<Interval> = sides.iter().map(|side| widened(*side)).collect();
            if let Verdict::One(inner) = self.krawczyk(&wider) {
                self.found(wider, inner);
                continue;
            }
            let widest = (0..self.n).max_by(|a, b| sides[*a].width().total_cmp(&sides[*b].width()));
            let Some(k) = widest else { continue };
            let (low, high) = sides[k].split();
            let whole =
                |side: Interval| side.low() == sides[k].low() && side.high() == sides[k].high();
            if sides[k].width() <= self.tolerance || whole(low) || whole(high) {
                self.doubtful.push(sides);
                continue;
            }
            let mut other = sides.clone();
            (sides[k], other[k]) = (set(low), set(high));
            open.push(other);
            open.push(sides);
        }
        Ok(())
    }

    /// Keeps a zero, unless it is known or outside.
    fn found(&mut self, alone: Vec<Interval>, mut sides: Vec<Interval>) {
        for _ in 0..STEPS {
            if sides.iter().all(|side| side.width() <= self.tolerance) {
                break;
            }
            let before: Vec<f64> = sides.iter().map(|side| side.width()).collect();
            match self.krawczyk(&sides) {
                Verdict::One(inner) | Verdict::Within(inner) => sides = inner,
                Verdict::Nothing | Verdict::Unknown => break,
            }
            if sides.iter().zip(&before).all(|(side, before)| side.width() >= 0.9 * before) {
                break;
            }
        }
        let outside = sides.iter().zip(&self.domain).any(|(a, b)| a.intersection(*b).is_empty());
        let known = self
            .zeros
            .iter()
            .any(|zero| inside(&sides, &zero.alone) || inside(&zero.sides, &alone));
        if !outside && !known {
            self.zeros.push(Zero { alone, sides });
        }
    }

    /// K(X) = m − Y·f(m) + (I − Y·J(X))·(X − m), with Y near the inverse of J at the midpoint m.
    fn krawczyk(&mut self, sides: &[Interval]) -> Verdict {
        let n = self.n;
        if sides.iter().any(|side| !side.low().is_finite() || !side.high().is_finite()) {
            return Verdict::Unknown;
        }
        let middle: Vec<Interval> =
            sides.iter().map(|side| Interval::point(side.midpoint())).collect();
        let Some(jacobian) = self.jacobian(sides) else { return Verdict::Unknown };
        let Some(inverse) = inverse(&jacobian, n) else { return Verdict::Unknown };
        let Ok(at) = self.contractor.flat.run(&middle) else { return Verdict::Unknown };
        if at.iter().any(|y| y.is_empty() || !y.is_total() || !y.all_finite()) {
            return Verdict::Unknown;
        }
        let mut inner = Vec::with_capacity(n);
        let mut proven = true;
        for i in 0..n {
            let y = |j: usize| Interval::point(inverse[i * n + j]);
            let mut k = middle[i];
            for j in 0..n {
                k -= y(j) * at[j];
            }
            for j in 0..n {
                let mut entry = Interval::point(if i == j { 1.0 } else { 0.0 });
                for l in 0..n {
                    entry -= y(l) * jacobian[l * n + j];
                }
                k += entry * (sides[j] - middle[j]);
            }
            if !k.all_finite() || k.is_empty() {
                return Verdict::Unknown;
            }
            proven &= sides[i].low() < k.low() && k.high() < sides[i].high();
            inner.push(set(k.intersection(sides[i])));
        }
        if inner.iter().any(|side| side.is_empty()) {
            return Verdict::Nothing;
        }
        if proven { Verdict::One(inner) } else { Verdict::Within(inner) }
    }

    /// Bounds of the Jacobian over a box, row by row, if the function is defined and continuous there.
    fn jacobian(&mut self, sides: &[Interval]) -> Option<Vec<Interval>> {
        let n = self.n;
        let flat = &self.contractor.flat;
        if !flat.guards().is_empty() || !is_continuous(flat, sides) {
            return None;
        }
        let mut entries = vec![Interval::point(0.0); n * n];
        for j in 0..n {
            let x: Vec<Dual<Interval>> = (0..n)
                .map(|k| {
                    let seed = if k == j { 1.0 } else { 0.0 };
                    Dual::new(sides[k], [Interval::point(seed)])
                })
                .collect();
            flat.run_unguarded(&x, &mut self.room).ok()?;
            for (i, result) in flat.results().iter().enumerate() {
                let y = self.room.number(*result);
                let slope = y.partials[0];
                if !(y.value.is_total() && slope.is_total())
                    || y.value.is_empty()
                    || slope.is_empty()
                    || !slope.all_finite()
                {
                    return None;
                }
                entries[i * n + j] = slope;
            }
        }
        Some(entries)
    }

    /// The zeros in order, and what may be such: boxes that touch are one.
    fn result(mut self) -> Vec<Enclosure> {
        let mut left: Vec<Vec<Interval>> = Vec::new();
        for sides in std::mem::take(&mut self.doubtful) {
            if self.zeros.iter().any(|zero| inside(&sides, &zero.alone)) {
                continue;
            }
            let mut sides = sides;
            // What has become larger may touch more.
            while let Some(k) = left.iter().position(|other| touch(&sides, other)) {
                let other = left.swap_remove(k);
                sides = sides.iter().zip(&other).map(|(a, b)| set(a.hull(*b))).collect();
            }
            left.push(sides);
        }
        let proven = self.zeros.into_iter().map(|z| Enclosure { sides: z.sides, unique: true });
        let mut all: Vec<Enclosure> = proven.collect();
        all.extend(left.into_iter().map(|sides| Enclosure { sides, unique: false }));
        all.sort_by(|a, b| {
            let keys = a.sides.iter().zip(&b.sides).map(|(x, y)| x.low().total_cmp(&y.low()));
            keys.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
        all
    }
}

fn inside(a: &[Interval], b: &[Interval]) -> bool {
    a.iter().zip(b).all(|(a, b)| b.low() <= a.low() && a.high() <= b.high())
}

fn touch(a: &[Interval], b: &[Interval]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.low() <= b.high() && b.low() <= a.high())
}

/// Wider by a part on each side.
fn widened(side: Interval) -> Interval {
    let by = WIDER * side.width() + 1e-12 * side.midpoint().abs() + 1e-300;
    Interval::new(side.low() - by, side.high() + by)
}

/// An approximate inverse of the midpoint of a matrix.
fn inverse(entries: &[Interval], n: usize) -> Option<Vec<f64>> {
    let mut a: Vec<f64> = entries.iter().map(|x| x.midpoint()).collect();
    let mut b = vec![0.0; n * n];
    (0..n).for_each(|i| b[i * n + i] = 1.0);
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs()))?;
        if !(a[pivot * n + k].abs() > 1e-300 && a[pivot * n + k].is_finite()) {
            return None;
        }
        for j in 0..n {
            a.swap(k * n + j, pivot * n + j);
            b.swap(k * n + j, pivot * n + j);
        }
        let scale = a[k * n + k];
        for j in 0..n {
            a[k * n + j] /= scale;
            b[k * n + j] /= scale;
        }
        for i in (0..n).filter(|i| *i != k) {
            let factor = a[i * n + k];
            for j in 0..n {
                a[i * n + j] -= factor * a[k * n + j];
                b[i * n + j] -= factor * b[k * n + j];
            }
        }
    }
    b.iter().all(|x| x.is_finite()).then_some(b)
}

/// Whether no operation jumps inside the box.
fn is_continuous(f: &Function, sides: &[Interval]) -> bool {
    let mut room: Room<Interval> = Room::default();
    if f.run_unguarded(sides, &mut room).is_err() {
        return false;
    }
    f.values().all(|value| {
        let operand = |k: usize| room.number(f.operand(value, k));
        match f.op(value) {
            Op::Select => room.mask(f.operand(value, 0)) != Trilean::Unknown,
            Op::Elementary(code, _) => match code {
                Opcode::Floor | Opcode::Ceil | Opcode::Round | Opcode::Trunc | Opcode::Signum => {
                    let y = room.number(value);
                    y.low() == y.high()
                }
                Opcode::Sgn | Opcode::Fract | Opcode::Rem => false,
                Opcode::Copysign | Opcode::StrongDiv => !operand(1).contains(0.0),
                Opcode::Atan2 => operand(1).low() > 0.0 || !operand(0).contains(0.0),
                _ => true,
            },
            _ => true,
        }
    })
}
