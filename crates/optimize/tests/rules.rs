//! Every rule of algebra, by its class, on random numbers and on those that are special.

use cotangent_ir::{Builder, Function, Op, Type, Value};
use cotangent_numbers::Plain;
use cotangent_optimize::{Class, Kind, Known, Pattern, Rule, Var, algebra};

const SPECIAL: [f64; 18] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    0.5,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    1e300,
    -1e300,
    1e-300,
    f64::MAX,
    std::f64::consts::PI,
    -3.5,
];

/// A side of a rule as a program, built as it is written.
fn side(b: &mut Builder, pattern: &Pattern, of: &dyn Fn(&mut Builder, Var) -> Value) -> Value {
    match pattern {
        Pattern::Var(var) => of(b, *var),
        Pattern::Number(c) => b.constant(*c, Type::F64),
        Pattern::Integer(c) => b.integer(*c),
        Pattern::Truth(c) => b.truth(*c),
        Pattern::Op(op, args) => {
            let args: Vec<Value> = args.iter().map(|arg| side(b, arg, of)).collect();
            let ty = match op {
                Op::Compare(_) => Type::BOOL,
                _ => b.ty(*args.last().unwrap()),
            };
            b.copy(*op, ty, &args)
        }
        Pattern::Fold(vars, _) | Pattern::FoldIn(vars, _) => {
            let known: Vec<f64> = vars
                .iter()
                .map(|var| {
                    let value = of(b, *var);
                    b.known(value).unwrap()
                })
                .collect();
            let number = match pattern {
                Pattern::Fold(_, f) => f(&known),
                Pattern::FoldIn(_, f) => f(&known, cotangent_ir::Element::F64),
                _ => unreachable!(),
            };
            b.constant(number, Type::F64)
        }
        Pattern::FoldIntegers(vars, f) => {
            let known: Vec<i64> = vars
                .iter()
                .map(|var| {
                    let value = of(b, *var);
                    b.known_integer(value).unwrap()
                })
                .collect();
            b.integer(f(&known))
        }
    }
}

/// A rule as two programs of the same variables; constants have values.
fn programs(rule: &Rule, constants: &[(Var, Known)]) -> [Function; 2] {
    [&rule.left, &rule.right].map(|pattern| {
        let mut b = Builder::new(rule.name);
        let vars = rule.vars();
        let mut values = Vec::new();
        for var in &vars {
            let known = constants.iter().find(|(v, _)| v == var).map(|(_, c)| *c);
            let value = match (known, var.kind) {
                (Some(Known::Number(c)), _) => b.constant(c, Type::F64),
                (Some(Known::Integer(c)), _) => b.integer(c),
                (None, Kind::Integer | Kind::KnownInteger) => b.param("i", Type::I64),
                (None, Kind::Truth) => {
                    // A truth value is given as a number that is not zero.
                    let given = b.param("p", Type::F64);
                    b.cast(given, cotangent_ir::Element::Bool)
                }
                _ => b.param("x", Type::F64),
            };
            values.push(value);
        }
        let root =
            side(&mut b, pattern, &|_, var| values[vars.iter().position(|v| *v == var).unwrap()]);
        let root = match b.ty(root) {
            ty if ty == Type::BOOL => b.cast(root, cotangent_ir::Element::F64),
            _ => root,
        };
        b.finish(vec![root])
    })
}

