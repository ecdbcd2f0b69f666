//! Triangular solves, and solves through LU.
//!
//! Rows are found one after the other, `x_i = (b_i − Σ_j a_ij x_j) / a_ii` over the rows found so far; a row is
//! a number where the right-hand side is a list. So both are the same text.

use super::{Described, Entry, Request, Source, ranks};

/// A triangle of a matrix, as it stands or transposed.
#[derive(Clone, Copy)]
pub(super) struct Triangle {
    pub(super) lower: bool,
    pub(super) transposed: bool,
    /// Whether the diagonal is one and not looked at.
    pub(super) unit: bool,
}

pub(super) const LOWER: Triangle = Triangle { lower: true, transposed: false, unit: false };
pub(super) const UPPER: Triangle = Triangle { lower: false, transposed: false, unit: false };
pub(super) const UNIT_LOWER: Triangle = Triangle { unit: true, ..LOWER };
pub(super) const UPPER_TRANSPOSED: Triangle = Triangle { transposed: true, ..UPPER };
const LOWER_TRANSPOSED: Triangle = Triangle { transposed: true, ..LOWER };

const TAKES: &str = "a square matrix [n, n]f64 and a right-hand side [n]f64 or [n, m]f64";

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        described: Described {
            name: "lib.solve_lower",
            takes: TAKES,
            gives: "x with L x = b, where L is the lower triangle of the matrix",
        },
        numbers: true,
        text: |r| triangular(r, LOWER),
        rule: Some(|r| triangular_rule(r, "solve_lower", LOWER)),
    },
    Entry {
        described: Described {
            name: "lib.solve_lower_transposed",
            takes: TAKES,
            gives: "x with Lᵀ x = b, where L is the lower triangle of the matrix",
        },
        numbers: true,
        text: |r| triangular(r, LOWER_TRANSPOSED),
        rule: Some(|r| triangular_rule(r, "solve_lower_transposed", LOWER_TRANSPOSED)),
    },
    Entry {
        described: Described {
            name: "lib.solve_upper",
            takes: TAKES,
            gives: "x with U x = b, where U is the upper triangle of the matrix",
        },
        numbers: true,
        text: |r| triangular(r, UPPER),
        rule: Some(|r| triangular_rule(r, "solve_upper", UPPER)),
    },
    Entry {
        described: Described {
            name: "lib.solve_upper_transposed",
            takes: TAKES,
            gives: "x with Uᵀ x = b, where U is the upper triangle of the matrix",
        },
        numbers: true,
        text: |r| triangular(r, UPPER_TRANSPOSED),
        rule: Some(|r| triangular_rule(r, "solve_upper_transposed", UPPER_TRANSPOSED)),
    },
    Entry {
        described: Described {
            name: "lib.solve",
            takes: TAKES,
            gives: "x with A x = b, through LU with partial pivoting",
        },
        numbers: true,
        text: solve,
        rule: None,
    },
    Entry {
        described: Described {
            name: "lib.lu_solve",
            takes: "a square matrix [n, n]f64, what `lib.lu` gave for it ([n, n]f64 and [n]i64), and a \
                    right-hand side [n]f64 or [n, m]f64",
            gives: "x with A x = b; the derivative is that of the solution by A and b, whatever the factors do",
        },
        numbers: true,
        text: lu_solve,
        rule: Some(lu_solve_rule),
    },
];

/// The names of dimensions and the type of a right-hand side, by its rank.
fn side(rank: usize) -> Option<(&'static str, &'static str)> {
    match rank {
        1 => Some(("n", "[n]f64")),
        2 => Some(("n, m", "[n, m]f64")),
        _ => None,
    }
}

impl Triangle {
    /// Whether the first row is found first.
    fn forward(self) -> bool {
        self.lower != self.transposed
    }

    /// Where the coefficient of row j stands in the equation of row i.
    fn entry(self) -> &'static str {
        if self.transposed { "%j, %i" } else { "%i, %j" }
    }

    /// The solution as a function with a name, of a matrix and a right-hand side; linear in the latter, if
    /// so marked.
    pub(super) fn text(self, name: &str, rank: usize, linear: bool) -> Option<String> {
        let (symbols, rhs) = side(rank)?;
        let (lin, carried) = if linear { ("lin ", ": lin") } else { ("", "") };
        let (row, before) = match self.forward() {
            true => ("iadd %t, 0", "lt"),
            false => ("isub %last, %t", "gt"),
        };
        let divided = match self.unit {
            true => "%q = sub %b_i, %sum",
            false => "%left = sub %b_i, %sum %d = ld %a[%i, %i] %q = div %left, %d",
        };
        let entry = self.entry();
        // The mask is on the coefficient: the rows that are not found yet are zero.
        Some(format!(
            "fn @{name}<{symbols}>(%a: [n, n]f64, %b: {lin}{rhs}) -> {rhs} {{
               %n = extent{{0}} %a
               %last = isub %n, 1
               %zero = fill 0.0f64 : {rhs}
               %x = for %t < %n (%s{carried} = %zero) {{
                 %i = {row}
                 %sum = red sum (%j < n) {{
                   %found = {before} %j, %i
                   %e = ld %a[{entry}]
                   %c = select %found, %e, 0.0
                   %x_j = ld %s[%j]
                   %p = mul %c, %x_j
                   yield %p
                 }}
                 %b_i = ld %b[%i]
                 {divided}
                 %new = put %s[%i], %q
                 yield %new
               }}
               ret %x
             }}\n"
        ))
    }
}

