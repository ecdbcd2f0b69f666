//! Intervals enclose every value over a box: against 256-bit values at points of random boxes.

use cotangent_numbers::interval::Trilean;
use cotangent_numbers::{Dual, Elementary, Interval, Scalar, fault};
use cotangent_ops::{Binary, Opcode, Ternary, Unary, Visitor};
use cotangent_testkit::{big, sample};

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

fn check_box(op: Opcode, parameter: i32, boxes: &[Interval], points: &[Vec<f64>]) {
    let y = op.visit(parameter, Apply(boxes));
    for x in points {
        let plain = op.visit(parameter, Apply(x));
        if plain.is_nan() {
            assert!(!y.is_total(), "{op}{boxes:?} says total, but {op}{x:?} is NaN");
            continue;
        }
        if !plain.is_finite() {
            continue;
        }
        // The plain value is right to a dozen digits: only near an end does more matter.
        let margin = 1e-11 * (plain.abs() + 1e-3);
        if y.contains(plain - margin) && y.contains(plain + margin) {
            continue;
        }
        let exact =
            big::evaluate(op, parameter, &x.iter().map(|v| big::Big::new(*v)).collect::<Vec<_>>());
        let inside = big::Big::new(y.low()) <= exact && exact <= big::Big::new(y.high());
        assert!(
            inside,
            "{op}({boxes:?}; {parameter}) = {y:?} lacks {:e}, the value at {x:?}",
            exact.to_f64()
        );
    }
}

#[test]
fn boxes_enclose_the_values_at_their_points() {
    let mut rng = fastrand::Rng::with_seed(3);
    for &op in Opcode::ALL {
        let info = op.info();
        for &parameter in sample::parameters(op) {
            for round in 0..60 {
                let width = [1e-9, 1e-3, 0.3, 3.0, 20.0][round % 5];
                let boxes: Vec<Interval> = (0..info.arity)
                    .map(|i| {
                        let (low, high) = info.sample[i];
                        let a = low + (high - low) * rng.f64();
                        Interval::new(a, (a + width * rng.f64()).min(high))
                    })
                    .collect();
                let points: Vec<Vec<f64>> = (0..6)
                    .map(|p| {
                        boxes
                            .iter()
                            .map(|b| match p {
                                0 => b.low(),
                                1 => b.high(),
                                _ => (b.low() + (b.high() - b.low()) * rng.f64())
                                    .clamp(b.low(), b.high()),
                            })
                            .collect()
                    })
                    .collect();
                check_box(op, parameter, &boxes, &points);
            }
        }
    }
}

#[test]
fn boxes_beyond_the_domain_enclose_the_values_where_there_are_any() {
    let mut rng = fastrand::Rng::with_seed(4);
    let narrow = [
        Opcode::Sqrt,
        Opcode::Ln,
        Opcode::Log2,
        Opcode::Log10,
        Opcode::Ln1p,
        Opcode::Asin,
        Opcode::Acos,
        Opcode::Acosh,
        Opcode::Atanh,
        Opcode::Recip,
        Opcode::Tan,
        Opcode::Fract,
        Opcode::Signum,
        Opcode::Sin,
        Opcode::Cos,
        Opcode::Sinc,
        Opcode::Round,
        Opcode::Sgn,
    ];
    for op in narrow {
        for _ in 0..200 {
            let a = -6.0 + 12.0 * rng.f64();
            let b = Interval::new(a, a + 5.0 * rng.f64() * rng.f64());
            let points: Vec<Vec<f64>> = (0..8)
                .map(|_| {
                    vec![(b.low() + (b.high() - b.low()) * rng.f64()).clamp(b.low(), b.high())]
                })
                .collect();
            check_box(op, 0, &[b], &points);
        }
    }
    for op in [
        Opcode::Div,
        Opcode::Rem,
        Opcode::Mul,
        Opcode::Atan2,
        Opcode::Hypot,
        Opcode::Copysign,
        Opcode::Max,
        Opcode::StrongDiv,
    ] {
        for _ in 0..300 {
            let mut side = || {
                let a = -4.0 + 8.0 * rng.f64();
                Interval::new(a, a + 4.0 * rng.f64() * rng.f64())
            };
            let boxes = [side(), side()];
            let points: Vec<Vec<f64>> = (0..8)
                .map(|_| {
                    boxes
                        .iter()
                        .map(|b| {
                            (b.low() + (b.high() - b.low()) * rng.f64()).clamp(b.low(), b.high())
                        })
                        .collect()
                })
                .collect();
            check_box(op, 0, &boxes, &points);
        }
    }
}

