//! What a derivative operation need not compute: values, tangents and cotangents that nobody uses, seeds that
//! are zero, arguments that nothing active depends on; equal operations that can share one evaluation; and
//! products with a Jacobian that need no Jacobian.

use std::sync::Arc;

use cotangent_ir::{
    Activity, Builder, Copied, Derive, Dim, Function, Mode, Op, Reducer, Structure, Value,
};
use cotangent_ops::Opcode;

use crate::error::TransformError;
use crate::expand::{Expansion, float_element, write};
use crate::linearize::Tangent;
use crate::lower::lower;
use crate::rewrite::by_its_rule;

/// How much is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Analysis {
    /// Only what is used of an operation and which seeds are zero.
    Uses,
    /// Also what depends on what inside the function that is differentiated.
    #[default]
    Dataflow,
}

/// The function with its derivative operations reduced to what is needed of them.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::{Analysis, canonicalise};
///
/// let f = parse("
///   fn @square(%x: f64) -> f64 { %y = mul %x, %x ret %y }
///   fn @f(%x: f64, %dx: f64) -> f64 { %p, %t = fwd @square(%x: dup %dx) ret(dup) ret %t }
/// ").unwrap();
/// let g = canonicalise(&f, Analysis::Uses).unwrap();
/// assert!(g.to_string().contains("%0 = fwd @square(%x: dup %dx) ret(dupnn)"));
/// ```
///
/// # Errors
/// A function that is not well formed.
pub fn canonicalise(f: &Function, analysis: Analysis) -> Result<Function, TransformError> {
    f.verify()?;
    let mut now = f.clone();
    // Each round takes something away; the cap is for the unforeseen.
    for _ in 0..64 {
        let next = round(&now, analysis)?;
        if next == now {
            break;
        }
        now = next;
    }
    Ok(now)
}

fn round(f: &Function, analysis: Analysis) -> Result<Function, TransformError> {
    let merged = Merged::find(f);
    f.try_rebuilt(|b, copies, value| {
        let Some(structure) = f.structure(value) else { return Ok(false) };
        if let Some(product) = product(f, value) {
            let parts = product.write(b, copies);
            copies.set_parts(value, parts);
            return Ok(true);
        }
        let operands = copies.operands(f, value);
        let parts = match structure {
            Structure::Derive(derive) if matches!(derive.mode, Mode::Forward | Mode::Reverse) => {
                match merged.of(value) {
                    Some(group) => group.parts(b, f, copies, value, derive),
                    None => reduced(b, f, value, derive, &operands, analysis)?,
                }
            }
            other if other.is_named() => b.structure(other.clone(), &operands),
            other => {
                let inner = other.try_with_bodies(|body| round(body, analysis).map(Arc::new))?;
                b.structure(inner, &operands)
            }
        };
        copies.set_parts(value, parts);
        Ok(true)
    })
}

/// Which results of a function depend on which of its parameters, as far as derivatives go.
fn dependence(f: &Function) -> Result<Vec<Vec<bool>>, TransformError> {
    let f = &by_its_rule(lower(f)?);
    let element = float_element(f)?;
    let mut of_result = vec![vec![false; f.params().len()]; f.results().len()];
    for k in (0..f.params().len()).filter(|k| f.params()[*k].ty.is_float()) {
        let mut b = Builder::new("");
        let args = b.params_of(f.params());
        let mut tangents = vec![None; args.len()];
        let tangent = Tangent { element };
        tangents[k] = Some(tangent.params(&mut b, "", f.params()[k].ty));
        let moved = write(f, &mut b, &args, &tangents, &tangent)?;
        for (result, tangent) in moved.along.iter().enumerate() {
            of_result[result][k] = tangent.is_some();
        }
    }
    Ok(of_result)
}

