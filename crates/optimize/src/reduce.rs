//! Loops that are kernels: sums, products, accumulations and tables written as `for`.
//!
//! A carry that is only added to, by something that no carry goes into, is a sum; one that is only put
//! into, at each index once, is a table. Sums go from the first to the last in both, so they are the same
//! but for the sign of zero: `red sum` takes its first summand as it is, a loop adds it to zero.

use std::sync::Arc;

use cotangent_ir::{Builder, Dim, Function, Op, Param, Reducer, Structure, Type, Value};
use cotangent_ops::Opcode;

use crate::options::{Class, Options};
use crate::pattern::number;
use crate::rewrite::bound;
use crate::stats::Tally;
use crate::visit::{depending, pays, rebuild, use_counts, with_params};

/// The function with kernels in the place of loops.
pub(crate) fn reduce(f: &Function, tally: &mut Tally) -> Function {
    let options = tally.options;
    rebuild(f, &mut |b, site| {
        let Structure::For { carries, body } = site.structure else { return None };
        let dim = bound(b.function(), site.operands)?;
        let starts = &site.operands[1..=*carries];
        let roles: Vec<Role> = roles(b.function(), body, *carries, starts, dim, options);
        if roles.iter().all(|role| *role == Role::Stays) {
            return None;
        }
        let mut change = |b: &mut Builder, operands: &[Value]| {
            Some(kernels(b, body, *carries, operands, dim, &roles))
        };
        if !pays(b, site, &mut change) {
            return None;
        }
        tally.structural("loop_to_kernel", "for", "red, acc or tab");
        change(b, site.operands)
    })
}

/// What a result of a loop is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// Whatever it is, it needs the loop.
    Stays,
    /// A sum or product of this, after the start if it is to be added.
    Reduced(Reducer, Value, bool),
    /// An array that is added to.
    Accumulated,
    /// An array of this at every index.
    Table(Value),
}

fn roles(
    f: &Function,
    body: &Function,
    carries: usize,
    starts: &[Value],
    dim: Dim,
    options: Options,
) -> Vec<Role> {
    let tainted = depending(body, |k| (1..=carries).contains(&k));
    let uses = use_counts(body);
    let free = |v: Value| !tainted[v.index()];
    let role = |k: usize| -> Role {
        let result = body.results()[k];
        if k >= carries {
            return if free(result) { Role::Table(result) } else { Role::Stays };
        }
        let is_own = |v: Value| body.op(v) == Op::Param(1 + k as u32) && uses[v.index()] == 1;
        let ty = body.ty(result);
        if uses[result.index()] != 1 || is_own(result) || free(result) {
            return Role::Stays;
        }
        let args: Vec<Value> = body.operands(result).collect();
        let other = |args: &[Value]| match args {
            [a, v] if is_own(*a) && free(*v) => Some(*v),
            [v, a] if is_own(*a) && free(*v) => Some(*v),
            _ => None,
        };
        let first = number(f, starts[k]);
        match body.op(result) {
            Op::Elementary(Opcode::Add, _) if body.ty(args[0]) == body.ty(args[1]) => {
                match other(&args) {
                    Some(v)
                        if first.map(f64::to_bits) == Some(0) && options.allows(Class::Zero) =>
                    {
                        Role::Reduced(Reducer::Sum, v, false)
                    }
                    Some(v) if options.allows(Class::Reassoc) => {
                        Role::Reduced(Reducer::Sum, v, true)
                    }
                    // From whatever it starts with, in its order.
                    Some(_) => Role::Accumulated,
                    None => Role::Stays,
                }
            }
            Op::Elementary(Opcode::Mul, _) if ty.is_scalar() && first == Some(1.0) => {
                other(&args).map_or(Role::Stays, |v| Role::Reduced(Reducer::Product, v, false))
            }
            Op::PutAdd | Op::Part(_) if added(body, result, &is_own, &free, &uses) => {
                Role::Accumulated
            }
            Op::Put => {
                let whole = args.len() == 3 && ty.dims().first() == Some(&dim);
                let here = args.get(2).is_some_and(|v| body.op(*v) == Op::Param(0));
                match whole && here && is_own(args[0]) && free(args[1]) {
                    true => Role::Table(args[1]),
                    false => Role::Stays,
                }
            }
            _ => Role::Stays,
        }
    };
    (0..body.results().len()).map(role).collect()
}

