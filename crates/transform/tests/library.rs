//! Derivatives of the library: by rules, by what the rules stand for, by differences.

use cotangent_ir::{Builder, Copied, Dim, Element, Function, Structure, Type, Value, parse};
use cotangent_numbers::Dual;
use cotangent_transform::{gradient, hessian, linearize, reverse};

/// A call of the library at a point at which it has a derivative.
struct Case {
    f: Function,
    x: Vec<f64>,
}

fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| 2.0 * rng.f64() - 1.0).collect()
}

/// A matrix with a diagonal that makes it regular, and its symmetric part positive definite.
fn matrix(seed: u64, n: usize) -> Vec<f64> {
    let mut m = numbers(seed, n * n);
    (0..n).for_each(|i| m[i * n + i] += n as f64);
    m
}

/// A function that calls one of the library with its parameters.
fn case(name: &str, types: &[Type], x: Vec<f64>) -> Case {
    let mut b = Builder::new("f");
    let args: Vec<Value> =
        types.iter().enumerate().map(|(k, ty)| b.param(format!("x{k}"), *ty)).collect();
    let results = b.library(name, &args).unwrap();
    Case { f: b.finish(results), x }
}

fn indices(n: usize) -> Type {
    Type::array(Element::I64, &[Dim::Size(n)])
}

/// The functions on matrices of a size.
fn factors(n: usize) -> Vec<Case> {
    let a = Type::f64s(&[n, n]);
    let mut all = Vec::new();
    for name in ["lib.cholesky", "lib.lu", "lib.determinant", "lib.log_determinant"] {
        all.push(case(name, &[a], matrix(n as u64, n)));
    }
    // Rows that change places.
    let mut turned = matrix(3, n);
    turned.rotate_right(n);
    all.push(case("lib.lu", &[a], turned.clone()));
    all.push(case("lib.determinant", &[a], turned.clone()));
    for columns in [None, Some(1), Some(3)] {
        let shape: Vec<usize> = [n].into_iter().chain(columns).collect();
        let b = Type::f64s(&shape);
        let right = numbers(17, n * columns.unwrap_or(1));
        for name in [
            "lib.solve_lower",
            "lib.solve_lower_transposed",
            "lib.solve_upper",
            "lib.solve_upper_transposed",
            "lib.solve_unit_lower",
            "lib.solve_unit_lower_transposed",
            "lib.solve_upper.strong",
        ] {
            all.push(case(name, &[a, b], [matrix(5, n), right.clone()].concat()));
        }
        all.push(case("lib.solve", &[a, b], [turned.clone(), right].concat()));
    }
    all
}

fn arrays() -> Vec<Case> {
    let f = Type::f64s;
    let (n, m, k) = (3, 2, 4);
    let of = |name: &str, types: &[Type], extra: &[f64]| {
        let count: usize =
            types.iter().filter(|ty| ty.is_float()).map(|ty| ty.len().unwrap()).sum();
        let first = if extra.is_empty() { count } else { types[0].len().unwrap() };
        let x = numbers(count as u64, count);
        case(name, types, [&x[..first], extra, &x[first..]].concat())
    };
    vec![
        of("lib.dot", &[f(&[n]), f(&[n])], &[]),
        of("lib.dot", &[f(&[m, n]), f(&[n])], &[]),
        of("lib.dot", &[f(&[n]), f(&[n, k])], &[]),
        of("lib.dot", &[f(&[m, n]), f(&[n, k])], &[]),
        of("lib.dot_tn", &[f(&[n, m]), f(&[n, k])], &[]),
        of("lib.dot_nt", &[f(&[m, n]), f(&[k, n])], &[]),
        of("lib.transpose", &[f(&[n, m])], &[]),
        of("lib.slice.2", &[f(&[n, m]), Type::I64], &[1.0]),
        of("lib.put_slice", &[f(&[n, k]), Type::I64, f(&[m, k])], &[1.0]),
        of("lib.concat", &[f(&[n, m]), f(&[k, m])], &[]),
        of("lib.reshape.2.3", &[f(&[n, m])], &[]),
        of("lib.broadcast.3", &[f(&[m, k])], &[]),
        of("lib.take", &[f(&[n, m]), indices(k)], &[2.0, 0.0, 2.0, 1.0]),
        of("lib.put", &[f(&[n, k]), indices(m), f(&[m, k])], &[2.0, 2.0]),
        of("lib.put_add", &[f(&[n, k]), indices(m), f(&[m, k])], &[2.0, 2.0]),
        of("lib.cumsum", &[f(&[n])], &[]),
        of("lib.cumsum", &[f(&[n, m])], &[]),
        of("lib.sort", &[f(&[k])], &[]),
    ]
}

/// Which entries of values of these types are numbers.
fn moving(types: impl Iterator<Item = Type>) -> Vec<bool> {
    types.flat_map(|ty| vec![ty.is_float(); ty.len().unwrap()]).collect()
}

