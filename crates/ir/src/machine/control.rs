//! Loops and branches, with lanes that part.

use cotangent_numbers::Scalar;

use super::unknown::{UNKNOWN, change, either_way, forgotten, outcome};
use super::watch::At;
use super::{Code, Frame, Machine, ROUNDS, Slots, fault, list, room};
use crate::function::Value;
use crate::interpret::RunError;
use crate::slot::{Integers, Kind, Numbers, Slot, Truths, by_kind};
use crate::types::{Dim, Element, Type};

type Args<S> = Vec<Option<Slot<S>>>;

/// Stacked values, round by round.
struct Stack<S: Scalar> {
    rounds: Vec<Slot<S>>,
}

impl<S: Scalar> Stack<S> {
    /// All rounds as one array.
    fn whole(self, ty: Type, lanes: usize) -> Slot<S> {
        let varies = self.rounds.iter().any(Slot::varies);
        let width = if varies { lanes } else { 1 };
        let inner = ty.len().unwrap_or(0);
        let len = inner * self.rounds.len();
        let Some(first) = self.rounds.first() else {
            return filled(ty, 0, 1);
        };
        by_kind!(first, K => {
            let mut data = Vec::with_capacity(len * width);
            for round in &self.rounds {
                let from = round.view::<K<S>>(ty.is_scalar(), lanes);
                for e in 0..inner {
                    data.extend((0..width).map(|lane| from.at(e, lane)));
                }
            }
            Slot::new::<K<S>>(data, false, varies, len)
        })
    }
}

/// A loop or branch while it runs: its operation, what its bodies capture, the lanes.
struct Part<'p, S: Scalar> {
    outer: &'p Code<'p>,
    value: Value,
    body: usize,
    code: &'p Code<'p>,
    captures: &'p [Option<Slot<S>>],
    lanes: usize,
}

impl<S: Scalar> Part<'_, S> {
    /// A round for some of the lanes.
    fn round(
        &self,
        machine: &mut Machine<'_, S>,
        frame: &mut Frame<S>,
        (index, at): (Option<i64>, At<'_>),
        carries: Args<S>,
        chosen: Option<&[usize]>,
    ) -> Result<Slots<S>, RunError> {
        let own = usize::from(index.is_some());
        let mut args: Args<S> = Vec::with_capacity(own + carries.len() + self.captures.len());
        args.extend(index.map(|i| Some(Slot::Integer(i))));
        let lanes = chosen.map_or(self.lanes, <[usize]>::len);
        machine.enter(self.outer.function, self.value, self.body, at, lanes);
        let results = match chosen {
            None => {
                args.extend(carries);
                args.extend(self.captures.iter().cloned());
                self.code.run(machine, frame, args, self.lanes)
            }
            Some(chosen) => {
                let pick =
                    |slot: &Option<Slot<S>>| slot.as_ref().map(|s| s.pick(chosen, self.lanes));
                args.extend(carries.iter().map(pick));
                args.extend(self.captures.iter().map(pick));
                self.code.run(machine, frame, args, chosen.len())
            }
        };
        machine.leave();
        results
    }
}

