//! `acc`: a kernel whose points add to targets, one after the other.
//!
//! What does not derive from the targets is computed for a block of points at a time; the additions then go
//! point by point, each in the order of the body. So the result is the same to the bit as if the body ran
//! for one point after the other.

use std::rc::Rc;

use cotangent_numbers::Scalar;

use super::kernels::indices;
use super::watch::At;
use super::{Code, Frame, Machine, Slots, fault};
use crate::function::{Function, Value};
use crate::interpret::RunError;
use crate::op::Op;
use crate::slot::{Integers, Kind, Numbers, Slot};
use crate::types::Dim;

/// The body of an `acc`, split.
pub(super) struct Split {
    /// By value: whether it derives from a target.
    derived: Vec<bool>,
    /// The values that do, in order, parameters aside.
    late: Vec<Value>,
    /// Whether all of those only add elements at a place to an array.
    simple: bool,
}

impl Split {
    pub(super) fn new(body: &Function, own: usize, targets: usize) -> Split {
        let mut derived = vec![false; body.len()];
        let mut late = Vec::new();
        let mut simple = true;
        for value in body.values() {
            match body.op(value) {
                Op::Param(k) => {
                    derived[value.index()] = (own..own + targets).contains(&(k as usize));
                }
                op => {
                    let from: Vec<bool> =
                        body.operands(value).map(|v| derived[v.index()]).collect();
                    if from.contains(&true) {
                        derived[value.index()] = true;
                        late.push(value);
                        simple &= op == Op::PutAdd && !from[1..].contains(&true);
                    }
                }
            }
        }
        // Targets that are used twice are copies of each other from then on.
        for value in late.iter().filter(|_| simple).copied().collect::<Vec<_>>() {
            let array = body.operand(value, 0);
            let users = late.iter().filter(|v| body.operand(**v, 0) == array).count();
            simple &= users == 1 && !body.results().contains(&array);
        }
        simple &= body.results().iter().all(|v| derived[v.index()]);
        // A number among the targets is no list that is added to in place.
        simple &= body.params()[own..own + targets].iter().all(|p| !p.ty.is_scalar());
        Split { derived, late, simple }
    }
}

