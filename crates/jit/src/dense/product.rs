//! Kernels that are products of matrices: a table of sums of products of elements, one index of which is summed over.
//!
//! `lib.dot` is one, and so are loops that a user wrote, and what derivatives make of either. What they are called makes no
//! difference: the loops say what they are.

use std::sync::Arc;

use cotangent_ir::{Builder, Dim, Function, Op, Reducer, Structure, Type, Value};
use cotangent_ops::Opcode;

use super::kernels::Shape;

/// Whose zeros win over infinities and NaN in a product of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strong {
    None,
    First,
    Second,
}

/// An array with all its elements, and which index of a domain each dimension goes along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Factor<A> {
    pub(super) array: A,
    pub(super) along: Vec<usize>,
}

/// The product that is summed in a body, and whose zeros win: its two factors in this order.
pub(super) fn factors(body: &Function, value: Value) -> Option<([Value; 2], Strong)> {
    let strong = match body.op(value) {
        Op::Elementary(Opcode::Mul, _) => Strong::None,
        Op::Elementary(Opcode::StrongMul, _) => Strong::First,
        _ => return None,
    };
    let scalar = body.ty(value).is_scalar() && body.ty(value).is_float();
    scalar.then(|| ([body.operand(value, 0), body.operand(value, 1)], strong))
}

/// The array and the indices of a load of an element, each of them whatever a parameter of the body stands for.
pub(super) fn load<A, I>(
    body: &Function,
    value: Value,
    array: impl Fn(usize) -> Option<A>,
    index: impl Fn(usize) -> Option<I>,
) -> Option<(A, Vec<I>)> {
    if body.op(value) != Op::Load || !body.ty(value).is_scalar() {
        return None;
    }
    let param = |v: Value| match body.op(v) {
        Op::Param(k) => Some(k as usize),
        _ => None,
    };
    let mut operands = body.operands(value);
    let array = array(param(operands.next()?)?)?;
    let indices = operands.map(|v| index(param(v)?)).collect::<Option<Vec<I>>>()?;
    Some((array, indices))
}

/// A product of matrices, or of a matrix and a list: which operands of the table are multiplied, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) operands: [usize; 2],
    pub(crate) shape: Shape,
}

impl Product {
    /// The product that a table is, if it is one and nothing else.
    pub(crate) fn of(dims: &[Dim], body: &Function) -> Option<Product> {
        let rank = dims.len();
        let [result] = body.results() else { return None };
        let Op::Part(0) = body.op(*result) else { return None };
        let whole = body.operand(*result, 0);
        let Some(Structure::Red { dims: summed, reducer: Reducer::Sum, body: inner }) =
            body.structure(whole)
        else {
            return None;
        };
        let [Dim::Size(k)] = summed[..] else { return None };
        let sizes = dims.iter().map(|dim| if let Dim::Size(n) = dim { Some(*n) } else { None });
        let mut sizes: Vec<usize> = sizes.collect::<Option<_>>()?;
        sizes.push(k);
        let [product] = inner.results() else { return None };
        let (values, strong) = factors(inner, *product)?;
        // What a parameter of the inner body stands for: the summed index comes last.
        let outside = |param: usize| match body.op(body.operand(whole, param.checked_sub(1)?)) {
            Op::Param(k) => Some(k as usize),
            _ => None,
        };
        let index = |param: usize| match param {
            0 => Some(rank),
            _ => outside(param).filter(|k| *k < rank),
        };
        let array = |param: usize| outside(param).and_then(|k| k.checked_sub(rank));
        let ty = |operand: usize| body.params()[rank + operand].ty;
        let mut found = Vec::with_capacity(2);
        for value in values {
            let (array, along) = load(inner, value, array, index)?;
            let fits = |(dim, index): (&Dim, &usize)| *dim == Dim::Size(sizes[*index]);
            if !ty(array).dims().iter().zip(&along).all(fits) {
                return None;
            }
            found.push(Factor { array, along });
        }
        let [x, y]: [Factor<usize>; 2] = found.try_into().ok()?;
        Product::from_factors(&sizes, [x, y], strong)
    }

