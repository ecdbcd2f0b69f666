//! Factorisations, and determinants through them.
//!
//! Cholesky: a column of the factor a round, kept as a row of its transpose, so that a round changes one row.
//! LU: Gaussian elimination with row exchanges; a pivot that is zero leaves its column as it is, as LAPACK's
//! `getrf` does, so that determinants of singular matrices are zero.

use super::{Described, Entry, Request, Source, ranks};

const TAKES: &str = "a square matrix [n, n]f64";

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        described: Described {
            name: "lib.cholesky",
            takes: TAKES,
            gives: "the lower triangular L with L Lᵀ = A for a symmetric positive definite A, of which only the \
                    lower triangle is looked at. So a tangent of A is its lower triangle, too, and the \
                    cotangent of A is zero above the diagonal; (C + Cᵀ)/2 is the symmetric one",
        },
        numbers: true,
        text: |r| square(r, CHOLESKY.to_string()),
        rule: Some(|r| square(r, CHOLESKY_RULE.to_string())),
        linear: None,
    },
    Entry {
        described: Described {
            name: "lib.lu",
            takes: TAKES,
            gives: "L (below the diagonal, which is one) and U in one matrix with L U = P A, and the order of \
                    the rows, i64: row i of P A is row p_i of A. The derivative is that for this order",
        },
        numbers: true,
        text: |r| square(r, LU.to_string()),
        rule: Some(|r| square(r, LU_RULE.to_string())),
        linear: None,
    },
    Entry {
        described: Described {
            name: "lib.determinant",
            takes: TAKES,
            gives: "the determinant, through LU",
        },
        numbers: true,
        text: |r| square(r, DETERMINANT.to_string()),
        rule: None,
        linear: None,
    },
    Entry {
        described: Described {
            name: "lib.log_determinant",
            takes: TAKES,
            gives: "the logarithm of the absolute value of the determinant, through LU",
        },
        numbers: true,
        text: |r| square(r, LOG_DETERMINANT.to_string()),
        rule: None,
        linear: None,
    },
];

fn square(r: &Request<'_>, text: String) -> Option<Source> {
    (r.sizes.is_empty() && ranks(r) == [2]).then(|| text.into())
}

const CHOLESKY: &str = "
fn @cholesky<n>(%a: [n, n]f64) -> [n, n]f64 {
  %n = extent{0} %a
  %zero = fill 0.0f64 : [n, n]f64
  %u = for %j < %n (%s = %zero) {
    %sum = red sum (%k < n) {
      %c = ld %s[%k, %j]
      %row = ld %s[%k]
      %p = mul %c, %row
      yield %p
    }
    %a_jj = ld %a[%j, %j]
    %s_j = ld %sum[%j]
    %square = sub %a_jj, %s_j
    %d = sqrt %square
    %row = tab (%i < n) {
      %r = imax %i, %j
      %a_ij = ld %a[%r, %j]
      %s_i = ld %sum[%i]
      %left = sub %a_ij, %s_i
      %q = div %left, %d
      %below = gt %i, %j
      %here = eq %i, %j
      %v = select %below, %q, 0.0
      %e = select %here, %d, %v
      yield %e
    }
    %new = put %s[%j], %row
    yield %new
  }
  %l = tab (%i < n, %j < n) { %e = ld %u[%j, %i] yield %e }
  ret %l
}
";

/// dL = L Φ(L⁻¹ dA L⁻ᵀ), Φ the lower triangle with half the diagonal: I. Murray, "Differentiation of the
/// Cholesky decomposition", arXiv:1602.07527, (8).
const CHOLESKY_RULE: &str = "
fn @rule<n>(%a: [n, n]f64, %da: lin [n, n]f64) -> [n, n]f64 {
  %l = call @lib.cholesky(%a)
  %s = tab (%i < n, %j < n) {
    %r = imax %i, %j
    %c = imin %i, %j
    %e = ld %da[%r, %c]
    yield %e
  }
  %y = call @lib.solve_lower.lin(%l, %s)
  %yt = tab (%i < n, %j < n) { %e = ld %y[%j, %i] yield %e }
  %z = call @lib.solve_lower.lin(%l, %yt)
  %phi = tab (%i < n, %j < n) {
    %e = ld %z[%i, %j]
    %half = mul %e, 0.5
    %below = gt %i, %j
    %here = eq %i, %j
    %d = select %here, %half, 0.0
    %f = select %below, %e, %d
    yield %f
  }
  %dl = tab (%i < n, %j < n) {
    %v = red sum (%k < n) {
      %c = ld %l[%i, %k]
      %e = ld %phi[%k, %j]
      %p = mul %c, %e
      yield %p
    }
    yield %v
  }
  ret %dl
}
";