/// Whether a carry is only added to, here or by an accumulation.
fn added(
    body: &Function,
    result: Value,
    is_own: &impl Fn(Value) -> bool,
    free: &impl Fn(Value) -> bool,
    uses: &[usize],
) -> bool {
    let mut at = result;
    while uses[at.index()] == 1 && !is_own(at) {
        let (before, others) = match body.op(at) {
            Op::PutAdd => {
                let args: Vec<Value> = body.operands(at).collect();
                (args[0], args[1..].to_vec())
            }
            Op::Part(k) => {
                let whole = body.operand(at, 0);
                let Some(Structure::Acc { targets: 1, .. }) = body.structure(whole) else {
                    return false;
                };
                let args: Vec<Value> = body.operands(whole).collect();
                (args[k as usize], args[1..].to_vec())
            }
            _ => return false,
        };
        if !others.iter().all(|v| free(*v)) {
            return false;
        }
        at = before;
    }
    is_own(at)
}

/// The kernels, and the loop that is left.
fn kernels(
    b: &mut Builder,
    body: &Arc<Function>,
    carries: usize,
    operands: &[Value],
    dim: Dim,
    roles: &[Role],
) -> Vec<Value> {
    let captures = &operands[1 + carries..];
    let dims = vec![dim];
    // Index and captures, without the carries.
    let params = |extra: &[usize]| -> (Vec<Param>, Vec<Option<usize>>) {
        let mut order = vec![0];
        order.extend(extra.iter().map(|k| 1 + k));
        order.extend(1 + carries..body.params().len());
        let new = order.iter().map(|k| body.params()[*k].clone()).collect();
        let of = (0..body.params().len()).map(|k| order.iter().position(|o| *o == k)).collect();
        (new, of)
    };
    let nothing = b.constant(0.0, Type::F64);
    let mut parts = vec![nothing; roles.len()];
    let (alone, of_alone) = params(&[]);
    for (k, role) in roles.iter().enumerate() {
        if let Role::Reduced(reducer, value, add) = role {
            let inner = with_params(body, &alone, &of_alone, &[*value]);
            let red = Structure::Red { dims: dims.clone(), reducer: *reducer, body: inner };
            let sum = b.structure(red, captures)[0];
            parts[k] = match add {
                true => b.elementary(Opcode::Add, 0, &[operands[1 + k], sum]),
                false => sum,
            };
        }
    }
    let tables: Vec<(usize, Value)> = roles
        .iter()
        .enumerate()
        .filter_map(|(k, role)| if let Role::Table(v) = role { Some((k, *v)) } else { None })
        .collect();
    if !tables.is_empty() {
        let results: Vec<Value> = tables.iter().map(|(_, v)| *v).collect();
        let inner = with_params(body, &alone, &of_alone, &results);
        let found = b.structure(Structure::Tab { dims: dims.clone(), body: inner }, captures);
        tables.iter().zip(found).for_each(|((k, _), part)| parts[*k] = part);
    }
    let of =
        |wanted: Role| -> Vec<usize> { (0..roles.len()).filter(|k| roles[*k] == wanted).collect() };
    let pick =
        |which: &[usize]| -> Vec<Value> { which.iter().map(|k| body.results()[*k]).collect() };
    let targets = of(Role::Accumulated);
    if !targets.is_empty() {
        let (own, map) = params(&targets);
        let inner = with_params(body, &own, &map, &pick(&targets));
        let acc = Structure::Acc { dims, targets: targets.len(), body: inner };
        let args: Vec<Value> =
            targets.iter().map(|k| operands[1 + k]).chain(captures.iter().copied()).collect();
        let found = b.structure(acc, &args);
        targets.iter().zip(found).for_each(|(k, part)| parts[*k] = part);
    }
    let left = of(Role::Stays);
    if !left.is_empty() {
        let carried: Vec<usize> = left.iter().copied().filter(|k| *k < carries).collect();
        let (own, map) = params(&carried);
        let inner = with_params(body, &own, &map, &pick(&left));
        let args: Vec<Value> = std::iter::once(operands[0])
            .chain(carried.iter().map(|k| operands[1 + k]))
            .chain(captures.iter().copied())
            .collect();
        let found = b.structure(Structure::For { carries: carried.len(), body: inner }, &args);
        left.iter().zip(found).for_each(|(k, part)| parts[*k] = part);
    }
    parts
}
