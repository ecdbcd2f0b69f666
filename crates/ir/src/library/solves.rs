//! Triangular solves, and solves through LU.
//!
//! Rows are found one after the other, `x_i = (b_i − Σ_j a_ij x_j) / a_ii` over the rows found so far; a row is
//! a number where the right-hand side is a list. So both are the same text.

use super::{Described, Entry, Form, Request, Source, ranks};

/// A triangle of a matrix, as it stands or transposed.
#[derive(Clone, Copy)]
struct Triangle {
    lower: bool,
    transposed: bool,
    /// Whether the diagonal is one and not looked at.
    unit: bool,
}

const LOWER: Triangle = Triangle { lower: true, transposed: false, unit: false };
const UPPER: Triangle = Triangle { lower: false, transposed: false, unit: false };
const UNIT_LOWER: Triangle = Triangle { unit: true, ..LOWER };
const LOWER_TRANSPOSED: Triangle = Triangle { transposed: true, ..LOWER };
const UPPER_TRANSPOSED: Triangle = Triangle { transposed: true, ..UPPER };
const UNIT_LOWER_TRANSPOSED: Triangle = Triangle { transposed: true, ..UNIT_LOWER };

const TAKES: &str = "a square matrix [n, n]f64 and a right-hand side [n]f64 or [n, m]f64";

const TAKES_FACTORS: &str = "a square matrix [n, n]f64, what `lib.lu` gave for it ([n, n]f64 and [n]i64), and a \
                             right-hand side [n]f64 or [n, m]f64";

