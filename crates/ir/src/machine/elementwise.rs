//! Operations element by element, lane by lane.

use std::rc::Rc;

use cotangent_numbers::Scalar;
use cotangent_ops::{Binary, Comparison, Ternary, Unary, Visitor};

use super::unknown::{Join, UNKNOWN, decided, either_way, integer, outcome};
use super::{Arg, Code, Machine, Slots, Step, UNDECIDED, fault, room, size_of};
use crate::functions::{self, By, CHUNK, Compute};
use crate::interpret::RunError;
use crate::op::{Integral, Op};
use crate::slot::{Integers, Kind, Numbers, Slot, Truths, View, by_kind};
use crate::types::{Dim, Element};

/// How many entries a result has.
#[derive(Clone, Copy)]
struct Extents {
    scalar: bool,
    varies: bool,
    /// Elements.
    len: usize,
    /// Lanes.
    width: usize,
}

impl Code<'_> {
    pub(super) fn operation<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        step: Step,
        args: &[Arg],
        slots: &mut Slots<S>,
        lanes: usize,
    ) -> Result<Slot<S>, RunError> {
        let f = self.function;
        let ty = step.ty;
        let varies = slots.iter().any(Slot::varies);
        let width = if varies { lanes } else { 1 };
        let len = match step.op {
            Op::Fill => match size_of(machine, ty) {
                Some(len) => len,
                None => return fault(f, format!("the size of {ty} is not known")),
            },
            _ => {
                let arrays = slots.iter().zip(args).filter(|(_, arg)| !arg.scalar());
                arrays.map(|(s, _)| s.len()).next().unwrap_or(1)
            }
        };
        room(f, len, width)?;
        // Sizes that are not known before are compared here.
        let other = slots.iter().zip(args).find(|(s, arg)| !arg.scalar() && s.len() != len);
        if let Some((other, arg)) = other {
            let (name, ty) = (step.op.name(), arg.ty);
            return fault(f, format!("`{name}` of {len} and of {} elements of {ty}", other.len()));
        }
        let to = Extents { scalar: ty.is_scalar(), varies, len, width };
        let numbers = |k: usize| slots[k].view::<Numbers<S>>(args[k].scalar(), lanes);
        let integers = |k: usize| slots[k].view::<Integers<S>>(args[k].scalar(), lanes);
        let truths = |k: usize| slots[k].view::<Truths<S>>(args[k].scalar(), lanes);
        Ok(match step.op {
            Op::Elementary(code, parameter) => {
                let last = args.len() - 1;
                let x = [numbers(0), numbers(1.min(last)), numbers(2.min(last))];
                if to.scalar && !varies {
                    return Ok(Slot::Number(code.visit(parameter, Compute(x.map(|x| x.at(0, 0))))));
                }
                let mut data = machine.buffer::<Numbers<S>>(len * width);
                if let Some(out) = Rc::get_mut(&mut data) {
                    code.visit(parameter, Map { x, len, width, out });
                }
                Slot::shared::<Numbers<S>>(data, to.scalar, varies, len)
            }
            Op::Compare(comparison) if args[0].ty.is_float() => {
                let (x, y) = (numbers(0), numbers(1));
                by_comparison(machine, to, comparison, x, y)
            }
            Op::Compare(comparison) => {
                let (x, y) = (integers(0), integers(1));
                let open = machine.open.then(either_way::<S>);
                machine.make::<Truths<S>>(to, |e, l| {
                    let (x, y) = (x.at(e, l), y.at(e, l));
                    match open {
                        Some(mask) if x == UNKNOWN || y == UNKNOWN => mask,
                        _ => S::Mask::from(comparison.holds(&x, &y)),
                    }
                })
            }
            Op::And => {
                let (x, y) = (truths(0), truths(1));
                machine.make::<Truths<S>>(to, |e, l| x.at(e, l) & y.at(e, l))
            }
            Op::Or => {
                let (x, y) = (truths(0), truths(1));
                machine.make::<Truths<S>>(to, |e, l| x.at(e, l) | y.at(e, l))
            }
            Op::Not => {
                let x = truths(0);
                machine.make::<Truths<S>>(to, |e, l| !x.at(e, l))
            }
            Op::Select => {
                let mask = truths(0);
                match ty.element() {
                    element if element.is_float() => {
                        let (x, y) = (numbers(1), numbers(2));
                        select(machine, to, mask, x, y)
                    }
                    Element::Bool => {
                        let (x, y) = (truths(1), truths(2));
                        machine.make::<Truths<S>>(to, |e, l| {
                            let mask = mask.at(e, l);
                            (mask & x.at(e, l)) | (!mask & y.at(e, l))
                        })
                    }
                    _ => {
                        let (x, y) = (integers(1), integers(2));
                        let open = machine.open;
                        let mut undecided = false;
                        let slot = machine.make::<Integers<S>>(to, |e, l| {
                            let (x, y) = (x.at(e, l), y.at(e, l));
                            let one = <Integers<S> as Join<S>>::join(mask.at(e, l), open, x, y);
                            undecided |= one.is_none();
                            one.unwrap_or(x)
                        });
                        if undecided {
                            return fault(f, UNDECIDED.to_string());
                        }
                        slot
                    }
                }
            }
            Op::Integral(integral) => {
                let (x, y) = (integers(0), integers(1));
                integral_all(machine, to, integral, ty.element(), x, y)
            }
            Op::Cast => self.cast(machine, &slots[0], args[0], ty.element(), to, lanes)?,
            Op::Fill => by_kind!(&slots[0], K => {
                let x = slots[0].view::<K<S>>(true, lanes);
                machine.make::<K<S>>(Extents { scalar: false, ..to }, |_, l| x.at(0, l))
            }),
            Op::Extent(k) => Slot::Integer(match args[0].ty.dims()[k as usize] {
                Dim::Size(n) => n as i64,
                Dim::Any if machine.summary => UNKNOWN,
                _ => match args[0].ty.after(1).len() {
                    Some(inner) if inner > 0 => (slots[0].len() / inner) as i64,
                    _ => {
                        let rows = args[0].ty.after(1);
                        return fault(f, format!("how many rows of {rows} there are is not kept"));
                    }
                },
            }),
            Op::Argsort => {
                let x = numbers(0);
                let mut data = vec![0i64; len * width];
                for lane in 0..width {
                    let keys: Vec<S> = (0..len).map(|e| x.at(e, lane)).collect();
                    let order = order(&keys);
                    for e in 0..len {
                        // Any order, if it is not known which.
                        data[e * width + lane] = order.as_ref().map_or(UNKNOWN, |o| o[e] as i64);
                    }
                }
                Slot::new::<Integers<S>>(data, false, varies, len)
            }
            // A copy of what derivatives do not see.
            Op::Stop | Op::Keep | Op::Recompute => slots.swap_remove(0),
            other => return fault(f, format!("`{}` cannot be run here", other.name())),
        })
    }

    fn cast<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        x: &Slot<S>,
        from: Arg,
        element: Element,
        to: Extents,
        lanes: usize,
    ) -> Result<Slot<S>, RunError> {
        let wrap = |c: i64| match element {
            Element::I32 if c != UNKNOWN => i64::from(c as i32),
            _ => c,
        };
        let (float, boolean) = (element.is_float(), element == Element::Bool);
        let open = machine.open;
        Ok(match x {
            Slot::Number(_) | Slot::Numbers(_) => {
                let x = x.view::<Numbers<S>>(from.scalar(), lanes);
                if float {
                    // To a single: rounded, where the number is a plain one.
                    machine.make::<Numbers<S>>(to, |e, l| x.at(e, l))
                } else if boolean {
                    machine.make::<Truths<S>>(to, |e, l| {
                        x.at(e, l).compare(S::zero(), Comparison::Differ)
                    })
                } else {
                    machine.make::<Integers<S>>(to, |e, l| wrap(integer(x.at(e, l))))
                }
            }
            Slot::Integer(_) | Slot::Integers(_) => {
                let x = x.view::<Integers<S>>(from.scalar(), lanes);
                let unknown = |c: i64| open && c == UNKNOWN;
                if float {
                    let any = <Numbers<S> as Join<S>>::any();
                    machine.make::<Numbers<S>>(to, |e, l| match x.at(e, l) {
                        c if unknown(c) => any,
                        c => S::constant(c as f64),
                    })
                } else if boolean {
                    let any = either_way::<S>();
                    machine.make::<Truths<S>>(to, |e, l| match x.at(e, l) {
                        c if unknown(c) => any,
                        c => S::Mask::from(c != 0),
                    })
                } else {
                    machine.make::<Integers<S>>(to, |e, l| wrap(x.at(e, l)))
                }
            }
            Slot::Truth(_) | Slot::Truths(_) => {
                let x = x.view::<Truths<S>>(from.scalar(), lanes);
                if float {
                    machine
                        .make::<Numbers<S>>(to, |e, l| S::select(x.at(e, l), S::one(), S::zero()))
                } else {
                    let mut undecided = false;
                    let slot = machine.make::<Integers<S>>(to, |e, l| {
                        outcome::<S>(x.at(e, l)).map_or_else(
                            || {
                                undecided = true;
                                UNKNOWN
                            },
                            i64::from,
                        )
                    });
                    if undecided && !open {
                        return fault(self.function, UNDECIDED.to_string());
                    }
                    slot
                }
            }
        })
    }
}

