//! Rebuilding a function with the rules applied, bodies included.
//!
//! Every operation goes through [`Rewriter::emit`], and so does what a rule builds: when an operation
//! stands in the new function, no rule applies to it any more.

use std::sync::Arc;

use cotangent_ir::ranges::{Range, of_body};
use cotangent_ir::{
    Builder, Copied, Dim, Element, Fact, Function, LinearValues, Op, Structure, Type, Value,
};
use cotangent_ops::Comparison;

use crate::pattern::{Pattern, Rule, build};
use crate::rules::rules;
use crate::stats::{Tally, formula, pending};
use crate::visit::targets_inside;

/// How often rules are applied to what rules have built.
const DEPTH: usize = 24;

/// A function that is being rebuilt.
pub(crate) struct Rewriter<'t> {
    pub(crate) tally: &'t mut Tally,
    /// What is known of the parameters.
    pub(crate) ranges: Vec<Range>,
    /// By new value: how often what it was made of is used.
    uses: Vec<u32>,
    /// Which of the new values are linear.
    linear: LinearValues,
    /// By parameter: whether it is added to and not looked at, as a target of an accumulation is, here or
    /// around it.
    targets: Vec<bool>,
    /// By new value: whether it is a target with something added.
    targeted: Vec<bool>,
    /// By parameter: the bits of the number that all elements of an array are.
    pub(crate) elements: Vec<Option<u64>>,
    depth: usize,
    /// Only rules that do not grow.
    strict: bool,
}

/// The function with rules of algebra and of arrays applied to a fixpoint.
pub(crate) fn algebra(f: &Function, tally: &mut Tally, strict: bool) -> Function {
    rewrite(f, tally, Known::nothing(f.params().len()), strict)
}

/// What is known of the parameters of a function.
#[derive(Clone)]
struct Known {
    ranges: Vec<Range>,
    targets: Vec<bool>,
    elements: Vec<Option<u64>>,
}

impl Known {
    fn nothing(params: usize) -> Known {
        let (ranges, targets) = (vec![None; params], Vec::new());
        Known { ranges, targets, elements: vec![None; params] }
    }
}

fn rewrite(f: &Function, tally: &mut Tally, known: Known, strict: bool) -> Function {
    let Known { ranges, targets, elements } = known;
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    let mut uses = vec![0u32; f.len()];
    for operand in f.values().flat_map(|v| f.operands(v)).chain(f.results().iter().copied()) {
        uses[operand.index()] += 1;
    }
    let mut rewriter = Rewriter {
        tally,
        ranges,
        uses: Vec::new(),
        linear: LinearValues::default(),
        targets,
        targeted: Vec::new(),
        elements,
        depth: 0,
        strict,
    };
    let linear = f.linear_values().unwrap_or_else(|_| vec![false; f.len()]);
    let facts = facts(f);
    let mut copies = Copied::new(f.len());
    for value in f.values() {
        let copy = match f.op(value) {
            Op::Param(k) => args[k as usize],
            Op::Compare(comparison) if decided(&facts, f, value, comparison).is_some() => {
                let truth = decided(&facts, f, value, comparison) == Some(true);
                let shown = || (formula(f, value, 3), truth.to_string());
                rewriter.tally.count("compare_by_bounds", shown);
                b.truth(truth)
            }
            Op::Table(_) => {
                copies.value(&mut b, f, value, &args);
                continue;
            }
            Op::Structure(_) => {
                let operands: Vec<Value> = f.operands(value).map(|v| copies.of(v)).collect();
                if let Some(structure) = f.structure(value) {
                    let parts = rewriter.structure(&mut b, structure, &operands);
                    copies.set_parts(value, parts);
                }
                continue;
            }
            Op::Part(_) if vanishes(&b, f, value, &linear, &copies) => b.constant(0.0, f.ty(value)),
            Op::Part(k) => match copies.parts(f.operand(value, 0)) {
                Some(parts) => parts[k as usize],
                None => continue,
            },
            op => {
                let operands: Vec<Value> = f.operands(value).map(|v| copies.of(v)).collect();
                let new = rewriter.emit(&mut b, op, f.ty(value), &operands);
                match !b.function().is_zero(new) && vanishes(&b, f, value, &linear, &copies) {
                    true => b.constant(0.0, f.ty(value)),
                    false => new,
                }
            }
        };
        copies.set(value, copy);
        if rewriter.uses.len() <= copy.index() {
            rewriter.uses.resize(copy.index() + 1, 0);
        }
        rewriter.uses[copy.index()] += uses[value.index()];
    }
    for guard in f.guards() {
        b.guard(copies.of(guard.condition), guard.expected);
    }
    let results = f.results().iter().map(|v| copies.of(*v)).collect();
    finish(b, f, results)
}

