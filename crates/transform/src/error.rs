//! Why a function could not be transformed.

use cotangent_ir::VerifyError;
use cotangent_numbers::Fault;

/// Why a function could not be transformed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TransformError {
    /// Singles and doubles in one function.
    #[error("@{function} has f64 and f32 among its parameters; derivatives take one of the two")]
    Mixed {
        /// The name of the function.
        function: String,
    },
    /// A gradient of a function that does not have one number as its result.
    #[error(
        "a gradient is of one number, but @{function} gives {results} results; weigh them with `reverse`"
    )]
    NotOne {
        /// The name of the function.
        function: String,
        /// How many results it has.
        results: usize,
    },
    /// More results said to be ordinary than there are.
    #[error("@{function} has {results} results, fewer than the {primals} that stay as they are")]
    Primals {
        /// The name of the function.
        function: String,
        /// How many results it has.
        results: usize,
        /// How many were said to be ordinary.
        primals: usize,
    },
    /// A result to transpose that is not linear.
    #[error("result {result} of @{function} does not depend linearly on its linear parameters")]
    NotLinear {
        /// The name of the function.
        function: String,
        /// Which result.
        result: usize,
    },
    /// An order of a series that is not written down.
    #[error("Taylor series have orders from 1 to {most} here, not {order}")]
    Order {
        /// What was asked for.
        order: usize,
        /// The highest one.
        most: usize,
    },
    /// A rule that does not fit its function.
    #[error(
        "@{rule}, the derivative of @{function}, takes {wants} arguments (those of the function and a tangent of \
         each number) and gives {gives} results (a tangent of each number)"
    )]
    Rule {
        /// The function.
        function: String,
        /// Its rule.
        rule: String,
        /// How many arguments the rule takes.
        wants: usize,
        /// How many results it gives.
        gives: usize,
    },
    /// Something that reverse mode does not go through.
    #[error("reverse mode of @{function}: {what}")]
    Reverse {
        /// The function.
        function: String,
        /// What is in the way.
        what: String,
    },
    /// More directions than a Laplacian is written down for.
    #[error("the Laplacian of @{function} is by {directions} numbers; {most} are the most here")]
    Directions {
        /// The function.
        function: String,
        /// How many it would take.
        directions: usize,
        /// How many there can be.
        most: usize,
    },
    /// A function that cannot be run at many points at once.
    #[error("a batch of @{function}: {what}")]
    Batch {
        /// The function.
        function: String,
        /// What is in the way.
        what: String,
    },
    /// A function whose partials are not seen one by one.
    #[error("the partials of @{function} that are not zero: {what}; unroll it first")]
    Flat {
        /// The function.
        function: String,
        /// What is in the way.
        what: String,
    },
    /// Too few states for checkpoints.
    #[error("{states} states are too few for a loop of {rounds} rounds in @{function}; allow more")]
    States {
        /// The function.
        function: String,
        /// What was allowed.
        states: usize,
        /// How often the loop goes round.
        rounds: usize,
    },
    /// The function could not be run on the numbers that write it down.
    #[error(transparent)]
    Run(#[from] cotangent_ir::RunError),
    /// A parameter that is not there, or is no number.
    #[error("@{function} has no parameter %{param} that is a number")]
    NoParam {
        /// The name of the function.
        function: String,
        /// The name that was asked for.
        param: String,
    },
    /// The function is not well formed.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// A number could not go on.
    #[error(transparent)]
    Number(#[from] Fault),
}
