//! Gradients of dense linear algebra as machine code, beside `faer` called by hand with derivatives written by hand.

use std::hint::black_box;

use cotangent::jit::{Compiled, Options};
use cotangent_ir::parse;
use cotangent_optimize::simplify;
use cotangent_transform::gradient;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::lu::partial_pivoting::factor as lu;
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve as solve;
use faer::{Accum, Mat, MatRef, Par};

use crate::harness::{Bench, contender};

const SUITE: &str = "compiled";

const PRODUCT: &str = "fn @product(%a: [N, N]f64, %b: [N, N]f64) -> f64 {
  %c = call @lib.dot(%a, %b)
  %s = red sum (%i < N, %j < N) { %e = ld %c[%i, %j] %q = mul %e, %e yield %q }
  ret %s
}";

const CHOLESKY: &str = "fn @cholesky(%a: [N, N]f64, %b: [N]f64) -> f64 {
  %l = call @lib.cholesky(%a)
  %y = call @lib.solve_lower(%l, %b)
  %s = call @lib.dot(%y, %y)
  ret %s
}";

const LU: &str = "fn @lu(%a: [N, N]f64, %b: [N]f64) -> f64 {
  %x = call @lib.solve(%a, %b)
  %s = call @lib.dot(%x, %x)
  ret %s
}";

/// Runs all cases: a product, a Cholesky solve, an LU solve.
pub fn run(bench: &mut Bench) {
    for n in [4, 16, 64, 256] {
        let a = matrix(n, 1);
        let b = Mat::from_fn(n, n, |i, j| (0.3 * (i + 2 * j) as f64).sin());
        case(bench, "product gradient", PRODUCT, &a, &b, &mut Product::new(n));
        let b = Mat::from_fn(n, 1, |i, _| (0.3 * i as f64).sin());
        case(bench, "Cholesky solve gradient", CHOLESKY, &a, &b, &mut Cholesky::new(n));
        case(bench, "Cholesky solve gradient, formula", CHOLESKY, &a, &b, &mut Formula::new(n));
        case(bench, "LU solve gradient", LU, &matrix(n, 3), &b, &mut Lu::new(n));
    }
}

/// A matrix that is regular; symmetric and positive definite with a factor of 1.
fn matrix(n: usize, factor: usize) -> Mat<f64> {
    let entry = |i: usize, j: usize| (0.7 * (i + factor * j) as f64 + (i * j) as f64).sin();
    Mat::from_fn(n, n, |i, j| entry(i, j) + if i == j { n as f64 } else { 0.0 })
}

