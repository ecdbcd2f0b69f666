//! What differs from lane to lane, found before text is written: carries of loops and results of branches need to know.

use cotangent_ir::{Dim, Function, Integral, Op, Structure, Value};

use super::value::{Target, Val};

/// How a value goes from lane to lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The same in all.
    One,
    /// An integer that goes up by a step.
    Step(i64),
    /// Anything.
    Many,
}

impl Class {
    pub(super) fn of(val: &Val) -> Class {
        match val {
            Val::One(_) => Class::One,
            Val::Affine(_, step) => Class::Step(*step),
            Val::Many(_) => Class::Many,
            Val::Array(array) => {
                if array.varies {
                    Class::Many
                } else {
                    Class::One
                }
            }
            Val::Target(Target::Shared(_)) => Class::One,
            Val::Kept(_, val) => Class::of(val),
            Val::Target(_) => Class::Many,
        }
    }

    /// What holds of either of two.
    pub(super) fn join(self, other: Class) -> Class {
        if self == Class::One && other == Class::One { Class::One } else { Class::Many }
    }

    fn of_all(classes: impl IntoIterator<Item = Class>) -> Class {
        classes.into_iter().fold(Class::One, Class::join)
    }
}

/// The classes of all values, given those of the parameters. Parts have those of what they are.
pub(super) fn classes(f: &Function, args: &[Class]) -> Vec<Class> {
    let mut all: Vec<Class> = Vec::with_capacity(f.len());
    let mut parts: Vec<Option<Vec<Class>>> = vec![None; f.len()];
    for value in f.values() {
        let operands: Vec<Value> = f.operands(value).collect();
        let of = |k: usize| all[operands[k].index()];
        let class = match f.op(value) {
            Op::Param(k) => args.get(k as usize).copied().unwrap_or(Class::Many),
            Op::Structure(_) => {
                let given: Vec<Class> = operands.iter().map(|v| all[v.index()]).collect();
                if let Some(structure) = f.structure(value) {
                    parts[value.index()] = Some(structure_parts(structure, &given));
                }
                Class::One
            }
            Op::Part(k) => {
                let found = parts[operands[0].index()].as_ref().and_then(|p| p.get(k as usize));
                found.copied().unwrap_or(Class::Many)
            }
            Op::Integral(integral) => {
                let known = |k: usize| match f.op(operands[k]) {
                    Op::Integer(c) => Some(c),
                    _ => None,
                };
                integral_class(integral, (of(0), known(0)), (of(1), known(1)))
            }
            Op::Put | Op::PutAdd => Class::Many,
            Op::Stop | Op::Keep | Op::Recompute => of(0),
            Op::Cast if f.ty(operands[0]).element() == f.ty(value).element() => of(0),
            // Elements of their own are vectors.
            _ => Class::of_all(operands.iter().map(|v| all[v.index()])),
        };
        all.push(class);
    }
    all
}

fn integral_class(integral: Integral, x: (Class, Option<i64>), y: (Class, Option<i64>)) -> Class {
    let step = |class: Class| match class {
        Class::One => Some(0),
        Class::Step(step) => Some(step),
        Class::Many => None,
    };
    let (Some(s), Some(t)) = (step(x.0), step(y.0)) else { return Class::Many };
    if s == 0 && t == 0 {
        return Class::One;
    }
    let sum = match integral {
        Integral::Add => s.wrapping_add(t),
        Integral::Sub => s.wrapping_sub(t),
        Integral::Mul => match (x.1, y.1) {
            (Some(c), _) => c.wrapping_mul(t),
            (_, Some(c)) => s.wrapping_mul(c),
            _ => return Class::Many,
        },
        _ => return Class::Many,
    };
    if sum == 0 { Class::One } else { Class::Step(sum) }
}

/// The classes of the parameters of a body.
pub(super) fn body_args(structure: &Structure, operands: &[Class], params: usize) -> Vec<Class> {
    (0..params)
        .map(|k| match structure.operand_of(k) {
            Some(operand) => operands.get(operand).copied().unwrap_or(Class::Many),
            None => Class::One,
        })
        .collect()
}

/// The classes of the carries of a loop, once they stay.
pub(super) fn carried(
    structure: &Structure,
    body: &Function,
    carries: usize,
    operands: &[Class],
) -> Vec<Class> {
    let mut args = body_args(structure, operands, body.params().len());
    let first = structure.own_params().0 - carries;
    // Steps are not carried.
    for class in &mut args[first..first + carries] {
        *class = class.join(Class::One);
    }
    loop {
        let found = classes(body, &args);
        let mut changed = false;
        for (k, result) in body.results().iter().take(carries).enumerate() {
            let class = args[first + k].join(found[result.index()]);
            changed |= class != args[first + k];
            args[first + k] = class;
        }
        if !changed {
            return args;
        }
    }
}