/// What is known of the values of a function, if there is a comparison of numbers to be decided by it.
fn facts(f: &Function) -> Vec<Fact> {
    let compares = |v: Value| match f.op(v) {
        Op::Compare(_) => f.ty(v).is_scalar() && f.ty(f.operand(v, 0)).is_float(),
        _ => false,
    };
    if f.values().any(compares) { f.facts(&[]) } else { Vec::new() }
}

/// How a comparison of two numbers comes out, if that is known.
fn decided(facts: &[Fact], f: &Function, value: Value, comparison: Comparison) -> Option<bool> {
    let (x, y) = (f.operand(value, 0), f.operand(value, 1));
    if !f.ty(value).is_scalar() || !f.ty(x).is_float() {
        return None;
    }
    facts.get(x.index())?.compare(*facts.get(y.index())?, comparison)
}

/// Whether an operation is linear in tangents that have all turned out to be zero: then it is zero,
/// whatever the coefficients are.
fn vanishes(b: &Builder, f: &Function, value: Value, linear: &[bool], copies: &Copied) -> bool {
    if !linear[value.index()] || f.ty(value).dims().contains(&Dim::Any) {
        return false;
    }
    let whole = if matches!(f.op(value), Op::Part(_)) { f.operand(value, 0) } else { value };
    let zero = |v: Value| copies.get(v).is_some_and(|v| b.function().is_zero(v));
    f.operands(whole).filter(|v| linear[v.index()]).all(zero)
}

/// The function with these results, and the derivative that was given with the old one.
pub(crate) fn finish(b: Builder, f: &Function, results: Vec<Value>) -> Function {
    let new = b.finish(results);
    match f.rule() {
        Some(rule) => new.with_rule((**rule).clone()),
        None => new,
    }
}

