//! A function at many points at once.

use std::sync::Arc;

use cotangent_ir::{Builder, Dim, Function, Param, Structure, Value};

use crate::error::TransformError;

/// The function at so many points side by side: parameters that are chosen, and all results, get one more
/// dimension, the first; the other parameters are the same at all points.
///
/// It is a table over the points with the function as its body, so that what the points share is computed
/// once when the table is optimised. A batch of a batch is one over pairs.
///
/// ```
/// use cotangent_ir::{Dim, parse};
/// use cotangent_transform::{batch, gradient};
///
/// let f = parse("fn @f(%x: f64, %a: f64) -> f64 { %s = sin %x %r = mul %s, %a ret %r }").unwrap();
/// // The gradient at three points, with the same %a.
/// let many = batch(&gradient(&f).unwrap(), Dim::Size(3), |p| p.name == "x").unwrap();
/// let found = many.run(&[0.0, 0.1, 0.2, 2.0]).unwrap();
/// assert_eq!(found[..3], [0.0, 2.0 * 0.1f64.sin(), 2.0 * 0.2f64.sin()]);
/// ```
///
/// # Errors
/// No parameter chosen, a size that is not known, a function with guards (they may hold at some points only),
/// a result whose size is not known before it is run, a function that is not well formed.
pub fn batch(
    f: &Function,
    size: Dim,
    chosen: impl Fn(&Param) -> bool,
) -> Result<Function, TransformError> {
    f.verify()?;
    let refused = |what: &str| {
        let (function, what) = (f.name().to_string(), what.to_string());
        Err(TransformError::Batch { function, what })
    };
    let chosen: Vec<bool> = f.params().iter().map(chosen).collect();
    if !chosen.contains(&true) {
        return refused("no parameter is chosen to differ from point to point");
    }
    if size == Dim::Any {
        return refused("give the number of points, or a name for it");
    }
    if f.has_guards() {
        return refused("it has guards, which may hold at some points only; trace it with `cond`");
    }
    if f.results().iter().any(|v| f.ty(*v).is_unknown()) {
        return refused("how many elements a result has is not known before it is run");
    }
    let mut b = Builder::new(format!("{}.batch", f.name()));
    let mut inner = Builder::new("");
    let index = inner.indices(1);
    let (mut operands, mut args) = (Vec::new(), Vec::new());
    for (p, chosen) in f.params().iter().zip(chosen) {
        let ty = if chosen { p.ty.within(&[size]) } else { p.ty };
        let wide = Param { ty, ..p.clone() };
        operands.push(b.add_param(wide.clone()));
        let whole = inner.add_param(wide);
        args.push(if chosen { inner.load(whole, &index) } else { whole });
    }
    let results: Vec<Value> = inner.inline(f, &args);
    let body = Arc::new(inner.finish(results));
    let parts = b.structure(Structure::Tab { dims: vec![size], body }, &operands);
    let many = b.finish(parts);
    many.verify()?;
    Ok(many)
}
