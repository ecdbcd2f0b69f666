//! Kernels: the body at every point of a domain.

use std::rc::Rc;

use cotangent_numbers::Scalar;
use cotangent_ops::Comparison;

use super::unknown::{UNKNOWN, outcome};
use super::watch::At;
use super::{Code, Frame, Machine, Slots, UNDECIDED, fault, list, room};
use crate::function::{Function, Value};
use crate::interpret::RunError;
use crate::op::Integral;
use crate::slot::{Integers, Kind, Numbers, Slot, Truths, by_kind};
use crate::structure::Reducer;
use crate::table::Entries;
use crate::types::{Dim, Element, Type};

impl Code<'_> {
    /// The entries of a table.
    pub(super) fn table<S: Scalar>(&self, value: Value) -> Slot<S> {
        let len = self.function.ty(value).len().unwrap_or(0);
        match self.function.table(value).map(|table| table.entries()) {
            Some(Entries::Numbers(entries)) => {
                let data = entries.iter().map(|bits| S::constant(f64::from_bits(*bits))).collect();
                Slot::new::<Numbers<S>>(data, false, false, len)
            }
            Some(Entries::Integers(entries)) => {
                Slot::new::<Integers<S>>(entries.clone(), false, false, len)
            }
            None => Slot::new::<Integers<S>>(Vec::new(), false, false, 0),
        }
    }

    pub(super) fn domain(&self, dims: &[Dim]) -> Result<(Vec<usize>, usize), RunError> {
        let mut sizes = Vec::with_capacity(dims.len());
        for dim in dims {
            match dim {
                Dim::Size(n) => sizes.push(*n),
                other => {
                    let what = format!("the dimension {other} has no size; give it one first");
                    return fault(self.function, what);
                }
            }
        }
        match sizes.iter().try_fold(1usize, |all, n| all.checked_mul(*n)) {
            Some(points) if points < 1 << 40 => Ok((sizes, points)),
            _ => fault(self.function, format!("a domain of {sizes:?} points is too large")),
        }
    }

    /// The results of a body at all points of a domain, a block of points at a time. With several lanes
    /// around it, points come one after the other.
    #[allow(clippy::too_many_arguments, reason = "what a kernel is made of")]
    fn points<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        value: Value,
        code: &Code<'_>,
        dims: &[Dim],
        captures: &[Option<Slot<S>>],
        lanes: usize,
        mut each: impl FnMut(&mut Machine<'_, S>, usize, usize, &[Slot<S>]) -> Result<(), RunError>,
    ) -> Result<usize, RunError> {
        let (sizes, points) = self.domain(dims)?;
        let block = if lanes > 1 || code.asks { 1 } else { machine.block };
        let mut frame = Frame::new(code.function);
        let mut first = 0;
        while first < points {
            let count = block.min(points - first);
            let width = if lanes > 1 { lanes } else { count };
            let mut args: Vec<Option<Slot<S>>> = Vec::with_capacity(dims.len() + captures.len());
            args.extend(indices(&sizes, points, first, if lanes > 1 { 1 } else { count }));
            args.extend(captures.iter().cloned());
            let at = At::Points(first, &sizes);
            machine.enter(self.function, value, 0, at, width);
            let results = code.run(machine, &mut frame, args, width)?;
            each(machine, first, count, &results)?;
            machine.leave();
            results.into_iter().for_each(|slot| machine.recycle(slot));
            first += count;
        }
        Ok(points)
    }

    #[allow(clippy::too_many_arguments, reason = "what a kernel is made of")]
    pub(super) fn tab<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        value: Value,
        code: &Code<'_>,
        dims: &[Dim],
        body: &Function,
        captures: &[Option<Slot<S>>],
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let (_, points) = self.domain(dims)?;
        let types: Vec<Type> = body.results().iter().map(|v| body.ty(*v)).collect();
        let mut all: Vec<Slot<S>> = Vec::with_capacity(types.len());
        for ty in &types {
            let Some(total) = ty.len().and_then(|len| len.checked_mul(points)) else {
                return fault(self.function, format!("{points} of {ty} are too many"));
            };
            room(self.function, total, lanes)?;
            all.push(match ty.element() {
                element if element.is_float() => Numbers::<S>::many(list(S::zero(), total, lanes)),
                Element::Bool => Truths::<S>::many(list(S::Mask::from(false), total, lanes)),
                _ => Integers::<S>::many(list(0, total, lanes)),
            });
        }
        self.points(machine, value, code, dims, captures, lanes, |_, first, count, results| {
            for ((result, into), ty) in results.iter().zip(&mut all).zip(&types) {
                let len = result.len();
                by_kind!(result, K => {
                    let from = result.view::<K<S>>(ty.is_scalar(), if lanes > 1 { lanes } else { count });
                    if let Some(list) = K::<S>::list_mut(into) {
                        let data = Rc::make_mut(&mut list.data);
                        if lanes > 1 {
                            for e in 0..len {
                                for lane in 0..lanes {
                                    data[(first * len + e) * lanes + lane] = from.at(e, lane);
                                }
                            }
                        } else {
                            for point in 0..count {
                                for e in 0..len {
                                    data[(first + point) * len + e] = from.at(e, point);
                                }
                            }
                        }
                    }
                });
            }
            Ok(())
        })?;
        Ok(all)
    }

    #[allow(clippy::too_many_arguments, reason = "what a kernel is made of")]
    pub(super) fn red<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        value: Value,
        code: &Code<'_>,
        (dims, reducer): (&[Dim], Reducer),
        body: &Function,
        captures: &[Option<Slot<S>>],
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let ty = body.results().first().map_or(Type::F64, |v| body.ty(*v));
        let Some(len) = ty.len() else {
            return fault(self.function, format!("the size of {ty} is not known"));
        };
        room(self.function, len, lanes)?;
        let whole = ty.is_float();
        let open = S::unknown().is_some();
        let (lowest, highest) = match ty.element() == Element::I32 {
            true => (i64::from(i32::MIN), i64::from(i32::MAX)),
            // The least one stands for any.
            false if open => (-i64::MAX, i64::MAX),
            false => (i64::MIN, i64::MAX),
        };
        let (mut numbers, mut integers): (Vec<S>, Vec<i64>) = match (whole, reducer) {
            (true, Reducer::Sum) => (vec![S::zero(); len * lanes], Vec::new()),
            (true, Reducer::Product) => (vec![S::one(); len * lanes], Vec::new()),
            (true, Reducer::Max | Reducer::ArgMax) => {
                (vec![S::constant(f64::NEG_INFINITY); lanes], vec![0; lanes])
            }
            (true, _) => (vec![S::constant(f64::INFINITY); lanes], vec![0; lanes]),
            (false, Reducer::Product) => (Vec::new(), vec![1; lanes]),
            (false, Reducer::Max) => (Vec::new(), vec![lowest; lanes]),
            (false, Reducer::Min) => (Vec::new(), vec![highest; lanes]),
            (false, _) => (Vec::new(), vec![0; len * lanes]),
        };
        let f = self.function;
        let each =
            |machine: &mut Machine<'_, S>, first: usize, count: usize, results: &[Slot<S>]| {
                let Some(result) = results.first() else { return Ok(()) };
                let width = if lanes > 1 { lanes } else { count };
                let all = (0..count).flat_map(|p| (0..lanes).map(move |lane| (p, lane)));
                if !whole {
                    let from = result.view::<Integers<S>>(ty.is_scalar(), width);
                    for (point, lane) in all {
                        for e in 0..len {
                            let total = &mut integers[e * lanes + lane];
                            let x = from.at(e, if lanes > 1 { lane } else { point });
                            if open && (x == UNKNOWN || *total == UNKNOWN) {
                                *total = UNKNOWN;
                                continue;
                            }
                            *total = match reducer {
                                Reducer::Product => Integral::Mul,
                                Reducer::Max => Integral::Max,
                                Reducer::Min => Integral::Min,
                                _ => Integral::Add,
                            }
                            .apply(*total, x, ty.element());
                        }
                    }
                    return Ok(());
                }
                let from = result.view::<Numbers<S>>(ty.is_scalar(), width);
                for (point, lane) in all {
                    for e in 0..len {
                        let total = &mut numbers[e * lanes + lane];
                        let x = from.at(e, if lanes > 1 { lane } else { point });
                        let before = *total;
                        match reducer {
                            // The first one is taken as it is: a sum of one is that one, to the bit.
                            _ if first + point == 0 => {
                                *total = x;
                                continue;
                            }
                            Reducer::Sum => *total += x,
                            Reducer::Product => *total *= x,
                            Reducer::Max => *total = total.max(x),
                            Reducer::Min => *total = total.min(x),
                            Reducer::ArgMax | Reducer::ArgMin => {
                                let comparison = match reducer {
                                    Reducer::ArgMax => Comparison::Greater,
                                    _ => Comparison::Less,
                                };
                                match outcome::<S>(x.compare(*total, comparison)) {
                                    None if !open => return fault(f, UNDECIDED.to_string()),
                                    // Any of the points, and nothing is known of the best.
                                    None => {
                                        integers[lane] = UNKNOWN;
                                        *total = S::unknown().unwrap_or(x);
                                    }
                                    Some(true) => {
                                        *total = x;
                                        integers[lane] = (first + point) as i64;
                                    }
                                    Some(false) => {}
                                }
                            }
                        }
                        if let Some(watcher) = &mut machine.watcher {
                            watcher.reduced(f, value, [before, x, *total]);
                        }
                    }
                }
                Ok(())
            };
        let points = self.points(machine, value, code, dims, captures, lanes, each)?;
        if points == 0 && matches!(reducer, Reducer::ArgMax | Reducer::ArgMin) {
            return fault(self.function, format!("`red {}` of no point", reducer.name()));
        }
        let varies = lanes > 1;
        Ok(vec![match whole && !matches!(reducer, Reducer::ArgMax | Reducer::ArgMin) {
            true => Slot::new::<Numbers<S>>(numbers, ty.is_scalar(), varies, len),
            false => Slot::new::<Integers<S>>(integers, ty.is_scalar(), varies, len),
        }])
    }
}

/// The indices of points of a domain, as arguments of a body.
pub(super) fn indices<S: Scalar>(
    sizes: &[usize],
    points: usize,
    first: usize,
    count: usize,
) -> impl Iterator<Item = Option<Slot<S>>> {
    let mut inner = points;
    sizes.iter().map(move |size| {
        inner /= size;
        let (mut index, mut rest) = ((first / inner) % size, inner - first % inner);
        if count == 1 {
            return Some(Slot::Integer(index as i64));
        }
        let mut data = Vec::with_capacity(count);
        for _ in 0..count {
            data.push(index as i64);
            rest -= 1;
            if rest == 0 {
                (index, rest) = (if index + 1 == *size { 0 } else { index + 1 }, inner);
            }
        }
        Some(Slot::new::<Integers<S>>(data, true, true, 1))
    })
}