const LU: &str = "
fn @lu<n>(%a: [n, n]f64) -> ([n, n]f64, [n]i64) {
  %n = extent{0} %a
  %order = tab (%i < n) { yield %i }
  %f, %p = for %k < %n (%s = %a, %q = %order) {
    %r = red argmax (%i < n) {
      %e = ld %s[%i, %k]
      %size = abs %e
      %rest = ge %i, %k
      %v = select %rest, %size, -1.0
      yield %v
    }
    %up = ld %s[%r]
    %down = ld %s[%k]
    %s1 = put %s[%r], %down
    %s2 = put %s1[%k], %up
    %first = ld %q[%r]
    %second = ld %q[%k]
    %q1 = put %q[%r], %second
    %q2 = put %q1[%k], %first
    %pivot = ld %s2[%k, %k]
    %none = eq %pivot, 0.0
    %d = select %none, 1.0, %pivot
    %new = tab (%i < n, %j < n) {
      %e = ld %s2[%i, %j]
      %c = ld %s2[%i, %k]
      %m = div %c, %d
      %u = ld %s2[%k, %j]
      %less = mul %m, %u
      %left = sub %e, %less
      %below = gt %i, %k
      %here = eq %j, %k
      %right = gt %j, %k
      %v = select %here, %m, %e
      %w = select %right, %left, %v
      %x = select %below, %w, %e
      yield %x
    }
    yield %new, %q2
  }
  ret %f, %p
}
";

/// With F = L⁻¹ P dA U⁻¹: dL = L tril(F, −1), dU = triu(F) U, as products of matrices with zeros in the other triangle. The
/// matrix %g is Fᵀ.
const LU_RULE: &str = "
fn @rule<n>(%a: [n, n]f64, %da: lin [n, n]f64) -> [n, n]f64 {
  %f, %p = call @lib.lu(%a)
  %pa = tab (%i < n) { %r = ld %p[%i] %e = ld %da[%r] yield %e }
  %y = call @lib.solve_unit_lower.lin(%f, %pa)
  %yt = tab (%i < n, %j < n) { %e = ld %y[%j, %i] yield %e }
  %g = call @lib.solve_upper_transposed.lin(%f, %yt)
  %l = tab (%i < n, %k < n) {
    %e = ld %f[%i, %k]
    %below = gt %i, %k
    %here = eq %i, %k
    %d = select %here, 1.0, 0.0
    %v = select %below, %e, %d
    yield %v
  }
  %u = tab (%k < n, %j < n) {
    %e = ld %f[%k, %j]
    %within = le %k, %j
    %v = select %within, %e, 0.0
    yield %v
  }
  %below = tab (%k < n, %j < n) {
    %e = ld %g[%j, %k]
    %within = gt %k, %j
    %v = select %within, %e, 0.0
    yield %v
  }
  %above = tab (%i < n, %k < n) {
    %e = ld %g[%k, %i]
    %within = ge %k, %i
    %v = select %within, %e, 0.0
    yield %v
  }
  %df = tab (%i < n, %j < n) {
    %dl = red sum (%k < n) {
      %c = ld %l[%i, %k]
      %e = ld %below[%k, %j]
      %p = mul %c, %e
      yield %p
    }
    %du = red sum (%k < n) {
      %e = ld %above[%i, %k]
      %c = ld %u[%k, %j]
      %p = mul %e, %c
      yield %p
    }
    %sum = add %dl, %du
    yield %sum
  }
  ret %df
}
";

/// The sign is that of the order: one for each pair that stands the other way round.
const DETERMINANT: &str = "
fn @determinant<n>(%a: [n, n]f64) -> f64 {
  %n = extent{0} %a
  %f, %p = call @lib.lu(%a)
  %d = for %i < %n (%s = 1.0f64) {
    %e = ld %f[%i, %i]
    %new = mul %s, %e
    yield %new
  }
  %turned = red sum (%i < n, %j < n) {
    %first = lt %i, %j
    %a_i = ld %p[%i]
    %a_j = ld %p[%j]
    %greater = gt %a_i, %a_j
    %both = and %first, %greater
    %one = select %both, 1, 0
    yield %one
  }
  %odd = irem %turned, 2
  %negative = eq %odd, 1
  %minus = neg %d
  %det = select %negative, %minus, %d
  ret %det
}
";

const LOG_DETERMINANT: &str = "
fn @log_determinant<n>(%a: [n, n]f64) -> f64 {
  %f, %p = call @lib.lu(%a)
  %log = red sum (%i < n) {
    %e = ld %f[%i, %i]
    %size = abs %e
    %l = ln %size
    yield %l
  }
  ret %log
}
";
