//! The rules of algebra, one line each.
//!
//! In a rule x y z are numbers, c d known finite numbers, i j integers, m n known ones, p q truth
//! values, and t u v w anything. Which way a rule goes, and why none goes back, stands in `RULES.md`.

mod arithmetic;
mod functions;
mod integers;
mod truths;

use std::sync::OnceLock;

use cotangent_ir::Op;

use crate::pattern::{Pattern, Rule};

/// A rule: its name, its class, the equation from left to right, and a condition on constants.
macro_rules! rule {
    ($name:ident, $class:ident: $left:expr => $right:expr) => {
        $crate::pattern::Rule {
            name: stringify!($name),
            class: $crate::options::Class::$class,
            text: concat!(stringify!($left), " → ", stringify!($right)),
            left: $crate::pattern::Pattern::from($left),
            right: $crate::pattern::Pattern::from($right),
            guard: None,
        }
    };
    ($name:ident, $class:ident: $left:expr => $right:expr, if $guard:ident($($var:ident),+)) => {
        $crate::pattern::Rule {
            guard: Some((
                stringify!($guard($($var),+)),
                vec![$($var),+],
                $crate::vocabulary::$guard,
            )),
            ..rule!($name, $class: $left => $right)
        }
    };
}
pub(crate) use rule;

/// Rules by the operation they begin with.
pub(crate) struct Rules {
    all: Vec<Rule>,
    by_root: Vec<Vec<usize>>,
}

/// Where the rules of an operation stand.
fn bucket(op: Op) -> usize {
    match op {
        Op::Elementary(code, _) => 32 + code as usize,
        Op::Compare(comparison) => comparison as usize,
        Op::Integral(integral) => 8 + integral as usize,
        Op::And => 16,
        Op::Or => 17,
        Op::Not => 18,
        Op::Select => 19,
        _ => 31,
    }
}

impl Rules {
    /// Those that begin with an operation.
    pub(crate) fn of(&self, op: Op) -> impl Iterator<Item = &Rule> {
        self.by_root.get(bucket(op)).into_iter().flatten().map(|k| &self.all[*k])
    }
}

pub(crate) fn rules() -> &'static Rules {
    static RULES: OnceLock<Rules> = OnceLock::new();
    RULES.get_or_init(|| {
        let mut all = Vec::new();
        all.extend(arithmetic::rules());
        all.extend(functions::rules());
        all.extend(truths::rules());
        all.extend(integers::rules());
        let mut by_root = vec![Vec::new(); 256];
        for (k, rule) in all.iter().enumerate() {
            if let Pattern::Op(op, _) = &rule.left {
                by_root[bucket(*op)].push(k);
            }
        }
        Rules { all, by_root }
    })
}

/// All rules of algebra, in the order they are tried in.
///
/// ```
/// let names: Vec<&str> = cotangent_optimize::algebra().iter().map(|rule| rule.name).collect();
/// assert!(names.contains(&"add_neg") && names.len() >= 60);
/// ```
pub fn algebra() -> &'static [Rule] {
    &rules().all
}
