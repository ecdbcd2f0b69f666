//! Arrays: products, shapes, gathers and scatters, sums so far, sorting.
//!
//! Each is a kernel or a loop, so none needs a rule.

use super::{Described, Entry, Request, Source, array, names, ranks};
use crate::types::Dim;

const fn entry(
    name: &'static str,
    takes: &'static str,
    gives: &'static str,
    text: fn(&Request<'_>) -> Option<Source>,
) -> Entry {
    Entry {
        described: Described { name, takes, gives },
        numbers: false,
        text,
        rule: None,
        linear: None,
    }
}

const fn of_numbers(
    name: &'static str,
    takes: &'static str,
    gives: &'static str,
    text: fn(&Request<'_>) -> Option<Source>,
) -> Entry {
    Entry { numbers: true, ..entry(name, takes, gives, text) }
}

pub(super) const ENTRIES: &[Entry] = &[
    of_numbers(
        "lib.dot",
        "a list [k]f64 or a matrix [n, k]f64, and a list [k]f64 or a matrix [k, m]f64",
        "the product of lists, of a matrix and a list on either side, or of matrices",
        |r| product(r, [false, false]),
    ),
    of_numbers(
        "lib.dot_tn",
        "a matrix [k, n]f64 and a list [k]f64 or a matrix [k, m]f64",
        "the product with the first matrix transposed",
        |r| product(r, [true, false]),
    ),
    of_numbers(
        "lib.dot_nt",
        "a list [k]f64 or a matrix [n, k]f64, and a matrix [m, k]f64",
        "the product with the second matrix transposed",
        |r| product(r, [false, true]),
    ),
    entry("lib.transpose", "a matrix", "its transpose", transpose),
    entry(
        "lib.slice",
        "an array and where to start, an i64; how many stands behind the name, as `lib.slice.5`",
        "so many of its first dimension; an error of the run if there are not",
        slice,
    ),
    entry(
        "lib.put_slice",
        "an array, where to start, an i64, and elements or rows",
        "the array with these in the place of its own from there on; an error of the run if there is no room",
        put_slice,
    ),
    entry(
        "lib.concat",
        "two arrays of known sizes that differ in the first one at most",
        "one behind the other along the first dimension",
        concat,
    ),
    entry(
        "lib.reshape",
        "an array of known sizes; the new ones stand behind the name, as `lib.reshape.2.3`",
        "the same elements row by row in another shape",
        reshape,
    ),
    entry(
        "lib.broadcast",
        "an array; how often stands behind the name, as `lib.broadcast.5`",
        "the array so often along a new first dimension",
        broadcast,
    ),
    entry(
        "lib.take",
        "an array and a list of indices, i64",
        "the elements, or the rows, at the indices; an error of the run if one is out of range",
        take,
    ),
    entry(
        "lib.put",
        "an array, a list of indices, i64, and as many elements or rows",
        "the array with these at the indices; of equal indices the last counts",
        put,
    ),
    of_numbers(
        "lib.put_add",
        "an array, a list of indices, i64, and as many elements or rows",
        "the array with these added at the indices",
        put_add,
    ),
    of_numbers(
        "lib.cumsum",
        "an array",
        "the sums along its first dimension so far, the element itself included",
        cumsum,
    ),
    of_numbers("lib.sort", "a list [n]f64", "its elements, the smallest first", sort),
];

/// A product, of which either side may be transposed.
fn product(r: &Request<'_>, transposed: [bool; 2]) -> Option<Source> {
    let ranks = ranks(r);
    let [a, b] = ranks[..] else { return None };
    let fits = r.sizes.is_empty()
        && (1..=2).contains(&a)
        && (1..=2).contains(&b)
        && (!transposed[0] || a == 2)
        && (!transposed[1] || b == 2);
    if !fits {
        return None;
    }
    let (x, at_x) = match (a, transposed[0]) {
        (1, _) => ("[k]f64", "%k"),
        (_, false) => ("[n, k]f64", "%i, %k"),
        (_, true) => ("[k, n]f64", "%k, %i"),
    };
    let (y, at_y) = match (b, transposed[1]) {
        (1, _) => ("[k]f64", "%k"),
        (_, false) => ("[k, m]f64", "%k, %j"),
        (_, true) => ("[m, k]f64", "%j, %k"),
    };
    let sum = format!(
        "red sum (%k < k) {{ %a = ld %x[{at_x}] %b = ld %y[{at_y}] %p = mul %a, %b yield %p }}"
    );
    let (symbols, gives, domain) = match (a, b) {
        (1, 1) => {
            return Some(
                format!("fn @dot<k>(%x: {x}, %y: {y}) -> f64 {{ %s = {sum} ret %s }}").into(),
            );
        }
        (2, 1) => ("n, k", "[n]f64", "%i < n"),
        (1, _) => ("k, m", "[m]f64", "%j < m"),
        _ => ("n, k, m", "[n, m]f64", "%i < n, %j < m"),
    };
    Some(
        format!(
            "fn @dot<{symbols}>(%x: {x}, %y: {y}) -> {gives} {{
               %z = tab ({domain}) {{ %s = {sum} yield %s }}
               ret %z
             }}"
        )
        .into(),
    )
}

