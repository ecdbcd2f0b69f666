//! The forward Laplacian against the trace of the Hessian, and what it costs.

use cotangent_ir::{Function, parse};
use cotangent_transform::{gradient, hessian, jet, laplacian, linearize};

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
    // By the cost model, kernels as they are; and counted one by one, with both written out to scalars.
    let ratio = lap.cost().total() / (n as f64 * product.cost().total());
    assert!(ratio <= 0.6, "{ratio}: {} against {n} × {}", lap.cost(), product.cost());
    let (own, one) = (counted(&lap, n), counted(&product, 2 * n));
    let ratio = own as f64 / (n * one) as f64;
    assert!(ratio <= 0.6, "{ratio}: {own} against {n} × {one}");
}

/// The operations of one run on numbers that write themselves down: all bodies written out.
fn counted(f: &Function, n: usize) -> usize {
    let traced = cotangent_ir::trace("flat", n, |x| f.run(x).unwrap()).unwrap();
    traced.operations()
}

#[test]
fn more_inputs_than_go_through_together_are_taken_in_turns() {
    let f = network(70, 3);
    let lap = laplacian(&f).unwrap();
    lap.verify().unwrap();
    let x: Vec<f64> = (0..70).map(|k| 0.01 * f64::from(k) - 0.3).collect();
    let full = hessian(&f).unwrap().run(&x).unwrap();
    let trace: f64 = (0..70).map(|k| full[1 + 70 + 71 * k]).sum();
    let found = lap.run(&x).unwrap();
    assert!((found[1] - trace).abs() < 1e-10 * trace.abs(), "{} {trace}", found[1]);
}

/// Functions with a rule of their own: what is beside their results comes by the rule.
#[test]
fn series_and_second_derivatives_go_through_rules() {
    let text = |rule: &str| {
        format!(
            "fn @cube.d(%x: [3]f64, %dx: lin [3]f64) -> [3]f64 {{
               %r = tab (%i < 3) {{ %a = ld %x[%i] %b = ld %dx[%i] %c = mul %a, %a %d = mul %c, 3.0 %e = mul %d, %b yield %e }}
               ret %r }}
             fn @cube(%x: [3]f64) -> [3]f64 {rule} {{
               %r = tab (%i < 3) {{ %a = ld %x[%i] %b = mul %a, %a %c = mul %b, %a yield %c }}
               ret %r }}
             fn @f(%x: [3]f64) -> f64 {{
               %s = sin %x %c = call @cube(%s)
               %r = red sum (%i < 3) {{ %e = ld %c[%i] %q = mul %e, %e yield %q }}
               ret %r }}"
        )
    };
    let (with, without) = (parse(&text("jvp @cube.d")).unwrap(), parse(&text("")).unwrap());
    assert_ne!(with, without);
    let x = [0.3, -0.8, 1.1];
    let same = |a: Vec<f64>, b: Vec<f64>| {
        assert_eq!(a.len(), b.len());
        for (x, y) in a.iter().zip(&b) {
            assert!((x - y).abs() <= 1e-11 * (1.0 + x.abs()), "{a:?} {b:?}");
        }
    };
    for order in 1..=6 {
        let at: Vec<f64> = (0..=order).flat_map(|k| x.map(|x| x / (k + 1) as f64)).collect();
        let [a, b] = [&with, &without].map(|f| jet(f, order).unwrap().run(&at).unwrap());
        same(a, b);
    }
    let [a, b] = [&with, &without].map(|f| laplacian(f).unwrap().run(&x).unwrap());
    same(a, b);
}
