//! Jacobians and Hessians: the linear part at unit vectors, all in one function.

use std::ops::Range;

use cotangent_ir::{Builder, Dim, Function, Param, Structure, Type, Value};

use crate::columns::{SparsePartials, flat_partials};
use crate::error::TransformError;
use crate::expand::float_element;
use crate::linearize::linearize_to;
use crate::lower::lower;
use crate::transpose::{gradient_to, transpose};

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

/// The function with those partials of its numbers behind its results that do not come to nothing: column by column; none if there
/// are more than `most`. It must be flat (see [`Function::is_flat`]): then zeros are seen operation by operation.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::sparse_jacobian_to;
///
/// let f = parse("fn @f(%x: f64, %y: f64) -> (f64, f64) { %p = mul %x, %y %s = sin %y ret %p, %s }").unwrap();
/// let j = sparse_jacobian_to(&f, |_| true, 1000).unwrap().unwrap();
/// assert_eq!(j.entries, [(0, 0), (0, 1), (1, 1)]);
/// assert_eq!(j.function.run(&[2.0, 0.0]).unwrap(), [0.0, 0.0, 0.0, 2.0, 1.0]);
/// ```
///
/// # Errors
/// As [`jacobian`]; a function with arrays or bodies.
pub fn sparse_jacobian_to(
    f: &Function,
    moves: impl Fn(&Param) -> bool,
    most: usize,
) -> Result<Option<SparsePartials>, TransformError> {
    flat_partials(f, moves, 0..f.results().len(), most)
}

/// The value, the gradient, and those second partials that do not come to nothing, column by column; see
/// [`sparse_jacobian_to`].
///
/// # Errors
/// As [`hessian`]; a function with arrays or bodies.
pub fn sparse_hessian_to(
    f: &Function,
    moves: impl Fn(&Param) -> bool,
    most: usize,
) -> Result<Option<SparsePartials>, TransformError> {
    let g = gradient_to(f, &moves)?;
    let of = 1..g.results().len();
    flat_partials(&g, moves, of, most)
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
    let found = flat_partials(f, moves, of, usize::MAX)?;
    let too_many = || {
        let (function, what) = (f.name().to_string(), "there are too many".to_string());
        TransformError::Flat { function, what }
    };
    let SparsePartials { function, rows, columns, entries } = found.ok_or_else(too_many)?;
    // The zeros, too.
    let mut b = Builder::new(function.name());
    let params = b.params_of(function.params());
    let found = b.inline(&function, &params);
    let mut places = vec![None; rows * columns];
    for ((row, column), value) in entries.iter().zip(&found[primals..]) {
        places[row * columns + column] = Some(*value);
    }
    let zero = b.constant(0.0, ty);
    let all = places.into_iter().map(|entry| entry.unwrap_or(zero));
    let results = found[..primals].iter().copied().chain(all).collect();
    Ok(b.finish(results))
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
