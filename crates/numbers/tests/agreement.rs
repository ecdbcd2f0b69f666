//! Every operation of the table on every number type: all give the table's derivatives.

use cotangent_numbers::{
    Counted, Dual, Dual2, Elementary, Interval, Jet, Logged, NanCheck, Plain, Program, Replay,
    Scalar, Tape, Var, expand, fault,
};
use cotangent_ops::{Binary, Opcode, Ternary, Unary, Visitor};
use cotangent_testkit::{big, sample};

/// The value of an operation on numbers of any type.
struct Apply<'a, S>(&'a [S]);

impl<S: Elementary> Visitor for Apply<'_, S> {
    type Output = S;
    fn unary<O: Unary>(self, op: O) -> S {
        op.value(self.0[0])
    }
    fn binary<O: Binary>(self, op: O) -> S {
        op.value(self.0[0], self.0[1])
    }
    fn ternary<O: Ternary>(self, op: O) -> S {
        op.value(self.0[0], self.0[1], self.0[2])
    }
}

fn apply<S: Elementary>(op: Opcode, parameter: i32, x: &[S]) -> S {
    op.visit(parameter, Apply(x))
}

/// Value, gradient and Hessian by the table.
struct Partials<'a>(&'a [f64]);

impl Visitor for Partials<'_> {
    type Output = (f64, [f64; 3], [[f64; 3]; 3]);

    fn unary<O: Unary>(self, op: O) -> Self::Output {
        let x = self.0[0];
        let y = op.value(x);
        let mut hessian = [[0.0; 3]; 3];
        hessian[0][0] = op.dd(x, y).value();
        (y, [op.d(x, y).value(), 0.0, 0.0], hessian)
    }

    fn binary<O: Binary>(self, op: O) -> Self::Output {
        let (x, y) = (self.0[0], self.0[1]);
        let z = op.value(x, y);
        let [a, b, c] = op.dd(x, y, z).map(cotangent_ops::Partial::value);
        let hessian = [[a, b, 0.0], [b, c, 0.0], [0.0; 3]];
        (z, [op.d1(x, y, z).value(), op.d2(x, y, z).value(), 0.0], hessian)
    }

    fn ternary<O: Ternary>(self, op: O) -> Self::Output {
        let [x, y, z] = [self.0[0], self.0[1], self.0[2]];
        let w = op.value(x, y, z);
        let [a, b, c, d, e, f] = op.dd(x, y, z, w).map(cotangent_ops::Partial::value);
        let hessian = [[a, b, c], [b, d, e], [c, e, f]];
        (w, op.d(x, y, z, w).map(cotangent_ops::Partial::value), hessian)
    }
}

const DIRECTION: [f64; 3] = [0.7, -1.3, 0.4];

struct Case {
    op: Opcode,
    parameter: i32,
    x: Vec<f64>,
    value: f64,
    gradient: [f64; 3],
    hessian: [[f64; 3]; 3],
}

impl Case {
    fn close(&self, what: &str, computed: f64, expected: f64) {
        let scale = 1e-3 + expected.abs() + 1e-3 * self.value.abs();
        let error = (computed - expected).abs() / scale;
        assert!(
            error < 1e-11,
            "{what}: {}({:?}; {}) gives {computed:e}, expected {expected:e}",
            self.op,
            self.x,
            self.parameter
        );
    }

    fn slope(&self) -> f64 {
        self.gradient.iter().zip(DIRECTION).map(|(g, d)| g * d).sum()
    }

    fn curvature(&self, i: usize) -> f64 {
        self.hessian[i].iter().zip(DIRECTION).map(|(h, d)| h * d).sum()
    }
}

fn each(count: usize, check: impl Fn(&Case)) {
    for &op in Opcode::ALL {
        for &parameter in sample::parameters(op) {
            for x in sample::points(op, count, 1e-2, 11 + op as u64) {
                let (value, gradient, hessian) = op.visit(parameter, Partials(&x));
                check(&Case { op, parameter, x, value, gradient, hessian });
            }
        }
    }
}

