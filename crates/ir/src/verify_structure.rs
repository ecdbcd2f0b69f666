//! What must hold of operations with bodies.

use crate::function::{Function, Param, Value};
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
        let mut of: Vec<Option<usize>> = vec![None; body.len()];
        for value in body.values() {
            let args: Vec<_> = body.operands(value).collect();
            let derived: Vec<usize> =
                (0..args.len()).filter(|k| of[args[*k].index()].is_some()).collect();
            let looked_at =
                || self.wrong(format!("a target is looked at by `{}`", body.op(value).name()));
            of[value.index()] = match (body.op(value), &derived[..]) {
                (Op::Param(k), _) => (k as usize).checked_sub(first).filter(|k| *k < targets),
                (_, []) => None,
                (Op::PutAdd, [0]) => of[args[0].index()],
                (Op::Elementary(cotangent_ops::Opcode::Add, _), [k]) => of[args[*k].index()],
                (Op::Extent(_), _) => None,
                // What a nested operation does with it is checked there, if it is an accumulation.
                (Op::Structure(_), _) => of[args[derived[0]].index()],
                (Op::Part(k), _) => part_of(body, args[0], k as usize, &of),
                _ => return looked_at(),
            };
        }
        match body.results().iter().find(|v| of[v.index()].is_none()) {
            Some(_) => self.wrong("a target is lost: the body yields something else for it"),
            None => Ok(()),
        }
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

/// The target that a part of an operation with a body comes from, given those of the values before it.
fn part_of(f: &Function, whole: Value, part: usize, of: &[Option<usize>]) -> Option<usize> {
    let structure = f.structure(whole)?;
    let operands: Vec<Option<usize>> = f.operands(whole).map(|v| of[v.index()]).collect();
    let (_, handed) = structure.own_params();
    if part < handed {
        // A carry stays what it is.
        return operands[structure.lead() + part];
    }
    let body = structure.bodies().last()?;
    let mut inner: Vec<Option<usize>> = vec![None; body.len()];
    for value in body.values() {
        inner[value.index()] = match body.op(value) {
            Op::Param(k) => structure.operand_of(k as usize).and_then(|k| operands[k]),
            Op::Part(k) => part_of(body, body.operand(value, 0), k as usize, &inner),
            _ => body.operands(value).find_map(|v| inner[v.index()]),
        };
    }
    body.results().get(part).and_then(|v| inner[v.index()])
}
