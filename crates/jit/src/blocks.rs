//! Sums over many points as sums of blocks, so that threads have something to share out.
//!
//! A sum becomes a table of sums, one for each block of points, and the sum of that table: tables are what threads work
//! on (`emit/tasks.rs`). How many blocks there are depends on the program alone, so the digits are the same for any
//! number of threads.

use std::sync::Arc;

use cotangent_ir::{Builder, Dim, Function, Integral, Param, Reducer, Structure, Type, Value};
use cotangent_ops::Opcode;

use crate::kernels::rewritten;

/// The most blocks of a sum.
const BLOCKS: usize = 16;

/// What an element of a target costs with each block: it begins as nothing and is added up.
const ELEMENT: f64 = 16.0;

/// What a kernel takes, in operations.
pub(crate) fn work(dims: &[Dim], body: &Function) -> f64 {
    points(dims) * body.cost().total().max(0.5)
}

fn points(dims: &[Dim]) -> f64 {
    dims.iter().map(|dim| if let Dim::Size(n) = dim { *n as f64 } else { 1.0 }).product()
}

/// The function with sums that take at least so many operations in blocks.
pub(crate) fn blocked(f: &Function, least: f64) -> Function {
    rewritten(f, &|b, structure, operands| match structure {
        Structure::Red { dims, reducer, body } => red(b, dims, *reducer, body, operands, least),
        Structure::Acc { dims, targets, body } => acc(b, dims, *targets, body, operands, least),
        _ => None,
    })
}

/// How a domain is cut: which dimension, into how many blocks of how many points, and how many are left over.
#[derive(Clone, Copy)]
struct Cut {
    dimension: usize,
    blocks: usize,
    points: usize,
    rest: usize,
}

impl Cut {
    fn of(dims: &[Dim], most: usize) -> Option<Cut> {
        let sizes = || dims.iter().map(|dim| if let Dim::Size(n) = dim { *n } else { 0 });
        // The outermost that is long enough, or else the longest.
        let dimension = sizes().position(|n| n >= 4 * BLOCKS).or_else(|| {
            let longest = sizes().max()?;
            sizes().position(|n| n == longest)
        })?;
        let size = sizes().nth(dimension)?;
        let blocks = most.min(BLOCKS).min(size / 2);
        let points = size.checked_div(blocks)?;
        (blocks >= 2).then_some(Cut { dimension, blocks, points, rest: size - blocks * points })
    }

    fn dims(self, dims: &[Dim], size: usize) -> Vec<Dim> {
        let mut dims = dims.to_vec();
        dims[self.dimension] = Dim::Size(size);
        dims
    }

    /// The body for the points of a block, whose number is a further parameter.
    fn in_block(self, body: &Function) -> Arc<Function> {
        self.moved(body, |b, index| {
            let block = b.param("block", Type::I64);
            let points = b.integer(self.points as i64);
            let from = b.integral(Integral::Mul, block, points);
            b.integral(Integral::Add, from, index)
        })
    }

    /// The body for the points that are left over.
    fn in_rest(self, body: &Function) -> Arc<Function> {
        self.moved(body, |b, index| {
            let from = b.integer((self.blocks * self.points) as i64);
            b.integral(Integral::Add, from, index)
        })
    }

    fn moved(
        self,
        body: &Function,
        index: impl FnOnce(&mut Builder, Value) -> Value,
    ) -> Arc<Function> {
        let mut b = Builder::new(body.name());
        let mut args = b.params_of(body.params());
        args[self.dimension] = index(&mut b, args[self.dimension]);
        let results = b.inline(body, &args);
        Arc::new(b.finish(results))
    }

    /// A table of what a kernel gives for each block. The first operands of the kernel are made inside.
    fn table(
        self,
        b: &mut Builder,
        kernel: Structure,
        captures: &[Value],
        first: impl FnOnce(&mut Builder) -> Vec<Value>,
    ) -> Vec<Value> {
        let mut inner = Builder::new("");
        let block = inner.param("block", Type::I64);
        let mut own = Vec::with_capacity(captures.len());
        for capture in captures {
            own.push(inner.param("x", b.ty(*capture)));
        }
        let mut operands = first(&mut inner);
        operands.extend(own);
        operands.push(block);
        let results = inner.structure(kernel, &operands);
        let body = Arc::new(inner.finish(results));
        b.structure(Structure::Tab { dims: vec![Dim::Size(self.blocks)], body }, captures)
    }
}