    /// The product of two factors over a domain: the last index is summed over, the others are those of the result.
    pub(super) fn from_factors(
        sizes: &[usize],
        [x, y]: [Factor<usize>; 2],
        strong: Strong,
    ) -> Option<Product> {
        let summed = sizes.len() - 1;
        if !(1..=2).contains(&summed) {
            return None;
        }
        let has = |factor: &Factor<usize>, index: usize| factor.along.contains(&index);
        // The first has the rows.
        let (x, y, strong) = match (has(&x, 0), strong) {
            (true, strong) => (x, y, strong),
            (false, Strong::None) => (y, x, Strong::None),
            (false, Strong::First) => (y, x, Strong::Second),
            (false, Strong::Second) => (y, x, Strong::First),
        };
        let own = |factor: &Factor<usize>, index: Option<usize>| {
            let wanted = 1 + usize::from(index.is_some());
            has(factor, summed)
                && index.is_none_or(|index| has(factor, index))
                && factor.along.len() == wanted
        };
        let columns = (summed == 2).then_some(1);
        if !own(&x, Some(0)) || !own(&y, columns) {
            return None;
        }
        // How far it is from one to the next along an index.
        let stride = |factor: &Factor<usize>, index: usize| {
            let place = factor.along.iter().position(|k| *k == index);
            let behind = |place: usize| factor.along[place + 1..].iter().map(|k| sizes[*k]);
            place.map_or(1, |place| behind(place).product())
        };
        let shape = Shape {
            m: sizes[0],
            n: columns.map_or(1, |index| sizes[index]),
            k: sizes[summed],
            x: [stride(&x, 0), stride(&x, summed)],
            y: [stride(&y, summed), columns.map_or(1, |index| stride(&y, index))],
            strong: strong as usize,
            block: sizes[0],
        };
        Some(Product { operands: [x.array, y.array], shape })
    }
}

/// Writes the table of a product: over all indices of a domain but the last, which is summed over; of an outer product, if
/// none is.
pub(super) fn table(
    b: &mut Builder,
    sizes: &[usize],
    summed: bool,
    [x, y]: &[Factor<Value>; 2],
    strong: bool,
) -> Value {
    let rank = sizes.len() - usize::from(summed);
    let dims: Vec<Dim> = sizes.iter().map(|n| Dim::Size(*n)).collect();
    let types = [b.ty(x.array), b.ty(y.array)];
    let code = if strong { Opcode::StrongMul } else { Opcode::Mul };
    let mut body = Builder::new("");
    let mut outer: Vec<Value> = (0..rank).map(|_| body.param("i", Type::I64)).collect();
    let arrays = types.map(|ty| body.param("x", ty));
    let product = |b: &mut Builder, indices: &[Value], arrays: [Value; 2]| {
        let element = |b: &mut Builder, array: Value, along: &[usize]| {
            let at: Vec<Value> = along.iter().map(|k| indices[*k]).collect();
            b.load(array, &at)
        };
        let first = element(b, arrays[0], &x.along);
        let second = element(b, arrays[1], &y.along);
        b.elementary(code, 0, &[first, second])
    };
    let entry = match summed {
        false => product(&mut body, &outer, arrays),
        true => {
            let mut inner = Builder::new("");
            let k = inner.param("k", Type::I64);
            let mut indices: Vec<Value> =
                outer.iter().map(|_| inner.param("i", Type::I64)).collect();
            indices.push(k);
            let own = types.map(|ty| inner.param("x", ty));
            let p = product(&mut inner, &indices, own);
            let inner = Arc::new(inner.finish(vec![p]));
            let red = Structure::Red { dims: vec![dims[rank]], reducer: Reducer::Sum, body: inner };
            outer.extend(arrays);
            body.structure(red, &outer)[0]
        }
    };
    let body = Arc::new(body.finish(vec![entry]));
    b.structure(Structure::Tab { dims: dims[..rank].to_vec(), body }, &[x.array, y.array])[0]
}
