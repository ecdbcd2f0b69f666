//! Running a function on any kind of number: plain ones, dual ones, intervals, tracers, counters.

use cotangent_numbers::fault::catch;
use cotangent_numbers::{Fault, Scalar};
use cotangent_ops::{Apply, Comparison, Elementary, Opcode};

use crate::function::{Function, Value};
use crate::functions::Compute;
use crate::machine::unknown::{UNKNOWN, decided};
use crate::machine::{Code, Frame, Machine};
use crate::op::Op;
use crate::slot::{Integers, Numbers, Slot, Truths};
use crate::types::{Element, Type};

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
    /// A value that an operation cannot go on with.
    #[error("{function}: {what}")]
    Value {
        /// Where.
        function: String,
        /// What is wrong.
        what: String,
    },
    /// A dimension that has a name and no size.
    #[error("@{function} has the dimension {symbol}; give it a size first")]
    Symbol {
        /// The name of the function.
        function: String,
        /// The name of the dimension.
        symbol: String,
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
        if !self.is_flat() {
            return self.run_structured(x);
        }
        let mut results = vec![S::zero(); self.results().len()];
        self.run_into(x, &mut results, &mut Room::default())?;
        Ok(results)
    }

    /// How many numbers a run takes: arrays by their elements. None if a dimension has no size.
    pub fn inputs(&self) -> Option<usize> {
        self.params().iter().try_fold(0usize, |all, p| all.checked_add(p.ty.len()?))
    }

    /// A run of a function with arrays, integers or bodies: arrays as the numbers they are made of, row by
    /// row; integers and truth values as numbers, too.
    fn run_structured<S: Scalar>(&self, x: &[S]) -> Result<Vec<S>, RunError> {
        self.run_on(&mut Machine::new(), x)
    }

    /// A run on a machine that is there already.
    pub(crate) fn run_on<S: Scalar>(
        &self,
        machine: &mut Machine<'_, S>,
        x: &[S],
    ) -> Result<Vec<S>, RunError> {
        self.check_inputs(x.len(), 1)?;
        catch(|| {
            let code = Code::new(self);
            let mut frame = Frame::new(self);
            let args = self.arguments(x, 1)?;
            let results = code.run(machine, &mut frame, args, 1)?;
            if machine.guarded {
                code.check_guards(&frame)?;
            }
            let mut numbers = Vec::new();
            for (slot, value) in results.iter().zip(self.results()) {
                self.flatten(machine, slot, self.ty(*value).is_scalar(), &mut numbers)?;
            }
            Ok(numbers)
        })?
    }

    /// The numbers that a result is made of.
    fn flatten<S: Scalar>(
        &self,
        machine: &Machine<'_, S>,
        slot: &Slot<S>,
        scalar: bool,
        numbers: &mut Vec<S>,
    ) -> Result<(), RunError> {
        let len = slot.len();
        match slot {
            Slot::Number(_) | Slot::Numbers(_) => {
                let x = slot.view::<Numbers<S>>(scalar, 1);
                numbers.extend((0..len).map(|e| x.at(e, 0)));
            }
            Slot::Integer(_) | Slot::Integers(_) => {
                let x = slot.view::<Integers<S>>(scalar, 1);
                for e in 0..len {
                    numbers.push(machine.shown(self, x.at(e, 0))?);
                }
            }
            Slot::Truth(_) | Slot::Truths(_) => {
                let x = slot.view::<Truths<S>>(scalar, 1);
                numbers.extend((0..len).map(|e| S::select(x.at(e, 0), S::one(), S::zero())));
            }
        }
        Ok(())
    }

    /// Whether so many numbers are those of so many points.
    pub(crate) fn check_inputs(&self, found: usize, points: usize) -> Result<usize, RunError> {
        let function = || self.name().to_string();
        let Some(each) = self.inputs() else {
            let symbol = self.symbols().first().map_or("?", |s| s).to_string();
            return Err(RunError::Symbol { function: function(), symbol });
        };
        match each.checked_mul(points) {
            Some(expected) if expected == found => Ok(each),
            expected => {
                let expected = expected.unwrap_or(usize::MAX);
                Err(RunError::Arguments { function: function(), expected, found })
            }
        }
    }

    /// The arguments of some lanes, from the numbers of one after the other.
    pub(crate) fn arguments<S: Scalar>(
        &self,
        x: &[S],
        lanes: usize,
    ) -> Result<Vec<Option<Slot<S>>>, RunError> {
        let each = x.len() / lanes.max(1);
        let mut from = 0;
        let mut args = Vec::with_capacity(self.params().len());
        for param in self.params() {
            let len = param.ty.len().unwrap_or(0);
            let mut own = Vec::with_capacity(len * lanes);
            for e in from..from + len {
                own.extend((0..lanes).map(|lane| x[lane * each + e]));
            }
            from += len;
            args.push(Some(given(param.ty, own, (len, lanes)).ok_or_else(|| {
                let what = format!("%{} is {}, which was not given", param.name, param.ty);
                RunError::Value { function: format!("@{}", self.name()), what }
            })?));
        }
        Ok(args)
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
        if !self.is_flat() {
            let found = self.run_structured(x)?;
            if results.len() != found.len() {
                return Err(wrong(found.len(), results.len()));
            }
            results.copy_from_slice(&found);
            return Ok(());
        }
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
            *result = if self.ty(*value) == Type::BOOL {
                let mask = room.masks[value.index()];
                catch(|| S::select(mask, S::one(), S::zero()))?
            } else {
                room.numbers[value.index()]
            };
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
        if !self.is_flat() {
            let function = format!("@{}", self.name());
            let what = "a function with arrays or bodies is run as a whole".to_string();
            return Err(RunError::Value { function, what });
        }
        if let Some(param) = self.params().iter().find(|p| p.ty == Type::BOOL) {
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
                    code.visit(parameter, Compute([numbers[a], numbers[b], numbers[c]]))
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

/// An argument from numbers: its elements, each for all lanes.
fn given<S: Scalar>(ty: Type, numbers: Vec<S>, (len, lanes): (usize, usize)) -> Option<Slot<S>> {
    let (scalar, varies) = (ty.is_scalar(), lanes > 1);
    match ty.element() {
        element if element.is_float() => {
            Some(Slot::new::<Numbers<S>>(numbers, scalar, varies, len))
        }
        Element::Bool => {
            let zero = S::zero();
            let data = numbers.iter().map(|x| x.compare(zero, Comparison::Differ)).collect();
            Some(Slot::new::<Truths<S>>(data, scalar, varies, len))
        }
        element => {
            let fits = |c: &i64| element != Element::I32 || i32::try_from(*c).is_ok();
            let data: Option<Vec<i64>> = numbers
                .iter()
                .map(|x| match decided(*x) {
                    Some(x) => (x.trunc() == x && x.abs() < 9e15).then_some(x as i64).filter(fits),
                    None => Some(UNKNOWN),
                })
                .collect();
            Some(Slot::new::<Integers<S>>(data?, scalar, varies, len))
        }
    }
}

/// An operation on plain numbers of a type.
pub(crate) fn apply(code: Opcode, parameter: i32, x: &[f64], ty: Type) -> f64 {
    let mut args = [0.0; 3];
    args[..x.len()].copy_from_slice(x);
    match () {
        () if ty.element() == Element::F32 => {
            f64::from(code.visit(parameter, Apply(args.map(|x| x as f32))))
        }
        () => code.visit(parameter, Apply(args)),
    }
}

pub(crate) fn compare(comparison: Comparison, x: f64, y: f64) -> bool {
    comparison.holds(&x, &y)
}
