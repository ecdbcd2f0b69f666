//! Programs with plain products in the place of strong ones, for as long as nobody can tell the difference.
//!
//! A strong product is zero where its left factor is, whatever the other one: it takes a comparison and a choice, and is no
//! part of a fused multiplication and addition. It differs from a plain one only where that gives NaN (a zero times an infinity), and
//! in the sign of a zero, which the rules of class zero do not keep either. NaN stays NaN through sums, products and functions. So a program is run with plain products, and again with strong ones if
//! there is a NaN in what comes out. Where a comparison could swallow a NaN it is marked (`keep`), and machine code stops
//! there if one of its numbers is none. What else swallows NaN (`max`, `min`, a place) keeps a program strong.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Function, Op, Reducer, Structure, Value};
use cotangent_ops::Opcode;

/// A result of a body, or a parameter: whether it may be NaN where strong products would not be.
type Loose = Vec<bool>;

/// The program with plain products, if it has strong ones and that can be told from what comes out.
pub(crate) fn relaxed(f: &Function) -> Option<Function> {
    if !has_strong(f) {
        return None;
    }
    relax(f, &vec![false; f.params().len()]).map(|(f, _)| f)
}

fn has_strong(f: &Function) -> bool {
    f.values().any(|v| match f.op(v) {
        Op::Elementary(Opcode::StrongMul | Opcode::StrongDiv, _) => true,
        _ => f.structure(v).is_some_and(|s| s.bodies().any(|body| has_strong(body))),
    })
}

fn relax(f: &Function, params: &[bool]) -> Option<(Function, Loose)> {
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    let mut copies = Copied::new(f.len());
    let mut loose: Loose = Vec::with_capacity(f.len());
    let mut parts: Vec<Loose> = vec![Vec::new(); f.len()];
    for value in f.values() {
        let operands: Vec<Value> = f.operands(value).collect();
        let any = operands.iter().any(|v| loose[v.index()]);
        let number = f.ty(value).is_float();
        let mut own = any && number;
        match f.op(value) {
            Op::Param(k) => {
                own = params[k as usize];
                copies.value(&mut b, f, value, &args);
            }
            Op::Part(k) => {
                own = parts[operands[0].index()].get(k as usize).copied().unwrap_or(false);
                copies.value(&mut b, f, value, &args);
            }
            Op::Elementary(code @ (Opcode::StrongMul | Opcode::StrongDiv), _) => {
                let code = if code == Opcode::StrongMul { Opcode::Mul } else { Opcode::Div };
                let operands = copies.operands(f, value);
                copies.set(value, b.elementary(code, 0, &operands));
                own = true;
            }
            Op::Elementary(code, _) if any && !stays_nan(code) => return None,
            Op::Compare(comparison) if any => {
                if !f.ty(value).is_scalar() {
                    return None;
                }
                let (x, y) = (copies.of(operands[0]), copies.of(operands[1]));
                let x = b.keep(x);
                copies.set(value, b.compare(comparison, x, y));
            }
            Op::Cast | Op::Argsort if any && !number => return None,
            Op::Structure(_) => {
                let structure = f.structure(value)?;
                let given: Loose = operands.iter().map(|v| loose[v.index()]).collect();
                let (new, found) = relax_structure(structure, &given)?;
                let operands = copies.operands(f, value);
                copies.set_parts(value, b.structure(new, &operands));
                parts[value.index()] = found;
                own = false;
            }
            _ => copies.value(&mut b, f, value, &args),
        }
        loose.push(own);
    }
    for guard in f.guards() {
        b.guard(copies.of(guard.condition), guard.expected);
    }
    let results = f.results().iter().map(|v| copies.of(*v)).collect();
    let found = f.results().iter().map(|v| loose[v.index()]).collect();
    Some((b.finish(results), found))
}

/// An operation with bodies, and which of its parts are loose.
fn relax_structure(structure: &Structure, given: &[bool]) -> Option<(Structure, Loose)> {
    match structure {
        Structure::Derive(_) => return None,
        // What is known by its name stays what it is.
        Structure::Call { function } => {
            let any = given.contains(&true);
            let loose = |v: &Value| any && function.ty(*v).is_float();
            let found = function.results().iter().map(loose).collect();
            return (!any || hands_on(function)).then(|| (structure.clone(), found));
        }
        _ => {}
    }
    let count = structure.bodies().next()?.params().len();
    let mut params: Loose = (0..count)
        .map(|k| structure.operand_of(k).and_then(|o| given.get(o)).copied().unwrap_or(false))
        .collect();
    let (own, handed) = structure.own_params();
    loop {
        let mut found: Loose = Vec::new();
        let new = structure.try_with_bodies(|body| {
            let (body, results) = relax(body, &params).ok_or(())?;
            found.resize(found.len().max(results.len()), false);
            found.iter_mut().zip(&results).for_each(|(all, one)| *all |= *one);
            Ok::<_, ()>(Arc::new(body))
        });
        let new = new.ok()?;
        if let Structure::Red { reducer, .. } = structure
            && !matches!(reducer, Reducer::Sum | Reducer::Product)
            && found.contains(&true)
        {
            return None;
        }
        // What is carried or added to is loose from then on.
        let mut changed = false;
        for (k, loose) in found.iter().enumerate().take(handed) {
            let param = &mut params[own - handed + k];
            changed |= *loose && !*param;
            *param |= *loose;
        }
        if !changed {
            return Some((new, found));
        }
    }
}

/// Whether a NaN that a function is given is one in what it gives, whatever way it goes.
fn hands_on(f: &Function) -> bool {
    f.values().all(|v| match (f.op(v), f.structure(v)) {
        (Op::Elementary(code, _), _) => stays_nan(code),
        (Op::Compare(_) | Op::Select | Op::Cast | Op::Argsort, _) => false,
        (_, Some(Structure::Red { reducer, body, .. })) => {
            matches!(reducer, Reducer::Sum | Reducer::Product) && hands_on(body)
        }
        (_, Some(Structure::While { .. } | Structure::If { .. } | Structure::Derive(_))) => false,
        (_, Some(structure)) => structure.bodies().all(|body| hands_on(body)),
        _ => true,
    })
}

/// Whether a NaN among its operands is one in what comes out.
fn stays_nan(code: Opcode) -> bool {
    use Opcode as O;
    matches!(
        code,
        O::Add
            | O::Sub
            | O::Mul
            | O::Div
            | O::Neg
            | O::Abs
            | O::Recip
            | O::Sqrt
            | O::Cbrt
            | O::MulAdd
            | O::Exp
            | O::Exp2
            | O::ExpM1
            | O::Ln
            | O::Log2
            | O::Log10
            | O::Ln1p
            | O::Sin
            | O::Cos
            | O::Tan
            | O::Asin
            | O::Acos
            | O::Atan
            | O::Sinh
            | O::Cosh
            | O::Tanh
            | O::Sech2
            | O::Asinh
            | O::Acosh
            | O::Atanh
            | O::Sigmoid
            | O::Softplus
            | O::Erf
            | O::Erfc
    )
}