impl Case {
    fn inputs(&self) -> Vec<bool> {
        moving(self.f.params().iter().map(|p| p.ty))
    }

    fn outputs(&self) -> Vec<bool> {
        moving(self.f.results().iter().map(|v| self.f.ty(*v)))
    }

    fn direction(&self) -> Vec<f64> {
        numbers(99, self.inputs().iter().filter(|m| **m).count())
    }

    /// The numbers among the results at a point shifted along a direction.
    fn at(&self, v: &[f64], h: f64) -> Vec<f64> {
        let mut along = v.iter();
        let shift = |(x, moves): (&f64, bool)| {
            if moves { x + h * along.next().unwrap() } else { *x }
        };
        let x: Vec<f64> = self.x.iter().zip(self.inputs()).map(shift).collect();
        let results = self.f.run(&x).unwrap();
        results.into_iter().zip(self.outputs()).filter(|(_, m)| *m).map(|(y, _)| y).collect()
    }

    /// The derivative along a direction, by numbers that carry it through the loops.
    fn dual(&self, v: &[f64]) -> Vec<f64> {
        let mut along = v.iter();
        let number = |(x, moves): (&f64, bool)| {
            Dual::<f64, 1>::new(*x, [if moves { *along.next().unwrap() } else { 0.0 }])
        };
        let x: Vec<Dual<f64, 1>> = self.x.iter().zip(self.inputs()).map(number).collect();
        let results = self.f.run(&x).unwrap().into_iter().zip(self.outputs());
        results.filter(|(_, m)| *m).map(|(y, _)| y.partials[0]).collect()
    }

    /// The derivative along a direction, by forward mode.
    fn forward(&self, v: &[f64]) -> Vec<f64> {
        let d = linearize(&self.f).unwrap();
        d.verify().unwrap();
        let results = d.run(&[&self.x[..], v].concat()).unwrap();
        results[self.outputs().len()..].to_vec()
    }

    fn backward(&self, w: &[f64]) -> Vec<f64> {
        let r = reverse(&self.f).unwrap();
        r.verify().unwrap();
        assert_eq!(parse(&r.to_string()).unwrap(), r);
        let results = r.run(&[&self.x[..], w].concat()).unwrap();
        results[self.outputs().len()..].to_vec()
    }
}

/// The function without any rule: the derivative of the loops is taken.
fn stripped(f: &Function) -> Function {
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    let mut copies = Copied::new(f.len());
    for value in f.values() {
        match f.structure(value) {
            Some(Structure::Call { function }) => {
                let operands: Vec<Value> = f.operands(value).map(|v| copies.of(v)).collect();
                let parts = b.inline(&stripped(function), &operands);
                copies.set_parts(value, parts);
            }
            _ => copies.value(&mut b, f, value, &args),
        }
    }
    b.finish(f.results().iter().map(|v| copies.of(*v)).collect())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[track_caller]
fn close(what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (k, (x, y)) in a.iter().zip(b).enumerate() {
        let bound = tolerance * (1.0 + y.abs());
        assert!((x - y).abs() <= bound, "{what}, entry {k}: {x} for {y}\n{a:?}\n{b:?}");
    }
}

fn check(case: &Case) {
    let name = case.f.to_string();
    let v = case.direction();
    let forward = case.forward(&v);
    let h = 1e-6;
    let (more, less) = (case.at(&v, h), case.at(&v, -h));
    let differences: Vec<f64> = more.iter().zip(&less).map(|(a, b)| (a - b) / (2.0 * h)).collect();
    close(&name, &forward, &differences, 1e-7);
    close(&name, &forward, &case.dual(&v), 1e-12);
    let w = numbers(7, forward.len());
    let backward = case.backward(&w);
    close(&name, &[dot(&backward, &v)], &[dot(&w, &forward)], 1e-12);
    let plain = Case { f: stripped(&case.f), x: case.x.clone() };
    close(&name, &forward, &plain.forward(&v), 1e-11);
    close(&name, &backward, &plain.backward(&w), 1e-11);
}

#[test]
fn derivatives_of_arrays_obey_the_laws() {
    arrays().iter().for_each(check);
}

#[test]
fn derivatives_of_factors_and_solutions_obey_the_laws() {
    for n in 1..6 {
        factors(n).iter().for_each(check);
    }
}

#[test]
fn of_nothing_the_derivatives_are_nothing() {
    for case in factors(0) {
        let v = case.direction();
        assert_eq!(case.forward(&v).len(), case.outputs().iter().filter(|m| **m).count());
        let w = vec![1.0; case.forward(&v).len()];
        assert_eq!(case.backward(&w).len(), v.len());
    }
}

fn log_determinant(n: usize) -> Function {
    parse(&format!(
        "fn @f(%a: [{n}, {n}]f64) -> f64 {{
           %l = call @lib.cholesky(%a)
           %s = red sum (%i < {n}) {{ %d = ld %l[%i, %i] %e = ln %d yield %e }}
           %r = mul %s, 2.0
           ret %r
         }}"
    ))
    .unwrap()
}

