//! Jacobians and Hessians: the linear part at unit vectors, all in one function.

use std::ops::Range;

use cotangent_ir::{Builder, Copied, Dim, Function, Op, Param, Structure, Type, Value};
use cotangent_ops::Opcode;

use crate::error::TransformError;
use crate::expand::float_element;
use crate::linearize::linearize_to;
use crate::lower::lower;
use crate::transpose::{Turner, gradient_to, transpose};

/// The function with all partials of its numbers behind its results: result by result, parameter by
/// parameter. By forward or reverse mode, whichever has fewer directions to take.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::jacobian;
///
/// let f = parse("fn @polar(%r: f64, %a: f64) -> (f64, f64) {
///   %c = cos %a %s = sin %a %x = mul %r, %c %y = mul %r, %s ret %x, %y }").unwrap();
/// let j = jacobian(&f).unwrap();
/// assert_eq!(j.run(&[2.0, 0.0]).unwrap(), [2.0, 0.0, 1.0, -0.0, 0.0, 2.0]);
/// ```
///
/// # Errors
/// As [`linearize`](crate::linearize).
pub fn jacobian(f: &Function) -> Result<Function, TransformError> {
    jacobian_to(f, |_| true)
}

/// [`jacobian`] to some parameters only.
///
/// # Errors
/// As [`jacobian`].
pub fn jacobian_to(
    f: &Function,
    moves: impl Fn(&Param) -> bool,
) -> Result<Function, TransformError> {
    let j = partials(f, moves, 0..f.results().len())?;
    Ok(j.renamed(format!("{}.jac", f.name())))
}

/// The value, the gradient and all second partials, row by row, of a function with one number as its
/// result.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::hessian;
///
/// let f = parse("fn @f(%x: f64, %y: f64) -> f64 { %a = mul %x, %x %r = mul %a, %y ret %r }").unwrap();
/// assert_eq!(hessian(&f).unwrap().run(&[3.0, 5.0]).unwrap(), [45.0, 30.0, 9.0, 10.0, 6.0, 6.0, 0.0]);
/// ```
///
/// # Errors
/// As [`gradient`](crate::gradient).
pub fn hessian(f: &Function) -> Result<Function, TransformError> {
    hessian_to(f, |_| true)
}

/// [`hessian`] to some parameters only.
///
/// # Errors
/// As [`hessian`].
pub fn hessian_to(
    f: &Function,
    moves: impl Fn(&Param) -> bool,
) -> Result<Function, TransformError> {
    let g = gradient_to(f, &moves)?;
    let of = 1..g.results().len();
    Ok(partials(&g, moves, of)?.renamed(format!("{}.hess", f.name())))
}

/// All results, and the partials of some of them.
fn partials(
    f: &Function,
    moves: impl Fn(&Param) -> bool,
    of: Range<usize>,
) -> Result<Function, TransformError> {
    let f = &lower(f)?;
    let primals = f.results().len();
    let ty = Type::scalar(float_element(f)?);
    if !f.is_flat() {
        return by_units(f, moves, of);
    }
    let forward = linearize_to(f, moves)?;
    let inputs = forward.params().iter().filter(|p| p.linear).count();
    // Which of the results have tangents: the numbers, in their order.
    let numbers: Vec<usize> = (0..primals).filter(|k| f.ty(f.results()[*k]).is_float()).collect();
    let rows: Vec<usize> =
        numbers.iter().enumerate().filter(|(_, k)| of.contains(k)).map(|(row, _)| row).collect();
    let reversed = rows.len() < inputs;
    let linear = if reversed { transpose(&forward, primals)? } else { forward };
    let mut columns = Columns::new(&linear)?;
    let directions = if reversed { rows.clone() } else { (0..inputs).collect() };
    let outputs: Vec<Value> = linear.results()[primals..].to_vec();
    let found: Vec<Vec<Option<Value>>> =
        directions.iter().map(|k| columns.along(*k, &outputs)).collect();
    let zero = columns.b.constant(0.0, ty);
    let mut results: Vec<Value> = linear.results()[..primals]
        .iter()
        .map(|v| columns.ordinary.get(*v).unwrap_or(zero))
        .collect();
    for (place, row) in rows.iter().enumerate() {
        for column in 0..inputs {
            let entry = if reversed { found[place][column] } else { found[column][*row] };
            results.push(entry.unwrap_or(zero));
        }
    }
    for guard in linear.guards() {
        columns.b.guard(columns.ordinary.of(guard.condition), guard.expected);
    }
    Ok(columns.b.finish(results))
}