/// The classes of the parts of a structure.
fn structure_parts(structure: &Structure, operands: &[Class]) -> Vec<Class> {
    let results = |body: &Function, args: &[Class]| -> Vec<Class> {
        let found = classes(body, args);
        body.results().iter().map(|v| found[v.index()].join(Class::One)).collect()
    };
    match structure {
        Structure::Tab { body, .. }
        | Structure::Red { body, .. }
        | Structure::Call { function: body } => {
            let args = body_args(structure, operands, body.params().len());
            match structure {
                Structure::Call { .. } => {
                    let found = classes(body, &args);
                    body.results().iter().map(|v| found[v.index()]).collect()
                }
                _ => results(body, &args),
            }
        }
        Structure::Acc { targets, .. } => vec![Class::Many; *targets],
        Structure::For { carries, body } => {
            let args = carried(structure, body, *carries, operands);
            let mut parts = results(body, &args);
            if operands[0] != Class::One {
                parts.fill(Class::Many);
            }
            for (k, class) in parts.iter_mut().enumerate().take(*carries) {
                *class = class.join(args[1 + k]);
            }
            parts
        }
        Structure::While { carries, condition, body } => {
            let args = carried(structure, body, *carries, operands);
            let goes = classes(condition, &args);
            let goes = condition.results().first().map_or(Class::Many, |v| goes[v.index()]);
            let mut parts = results(body, &args);
            for (k, class) in parts.iter_mut().enumerate().take(*carries) {
                *class = class.join(args[k]);
            }
            parts.push(Class::One);
            if goes != Class::One {
                parts.fill(Class::Many);
            }
            parts
        }
        Structure::If { yes, no } => {
            let args = body_args(structure, operands, yes.params().len());
            let both = results(yes, &args).into_iter().zip(results(no, &args));
            let parts = both.map(|(a, b)| a.join(b).join(operands[0]));
            parts.collect()
        }
        Structure::Derive(derive) => vec![Class::Many; derive.part_types().len()],
    }
}

/// Where an accumulation adds to one of its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Adds {
    /// All lanes at the same place.
    Together,
    /// Lanes at places that differ for certain.
    Apart,
    /// Nobody knows.
    Anywhere,
}

/// Where a body adds to what a parameter is.
pub(super) fn adds(f: &Function, args: &[Class], param: usize) -> Option<Adds> {
    let found = classes(f, args);
    let mut derived = vec![false; f.len()];
    let mut where_: Option<Adds> = None;
    let mut note = |adds: Adds| where_ = Some(where_.map_or(adds, |w: Adds| w.max(adds)));
    for value in f.values() {
        let operands: Vec<Value> = f.operands(value).collect();
        let from: Vec<usize> =
            (0..operands.len()).filter(|k| derived[operands[*k].index()]).collect();
        match f.op(value) {
            Op::Param(k) => derived[value.index()] = k as usize == param,
            Op::PutAdd if from.first() == Some(&0) => {
                derived[value.index()] = true;
                let ty = f.ty(operands[0]);
                let mut step = Some(0i64);
                let mut stride = 1i64;
                let dims: Vec<i64> = ty
                    .dims()
                    .iter()
                    .map(|d| if let Dim::Size(n) = d { *n as i64 } else { 1 })
                    .collect();
                let mut strides = vec![1i64; dims.len()];
                for k in (0..dims.len()).rev() {
                    strides[k] = stride;
                    stride = stride.saturating_mul(dims[k].max(1));
                }
                for (k, index) in operands[2..].iter().enumerate() {
                    step = match (step, found[index.index()]) {
                        (Some(all), Class::One) => Some(all),
                        (Some(all), Class::Step(s)) => Some(all + s * strides[k]),
                        _ => None,
                    };
                }
                // Rows that overlap are no places apart.
                let row: i64 = dims[operands.len() - 2..].iter().product();
                note(match step {
                    Some(0) => Adds::Together,
                    Some(s) if s.abs() >= row => Adds::Apart,
                    _ => Adds::Anywhere,
                });
            }
            Op::Structure(_) if !from.is_empty() => {
                let Some(structure) = f.structure(value) else { continue };
                let given: Vec<Class> = operands.iter().map(|v| found[v.index()]).collect();
                for operand in &from {
                    for body in structure.bodies() {
                        if let Some(inner) = structure.param_of(*operand) {
                            let args = match structure {
                                Structure::For { carries, body }
                                | Structure::While { carries, body, .. } => {
                                    carried(structure, body, *carries, &given)
                                }
                                _ => body_args(structure, &given, body.params().len()),
                            };
                            if let Some(adds) = adds(body, &args, inner) {
                                note(adds);
                            }
                        }
                    }
                }
                derived[value.index()] = true;
            }
            Op::Part(_) | Op::Stop | Op::Keep | Op::Recompute if !from.is_empty() => {
                derived[value.index()] = true;
            }
            // A whole array that is added.
            Op::Elementary(..) if !from.is_empty() => {
                derived[value.index()] = true;
                note(Adds::Together);
            }
            _ => {}
        }
    }
    where_
}
