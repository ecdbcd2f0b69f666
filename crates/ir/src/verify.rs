//! What must hold of every function, however it was made.

use std::sync::Arc;

use cotangent_ops::Opcode;
use rustc_hash::FxHashSet;

use crate::function::{Function, Value};
use crate::op::Op;
use crate::structure::{Reducer, Structure};
use crate::types::{Dim, Element, Type};

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
    /// Dimensions that do not fit.
    #[error("value {value}, `{name}`: {what}")]
    Dims {
        /// The value.
        value: usize,
        /// What it does.
        name: &'static str,
        /// What is wrong.
        what: String,
    },
    /// An operation with a body that does not fit its operands.
    #[error("`{name}`: {what}")]
    Structure {
        /// What it does.
        name: &'static str,
        /// What is wrong.
        what: String,
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
        self.verify_once(&mut FxHashSet::default())
    }

    /// Functions that are called are looked at once, however often they are.
    fn verify_once(&self, seen: &mut FxHashSet<*const Function>) -> Result<(), VerifyError> {
        for value in self.values() {
            self.verify_value(value, seen)?;
        }
        let exists = |v: &Value| v.index() < self.len();
        for (index, value) in self.results().iter().enumerate() {
            if !exists(value) {
                return Err(VerifyError::Root { what: "result", index });
            }
        }
        for (index, guard) in self.guards().iter().enumerate() {
            if !exists(&guard.condition) || self.ty(guard.condition) != Type::BOOL {
                return Err(VerifyError::Root { what: "guard", index });
            }
        }
        self.linear_values().map(|_| ())
    }

    fn verify_value(
        &self,
        value: Value,
        seen: &mut FxHashSet<*const Function>,
    ) -> Result<(), VerifyError> {
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
        if let Some(structure) = self.structure(value) {
            let types: Vec<Type> = self.operands(value).map(|v| self.ty(v)).collect();
            structure.check(&types)?;
            return structure.bodies().try_for_each(|body| match seen.insert(Arc::as_ptr(body)) {
                true => body.verify_once(seen),
                false => Ok(()),
            });
        }
        if let Op::Part(k) = op {
            let whole = self.operand(value, 0);
            let Some(structure) = self.structure(whole) else {
                return Err(VerifyError::Root { what: "part", index: at });
            };
            let operands: Vec<Value> = self.operands(whole).collect();
            let types = structure.part_types(self.bound(structure, &operands));
            return match types.get(k as usize) {
                Some(part) if *part == ty => Ok(()),
                _ => Err(VerifyError::Root { what: "part", index: at }),
            };
        }
        self.verify_types(value)
    }

    fn verify_types(&self, value: Value) -> Result<(), VerifyError> {
        let (op, ty, at) = (self.op(value), self.ty(value), value.index());
        let operands: Vec<Type> = self.operands(value).map(|v| self.ty(v)).collect();
        let element = ty.element();
        let first = operands.first().map_or(element, |ty| ty.element());
        for (operand, found) in operands.iter().copied().enumerate() {
            let index = matches!(op, Op::Load) && operand > 0
                || matches!(op, Op::Put | Op::PutAdd) && operand > 1;
            let expected = match op {
                Op::And | Op::Or | Op::Not => Element::Bool,
                Op::Select if operand == 0 => Element::Bool,
                // The first says which; it must be a number.
                Op::Compare(_) if first == Element::Bool => Element::F64,
                Op::Compare(_) => first,
                Op::Elementary(..) if !element.is_float() => Element::F64,
                Op::Integral(_) if !element.is_integer() => Element::I64,
                Op::Cast | Op::Extent(_) => found.element(),
                Op::Argsort if !found.is_float() => Element::F64,
                Op::Argsort => found.element(),
                _ if index => Element::I64,
                _ => element,
            };
            if found.element() != expected || found == Type::PARTS || (index && !found.is_scalar())
            {
                let (name, expected) = (op.name(), Type::scalar(expected));
                return Err(VerifyError::Type { value: at, name, operand, found, expected });
            }
        }
        let wrong = |what: String| Err(VerifyError::Dims { value: at, name: op.name(), what });
        if ty.dims().iter().skip(1).any(|dim| *dim == Dim::Any) {
            return wrong("only the first dimension can be unknown".to_string());
        }
        match op {
            Op::Table(_) => match self.table(value) {
                Some(table) if table.ty() == ty => {}
                _ => return wrong(format!("the entries are no {ty}")),
            },
            Op::Load => {
                let (array, indices) = (operands[0], operands.len() - 1);
                if indices > array.dims().len() || array.after(indices) != ty {
                    return wrong(format!("{indices} indices of {array} do not give {ty}"));
                }
            }
            Op::Put | Op::PutAdd => {
                let (array, inner, indices) = (operands[0], operands[1], operands.len() - 2);
                if array != ty || indices > ty.dims().len() || ty.after(indices) != inner {
                    return wrong(format!("{inner} does not go to {indices} indices of {array}"));
                }
            }
            Op::Fill if !operands[0].is_scalar() => {
                return wrong(format!("it is filled with {}, which is no scalar", operands[0]));
            }
            Op::Extent(k) if k as usize >= operands[0].dims().len() => {
                return wrong(format!("there is no dimension {k} of {}", operands[0]));
            }
            Op::Fill | Op::Extent(_) => {}
            Op::Argsort if operands[0].dims().len() != 1 => {
                return wrong(format!("{} is no list", operands[0]));
            }
            _ => {
                if let Some(other) =
                    operands.iter().find(|o| !o.is_scalar() && o.dims() != ty.dims())
                {
                    return wrong(format!("{other} among operands of {ty}"));
                }
                let none = !operands.is_empty() && operands.iter().all(|o| o.is_scalar());
                if none && !ty.is_scalar() {
                    return wrong(format!("scalars do not give {ty}"));
                }
            }
        }
        Ok(())
    }

    /// Whether a value is zero everywhere, of whichever sign.
    pub fn is_zero(&self, value: Value) -> bool {
        self.zero(value).is_some()
    }

    /// Which zero a value is everywhere, if it is one.
    pub(crate) fn zero(&self, value: Value) -> Option<Zero> {
        match self.op(value) {
            Op::Constant(bits) => Zero::of(f64::from_bits(bits)),
            Op::Fill => self.zero(self.operand(value, 0)),
            Op::Part(k) => self.zero_part(self.operand(value, 0), k as usize),
            _ => None,
        }
    }

    /// Which zero a part of an operation with a body is everywhere, as its bodies say.
    pub(crate) fn zero_part(&self, whole: Value, k: usize) -> Option<Zero> {
        let zero = |f: &Function| f.results().get(k).and_then(|result| f.zero(*result));
        let structure = self.structure(whole)?;
        match structure {
            Structure::If { yes, no } => Some(zero(yes)?.or(zero(no)?)),
            Structure::Tab { body, .. }
            | Structure::Red { reducer: Reducer::Sum, body, .. }
            | Structure::Call { function: body } => zero(body),
            // A carry may go no round; what is stacked is made by one.
            Structure::For { carries, body } | Structure::While { carries, body, .. } => {
                if k >= *carries {
                    return zero(body);
                }
                let start = self.operands(whole).nth(structure.lead() + k)?;
                Some(self.zero(start)?.or(zero(body)?))
            }
            Structure::Acc { .. } | Structure::Red { .. } | Structure::Derive(_) => None,
        }
    }

    /// Which values depend on linear parameters, and so linearly.
    ///
    /// # Errors
    /// A linear value used where the result is not linear in it.
    pub fn linear_values(&self) -> Result<Vec<bool>, VerifyError> {
        let mut linear = vec![false; self.len()];
        let mut parts: Vec<Vec<bool>> = vec![Vec::new(); self.structures.len()];
        let mut args: Vec<Value> = Vec::new();
        for value in self.values() {
            let op = self.op(value);
            args.clear();
            args.extend(self.operands(value));
            let is = |k: usize| linear[args[k].index()];
            let zero = |k: usize| self.is_zero(args[k]);
            let any = (0..args.len()).any(is);
            let bad =
                |operand| VerifyError::NotLinear { value: value.index(), name: op.name(), operand };
            let result = match op {
                Op::Param(k) => self.params()[k as usize].linear,
                Op::Structure(number) => {
                    let structure = &self.structures[number as usize];
                    parts[number as usize] = structure.linear_parts()?;
                    // What goes to a linear parameter is linear or zero, and nothing linear goes elsewhere.
                    let body = structure.params();
                    for operand in 0..args.len() {
                        let param = structure.param_of(operand).and_then(|k| body.get(k));
                        let derived = matches!(structure, Structure::Derive(_));
                        let wants = !derived && param.is_some_and(|p| p.linear);
                        if (is(operand) && !wants) || (wants && !is(operand) && !zero(operand)) {
                            let name = structure.name();
                            return Err(VerifyError::NotLinear {
                                value: value.index(),
                                name,
                                operand,
                            });
                        }
                    }
                    false
                }
                Op::Part(k) => match self.op(args[0]) {
                    Op::Structure(number) => {
                        parts[number as usize].get(k as usize).copied().unwrap_or(false)
                    }
                    _ => false,
                },
                _ if !any => false,
                Op::Fill | Op::Cast | Op::Keep | Op::Recompute if self.ty(value).is_float() => true,
                Op::Load => true,
                Op::Extent(_) => false,
                Op::Put | Op::PutAdd => match (0..2).find(|k| !is(*k) && !zero(*k)) {
                    Some(other) => return Err(bad(1 - other)),
                    None => true,
                },
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

/// A number that is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zero {
    Plus,
    Minus,
    /// Here one, there the other.
    Either,
}

impl Zero {
    fn of(c: f64) -> Option<Zero> {
        match (c == 0.0, c.is_sign_negative()) {
            (false, _) => None,
            (true, false) => Some(Zero::Plus),
            (true, true) => Some(Zero::Minus),
        }
    }

    fn or(self, other: Zero) -> Zero {
        if self == other { self } else { Zero::Either }
    }

    /// The number, if it is the same everywhere.
    pub(crate) fn number(self) -> Option<f64> {
        match self {
            Zero::Plus => Some(0.0),
            Zero::Minus => Some(-0.0),
            Zero::Either => None,
        }
    }
}