/// The operation with only what is used; its parts, in the places of the old ones.
fn reduced(
    b: &mut Builder,
    f: &Function,
    value: Value,
    derive: &Derive,
    operands: &[Value],
    analysis: Analysis,
) -> Result<Vec<Value>, TransformError> {
    let used: Vec<bool> = f.parts_of(value).iter().map(Option::is_some).collect();
    let zero = |b: &Builder, v: Value| b.function().is_zero(v);
    let mut operand = operands.iter().copied();
    let mut new = derive.clone();
    // Arguments, with their tangents.
    let (mut primals, mut tangents) = (Vec::new(), Vec::new());
    for activity in &mut new.args {
        primals.extend(operand.next());
        let mut tangent = None;
        if matches!(activity, Activity::Dup | Activity::DupNoNeed) {
            tangent = operand.next();
            if tangent.is_some_and(|t| zero(b, t)) {
                *activity = Activity::Const;
            }
        }
        tangents.push(tangent);
    }
    let mut cotangents: Vec<Option<Value>> = Vec::new();
    for activity in &mut new.results {
        let mut cotangent = None;
        if derive.mode == Mode::Reverse && activity.moves() {
            cotangent = operand.next();
            if cotangent.is_some_and(|c| zero(b, c)) {
                *activity = activity.still();
            }
        }
        cotangents.push(cotangent);
    }
    // What is used of the parts, in their order.
    let mut part = used.iter().copied();
    let mut wanted = |there: bool| there && part.next().unwrap_or(false);
    for (old, activity) in derive.results.iter().zip(&mut new.results) {
        *activity = activity.with_value(wanted(old.wants_value()));
        if derive.mode == Mode::Forward && !wanted(old.moves()) {
            *activity = activity.still();
        }
    }
    if derive.mode == Mode::Reverse {
        for (old, activity) in derive.args.iter().zip(&mut new.args) {
            if old.moves() && !wanted(true) {
                *activity = Activity::Const;
            }
        }
    }
    if analysis == Analysis::Dataflow {
        let depends = dependence(&derive.function)?;
        let (args, results) = (new.args.clone(), new.results.clone());
        for (k, activity) in new.results.iter_mut().enumerate() {
            let reached = args.iter().enumerate().any(|(j, a)| a.moves() && depends[k][j]);
            if !reached {
                *activity = activity.still();
            }
        }
        for (j, activity) in new.args.iter_mut().enumerate() {
            let reaches = results.iter().enumerate().any(|(k, r)| r.moves() && depends[k][j]);
            if !reaches {
                *activity = Activity::Const;
            }
        }
    }
    let mut all = Vec::new();
    for (k, activity) in new.args.iter().enumerate() {
        all.push(primals[k]);
        if matches!(activity, Activity::Dup | Activity::DupNoNeed) {
            all.extend(tangents[k]);
        }
    }
    if new.mode == Mode::Reverse {
        let moving = new.results.iter().zip(&cotangents).filter(|(a, _)| a.moves());
        all.extend(moving.filter_map(|(_, c)| *c));
    }
    let found = b.structure(Structure::Derive(new.clone()), &all);
    Ok(placed(b, derive, &new, &found))
}

/// The parts of a reduced operation in the places of the old ones: what is not computed is zero, or nobody
/// looks at it.
fn placed(b: &mut Builder, old: &Derive, new: &Derive, found: &[Value]) -> Vec<Value> {
    let types = old.part_types();
    let mut found = found.iter().copied();
    let mut parts: Vec<Value> = Vec::with_capacity(types.len());
    let mut place = |there: bool, still: bool, parts: &mut Vec<Value>| {
        if !there {
            return;
        }
        let ty = types[parts.len()];
        let part = if still { found.next() } else { None };
        parts.push(part.unwrap_or_else(|| match ty.is_float() {
            true => b.constant(0.0, ty),
            false => b.truth(false),
        }));
    };
    for (old_activity, activity) in old.results.iter().zip(&new.results) {
        place(old_activity.wants_value(), activity.wants_value(), &mut parts);
        if old.mode == Mode::Forward {
            place(old_activity.moves(), activity.moves(), &mut parts);
        }
    }
    if old.mode == Mode::Reverse {
        for (old_activity, activity) in old.args.iter().zip(&new.args) {
            place(old_activity.moves(), activity.moves(), &mut parts);
        }
    }
    parts
}

/// Operations of the same function at the same arguments, with other seeds.
struct Merged {
    groups: Vec<Group>,
}

struct Group {
    members: Vec<Value>,
}

impl Merged {
    fn find(f: &Function) -> Merged {
        let mut groups: Vec<Group> = Vec::new();
        for value in f.values() {
            let Some(Structure::Derive(derive)) = f.structure(value) else { continue };
            if derive.width.is_some() || !matches!(derive.mode, Mode::Forward | Mode::Reverse) {
                continue;
            }
            // What is not used goes first, so that all of a group ask for the same.
            if f.parts_of(value).iter().any(Option::is_none) {
                continue;
            }
            let same = |group: &&mut Group| {
                let first = group.members[0];
                // All seeds must be known where the first one stands.
                let known = f.operands(value).all(|v| v < first);
                f.structure(first) == f.structure(value)
                    && known
                    && primals(f, first) == primals(f, value)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.members.push(value),
                None => groups.push(Group { members: vec![value] }),
            }
        }
        groups.retain(|group| group.members.len() > 1);
        Merged { groups }
    }