#[test]
fn dual_numbers_give_the_first_partials() {
    each(30, |case| {
        let x: Vec<Dual<f64, 3>> =
            case.x.iter().enumerate().map(|(i, v)| Dual::variable(*v, i)).collect();
        let y = apply(case.op, case.parameter, &x);
        assert_eq!(y.value.to_bits(), case.value.to_bits(), "{}{:?}", case.op, case.x);
        for i in 0..case.x.len() {
            case.close("dual", y.partials[i], case.gradient[i]);
        }
    });
}

#[test]
fn second_order_numbers_and_nested_duals_give_the_second_partials() {
    each(30, |case| {
        let n = case.x.len();
        let x: Vec<Dual2<f64, 3>> =
            case.x.iter().enumerate().map(|(i, v)| Dual2::variable(*v, i)).collect();
        let y = apply(case.op, case.parameter, &x);
        assert_eq!(y.value.to_bits(), case.value.to_bits());
        // Nine variables take the path with ranges.
        let x9: Vec<Dual2<f64, 9>> =
            case.x.iter().enumerate().map(|(i, v)| Dual2::variable(*v, 2 * i + 1)).collect();
        let y9 = apply(case.op, case.parameter, &x9);
        let nested: Vec<Dual<Dual<f64, 3>, 3>> = case
            .x
            .iter()
            .enumerate()
            .map(|(i, v)| Dual::variable(Dual::variable(*v, i), i))
            .collect();
        let z = apply(case.op, case.parameter, &nested);
        for i in 0..n {
            case.close("second order gradient", y.gradient()[i], case.gradient[i]);
            case.close("ranged gradient", y9.gradient()[2 * i + 1], case.gradient[i]);
            for j in 0..n {
                case.close("second order", y.second(i, j), case.hessian[i][j]);
                case.close("ranged", y9.second(2 * i + 1, 2 * j + 1), case.hessian[i][j]);
                case.close("nested duals", z.partials[i].partials[j], case.hessian[i][j]);
            }
        }
    });
}

#[test]
fn jets_agree_with_nested_duals_to_third_order_and_with_the_run_time_order() {
    each(20, |case| {
        let curves: Vec<Jet<f64, 4>> =
            case.x.iter().zip(DIRECTION).map(|(v, d)| Jet::along(*v, d)).collect();
        let y = apply(case.op, case.parameter, &curves);
        assert_eq!(y.coefficients[0].to_bits(), case.value.to_bits());
        case.close("jet, first", y.coefficients[1], case.slope());
        let second: f64 = (0..case.x.len()).map(|i| DIRECTION[i] * case.curvature(i)).sum();
        case.close("jet, second", y.coefficients[2], second / 2.0);

        type D1 = Dual<f64, 1>;
        let nested: Vec<Dual<Dual<D1, 1>, 1>> = case
            .x
            .iter()
            .zip(DIRECTION)
            .map(|(v, d)| {
                let inner = Dual::new(Dual::new(*v, [d]), [Dual::from(d)]);
                Dual::new(inner, [Dual::from(d)])
            })
            .collect();
        let z = apply(case.op, case.parameter, &nested);
        case.close("jet, third", y.coefficients[3], z.partials[0].partials[0].partials[0] / 6.0);

        let rows: Vec<[f64; 2]> = case.x.iter().zip(DIRECTION).map(|(v, d)| [*v, d]).collect();
        let rows: Vec<&[f64]> = rows.iter().map(|r| &r[..]).collect();
        let taylor = expand(3, &rows, |x| vec![apply(case.op, case.parameter, x)]).unwrap();
        assert_eq!(taylor[0], y.coefficients, "{}", case.op);
    });
}

#[test]
fn the_tape_gives_gradients_and_tangents() {
    let mut tape = Tape::new();
    let tape = std::cell::RefCell::new(&mut tape);
    each(30, |case| {
        let mut tape = tape.borrow_mut();
        let y = tape.record(&case.x, |x| apply(case.op, case.parameter, x)).unwrap();
        let gradient = tape.gradient(y).unwrap().to_vec();
        for i in 0..case.x.len() {
            case.close("tape", gradient[i], case.gradient[i]);
        }
        let mut slope = [0.0];
        tape.pushforward(&DIRECTION[..case.x.len()], &[y], &mut slope).unwrap();
        case.close("tape tangent", slope[0], case.slope());
    });
}