impl<S: Scalar> Machine<'_, S> {
    /// A value, entry by entry.
    #[inline(always)]
    fn make<K: Kind<S>>(
        &mut self,
        to: Extents,
        mut f: impl FnMut(usize, usize) -> K::Item,
    ) -> Slot<S> {
        if to.scalar && !to.varies {
            return K::single(f(0, 0));
        }
        let mut data = self.buffer::<K>(to.len * to.width);
        if let Some(out) = Rc::get_mut(&mut data) {
            for e in 0..to.len {
                out.extend((0..to.width).map(|lane| f(e, lane)));
            }
        }
        K::many(crate::slot::List { data, varies: to.varies, len: to.len })
    }

    /// A value of entries that stand beside each other.
    #[inline(always)]
    fn zip<K: Kind<S>, T: Copy, U: Copy>(
        &mut self,
        to: Extents,
        (x, y): (View<'_, T>, View<'_, U>),
        f: impl Fn(T, U) -> K::Item,
    ) -> Slot<S> {
        let entries = to.len * to.width;
        let (xs, ys) = (x.full(entries), y.full(entries));
        if entries <= 1 || (xs.is_none() && ys.is_none()) {
            return self.make::<K>(to, |e, l| f(x.at(e, l), y.at(e, l)));
        }
        let mut data = self.buffer::<K>(entries);
        if let Some(out) = Rc::get_mut(&mut data) {
            match (xs, ys, x.only(), y.only()) {
                (Some(xs), Some(ys), ..) => out.extend(xs.iter().zip(ys).map(|(x, y)| f(*x, *y))),
                (Some(xs), _, _, Some(y)) => out.extend(xs.iter().map(|x| f(*x, y))),
                (_, Some(ys), Some(x), _) => out.extend(ys.iter().map(|y| f(x, *y))),
                _ => {
                    for e in 0..to.len {
                        out.extend((0..to.width).map(|l| f(x.at(e, l), y.at(e, l))));
                    }
                }
            }
        }
        K::many(crate::slot::List { data, varies: to.varies, len: to.len })
    }
}

