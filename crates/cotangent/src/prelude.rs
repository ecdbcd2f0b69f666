//! What most programs need: `use cotangent::prelude::*;`.

pub use crate::operator::{
    derivative, gradient, gradient_and_hvp, hessian, hvp, jacobian, prepare_derivative,
    prepare_gradient, prepare_hessian, prepare_hvp, prepare_jacobian, prepare_pullback,
    prepare_pushforward, prepare_second_derivative, prepare_taylor, pullback, pushforward,
    second_derivative, taylor, taylor_along, value_and_derivative, value_and_gradient,
    value_and_jacobian, value_and_pullback, value_and_pushforward,
    value_derivative_and_second_derivative, value_gradient_and_hessian,
};
pub use crate::{
    Auto, Context, Differentiable, Elementary, FiniteDifferences, Forward, MachineCode, Many, One,
    Reverse, Scalar, SecondOrder, Var, function, recorded,
};
