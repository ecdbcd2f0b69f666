//! Every row of the table against differences in 256 bits, and the page made from the table.

use cotangent_ops::{Binary, Flags, Opcode, Partial, Ternary, Unary, Visitor};
use cotangent_testkit::{big, sample};

/// Value, first and second partials (11, 12, 13, 22, 23, 33 as far as there are arguments).
struct Partials<'a>(&'a [f64]);

impl Visitor for Partials<'_> {
    type Output = (f64, Vec<f64>, Vec<f64>);

    fn unary<O: Unary>(self, op: O) -> Self::Output {
        let x = self.0[0];
        let y = op.value(x);
        (y, vec![op.d(x, y).value()], vec![op.dd(x, y).value()])
    }

    fn binary<O: Binary>(self, op: O) -> Self::Output {
        let (x, y) = (self.0[0], self.0[1]);
        let z = op.value(x, y);
        let first = vec![op.d1(x, y, z).value(), op.d2(x, y, z).value()];
        (z, first, op.dd(x, y, z).map(Partial::value).to_vec())
    }

    fn ternary<O: Ternary>(self, op: O) -> Self::Output {
        let [x, y, z] = [self.0[0], self.0[1], self.0[2]];
        let w = op.value(x, y, z);
        let first = op.d(x, y, z, w).map(Partial::value).to_vec();
        (w, first, op.dd(x, y, z, w).map(Partial::value).to_vec())
    }
}

fn each_sample(count: usize, margin: f64, mut check: impl FnMut(Opcode, i32, &[f64])) {
    for &op in Opcode::ALL {
        for &parameter in sample::parameters(op) {
            for x in sample::points(op, count, margin, op as u64 + 1) {
                check(op, parameter, &x);
            }
        }
    }
}

/// Error relative to the size of the exact number, with a floor where it crosses zero.
fn relative(computed: f64, exact: &big::Big, floor: f64) -> f64 {
    let error = (big::Big::new(computed) - exact.clone()).to_f64().abs();
    error / exact.to_f64().abs().max(floor)
}

#[test]
fn partials_agree_with_differences_in_256_bits() {
    let mut failures = Vec::new();
    each_sample(60, 1e-3, |op, parameter, x| {
        let (value, first, second) = op.visit(parameter, Partials(x));
        let (exact, exact_first, exact_second) = big::derivatives(op, parameter, x);
        // Where a quantity crosses zero its own size is no measure: the floor is the size that a
        // relative change of the argument by 1 makes of it.
        let scale = 1e-2 * (1.0 + exact.to_f64().abs());
        let mut check = |what: &str, computed: f64, exact: &big::Big, tolerance: f64| {
            let error = relative(computed, exact, scale);
            if error.is_nan() || error > tolerance {
                failures.push(format!(
                    "{op}({x:?}; {parameter}) {what}: {computed:e}, exact {:e}, error {error:e}",
                    exact.to_f64()
                ));
            }
        };
        check("value", value, &exact, 2e-14);
        for (i, (d, exact)) in first.iter().zip(&exact_first).enumerate() {
            check(&format!("∂{}", i + 1), *d, exact, 4e-13);
        }
        for (i, (d, exact)) in second.iter().zip(&exact_second).enumerate() {
            check(&format!("second partial {i}"), *d, exact, 4e-12);
        }
    });
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures[..failures.len().min(40)].join("\n")
    );
}

#[test]
fn values_keep_the_stated_accuracy() {
    let mut failures = Vec::new();
    each_sample(120, 1e-9, |op, parameter, x| {
        let (value, ..) = op.visit(parameter, Partials(x));
        let big: Vec<_> = x.iter().map(|v| big::Big::new(*v)).collect();
        let exact = big::evaluate(op, parameter, &big);
        let nearest = exact.to_f64();
        let ulp = (nearest.abs().next_up() - nearest.abs()).max(f64::MIN_POSITIVE);
        let error = ((big::Big::new(value) - exact).to_f64() / ulp).abs();
        // Half a unit is rounding itself; special functions state an absolute error near zeros.
        let absolute = matches!(op, Opcode::LnGamma | Opcode::Digamma) && nearest.abs() < 1.0;
        let oscillating =
            matches!(op, Opcode::SincDerivative | Opcode::Sinc) && nearest.abs() < 0.05;
        let powers = op == Opcode::Powi;
        let unit = if absolute || oscillating || powers { 16.0 } else { 1.0 };
        if error > f64::from(op.info().ulps) * unit + 0.501 {
            failures
                .push(format!("{op}({x:?}; {parameter}): {error} ulp, {} stated", op.info().ulps));
        }
    });
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures[..failures.len().min(40)].join("\n")
    );
}

