//! Loops and branches, with lanes that part.

use cotangent_numbers::Scalar;

use super::{Code, Frame, ROUNDS, Slots, UNDECIDED, fault, outcome, room};
use crate::interpret::RunError;
use crate::slot::{Integers, Kind, Numbers, Slot, Truths, by_kind};
use crate::types::Type;

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
            return match ty.element() {
                e if e.is_float() => Numbers::<S>::many(super::list(S::zero(), 0, 1)),
                crate::types::Element::Bool => {
                    Truths::<S>::many(super::list(S::Mask::from(false), 0, 1))
                }
                _ => Integers::<S>::many(super::list(0, 0, 1)),
            };
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

/// How one part of the lanes goes on by itself.
struct Part<'p, S: Scalar> {
    code: &'p Code<'p>,
    captures: &'p [Option<Slot<S>>],
    lanes: usize,
}

impl<S: Scalar> Part<'_, S> {
    /// A round for some of the lanes.
    fn round(
        &self,
        frame: &mut Frame<S>,
        index: Option<i64>,
        carries: Vec<Option<Slot<S>>>,
        chosen: Option<&[usize]>,
    ) -> Result<Slots<S>, RunError> {
        let mut args: Vec<Option<Slot<S>>> =
            index.map(|i| Some(Slot::Integer(i))).into_iter().collect();
        match chosen {
            None => {
                args.extend(carries);
                args.extend(self.captures.iter().cloned());
                self.code.run(frame, args, self.lanes)
            }
            Some(chosen) => {
                let pick =
                    |slot: &Option<Slot<S>>| slot.as_ref().map(|s| s.pick(chosen, self.lanes));
                args.extend(carries.iter().map(pick));
                args.extend(self.captures.iter().map(pick));
                self.code.run(frame, args, chosen.len())
            }
        }
    }
}

