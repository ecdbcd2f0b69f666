//! Reading and writing elements of arrays.

use std::rc::Rc;

use cotangent_numbers::Scalar;

use super::unknown::{Join, UNKNOWN, either_way};
use super::{Arg, Code, Machine, Slots, Step, fault, room, size_of};
use crate::interpret::RunError;
use crate::op::Op;
use crate::slot::{Integers, Kind, Numbers, Slot, View, by_kind};
use crate::types::{Dim, Type};

/// The first dimensions of an array: how many there are, and how far apart.
struct Shape {
    dims: Vec<(usize, usize)>,
}

/// Where indices lead.
pub(super) enum Places {
    /// One place for each lane.
    Each(Vec<usize>),
    /// Any of these, for each lane: indices are not known.
    Any(Vec<Vec<usize>>),
}

impl Shape {
    fn new<S: Scalar>(machine: &Machine<'_, S>, ty: Type, indices: usize, len: usize) -> Shape {
        let dims = ty.dims();
        let mut inner = dims[indices..].iter().fold(1, |all, dim| match dim {
            Dim::Size(n) => all * n,
            _ => all,
        });
        let mut shape: Vec<(usize, usize)> = Vec::with_capacity(indices);
        for dim in dims[..indices].iter().rev() {
            let size = match dim {
                Dim::Size(n) => *n,
                Dim::Any if machine.summary => 0,
                // Of rows that have no elements there may be any number: nothing is read or written.
                _ if inner == 0 => usize::MAX,
                _ => len / inner,
            };
            shape.push((size, inner));
            inner = inner.saturating_mul(size.max(1));
        }
        shape.reverse();
        Shape { dims: shape }
    }
}

