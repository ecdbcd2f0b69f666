//! Running a function on any kind of number: plain ones, dual ones, intervals, tracers, counters.

use cotangent_numbers::fault::catch;
use cotangent_numbers::{Fault, Scalar};
use cotangent_ops::{Binary, Comparison, Elementary, Opcode, Ternary, Unary, Visitor};

use crate::function::{Function, Op, Type, Value};

/// Why a function could not be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Another number of arguments than parameters.
    #[error("@{function} takes {expected} numbers, {found} were given")]
    Arguments {
        /// The name of the function.
        function: String,
        /// How many it takes.
        expected: usize,
        /// How many there were.
        found: usize,
    },
    /// A truth value as a parameter, which numbers do not fit.
    #[error("@{function} takes a truth value as %{param}, which cannot be given as a number")]
    Truth {
        /// The name of the function.
        function: String,
        /// The name of the parameter.
        param: String,
    },
    /// A branch would go another way here than where the function was recorded.
    #[error("@{function} was recorded where guard {guard} came out otherwise; record it anew here")]
    Guard {
        /// The name of the function.
        function: String,
        /// Which guard.
        guard: usize,
    },
    /// A number could not go on.
    #[error(transparent)]
    Number(#[from] Fault),
}

/// Room for a run, used again by the next one.
#[derive(Clone, Debug)]
pub struct Room<S: Elementary> {
    numbers: Vec<S>,
    masks: Vec<S::Mask>,
}

impl<S: Elementary> Room<S> {
    /// A number of the last run.
    ///
    /// # Panics
    /// If there was no run of a function that has this value.
    pub fn number(&self, value: Value) -> S {
        self.numbers[value.index()]
    }

    /// A truth value of the last run.
    ///
    /// # Panics
    /// If there was no run of a function that has this value.
    pub fn mask(&self, value: Value) -> S::Mask {
        self.masks[value.index()]
    }
}

impl<S: Elementary> Default for Room<S> {
    fn default() -> Self {
        Room { numbers: Vec::new(), masks: Vec::new() }
    }
}

impl Function {
    /// The results at a point, on any kind of number.
    ///
    /// ```
    /// use cotangent_ir::parse;
    /// use cotangent_numbers::{Dual, Interval};
    ///
    /// let f = parse("fn @f(%x: f64) -> f64 { %y = mul %x, %x ret %y }").unwrap();
    /// assert_eq!(f.run(&[3.0])?, [9.0]);
    /// assert!(f.run(&[Interval::new(-1.0, 2.0)])?[0].contains(4.0));
    /// # Ok::<(), cotangent_ir::RunError>(())
    /// ```
    ///
    /// # Errors
    /// Another number of arguments than parameters, a guard that fails, and what the numbers raise.
    pub fn run<S: Scalar>(&self, x: &[S]) -> Result<Vec<S>, RunError> {
        let mut results = vec![S::zero(); self.results().len()];
        self.run_into(x, &mut results, &mut Room::default())?;
        Ok(results)
    }

    /// The results in place; a room that has been used once is large enough.
    ///
    /// # Errors
    /// As [`run`](Function::run).
    pub fn run_into<S: Scalar>(
        &self,
        x: &[S],
        results: &mut [S],
        room: &mut Room<S>,
    ) -> Result<(), RunError> {
        let wrong = |expected: usize, found: usize| RunError::Arguments {
            function: self.name().to_string(),
            expected,
            found,
        };
        if results.len() != self.results().len() {
            return Err(wrong(self.results().len(), results.len()));
        }
        self.run_unguarded(x, room)?;
        for (k, guard) in self.guards().iter().enumerate() {
            // A mask is a truth value where there is one: selecting between two numbers asks for it.
            let mask = room.masks[guard.condition.index()];
            let outcome = catch(|| S::select(mask, S::one(), S::zero()).value() == 1.0)?;
            if outcome != guard.expected {
                return Err(RunError::Guard { function: self.name().to_string(), guard: k });
            }
        }
        for (result, value) in results.iter_mut().zip(self.results()) {
            *result = room.numbers[value.index()];
        }
        Ok(())
    }

    /// Computes all values and checks no guard: what a transformation does that keeps the guards.
    ///
    /// # Errors
    /// As [`run`](Function::run), but for the guards.
    pub fn run_unguarded<S: Scalar>(&self, x: &[S], room: &mut Room<S>) -> Result<(), RunError> {
        let (expected, found) = (self.params().len(), x.len());
        if expected != found {
            let function = self.name().to_string();
            return Err(RunError::Arguments { function, expected, found });
        }
        if let Some(param) = self.params().iter().find(|p| p.ty == Type::Bool) {
            let (function, param) = (self.name().to_string(), param.name.clone());
            return Err(RunError::Truth { function, param });
        }
        Ok(catch(|| self.run_all(x, room))?)
    }

    fn run_all<S: Scalar>(&self, x: &[S], room: &mut Room<S>) {
        room.numbers.clear();
        room.numbers.resize(self.len(), S::zero());
        room.masks.clear();
        room.masks.resize(self.len(), S::Mask::from(false));
        for value in self.values() {
            let mut args = [Value(0); 3];
            for (to, from) in args.iter_mut().zip(self.operands(value)) {
                *to = from;
            }
            let [a, b, c] = args.map(Value::index);
            let numbers = &room.numbers;
            let masks = &room.masks;
            let number = match self.op(value) {
                Op::Param(k) => x[k as usize],
                Op::Constant(bits) => S::constant(f64::from_bits(bits)),
                Op::Rounded(bits) => S::rounded(f64::from_bits(bits)),
                Op::Elementary(code, parameter) => {
                    code.visit(parameter, Apply([numbers[a], numbers[b], numbers[c]]))
                }
                Op::Select => S::select(masks[a], numbers[b], numbers[c]),
                op => {
                    room.masks[value.index()] = match op {
                        Op::Truth(truth) => S::Mask::from(truth),
                        Op::Compare(comparison) => numbers[a].compare(numbers[b], comparison),
                        Op::And => masks[a] & masks[b],
                        Op::Or => masks[a] | masks[b],
                        _ => !masks[a],
                    };
                    continue;
                }
            };
            room.numbers[value.index()] = number;
        }
    }
}

/// An operation of the table on numbers.
struct Apply<S>([S; 3]);

impl<S: Elementary> Visitor for Apply<S> {
    type Output = S;

    #[inline]
    fn unary<O: Unary>(self, op: O) -> S {
        op.value(self.0[0])
    }

    #[inline]
    fn binary<O: Binary>(self, op: O) -> S {
        op.value(self.0[0], self.0[1])
    }

    #[inline]
    fn ternary<O: Ternary>(self, op: O) -> S {
        op.value(self.0[0], self.0[1], self.0[2])
    }
}

/// An operation on plain numbers of a type.
pub(crate) fn apply(code: Opcode, parameter: i32, x: &[f64], ty: Type) -> f64 {
    let mut args = [0.0; 3];
    args[..x.len()].copy_from_slice(x);
    match ty {
        Type::F32 => f64::from(code.visit(parameter, Apply(args.map(|x| x as f32)))),
        _ => code.visit(parameter, Apply(args)),
    }
}

pub(crate) fn compare(comparison: Comparison, x: f64, y: f64) -> bool {
    comparison.holds(&x, &y)
}