impl Code<'_> {
    #[allow(clippy::too_many_arguments, reason = "what a loop is made of")]
    pub(super) fn repeat<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        value: Value,
        code: &Code<'_>,
        bound: Option<Slot<S>>,
        mut carries: Args<S>,
        captures: &[Option<Slot<S>>],
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let Some(bound) = bound else { return fault(self.function, "no bound".to_string()) };
        let types = code.result_types();
        let count = carries.len();
        let part = Part { outer: self, value, body: 0, code, captures, lanes };
        let mut frame = Frame::new(code.function);
        let view = bound.view::<Integers<S>>(true, lanes);
        let bounds: Vec<i64> =
            (0..if bound.varies() { lanes } else { 1 }).map(|lane| view.at(0, lane)).collect();
        if machine.open && bounds.contains(&UNKNOWN) {
            if lanes > 1 {
                let operands = std::iter::once(Some(bound.clone())).chain(carries).collect();
                return self.lane_by_lane(machine, value, operands, captures, lanes);
            }
            return self.undecided(machine, None, &part, carries, &types);
        }
        let summed = machine.summary && self.function.stack_dim(value) == Dim::Any;
        let mut stacks: Vec<Stack<S>> =
            types[count..].iter().map(|_| Stack { rounds: Vec::new() }).collect();
        let most = bounds.iter().copied().max().unwrap_or(0);
        let least = bounds.iter().copied().min().unwrap_or(0);
        for ty in &types[count..] {
            let rounds = usize::try_from(most).unwrap_or(0);
            let len = ty.len().unwrap_or(0).saturating_mul(rounds);
            room(self.function, len, lanes)?;
        }
        for i in 0..most {
            let at = (Some(i), At::Round(i));
            if i < least {
                let mut results = part.round(machine, &mut frame, at, carries, None)?;
                let stacked = results.split_off(count);
                stacks.iter_mut().zip(stacked).for_each(|(stack, slot)| stack.rounds.push(slot));
                carries = results.into_iter().map(Some).collect();
                continue;
            }
            // Some lanes are done.
            let chosen: Vec<usize> = (0..lanes).filter(|lane| bounds[*lane] > i).collect();
            let results = part.round(machine, &mut frame, at, carries.clone(), Some(&chosen))?;
            carries = merge(carries, &results[..count], &types, &chosen, lanes);
            for ((stack, slot), ty) in stacks.iter_mut().zip(&results[count..]).zip(&types[count..])
            {
                let mut whole = filled(*ty, ty.len().unwrap_or(0), lanes);
                whole.place(&chosen, slot, ty.is_scalar(), lanes);
                stack.rounds.push(whole);
            }
        }
        let mut parts: Slots<S> = carries.into_iter().flatten().collect();
        for (stack, ty) in stacks.into_iter().zip(&types[count..]) {
            parts.push(self.stacked(machine, stack, *ty, lanes, summed)?);
        }
        Ok(parts)
    }

    pub(super) fn while_holds<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        value: Value,
        bodies: &[Code<'_>],
        mut carries: Args<S>,
        captures: &[Option<Slot<S>>],
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let [condition, code] = bodies else {
            return fault(self.function, "a `while` without bodies".to_string());
        };
        let types = code.result_types();
        let count = carries.len();
        let test = Part { outer: self, value, body: 0, code: condition, captures, lanes };
        let part = Part { outer: self, value, body: 1, code, captures, lanes };
        let (mut test_frame, mut frame) =
            (Frame::new(condition.function), Frame::new(code.function));
        let mut stacks: Vec<Stack<S>> =
            types[count..].iter().map(|_| Stack { rounds: Vec::new() }).collect();
        let mut active: Vec<usize> = (0..lanes).collect();
        let mut rounds = vec![0i64; lanes];
        // To begin anew with, lane by lane, if it turns out that nothing decides the loop.
        let begun = (lanes > 1 && machine.open).then(|| carries.clone());
        for round in 0..ROUNDS {
            let at = (None, At::Round(round as i64));
            let chosen = (active.len() < lanes).then_some(&active[..]);
            let truth = test.round(machine, &mut test_frame, at, carries.clone(), chosen)?;
            let Some(mask) = truth.first() else { break };
            let view = mask.view::<Truths<S>>(true, active.len());
            let mut still = Vec::with_capacity(active.len());
            let mut open = false;
            for (k, lane) in active.iter().enumerate() {
                match outcome::<S>(view.at(0, k)) {
                    Some(true) => still.push(*lane),
                    Some(false) => {}
                    None => open = true,
                }
            }
            if open && let Some(begun) = begun {
                return self.lane_by_lane(machine, value, begun, captures, lanes);
            }
            if open {
                return self.go_on(machine, (&test, &part), carries, stacks, &types, lanes);
            }
            active = still;
            if active.is_empty() {
                break;
            }
            active.iter().for_each(|lane| rounds[*lane] += 1);
            for (stack, ty) in stacks.iter().zip(&types[count..]) {
                let len = ty.len().unwrap_or(0).saturating_mul(stack.rounds.len() + 1);
                room(self.function, len, lanes)?;
            }
            if active.len() == lanes {
                let mut results = part.round(machine, &mut frame, at, carries, None)?;
                let stacked = results.split_off(count);
                stacks.iter_mut().zip(stacked).for_each(|(stack, slot)| stack.rounds.push(slot));
                carries = results.into_iter().map(Some).collect();
            } else {
                let results =
                    part.round(machine, &mut frame, at, carries.clone(), Some(&active))?;
                carries = merge(carries, &results[..count], &types, &active, lanes);
                for ((stack, slot), ty) in
                    stacks.iter_mut().zip(&results[count..]).zip(&types[count..])
                {
                    let mut whole = filled(*ty, ty.len().unwrap_or(0), lanes);
                    whole.place(&active, slot, ty.is_scalar(), lanes);
                    stack.rounds.push(whole);
                }
            }
        }
        if !active.is_empty() {
            let what = format!("a `while` was left after {ROUNDS} rounds; does it end at all?");
            return fault(self.function, what);
        }
        let mut parts: Slots<S> = carries.into_iter().flatten().collect();
        for (stack, ty) in stacks.into_iter().zip(&types[count..]) {
            parts.push(self.stacked(machine, stack, *ty, lanes, machine.summary)?);
        }
        parts.push(match rounds.iter().all(|n| *n == rounds[0]) {
            true => Slot::Integer(rounds[0]),
            false => Slot::new::<Integers<S>>(rounds, true, true, 1),
        });
        Ok(parts)
    }

    /// What a loop stacked: an array, or one row that stands for all of them.
    fn stacked<S: Scalar>(
        &self,
        machine: &Machine<'_, S>,
        stack: Stack<S>,
        ty: Type,
        lanes: usize,
        summed: bool,
    ) -> Result<Slot<S>, RunError> {
        if !summed {
            return Ok(stack.whole(ty, lanes));
        }
        let mut rounds = stack.rounds.into_iter();
        let Some(mut row) = rounds.next() else {
            return Ok(filled(ty, ty.len().unwrap_or(0), lanes).rowed(lanes));
        };
        if lanes > 1 {
            row = row.spread(ty.is_scalar(), lanes);
            for next in rounds {
                let lane =
                    |slot: &Slot<S>, k: usize| slot.pick(&[k], lanes).narrowed(ty.is_scalar());
                for k in 0..lanes {
                    let (a, b) = ([lane(&row, k)], [lane(&next, k)]);
                    let one = self.either(machine, either_way::<S>(), &a, &b, &[ty])?;
                    row.place(&[k], &one[0], ty.is_scalar(), lanes);
                }
            }
            return Ok(row);
        }
        for next in rounds {
            row = self.either(machine, either_way::<S>(), &[row], &[next], &[ty])?.swap_remove(0);
        }
        Ok(row.rowed(lanes))
    }

    /// A `while` of which it is not known any more whether it goes on. What it stacked so far is part of
    /// what it stacks.
    fn go_on<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        (test, part): (&Part<'_, S>, &Part<'_, S>),
        carries: Args<S>,
        stacks: Vec<Stack<S>>,
        types: &[Type],
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        if lanes > 1 || !machine.open || (!stacks.is_empty() && !machine.summary) {
            let what = "how often a loop goes round depends on a comparison that is not decided; \
                        give numbers that decide it, such as a smaller box";
            return fault(self.function, what.to_string());
        }
        let count = carries.len();
        let mut parts = self.undecided(machine, Some(test), part, carries, types)?;
        for (k, (stack, ty)) in stacks.into_iter().zip(&types[count..]).enumerate() {
            if !stack.rounds.is_empty() {
                let before = self.stacked(machine, stack, *ty, 1, true)?.narrowed(ty.is_scalar());
                let after = parts[count + k].clone().narrowed(ty.is_scalar());
                let row = self.either(machine, either_way::<S>(), &[before], &[after], &[*ty])?;
                parts[count + k] = row.into_iter().next().map_or(Slot::Integer(0), |r| r.rowed(1));
            }
        }
        // How often is not known.
        parts.push(Slot::Integer(UNKNOWN));
        Ok(parts)
    }

    /// A loop of which it is not known how often it goes round, of one lane: what its carries may be after
    /// any number of rounds.
    ///
    /// On tracers, a round joins what a carry depends on with what it depended on before. What is known of
    /// values and indices can only be lost, at most once for each entry; from then on all rounds pass on
    /// dependences by the same relation between the entries. Through it a dependence gets from any entry to
    /// any other in at most as many rounds as there are entries, and a pair of inputs that has begun to
    /// interact gets on as a dependence does. So twice as many rounds are enough, if nothing shows before
    /// that all stays as it is.
    ///
    /// On intervals, nothing at all is taken to be known of the carries before the last round.
    fn undecided<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        test: Option<&Part<'_, S>>,
        part: &Part<'_, S>,
        carries: Args<S>,
        types: &[Type],
    ) -> Result<Slots<S>, RunError> {
        let count = carries.len();
        let mut before: Slots<S> = carries.into_iter().flatten().collect();
        let entries: usize = before.iter().map(Slot::len).sum();
        let mask = either_way::<S>();
        let index = test.is_none().then_some(UNKNOWN);
        let mut frame = Frame::new(part.code.function);
        let mut rows: Option<Slots<S>> = None;
        let mut quiet = 0;
        while quiet < 2 * entries + 2 {
            let args = match machine.summary {
                true => before.iter().cloned().map(Some).collect(),
                false => before.iter().zip(types).map(|(s, ty)| Some(forgotten(s, *ty))).collect(),
            };
            let at = (index, At::Round(quiet as i64));
            let mut results = part.round(machine, &mut frame, at, args, None)?;
            let stacked = results.split_off(count);
            rows = Some(match rows {
                None => stacked,
                Some(rows) => self.either(machine, mask, &rows, &stacked, &types[count..])?,
            });
            let after = self.either(machine, mask, &before, &results, types)?;
            let change = change(&before, &after, types);
            before = after;
            // On intervals one round from anywhere is all there is.
            if !change.any || !machine.summary {
                break;
            }
            quiet = if change.known { 0 } else { quiet + 1 };
        }
        let mut parts = before;
        let rows = rows.unwrap_or_default();
        let bound = match test {
            Some(_) => Dim::Any,
            None => self.function.stack_dim(part.value),
        };
        let kept = machine.summary && bound == Dim::Any;
        if !rows.is_empty() && !kept {
            let what = "how many values a loop stacks depends on a comparison that is not decided";
            return fault(self.function, what.to_string());
        }
        parts.extend(rows.into_iter().map(|row| row.rowed(1)));
        Ok(parts)
    }

    /// A loop or branch for each lane by itself.
    fn lane_by_lane<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        value: Value,
        operands: Args<S>,
        captures: &[Option<Slot<S>>],
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let (step, args) = self.step(value);
        let crate::op::Op::Structure(k) = step.op else {
            return fault(self.function, "no loop or branch".to_string());
        };
        let all: Args<S> = operands.into_iter().chain(captures.iter().cloned()).collect();
        let types = self.function.structures[k as usize].part_types(Dim::Any);
        let mut parts: Option<Slots<S>> = None;
        for lane in 0..lanes {
            let own = all
                .iter()
                .zip(args)
                .map(|(slot, arg)| {
                    slot.as_ref().map(|s| s.pick(&[lane], lanes).narrowed(arg.scalar()))
                })
                .collect();
            let results = self.structure(machine, value, k as usize, own, 1)?;
            let whole = parts.get_or_insert_with(|| {
                let each = types.iter().zip(&results);
                each.map(|(ty, slot)| filled(*ty, slot.len(), lanes)).collect()
            });
            for ((whole, slot), ty) in whole.iter_mut().zip(&results).zip(&types) {
                whole.place(&[lane], slot, ty.is_scalar(), lanes);
            }
        }
        Ok(parts.unwrap_or_default())
    }

    pub(super) fn branch<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        value: Value,
        bodies: &[Code<'_>],
        condition: Option<Slot<S>>,
        captures: &[Option<Slot<S>>],
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let (Some(condition), [yes, no]) = (condition, bodies) else {
            return fault(self.function, "an `if` without bodies".to_string());
        };
        let part = |truth: bool| {
            let (body, code) = if truth { (0, yes) } else { (1, no) };
            Part { outer: self, value, body, code, captures, lanes }
        };
        let all = |machine: &mut Machine<'_, S>, truth: bool| {
            let part = part(truth);
            let mut frame = Frame::new(part.code.function);
            part.round(machine, &mut frame, (None, At::Once), Vec::new(), None)
        };
        let width = if condition.varies() { lanes } else { 1 };
        let view = condition.view::<Truths<S>>(true, lanes);
        let outcomes: Vec<Option<bool>> =
            (0..width).map(|lane| outcome::<S>(view.at(0, lane))).collect();
        if outcomes.iter().all(|o| *o == Some(true)) {
            return all(machine, true);
        }
        if outcomes.iter().all(|o| *o == Some(false)) {
            return all(machine, false);
        }
        let types = yes.result_types();
        if outcomes.contains(&None) {
            if lanes > 1 {
                let operands = vec![Some(condition.clone())];
                return self.lane_by_lane(machine, value, operands, captures, lanes);
            }
            let (a, b) = (all(machine, true)?, all(machine, false)?);
            return self.either(machine, view.at(0, 0), &a, &b, &types);
        }
        let mut parts: Option<Slots<S>> = None;
        for truth in [true, false] {
            let chosen: Vec<usize> =
                (0..lanes).filter(|lane| outcomes[*lane] == Some(truth)).collect();
            let part = part(truth);
            let mut frame = Frame::new(part.code.function);
            let at = (None, At::Once);
            let results = part.round(machine, &mut frame, at, Vec::new(), Some(&chosen))?;
            let parts = parts.get_or_insert_with(|| {
                types.iter().zip(&results).map(|(ty, s)| filled(*ty, s.len(), lanes)).collect()
            });
            for ((whole, slot), ty) in parts.iter_mut().zip(&results).zip(&types) {
                whole.place(&chosen, slot, ty.is_scalar(), lanes);
            }
        }
        Ok(parts.unwrap_or_default())
    }
}