fn transpose(r: &Request<'_>) -> Option<Source> {
    (r.sizes.is_empty() && ranks(r) == [2]).then(|| {
        "fn @transpose<n, m>(%x: [n, m]f64) -> [m, n]f64 {
           %y = tab (%j < m, %i < n) { %e = ld %x[%i, %j] yield %e }
           ret %y
         }"
        .to_string()
        .into()
    })
}

fn slice(r: &Request<'_>) -> Option<Source> {
    let ([count], [first, 0]) = (r.sizes, &ranks(r)[..]) else { return None };
    let rest = first.checked_sub(1)?;
    let text = format!(
        "fn @slice<{}>(%x: {}, %start: i64) -> {} {{
           %y = tab (%i < k) {{ %j = iadd %start, %i %e = ld %x[%j] yield %e }}
           ret %y
         }}",
        names("n, k", rest),
        array("n", rest),
        array("k", rest)
    );
    Some(Source { text, sizes: vec![("k", Dim::Size(*count))] })
}

fn concat(r: &Request<'_>) -> Option<Source> {
    let ([x, y], true) = (r.types, r.sizes.is_empty()) else { return None };
    let (x, y) = (x.dims(), y.dims());
    let (Some(Dim::Size(n)), Some(Dim::Size(m))) = (x.first(), y.first()) else { return None };
    let (rest, both) = (x.len() - 1, n.checked_add(*m)?);
    let text = format!(
        "fn @concat<{}>(%x: {}, %y: {}) -> {} {{
           %z = tab (%i < k) {{
             %first = lt %i, {n}
             %v = if %first {{
               %a = ld %x[%i]
               yield %a
             }} else {{
               %j = isub %i, {n}
               %b = ld %y[%j]
               yield %b
             }}
             yield %v
           }}
           ret %z
         }}",
        names("n, m, k", rest),
        array("n", rest),
        array("m", rest),
        array("k", rest)
    );
    Some(Source { text, sizes: vec![("k", Dim::Size(both))] })
}

fn reshape(r: &Request<'_>) -> Option<Source> {
    let [x] = r.types else { return None };
    let count = r.sizes.iter().try_fold(1usize, |all, n| all.checked_mul(*n))?;
    if x.is_scalar() || r.sizes.is_empty() || x.len() != Some(count) {
        return None;
    }
    // The place of an element among all, row by row, and from it the indices of old.
    let mut lines = String::from("%p0 = iadd %i0, 0\n");
    for (k, n) in r.sizes.iter().enumerate().skip(1) {
        lines += &format!("%m{k} = imul %p{}, {n}\n%p{k} = iadd %m{k}, %i{k}\n", k - 1);
    }
    let mut at = format!("%p{}", r.sizes.len() - 1);
    let mut indices = Vec::new();
    for (k, dim) in x.dims().iter().enumerate().rev() {
        let Dim::Size(n) = dim else { return None };
        lines += &format!("%j{k} = irem {at}, {n}\n%q{k} = idiv {at}, {n}\n");
        indices.insert(0, format!("%j{k}"));
        at = format!("%q{k}");
    }
    let written = |dims: &[String]| dims.join(", ");
    let old: Vec<String> = x.dims().iter().map(ToString::to_string).collect();
    let new: Vec<String> = r.sizes.iter().map(ToString::to_string).collect();
    let domain: Vec<String> = new.iter().enumerate().map(|(k, n)| format!("%i{k} < {n}")).collect();
    Some(
        format!(
            "fn @reshape(%x: [{}]f64) -> [{}]f64 {{
               %y = tab ({}) {{ {lines} %e = ld %x[{}] yield %e }}
               ret %y
             }}",
            written(&old),
            written(&new),
            written(&domain),
            written(&indices)
        )
        .into(),
    )
}