#[test]
fn tape_over_dual_and_dual_over_tape_give_hessian_products() {
    each(15, |case| {
        let n = case.x.len();
        let x: Vec<Dual<f64, 1>> =
            case.x.iter().zip(DIRECTION).map(|(v, d)| Dual::new(*v, [d])).collect();
        let mut tape = Tape::new();
        let y = tape.record(&x, |x| apply(case.op, case.parameter, x)).unwrap();
        let product = tape.gradient(y).unwrap();
        for i in 0..n {
            case.close("forward over reverse, gradient", product[i].value, case.gradient[i]);
            case.close("forward over reverse", product[i].partials[0], case.curvature(i));
        }

        let mut tape = Tape::new();
        let slope = tape
            .record(&case.x, |x| {
                let x: Vec<Dual<Var, 1>> =
                    x.iter().zip(DIRECTION).map(|(v, d)| Dual::new(*v, [Var::from(d)])).collect();
                apply(case.op, case.parameter, &x).partials[0]
            })
            .unwrap();
        let product = tape.gradient(slope).unwrap();
        for i in 0..n {
            case.close("reverse over forward", product[i], case.curvature(i));
        }
    });
}

#[test]
fn a_program_recorded_at_one_point_is_right_at_another() {
    each(8, |case| {
        // The second point is on the same side of every kink that the table's formulas branch on.
        let other: Vec<f64> = case.x.iter().map(|v| v * 1.0009765625).collect();
        let info = case.op.info();
        let inside =
            |x: &[f64]| x.iter().zip(info.sample).all(|(x, (low, high))| *x > low && *x < high);
        if !inside(&other) || info.kink.distance(&other) < 1e-3 {
            return;
        }
        let program = Program::record(&other, |x| vec![apply(case.op, case.parameter, x)]).unwrap();
        let mut y = [0.0];
        program.evaluate(&case.x, &mut y).unwrap();
        assert_eq!(y[0].to_bits(), case.value.to_bits(), "{}{:?}", case.op, case.x);
        let mut replay = Replay::new();
        program.replay(&case.x, &mut replay).unwrap();
        let gradient = program.pullback(&[1.0], &mut replay).unwrap();
        for i in 0..case.x.len() {
            case.close("replay", gradient[i], case.gradient[i]);
        }
        let x: Vec<Dual<f64, 1>> =
            case.x.iter().zip(DIRECTION).map(|(v, d)| Dual::new(*v, [d])).collect();
        let mut y = [Dual::from(0.0)];
        program.evaluate(&x, &mut y).unwrap();
        case.close("program on duals", y[0].partials[0], case.slope());
        let mut replay = Replay::new();
        program.replay(&x, &mut replay).unwrap();
        let product = program.pullback(&[Dual::from(1.0)], &mut replay).unwrap();
        for i in 0..case.x.len() {
            case.close("replay on duals", product[i].partials[0], case.curvature(i));
        }
    });
}

#[test]
fn intervals_contain_the_value_and_the_partials() {
    each(20, |case| {
        let points: Vec<Interval> = case.x.iter().map(|v| Interval::point(*v)).collect();
        let y = apply(case.op, case.parameter, &points);
        let exact = big::evaluate(
            case.op,
            case.parameter,
            &case.x.iter().map(|v| big::Big::new(*v)).collect::<Vec<_>>(),
        );
        assert!(
            big::Big::new(y.low()) <= exact && exact <= big::Big::new(y.high()),
            "{}{:?} = {:e} is not in {y}",
            case.op,
            case.x,
            exact.to_f64()
        );
        let duals: Vec<Dual<Interval, 3>> =
            points.iter().enumerate().map(|(i, v)| Dual::variable(*v, i)).collect();
        let y = apply(case.op, case.parameter, &duals);
        let (_, first, _) = big::derivatives(case.op, case.parameter, &case.x);
        for (i, exact) in first.iter().enumerate() {
            let enclosure = y.partials[i];
            // The differences in 256 bits are themselves wrong in the 30th digit.
            let slack = big::Big::new(1e-28 * (1.0 + exact.to_f64().abs()));
            let (low, high) = (big::Big::new(enclosure.low()), big::Big::new(enclosure.high()));
            assert!(
                low - slack.clone() <= *exact && *exact <= high + slack,
                "∂{} of {}{:?} = {:e} is not in {enclosure}",
                i + 1,
                case.op,
                case.x,
                exact.to_f64()
            );
        }
    });
}

