//! Type: a function with linear values → the same function, in which what goes through a chain of factors is multiplied once.
//!
//! Tangents go through a program operation by operation, each with the partial of its own: q·s, then p·(q·s). Where nothing else
//! wants what is in between, it is (p·q)·s that is written here, and a·s + b·s is (a + b)·s. There is no more to compute, often less,
//! and it is computed elsewhere: products of partials do not wait for the tangent, or for the cotangent that comes back around a loop,
//! and of many directions they are the same. (The slope of a path, in reverse mode over
//! reverse mode, waits for half as many products and takes 0.85 of the time.)
//!
//! The order of these products is that of the derivative, which nobody has written down yet; once it is there, no product is
//! reordered. A zero still wins, be it the tangent's, the cotangent's or that of a factor: products of factors are strong ones. Factors whose
//! product is larger or smaller than any number are infinite or nothing together, whatever goes through them.

use std::sync::Arc;

use cotangent_ir::{Builder, Element, Function, Op, Structure, Type, Value};
use cotangent_ops::Opcode;

/// A linear value: a number and a factor times another one.
#[derive(Clone, Copy)]
struct Product {
    number: f64,
    factor: Option<Value>,
    of: Value,
    /// Whether a zero wins over what the factor is.
    strong: bool,
}

impl Product {
    /// It times a number, if that is exact.
    fn times(self, number: f64, element: Element) -> Option<Product> {
        let product = self.number * number;
        let exact = match element {
            Element::F64 => product.abs() > 1e-200 && self.number.mul_add(number, -product) == 0.0,
            // No double loses anything of a product of singles.
            _ => f64::from(product as f32) == product,
        };
        (product.is_finite() && exact).then_some(Product { number: product, ..self })
    }

    /// It times a factor.
    fn by(self, b: &mut Builder, factor: Value, strong: bool) -> Product {
        let factor = match self.factor {
            None => factor,
            Some(inner) => b.elementary(Opcode::StrongMul, 0, &[inner, factor]),
        };
        // Two that are finite may have a product that is not.
        Product {
            factor: Some(factor),
            strong: self.strong || strong || self.factor.is_some(),
            ..self
        }
    }

    /// What it multiplies with, the number included.
    fn whole(self, b: &mut Builder) -> Value {
        let ty = Type::scalar(b.ty(self.of).element());
        let number = b.constant(self.number, ty);
        match self.factor {
            None => number,
            Some(factor) => b.elementary(Opcode::Mul, 0, &[factor, number]),
        }
    }
}

/// Where a function stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// By itself, or in a branch.
    Alone,
    /// In a kernel of so many indices.
    Kernel(usize),
    /// In a loop, where rounds wait for each other.
    Loop,
}

fn product(strong: bool) -> Opcode {
    if strong { Opcode::StrongMul } else { Opcode::Mul }
}

/// The function with chains of factors multiplied, its bodies included.
pub(crate) fn collected(f: &Function) -> Function {
    if f.params().iter().any(|p| p.linear) { within(f, Place::Alone) } else { f.clone() }
}

fn within(f: &Function, place: Place) -> Function {
    let Ok(linear) = f.linear_values() else { return f.clone() };
    let uses = uses(f);
    let varies = match place {
        Place::Kernel(indices) => varies(f, indices),
        _ => vec![0; f.len()],
    };
    let mut products: Vec<Option<Product>> = vec![None; f.len()];
    f.rebuilt(|b, copies, value| {
        if let Some(structure) = f.structure(value) {
            if !structure.bodies().any(|body| body.params().iter().any(|p| p.linear)) {
                return false;
            }
            let inside = match structure {
                Structure::Tab { dims, .. }
                | Structure::Red { dims, .. }
                | Structure::Acc { dims, .. } => Place::Kernel(dims.len()),
                Structure::For { .. } | Structure::While { .. } => Place::Loop,
                Structure::If { .. } if place == Place::Loop => Place::Loop,
                _ => Place::Alone,
            };
            let new = structure.with_bodies(|body| Arc::new(within(body, inside)));
            let operands = copies.operands(f, value);
            let parts = b.structure(new, &operands);
            copies.set_parts(value, parts);
            return true;
        }
        let Op::Elementary(code, _) = f.op(value) else { return false };
        if !linear[value.index()] {
            return false;
        }
        let args: Vec<Value> = f.operands(value).collect();
        // What nothing else wants.
        let inner = |arg: Value| products[arg.index()].filter(|_| uses[arg.index()] == 1);
        let element = f.ty(value).element();
        let product = match (code, &args[..]) {
            (Opcode::Mul | Opcode::StrongMul, [x, y]) => {
                let (t, p) = if linear[x.index()] { (*x, *y) } else { (*y, *x) };
                let strong = code == Opcode::StrongMul;
                let alone = Product { number: 1.0, factor: None, of: copies.of(t), strong: false };
                let factor = copies.of(p);
                let known = b.known(factor).filter(|c| *c != 0.0 && c.is_finite());
                // What differs at fewer points than the product, or at more, is better left to either end: cotangents may be
                // the same at all of them.
                let alike = known.is_some() || varies[p.index()] == varies[t.index()];
                let fits = |inner: &Product| {
                    alike && inner.factor.is_none_or(|own| b.ty(own) == b.ty(factor))
                };
                let before = inner(t).filter(fits).unwrap_or(alone);
                let scaled = known.and_then(|c| before.times(c, element));
                Some(scaled.unwrap_or_else(|| before.by(b, factor, strong)))
            }
            (Opcode::Neg, [x]) => inner(*x).and_then(|inner| inner.times(-1.0, element)),
            (Opcode::Add, [x, y]) if x == y => {
                let twice = products[x.index()].filter(|_| uses[x.index()] == 2);
                twice.and_then(|inner| inner.times(2.0, element))
            }
            (Opcode::Add | Opcode::Sub, [x, y]) => match (inner(*x), inner(*y)) {
                (Some(first), Some(second)) if first.of == second.of => {
                    let (one, other) = (first.whole(b), second.whole(b));
                    let factor = b.elementary(code, 0, &[one, other]);
                    Some(Product { number: 1.0, factor: Some(factor), of: first.of, strong: true })
                }
                _ => None,
            },
            _ => None,
        };
        let Some(found) = product else { return false };
        products[value.index()] = Some(found);
        let copy = match (found.factor, place) {
            // A number goes with the factor where something waits for the product, else to the end that is turned around first.
            (Some(factor), Place::Alone | Place::Kernel(_)) => {
                let copy = b.elementary(self::product(found.strong), 0, &[found.of, factor]);
                let number = b.constant(found.number, Type::scalar(element));
                b.elementary(Opcode::Mul, 0, &[copy, number])
            }
            _ => {
                let factor = found.whole(b);
                b.elementary(self::product(found.strong), 0, &[found.of, factor])
            }
        };
        copies.set(value, copy);
        true
    })
}

/// How often each value is used.
fn uses(f: &Function) -> Vec<usize> {
    let mut uses = vec![0; f.len()];
    for value in f.values() {
        f.operands(value).for_each(|v| uses[v.index()] += 1);
    }
    f.results().iter().for_each(|v| uses[v.index()] += 1);
    uses
}

/// Which of the first parameters, the indices of a kernel, each value depends on.
fn varies(f: &Function, indices: usize) -> Vec<u64> {
    let mut varies = vec![0; f.len()];
    for value in f.values() {
        varies[value.index()] = match f.op(value) {
            Op::Param(k) if (k as usize) < indices => 1 << k.min(63),
            _ => f.operands(value).fold(0, |all, v| all | varies[v.index()]),
        };
    }
    varies
}