fn broadcast(r: &Request<'_>) -> Option<Source> {
    let ([count], [rank]) = (r.sizes, &ranks(r)[..]) else { return None };
    let rest = rank.checked_sub(1)?;
    let own = array("n", rest);
    let given = own.trim_start_matches('[');
    let text = format!(
        "fn @broadcast<{}>(%x: {own}) -> [k, {given} {{ %y = tab (%i < k) {{ yield %x }} ret %y }}",
        names("n, k", rest)
    );
    Some(Source { text, sizes: vec![("k", Dim::Size(*count))] })
}

fn take(r: &Request<'_>) -> Option<Source> {
    let ([], [first, 1]) = (r.sizes, &ranks(r)[..]) else { return None };
    let rest = first.checked_sub(1)?;
    let text = format!(
        "fn @take<{}>(%x: {}, %indices: [m]i64) -> {} {{
           %y = tab (%i < m) {{ %j = ld %indices[%i] %e = ld %x[%j] yield %e }}
           ret %y
         }}",
        names("n, m", rest),
        array("n", rest),
        array("m", rest)
    );
    Some(text.into())
}

/// An array, indices, and what goes there, by a loop or a kernel.
fn stored(r: &Request<'_>, name: &str, walk: &str, word: &str) -> Option<Source> {
    let ([], [first, 1, other]) = (r.sizes, &ranks(r)[..]) else { return None };
    let rest = first.checked_sub(1).filter(|_| first == other)?;
    let text = format!(
        "fn @{name}<{}>(%x: {}, %indices: [m]i64, %v: {}) -> {} {{
           %m = extent{{0}} %indices
           %y = {walk} (%s = %x) {{
             %j = ld %indices[%i]
             %e = ld %v[%i]
             %new = {word} %s[%j], %e
             yield %new
           }}
           ret %y
         }}",
        names("n, m", rest),
        array("n", rest),
        array("m", rest),
        array("n", rest)
    );
    Some(text.into())
}

fn put_slice(r: &Request<'_>) -> Option<Source> {
    let ([], [first, 0, other]) = (r.sizes, &ranks(r)[..]) else { return None };
    let rest = first.checked_sub(1).filter(|_| first == other)?;
    let text = format!(
        "fn @put_slice<{}>(%x: {}, %start: i64, %v: {}) -> {} {{
           %m = extent{{0}} %v
           %y = for %i < %m (%s = %x) {{
             %j = iadd %start, %i
             %e = ld %v[%i]
             %new = put %s[%j], %e
             yield %new
           }}
           ret %y
         }}",
        names("n, m", rest),
        array("n", rest),
        array("m", rest),
        array("n", rest)
    );
    Some(text.into())
}

fn put(r: &Request<'_>) -> Option<Source> {
    stored(r, "put", "for %i < %m", "put")
}

fn put_add(r: &Request<'_>) -> Option<Source> {
    stored(r, "put_add", "acc (%i < m)", "put_add")
}

fn cumsum(r: &Request<'_>) -> Option<Source> {
    let ([], [rank]) = (r.sizes, &ranks(r)[..]) else { return None };
    let rest = rank.checked_sub(1)?;
    let row = match rest {
        0 => "f64".to_string(),
        _ => array("", rest).replacen("[, ", "[", 1),
    };
    let zero = match rest {
        0 => "0.0f64".to_string(),
        _ => "%zero".to_string(),
    };
    let fill = if rest == 0 { String::new() } else { format!("%zero = fill 0.0f64 : {row}") };
    let text = format!(
        "fn @cumsum<{}>(%x: {}) -> {} {{
           {fill}
           %n = extent{{0}} %x
           _, %y = for %i < %n (%s = {zero}) {{
             %e = ld %x[%i]
             %new = add %s, %e
             yield %new, %new
           }}
           ret %y
         }}",
        names("n", rest),
        array("n", rest),
        array("n", rest)
    );
    Some(text.into())
}

fn sort(r: &Request<'_>) -> Option<Source> {
    (r.sizes.is_empty() && ranks(r) == [1]).then(|| {
        "fn @sort<n>(%x: [n]f64) -> [n]f64 {
           %order = argsort %x
           %y = tab (%i < n) { %j = ld %order[%i] %e = ld %x[%j] yield %e }
           ret %y
         }"
        .to_string()
        .into()
    })
}
