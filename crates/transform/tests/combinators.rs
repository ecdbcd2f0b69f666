//! Derivatives of traced loops, kernels and branches: reverse and forward mode against dual numbers.

use cotangent_ir::input::{array, number};
use cotangent_ir::{
    Function, IndexTable, Traced, TracedArray, cond, fori, map_over, max_over, prod_over, scan,
    sum_over, trace, trace_arrays, trace_with, while_,
};
use cotangent_numbers::{Dual, Elementary};
use cotangent_transform::{gradient, hessian, linearize};

/// A number with second derivatives.
type Second = Dual<Dual<f64, 1>, 1>;

fn point(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x5eed);
    (0..n).map(|_| 0.2 + 1.3 * (rng.f64() - 0.3)).collect()
}

#[track_caller]
fn same(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {found:?} for {expected:?}");
    }
}

type Program<'p> = &'p dyn Fn(&[Second]) -> Second;

/// The program with the first derivative by one number and the second by two.
fn dual(program: Program<'_>, x: &[f64], i: usize, j: usize) -> Second {
    let one = |yes: bool| f64::from(u8::from(yes));
    let seeded =
        |(k, x): (usize, &f64)| Dual::new(Dual::new(*x, [one(k == j)]), [Dual::from(one(k == i))]);
    program(&x.iter().enumerate().map(seeded).collect::<Vec<_>>())
}

/// The value, the gradient and the tangents of a traced function are those of the program on dual numbers.
#[track_caller]
fn first_order(f: &Function, x: &[f64], program: Program<'_>) {
    f.verify().unwrap();
    let n = x.len();
    let mut expected = vec![dual(program, x, 0, 0).value.value];
    expected.extend((0..n).map(|i| dual(program, x, i, 0).partials[0].value));
    // Numbers that carry more than a value have the functions that code outside of programs has.
    let duals: Vec<Dual<f64, 1>> = x.iter().map(|x| Dual::new(*x, [0.0])).collect();
    let found = f.run(&duals).unwrap()[0].value;
    assert_eq!(found.to_bits(), expected[0].to_bits(), "{f}");
    let g = gradient(f).unwrap();
    g.verify().unwrap();
    same("gradient", &g.run(x).unwrap(), &expected, 1e-12);
    let forward = linearize(f).unwrap();
    forward.verify().unwrap();
    for i in 0..n {
        let direction: Vec<f64> = (0..n).map(|k| f64::from(u8::from(k == i))).collect();
        let found = forward.run(&[x, &direction].concat()).unwrap();
        same("tangent", &found[1..], &expected[i + 1..i + 2], 1e-12);
    }
}

/// Second derivatives, too.
#[track_caller]
fn agrees(f: &Function, x: &[f64], program: impl Fn(&[Second]) -> Second) {
    first_order(f, x, &program);
    let h = hessian(f).unwrap();
    h.verify().unwrap();
    // Parameter by parameter.
    let mut blocks = Vec::new();
    let mut first = 0;
    for param in f.params() {
        let len = param.ty.len().unwrap();
        blocks.push(first..first + len);
        first += len;
    }
    let mut expected = Vec::new();
    for rows in &blocks {
        for columns in &blocks {
            for i in rows.clone() {
                let entry = |j| dual(&program, x, i, j).partials[0].partials[0];
                expected.extend(columns.clone().map(entry));
            }
        }
    }
    same("Hessian", &h.run(x).unwrap()[x.len() + 1..], &expected, 1e-10);
}

#[test]
fn a_sum_of_squares() {
    let n = 5;
    let f = trace_arrays("f", &[&[n]], |x| sum_over(0..n, |i| x[0].at(i) * x[0].at(i))).unwrap();
    agrees(&f, &point(1, n), |x| x.iter().map(|x| *x * *x).reduce(|a, b| a + b).unwrap());
    // The gradient does not grow either.
    let text = |n: usize| {
        let f = trace_arrays("f", &[&[n]], |x| sum_over(0..n, |i| x[0].at(i) * x[0].at(i)));
        gradient(&f.unwrap()).unwrap().to_string()
    };
    assert_eq!(text(71).replace("71", "n"), text(50_003).replace("50003", "n"));
}

#[test]
fn a_ring_of_springs_with_a_table_of_long_ones() {
    let n = 6;
    let far = [3, 5, 0, 2, 1, 4];
    let table = IndexTable::new(&far);
    let f = trace_with("ring", (array([n]), number()), |(x, rest)| {
        let near = sum_over(0..n, |i| {
            let stretch = x.at((i + 1) % n) - x.at(i) - rest;
            stretch * stretch * 0.5
        });
        let before = sum_over(0..n, |i| (x.at((i - 1) % n) * x.at(i)).sin());
        near + before + sum_over(0..n, |i| (x.at(table.at(i)) - x.at(i)).powi(4))
    })
    .unwrap();
    agrees(&f, &point(2, n + 1), |x| {
        let (x, rest) = (&x[..n], x[n]);
        let total = |term: &dyn Fn(usize) -> Second| (0..n).map(term).reduce(|a, b| a + b).unwrap();
        let near = total(&|i| {
            let stretch = x[(i + 1) % n] - x[i] - rest;
            stretch * stretch * 0.5
        });
        let before = total(&|i| (x[(i + n - 1) % n] * x[i]).sin());
        near + before + total(&|i| (x[far[i]] - x[i]).powi(4))
    });
}

