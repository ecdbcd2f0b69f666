//! Operations with a body: parallel kernels, loops, branches, calls.
//!
//! A body is a function of its own, closed: what it uses from outside is handed to it as parameters
//! behind its own, the *captures*. So every transformation of functions is one of bodies too. In text
//! captures are not seen; there a body uses values from outside by their names.

use std::convert::Infallible;
use std::sync::Arc;

use crate::derive::Derive;
use crate::function::Function;
use crate::types::{Dim, Type};

/// How a reduction goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reducer {
    /// The sum, first to last.
    Sum,
    /// The product, first to last.
    Product,
    /// The largest; the first of equal ones.
    Max,
    /// The smallest; the first of equal ones.
    Min,
    /// Where the largest is: the number of the point of the domain, the first of equal ones.
    ArgMax,
    /// Where the smallest is.
    ArgMin,
}

impl Reducer {
    const ALL: [Reducer; 6] = [
        Reducer::Sum,
        Reducer::Product,
        Reducer::Max,
        Reducer::Min,
        Reducer::ArgMax,
        Reducer::ArgMin,
    ];

    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Reducer::Sum => "sum",
            Reducer::Product => "prod",
            Reducer::Max => "max",
            Reducer::Min => "min",
            Reducer::ArgMax => "argmax",
            Reducer::ArgMin => "argmin",
        }
    }

    /// The reducer with this name.
    pub fn by_name(name: &str) -> Option<Reducer> {
        Reducer::ALL.into_iter().find(|r| r.name() == name)
    }
}

/// An operation with a body.
///
/// Its operands and the parameters of its bodies:
///
/// | | operands | body | parts |
/// |---|---|---|---|
/// | `tab` | captures | indices, captures → values | an array of each value over the domain |
/// | `red` | captures | indices, captures → value | the value reduced over the domain |
/// | `acc` | targets, captures | indices, targets, captures → targets | the targets with all that was added |
/// | `for` | bound, carries, captures | index, carries, captures → carries, stacked | the last carries, an array of each stacked value |
/// | `while` | carries, captures | carries, captures → carries, stacked; the condition: → truth | the last carries, arrays of stacked values, the number of rounds |
/// | `if` | condition, captures | captures → values | the values |
/// | `call` | arguments | the function | its results |
/// | `fwd`, `rev`, `jac`, `hess`, `jet` | see [`Derive`] | the function | see [`Derive`] |
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Structure {
    /// The body at every point of a domain, side by side.
    Tab {
        /// The domain.
        dims: Vec<Dim>,
        /// The body.
        body: Arc<Function>,
    },
    /// The body at every point of a domain, put together.
    Red {
        /// The domain.
        dims: Vec<Dim>,
        /// How.
        reducer: Reducer,
        /// The body.
        body: Arc<Function>,
    },
    /// The body at every point of a domain, each adding to the targets and doing nothing else with them.
    Acc {
        /// The domain.
        dims: Vec<Dim>,
        /// How many targets there are.
        targets: usize,
        /// The body.
        body: Arc<Function>,
    },
    /// The body so often, each time from what the last one gave.
    For {
        /// How many carries there are.
        carries: usize,
        /// The body.
        body: Arc<Function>,
    },
    /// The body as long as a condition of the carries holds.
    While {
        /// How many carries there are.
        carries: usize,
        /// The condition.
        condition: Arc<Function>,
        /// The body.
        body: Arc<Function>,
    },
    /// One of two bodies.
    If {
        /// Where the condition holds.
        yes: Arc<Function>,
        /// Where it does not.
        no: Arc<Function>,
    },
    /// A function that has a name.
    Call {
        /// The function.
        function: Arc<Function>,
    },
    /// A derivative of a function that has a name.
    Derive(Derive),
}

