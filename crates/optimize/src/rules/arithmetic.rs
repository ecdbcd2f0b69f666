//! Sums, products, quotients, and the larger and smaller of two.

use crate::pattern::Rule;
use crate::rules::rule;
use crate::vocabulary::*;

#[rustfmt::skip]
pub(super) fn rules() -> Vec<Rule> {
    vec![
        // Nothing added.
        rule!(add_zero, Zero: add(x, 0.0) => x),
        rule!(add_minus_zero, Exact: add(x, -0.0) => x),
        rule!(sub_zero, Exact: sub(x, 0.0) => x),
        rule!(sub_minus_zero, Zero: sub(x, -0.0) => x),
        rule!(zero_sub, Zero: sub(0.0, x) => neg(x)),
        rule!(minus_zero_sub, Exact: sub(-0.0, x) => neg(x)),
        rule!(add_self, Exact: add(x, x) => mul(x, 2.0)),

        // Signs go outwards, and into sums, differences and constants.
        rule!(add_neg, Exact: add(x, neg(y)) => sub(x, y)),
        rule!(sub_neg, Exact: sub(x, neg(y)) => add(x, y)),
        rule!(neg_sub, Zero: neg(sub(x, y)) => sub(y, x)),
        rule!(sub_of_neg, Zero: sub(neg(x), y) => neg(add(x, y))),
        rule!(mul_neg_neg, Exact: mul(neg(x), neg(y)) => mul(x, y)),
        rule!(div_neg_neg, Exact: div(neg(x), neg(y)) => div(x, y)),
        rule!(strong_mul_neg_neg, Exact: strong_mul(neg(x), neg(y)) => strong_mul(x, y)),
        rule!(mul_minus_one, Exact: mul(x, -1.0) => neg(x)),
        rule!(div_minus_one, Exact: div(x, -1.0) => neg(x)),
        rule!(mul_neg_constant, Exact: mul(neg(x), c) => mul(x, minus(c))),
        rule!(neg_mul_constant, Exact: neg(mul(x, c)) => mul(x, minus(c))),
        rule!(div_neg_constant, Exact: div(neg(x), c) => div(x, minus(c))),
        rule!(neg_div_constant, Exact: neg(div(x, c)) => div(x, minus(c))),
        rule!(constant_div_neg, Exact: div(c, neg(x)) => div(minus(c), x)),
        rule!(neg_constant_div, Exact: neg(div(c, x)) => div(minus(c), x)),
        rule!(mul_neg, Exact: mul(x, neg(y)) => neg(mul(x, y))),
        rule!(div_neg, Exact: div(x, neg(y)) => neg(div(x, y))),
        rule!(neg_div, Exact: div(neg(x), y) => neg(div(x, y))),
        rule!(strong_mul_neg, Zero: strong_mul(x, neg(y)) => neg(strong_mul(x, y))),
        rule!(neg_strong_mul, Zero: strong_mul(neg(x), y) => neg(strong_mul(x, y))),

        rule!(mul_mul_scale, Exact: mul(mul(x, c), d) => mul(x, times(c, d)), if only_scales(c, d)),

        // Products whose zeros are strong. A coefficient that is zero at all points wins as a zero tangent does.
        rule!(strong_mul_zero, Zero: strong_mul(x, 0.0) => 0.0),
        rule!(minus_zero_strong_mul, Exact: strong_mul(-0.0, x) => 0.0),
        rule!(strong_mul_minus_zero, Zero: strong_mul(x, -0.0) => 0.0),
        rule!(strong_mul_constant, Zero: strong_mul(x, c) => mul(x, c), if not_zero(c)),
        rule!(strong_mul_mask, Zero: strong_mul(x, select(p, 1.0, 0.0)) => select(p, x, 0.0)),
        rule!(strong_mul_other_mask, Zero: strong_mul(x, select(p, 0.0, 1.0)) => select(p, 0.0, x)),
        rule!(mask_strong_mul, Zero: strong_mul(select(p, 1.0, 0.0), x) => select(p, x, 0.0)),
        rule!(other_mask_strong_mul, Zero: strong_mul(select(p, 0.0, 1.0), x) => select(p, 0.0, x)),
        rule!(zero_strong_div, Exact: strong_div(0.0, x) => 0.0),
        rule!(strong_div_constant, Zero: strong_div(x, c) => div(x, c), if not_zero(c)),

        // Quotients.
        rule!(div_power_of_two, Exact: div(x, c) => mul(x, inverse(c)), if power_of_two(c)),
        rule!(one_div, Exact: div(1.0, x) => recip(x)),
        rule!(mul_add_one, Exact: mul_add(x, 1.0, y) => add(x, y)),
        rule!(one_mul_add, Exact: mul_add(1.0, x, y) => add(x, y)),
        rule!(mul_add_zero, Zero: mul_add(x, y, 0.0) => mul(x, y)),
        rule!(mul_add_minus_zero, Exact: mul_add(x, y, -0.0) => mul(x, y)),

        // The larger and the smaller; a tie goes to the first.
        rule!(max_self, Exact: max(x, x) => x),
        rule!(min_self, Exact: min(x, x) => x),
        rule!(max_max, Exact: max(max(x, y), y) => max(x, y)),
        rule!(max_first_max, Exact: max(x, max(x, y)) => max(x, y)),
        rule!(max_max_first, Exact: max(max(x, y), x) => max(x, y)),
        rule!(min_min, Exact: min(min(x, y), y) => min(x, y)),
        rule!(min_first_min, Exact: min(x, min(x, y)) => min(x, y)),
        rule!(min_min_first, Exact: min(min(x, y), x) => min(x, y)),
        rule!(max_neg, Exact: max(neg(x), neg(y)) => neg(min(x, y))),
        rule!(min_neg, Exact: min(neg(x), neg(y)) => neg(max(x, y))),

        // One rounding less.
        rule!(contract_add, Contract: add(mul(x, y), z) => mul_add(x, y, z)),

        // Another order of sums and products.
        rule!(add_add_constant, Reassoc: add(add(x, c), d) => add(x, plus(c, d))),
        rule!(sub_constant, Reassoc: sub(add(x, c), d) => add(x, less(c, d))),
        rule!(mul_mul_constant, Reassoc: mul(mul(x, c), d) => mul(x, times(c, d))),
        rule!(add_multiples, Reassoc: add(mul(x, c), mul(x, d)) => mul(x, plus(c, d))),
        rule!(add_one_more, Reassoc: add(mul(x, c), x) => mul(x, plus_one(c))),
        rule!(factor_out, Reassoc: add(mul(x, y), mul(x, z)) => mul(x, add(y, z))),
        rule!(factor_out_of_sub, Reassoc: sub(mul(x, y), mul(x, z)) => mul(x, sub(y, z))),
        rule!(strong_factor_out, Reassoc: add(strong_mul(x, y), strong_mul(x, z)) => strong_mul(x, add(y, z))),
        rule!(strong_factor_common, Reassoc: add(strong_mul(x, y), strong_mul(z, y)) => strong_mul(add(x, z), y)),
        rule!(div_div, Reassoc: div(div(x, y), z) => div(x, mul(y, z))),
        rule!(div_of_div, Reassoc: div(x, div(y, z)) => div(mul(x, z), y)),
        rule!(mul_recip, Reassoc: mul(x, recip(y)) => div(x, y)),
        rule!(div_recip, Reassoc: div(x, recip(y)) => mul(x, y)),
        rule!(strong_mul_recip, Reassoc: strong_mul(x, recip(y)) => strong_div(x, y)),
        rule!(add_sub_back, Reassoc: add(sub(x, y), y) => x),
        rule!(sub_add_back, Reassoc: sub(add(x, y), y) => x),

        // What holds of finite numbers.
        rule!(mul_zero, Approx: mul(x, 0.0) => 0.0),
        rule!(sub_self, Approx: sub(x, x) => 0.0),
        rule!(div_self, Approx: div(x, x) => 1.0),
        rule!(div_mul_back, Approx: div(mul(x, y), y) => x),
        rule!(mul_div_back, Approx: mul(div(x, y), y) => x),
    ]
}