impl Code<'_> {
    /// The places in an array that indices lead to, in elements of the array.
    pub(super) fn places<S: Scalar>(
        &self,
        machine: &Machine<'_, S>,
        indices: &[Slot<S>],
        (ty, len): (Type, usize),
        (width, lanes): (usize, usize),
    ) -> Result<Places, RunError> {
        let shape = Shape::new(machine, ty, indices.len(), len);
        let mut places = vec![0usize; width];
        let mut open = false;
        for (k, (slot, (size, inner))) in indices.iter().zip(&shape.dims).enumerate() {
            let summary = machine.summary && k == 0 && ty.dims()[0] == Dim::Any;
            let view: View<'_, i64> = slot.view::<Integers<S>>(true, lanes);
            for (lane, place) in places.iter_mut().enumerate() {
                let i = view.at(0, lane);
                match usize::try_from(i) {
                    Ok(i) if i < *size => *place += i * inner,
                    // Every row is the one.
                    _ if summary => {}
                    _ if machine.open && i == UNKNOWN => open = true,
                    _ => {
                        let what = format!(
                            "index {i} is out of range: dimension {k} of {ty} has {size} elements"
                        );
                        return fault(self.function, what);
                    }
                }
            }
        }
        if !open {
            return Ok(Places::Each(places));
        }
        let mut all: Vec<Vec<usize>> = places.into_iter().map(|place| vec![place]).collect();
        for (slot, (size, inner)) in indices.iter().zip(&shape.dims) {
            let view: View<'_, i64> = slot.view::<Integers<S>>(true, lanes);
            for (lane, places) in all.iter_mut().enumerate() {
                if view.at(0, lane) == UNKNOWN && *size > 0 && *inner > 0 {
                    *places = places
                        .iter()
                        .flat_map(|place| (0..*size).map(move |i| place + i * inner))
                        .collect();
                }
            }
        }
        Ok(Places::Any(all))
    }

    /// Some element of an array, or several.
    pub(super) fn load<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        step: Step,
        args: &[Arg],
        slots: &[Slot<S>],
        lanes: usize,
    ) -> Result<Slot<S>, RunError> {
        let ty = step.ty;
        let varies = slots.iter().any(Slot::varies);
        let width = if varies { lanes } else { 1 };
        let Some(len) = size_of(machine, ty) else {
            return fault(self.function, format!("the size of {ty} is not known"));
        };
        room(self.function, len, width)?;
        let (array, indices) = (&slots[0], &slots[1..]);
        let places = self.places(machine, indices, (args[0].ty, array.len()), (width, lanes))?;
        Ok(by_kind!(array, K => {
            let x = array.view::<K<S>>(false, lanes);
            let mut list = machine.buffer::<K<S>>(len * width);
            if let Some(data) = Rc::get_mut(&mut list) {
                match &places {
                    Places::Each(places) => {
                        for e in 0..len {
                            let each = places.iter().enumerate();
                            data.extend(each.map(|(lane, place)| x.at(place + e, lane)));
                        }
                    }
                    Places::Any(places) => {
                        let mask = either_way::<S>();
                        for e in 0..len {
                            for (lane, places) in places.iter().enumerate() {
                                let all = places.iter().map(|place| x.at(place + e, lane));
                                let one = all.reduce(|a, b| {
                                    <K<S> as Join<S>>::join(mask, true, a, b).unwrap_or(a)
                                });
                                data.push(one.unwrap_or(<K<S> as Kind<S>>::nothing()));
                            }
                        }
                    }
                }
            }
            Slot::shared::<K<S>>(list, ty.is_scalar(), varies, len)
        }))
    }

    /// An array with other or additional elements; in place if nobody else has it.
    pub(super) fn put<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        step: Step,
        args: &[Arg],
        slots: &mut Slots<S>,
        lanes: usize,
    ) -> Result<Slot<S>, RunError> {
        let varies = slots.iter().any(Slot::varies);
        let width = if varies { lanes } else { 1 };
        let ty = step.ty;
        let len = slots[0].len();
        room(self.function, len, width)?;
        let array = std::mem::replace(&mut slots[0], Slot::Integer(0));
        let mut array = if varies { array.spread(false, lanes) } else { array };
        let summary = machine.summary && ty.dims().first() == Some(&Dim::Any);
        let places = self.places(machine, &slots[2..], (ty, len), (width, lanes))?;
        let value = &slots[1];
        let (inner, scalar) = (value.len(), args[1].scalar());
        let mask = either_way::<S>();
        by_kind!(value, K => {
            let from = value.view::<K<S>>(scalar, lanes);
            if let Some(list) = K::<S>::list_mut(&mut array) {
                let data = Rc::make_mut(&mut list.data);
                let mut write = |place: usize, lane: usize, sure: bool| {
                    for e in 0..inner {
                        let at = (place + e) * width + lane;
                        let new = from.at(e, lane);
                        data[at] = if sure {
                            new
                        } else {
                            <K<S> as Join<S>>::join(mask, true, data[at], new).unwrap_or(new)
                        };
                    }
                };
                match (&places, step.op) {
                    (_, Op::PutAdd) => {}
                    (Places::Each(places), _) => {
                        for (lane, place) in places.iter().enumerate() {
                            write(*place, lane, !summary);
                        }
                    }
                    (Places::Any(places), _) => {
                        for (lane, places) in places.iter().enumerate() {
                            places.iter().for_each(|place| write(*place, lane, false));
                        }
                    }
                }
            }
        });
        if step.op == Op::PutAdd
            && let Some(list) = Numbers::<S>::list_mut(&mut array)
        {
            let from = value.view::<Numbers<S>>(scalar, lanes);
            let data = Rc::make_mut(&mut list.data);
            match &places {
                Places::Each(places) => {
                    for (lane, place) in places.iter().enumerate() {
                        for e in 0..inner {
                            let at = (place + e) * width + lane;
                            let old = data[at];
                            data[at] += from.at(e, lane);
                            if summary {
                                data[at] = S::select(mask, old, data[at]);
                            }
                        }
                    }
                }
                Places::Any(places) => {
                    for (lane, places) in places.iter().enumerate() {
                        let all =
                            places.iter().flat_map(|place| (0..inner).map(move |e| (e, place)));
                        for (e, place) in all {
                            let at = (place + e) * width + lane;
                            let sum = data[at] + from.at(e, lane);
                            data[at] = S::select(mask, data[at], sum);
                        }
                    }
                }
            }
        }
        Ok(array)
    }
}