/// The same of functions with arrays or bodies: a kernel over the unit vectors of each result, in reverse
/// mode, or of each parameter, in forward mode, whichever are fewer. The partials of a result by a
/// parameter are an array of the dimensions of both.
fn by_units(
    f: &Function,
    moves: impl Fn(&Param) -> bool,
    of: Range<usize>,
) -> Result<Function, TransformError> {
    let moving: Vec<usize> = (0..f.params().len())
        .filter(|k| f.params()[*k].ty.is_float() && moves(&f.params()[*k]))
        .collect();
    let rows: Vec<usize> = of.filter(|k| f.ty(f.results()[*k]).is_float()).collect();
    let entries = |types: Vec<Type>| types.iter().map(|ty| ty.len().unwrap_or(1)).sum::<usize>();
    let inputs = entries(moving.iter().map(|k| f.params()[*k].ty).collect());
    let outputs = entries(rows.iter().map(|k| f.ty(f.results()[*k])).collect());
    let names: Vec<String> = moving.iter().map(|k| f.params()[*k].name.clone()).collect();
    let forward = linearize_to(f, |p| names.contains(&p.name))?;
    let mut b = Builder::new(f.name());
    let params = b.params_of(f.params());
    let primals = f.results().len();
    let mut results = b.inline(f, &params);
    let numbers: Vec<usize> = (0..primals).filter(|k| f.ty(f.results()[*k]).is_float()).collect();
    if outputs <= inputs {
        let reverse = transpose(&forward, primals)?;
        for row in &rows {
            // One in one place of one result.
            let seeds: Vec<Type> = numbers.iter().map(|k| f.ty(f.results()[*k])).collect();
            let at = numbers.iter().position(|k| k == row).unwrap_or(0);
            let found = unit(&mut b, &reverse, &params, &seeds, at, primals);
            results.extend(found);
        }
        return Ok(b.finish(results));
    }
    let seeds: Vec<Type> = moving.iter().map(|k| f.params()[*k].ty).collect();
    let columns: Vec<Vec<Value>> =
        (0..moving.len()).map(|at| unit(&mut b, &forward, &params, &seeds, at, primals)).collect();
    for row in &rows {
        let at = numbers.iter().position(|k| k == row).unwrap_or(0);
        for (column, k) in columns.iter().zip(&moving) {
            let inputs = f.params()[*k].ty.dims().len();
            results.push(turned(&mut b, column[at], inputs));
        }
    }
    Ok(b.finish(results))
}

/// The linear results of a function for one in each place of one of its linear parameters.
fn unit(
    b: &mut Builder,
    linear: &Function,
    params: &[Value],
    seeds: &[Type],
    at: usize,
    primals: usize,
) -> Vec<Value> {
    let dims = seeds[at].dims();
    let mut inner = Builder::new("");
    let indices = inner.indices(dims.len());
    let captured: Vec<Value> =
        linear.params().iter().filter(|p| !p.linear).map(|p| inner.add_param(p.clone())).collect();
    let mut args = captured;
    for (k, ty) in seeds.iter().enumerate() {
        let zero = inner.constant(0.0, *ty);
        let one = inner.constant(1.0, Type::scalar(ty.element()));
        args.push(match (k == at, dims.is_empty()) {
            (true, true) => one,
            (true, false) => inner.put(zero, one, &indices),
            (false, _) => zero,
        });
    }
    // Ordinary parameters come first, linear ones behind them.
    let ordinary = linear.clone().map_params(&|p| p.linear = false);
    let found = inner.inline(&ordinary, &args);
    let body = std::sync::Arc::new(inner.finish(found[primals..].to_vec()));
    if dims.is_empty() {
        return b.inline(&body, params);
    }
    b.structure(Structure::Tab { dims: dims.to_vec(), body }, params)
}

