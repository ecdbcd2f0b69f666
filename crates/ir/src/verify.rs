//! What must hold of every function, however it was made.

use crate::function::{Function, Op, Type, Value};
use cotangent_ops::Opcode;

/// What does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// An operand that does not come before its use.
    #[error("value {value} uses value {operand}, which comes later")]
    Order {
        /// The user.
        value: usize,
        /// The operand.
        operand: usize,
    },
    /// An operand of the wrong type.
    #[error("value {value}, `{name}`: operand {operand} is {found}, not {expected}")]
    Type {
        /// The user.
        value: usize,
        /// What it does.
        name: &'static str,
        /// Which operand.
        operand: usize,
        /// Its type.
        found: Type,
        /// What it should be.
        expected: Type,
    },
    /// A parameter that is not one.
    #[error("value {value} is parameter {param} of {count}, or another type than it")]
    Param {
        /// The value.
        value: usize,
        /// Its number.
        param: usize,
        /// How many there are.
        count: usize,
    },
    /// A linear value where the result is not linear in it.
    #[error(
        "value {value}, `{name}`: operand {operand} is a tangent or cotangent, in which `{name}` is not linear"
    )]
    NotLinear {
        /// The user.
        value: usize,
        /// What it does.
        name: &'static str,
        /// Which operand.
        operand: usize,
    },
    /// A result or guard that is no value, or of the wrong type.
    #[error("{what} {index} is no value of the function that it could be")]
    Root {
        /// A result or a guard.
        what: &'static str,
        /// Which one.
        index: usize,
    },
}

impl Function {
    /// Checks types, order and linearity.
    ///
    /// # Errors
    /// The first thing that does not hold.
    pub fn verify(&self) -> Result<(), VerifyError> {
        for value in self.values() {
            self.verify_value(value)?;
        }
        let exists = |v: &Value| v.index() < self.len();
        for (index, value) in self.results().iter().enumerate() {
            if !exists(value) {
                return Err(VerifyError::Root { what: "result", index });
            }
        }
        for (index, guard) in self.guards().iter().enumerate() {
            if !exists(&guard.condition) || self.ty(guard.condition) != Type::Bool {
                return Err(VerifyError::Root { what: "guard", index });
            }
        }
        self.linear_values().map(|_| ())
    }

    fn verify_value(&self, value: Value) -> Result<(), VerifyError> {
        let (op, ty, at) = (self.op(value), self.ty(value), value.index());
        for operand in self.operands(value) {
            if operand >= value {
                return Err(VerifyError::Order { value: at, operand: operand.index() });
            }
        }
        if let Op::Param(k) = op {
            let (param, count) = (k as usize, self.params().len());
            if self.params().get(param).is_none_or(|p| p.ty != ty) {
                return Err(VerifyError::Param { value: at, param, count });
            }
        }
        let of = |k: usize| self.operands(value).nth(k).map_or(ty, |v| self.ty(v));
        let wants = |k: usize| match op {
            Op::And | Op::Or | Op::Not => Type::Bool,
            Op::Select if k == 0 => Type::Bool,
            // The first says which; it must be a number.
            Op::Compare(_) => {
                if of(0).is_float() {
                    of(0)
                } else {
                    Type::F64
                }
            }
            Op::Elementary(..) if !ty.is_float() => Type::F64,
            _ => ty,
        };
        for operand in 0..op.arity() {
            let (found, expected) = (of(operand), wants(operand));
            if found != expected {
                let name = op.name();
                return Err(VerifyError::Type { value: at, name, operand, found, expected });
            }
        }
        Ok(())
    }

    /// Which values depend on linear parameters, and so linearly.
    ///
    /// # Errors
    /// A linear value used where the result is not linear in it.
    pub fn linear_values(&self) -> Result<Vec<bool>, VerifyError> {
        let mut linear = vec![false; self.len()];
        for value in self.values() {
            let op = self.op(value);
            let args: Vec<Value> = self.operands(value).collect();
            let is = |k: usize| linear[args[k].index()];
            let zero = |k: usize| self.op(args[k]) == Op::Constant(0);
            let any = (0..args.len()).any(is);
            let bad =
                |operand| VerifyError::NotLinear { value: value.index(), name: op.name(), operand };
            let result = match op {
                Op::Param(k) => self.params()[k as usize].linear,
                _ if !any => false,
                Op::Elementary(Opcode::Neg, _) => true,
                Op::Elementary(Opcode::Add | Opcode::Sub, _) => {
                    // A sum with a number that is not zero is affine, not linear.
                    match (0..2).find(|k| !is(*k) && !zero(*k)) {
                        Some(other) => return Err(bad(1 - other)),
                        None => true,
                    }
                }
                Op::Elementary(Opcode::Mul | Opcode::StrongMul, _) => {
                    if is(0) && is(1) {
                        return Err(bad(1));
                    }
                    true
                }
                Op::Elementary(Opcode::Div, _) if !is(1) => true,
                Op::Select if !is(0) => match (1..3).find(|k| !is(*k) && !zero(*k)) {
                    Some(other) => return Err(bad(3 - other)),
                    None => true,
                },
                _ => return Err(bad((0..args.len()).find(|k| is(*k)).unwrap_or(0))),
            };
            linear[value.index()] = result;
        }
        for guard in self.guards() {
            if linear[guard.condition.index()] {
                return Err(VerifyError::Root { what: "guard", index: 0 });
            }
        }
        Ok(linear)
    }
}