#[test]
fn a_sparsity_flag_that_says_zero_is_zero() {
    each_sample(200, 0.0, |op, parameter, x| {
        let (_, first, second) = op.visit(parameter, Partials(x));
        let Flags { first: f, second: s, mixed: m } = op.info().flags;
        let may: Vec<bool> = match x.len() {
            1 => vec![s[0]],
            2 => vec![s[0], m[0], s[1]],
            _ => vec![s[0], m[0], m[1], s[1], m[2], s[2]],
        };
        for (i, d) in first.iter().enumerate() {
            assert!(f[i] || *d == 0.0, "{op}{x:?}: ∂{} = {d}", i + 1);
        }
        for (may, d) in may.iter().zip(&second) {
            assert!(*may || *d == 0.0, "{op}{x:?}: {d}");
        }
    });
}

#[test]
fn a_sparsity_flag_that_says_nonzero_is_needed() {
    for &op in Opcode::ALL {
        let info = op.info();
        let mut seen = [false; 9];
        for &parameter in sample::parameters(op) {
            for x in sample::points(op, 200, 1e-6, 7) {
                let (_, first, second) = op.visit(parameter, Partials(&x));
                for (i, d) in first.iter().enumerate() {
                    seen[i] |= *d != 0.0;
                }
                let places: &[usize] = match x.len() {
                    1 => &[3],
                    2 => &[3, 6, 4],
                    _ => &[3, 6, 7, 4, 8, 5],
                };
                for (place, d) in places.iter().zip(&second) {
                    seen[*place] |= *d != 0.0;
                }
            }
        }
        let flags = [info.flags.first, info.flags.second, info.flags.mixed].concat();
        assert_eq!(seen.to_vec(), flags, "{op}");
    }
}

struct Near<'a>(&'a [f64]);

impl Visitor for Near<'_> {
    type Output = Vec<bool>;

    fn unary<O: Unary>(self, _: O) -> Vec<bool> {
        vec![true]
    }

    fn binary<O: Binary>(self, op: O) -> Vec<bool> {
        let (a, b) = op.near(self.0[0], self.0[1]);
        vec![a, b]
    }

    fn ternary<O: Ternary>(self, op: O) -> Vec<bool> {
        op.near(self.0[0], self.0[1], self.0[2]).to_vec()
    }
}

#[test]
fn local_flags_hold_in_every_quadrant_and_at_ties() {
    let values = [-7.5, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 3.25];
    for &op in Opcode::ALL {
        let arity = op.arity();
        if arity == 1 {
            continue;
        }
        for code in 0..values.len().pow(arity as u32) {
            let x: Vec<f64> = (0..arity)
                .map(|i| values[code / values.len().pow(i as u32) % values.len()])
                .collect();
            let (value, first, _) = op.visit(0, Partials(&x));
            if value.is_nan() {
                continue; // not defined there, so neither is a derivative
            }
            let near = op.visit(0, Near(&x));
            for (i, (d, near)) in first.iter().zip(near).enumerate() {
                assert!(near || *d == 0.0, "{op}{x:?}: ∂{} = {d} though said to vanish", i + 1);
            }
        }
    }
}

#[test]
fn singular_points_follow_the_stated_policy() {
    let partials = |op: Opcode, x: &[f64]| op.visit(0, Partials(x)).1;
    assert_eq!(partials(Opcode::Abs, &[0.0]), [0.0]);
    assert_eq!(partials(Opcode::Sqrt, &[0.0]), [f64::INFINITY]);
    assert_eq!(partials(Opcode::Cbrt, &[0.0]), [f64::INFINITY]);
    assert_eq!(partials(Opcode::Ln, &[0.0]), [f64::INFINITY]);
    assert_eq!(partials(Opcode::Asin, &[1.0]), [f64::INFINITY]);
    assert_eq!(partials(Opcode::Sinc, &[0.0]), [0.0]);
    assert_eq!(partials(Opcode::Hypot, &[0.0, 0.0]), [0.0, 0.0]);
    assert_eq!(partials(Opcode::Atan2, &[0.0, 0.0]), [0.0, 0.0]);
    assert_eq!(partials(Opcode::Max, &[2.0, 2.0]), [1.0, 0.0]);
    assert_eq!(partials(Opcode::Min, &[2.0, 2.0]), [1.0, 0.0]);
    assert_eq!(partials(Opcode::Max, &[f64::NAN, 2.0]), [0.0, 1.0]);
    assert_eq!(partials(Opcode::Min, &[2.0, f64::NAN]), [1.0, 0.0]);
    assert_eq!(partials(Opcode::Clamp, &[1.0, 1.0, 2.0]), [1.0, 0.0, 0.0]);
    for (y, expected) in
        [(-0.5, f64::NEG_INFINITY), (0.0, f64::NEG_INFINITY), (0.5, 0.0), (1.5, 0.0)]
    {
        assert_eq!(partials(Opcode::Powf, &[0.0, y])[1], expected, "0^{y}");
    }
    assert_eq!(partials(Opcode::Powf, &[0.0, 0.0])[0], 0.0);
    assert_eq!(partials(Opcode::Powf, &[0.0, 1.0])[0], 1.0);
    assert_eq!(Opcode::Powi.visit(0, Partials(&[0.0])), (1.0, vec![0.0], vec![0.0]));
    assert_eq!(Opcode::Powi.visit(i32::MIN, Partials(&[1.0])).0, 1.0);
}