/// The order of numbers, if it is the same for all that they may stand for.
fn order<S: Scalar>(keys: &[S]) -> Option<Vec<usize>> {
    let plain: Option<Vec<f64>> = keys.iter().map(|x| decided(*x)).collect();
    let sure = plain.is_some();
    let samples: Vec<f64> = match plain {
        Some(plain) => plain,
        None => keys.iter().map(|x| x.sample()).collect::<Option<_>>()?,
    };
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|a, b| samples[*a].total_cmp(&samples[*b]));
    let stays = |pair: &[usize]| {
        let (a, b) = (keys[pair[0]], keys[pair[1]]);
        // Equal ones stay as they are.
        let below = if pair[0] < pair[1] { a.at_most(b) } else { a.less(b) };
        outcome::<S>(below) == Some(true)
    };
    (sure || order.windows(2).all(stays)).then_some(order)
}

fn by_comparison<S: Scalar>(
    machine: &mut Machine<'_, S>,
    to: Extents,
    comparison: Comparison,
    x: View<'_, S>,
    y: View<'_, S>,
) -> Slot<S> {
    // One loop for each comparison, so that nothing is chosen inside it.
    match comparison {
        Comparison::Less => machine.zip::<Truths<S>, _, _>(to, (x, y), |x, y| x.less(y)),
        Comparison::AtMost => machine.zip::<Truths<S>, _, _>(to, (x, y), |x, y| x.at_most(y)),
        Comparison::Greater => machine.zip::<Truths<S>, _, _>(to, (x, y), |x, y| x.greater(y)),
        Comparison::AtLeast => machine.zip::<Truths<S>, _, _>(to, (x, y), |x, y| x.at_least(y)),
        other => machine.zip::<Truths<S>, _, _>(to, (x, y), |x, y| x.compare(y, other)),
    }
}

fn select<S: Scalar>(
    machine: &mut Machine<'_, S>,
    to: Extents,
    mask: View<'_, S::Mask>,
    x: View<'_, S>,
    y: View<'_, S>,
) -> Slot<S> {
    let entries = to.len * to.width;
    if let (Some(masks), Some(xs), Some(ys)) =
        (mask.full(entries), x.full(entries), y.full(entries))
        && entries > 1
    {
        let mut data = machine.buffer::<Numbers<S>>(entries);
        if let Some(out) = Rc::get_mut(&mut data) {
            let both = xs.iter().zip(ys).zip(masks);
            out.extend(both.map(|((x, y), mask)| S::select(*mask, *x, *y)));
        }
        return Slot::shared::<Numbers<S>>(data, to.scalar, to.varies, to.len);
    }
    machine.make::<Numbers<S>>(to, |e, l| S::select(mask.at(e, l), x.at(e, l), y.at(e, l)))
}