/// A scalar function of A and b through a solve, not linear in either.
fn through_solve(n: usize, name: &str) -> Function {
    parse(&format!(
        "fn @f(%a: [{n}, {n}]f64, %b: [{n}]f64) -> f64 {{
           %x = call @lib.{name}(%a, %b)
           %s = red sum (%i < {n}) {{ %e = ld %x[%i] %q = sin %e yield %q }}
           ret %s
         }}"
    ))
    .unwrap()
}

fn through_lu(n: usize) -> Function {
    parse(&format!(
        "fn @f(%a: [{n}, {n}]f64) -> f64 {{
           %l, _ = call @lib.lu(%a)
           %s = red sum (%i < {n}, %j < {n}) {{ %e = ld %l[%i, %j] %q = sin %e yield %q }}
           ret %s
         }}"
    ))
    .unwrap()
}

/// The gradient is that of the mathematics: of ln det A for symmetric A, A⁻¹ once on the diagonal and twice
/// below it, and nothing above.
#[test]
fn the_cotangent_of_a_symmetric_matrix_is_its_lower_triangle() {
    let g = gradient(&log_determinant(2)).unwrap();
    let results = g.run(&[4.0, 2.0, 2.0, 5.0]).unwrap();
    let expected = [16.0_f64.ln(), 5.0 / 16.0, 0.0, 2.0 * (-2.0 / 16.0), 4.0 / 16.0];
    close("ln det", &results, &expected, 1e-14);
}

#[test]
fn second_derivatives_are_the_differences_of_first_ones() {
    let n = 4;
    let mut functions = vec![(log_determinant(n), matrix(1, n)), (through_lu(n), matrix(2, n))];
    for name in ["solve", "solve_lower", "solve_lower_transposed", "solve_upper"] {
        functions.push((through_solve(n, name), [matrix(1, n), numbers(2, n)].concat()));
    }
    for (f, x) in functions {
        let what = f.to_string();
        let g = gradient(&f).unwrap();
        let v = numbers(5, x.len());
        let at = |h: f64| -> Vec<f64> {
            let x: Vec<f64> = x.iter().zip(&v).map(|(x, v)| x + h * v).collect();
            g.run(&x).unwrap()[1..].to_vec()
        };
        let h = 1e-5;
        let differences: Vec<f64> =
            at(h).iter().zip(at(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect();
        // Forward over reverse.
        let over = linearize(&g).unwrap();
        over.verify().unwrap();
        let product = over.run(&[&x[..], &v].concat()).unwrap()[2 + x.len()..].to_vec();
        close(&what, &product, &differences, 1e-8);
        // Reverse over reverse: the Hessian is symmetric.
        let twice = reverse(&g).unwrap();
        twice.verify().unwrap();
        let seed = [&x[..], &[0.0], &v].concat();
        let turned = twice.run(&seed).unwrap()[1 + x.len()..].to_vec();
        close(&what, &turned, &product, 1e-10);
        let h = hessian(&f).unwrap().run(&x).unwrap();
        let blocks = h.len() - 1 - x.len();
        assert_eq!(blocks, x.len() * x.len(), "{what}");
    }
}

#[test]
fn third_derivatives_come_by_doing_it_again() {
    let (f, x) = (log_determinant(3), matrix(1, 3));
    let g = gradient(&f).unwrap();
    let v = numbers(5, 9);
    let first = linearize(&g).unwrap();
    let third = linearize(&first).unwrap();
    third.verify().unwrap();
    let zero = vec![0.0; 9];
    let at = |h: f64| -> Vec<f64> {
        let x: Vec<f64> = x.iter().zip(&v).map(|(x, v)| x + h * v).collect();
        first.run(&[&x[..], &v].concat()).unwrap()[11..].to_vec()
    };
    let h = 1e-5;
    let differences: Vec<f64> =
        at(h).iter().zip(at(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect();
    let results = third.run(&[&x[..], &v, &v, &zero].concat()).unwrap();
    close("third", &results[results.len() - 9..], &differences, 1e-7);
}

/// With a rule reverse mode keeps the factor and a few matrices: 8 or 9 at once.
#[test]
fn a_gradient_through_a_factorisation_keeps_few_matrices() {
    let n = 60;
    let (double, most) = (8, 12);
    for f in [log_determinant(n), through_lu(n), through_solve(n, "solve")] {
        let g = gradient(&f).unwrap();
        let peak = g.peak_bytes().unwrap();
        assert!(peak <= most * n * n * double, "{} matrices\n{g}", peak / (n * n * double));
    }
}