/// A function of two matrices with its gradient, by hand; the gradients are where they are asked for.
trait ByHand {
    fn run(&mut self, a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64;

    fn gradients(&self) -> [&Mat<f64>; 2];
}

fn case(
    bench: &mut Bench,
    case: &str,
    text: &str,
    a: &Mat<f64>,
    b: &Mat<f64>,
    by_hand: &mut impl ByHand,
) {
    if !bench.wants(case) {
        return;
    }
    bench.working_on(case);
    let n = a.nrows();
    let f = simplify(&parse(&text.replace('N', &n.to_string())).expect("it is a program"));
    let derived = simplify(&gradient(&f).expect("it has a gradient"));
    let compile = |kernels| {
        let options = Options { kernels, ..Options::default() };
        Compiled::new(&derived, &options).expect("it compiles")
    };
    let (ours, loops) = (compile(true), compile(false));
    let rows = |m: &Mat<f64>| -> Vec<f64> {
        (0..m.nrows()).flat_map(|i| (0..m.ncols()).map(move |j| m[(i, j)])).collect()
    };
    let x = [rows(a), rows(b)].concat();
    let value = by_hand.run(a.as_ref(), b.as_ref());
    let [da, db] = by_hand.gradients();
    let want = [vec![value], rows(da), rows(db)].concat();
    let (mut workspace, mut out) = (ours.workspace(), vec![0.0; want.len()]);
    ours.run_into(&x, &mut out, &mut workspace).expect("it runs");
    let largest = want.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
    for (k, (a, b)) in out.iter().zip(&want).enumerate() {
        assert!((a - b).abs() <= 1e-9 * largest, "{case} {n}, result {k}: {a} and {b}");
    }
    let (mut other, mut place) = (loops.workspace(), out.clone());
    let mine = contender("ours", || {
        ours.run_into(black_box(&x), &mut out, &mut workspace).expect("it runs");
    });
    let hand = contender("faer by hand", || by_hand.run(black_box(a.as_ref()), b.as_ref()));
    let plain = contender("ours, loops only", || {
        loops.run_into(black_box(&x), &mut place, &mut other).expect("it runs");
    });
    bench.compare(SUITE, case, n, mine, vec![(hand, None), (plain, None)]);
}

/// ‖A B‖²: 2 C Bᵀ and 2 Aᵀ C.
struct Product {
    c: Mat<f64>,
    da: Mat<f64>,
    db: Mat<f64>,
}

impl Product {
    fn new(n: usize) -> Product {
        let zeros = || Mat::zeros(n, n);
        Product { c: zeros(), da: zeros(), db: zeros() }
    }
}

impl ByHand for Product {
    fn run(&mut self, a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
        matmul(self.c.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
        matmul(self.da.as_mut(), Accum::Replace, self.c.as_ref(), b.transpose(), 2.0, Par::Seq);
        matmul(self.db.as_mut(), Accum::Replace, a.transpose(), self.c.as_ref(), 2.0, Par::Seq);
        self.c.squared_norm_l2()
    }

    fn gradients(&self) -> [&Mat<f64>; 2] {
        [&self.da, &self.db]
    }
}

/// bᵀ A⁻¹ b by the factor, and back through the solve and the factor.
struct Cholesky {
    l: Mat<f64>,
    y: Mat<f64>,
    da: Mat<f64>,
    db: Mat<f64>,
    p: Mat<f64>,
    memory: MemBuffer,
}

fn factored(l: &mut Mat<f64>, a: MatRef<'_, f64>, memory: &mut MemBuffer) {
    l.copy_from(a);
    let none = llt::LltRegularization::default();
    let stack = MemStack::new(memory);
    let done = llt::cholesky_in_place(l.as_mut(), none, Par::Seq, stack, Default::default());
    done.expect("it is positive definite");
}

fn cholesky_memory(n: usize) -> MemBuffer {
    MemBuffer::new(llt::cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default()))
}

impl Cholesky {
    fn new(n: usize) -> Cholesky {
        let zeros = |m| Mat::zeros(n, m);
        let (l, y, da, db, p) = (zeros(n), zeros(1), zeros(n), zeros(1), zeros(n));
        Cholesky { l, y, da, db, p, memory: cholesky_memory(n) }
    }
}

impl ByHand for Cholesky {
    fn run(&mut self, a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
        let n = a.nrows();
        factored(&mut self.l, a, &mut self.memory);
        for j in 1..n {
            for i in 0..j {
                self.l[(i, j)] = 0.0;
            }
        }
        self.y.copy_from(b);
        let l = self.l.as_ref();
        solve::solve_lower_triangular_in_place(l, self.y.as_mut(), Par::Seq);
        let value = self.y.squared_norm_l2();
        // b̄ = L⁻ᵀ ȳ, L̄ = −b̄ yᵀ.
        for i in 0..n {
            self.db[(i, 0)] = 2.0 * self.y[(i, 0)];
        }
        solve::solve_upper_triangular_in_place(l.transpose(), self.db.as_mut(), Par::Seq);
        for j in 0..n {
            for i in 0..n {
                self.da[(i, j)] = if i >= j { -self.db[(i, 0)] * self.y[(j, 0)] } else { 0.0 };
            }
        }
        // Ā = L⁻ᵀ Φ(Lᵀ L̄) L⁻¹, Φ the lower triangle with half the diagonal; both triangles added up in the lower.
        let p = self.p.as_mut();
        matmul(p, Accum::Replace, l.transpose(), self.da.as_ref(), 1.0, Par::Seq);
        for j in 0..n {
            for i in 0..j {
                self.p[(i, j)] = 0.0;
            }
            self.p[(j, j)] *= 0.5;
        }
        solve::solve_upper_triangular_in_place(l.transpose(), self.p.as_mut(), Par::Seq);
        let turned = self.p.as_mut().transpose_mut();
        solve::solve_upper_triangular_in_place(l.transpose(), turned, Par::Seq);
        for j in 0..n {
            self.da[(j, j)] = self.p[(j, j)];
            for i in j + 1..n {
                self.da[(i, j)] = self.p[(i, j)] + self.p[(j, i)];
                self.da[(j, i)] = 0.0;
            }
        }
        value
    }

