//! Comparisons, truth values and choices.

use crate::pattern::Rule;
use crate::rules::rule;
use crate::vocabulary::*;

#[rustfmt::skip]
pub(super) fn rules() -> Vec<Rule> {
    vec![
        // A number and itself; NaN is neither less nor greater.
        rule!(lt_self, Exact: lt(x, x) => false),
        rule!(gt_self, Exact: gt(x, x) => false),
        rule!(lt_neg, Exact: lt(neg(x), neg(y)) => gt(x, y)),
        rule!(gt_neg, Exact: gt(neg(x), neg(y)) => lt(x, y)),
        rule!(le_neg, Exact: le(neg(x), neg(y)) => ge(x, y)),
        rule!(ge_neg, Exact: ge(neg(x), neg(y)) => le(x, y)),
        rule!(lt_neg_constant, Exact: lt(neg(x), c) => gt(x, minus(c))),
        rule!(gt_neg_constant, Exact: gt(neg(x), c) => lt(x, minus(c))),
        rule!(lt_difference, Exact: lt(sub(x, y), 0.0) => lt(x, y)),
        rule!(gt_difference, Exact: gt(sub(x, y), 0.0) => gt(x, y)),
        rule!(abs_lt_0, Exact: lt(abs(x), 0.0) => false),
        rule!(square_lt_0, Exact: lt(mul(x, x), 0.0) => false),
        rule!(abs_eq_0, Exact: eq(abs(x), 0.0) => eq(x, 0.0)),
        rule!(abs_ne_0, Exact: ne(abs(x), 0.0) => ne(x, 0.0)),
        // A root is compared with a number by what is under it.
        rule!(gt_root, Exact: gt(sqrt(x), c) => gt(x, most_with_root(c)), if has_square(c)),
        rule!(ge_root, Exact: ge(sqrt(x), c) => ge(x, least_with_root(c)), if has_square(c)),
        rule!(lt_root, Exact: lt(sqrt(x), c) => and(ge(x, 0.0), lt(x, least_with_root(c))), if has_square(c)),
        rule!(le_root, Exact: le(sqrt(x), c) => and(ge(x, 0.0), le(x, most_with_root(c))), if has_square(c)),

        // Truth values.
        rule!(not_eq, Exact: not(eq(x, y)) => ne(x, y)),
        rule!(not_ne, Exact: not(ne(x, y)) => eq(x, y)),
        rule!(and_self, Exact: and(p, p) => p),
        rule!(or_self, Exact: or(p, p) => p),
        rule!(and_not, Exact: and(p, not(p)) => false),
        rule!(or_not, Exact: or(p, not(p)) => true),
        rule!(and_or, Exact: and(p, or(p, q)) => p),
        rule!(or_and, Exact: or(p, and(p, q)) => p),
        rule!(and_and, Exact: and(p, and(p, q)) => and(p, q)),
        rule!(or_or, Exact: or(p, or(p, q)) => or(p, q)),
        rule!(not_and_not, Exact: not(and(not(p), not(q))) => or(p, q)),
        rule!(not_or_not, Exact: not(or(not(p), not(q))) => and(p, q)),

        // Choices.
        rule!(select_not, Exact: select(not(p), u, v) => select(p, v, u)),
        rule!(select_true_false, Exact: select(p, true, false) => p),
        rule!(select_false_true, Exact: select(p, false, true) => not(p)),
        rule!(select_and, Exact: select(p, q, false) => and(p, q)),
        rule!(select_or, Exact: select(p, true, q) => or(p, q)),
        rule!(select_select_yes, Exact: select(p, select(p, t, u), v) => select(p, t, v)),
        rule!(select_select_no, Exact: select(p, t, select(p, u, v)) => select(p, t, v)),
        rule!(select_nested_yes, Exact: select(p, select(q, t, u), u) => select(and(p, q), t, u)),
        rule!(select_neg, Exact: select(p, neg(x), neg(y)) => neg(select(p, x, y))),
        rule!(add_selects, Exact: add(select(p, x, y), select(p, y, x)) => add(x, y)),
        rule!(add_masked, Zero: add(select(p, x, 0.0), select(p, 0.0, y)) => select(p, x, y)),
        rule!(add_masked_alike, Zero: add(select(p, x, 0.0), select(p, y, 0.0)) => select(p, add(x, y), 0.0)),
        rule!(select_to_other, Exact: select(p, t, select(q, t, w)) => select(or(p, q), t, w)),
    ]
}