impl Structure {
    /// The name in text.
    pub fn name(&self) -> &'static str {
        match self {
            Structure::Tab { .. } => "tab",
            Structure::Red { .. } => "red",
            Structure::Acc { .. } => "acc",
            Structure::For { .. } => "for",
            Structure::While { .. } => "while",
            Structure::If { .. } => "if",
            Structure::Call { .. } => "call",
            Structure::Derive(derive) => derive.mode.name(),
        }
    }

    /// The bodies; the condition of a `while` first.
    pub fn bodies(&self) -> impl Iterator<Item = &Arc<Function>> {
        let (first, second) = match self {
            Structure::Tab { body, .. }
            | Structure::Red { body, .. }
            | Structure::Acc { body, .. }
            | Structure::For { body, .. }
            | Structure::Call { function: body }
            | Structure::Derive(Derive { function: body, .. }) => (body, None),
            Structure::While { condition, body, .. } => (condition, Some(body)),
            Structure::If { yes, no } => (yes, Some(no)),
        };
        std::iter::once(first).chain(second)
    }

    /// The same with other bodies, as [`bodies`](Structure::bodies) gives them.
    #[must_use]
    pub fn with_bodies(&self, mut f: impl FnMut(&Arc<Function>) -> Arc<Function>) -> Structure {
        let Ok(new) = self.try_with_bodies(|body| Ok::<_, Infallible>(f(body)));
        new
    }

    /// [`with_bodies`](Structure::with_bodies), unless one of them fails.
    ///
    /// # Errors
    /// The first that comes.
    pub fn try_with_bodies<E>(
        &self,
        mut f: impl FnMut(&Arc<Function>) -> Result<Arc<Function>, E>,
    ) -> Result<Structure, E> {
        let mut new = self.clone();
        match &mut new {
            Structure::Tab { body, .. }
            | Structure::Red { body, .. }
            | Structure::Acc { body, .. }
            | Structure::For { body, .. }
            | Structure::Call { function: body }
            | Structure::Derive(Derive { function: body, .. }) => *body = f(body)?,
            Structure::While { condition, body, .. } => {
                *condition = f(condition)?;
                *body = f(body)?;
            }
            Structure::If { yes, no } => {
                *yes = f(yes)?;
                *no = f(no)?;
            }
        }
        Ok(new)
    }

    /// Whether it has a function with a name instead of a body.
    pub fn is_named(&self) -> bool {
        matches!(self, Structure::Call { .. } | Structure::Derive(_))
    }

    /// The domain of a kernel.
    pub fn domain(&self) -> &[Dim] {
        match self {
            Structure::Tab { dims, .. }
            | Structure::Red { dims, .. }
            | Structure::Acc { dims, .. } => dims,
            _ => &[],
        }
    }

    /// How many parameters of the bodies come before the captures, and how many of those are handed on as
    /// operands.
    pub fn own_params(&self) -> (usize, usize) {
        match self {
            Structure::Tab { dims, .. } | Structure::Red { dims, .. } => (dims.len(), 0),
            Structure::Acc { dims, targets, .. } => (dims.len() + targets, *targets),
            Structure::For { carries, .. } => (1 + carries, *carries),
            Structure::While { carries, .. } => (*carries, *carries),
            Structure::If { .. } | Structure::Call { .. } | Structure::Derive(_) => (0, 0),
        }
    }

    /// How many operands come before those that are handed to the bodies: a bound, a condition.
    pub fn lead(&self) -> usize {
        usize::from(matches!(self, Structure::For { .. } | Structure::If { .. }))
    }

    /// The operand that a parameter of the body is given, if it is one.
    pub fn operand_of(&self, param: usize) -> Option<usize> {
        let (own, handed) = self.own_params();
        Some(self.lead() + param.checked_sub(own - handed)?)
    }

    /// The parameter of the body that an operand goes to.
    pub fn param_of(&self, operand: usize) -> Option<usize> {
        let (own, handed) = self.own_params();
        Some(own - handed + operand.checked_sub(self.lead())?)
    }

    /// The types of its parts, given those of the operands. `bound` is what a `for` goes round, if known.
    pub fn part_types(&self, bound: Dim) -> Vec<Type> {
        let results =
            |f: &Arc<Function>| -> Vec<Type> { f.results().iter().map(|v| f.ty(*v)).collect() };
        match self {
            Structure::Tab { dims, body } => {
                results(body).into_iter().map(|ty| ty.within(dims)).collect()
            }
            Structure::Red { reducer: Reducer::ArgMax | Reducer::ArgMin, .. } => vec![Type::I64],
            Structure::Red { body, .. } | Structure::Acc { body, .. } => results(body),
            Structure::For { carries, body } => {
                let stack = |(k, ty): (usize, Type)| match k < *carries {
                    true => ty,
                    false => ty.within(&[bound]),
                };
                results(body).into_iter().enumerate().map(stack).collect()
            }
            Structure::While { carries, body, .. } => {
                let stack = |(k, ty): (usize, Type)| match k < *carries {
                    true => ty,
                    false => ty.within(&[Dim::Any]),
                };
                results(body).into_iter().enumerate().map(stack).chain([Type::I64]).collect()
            }
            Structure::If { yes, .. } => results(yes),
            Structure::Call { function } => results(function),
            Structure::Derive(derive) => derive.part_types(),
        }
    }
}
