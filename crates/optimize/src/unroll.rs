//! Short loops written out, and kernels of one point.

use cotangent_ir::{Builder, Dim, Function, Reducer, Structure, Value};

use crate::stats::Tally;
use crate::visit::{Site, rebuild};

/// The most rounds that are written out.
const ROUNDS: i64 = 8;

/// The most operations that a loop becomes. A loop of three bodies of a pendulum's step is below it.
const OPERATIONS: usize = 128;

/// The function with short loops written out.
pub(crate) fn unroll(f: &Function, tally: &mut Tally) -> Function {
    rebuild(f, &mut |b, site| {
        let parts = written_out(b, site)?;
        tally.structural("unroll", site.structure.name(), "its rounds");
        Some(parts)
    })
}

fn written_out(b: &mut Builder, site: &Site<'_>) -> Option<Vec<Value>> {
    let one = |dims: &[Dim]| dims.iter().all(|dim| *dim == Dim::Size(1));
    let origin = |b: &mut Builder, dims: &[Dim]| -> Vec<Value> {
        dims.iter().map(|_| b.integer(0)).collect()
    };
    match site.structure {
        Structure::For { carries, body } => {
            let rounds = b.known_integer(site.operands[0])?;
            let size = body.operations().max(1) * usize::try_from(rounds).ok()?;
            if rounds > ROUNDS || size > OPERATIONS || body.results().len() != *carries {
                return None;
            }
            let (start, captures) = site.operands[1..].split_at(*carries);
            let mut values = start.to_vec();
            for round in 0..rounds {
                let index = b.integer(round);
                let args: Vec<Value> =
                    [index].iter().chain(&values).chain(captures).copied().collect();
                values = b.inline(body, &args);
            }
            Some(values)
        }
        Structure::Tab { dims, body } if one(dims) => {
            if body.results().iter().any(|v| !body.ty(*v).is_scalar()) {
                return None;
            }
            let mut args = origin(b, dims);
            args.extend(site.operands);
            let found = b.inline(body, &args);
            let types: Vec<_> = body.results().iter().map(|v| body.ty(*v).within(dims)).collect();
            Some(found.into_iter().zip(types).map(|(v, ty)| b.fill(v, ty)).collect())
        }
        Structure::Red { dims, reducer, body }
            if one(dims) && !matches!(reducer, Reducer::ArgMax | Reducer::ArgMin) =>
        {
            let mut args = origin(b, dims);
            args.extend(site.operands);
            Some(b.inline(body, &args))
        }
        Structure::Acc { dims, body, .. } if one(dims) => {
            let mut args = origin(b, dims);
            args.extend(site.operands);
            Some(b.inline(body, &args))
        }
        _ => None,
    }
}