fn triangular(r: &Request<'_>, triangle: Triangle) -> Option<Source> {
    let ([], [2, rank]) = (r.sizes, &ranks(r)[..]) else { return None };
    Some(triangle.text("solve", *rank, false)?.into())
}

/// dx = A⁻¹ (db − dA x), of dA the triangle.
fn triangular_rule(r: &Request<'_>, name: &str, triangle: Triangle) -> Option<Source> {
    let [2, rank] = ranks(r)[..] else { return None };
    let (symbols, rhs) = side(rank)?;
    let solve = triangle.text("linear", rank, true)?;
    let within = if triangle.forward() { "le" } else { "ge" };
    let entry = triangle.entry();
    Some(
        format!(
            "{solve}
             fn @rule<{symbols}>(%a: [n, n]f64, %b: {rhs}, %da: lin [n, n]f64, %db: lin {rhs}) -> {rhs} {{
               %x = call @lib.{name}(%a, %b)
               %r = tab (%i < n) {{
                 %sum = red sum (%j < n) {{
                   %within = {within} %j, %i
                   %e = ld %da[{entry}]
                   %c = select %within, %e, 0.0
                   %x_j = ld %x[%j]
                   %p = mul %c, %x_j
                   yield %p
                 }}
                 %b_i = ld %db[%i]
                 %left = sub %b_i, %sum
                 yield %left
               }}
               %dx = call @linear(%a, %r)
               ret %dx
             }}"
        )
        .into(),
    )
}

fn solve(r: &Request<'_>) -> Option<Source> {
    let ([], [2, rank]) = (r.sizes, &ranks(r)[..]) else { return None };
    let (symbols, rhs) = side(*rank)?;
    Some(
        format!(
            "fn @solve<{symbols}>(%a: [n, n]f64, %b: {rhs}) -> {rhs} {{
               %f, %p = call @lib.lu(%a)
               %x = call @lib.lu_solve(%a, %f, %p, %b)
               ret %x
             }}"
        )
        .into(),
    )
}

/// The helpers of a solve with factors, and the solve itself with its right-hand side in order.
fn with_factors(rank: usize, linear: bool) -> Option<(String, &'static str)> {
    let lower = UNIT_LOWER.text("lower", rank, linear)?;
    let upper = UPPER.text("upper", rank, linear)?;
    let lines = "%pb = tab (%i < n) { %k = ld %p[%i] %e = ld %r[%k] yield %e }
                 %y = call @lower(%f, %pb)
                 %x = call @upper(%f, %y)
                 ret %x";
    Some((format!("{lower}{upper}"), lines))
}

fn lu_solve(r: &Request<'_>) -> Option<Source> {
    let ([], [2, 2, 1, rank]) = (r.sizes, &ranks(r)[..]) else { return None };
    let (symbols, rhs) = side(*rank)?;
    let (helpers, lines) = with_factors(*rank, false)?;
    Some(
        format!(
            "{helpers}
             fn @lu_solve<{symbols}>(%a: [n, n]f64, %f: [n, n]f64, %p: [n]i64, %r: {rhs}) -> {rhs} {{
               {lines}
             }}"
        )
        .into(),
    )
}

/// dx = A⁻¹ (db − dA x) by the factors.
fn lu_solve_rule(r: &Request<'_>) -> Option<Source> {
    let [2, 2, 1, rank] = ranks(r)[..] else { return None };
    let (symbols, rhs) = side(rank)?;
    let (helpers, lines) = with_factors(rank, true)?;
    Some(
        format!(
            "{helpers}
             fn @rule<{symbols}>(%a: [n, n]f64, %f: [n, n]f64, %p: [n]i64, %b: {rhs},
                                 %da: lin [n, n]f64, %df: lin [n, n]f64, %db: lin {rhs}) -> {rhs} {{
               %sol = call @lib.lu_solve(%a, %f, %p, %b)
               %r = tab (%i < n) {{
                 %sum = red sum (%j < n) {{
                   %e = ld %da[%i, %j]
                   %x_j = ld %sol[%j]
                   %p = mul %e, %x_j
                   yield %p
                 }}
                 %b_i = ld %db[%i]
                 %left = sub %b_i, %sum
                 yield %left
               }}
               {lines}
             }}"
        )
        .into(),
    )
}
