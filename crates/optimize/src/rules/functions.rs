//! Functions of one number: signs, powers, roots, exponentials.

use crate::pattern::Rule;
use crate::rules::rule;
use crate::vocabulary::*;

#[rustfmt::skip]
pub(super) fn rules() -> Vec<Rule> {
    vec![
        // Absolute values and signs.
        rule!(abs_neg, Exact: abs(neg(x)) => abs(x)),
        rule!(abs_abs, Exact: abs(abs(x)) => abs(x)),
        rule!(abs_square, Exact: abs(mul(x, x)) => mul(x, x)),
        rule!(abs_exp, Exact: abs(exp(x)) => exp(x)),
        rule!(abs_sqrt, Zero: abs(sqrt(x)) => sqrt(x)),
        rule!(square_abs, Exact: mul(abs(x), abs(x)) => mul(x, x)),
        rule!(sgn_abs, Exact: mul(sgn(x), abs(x)) => x),
        rule!(sgn_sgn, Exact: sgn(sgn(x)) => sgn(x)),
        rule!(sgn_neg, Exact: sgn(neg(x)) => neg(sgn(x))),

        // Even and odd functions.
        rule!(cos_neg, Exact: cos(neg(x)) => cos(x)),
        rule!(cos_abs, Exact: cos(abs(x)) => cos(x)),
        rule!(cosh_neg, Exact: cosh(neg(x)) => cosh(x)),
        rule!(sin_neg, Exact: sin(neg(x)) => neg(sin(x))),
        rule!(tanh_neg, Exact: tanh(neg(x)) => neg(tanh(x))),

        // Powers.
        rule!(power_0, Exact: powi(0, x) => 1.0),
        rule!(power_minus_1, Exact: powi(-1, x) => recip(x)),
        rule!(square_neg, Exact: powi(2, neg(x)) => powi(2, x)),
        rule!(square_of_abs, Exact: powi(2, abs(x)) => powi(2, x)),
        rule!(cube_neg, Exact: powi(3, neg(x)) => neg(powi(3, x))),
        rule!(powf_0, Exact: powf(x, 0.0) => 1.0),
        rule!(powf_1, Exact: powf(x, 1.0) => x),
        rule!(powf_2, Approx: powf(x, 2.0) => mul(x, x)),
        rule!(powf_half, Approx: powf(x, 0.5) => sqrt(x)),
        rule!(powf_minus_1, Approx: powf(x, -1.0) => recip(x)),
        rule!(square_of_sqrt, Approx: mul(sqrt(x), sqrt(x)) => x),
        rule!(sqrt_of_square, Approx: sqrt(mul(x, x)) => abs(x)),
        rule!(recip_recip, Approx: recip(recip(x)) => x),

        // At points where they are exact.
        rule!(exp_0, Exact: exp(0.0) => 1.0),
        rule!(ln_1, Exact: ln(1.0) => 0.0),
        rule!(sin_0, Exact: sin(0.0) => 0.0),
        rule!(cos_0, Exact: cos(0.0) => 1.0),
        rule!(tanh_0, Exact: tanh(0.0) => 0.0),
        rule!(sqrt_0, Exact: sqrt(0.0) => 0.0),
        rule!(sqrt_1, Exact: sqrt(1.0) => 1.0),

        // Exponentials and logarithms.
        rule!(ln_exp, Approx: ln(exp(x)) => x),
        rule!(exp_ln, Approx: exp(ln(x)) => x),
        rule!(exp_product, Approx: mul(exp(x), exp(y)) => exp(add(x, y))),
        rule!(exp_minus_1, Approx: sub(exp(x), 1.0) => exp_m1(x)),
        rule!(ln_1_plus, Approx: ln(add(x, 1.0)) => ln_1p(x)),
        rule!(recip_exp, Approx: recip(exp(x)) => exp(neg(x))),
    ]
}