#[test]
fn observers_compute_what_their_base_computes() {
    each(5, |case| {
        macro_rules! same {
            ($($Number:ident)*) => {$(
                let x: Vec<$Number<f64>> = case.x.iter().map(|v| $Number::new(*v)).collect();
                assert_eq!(apply(case.op, case.parameter, &x).inner.to_bits(), case.value.to_bits());
            )*};
        }
        same!(Counted Logged NanCheck);
        let x: Vec<Plain<f64>> = case.x.iter().map(|v| Plain(*v)).collect();
        assert_eq!(apply(case.op, case.parameter, &x).0.to_bits(), case.value.to_bits());
    });
}

#[test]
fn single_precision_bases_agree_to_single_precision() {
    each(5, |case| {
        let x: Vec<Dual<f32, 3>> =
            case.x.iter().enumerate().map(|(i, v)| Dual::variable(*v as f32, i)).collect();
        let y = apply(case.op, case.parameter, &x);
        let rounded: Vec<f64> = case.x.iter().map(|v| f64::from(*v as f32)).collect();
        let (value, gradient, _) = case.op.visit(case.parameter, Partials(&rounded));
        let close =
            |a: f32, b: f64| (f64::from(a) - b).abs() < 2e-4 * (1.0 + b.abs() + value.abs());
        assert!(close(y.value, value), "{}{rounded:?}: {} {value}", case.op, y.value);
        for i in 0..case.x.len() {
            assert!(close(y.partials[i], gradient[i]), "∂{i} {}{rounded:?}", case.op);
        }
    });
}

/// A zero tangent or cotangent stays zero through an infinite partial, on every number type.
#[test]
fn a_zero_derivative_stays_zero_at_singular_points() {
    let singular = [
        (Opcode::Sqrt, vec![0.0]),
        (Opcode::Cbrt, vec![0.0]),
        (Opcode::Ln, vec![0.0]),
        (Opcode::Log2, vec![0.0]),
        (Opcode::Log10, vec![0.0]),
        (Opcode::Ln1p, vec![-1.0]),
        (Opcode::Asin, vec![1.0]),
        (Opcode::Acos, vec![-1.0]),
        (Opcode::Acosh, vec![1.0]),
        (Opcode::Atanh, vec![1.0]),
        (Opcode::Recip, vec![0.0]),
        (Opcode::Div, vec![1.0, 0.0]),
        (Opcode::Powf, vec![0.0, 0.5]),
        (Opcode::Log, vec![0.0, 2.0]),
    ];
    for (op, point) in singular {
        let dual: Vec<Dual<f64, 1>> = point.iter().map(|v| Dual::new(*v, [0.0])).collect();
        assert_eq!(apply(op, 0, &dual).partials[0], 0.0, "dual {op}");
        let second: Vec<Dual2<f64, 2>> = point.iter().map(|v| Dual2::fixed(*v)).collect();
        assert_eq!(apply(op, 0, &second).gradient(), [0.0; 2], "dual2 {op}");
        let jet: Vec<Jet<f64, 3>> = point.iter().map(|v| Jet::fixed(*v)).collect();
        assert_eq!(apply(op, 0, &jet).coefficients[1], 0.0, "jet {op}");
        // Reverse: the value is computed, but the result does not use it.
        let mut tape = Tape::new();
        let y = tape
            .record(&point, |x| Var::select(Elementary::less(x[0], -1e9), apply(op, 0, x), 1.0))
            .unwrap();
        assert!(tape.gradient(y).unwrap().iter().all(|g| *g == 0.0), "tape {op}");
        let mut tape = Tape::new();
        let y = tape.record(&point, |x| apply(op, 0, x)).unwrap();
        let mut image = [f64::NAN];
        tape.pushforward(&vec![0.0; point.len()], &[y], &mut image).unwrap();
        assert_eq!(image, [0.0], "tape tangent {op}");
    }
}

