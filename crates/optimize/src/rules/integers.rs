//! Integers: indices, sizes. They wrap around, so sums may be reordered.

use crate::pattern::Rule;
use crate::rules::rule;
use crate::vocabulary::*;

#[rustfmt::skip]
pub(super) fn rules() -> Vec<Rule> {
    vec![
        // Constants outwards and together.
        rule!(isub_constant, Exact: isub(i, m) => iadd(i, minus(m))),
        rule!(iadd_iadd, Exact: iadd(iadd(i, m), n) => iadd(i, plus(m, n))),
        rule!(imul_imul, Exact: imul(imul(i, m), n) => imul(i, times(m, n))),
        rule!(iadd_isub, Exact: iadd(isub(m, i), n) => isub(plus(m, n), i)),
        rule!(isub_isub, Exact: isub(m, isub(n, i)) => iadd(i, less(m, n))),
        rule!(isub_iadd, Exact: isub(m, iadd(i, n)) => isub(less(m, n), i)),
        rule!(isub_of_iadds, Exact: isub(iadd(i, m), iadd(j, n)) => iadd(isub(i, j), less(m, n))),

        // There and back.
        rule!(isub_self, Exact: isub(i, i) => 0),
        rule!(iadd_isub_back, Exact: iadd(isub(i, j), j) => i),
        rule!(isub_iadd_back, Exact: isub(iadd(i, j), j) => i),
        rule!(isub_isub_back, Exact: isub(i, isub(i, j)) => j),
        rule!(isub_own_part, Exact: isub(iadd(i, m), i) => iadd(isub(i, i), m)),
        rule!(imul_0, Exact: imul(i, 0) => 0),
        rule!(zero_idiv, Exact: idiv(0, i) => 0),
        rule!(zero_irem, Exact: irem(0, i) => 0),
        rule!(irem_1, Exact: irem(i, 1) => 0),
        rule!(irem_irem, Exact: irem(irem(i, n), n) => irem(i, n)),
        rule!(idiv_idiv, Exact: idiv(idiv(i, m), n) => idiv(i, times(m, n)), if positive(m, n)),

        // The larger and the smaller.
        rule!(imin_self, Exact: imin(i, i) => i),
        rule!(imax_self, Exact: imax(i, i) => i),
        rule!(imin_imin, Exact: imin(imin(i, j), j) => imin(i, j)),
        rule!(imax_imax, Exact: imax(imax(i, j), j) => imax(i, j)),
        rule!(imin_imax, Exact: imin(imax(i, j), j) => j),
        rule!(imax_imin, Exact: imax(imin(i, j), j) => j),

        // Comparisons; there is no integer that is not a number.
        rule!(ieq_self, Exact: eq(i, i) => true),
        rule!(ine_self, Exact: ne(i, i) => false),
        rule!(ilt_self, Exact: lt(i, i) => false),
        rule!(igt_self, Exact: gt(i, i) => false),
        rule!(ile_self, Exact: le(i, i) => true),
        rule!(ige_self, Exact: ge(i, i) => true),
        rule!(not_ilt, Exact: not(lt(i, j)) => ge(i, j)),
        rule!(not_ile, Exact: not(le(i, j)) => gt(i, j)),
        rule!(not_igt, Exact: not(gt(i, j)) => le(i, j)),
        rule!(not_ige, Exact: not(ge(i, j)) => lt(i, j)),
        rule!(not_ieq, Exact: not(eq(i, j)) => ne(i, j)),
        rule!(not_ine, Exact: not(ne(i, j)) => eq(i, j)),
        rule!(ieq_iadd, Exact: eq(iadd(i, m), n) => eq(i, less(n, m))),
        rule!(ine_iadd, Exact: ne(iadd(i, m), n) => ne(i, less(n, m))),
    ]
}