fn red(
    b: &mut Builder,
    dims: &[Dim],
    reducer: Reducer,
    body: &Function,
    operands: &[Value],
    least: f64,
) -> Option<Vec<Value>> {
    let ty = body.ty(*body.results().first()?);
    let code = match reducer {
        Reducer::Sum => Opcode::Add,
        Reducer::Product => Opcode::Mul,
        Reducer::Max => Opcode::Max,
        Reducer::Min => Opcode::Min,
        _ => return None,
    };
    // What the body gives is added, too.
    let work = work(dims, body) + points(dims);
    if body.results().len() != 1 || !ty.is_float() || work < least {
        return None;
    }
    let most = most_blocks(work, if ty.is_scalar() { 0 } else { ty.len()? });
    let cut = Cut::of(dims, most)?;
    let own = cut.in_block(body);
    let kernel = Structure::Red { dims: cut.dims(dims, cut.points), reducer, body: own };
    let table = cut.table(b, kernel, operands, |_| Vec::new());
    let whole = along_blocks(b, cut.blocks, reducer, table[0]);
    if cut.rest == 0 {
        return Some(vec![whole]);
    }
    let body = cut.in_rest(body);
    let kernel = Structure::Red { dims: cut.dims(dims, cut.rest), reducer, body };
    let rest = b.structure(kernel, operands);
    Some(vec![b.elementary(code, 0, &[whole, rest[0]])])
}

fn acc(
    b: &mut Builder,
    dims: &[Dim],
    targets: usize,
    body: &Function,
    operands: &[Value],
    least: f64,
) -> Option<Vec<Value>> {
    let work = work(dims, body);
    if work < least {
        return None;
    }
    let types: Vec<Type> = operands[..targets].iter().map(|v| b.ty(*v)).collect();
    let elements = types.iter().map(|ty| ty.len()).sum::<Option<usize>>()?;
    let cut = Cut::of(dims, most_blocks(work, elements))?;
    let captures = &operands[targets..];
    let own = cut.in_block(body);
    let kernel = Structure::Acc { dims: cut.dims(dims, cut.points), targets, body: own };
    let tables =
        cut.table(b, kernel, captures, |b| types.iter().map(|ty| b.constant(0.0, *ty)).collect());
    let mut whole = Vec::with_capacity(targets);
    for (start, table) in operands.iter().zip(tables) {
        let sum = along_blocks(b, cut.blocks, Reducer::Sum, table);
        whole.push(match b.function().is_zero(*start) {
            true => sum,
            false => b.elementary(Opcode::Add, 0, &[*start, sum]),
        });
    }
    if cut.rest == 0 {
        return Some(whole);
    }
    let dims = cut.dims(dims, cut.rest);
    whole.extend_from_slice(captures);
    Some(b.structure(Structure::Acc { dims, targets, body: cut.in_rest(body) }, &whole))
}

/// So many blocks that what they cost is small beside the work.
fn most_blocks(work: f64, elements: usize) -> usize {
    (work / 8.0 / (ELEMENT * elements.max(1) as f64)).min(BLOCKS as f64) as usize
}

/// What the blocks have, put together, element by element.
fn along_blocks(b: &mut Builder, blocks: usize, reducer: Reducer, table: Value) -> Value {
    let ty = b.ty(table);
    let mut outer = Builder::new("");
    let rank = ty.dims().len() - 1;
    let at: Vec<Value> = (0..rank).map(|_| outer.param("i", Type::I64)).collect();
    let captured = outer.param("x", ty);
    let mut inner = Builder::new("");
    let params: Vec<Param> = outer.function().params().to_vec();
    let block = inner.param("block", Type::I64);
    let args = inner.params_of(&params);
    let indices: Vec<Value> = [block].into_iter().chain(args[..rank].iter().copied()).collect();
    let entry = inner.load(args[rank], &indices);
    let body = Arc::new(inner.finish(vec![entry]));
    let red = Structure::Red { dims: vec![Dim::Size(blocks)], reducer, body };
    let operands: Vec<Value> = at.into_iter().chain([captured]).collect();
    let results = outer.structure(red, &operands);
    let body = outer.finish(results);
    match rank {
        0 => b.inline(&body, &[table])[0],
        _ => {
            let dims = ty.dims()[1..].to_vec();
            b.structure(Structure::Tab { dims, body: Arc::new(body) }, &[table])[0]
        }
    }
}