    fn gradients(&self) -> [&Mat<f64>; 2] {
        [&self.da, &self.db]
    }
}

/// The same by who knows that the derivative is −x xᵀ with x = A⁻¹ b.
struct Formula {
    l: Mat<f64>,
    x: Mat<f64>,
    da: Mat<f64>,
    db: Mat<f64>,
    memory: MemBuffer,
}

impl Formula {
    fn new(n: usize) -> Formula {
        let zeros = |m| Mat::zeros(n, m);
        let (l, x, da, db) = (zeros(n), zeros(1), zeros(n), zeros(1));
        Formula { l, x, da, db, memory: cholesky_memory(n) }
    }
}

impl ByHand for Formula {
    fn run(&mut self, a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
        let n = a.nrows();
        factored(&mut self.l, a, &mut self.memory);
        self.x.copy_from(b);
        let l = self.l.as_ref();
        solve::solve_lower_triangular_in_place(l, self.x.as_mut(), Par::Seq);
        let value = self.x.squared_norm_l2();
        solve::solve_upper_triangular_in_place(l.transpose(), self.x.as_mut(), Par::Seq);
        for j in 0..n {
            self.db[(j, 0)] = 2.0 * self.x[(j, 0)];
            for i in j..n {
                let factor = if i == j { -1.0 } else { -2.0 };
                self.da[(i, j)] = factor * self.x[(i, 0)] * self.x[(j, 0)];
            }
        }
        value
    }

    fn gradients(&self) -> [&Mat<f64>; 2] {
        [&self.da, &self.db]
    }
}

/// ‖A⁻¹ b‖²: with A x = b and Aᵀ λ = 2 x, b̄ = λ and Ā = −λ xᵀ.
struct Lu {
    f: Mat<f64>,
    x: Mat<f64>,
    y: Mat<f64>,
    da: Mat<f64>,
    db: Mat<f64>,
    order: Vec<usize>,
    back: Vec<usize>,
    memory: MemBuffer,
}

impl Lu {
    fn new(n: usize) -> Lu {
        let zeros = |m| Mat::zeros(n, m);
        let (f, x, y, da, db) = (zeros(n), zeros(1), zeros(1), zeros(n), zeros(1));
        let needs = lu::lu_in_place_scratch::<usize, f64>(n, n, Par::Seq, Default::default());
        let (order, back) = (vec![0; n], vec![0; n]);
        Lu { f, x, y, da, db, order, back, memory: MemBuffer::new(needs) }
    }
}

impl ByHand for Lu {
    fn run(&mut self, a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
        let n = a.nrows();
        self.f.copy_from(a);
        let stack = MemStack::new(&mut self.memory);
        let (order, back) = (&mut self.order, &mut self.back);
        lu::lu_in_place(self.f.as_mut(), order, back, Par::Seq, stack, Default::default());
        for i in 0..n {
            self.x[(i, 0)] = b[(self.order[i], 0)];
        }
        let f = self.f.as_ref();
        solve::solve_unit_lower_triangular_in_place(f, self.x.as_mut(), Par::Seq);
        solve::solve_upper_triangular_in_place(f, self.x.as_mut(), Par::Seq);
        for i in 0..n {
            self.y[(i, 0)] = 2.0 * self.x[(i, 0)];
        }
        let turned = f.transpose();
        solve::solve_lower_triangular_in_place(turned, self.y.as_mut(), Par::Seq);
        solve::solve_unit_upper_triangular_in_place(turned, self.y.as_mut(), Par::Seq);
        for i in 0..n {
            self.db[(self.order[i], 0)] = self.y[(i, 0)];
        }
        for j in 0..n {
            for i in 0..n {
                self.da[(i, j)] = -self.db[(i, 0)] * self.x[(j, 0)];
            }
        }
        self.x.squared_norm_l2()
    }

    fn gradients(&self) -> [&Mat<f64>; 2] {
        [&self.da, &self.db]
    }
}