impl Code<'_> {
    fn result_types(&self) -> Vec<Type> {
        self.function.results().iter().map(|v| self.function.ty(*v)).collect()
    }

    pub(super) fn repeat<S: Scalar>(
        &self,
        code: &Code<'_>,
        bound: Option<Slot<S>>,
        mut carries: Vec<Option<Slot<S>>>,
        captures: &[Option<Slot<S>>],
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let Some(bound) = bound else { return fault(self.function, "no bound".to_string()) };
        let types = code.result_types();
        let count = carries.len();
        let part = Part { code, captures, lanes };
        let mut frame = Frame::new(code.function);
        let mut stacks: Vec<Stack<S>> =
            types[count..].iter().map(|_| Stack { rounds: Vec::new() }).collect();
        let view = bound.view::<Integers<S>>(true, lanes);
        let bounds: Vec<i64> =
            (0..if bound.varies() { lanes } else { 1 }).map(|lane| view.at(0, lane)).collect();
        let most = bounds.iter().copied().max().unwrap_or(0);
        let least = bounds.iter().copied().min().unwrap_or(0);
        for ty in &types[count..] {
            let rounds = usize::try_from(most).unwrap_or(0);
            let len = ty.len().unwrap_or(0).saturating_mul(rounds);
            room(self.function, len, lanes)?;
        }
        for i in 0..most {
            if i < least {
                let mut results = part.round(&mut frame, Some(i), carries, None)?;
                let stacked = results.split_off(count);
                stacks.iter_mut().zip(stacked).for_each(|(stack, slot)| stack.rounds.push(slot));
                carries = results.into_iter().map(Some).collect();
                continue;
            }
            // Some lanes are done.
            let chosen: Vec<usize> = (0..lanes).filter(|lane| bounds[*lane] > i).collect();
            let results = part.round(&mut frame, Some(i), carries.clone(), Some(&chosen))?;
            carries = merge(carries, &results[..count], &types, &chosen, lanes);
            for ((stack, slot), ty) in stacks.iter_mut().zip(&results[count..]).zip(&types[count..])
            {
                let mut whole = empty(*ty, lanes);
                whole.place(&chosen, slot, ty.is_scalar(), lanes);
                stack.rounds.push(whole);
            }
        }
        let mut parts: Slots<S> = carries.into_iter().flatten().collect();
        parts.extend(stacks.into_iter().zip(&types[count..]).map(|(s, ty)| s.whole(*ty, lanes)));
        Ok(parts)
    }

    pub(super) fn while_holds<S: Scalar>(
        &self,
        bodies: &[Code<'_>],
        mut carries: Vec<Option<Slot<S>>>,
        captures: &[Option<Slot<S>>],
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let [condition, code] = bodies else {
            return fault(self.function, "a `while` without bodies".to_string());
        };
        let types = code.result_types();
        let count = carries.len();
        let (test, part) =
            (Part { code: condition, captures, lanes }, Part { code, captures, lanes });
        let (mut test_frame, mut frame) =
            (Frame::new(condition.function), Frame::new(code.function));
        let mut stacks: Vec<Stack<S>> =
            types[count..].iter().map(|_| Stack { rounds: Vec::new() }).collect();
        let mut active: Vec<usize> = (0..lanes).collect();
        let mut rounds = vec![0i64; lanes];
        for _ in 0..ROUNDS {
            let chosen = (active.len() < lanes).then_some(&active[..]);
            let truth = test.round(&mut test_frame, None, carries.clone(), chosen)?;
            let Some(mask) = truth.first() else { break };
            let view = mask.view::<Truths<S>>(true, active.len());
            let mut still = Vec::with_capacity(active.len());
            let mut open = None;
            for (k, lane) in active.iter().enumerate() {
                match outcome::<S>(view.at(0, k)) {
                    Some(true) => still.push(*lane),
                    Some(false) => {}
                    None => open = Some(view.at(0, k)),
                }
            }
            if open.is_some() {
                if lanes > 1 || !stacks.is_empty() {
                    let what =
                        "how often a loop goes round depends on a comparison that is not decided";
                    return fault(self.function, what.to_string());
                }
                return self.undecided(&test, &part, carries, &types);
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
                let mut results = part.round(&mut frame, None, carries, None)?;
                let stacked = results.split_off(count);
                stacks.iter_mut().zip(stacked).for_each(|(stack, slot)| stack.rounds.push(slot));
                carries = results.into_iter().map(Some).collect();
            } else {
                let results = part.round(&mut frame, None, carries.clone(), Some(&active))?;
                carries = merge(carries, &results[..count], &types, &active, lanes);
                for ((stack, slot), ty) in
                    stacks.iter_mut().zip(&results[count..]).zip(&types[count..])
                {
                    let mut whole = empty(*ty, lanes);
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
        parts.extend(stacks.into_iter().zip(&types[count..]).map(|(s, ty)| s.whole(*ty, lanes)));
        parts.push(match rounds.iter().all(|n| *n == rounds[0]) {
            true => Slot::Integer(rounds[0]),
            false => Slot::new::<Integers<S>>(rounds, true, true, 1),
        });
        Ok(parts)
    }

    /// A loop of which it is not known how often it goes round: what a carry may depend on after any number
    /// of rounds. A dependence travels from carry to carry, so as many rounds as there are entries in all of
    /// them bring it everywhere it gets.
    fn undecided<S: Scalar>(
        &self,
        test: &Part<'_, S>,
        part: &Part<'_, S>,
        carries: Vec<Option<Slot<S>>>,
        types: &[Type],
    ) -> Result<Slots<S>, RunError> {
        let entries: usize = carries.iter().flatten().map(Slot::len).sum();
        let mut carries = carries;
        let (mut test_frame, mut frame) =
            (Frame::new(test.code.function), Frame::new(part.code.function));
        for _ in 0..=entries {
            let truth = test.round(&mut test_frame, None, carries.clone(), None)?;
            let Some(Slot::Truth(mask)) = truth.first() else { break };
            let results = part.round(&mut frame, None, carries.clone(), None)?;
            let before: Vec<Slot<S>> = carries.into_iter().flatten().collect();
            let joined = self.either(*mask, &results, &before, types)?;
            carries = joined.into_iter().map(Some).collect();
        }
        let mut parts: Slots<S> = carries.into_iter().flatten().collect();
        // How often is not known; an index made of it is an error when it is used.
        parts.push(Slot::Integer(-1));
        Ok(parts)
    }

    /// The values of one or the other, where it is not known which.
    fn either<S: Scalar>(
        &self,
        mask: S::Mask,
        yes: &[Slot<S>],
        no: &[Slot<S>],
        types: &[Type],
    ) -> Result<Slots<S>, RunError> {
        let mut joined = Vec::with_capacity(yes.len());
        for ((a, b), ty) in yes.iter().zip(no).zip(types) {
            let (scalar, len) = (ty.is_scalar(), a.len());
            joined.push(match a {
                Slot::Number(_) | Slot::Numbers(_) => {
                    let (x, y) = (a.view::<Numbers<S>>(scalar, 1), b.view::<Numbers<S>>(scalar, 1));
                    let data = (0..len).map(|e| S::select(mask, x.at(e, 0), y.at(e, 0))).collect();
                    Slot::new::<Numbers<S>>(data, scalar, false, len)
                }
                Slot::Truth(_) | Slot::Truths(_) => {
                    let (x, y) = (a.view::<Truths<S>>(scalar, 1), b.view::<Truths<S>>(scalar, 1));
                    let data =
                        (0..len).map(|e| (mask & x.at(e, 0)) | (!mask & y.at(e, 0))).collect();
                    Slot::new::<Truths<S>>(data, scalar, false, len)
                }
                Slot::Integer(_) | Slot::Integers(_) => {
                    let (x, y) =
                        (a.view::<Integers<S>>(scalar, 1), b.view::<Integers<S>>(scalar, 1));
                    if (0..len).any(|e| x.at(e, 0) != y.at(e, 0)) {
                        return fault(self.function, UNDECIDED.to_string());
                    }
                    a.clone()
                }
            });
        }
        Ok(joined)
    }

    pub(super) fn branch<S: Scalar>(
        &self,
        bodies: &[Code<'_>],
        condition: Option<Slot<S>>,
        captures: &[Option<Slot<S>>],
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let (Some(condition), [yes, no]) = (condition, bodies) else {
            return fault(self.function, "an `if` without bodies".to_string());
        };
        let all =
            |code: &Code<'_>| code.run(&mut Frame::new(code.function), captures.to_vec(), lanes);
        let width = if condition.varies() { lanes } else { 1 };
        let view = condition.view::<Truths<S>>(true, lanes);
        let outcomes: Vec<Option<bool>> =
            (0..width).map(|lane| outcome::<S>(view.at(0, lane))).collect();
        if outcomes.iter().all(|o| *o == Some(true)) {
            return all(yes);
        }
        if outcomes.iter().all(|o| *o == Some(false)) {
            return all(no);
        }
        let types = yes.result_types();
        if outcomes.contains(&None) {
            if width > 1 || lanes > 1 {
                let what = "a branch depends on a comparison that is not decided";
                return fault(self.function, what.to_string());
            }
            let (a, b) = (all(yes)?, all(no)?);
            return self.either(view.at(0, 0), &a, &b, &types);
        }
        let mut parts: Slots<S> = types.iter().map(|ty| empty(*ty, lanes)).collect();
        for (truth, code) in [(true, yes), (false, no)] {
            let chosen: Vec<usize> =
                (0..lanes).filter(|lane| outcomes[*lane] == Some(truth)).collect();
            let part = Part { code, captures, lanes };
            let results =
                part.round(&mut Frame::new(code.function), None, Vec::new(), Some(&chosen))?;
            for ((whole, slot), ty) in parts.iter_mut().zip(&results).zip(&types) {
                whole.place(&chosen, slot, ty.is_scalar(), lanes);
            }
        }
        Ok(parts)
    }
}

/// Entries of its own for each lane, to be written.
fn empty<S: Scalar>(ty: Type, lanes: usize) -> Slot<S> {
    let len = ty.len().unwrap_or(0);
    let list = |len: usize| len * lanes;
    match ty.element() {
        e if e.is_float() => {
            Slot::new::<Numbers<S>>(vec![S::zero(); list(len)], ty.is_scalar(), true, len)
        }
        crate::types::Element::Bool => {
            Slot::new::<Truths<S>>(vec![S::Mask::from(false); list(len)], ty.is_scalar(), true, len)
        }
        _ => Slot::new::<Integers<S>>(vec![0; list(len)], ty.is_scalar(), true, len),
    }
}

/// What some lanes have become, the others as they were.
fn merge<S: Scalar>(
    before: Vec<Option<Slot<S>>>,
    results: &[Slot<S>],
    types: &[Type],
    chosen: &[usize],
    lanes: usize,
) -> Vec<Option<Slot<S>>> {
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