impl Code<'_> {
    #[allow(clippy::too_many_arguments, reason = "what a kernel is made of")]
    pub(super) fn acc<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        value: Value,
        code: &Code<'_>,
        dims: &[Dim],
        mut targets: Vec<Option<Slot<S>>>,
        captures: &[Option<Slot<S>>],
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let (sizes, points) = self.domain(dims)?;
        let mut frame = Frame::new(code.function);
        let block = match &code.split {
            Some(_) if lanes == 1 && !code.asks => machine.block,
            _ => 1,
        };
        let mut first = 0;
        while first < points {
            let count = block.min(points - first);
            let mut args: Vec<Option<Slot<S>>> = Vec::with_capacity(code.function.params().len());
            args.extend(indices(&sizes, points, first, count));
            let own = targets.len();
            args.append(&mut targets);
            args.extend(captures.iter().cloned());
            let at = At::Points(first, &sizes);
            machine.enter(self.function, value, 0, at, count * lanes);
            targets = match &code.split {
                Some(split) if count > 1 => {
                    let targets = args.splice(sizes.len()..sizes.len() + own, vec![None; own]);
                    let targets = targets.collect();
                    code.block(machine, &mut frame, split, args, (sizes.len(), targets), count)?
                }
                _ => code.run(machine, &mut frame, args, lanes)?.into_iter().map(Some).collect(),
            };
            machine.leave();
            first += count;
        }
        Ok(targets.into_iter().flatten().collect())
    }

    /// The targets after a block of points.
    fn block<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        frame: &mut Frame<S>,
        split: &Split,
        mut args: Vec<Option<Slot<S>>>,
        (own, mut targets): (usize, Vec<Option<Slot<S>>>),
        count: usize,
    ) -> Result<Vec<Option<Slot<S>>>, RunError> {
        let f = self.function;
        for value in f.values().filter(|v| !split.derived[v.index()]) {
            // Nothing is moved: what comes late still needs it.
            self.value(machine, frame, value, &mut args, count, false)?;
        }
        if split.simple && machine.watcher.is_none() && !machine.open {
            return self.additions(frame, split, (own, targets), count);
        }
        // Point by point, with what was computed for all of them.
        let mut late: Frame<S> = Frame::new(f);
        for point in 0..count {
            let mut given: Vec<Option<Slot<S>>> = vec![None; f.params().len()];
            given[own..own + targets.len()].swap_with_slice(&mut targets);
            for value in f.values().filter(|v| matches!(f.op(*v), Op::Param(_))) {
                if split.derived[value.index()] {
                    self.value(machine, &mut late, value, &mut given, 1, true)?;
                }
            }
            let one = |frame: &Frame<S>, value: Value| {
                let slot = frame.slots[value.index()].as_ref();
                slot.map(|s| s.pick(&[point], count).narrowed(f.ty(value).is_scalar()))
            };
            for value in &split.late {
                for operand in f.operands(*value).filter(|v| !split.derived[v.index()]) {
                    late.slots[operand.index()] = one(frame, operand);
                }
                self.value(machine, &mut late, *value, &mut given, 1, true)?;
            }
            for (k, (result, target)) in f.results().iter().zip(&mut targets).enumerate() {
                let place = &mut late.slots[result.index()];
                *target = match (split.derived[result.index()], self.kept[k]) {
                    (false, _) => one(frame, *result),
                    (true, true) => place.clone(),
                    (true, false) => place.take(),
                };
            }
        }
        Ok(targets)
    }

    /// The additions of a block of points, where there is nothing else to do with the targets.
    fn additions<S: Scalar>(
        &self,
        frame: &Frame<S>,
        split: &Split,
        (own, targets): (usize, Vec<Option<Slot<S>>>),
        count: usize,
    ) -> Result<Vec<Option<Slot<S>>>, RunError> {
        let f = self.function;
        // By value: which target it is.
        let mut of: Vec<usize> = vec![usize::MAX; f.len()];
        for value in f.values() {
            if let Op::Param(k) = f.op(value)
                && split.derived[value.index()]
            {
                of[value.index()] = k as usize - own;
            }
        }
        let missing = || fault(f, "a target is missing".to_string());
        let mut adds = Vec::with_capacity(split.late.len());
        for value in &split.late {
            let (_, args) = self.step(*value);
            let target = of[args[0].value as usize];
            of[value.index()] = target;
            let slots: Option<Vec<&Slot<S>>> =
                args[1..].iter().map(|arg| frame.slots[arg.value as usize].as_ref()).collect();
            let (Some(slots), Some(Some(array))) = (slots, targets.get(target)) else {
                return missing();
            };
            let indices: Vec<Slot<S>> = slots[1..].iter().map(|slot| (*slot).clone()).collect();
            let varies = indices.iter().any(Slot::varies);
            let width = if varies { count } else { 1 };
            let places = self.each_place(&indices, (args[0].ty, array.len()), (width, count))?;
            let from = slots[0].view::<Numbers<S>>(args[1].scalar(), count);
            adds.push((target, places, from, slots[0].len()));
        }
        let mut lists = Vec::with_capacity(targets.len());
        for slot in targets {
            match slot {
                Some(Slot::Numbers(list)) => lists.push(list),
                _ => return missing(),
            }
        }
        let mut data: Vec<&mut Vec<S>> =
            lists.iter_mut().map(|list| Rc::make_mut(&mut list.data)).collect();
        for point in 0..count {
            for (target, places, from, len) in &adds {
                let place = places[if places.len() > 1 { point } else { 0 }];
                for e in 0..*len {
                    data[*target][place + e] += from.at(e, point);
                }
            }
        }
        drop(adds);
        // A target may be handed on as another one.
        let order: Vec<usize> = f.results().iter().map(|v| of[v.index()]).collect();
        Ok(order.into_iter().map(|k| lists.get(k).cloned().map(Numbers::<S>::many)).collect())
    }

    fn each_place<S: Scalar>(
        &self,
        indices: &[Slot<S>],
        (ty, len): (crate::types::Type, usize),
        (width, lanes): (usize, usize),
    ) -> Result<Vec<usize>, RunError> {
        debug_assert!(
            indices.iter().all(|slot| Integers::<S>::one(slot).is_some() || slot.varies())
        );
        self.places(&Machine::new(), indices, (ty, len), (width, lanes)).map(
            |places| match places {
                super::memory::Places::Each(places) => places,
                super::memory::Places::Any(places) => places.into_iter().flatten().collect(),
            },
        )
    }
}