impl Rewriter<'_> {
    fn structure(
        &mut self,
        b: &mut Builder,
        structure: &Structure,
        operands: &[Value],
    ) -> Vec<Value> {
        let inner = match structure {
            // What is called elsewhere, too, is left as it is.
            Structure::Call { .. } | Structure::Derive(_) => structure.clone(),
            other => {
                let f = b.function();
                let count = other.bodies().next().map_or(0, |body| body.params().len());
                let ranges = of_body(f, other, operands, &self.ranges, count);
                let targets =
                    targets_inside(other, |k| self.is_targeted(b.function(), operands[k]));
                // Only what is captured is the same at every point and in every round.
                let (own, _) = other.own_params();
                let elements = (0..count)
                    .map(|k| match other.operand_of(k) {
                        Some(operand) if k >= own => self.element(b.function(), operands[operand]),
                        _ => None,
                    })
                    .collect();
                let known = Known { ranges, targets, elements };
                other
                    .with_bodies(|body| {
                        Arc::new(rewrite(body, self.tally, known.clone(), self.strict))
                    })
                    .settled()
            }
        };
        match self.kernel(b, &inner, operands) {
            Some(parts) => parts,
            None => b.structure(inner, operands),
        }
    }

    /// Builds an operation, or what rules make of it.
    pub(crate) fn emit(&mut self, b: &mut Builder, op: Op, ty: Type, operands: &[Value]) -> Value {
        if self.depth >= DEPTH || op.is_leaf() {
            return b.copy(op, ty, operands);
        }
        self.depth += 1;
        let found = self
            .broadcast(b, op, ty, operands)
            .or_else(|| self.by_rule(b, op, ty, operands))
            .or_else(|| self.access(b, op, ty, operands))
            .or_else(|| self.by_range(b, op, ty, operands));
        self.depth -= 1;
        found.unwrap_or_else(|| b.copy(op, ty, operands))
    }

    fn by_rule(&mut self, b: &mut Builder, op: Op, ty: Type, operands: &[Value]) -> Option<Value> {
        for rule in rules().of(op) {
            if !self.tally.options.allows(rule.class) {
                continue;
            }
            let Some(bound) = rule.matches(b.function(), op, operands) else { continue };
            let may_grow = !self.strict && bound.inner.iter().all(|v| self.is_single(*v));
            if rule.growth() > 0.0 && !may_grow {
                continue;
            }
            // A target stays one: it may be left as it is, but not turned into a difference.
            let stays = matches!(rule.right, Pattern::Var(_));
            if !stays && operands.iter().any(|v| self.is_targeted(b.function(), *v)) {
                continue;
            }
            if rule.bends() && bound.values().any(|v| self.linear.is(b.function(), v)) {
                continue;
            }
            // The right side is on the same elements, so it has the dimensions of the left one or is a
            // scalar for all of it.
            if let Some(new) = self.apply(b, rule, &bound, ty) {
                let step = |b: &Builder| (pending(b, op, operands), formula(b.function(), new, 3));
                self.tally.count(rule.name, || step(b));
                return Some(new);
            }
        }
        None
    }

    fn apply(
        &mut self,
        b: &mut Builder,
        rule: &Rule,
        bound: &crate::pattern::Bound,
        ty: Type,
    ) -> Option<Value> {
        let new = build(&rule.right, bound, b, &mut |b, op, operands| {
            let ty = joint(b, op, operands);
            self.emit(b, op, ty, operands)
        })?;
        self.fit(b, new, ty)
    }

    /// The value as one of a type: filled, if it is the scalar of it.
    pub(crate) fn fit(&self, b: &mut Builder, value: Value, ty: Type) -> Option<Value> {
        let found = b.ty(value);
        if found == ty {
            return Some(value);
        }
        let fills = found.is_scalar() && found.element() == ty.element();
        (fills && !ty.dims().contains(&Dim::Any)).then(|| b.fill(value, ty))
    }

    fn is_single(&self, value: Value) -> bool {
        self.uses.get(value.index()).is_none_or(|uses| *uses <= 1)
    }

    /// Whether a value of the new function is a target with something added.
    fn is_targeted(&mut self, f: &Function, value: Value) -> bool {
        if !self.targets.contains(&true) {
            return false;
        }
        for v in f.values().skip(self.targeted.len()).take_while(|v| *v <= value) {
            let targeted = match f.op(v) {
                Op::Param(k) => self.targets[k as usize],
                _ => f.operands(v).any(|o| self.targeted[o.index()]),
            };
            self.targeted.push(targeted);
        }
        self.targeted[value.index()]
    }

    /// Arrays of one value everywhere: arithmetic is done on the value.
    fn broadcast(
        &mut self,
        b: &mut Builder,
        op: Op,
        ty: Type,
        operands: &[Value],
    ) -> Option<Value> {
        if ty.is_scalar() || !is_elementwise(op) {
            return None;
        }
        let f = b.function();
        let filled: Vec<Value> = operands
            .iter()
            .map(|v| if f.op(*v) == Op::Fill { f.operand(*v, 0) } else { *v })
            .collect();
        if filled == operands {
            return None;
        }
        let scalars = filled.iter().all(|v| b.ty(*v).is_scalar());
        if scalars {
            let one = self.emit(b, op, Type::scalar(ty.element()), &filled);
            let new = self.fit(b, one, ty)?;
            self.tally.count("fill_outwards", || {
                (pending(b, op, operands), formula(b.function(), new, 3))
            });
            return Some(new);
        }
        let new = self.emit(b, op, ty, &filled);
        Some(new)
    }
}

/// Whether an operation goes element by element.
pub(crate) fn is_elementwise(op: Op) -> bool {
    matches!(
        op,
        Op::Elementary(..)
            | Op::Compare(_)
            | Op::And
            | Op::Or
            | Op::Not
            | Op::Select
            | Op::Integral(_)
            | Op::Cast
            | Op::Stop
            | Op::Keep
            | Op::Recompute
    )
}

/// The type an operation of the rules has: that of its operands, a truth value for a comparison.
fn joint(b: &Builder, op: Op, operands: &[Value]) -> Type {
    let skip = usize::from(op == Op::Select);
    let own = operands.get(skip).map_or(Type::F64, |v| b.ty(*v));
    let array = operands.iter().map(|v| b.ty(*v)).find(|ty| !ty.is_scalar());
    let element = if matches!(op, Op::Compare(_)) { Element::Bool } else { own.element() };
    array.map_or(Type::scalar(element), |ty| ty.of(element))
}

/// What a `for` goes round, if it is a dimension.
pub(crate) fn bound(f: &Function, operands: &[Value]) -> Option<Dim> {
    match f.op(operands[0]) {
        Op::Integer(n) => usize::try_from(n).ok().map(Dim::Size),
        Op::Extent(k) => {
            let array = f.operand(operands[0], 0);
            f.ty(array).dims().get(k as usize).copied().filter(|dim| *dim != Dim::Any)
        }
        _ => None,
    }
}