#[test]
fn rounding_is_outward_for_hostile_numbers_and_exact_where_it_can_be() {
    let hostile = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1.0 + f64::EPSILON,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        -f64::from_bits(3),
        f64::MAX,
        -f64::MAX,
        1e300,
        1e-300,
        3.0,
        1.0 / 3.0,
        0.1,
        1e16,
        123456789.125,
        f64::MIN_POSITIVE * 1.5,
    ];
    for &a in &hostile {
        for &b in &hostile {
            for op in [Opcode::Add, Opcode::Sub, Opcode::Mul, Opcode::Div] {
                let y = op.visit(0, Apply(&[Interval::point(a), Interval::point(b)]));
                if op == Opcode::Div && b == 0.0 {
                    assert!(y.is_empty());
                    continue;
                }
                let exact = big::evaluate(op, 0, &[big::Big::new(a), big::Big::new(b)]);
                let low_ok = y.low() == f64::NEG_INFINITY || big::Big::new(y.low()) <= exact;
                let high_ok = y.high() == f64::INFINITY || exact <= big::Big::new(y.high());
                assert!(low_ok && high_ok, "{op}({a:e}, {b:e}) = {y:?} lacks {:e}", exact.to_f64());
                assert!(y.high() == f64::INFINITY || y.high() <= y.low().next_up().next_up());
            }
        }
        if a >= 0.0 {
            let y = Interval::point(a).sqrt();
            let exact = big::Big::new(a).sqrt();
            assert!(
                big::Big::new(y.low()) <= exact && exact <= big::Big::new(y.high()),
                "sqrt({a:e})"
            );
        }
    }
    let exact = |y: Interval| y.low() == y.high();
    assert!(exact(Interval::point(1.5) * Interval::point(2.25) + Interval::point(0.125)));
    assert!(exact(Interval::point(9.0).sqrt()) && exact(Interval::point(3.0) / 4.0));
    assert!(!exact(Interval::point(1.0) / 3.0) && !exact(Interval::point(2.0).sqrt()));
}

#[test]
fn duals_over_intervals_enclose_derivatives_over_a_box() {
    fn f<S: Scalar>(x: S) -> S {
        (x.sin() * x).exp() / (x * x + 1.0)
    }
    let b = Interval::new(0.2, 0.9);
    let enclosure = f(Dual::<Interval, 1>::variable(b, 0)).partials[0];
    for i in 0..=100 {
        let x = 0.2 + 0.007 * f64::from(i);
        let d = f(Dual::<f64, 1>::variable(x, 0)).partials[0];
        assert!(enclosure.contains(d), "{d} at {x} is not in {enclosure}");
    }
}

#[test]
fn an_undecidable_comparison_is_an_error_with_its_place_and_select_encloses_both() {
    let x = Interval::new(-1.0, 2.0);
    let error = fault::catch(|| x < 1.0).unwrap_err().to_string();
    assert!(error.contains("interval.rs") && error.contains("[-1.0, 2.0] < [1.0, 1.0]"), "{error}");
    let y = Interval::select(Elementary::less(x, 1.0), x, x + 10.0);
    assert_eq!((y.low(), y.high()), (-1.0, 12.0));
    assert_eq!(Elementary::less(x, 3.0), Trilean::True);
    assert_eq!(Elementary::less(x, 3.0) & Elementary::less(x, 1.0), Trilean::Unknown);
    assert_eq!(Elementary::less(x, -2.0) & Elementary::less(x, 1.0), Trilean::False);
    assert_eq!(Elementary::less(x, 3.0) | Elementary::less(x, 1.0), Trilean::True);
    assert!(fault::catch(|| x == x).is_err(), "one number in the interval may differ from another");
}