#[test]
fn special_functions_reflect_to_negative_arguments() {
    use cotangent_ops::Elementary;
    use std::f64::consts::PI;
    for x in [-0.3, -1.75, -4.2, -20.6_f64] {
        // Γ(x)Γ(1 − x) = π/sin(πx), ψ(1 − x) − ψ(x) = π cot(πx), ψ₁(1 − x) + ψ₁(x) = π²/sin²(πx)
        let product = Elementary::gamma(x) * Elementary::gamma(1.0 - x);
        assert!((product * (PI * x).sin() / PI - 1.0).abs() < 1e-12, "gamma({x})");
        let digamma = (1.0 - x).digamma() - x.digamma();
        assert!(
            (digamma - PI / (PI * x).tan()).abs() < 1e-12 * (1.0 + digamma.abs()),
            "digamma({x})"
        );
        let trigamma = (1.0 - x).polygamma(1) + x.polygamma(1);
        assert!(
            (trigamma * (PI * x).sin().powi(2) / (PI * PI) - 1.0).abs() < 1e-11,
            "trigamma({x})"
        );
    }
    for pole in [0.0, -1.0, -2.0, -7.0_f64] {
        assert!(
            pole.digamma().is_nan()
                && Elementary::ln_gamma(pole).is_nan()
                && Elementary::gamma(pole).is_nan()
        );
    }
    assert_eq!(f64::INFINITY.polygamma(3), 0.0);
    assert!(f64::NAN.sinc_derivative(2).is_nan());
}

#[test]
fn single_precision_values_are_the_rounded_double_ones() {
    use cotangent_ops::Elementary;
    for x in [0.1_f32, 0.7, 1.9] {
        assert_eq!(Elementary::erf(x), Elementary::erf(f64::from(x)) as f32);
        assert_eq!(Elementary::gamma(x), Elementary::gamma(f64::from(x)) as f32);
        assert_eq!(Elementary::powi(x, 5), x * (x * x) * (x * x));
    }
}

/// The page `OPERATIONS.md`, from the table.
fn page() -> String {
    let code = |formula: String| match formula.as_str() {
        "0" | "1" | "−1" => formula,
        _ => format!("`{formula}`"),
    };
    let mut page = String::from(
        "The table as a page: every operation with its partials.\n\n\
         `k(c)` is the constant `c`, `r(c)` one that is rounded; a partial may use the arguments and the value (`y`, `z` or `w`,\n\
         after the last argument). The error is a bound in units in the last place (0: correctly\n\
         rounded or exact). Made from the table by `cargo test`; do not edit.\n\n\
         | operation | arguments | partials | error | singular points |\n|---|--:|---|--:|---|\n",
    );
    for op in Opcode::ALL {
        let info = op.info();
        let partials: Vec<String> =
            info.formulas().map(|(name, text)| format!("{name} = {}", code(text))).collect();
        page += &format!(
            "| `{}` | {} | {} | {} | {} |\n",
            info.name,
            info.arity,
            partials.join("<br>"),
            info.ulps,
            info.singular
        );
    }
    page
}

#[test]
fn the_page_of_operations_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/OPERATIONS.md");
    if std::env::var_os("COTANGENT_BLESS").is_some() {
        std::fs::write(path, page()).expect("the page can be written");
    }
    let written = std::fs::read_to_string(path).expect("the page exists");
    assert_eq!(written, page(), "run COTANGENT_BLESS=1 cargo test -p cotangent-ops");
}