fn same(rule: &Rule, a: f64, b: f64, x: &[f64]) -> bool {
    let nan = a.is_nan() && b.is_nan();
    let equal = a.to_bits() == b.to_bits() || nan;
    match rule.class {
        Class::Exact => equal,
        // A coefficient of zero wins over what is not finite.
        Class::Zero => {
            equal || a == b || (a.is_nan() && b == 0.0 && x.iter().any(|x| !x.is_finite()))
        }
        _ => {
            let usual = x.iter().all(|x| x.is_finite() && (1e-3..1e3).contains(&x.abs()));
            !usual
                || !a.is_finite()
                || !b.is_finite()
                || (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
        }
    }
}

/// Random numbers hardly ever meet the one where a comparison of roots turns: those beside it, in both precisions.
#[test]
fn comparisons_of_roots_turn_where_roots_do() {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut numbers = vec![1e-5, 1.0, 2.0, 0.1, 3.7e-20, 1.9e19, 1e-44, 3.4e38];
    numbers.extend((0..100).map(|_| rng.f64() * 10f64.powi(rng.i32(-18..19))));
    for c in numbers {
        for comparison in ["gt", "ge", "lt", "le"] {
            for single in [false, true] {
                let c = if single { f64::from(c as f32) } else { c };
                let ty = if single { "f32" } else { "f64" };
                let text = format!(
                    "fn @f(%x: {ty}) -> bool {{ %r = sqrt %x %t = {comparison} %r, {c:e} ret %t }}"
                );
                let f = cotangent_ir::parse(&text).unwrap();
                let g = cotangent_optimize::simplify(&f);
                // What has no ordinary square in singles is compared as it is.
                let square = (c as f32) * (c as f32);
                let has_square = (f32::MIN_POSITIVE..=f32::MAX).contains(&square);
                assert_eq!(g.to_string().contains("sqrt"), !has_square, "{g}");
                if !single {
                    let (f, g) = (f.in_singles(), g.in_singles());
                    for x in [0.0, 1e-30, 1e21, 1e38, f64::INFINITY] {
                        assert_eq!(f.run(&[x]).unwrap(), g.run(&[x]).unwrap(), "{c:e} at {x:e}");
                    }
                }
                let beside = |x: f64, up: bool| match (single, up) {
                    (true, true) => f64::from((x as f32).next_up()),
                    (true, false) => f64::from((x as f32).next_down()),
                    (false, true) => x.next_up(),
                    (false, false) => x.next_down(),
                };
                let near = if single { f64::from((c * c) as f32) } else { c * c };
                let mut points = vec![0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, near];
                let (mut low, mut high) = (near, near);
                for _ in 0..6 {
                    (low, high) = (beside(low, false), beside(high, true));
                    points.extend([low, high]);
                }
                for x in points {
                    let both = [&f, &g].map(|f| match single {
                        true => f.run(&[Plain(x as f32)]).unwrap()[0].0 != 0.0,
                        false => f.run(&[x]).unwrap()[0] != 0.0,
                    });
                    assert_eq!(both[0], both[1], "{comparison} {c:e} at {x:e}: {g}");
                }
            }
        }
    }
}

#[test]
fn every_rule_holds_by_its_class() {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut wrong = Vec::new();
    for rule in algebra() {
        let vars = rule.vars();
        let (mut tried, mut differing) = (0, None);
        for _ in 0..600 {
            let special = rng.f64() < 0.6;
            let pick = |rng: &mut fastrand::Rng| match special && rng.f64() < 0.7 {
                true => SPECIAL[rng.usize(..SPECIAL.len())],
                false => (rng.f64() - 0.5) * 10f64.powi(rng.i32(-2..3)),
            };
            let mut constants = Vec::new();
            let mut x = Vec::new();
            for var in &vars {
                match var.kind {
                    Kind::Constant => {
                        let c = match rng.u8(..3) {
                            0 => 2f64.powi(rng.i32(-8..9)) * if rng.bool() { 1.0 } else { -1.0 },
                            1 => (rng.f64() - 0.5) * 20.0,
                            _ => [0.0, 1.0, -1.0, 1e300, 5e-324][rng.usize(..5)],
                        };
                        constants.push((*var, Known::Number(c)));
                    }
                    Kind::KnownInteger => constants.push((*var, Known::Integer(rng.i64(-9..10)))),
                    Kind::Integer => x.push(match rng.bool() {
                        true => rng.i64(-12..13) as f64,
                        false => (rng.i64(..) >> 24) as f64,
                    }),
                    Kind::Truth => x.push(f64::from(rng.u8(..2))),
                    Kind::Number | Kind::Any => x.push(pick(&mut rng)),
                }
            }
            let of = |var: Var| constants.iter().find(|(v, _)| *v == var).unwrap().1;
            if !rule.allows(of) {
                continue;
            }
            tried += 1;
            let [left, right] = programs(rule, &constants);
            left.verify().unwrap();
            right.verify().unwrap();
            // Parameters that a side does not need are still there, in the same order.
            let (a, b) = (left.run(&x).unwrap()[0], right.run(&x).unwrap()[0]);
            let known = constants.iter().map(|(_, c)| match c {
                Known::Number(c) => *c,
                Known::Integer(c) => *c as f64,
            });
            let all: Vec<f64> = x.iter().copied().chain(known).collect();
            if !same(rule, a, b, &all) && differing.is_none() {
                differing = Some(format!("{} at {x:?} {constants:?}: {a:?}, {b:?}", rule.name));
            }
        }
        assert!(tried > 20, "{} was tried {tried} times", rule.name);
        wrong.extend(differing);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rules_have_names_of_their_own() {
    let mut names: Vec<&str> = algebra().iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(names.len() >= 100, "{}", names.len());
}

/// The equations as a table, for `RULES.md`.
fn table() -> String {
    let mut text = String::new();
    for class in Class::ALL {
        text += &format!("\n### {class}\n\n| rule | equation |\n|---|---|\n");
        for rule in algebra().iter().filter(|rule| rule.class == class) {
            text += &format!("| `{}` | `{}` |\n", rule.name, rule.equation());
        }
    }
    text
}

#[test]
fn the_charter_lists_the_rules() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/RULES.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mark = "<!-- What follows is written by the tests: COTANGENT_BLESS=1 -->\n";
    let (charter, _) = text.split_once(mark).expect("the mark");
    let expected = format!("{charter}{mark}{}", table());
    if std::env::var_os("COTANGENT_BLESS").is_some() {
        std::fs::write(path, &expected).unwrap();
    } else {
        assert!(text == expected, "RULES.md is out of date; COTANGENT_BLESS=1 writes it anew");
    }
}