#[test]
fn undefined_values_are_empty_and_partly_defined_ones_are_marked() {
    assert!(Interval::new(-2.0, -1.0).sqrt().is_empty());
    let y = Interval::new(-1.0, 4.0).sqrt();
    assert_eq!((y.low(), y.high(), y.is_total()), (0.0, 2.0, false));
    assert!(Interval::new(1.0, 4.0).sqrt().is_total());
    assert!(!(Interval::point(1.0) / Interval::new(-1.0, 1.0)).is_total());
    assert!(Interval::<f64>::from(f64::NAN).is_empty());
    assert!((Interval::new(2.0, 1.0) + 1.0).is_empty());
    let single = Interval::<f32>::from(0.1);
    assert!(
        f64::from(single.low()) <= 0.1
            && 0.1 <= f64::from(single.high())
            && single.low() < single.high()
    );
}

#[test]
fn the_value_of_more_than_one_number_is_an_error() {
    let wide = Interval::new(-1.0, 2.0);
    let error = fault::catch(|| wide.value()).unwrap_err();
    assert!(error.to_string().contains("holds more than one number"), "{error}");
    assert_eq!(Interval::point(2.5).value(), 2.5);
}

#[test]
fn what_is_not_defined_everywhere_compares_as_nan_there() {
    // √x on [−1, 4] is NaN on a part.
    let root = Interval::new(-1.0, 4.0).sqrt();
    let below = root.less(3.0);
    assert_eq!(below, Trilean::Unknown);
    let chosen = Interval::select(below, 1.0, 7.0);
    assert!(chosen.contains(1.0) && chosen.contains(7.0));
    // That it is greater than 3 holds nowhere.
    assert_eq!(root.greater(3.0), Trilean::False);
    assert!(fault::catch(|| root.is_nan()).is_err());
    assert!(fault::catch(|| root < 3.0).is_err());
    // A NaN loses against a number.
    assert!(root.min(5.0).contains(5.0) && root.max(-1.0).contains(-1.0));
    assert!(root.min(5.0).contains(0.0));
}

#[test]
fn powers_of_negative_bases_and_turned_ranges_are_enclosed() {
    let power = Interval::new(-3.0, -2.0).powf(Interval::new(1.5, 2.5));
    assert!(power.contains(4.0) && power.contains(9.0) && !power.is_total(), "{power}");
    let odd = Interval::new(-3.0, -2.0).powf(Interval::new(2.5, 3.5));
    assert!(odd.contains(-8.0) && odd.contains(-27.0), "{odd}");
    let none = Interval::new(-3.0, -2.0).powf(Interval::new(1.25, 1.75));
    assert!(none.is_empty(), "{none}");
    let clamped = Interval::new(4.0, 6.0).clamp(Interval::point(5.0), Interval::point(3.0));
    for x in [4.0_f64, 5.0, 6.0] {
        assert!(clamped.contains(Elementary::clamp(x, 5.0, 3.0)), "{clamped} at {x}");
    }
}

#[test]
fn constants_of_generic_code_are_enclosed() {
    let pi: Interval = num_traits::FloatConst::PI();
    assert!(pi.low() < std::f64::consts::PI && std::f64::consts::PI < pi.high());
}

#[test]
fn the_inverse_hyperbolic_functions_are_enclosed_near_their_ends() {
    for i in 0..2000 {
        let t = 10f64.powf(-12.0 + 0.007 * f64::from(i));
        for (op, x) in
            [(Opcode::Acosh, 1.0 + t), (Opcode::Atanh, (1.0 - t).max(0.1)), (Opcode::Asinh, t)]
        {
            check_box(op, 0, &[Interval::point(x)], &[vec![x]]);
        }
    }
}
