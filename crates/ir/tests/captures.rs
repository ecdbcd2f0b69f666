//! What bodies are handed.

use std::sync::Arc;

use cotangent_ir::{Builder, Dim, Reducer, Structure, Type};
use cotangent_ops::Opcode;

/// Zeros that are handed to a body twice, as numbers and as tangents, stay numbers where they are numbers.
#[test]
fn zeros_as_numbers_and_as_tangents() {
    let ty = Type::f64s(&[4]);
    let mut body = Builder::new("");
    let i = body.indices(1);
    // The tangent is met first.
    let (dx, x) = (body.linear_param("dx", ty), body.param("x", ty));
    let (dx, x) = (body.load(dx, &i), body.load(x, &i));
    let product = body.elementary(Opcode::Mul, 0, &[dx, x]);
    let body = Arc::new(body.finish(vec![product]));
    let mut b = Builder::new("f");
    let zeros = b.constant(0.0, ty);
    let dims = vec![Dim::Size(4)];
    let red = Structure::Red { dims, reducer: Reducer::Sum, body };
    let sum = b.structure(red, &[zeros, zeros]);
    let f = b.finish(sum);
    f.verify().unwrap();
    assert_eq!(f.run(&[] as &[f64]).unwrap(), [0.0]);
    // As something that is not folded away.
    let mut body = Builder::new("");
    let i = body.indices(1);
    let (dx, x) = (body.linear_param("dx", ty), body.param("x", ty));
    let (dx, x) = (body.load(dx, &i), body.elementary(Opcode::Cos, 0, &[x]));
    let x = body.load(x, &i);
    let body = Arc::new(body.finish(vec![dx, x]));
    let mut b = Builder::new("f");
    let zeros = b.constant(0.0, ty);
    let tab = Structure::Tab { dims: vec![Dim::Size(4)], body };
    let parts = b.structure(tab, &[zeros, zeros]);
    let f = b.finish(parts);
    f.verify().unwrap();
    assert_eq!(f.run(&[] as &[f64]).unwrap(), [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
}