fn integral_all<S: Scalar>(
    machine: &mut Machine<'_, S>,
    to: Extents,
    integral: Integral,
    element: Element,
    x: View<'_, i64>,
    y: View<'_, i64>,
) -> Slot<S> {
    if machine.open {
        return machine.make::<Integers<S>>(to, |e, l| match (x.at(e, l), y.at(e, l)) {
            (UNKNOWN, _) | (_, UNKNOWN) => UNKNOWN,
            (x, y) => integral.apply(x, y, element),
        });
    }
    match (integral, element) {
        (Integral::Add, Element::I64) => {
            machine.zip::<Integers<S>, _, _>(to, (x, y), i64::wrapping_add)
        }
        (Integral::Sub, Element::I64) => {
            machine.zip::<Integers<S>, _, _>(to, (x, y), i64::wrapping_sub)
        }
        (Integral::Mul, Element::I64) => {
            machine.zip::<Integers<S>, _, _>(to, (x, y), i64::wrapping_mul)
        }
        _ => machine.zip::<Integers<S>, _, _>(to, (x, y), |x, y| integral.apply(x, y, element)),
    }
}

/// An operation of the table on all entries.
struct Map<'v, S> {
    x: [View<'v, S>; 3],
    len: usize,
    width: usize,
    out: &'v mut Vec<S>,
}

impl<S: Scalar> Map<'_, S> {
    #[inline(always)]
    fn all(self, f: impl Fn(usize, usize) -> S) {
        for e in 0..self.len {
            self.out.extend((0..self.width).map(|lane| f(e, lane)));
        }
    }
}

/// A function of plain numbers that stand side by side; whether that is what they are.
fn in_vectors<S: Scalar>(by: By, parameter: i32, x: &[S], y: &[S], out: &mut Vec<S>) -> bool {
    let before = out.len();
    out.resize(before + x.len(), S::zero());
    let done = functions::on_slices(by, parameter, x, y, &mut out[before..]);
    if !done {
        out.truncate(before);
    }
    done
}

impl<S: Scalar> Map<'_, S> {
    /// A function of two plain numbers at all entries; whether that is what they are.
    fn in_vectors(&mut self, by: By) -> bool {
        let entries = self.len * self.width;
        let [x, y, _] = self.x;
        if let (Some(x), Some(y)) = (x.full(entries), y.full(entries)) {
            return in_vectors(by, 0, x, y, self.out);
        }
        // Gathered, where one is the same for many.
        let (mut xs, mut ys) = ([S::zero(); CHUNK], [S::zero(); CHUNK]);
        let mut at = 0;
        while at < entries {
            let count = CHUNK.min(entries - at);
            for k in 0..count {
                let (e, l) = ((at + k) / self.width, (at + k) % self.width);
                (xs[k], ys[k]) = (x.at(e, l), y.at(e, l));
            }
            if !in_vectors(by, 0, &xs[..count], &ys[..count], self.out) {
                return false;
            }
            at += count;
        }
        true
    }
}

impl<S: Scalar> Visitor for Map<'_, S> {
    type Output = ();

    fn unary<O: Unary>(self, op: O) {
        // As many results as there are entries, so the entries stand as the results do.
        let x = self.x[0].data;
        if S::PLAIN
            && let Some(by) = const { functions::function(O::INFO.opcode) }
            && in_vectors(by, op.parameter(), x, x, self.out)
        {
            return;
        }
        self.out.extend(x.iter().map(|x| op.value(*x)));
    }

    fn binary<O: Binary>(mut self, op: O) {
        let entries = self.len * self.width;
        let [x, y, _] = self.x;
        if S::PLAIN
            && let Some(by) = const { functions::function(O::INFO.opcode) }
            && self.in_vectors(by)
        {
            return;
        }
        match (x.full(entries), y.full(entries), x.only(), y.only()) {
            (Some(xs), Some(ys), ..) => {
                self.out.extend(xs.iter().zip(ys).map(|(x, y)| op.value(*x, *y)));
            }
            (Some(xs), _, _, Some(y)) => self.out.extend(xs.iter().map(|x| op.value(*x, y))),
            (_, Some(ys), Some(x), _) => self.out.extend(ys.iter().map(|y| op.value(x, *y))),
            _ => self.all(|e, l| op.value(x.at(e, l), y.at(e, l))),
        }
    }

    fn ternary<O: Ternary>(self, op: O) {
        let [x, y, z] = self.x;
        self.all(|e, l| op.value(x.at(e, l), y.at(e, l), z.at(e, l)));
    }
}
