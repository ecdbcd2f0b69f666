//! What is read from the input of a message, checked.

use serde_json::Value;

/// A field of an object.
pub(super) fn field<'v>(value: &'v Value, name: &str) -> Result<&'v Value, String> {
    let Value::Object(fields) = value else {
        return Err(format!("the input is no object; `{name}` is looked for in it"));
    };
    fields.get(name).ok_or_else(|| format!("`{name}` is missing"))
}

fn as_number(value: &Value, name: &str) -> Result<f64, String> {
    // What is too large for a double is an error of the parser already.
    value.as_f64().ok_or_else(|| format!("`{name}` has {} where a number belongs", kind(value)))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A number.
pub(super) fn number(value: &Value, name: &str) -> Result<f64, String> {
    as_number(field(value, name)?, name)
}

/// A whole number between bounds.
pub(super) fn count(value: &Value, name: &str, least: usize, most: usize) -> Result<usize, String> {
    let found = field(value, name)?;
    let whole = found.as_u64().or_else(|| {
        found.as_f64().filter(|x| x.fract() == 0.0 && (0.0..9e15).contains(x)).map(|x| x as u64)
    });
    match whole.and_then(|n| usize::try_from(n).ok()) {
        Some(n) if (least..=most).contains(&n) => Ok(n),
        _ => Err(format!("`{name}` must be a whole number from {least} to {most}")),
    }
}

fn items<'v>(value: &'v Value, name: &str) -> Result<&'v [Value], String> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(format!("`{name}` has {} where a list belongs", kind(other))),
    }
}

/// A list of numbers of any length.
pub(super) fn list(value: &Value, name: &str) -> Result<Vec<f64>, String> {
    let items = items(field(value, name)?, name)?;
    items.iter().map(|x| as_number(x, name)).collect()
}

/// A list of so many numbers.
pub(super) fn list_of(value: &Value, name: &str, count: usize) -> Result<Vec<f64>, String> {
    let list = list(value, name)?;
    match list.len() == count {
        true => Ok(list),
        false => Err(format!("`{name}` has {} numbers, not {count}", list.len())),
    }
}

/// A list of lists of one length, row by row.
pub(super) struct Rows {
    /// How many.
    pub(super) rows: usize,
    /// How long each is; zero if there are none.
    pub(super) columns: usize,
    /// All numbers.
    pub(super) numbers: Vec<f64>,
}

/// A list of lists of numbers.
pub(super) fn rows(value: &Value, name: &str) -> Result<Rows, String> {
    let outer = items(field(value, name)?, name)?;
    let (mut numbers, mut columns) = (Vec::new(), None);
    for row in outer {
        let row = items(row, name)?;
        if *columns.get_or_insert(row.len()) != row.len() {
            return Err(format!("the rows of `{name}` differ in length"));
        }
        for x in row {
            numbers.push(as_number(x, name)?);
        }
    }
    Ok(Rows { rows: outer.len(), columns: columns.unwrap_or(0), numbers })
}

/// So many lists of so many numbers, row by row.
pub(super) fn rows_of(
    value: &Value,
    name: &str,
    count: usize,
    columns: usize,
) -> Result<Vec<f64>, String> {
    let found = rows(value, name)?;
    // Without rows their length is not known; nor does it matter.
    if found.rows != count || (found.rows > 0 && found.columns != columns) {
        let (r, c) = (found.rows, found.columns);
        return Err(format!("`{name}` is {r} × {c}, not {count} × {columns}"));
    }
    Ok(found.numbers)
}

/// Integers that are indices below a bound.
pub(super) fn check_indices(numbers: &[f64], name: &str, bound: usize) -> Result<(), String> {
    let inside = |x: &f64| x.fract() == 0.0 && *x >= 0.0 && *x < bound as f64;
    match numbers.iter().find(|x| !inside(x)) {
        Some(x) => Err(format!("`{name}` has {x}, which is no index below {bound}")),
        None => Ok(()),
    }
}
