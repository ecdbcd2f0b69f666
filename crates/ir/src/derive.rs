//! Derivatives as operations: what is asked for at the place where it is used.
//!
//! `fwd` and `rev` say of every argument and every result of the function whether it moves, and whether its
//! value is wanted besides; `jac` and `hess` give arrays of all partials, `jet` Taylor coefficients. They
//! stay until they are lowered, so that what nobody needs is never written down.

use std::sync::Arc;

use crate::function::Function;
use crate::types::{Dim, Type};

/// What a derivative does with an argument or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// The value, and no derivative.
    Const,
    /// The value, and a cotangent: of an argument among the results, of a result among the operands.
    Active,
    /// The value and a tangent.
    Dup,
    /// A tangent only: the value is not wanted.
    DupNoNeed,
    /// A cotangent only: the value is not wanted.
    ActiveNoNeed,
    /// Neither.
    ConstNoNeed,
}

impl Activity {
    const ALL: [Activity; 6] = [
        Activity::Const,
        Activity::Active,
        Activity::Dup,
        Activity::DupNoNeed,
        Activity::ActiveNoNeed,
        Activity::ConstNoNeed,
    ];

    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Activity::Const => "const",
            Activity::Active => "active",
            Activity::Dup => "dup",
            Activity::DupNoNeed => "dupnn",
            Activity::ActiveNoNeed => "activenn",
            Activity::ConstNoNeed => "constnn",
        }
    }

    /// The activity with this name.
    pub fn by_name(name: &str) -> Option<Activity> {
        Activity::ALL.into_iter().find(|a| a.name() == name)
    }

    /// Whether the value is wanted.
    pub fn wants_value(self) -> bool {
        matches!(self, Activity::Const | Activity::Active | Activity::Dup)
    }

    /// Whether there is a derivative.
    pub fn moves(self) -> bool {
        !matches!(self, Activity::Const | Activity::ConstNoNeed)
    }

    /// The same with or without the value.
    #[must_use]
    pub fn with_value(self, wanted: bool) -> Activity {
        match (self, wanted) {
            (Activity::Const | Activity::ConstNoNeed, true) => Activity::Const,
            (Activity::Const | Activity::ConstNoNeed, false) => Activity::ConstNoNeed,
            (Activity::Dup | Activity::DupNoNeed, true) => Activity::Dup,
            (Activity::Dup | Activity::DupNoNeed, false) => Activity::DupNoNeed,
            (Activity::Active | Activity::ActiveNoNeed, true) => Activity::Active,
            (Activity::Active | Activity::ActiveNoNeed, false) => Activity::ActiveNoNeed,
        }
    }

    /// The same without a derivative.
    #[must_use]
    pub fn still(self) -> Activity {
        if self.wants_value() { Activity::Const } else { Activity::ConstNoNeed }
    }
}

/// The highest order of a Taylor series.
pub const MOST_ORDER: usize = 64;

/// Which derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Tangents of the results from tangents of the arguments.
    Forward,
    /// Cotangents of the arguments from cotangents of the results.
    Reverse,
    /// All partials of the results by the arguments that are active.
    Jacobian,
    /// All second partials of one number by the arguments that are active.
    Hessian,
    /// Taylor coefficients of the results from those of the arguments.
    Jet {
        /// How many of them behind the value.
        order: usize,
    },
}

impl Mode {
    const ALL: [Mode; 5] =
        [Mode::Forward, Mode::Reverse, Mode::Jacobian, Mode::Hessian, Mode::Jet { order: 1 }];

    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Forward => "fwd",
            Mode::Reverse => "rev",
            Mode::Jacobian => "jac",
            Mode::Hessian => "hess",
            Mode::Jet { .. } => "jet",
        }
    }

    /// Whether arguments have tangents, or coefficients.
    pub fn is_forward(self) -> bool {
        matches!(self, Mode::Forward | Mode::Jet { .. })
    }

    /// Whether it is said of each result what is wanted of it.
    pub fn says_results(self) -> bool {
        self.is_forward() || self == Mode::Reverse
    }

    /// How many values go beside an argument or result that has tangents or coefficients.
    pub fn seeds(self) -> usize {
        match self {
            Mode::Jet { order } => order,
            _ => 1,
        }
    }

    /// The mode with this name; of `jet` the one of order 1.
    pub fn by_name(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|m| m.name() == name)
    }
}

/// A derivative of a function at a place.
///
/// Operands: each argument, with its tangent or coefficients behind it if it has some; then a cotangent of each result that
/// has one. Parts: of `fwd` and `jet` the value and the tangent or coefficients of each result, as wanted; of `rev` the values, then
/// a cotangent of each active argument; of `jac` for each result that is wanted its partials by each active
/// argument, of `hess` the second partials by each pair of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derive {
    /// Which derivative.
    pub mode: Mode,
    /// Of which function.
    pub function: Arc<Function>,
    /// What is done with the arguments.
    pub args: Vec<Activity>,
    /// What is done with the results; of `jac` and `hess` nothing is said here.
    pub results: Vec<Activity>,
    /// So many tangents or cotangents at once: they have one more dimension, the first.
    pub width: Option<usize>,
}