/// A solve that is linear in one of its arguments; its transpose is another.
const fn linear(
    (name, transposed): (&'static str, &'static str),
    (takes, gives): (&'static str, &'static str),
    operand: usize,
    text: fn(&Request<'_>) -> Option<Source>,
    rule: fn(&Request<'_>) -> Option<Source>,
) -> Entry {
    Entry {
        described: Described { name, takes, gives },
        numbers: true,
        text,
        rule: Some(rule),
        linear: Some((operand, transposed)),
    }
}

pub(super) const ENTRIES: &[Entry] = &[
    linear(
        ("lib.solve_lower", "lib.solve_lower_transposed"),
        (TAKES, "x with L x = b, where L is the lower triangle of the matrix"),
        1,
        |r| triangular(r, LOWER),
        |r| triangular_rule(r, "solve_lower", LOWER),
    ),
    linear(
        ("lib.solve_lower_transposed", "lib.solve_lower"),
        (TAKES, "x with Lᵀ x = b, where L is the lower triangle of the matrix"),
        1,
        |r| triangular(r, LOWER_TRANSPOSED),
        |r| triangular_rule(r, "solve_lower_transposed", LOWER_TRANSPOSED),
    ),
    linear(
        ("lib.solve_upper", "lib.solve_upper_transposed"),
        (TAKES, "x with U x = b, where U is the upper triangle of the matrix"),
        1,
        |r| triangular(r, UPPER),
        |r| triangular_rule(r, "solve_upper", UPPER),
    ),
    linear(
        ("lib.solve_upper_transposed", "lib.solve_upper"),
        (TAKES, "x with Uᵀ x = b, where U is the upper triangle of the matrix"),
        1,
        |r| triangular(r, UPPER_TRANSPOSED),
        |r| triangular_rule(r, "solve_upper_transposed", UPPER_TRANSPOSED),
    ),
    linear(
        ("lib.solve_unit_lower", "lib.solve_unit_lower_transposed"),
        (
            TAKES,
            "x with L x = b, where L is the lower triangle of the matrix with ones on the diagonal",
        ),
        1,
        |r| triangular(r, UNIT_LOWER),
        |r| triangular_rule(r, "solve_unit_lower", UNIT_LOWER),
    ),
    linear(
        ("lib.solve_unit_lower_transposed", "lib.solve_unit_lower"),
        (
            TAKES,
            "x with Lᵀ x = b, where L is the lower triangle of the matrix with ones on the diagonal",
        ),
        1,
        |r| triangular(r, UNIT_LOWER_TRANSPOSED),
        |r| triangular_rule(r, "solve_unit_lower_transposed", UNIT_LOWER_TRANSPOSED),
    ),
    Entry {
        described: Described {
            name: "lib.solve",
            takes: TAKES,
            gives: "x with A x = b, through LU with partial pivoting",
        },
        numbers: true,
        text: solve,
        rule: None,
        linear: None,
    },
    linear(
        ("lib.lu_solve", "lib.lu_solve_transposed"),
        (
            TAKES_FACTORS,
            "x with A x = b; the derivative is that of the solution by A and b, whatever the factors do",
        ),
        3,
        |r| lu_solve(r, false),
        |r| lu_solve_rule(r, false),
    ),
    linear(
        ("lib.lu_solve_transposed", "lib.lu_solve"),
        (
            TAKES_FACTORS,
            "x with Aᵀ x = b; the derivative is that of the solution by A and b, whatever the factors do",
        ),
        3,
        |r| lu_solve(r, true),
        |r| lu_solve_rule(r, true),
    ),
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

    /// The solution of a matrix and a right-hand side, in a form.
    fn text(self, rank: usize, form: Form) -> Option<String> {
        let (symbols, rhs) = side(rank)?;
        let (lin, carried) = match form {
            Form::Linear => ("lin ", ": lin"),
            _ => ("", ""),
        };
        let (row, before) = match self.forward() {
            true => ("iadd %t, 0", "lt"),
            false => ("isub %last, %t", "gt"),
        };
        let product = match form {
            Form::Plain => "mul %c, %x_j",
            _ => "strong_mul %x_j, %c",
        };
        let divided = match (self.unit, form) {
            (true, _) => "%q = sub %b_i, %sum",
            (_, Form::Plain) => "%left = sub %b_i, %sum %d = ld %a[%i, %i] %q = div %left, %d",
            _ => {
                "%left = sub %b_i, %sum %d = ld %a[%i, %i] %inverse = recip %d
                 %q = strong_mul %left, %inverse"
            }
        };
        let entry = self.entry();
        // The mask is on the coefficient: the rows that are not found yet are zero.
        Some(format!(
            "fn @solve<{symbols}>(%a: [n, n]f64, %b: {lin}{rhs}) -> {rhs} {{
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
                   %p = {product}
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
    Some(triangle.text(*rank, r.form)?.into())
}

/// What is called in a rule for the solution itself, and for its tangent.
fn forms(form: Form) -> (&'static str, &'static str) {
    let own = if form == Form::Plain { Form::Plain } else { Form::Strong };
    (own.suffix(), Form::Linear.suffix())
}

/// The lines that make of the right-hand side `%db` and a tangent of the matrix the one of the tangent: `%db − dA x`, given
/// the text of an element c of dA at row `%i` and column `%j`. Numbers one by one, so that it is seen to be a product.
fn residual(rank: usize, element: &str) -> String {
    let (domain, of_x, of_b) = match rank {
        1 => ("%i < n", "%j", "%i"),
        _ => ("%i < n, %k < m", "%j, %k", "%i, %k"),
    };
    format!(
        "%r = tab ({domain}) {{
           %sum = red sum (%j < n) {{
             {element}
             %x_j = ld %x[{of_x}]
             %p = mul %c, %x_j
             yield %p
           }}
           %b_i = ld %db[{of_b}]
           %left = sub %b_i, %sum
           yield %left
         }}"
    )
}

/// dx = A⁻¹ (db − dA x), of dA the triangle.
fn triangular_rule(r: &Request<'_>, name: &str, triangle: Triangle) -> Option<Source> {
    let [2, rank] = ranks(r)[..] else { return None };
    let (symbols, rhs) = side(rank)?;
    let within = match (triangle.forward(), triangle.unit) {
        (true, false) => "le",
        (true, true) => "lt",
        (false, false) => "ge",
        (false, true) => "gt",
    };
    let entry = triangle.entry();
    let element =
        format!("%within = {within} %j, %i %e = ld %da[{entry}] %c = select %within, %e, 0.0");
    let (lines, (own, lin)) = (residual(rank, &element), forms(r.form));
    Some(
        format!(
            "fn @rule<{symbols}>(%a: [n, n]f64, %b: {rhs}, %da: lin [n, n]f64, %db: lin {rhs}) -> {rhs} {{
               %x = call @lib.{name}{own}(%a, %b)
               {lines}
               %dx = call @lib.{name}{lin}(%a, %r)
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

/// P A = L U, so x = U⁻¹ L⁻¹ P b; of the transpose, x = Pᵀ L⁻ᵀ U⁻ᵀ b.
fn lu_solve(r: &Request<'_>, transposed: bool) -> Option<Source> {
    let ([], [2, 2, 1, rank]) = (r.sizes, &ranks(r)[..]) else { return None };
    let (symbols, rhs) = side(*rank)?;
    let suffix = r.form.suffix();
    let (lin, carried) = match r.form {
        Form::Linear => ("lin ", ": lin"),
        _ => ("", ""),
    };
    let lines = match transposed {
        false => format!(
            "%pb = tab (%i < n) {{ %k = ld %p[%i] %e = ld %b[%k] yield %e }}
             %y = call @lib.solve_unit_lower{suffix}(%f, %pb)
             %x = call @lib.solve_upper{suffix}(%f, %y)"
        ),
        true => format!(
            "%y = call @lib.solve_upper_transposed{suffix}(%f, %b)
             %px = call @lib.solve_unit_lower_transposed{suffix}(%f, %y)
             %zero = fill 0.0f64 : {rhs}
             %x = acc (%i < n) (%s{carried} = %zero) {{
               %k = ld %p[%i]
               %e = ld %px[%i]
               %new = put_add %s[%k], %e
               yield %new
             }}"
        ),
    };
    Some(
        format!(
            "fn @lu_solve<{symbols}>(%a: [n, n]f64, %f: [n, n]f64, %p: [n]i64, %b: {lin}{rhs}) -> {rhs} {{
               {lines}
               ret %x
             }}"
        )
        .into(),
    )
}

/// dx = A⁻¹ (db − dA x) by the factors.
fn lu_solve_rule(r: &Request<'_>, transposed: bool) -> Option<Source> {
    let [2, 2, 1, rank] = ranks(r)[..] else { return None };
    let (symbols, rhs) = side(rank)?;
    let (name, entry) = match transposed {
        false => ("lu_solve", "%i, %j"),
        true => ("lu_solve_transposed", "%j, %i"),
    };
    let lines = residual(rank, &format!("%c = ld %da[{entry}]"));
    let (own, lin) = forms(r.form);
    Some(
        format!(
            "fn @rule<{symbols}>(%a: [n, n]f64, %f: [n, n]f64, %p: [n]i64, %b: {rhs},
                                 %da: lin [n, n]f64, %df: lin [n, n]f64, %db: lin {rhs}) -> {rhs} {{
               %x = call @lib.{name}{own}(%a, %f, %p, %b)
               {lines}
               %dx = call @lib.{name}{lin}(%a, %f, %p, %r)
               ret %dx
             }}"
        )
        .into(),
    )
}
