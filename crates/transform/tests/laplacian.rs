//! The forward Laplacian against the trace of the Hessian, and what it costs.

use cotangent_ir::{Function, Structure, parse};
use cotangent_transform::{gradient, laplacian, linearize};

/// A network of two hidden layers, weights as constants made of sines.
fn network(inputs: usize, width: usize) -> Function {
    let weight = |seed: f64, i: &str, j: &str| {
        format!(
            "%f{seed} = cast {i} : f64 %g{seed} = cast {j} : f64
             %h{seed} = mul %f{seed}, {seed}.7 %k{seed} = mul %g{seed}, 1.3 %l{seed} = add %h{seed}, %k{seed}
             %w = sin %l{seed}"
        )
    };
    let layer = |name: &str, from: &str, n: usize, m: usize, seed: f64| {
        format!(
            "%{name} = tab (%i < {m}) {{
               %s = red sum (%j < {n}) {{ {} %x = ld %{from}[%j] %p = mul %w, %x yield %p }}
               %t = tanh %s
               yield %t
             }}\n",
            weight(seed, "%i", "%j")
        )
    };
    parse(&format!(
        "fn @net(%x: [{inputs}]f64) -> f64 {{
           {}{}
           %r = red sum (%i < {width}) {{ %e = ld %b[%i] %q = mul %e, %e yield %q }}
           ret %r
         }}",
        layer("a", "x", inputs, width, 1.0),
        layer("b", "a", width, width, 2.0)
    ))
    .unwrap()
}

#[test]
fn it_is_the_trace_of_the_hessian_at_less_than_products_with_it() {
    let (n, width) = (8, 12);
    let f = network(n, width);
    let lap = laplacian(&f).unwrap();
    lap.verify().unwrap();
    let product = linearize(&gradient(&f).unwrap()).unwrap();
    let x: Vec<f64> = (0..n).map(|k| 0.3 + 0.1 * k as f64).collect();
    let found = lap.run(&x).unwrap();
    let mut trace = 0.0;
    for k in 0..n {
        let mut at = x.clone();
        at.extend((0..n).map(|j| if j == k { 1.0 } else { 0.0 }));
        let results = product.run(&at).unwrap();
        // Value, gradient, their tangents.
        trace += results[1 + n + 1 + k];
    }
    assert_eq!(found[0], f.run(&x).unwrap()[0]);
    assert!((found[1] - trace).abs() < 1e-10 * trace.abs(), "{} {trace}", found[1]);
    // Both written out to scalars, operations on equal terms: the Laplacian is flat, the product is
    // counted by running it.
    let flat =
        |f: &Function| !f.values().any(|v| matches!(f.structure(v), Some(Structure::Tab { .. })));
    assert!(flat(&lap));
    let counted = counted(&product, n);
    let ratio = lap.operations() as f64 / (n as f64 * counted as f64);
    assert!(ratio <= 0.6, "{ratio}: {} against {n} × {counted}", lap.operations());
}

/// The operations of one run on numbers that write themselves down: all bodies written out.
fn counted(f: &Function, n: usize) -> usize {
    let traced = cotangent_ir::trace("flat", 2 * n, |x| f.run(x).unwrap()).unwrap();
    traced.operations()
}