#[test]
fn newton_by_a_loop_with_a_condition() {
    let f = trace("root", 2, |p| {
        let (a, b) = (p[0], p[1]);
        vec![while_(
            a,
            |x| (x * x * x + b * x - a).abs().greater(1e-14),
            |x| x - (x * x * x + b * x - a) / (x * x * 3.0 + b),
        )]
    })
    .unwrap();
    let residual = |x: f64, a: f64, b: f64| (x * x * x + b * x - a).abs();
    for (a, b) in [(3.0, 1.5), (0.7, 2.0)] {
        let x = f.run(&[a, b]).unwrap()[0];
        assert!(residual(x, a, b) < 1e-14);
        first_order(&f, &[a, b], &|p| {
            let (a, b) = (p[0], p[1]);
            let mut x = a;
            while (x * x * x + b * x - a).abs().value() > 1e-14 {
                x = x - (x * x * x + b * x - a) / (x * x * 3.0 + b);
            }
            x
        });
    }
}

#[test]
fn a_recurrent_network() {
    let (t, h) = (4, 3);
    let f = trace_arrays("rnn", &[&[h, h], &[t, h], &[h]], |x| {
        let (w, inputs, first) = (x[0], x[1], x[2]);
        let (state, loss) = fori(t, (first, Traced::from(0.0)), |i, (state, loss)| {
            let state = (w.matmul(state) + inputs.row(i)).tanh();
            (state, loss + state.dot(state) * 0.5)
        });
        loss + state.sum()
    })
    .unwrap();
    agrees(&f, &point(4, h * h + t * h + h), |x| {
        let (w, rest) = x.split_at(h * h);
        let (inputs, first) = rest.split_at(t * h);
        let dot = |a: &[Second], b: &[Second]| {
            a.iter().zip(b).map(|(a, b)| *a * *b).reduce(|a, b| a + b).unwrap()
        };
        let (mut state, mut loss) = (first.to_vec(), Second::from(0.0));
        for i in 0..t {
            state = (0..h)
                .map(|k| (dot(&w[k * h..(k + 1) * h], &state) + inputs[i * h + k]).tanh())
                .collect();
            loss += dot(&state, &state) * 0.5;
        }
        loss + state.iter().copied().reduce(|a, b| a + b).unwrap()
    });
}

#[test]
fn branches_inside_a_map() {
    let n = 5;
    let f = trace_arrays("f", &[&[n]], |x| {
        let x = x[0];
        let y = map_over(0..n, |i| {
            let here = x.at(i);
            cond(
                here.greater(0.4),
                || (here * x.at((i + 1) % n)).exp(),
                || cond(i.less(2), || here * here * here, || here * 2.0),
            )
        });
        (y * y).sum()
    })
    .unwrap();
    for seed in 0..5 {
        agrees(&f, &point(seed, n), |x| {
            let y = (0..n).map(|i| {
                if x[i] > 0.4 {
                    (x[i] * x[(i + 1) % n]).exp()
                } else if i < 2 {
                    x[i] * x[i] * x[i]
                } else {
                    x[i] * 2.0
                }
            });
            y.map(|y| y * y).reduce(|a, b| a + b).unwrap()
        });
    }
}

#[test]
fn arrays_that_are_written_to_and_stacked() {
    let n = 4;
    let f = trace("f", n, |x| {
        let all = TracedArray::from_numbers(x);
        let weights = TracedArray::constant([n], &[0.5, 1.5, -1.0, 2.0]);
        let swept = fori(n, all, |i, y| {
            let next = (i + 1) % n;
            y.with(next, (y.at(i) * weights.at(i)).sin()).add_at(0, y.at(next) * 0.25)
        });
        let (last, history) = scan(n, x[0], |i, s| {
            let s = s * 0.5 + swept.at(i) * all.at(i);
            (s, (s * s, s.cos()))
        });
        let (squares, cosines) = history;
        vec![
            last + squares.dot(cosines)
                + prod_over(0..n, |i| swept.at(i) + 2.0)
                + max_over((0..n, 0..n), |(i, j)| all.at(i) * swept.at(j)),
        ]
    })
    .unwrap();
    agrees(&f, &point(7, n), |x| {
        let weights = [0.5, 1.5, -1.0, 2.0];
        let mut y = x.to_vec();
        for i in 0..n {
            let next = (i + 1) % n;
            let kept = y[next];
            y[next] = (y[i] * weights[i]).sin();
            y[0] += kept * 0.25;
        }
        let (mut s, mut dot) = (x[0], None);
        let mut product = None;
        let mut largest = x[0] * y[0];
        for i in 0..n {
            s = s * 0.5 + y[i] * x[i];
            let term = s * s * s.cos();
            dot = Some(dot.map_or(term, |dot: Second| dot + term));
            let factor = y[i] + 2.0;
            product = Some(product.map_or(factor, |p: Second| p * factor));
            for y in &y {
                largest = largest.max(x[i] * *y);
            }
        }
        s + dot.unwrap() + product.unwrap() + largest
    });
}