#[test]
fn nothing_escapes_as_a_panic_from_a_fault() {
    let undecided = fault::catch(|| Interval::new(0.0, 1.0) < Interval::new(0.5, 2.0));
    assert!(undecided.is_err());
    fn generic<S: Scalar>(x: S) -> S {
        if x > 0.0 { x } else { -x }
    }
    assert!(fault::catch(|| generic(Interval::new(-1.0, 1.0))).is_err());
    assert_eq!(fault::catch(|| generic(Interval::new(-2.0, -1.0)).low()).unwrap(), 1.0);
}

#[test]
fn the_remainder_counts_the_quotient_that_was_taken() {
    // 1 % 0.1 takes 9 times 0.1, though the quotient rounds to 10.
    let y = Dual::<f64, 2>::new(1.0, [1.0, 0.0]) % Dual::new(0.1, [0.0, 1.0]);
    assert_eq!((y.value, y.partials), (1.0 % 0.1, [1.0, -9.0]));
    let y = Dual::<f64, 2>::new(-7.5, [1.0, 0.0]) % Dual::new(2.0, [0.0, 1.0]);
    assert_eq!((y.value, y.partials), (-1.5, [1.0, 3.0]));
}

#[test]
fn a_constant_exponent_keeps_what_it_carries_in_a_series() {
    // d/dy of the first coefficient of (2 + t)ʸ at y = 3: d/dy y·2ʸ⁻¹ = 2ʸ⁻¹·(1 + y·ln 2)
    let x = Jet::<Dual<f64, 1>, 2> { coefficients: [Dual::from(2.0), Dual::from(1.0)] };
    let y = Jet { coefficients: [Dual::new(3.0, [1.0]), Dual::from(0.0)] };
    let found = x.powf(y).coefficients[1];
    assert!((found.value - 12.0).abs() < 1e-12);
    assert!((found.partials[0] - 4.0 * (1.0 + 3.0 * 2f64.ln())).abs() < 1e-12, "{found:?}");
}

#[test]
fn zero_wins_over_infinity_in_every_number() {
    // x0 + √x1 at (1, 0): only the second derivative to x1 is infinite.
    let f = |x: &[Dual2<f64, 2>]| x[0] + x[1].sqrt();
    let y = f(&[Dual2::variable(1.0, 0), Dual2::variable(0.0, 1)]);
    assert_eq!([y.second(0, 0), y.second(0, 1), y.second(1, 1)], [0.0, 0.0, f64::NEG_INFINITY]);
    // √x · 0 at 0
    let x = Dual::<Plain<f32>, 1>::new(Plain(0.0), [Plain(1.0)]);
    assert_eq!((x.sqrt() * 0.0).partials[0].0, 0.0);
    let x = Dual::<Dual<f64, 1>, 1>::new(Dual::new(0.0, [1.0]), [Dual::from(1.0)]);
    assert_eq!((x.sqrt() * 0.0).partials[0].value, 0.0);
    // x·√x at 0
    let x = Jet::<f64, 2> { coefficients: [0.0, 1.0] };
    assert_eq!((x * x.sqrt()).coefficients, [0.0, 0.0]);
    let x = Dual::<f64, 1>::new(0.0, [1.0]);
    assert_eq!((x * x.sqrt()).partials, [0.0]);
    // hypot at the origin
    let nested = |x: Dual<Dual<f64, 1>, 1>, y| x.hypot(y).partials[0].partials[0];
    let (zero, one) = (Dual::new(0.0, [1.0]), Dual::from(1.0));
    assert_eq!(nested(Dual::new(zero, [one]), Dual::from(0.0)), 0.0);
    let x = Dual2::<f64, 2>::variable(0.0, 0);
    assert_eq!(x.hypot(Dual2::variable(0.0, 1)).second(0, 0), 0.0);
}

#[test]
fn integer_powers_stay_accurate() {
    for (x, n) in [(1.1_f64, 100), (1.1, 1000), (0.97, -400), (-1.01, 333)] {
        let exact = big::evaluate(Opcode::Powi, n, &[big::Big::new(x)]).to_f64();
        let found = Elementary::powi(x, n);
        assert!(
            (found - exact).abs() <= 4.0 * f64::EPSILON * exact.abs(),
            "{x}^{n}: {found} {exact}"
        );
    }
}
