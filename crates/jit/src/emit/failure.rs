//! Why a run stops: what a status other than 0 means.

use cotangent_ir::Type;

use super::ROUNDS;

/// Why a run stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An index outside an array.
    Index { function: String, dimension: usize, ty: Type },
    /// A guard that came out otherwise.
    Guard { function: String, guard: usize },
    /// A loop that does not end.
    Endless { function: String },
    /// A number that is compared, and none.
    Undefined { function: String },
    /// Anything else.
    Other { function: String, what: String },
}

impl Failure {
    /// Where it happens.
    pub(crate) fn place(&self) -> String {
        let (Failure::Index { function, .. }
        | Failure::Guard { function, .. }
        | Failure::Endless { function }
        | Failure::Undefined { function }
        | Failure::Other { function, .. }) = self;
        match function.is_empty() {
            true => "a body".to_string(),
            false => format!("@{function}"),
        }
    }

    /// What happens.
    pub(crate) fn what(&self) -> String {
        match self {
            Failure::Index { dimension, ty, .. } => {
                format!("an index is out of range: dimension {dimension} of {ty}")
            }
            Failure::Guard { guard, .. } => {
                format!("guard {guard} comes out otherwise than where the function was recorded")
            }
            Failure::Endless { .. } => {
                format!("a `while` was left after {ROUNDS} rounds; does it end at all?")
            }
            Failure::Undefined { .. } => "a NaN is compared".to_string(),
            Failure::Other { what, .. } => what.clone(),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place(), self.what())
    }
}