/// An array with its first dimensions behind the others.
fn turned(b: &mut Builder, array: Value, first: usize) -> Value {
    let ty = b.ty(array);
    let rank = ty.dims().len();
    if first == 0 || first == rank {
        return array;
    }
    let dims: Vec<Dim> = ty.dims()[first..].iter().chain(&ty.dims()[..first]).copied().collect();
    let mut inner = Builder::new("");
    let indices = inner.indices(rank);
    let (behind, before) = indices.split_at(rank - first);
    let places: Vec<Value> = before.iter().chain(behind).copied().collect();
    let whole = inner.param("x", ty);
    let entry = inner.load(whole, &places);
    let body = std::sync::Arc::new(inner.finish(vec![entry]));
    b.structure(Structure::Tab { dims, body }, &[array])[0]
}

/// A function whose linear part is written down for several unit vectors.
struct Columns<'f> {
    f: &'f Function,
    b: Builder,
    linear: Vec<bool>,
    /// The values that are not linear, which all columns share.
    ordinary: Copied,
}

impl<'f> Columns<'f> {
    fn new(f: &'f Function) -> Result<Self, TransformError> {
        let linear = f.linear_values()?;
        let mut b = Builder::new(f.name());
        let args: Vec<Option<Value>> =
            f.params().iter().map(|p| (!p.linear).then(|| b.add_param(p.clone()))).collect();
        let ordinary = Turner::new(f, linear.clone(), &mut b, &args)?.copies;
        Ok(Columns { f, b, linear, ordinary })
    }

    /// The outputs for one in the place of the k-th linear parameter and zeros in the others'; none for
    /// what is zero.
    fn along(&mut self, k: usize, outputs: &[Value]) -> Vec<Option<Value>> {
        let f = self.f;
        let mut values: Vec<Option<Value>> = vec![None; f.len()];
        let mut seen = 0;
        for value in f.values().filter(|v| self.linear[v.index()]) {
            let args: Vec<Value> = f.operands(value).collect();
            let at = |j: usize| values[args[j].index()];
            let fixed = |j: usize| self.ordinary.get(args[j]);
            let b = &mut self.b;
            values[value.index()] = match f.op(value) {
                Op::Param(_) => {
                    seen += 1;
                    (seen == k + 1).then(|| b.constant(1.0, f.ty(value)))
                }
                Op::Elementary(Opcode::Neg, _) => at(0).map(|t| b.elementary(Opcode::Neg, 0, &[t])),
                Op::Elementary(code @ (Opcode::Add | Opcode::Sub), _) => match (at(0), at(1)) {
                    (Some(x), Some(y)) => Some(b.elementary(code, 0, &[x, y])),
                    (None, Some(y)) if code == Opcode::Sub => {
                        Some(b.elementary(Opcode::Neg, 0, &[y]))
                    }
                    (x, y) => x.or(y),
                },
                Op::Elementary(code, _) => {
                    // A product or a quotient: the linear factor goes to the left, where its zero wins.
                    let (moving, coefficient) = if at(0).is_some() { (0, 1) } else { (1, 0) };
                    at(moving).zip(fixed(coefficient)).map(|(t, c)| b.elementary(code, 0, &[t, c]))
                }
                Op::Select => match (fixed(0), at(1), at(2)) {
                    (_, None, None) | (None, ..) => None,
                    (Some(mask), x, y) => {
                        let zero = b.constant(0.0, f.ty(value));
                        Some(b.select(mask, x.unwrap_or(zero), y.unwrap_or(zero)))
                    }
                },
                _ => None,
            };
        }
        outputs.iter().map(|v| values[v.index()]).collect()
    }
}