impl Derive {
    /// The type of a tangent or cotangent.
    pub fn moved(&self, ty: Type) -> Type {
        match self.width {
            Some(width) => ty.within(&[Dim::Size(width)]),
            None => ty,
        }
    }

    fn result_type(&self, k: usize) -> Type {
        self.function.ty(self.function.results()[k])
    }

    /// The types of its operands.
    pub fn operand_types(&self) -> Vec<Type> {
        let mut types = Vec::new();
        for (param, activity) in self.function.params().iter().zip(&self.args) {
            types.push(param.ty);
            if matches!(activity, Activity::Dup | Activity::DupNoNeed) {
                types.extend(vec![self.moved(param.ty); self.mode.seeds()]);
            }
        }
        for (k, activity) in self.results.iter().enumerate() {
            if self.mode == Mode::Reverse && activity.moves() {
                types.push(self.moved(self.result_type(k)));
            }
        }
        types
    }

    /// The types of its parts.
    pub fn part_types(&self) -> Vec<Type> {
        let mut types = Vec::new();
        let active = || {
            let params = self.function.params().iter().zip(&self.args);
            params.filter(|(_, a)| a.moves()).map(|(p, _)| p.ty)
        };
        match self.mode {
            Mode::Forward | Mode::Jet { .. } => {
                for (k, activity) in self.results.iter().enumerate() {
                    if activity.wants_value() {
                        types.push(self.result_type(k));
                    }
                    if activity.moves() {
                        let ty = self.moved(self.result_type(k));
                        types.extend(vec![ty; self.mode.seeds()]);
                    }
                }
            }
            Mode::Reverse => {
                let wanted = self.results.iter().enumerate().filter(|(_, a)| a.wants_value());
                types.extend(wanted.map(|(k, _)| self.result_type(k)));
                types.extend(active().map(|ty| self.moved(ty)));
            }
            Mode::Jacobian => {
                for result in self.function.results() {
                    let ty = self.function.ty(*result);
                    types.extend(active().map(|by| by.within(ty.dims())));
                }
            }
            Mode::Hessian => {
                for a in active() {
                    types.extend(active().map(|b| b.within(a.dims())));
                }
            }
        }
        types
    }

    /// What is wrong with it, if anything is.
    pub fn fault(&self) -> Option<String> {
        let name = self.function.name();
        let (params, results) = (self.function.params(), self.function.results());
        if self.args.len() != params.len() {
            let (takes, has) = (params.len(), self.args.len());
            return Some(format!("@{name} takes {takes} arguments, {has} are given"));
        }
        if let Mode::Jet { order } = self.mode
            && (order == 0 || order > MOST_ORDER)
        {
            return Some(format!("`jet` has orders from 1 to {MOST_ORDER}, not {order}"));
        }
        if matches!(self.mode, Mode::Jet { .. }) && self.width.is_some() {
            return Some("`jet` has no width".to_string());
        }
        if self.mode.says_results() && self.results.len() != results.len() {
            let (gives, has) = (results.len(), self.results.len());
            return Some(format!("@{name} gives {gives} results, `ret` speaks of {has}"));
        }
        for (param, activity) in params.iter().zip(&self.args) {
            let allowed = match self.mode {
                mode if mode.is_forward() => {
                    matches!(activity, Activity::Const | Activity::Dup | Activity::DupNoNeed)
                }
                _ => matches!(activity, Activity::Const | Activity::Active),
            };
            let (mode, activity_name) = (self.mode.name(), activity.name());
            if !allowed {
                let remedy =
                    if self.mode.is_forward() { "const or dup" } else { "const or active" };
                return Some(format!(
                    "%{} is {activity_name}, but `{mode}` takes {remedy}: values have no shadows",
                    param.name
                ));
            }
            if activity.moves() && !param.ty.is_float() {
                return Some(format!("%{} is {}, which has no derivative", param.name, param.ty));
            }
        }
        for (k, activity) in self.results.iter().enumerate() {
            let allowed = match self.mode {
                mode if mode.is_forward() => {
                    !matches!(activity, Activity::Active | Activity::ActiveNoNeed)
                }
                _ => !matches!(activity, Activity::Dup | Activity::DupNoNeed),
            };
            if !allowed {
                let (mode, what) = (self.mode.name(), activity.name());
                return Some(format!("result {k} is {what}, which `{mode}` does not give"));
            }
            let ty = self.result_type(k);
            if activity.moves() && !ty.is_float() {
                return Some(format!("result {k} is {ty}, which has no derivative"));
            }
        }
        let one =
            results.len() == 1 && self.result_type(0).is_scalar() && self.result_type(0).is_float();
        if self.mode == Mode::Hessian && !one {
            return Some(format!("`hess` is of one number, which @{name} does not give"));
        }
        if self.mode == Mode::Jacobian
            && (0..results.len()).any(|k| !self.result_type(k).is_float())
        {
            return Some(format!("`jac` is of numbers, which @{name} does not give alone"));
        }
        None
    }
}