    fn of(&self, value: Value) -> Option<&Group> {
        self.groups.iter().find(|group| group.members.contains(&value))
    }
}

/// The arguments of an operation, without seeds.
fn primals(f: &Function, value: Value) -> Vec<Value> {
    let Some(Structure::Derive(derive)) = f.structure(value) else { return Vec::new() };
    split(derive, &f.operands(value).collect::<Vec<_>>()).0
}

fn split(derive: &Derive, operands: &[Value]) -> (Vec<Value>, Vec<Value>) {
    let mut rest = operands.iter().copied();
    let (mut args, mut seeds) = (Vec::new(), Vec::new());
    for activity in &derive.args {
        args.extend(rest.next());
        if matches!(activity, Activity::Dup | Activity::DupNoNeed) {
            seeds.extend(rest.next());
        }
    }
    seeds.extend(rest);
    (args, seeds)
}

impl Group {
    /// The parts of a member: of one operation with all seeds side by side.
    fn parts(
        &self,
        b: &mut Builder,
        f: &Function,
        copies: &mut Copied,
        value: Value,
        derive: &Derive,
    ) -> Vec<Value> {
        let width = self.members.len();
        let seeds: Vec<Vec<Value>> = self
            .members
            .iter()
            .map(|m| {
                let operands: Vec<Value> = f.operands(*m).map(|v| copies.of(v)).collect();
                split(derive, &operands).1
            })
            .collect();
        let operands: Vec<Value> = f.operands(value).map(|v| copies.of(v)).collect();
        let (args, _) = split(derive, &operands);
        let packed: Vec<Value> = (0..seeds[0].len())
            .map(|k| {
                let own: Vec<Value> = seeds.iter().map(|s| s[k]).collect();
                side_by_side(b, &own)
            })
            .collect();
        let mut all = Vec::new();
        let mut next = packed.into_iter();
        for (arg, activity) in args.iter().zip(&derive.args) {
            all.push(*arg);
            if matches!(activity, Activity::Dup | Activity::DupNoNeed) {
                all.extend(next.next());
            }
        }
        all.extend(next);
        let wide = Derive { width: Some(width), ..derive.clone() };
        // Equal operations are one, so every member finds the same.
        let found = b.structure(Structure::Derive(wide), &all);
        let at = self.members.iter().position(|m| *m == value).unwrap_or(0);
        let index = b.integer(at as i64);
        let types = derive.part_types();
        let mut parts = Vec::with_capacity(found.len());
        for (part, ty) in found.into_iter().zip(types) {
            let own = b.ty(part) == ty;
            parts.push(if own { part } else { b.load(part, &[index]) });
        }
        parts
    }
}

/// Values of one type as an array of them.
fn side_by_side(b: &mut Builder, values: &[Value]) -> Value {
    let ty = b.ty(values[0]).within(&[Dim::Size(values.len())]);
    let mut array = b.constant(0.0, ty);
    for (k, value) in values.iter().enumerate() {
        let index = b.integer(k as i64);
        array = b.put(array, *value, &[index]);
    }
    array
}

/// A product of a Jacobian and a vector.
struct Product<'f> {
    derive: &'f Derive,
    args: Vec<Value>,
    vector: Value,
    forward: bool,
}

impl Product<'_> {
    fn write(&self, b: &mut Builder, copies: &Copied) -> Vec<Value> {
        let mut operands = Vec::new();
        let vector = copies.of(self.vector);
        let mut args = Vec::new();
        for (arg, activity) in self.args.iter().zip(&self.derive.args) {
            operands.push(copies.of(*arg));
            args.push(match (activity.moves(), self.forward) {
                (true, true) => {
                    operands.push(vector);
                    Activity::Dup
                }
                (true, false) => Activity::Active,
                (false, _) => Activity::Const,
            });
        }
        if !self.forward {
            operands.push(vector);
        }
        let result = if self.forward { Activity::DupNoNeed } else { Activity::ActiveNoNeed };
        let mode = if self.forward { Mode::Forward } else { Mode::Reverse };
        let function = self.derive.function.clone();
        let derive = Derive { mode, function, args, results: vec![result], width: None };
        b.structure(Structure::Derive(derive), &operands)
    }
}