/// Entries of its own for each lane, to be written.
fn filled<S: Scalar>(ty: Type, len: usize, lanes: usize) -> Slot<S> {
    match ty.element() {
        e if e.is_float() => Numbers::<S>::many(list(S::zero(), len, lanes)),
        Element::Bool => Truths::<S>::many(list(S::Mask::from(false), len, lanes)),
        _ => Integers::<S>::many(list(0, len, lanes)),
    }
}

/// What some lanes have become, the others as they were.
fn merge<S: Scalar>(
    before: Args<S>,
    results: &[Slot<S>],
    types: &[Type],
    chosen: &[usize],
    lanes: usize,
) -> Args<S> {
    before
        .into_iter()
        .zip(results)
        .zip(types)
        .map(|((before, result), ty)| {
            before.map(|before| {
                let mut whole = before.spread(ty.is_scalar(), lanes);
                whole.place(chosen, result, ty.is_scalar(), lanes);
                whole
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn a_loop_that_never_ends_is_left() {
        let text = "fn @f(%x: f64) -> (f64, i64) {
  %y, %n = while (%t = %x) { %c = gt %t, 0.0 yield %c } do { %u = sub %t, 1.0 yield %u }
  ret %y, %n
}";
        let f = parse(text).unwrap();
        assert_eq!(f.run(&[9999.0]).unwrap(), [0.0, 9999.0]);
        let error = f.run(&[f64::INFINITY]).unwrap_err().to_string();
        assert!(error.contains("was left after 10000 rounds; does it end at all?"), "{error}");
        let inside = "fn @f(%x: [2]f64) -> [2]f64 {
  %r = tab (%i < 2) {
    %a = ld %x[%i]
    %y, _ = while (%t = %a) { %c = gt %t, 0.0 yield %c } do { %u = sub %t, 1.0 yield %u }
    yield %y
  }
  ret %r
}";
        let f = parse(inside).unwrap();
        assert_eq!(f.run(&[3.0, 5.5]).unwrap(), [0.0, -0.5]);
        assert!(f.run(&[3.0, f64::INFINITY]).is_err());
    }
}
