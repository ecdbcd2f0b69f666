//! Programs that are known to need it: what they cost before and after.

use cotangent_ir::{Function, parse};
use cotangent_optimize::{Options, optimize, simplify};
use cotangent_transform::{gradient, reverse};

fn total(f: &Function) -> f64 {
    f.cost().total()
}

#[track_caller]
fn agree(f: &Function, g: &Function, x: &[f64]) {
    let (a, b) = (f.run(x).unwrap(), g.run(x).unwrap());
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert!(a == b || (a - b).abs() <= 1e-12 * (1.0 + a.abs()), "{a} for {b}\n{f}\n{g}");
    }
}

/// out[i] = in[i] / mag(in), the magnitude written inside the loop.
fn normalize(n: usize) -> Function {
    let text = format!(
        "fn @norm(%x: [{n}]f64) -> [{n}]f64 {{
  %r = tab (%i < {n}) {{
    %s = red sum (%j < {n}) {{
      %a = ld %x[%j]
      %b = mul %a, %a
      yield %b
    }}
    %m = sqrt %s
    %a = ld %x[%i]
    %q = div %a, %m
    yield %q
  }}
  ret %r
}}"
    );
    parse(&text).unwrap()
}

#[test]
fn the_gradient_of_a_normalised_vector_is_linear_in_its_size() {
    let mut costs = Vec::new();
    for n in [100usize, 10_000, 1_000_000] {
        let f = normalize(n);
        assert!(f.cost().flops >= (n * n) as f64);
        // Before the derivative, so that it is taken of the short program: afterwards it would be a matter
        // of the order of sums.
        let fast = simplify(&reverse(&simplify(&f)).unwrap());
        fast.verify().unwrap();
        costs.push(total(&fast) / n as f64);
        assert!(total(&simplify(&f)) < 20.0 * n as f64, "{}", simplify(&f));
    }
    for cost in &costs {
        assert!((cost - costs[0]).abs() < 0.05 * costs[0] && *cost < 60.0, "{costs:?}");
    }
    let (f, n) = (normalize(7), 7);
    let g = reverse(&f).unwrap();
    let x: Vec<f64> = (0..2 * n).map(|k| 0.5 + f64::from(k).sin()).collect();
    agree(&g, &simplify(&g), &x);
    agree(&g, &simplify(&reverse(&simplify(&f)).unwrap()), &x);
}

#[test]
fn of_a_slice_only_its_elements_are_computed() {
    // dot(mul(dot(x, y), z)[0:10], 4)
    let f = parse(
        "fn @f(%x: [1000, 8]f64, %y: [8]f64, %z: [1000]f64) -> [10]f64 {
  %d = tab (%i < 1000) {
    %s = red sum (%k < 8) { %a = ld %x[%i, %k] %b = ld %y[%k] %p = mul %a, %b yield %p }
    yield %s
  }
  %m = mul %d, %z
  %s = tab (%i < 10) { %a = ld %m[%i] yield %a }
  %r = mul %s, 4.0
  ret %r
}",
    )
    .unwrap();
    let g = simplify(&f);
    // Ten sums of eight products, ten products with z and ten with 4.
    assert!(f.cost().flops >= 16_000.0);
    assert_eq!(g.cost().flops, 10.0 * 16.0 + 20.0, "{g}");
    let x: Vec<f64> = (0..9008).map(|k| (f64::from(k) * 0.1).sin()).collect();
    agree(&f, &g, &x);
}

#[test]
fn a_gradient_of_a_product_with_a_matrix_scatters_nothing() {
    let f = parse(
        "fn @f(%a: [20, 30]f64, %x: [30]f64, %w: [20]f64) -> f64 {
  %y = tab (%i < 20) {
    %s = red sum (%j < 30) { %p = ld %a[%i, %j] %q = ld %x[%j] %r = mul %p, %q yield %r }
    yield %s
  }
  %e = red sum (%i < 20) { %p = ld %y[%i] %q = ld %w[%i] %r = mul %p, %q yield %r }
  ret %e
}",
    )
    .unwrap();
    let g = gradient(&f).unwrap();
    let fast = simplify(&g);
    let text = fast.to_string();
    assert!(!text.contains("acc") && !text.contains("put_add"), "{text}");
    let x: Vec<f64> = (0..650).map(|k| (f64::from(k) * 0.3).sin()).collect();
    agree(&g, &fast, &x);
    assert!(total(&fast) <= 3.5 * total(&simplify(&f)), "{text}");
}

#[test]
fn a_loop_that_sums_becomes_a_sum_and_its_gradient_a_table() {
    let f = parse(
        "fn @f(%x: [50]f64) -> f64 {
  %s = for %i < 50 (%s = 0.0) {
    %a = ld %x[%i]
    %b = sin %a
    %t = add %s, %b
    yield %t
  }
  ret %s
}",
    )
    .unwrap();
    let g = simplify(&f);
    assert!(g.to_string().contains("red sum (%i < 50)"), "{g}");
    let grad = gradient(&f).unwrap();
    let fast = simplify(&grad);
    assert!(!fast.to_string().contains("for") && !fast.to_string().contains("acc"), "{fast}");
    let x: Vec<f64> = (0..50).map(|k| (f64::from(k) * 0.3).sin()).collect();
    agree(&grad, &fast, &x);
    // To the bit, it is added to the zero it starts from.
    let exact = optimize(&f, &Options::exact()).function;
    assert!(exact.to_string().contains("acc (%i < 50) (%s = 0.0)"), "{exact}");
}