/// Recognises `Σ J[j.., k..] · v[k..]` (over all j) and `Σ v[j..] · J[j.., k..]`, where J is the Jacobian of
/// one result by one argument and used nowhere else.
fn product(f: &Function, value: Value) -> Option<Product<'_>> {
    let outer: Vec<Value> = f.operands(value).collect();
    let (rows, reduced, sum, captures) = match f.structure(value)? {
        Structure::Tab { dims, body } => {
            let [result] = body.results() else { return None };
            let Op::Part(0) = body.op(*result) else { return None };
            let whole = body.operand(*result, 0);
            let Structure::Red { dims: inner, reducer: Reducer::Sum, body: sum } =
                body.structure(whole)?
            else {
                return None;
            };
            // What the inner body captures, as values of f or indices of the outer domain.
            let captures: Option<Vec<Captured>> = body
                .operands(whole)
                .map(|v| match body.op(v) {
                    Op::Param(k) if (k as usize) < dims.len() => Some(Captured::Index(k as usize)),
                    Op::Param(k) => Some(Captured::Value(outer[k as usize - dims.len()])),
                    _ => None,
                })
                .collect();
            // Nothing else may be in the body.
            let parts = body.values().filter(|v| !body.op(*v).is_leaf()).count();
            if parts != 2 {
                return None;
            }
            (dims.len(), inner.len(), sum, captures?)
        }
        Structure::Red { dims, reducer: Reducer::Sum, body } => {
            (0, dims.len(), body, outer.iter().map(|v| Captured::Value(*v)).collect())
        }
        _ => return None,
    };
    let [result] = sum.results() else { return None };
    let Op::Elementary(Opcode::Mul | Opcode::StrongMul, _) = sum.op(*result) else { return None };
    if sum.values().filter(|v| !sum.op(*v).is_leaf()).count() != 3 {
        return None;
    }
    let factor = |k: usize| -> Option<(Value, Vec<Captured>)> {
        let load = sum.operand(*result, k);
        let Op::Load = sum.op(load) else { return None };
        let known = |v: Value| match sum.op(v) {
            Op::Param(p) if (p as usize) < reduced => Some(Captured::Index(rows + p as usize)),
            Op::Param(p) => captures.get(p as usize - reduced).copied(),
            _ => None,
        };
        let Captured::Value(array) = known(sum.operand(load, 0))? else { return None };
        let indices: Option<Vec<Captured>> = sum.operands(load).skip(1).map(known).collect();
        Some((array, indices?))
    };
    let (a, b) = (factor(0)?, factor(1)?);
    let index =
        |range: std::ops::Range<usize>| -> Vec<Captured> { range.map(Captured::Index).collect() };
    let contracted = index(rows..rows + reduced);
    for ((matrix, places), (vector, vector_places)) in [(&a, &b), (&b, &a)] {
        if *vector_places != contracted {
            continue;
        }
        let Op::Part(_) = f.op(*matrix) else { continue };
        let whole = f.operand(*matrix, 0);
        let Some(Structure::Derive(derive)) = f.structure(whole) else { continue };
        let one = derive.mode == Mode::Jacobian
            && derive.part_types().len() == 1
            && derive.args.iter().filter(|a| a.moves()).count() == 1;
        let uses = f.values().flat_map(|v| f.operands(v)).filter(|v| v == matrix).count();
        if !one || uses != 1 || f.results().contains(matrix) {
            continue;
        }
        let outputs = derive.function.ty(derive.function.results()[0]).dims().len();
        let forward: Vec<Captured> = index(0..rows + reduced);
        let backward: Vec<Captured> = [index(rows..rows + reduced), index(0..rows)].concat();
        let by = if *places == forward && outputs == rows {
            true
        } else if *places == backward && outputs == reduced {
            false
        } else {
            continue;
        };
        let args = f.operands(whole).collect();
        return Some(Product { derive, args, vector: *vector, forward: by });
    }
    None
}

/// What a body knows a value as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Captured {
    /// An index: of the outer domain, then of the inner one.
    Index(usize),
    /// A value of the function around it.
    Value(Value),
}
