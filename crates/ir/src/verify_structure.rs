//! What must hold of operations with bodies.

use cotangent_ops::Opcode;

use crate::function::{Function, Param};
use crate::op::Op;
use crate::structure::{Reducer, Structure};
use crate::types::{Dim, Type};
use crate::verify::VerifyError;

impl Structure {
    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, VerifyError> {
        Err(VerifyError::Structure { name: self.name(), what: what.into() })
    }

    /// The parameters of its bodies.
    pub(crate) fn params(&self) -> &[Param] {
        self.bodies().next().map(|body| body.params()).unwrap_or_default()
    }

    /// Whether its bodies fit operands of these types.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self, operands: &[Type]) -> Result<(), VerifyError> {
        let (own, handed) = self.own_params();
        for body in self.bodies() {
            let (expected, found) = (body.params().len() + self.lead(), operands.len());
            if own > body.params().len() || expected != found + own - handed {
                if let Structure::Call { function } = self {
                    let (takes, has) = (function.params().len(), found);
                    let name = function.name();
                    return self.wrong(format!("@{name} takes {takes} arguments, {has} are given"));
                }
                return self.wrong(format!(
                    "a body of {} parameters does not fit {found} operands",
                    body.params().len()
                ));
            }
            for (k, param) in body.params().iter().enumerate() {
                let given = self.operand_of(k).map_or(Type::I64, |operand| operands[operand]);
                if param.ty != given {
                    return self.wrong(format!("%{} is {}, not {given}", param.name, param.ty));
                }
                if param.linear && !param.ty.is_float() {
                    return self
                        .wrong(format!("%{} is {}, which is not linear", param.name, param.ty));
                }
            }
            if !body.guards().is_empty() && !matches!(self, Structure::Call { .. }) {
                return self.wrong("a body has no guards");
            }
        }
        if self.domain().contains(&Dim::Any) {
            return self.wrong("a domain has a size");
        }
        let results =
            |f: &Function| -> Vec<Type> { f.results().iter().map(|v| f.ty(*v)).collect() };
        let carried = |body: &Function, from: usize, count: usize| {
            let found = results(body);
            if found.len() < count {
                return self
                    .wrong(format!("{count} carries, but the body yields {} values", found.len()));
            }
            for (k, (result, param)) in found.iter().zip(&body.params()[from..]).enumerate() {
                if k < count && *result != param.ty {
                    return self.wrong(format!(
                        "%{} is {}, but the body yields {result} for it",
                        param.name, param.ty
                    ));
                }
            }
            match found.iter().skip(count).find(|ty| ty.dims().contains(&Dim::Any)) {
                Some(ty) => self.wrong(format!("{ty} cannot be stacked: its size is not known")),
                None => Ok(()),
            }
        };
        match self {
            Structure::Tab { body, .. } => {
                match results(body).iter().find(|ty| ty.dims().contains(&Dim::Any)) {
                    Some(ty) => self.wrong(format!("an element cannot be {ty}")),
                    None => Ok(()),
                }
            }
            Structure::Red { reducer, body, .. } => match (results(body)[..].as_ref(), reducer) {
                ([one], Reducer::Sum) if one.is_float() || one.element().is_integer() => Ok(()),
                ([one], Reducer::Product | Reducer::Max | Reducer::Min)
                    if one.is_scalar() && *one != Type::BOOL =>
                {
                    Ok(())
                }
                ([one], Reducer::ArgMax | Reducer::ArgMin) if one.is_scalar() && one.is_float() => {
                    Ok(())
                }
                ([one], _) => self.wrong(format!("{one} cannot be reduced by {}", reducer.name())),
                (many, _) => self.wrong(format!("one value is reduced, not {}", many.len())),
            },
            Structure::Acc { dims, targets, body } => {
                carried(body, dims.len(), *targets)?;
                if body.results().len() != *targets {
                    return self.wrong("the body yields its targets and nothing else");
                }
                match body.params()[dims.len()..][..*targets].iter().find(|p| !p.ty.is_float()) {
                    Some(p) => {
                        self.wrong(format!("%{} is {}: only numbers are added up", p.name, p.ty))
                    }
                    None => self.only_adds(body, dims.len(), *targets),
                }
            }
            Structure::For { carries, body } => {
                if operands[0] != Type::I64 {
                    return self.wrong(format!("the bound is {}, not i64", operands[0]));
                }
                carried(body, 1, *carries)
            }
            Structure::While { carries, condition, body } => {
                if results(condition) != [Type::BOOL] {
                    return self.wrong("the condition yields one truth value");
                }
                carried(body, 0, *carries)
            }
            Structure::If { yes, no } => {
                if operands[0] != Type::BOOL {
                    return self.wrong(format!("the condition is {}, not bool", operands[0]));
                }
                let (a, b) = (results(yes), results(no));
                if a == b {
                    Ok(())
                } else {
                    self.wrong(format!("one branch yields {a:?}, the other {b:?}"))
                }
            }
            Structure::Call { .. } => Ok(()),
        }
    }

    /// Targets are added to and not looked at, so that the points of a domain may come in any order.
    fn only_adds(&self, body: &Function, first: usize, targets: usize) -> Result<(), VerifyError> {
        let given: Vec<Option<usize>> = (0..body.params().len())
            .map(|k| k.checked_sub(first).filter(|k| *k < targets))
            .collect();
        let found = self.added_to(body, &given)?;
        match found.iter().enumerate().all(|(k, target)| *target == Some(k)) {
            true => Ok(()),
            false => self.wrong("a target is lost: the body yields something else for it"),
        }
    }

    /// The targets that the results of a body are, with what was added, given those that its parameters are.
    fn added_to(
        &self,
        body: &Function,
        given: &[Option<usize>],
    ) -> Result<Vec<Option<usize>>, VerifyError> {
        let mut of: Vec<Option<usize>> = vec![None; body.len()];
        let mut parts: Vec<Vec<Option<usize>>> = vec![Vec::new(); body.structures.len()];
        for value in body.values() {
            let args: Vec<_> = body.operands(value).collect();
            let targets: Vec<Option<usize>> = args.iter().map(|v| of[v.index()]).collect();
            let derived: Vec<usize> = (0..args.len()).filter(|k| targets[*k].is_some()).collect();
            of[value.index()] = match (body.op(value), &derived[..]) {
                (Op::Param(k), _) => given[k as usize],
                (Op::Part(k), _) => match body.op(args[0]) {
                    Op::Structure(s) => parts[s as usize].get(k as usize).copied().flatten(),
                    _ => None,
                },
                (_, []) | (Op::Extent(_), _) => None,
                (Op::Structure(s), _) => {
                    parts[s as usize] =
                        self.parts_added_to(&body.structures[s as usize], &targets)?;
                    None
                }
                (Op::PutAdd, [0]) => targets[0],
                (Op::Elementary(Opcode::Add, _), [k]) => targets[*k],
                (op, _) => return self.wrong(format!("a target is looked at by `{}`", op.name())),
            };
        }
        Ok(body.results().iter().map(|v| of[v.index()]).collect())
    }

    /// The targets that the parts of an operation inside are, given those that its operands are.
    fn parts_added_to(
        &self,
        inner: &Structure,
        operands: &[Option<usize>],
    ) -> Result<Vec<Option<usize>>, VerifyError> {
        let looked_at = || self.wrong(format!("a target is looked at by `{}`", inner.name()));
        if operands[..inner.lead()].iter().any(Option::is_some) {
            return looked_at();
        }
        let mut found = Vec::new();
        for body in inner.bodies() {
            let of = |k: usize| inner.operand_of(k).and_then(|o| operands[o]);
            let given: Vec<Option<usize>> = (0..body.params().len()).map(of).collect();
            found.push((self.added_to(body, &given)?, given));
        }
        let (own, handed) = inner.own_params();
        let Some((results, given)) = found.last() else { return Ok(Vec::new()) };
        let fits = match inner {
            // What was one target before a round is that target after it; what is stacked is none.
            Structure::For { .. } | Structure::While { .. } | Structure::Acc { .. } => {
                results.get(..handed) == given.get(own - handed..own)
                    && results[handed..].iter().all(Option::is_none)
                    && found[..found.len() - 1].iter().all(|(test, _)| *test == [None])
            }
            Structure::Tab { .. } | Structure::Red { .. } => results.iter().all(Option::is_none),
            Structure::If { .. } => found[0].0 == *results,
            Structure::Call { .. } => true,
        };
        if fits { Ok(results.clone()) } else { looked_at() }
    }

    /// Which of its parts are linear.
    ///
    /// # Errors
    /// A body that is not linear in its linear parameters.
    pub fn linear_parts(&self) -> Result<Vec<bool>, VerifyError> {
        let results = |f: &Function| -> Result<Vec<bool>, VerifyError> {
            let linear = f.linear_values()?;
            Ok(f.results().iter().map(|v| linear[v.index()]).collect())
        };
        // A carry is linear all along or not at all.
        let carried = |f: &Function, from: usize, count: usize| {
            let mut found = results(f)?;
            for (k, found) in found.iter_mut().enumerate().take(count) {
                let param = &f.params()[from + k];
                let zero = f.is_zero(f.results()[k]);
                if *found && !param.linear || param.linear && !*found && !zero {
                    return self.wrong(format!(
                        "%{} is linear before or after a round, but not both",
                        param.name
                    ));
                }
                *found = param.linear;
            }
            Ok(found)
        };
        match self {
            Structure::Tab { body, .. } => results(body),
            Structure::Red { reducer: Reducer::Sum, body, .. } => results(body),
            Structure::Red { body, .. } => {
                if results(body)?.contains(&true) {
                    return self.wrong("only sums are linear");
                }
                Ok(vec![false])
            }
            Structure::Acc { dims, targets, body } => carried(body, dims.len(), *targets),
            Structure::For { carries, body } => carried(body, 1, *carries),
            Structure::While { carries, condition, body } => {
                if results(condition)?.contains(&true) {
                    return self.wrong("the condition depends on something linear");
                }
                let mut parts = carried(body, 0, *carries)?;
                parts.push(false);
                Ok(parts)
            }
            Structure::If { yes, no } => {
                let (a, b) = (results(yes)?, results(no)?);
                for k in 0..a.len() {
                    let fits = |f: &Function, linear: bool| linear || f.is_zero(f.results()[k]);
                    if (a[k] || b[k]) && !(fits(yes, a[k]) && fits(no, b[k])) {
                        return self.wrong("a result is linear in one branch and not in the other");
                    }
                }
                Ok(a.iter().zip(&b).map(|(a, b)| *a || *b).collect())
            }
            Structure::Call { function } => results(function),
        }
    }
}
