//! Partials of flat functions: the linear part along each unit vector, zeros left out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use cotangent_ir::{Builder, Copied, Function, Op, Param, Type, Value};
use cotangent_ops::Opcode;

use crate::error::TransformError;
use crate::expand::float_element;
use crate::linearize::linearize_to;
use crate::transpose::{Turner, transpose};

/// A function with some of its partials, and where these stand in the matrix.
#[derive(Clone, Debug)]
pub struct SparsePartials {
    /// The results of the function, then an entry each.
    pub function: Function,
    /// The rows of the matrix.
    pub rows: usize,
    /// Its columns.
    pub columns: usize,
    /// The entries as (row, column), column by column.
    pub entries: Vec<(usize, usize)>,
}

/// How many values may be written for an entry before there are too many of both.
const VALUES_AN_ENTRY: usize = 32;

/// All results, and the partials of some of them that do not come to nothing; none if there are more than `most`, or if they take too
/// much.
pub(crate) fn flat_partials(
    f: &Function,
    moves: impl Fn(&Param) -> bool,
    of: Range<usize>,
    most: usize,
) -> Result<Option<SparsePartials>, TransformError> {
    if !f.is_flat() {
        let (function, what) = (f.name().to_string(), "it has arrays or bodies".to_string());
        return Err(TransformError::Flat { function, what });
    }
    let primals = f.results().len();
    let forward = linearize_to(f, moves)?;
    let inputs = forward.params().iter().filter(|p| p.linear).count();
    // Which of the results have tangents: the numbers, in their order.
    let numbers = (0..primals).filter(|k| f.ty(f.results()[*k]).is_float()).enumerate();
    let rows: Vec<usize> = numbers.filter(|(_, k)| of.contains(k)).map(|(row, _)| row).collect();
    let reversed = rows.len() < inputs;
    let linear = if reversed { transpose(&forward, primals)? } else { forward };
    let mut columns = Columns::new(&linear)?;
    // The place of each result among the rows; in reverse mode they are the directions.
    let mut row_of = vec![None; linear.results().len() - primals];
    if !reversed {
        rows.iter().enumerate().for_each(|(place, row)| row_of[*row] = Some(place));
    }
    let mut outputs: Vec<(Value, usize)> = linear.results()[primals..]
        .iter()
        .enumerate()
        .filter_map(|(k, v)| Some((*v, if reversed { k } else { row_of[k]? })))
        .collect();
    outputs.sort_unstable();
    let mut found: Vec<(usize, usize, Value)> = Vec::new();
    let directions: Vec<usize> = if reversed { rows.clone() } else { (0..inputs).collect() };
    for (place, k) in directions.iter().enumerate() {
        for (output, value) in columns.along(*k, &outputs) {
            let (row, column) = if reversed { (place, output) } else { (output, place) };
            found.push((column, row, value));
        }
        if found.len() > most || columns.b.function().len() / VALUES_AN_ENTRY > most {
            return Ok(None);
        }
    }
    found.sort_unstable();
    let zero = columns.b.constant(0.0, Type::scalar(float_element(f)?));
    let mut results: Vec<Value> = linear.results()[..primals]
        .iter()
        .map(|v| columns.ordinary.get(*v).unwrap_or(zero))
        .collect();
    results.extend(found.iter().map(|(.., value)| *value));
    for guard in linear.guards() {
        columns.b.guard(columns.ordinary.of(guard.condition), guard.expected);
    }
    Ok(Some(SparsePartials {
        function: columns.b.finish(results),
        rows: rows.len(),
        columns: inputs,
        entries: found.iter().map(|(column, row, _)| (*row, *column)).collect(),
    }))
}

/// A function whose linear part is written down for several unit vectors.
struct Columns<'f> {
    f: &'f Function,
    b: Builder,
    /// The linear parameters.
    moving: Vec<Value>,
    /// The linear values that use a linear one, from the first of `starts` to the next.
    users: Vec<Value>,
    starts: Vec<u32>,
    /// The values that are not linear, which all columns share.
    ordinary: Copied,
    /// The linear values along the vector that is being written; none for zeros.
    values: Vec<Option<Value>>,
}

impl<'f> Columns<'f> {
    fn new(f: &'f Function) -> Result<Self, TransformError> {
        let linear = f.linear_values()?;
        let known = |v: Value| {
            let constant = f.op(v).is_constant();
            constant || matches!(f.op(v), Op::Param(_) | Op::Elementary(..) | Op::Select)
        };
        if let Some(other) = f.values().find(|v| linear[v.index()] && !known(*v)) {
            let (function, what) = (f.name().to_string(), format!("`{}`", f.op(other).name()));
            return Err(TransformError::Flat { function, what });
        }
        let mut b = Builder::new(f.name());
        let args: Vec<Option<Value>> =
            f.params().iter().map(|p| (!p.linear).then(|| b.add_param(p.clone()))).collect();
        let moves = |v: &Value| linear[v.index()];
        let param = |v: &Value| matches!(f.op(*v), Op::Param(_));
        let moving = f.values().filter(|v| moves(v) && param(v)).collect();
        let mut pairs: Vec<(Value, Value)> = f
            .values()
            .filter(moves)
            .flat_map(|user| f.operands(user).filter(moves).map(move |v| (v, user)))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = vec![0_u32; f.len() + 1];
        pairs.iter().for_each(|(v, _)| starts[v.index() + 1] += 1);
        for k in 0..f.len() {
            starts[k + 1] += starts[k];
        }
        let users = pairs.into_iter().map(|(_, user)| user).collect();
        let ordinary = Turner::new(f, linear, &mut b, &args)?.copies;
        Ok(Columns { f, b, moving, users, starts, ordinary, values: vec![None; f.len()] })
    }

    /// The outputs, given in their order with a number each, for one in the place of the k-th linear parameter and zeros in the
    /// others'; only those that are not zero.
    fn along(&mut self, k: usize, outputs: &[(Value, usize)]) -> Vec<(usize, Value)> {
        let start = self.moving[k];
        let mut open = BinaryHeap::from([Reverse(start)]);
        let mut touched: Vec<Value> = Vec::new();
        let mut found = Vec::new();
        while let Some(Reverse(value)) = open.pop() {
            if touched.last() == Some(&value) {
                continue;
            }
            touched.push(value);
            let one = (value == start).then(|| self.b.constant(1.0, self.f.ty(value)));
            let Some(new) = one.or_else(|| self.written(value)) else { continue };
            self.values[value.index()] = Some(new);
            let first = outputs.partition_point(|(v, _)| *v < value);
            let here = outputs[first..].iter().take_while(|(v, _)| *v == value);
            found.extend(here.map(|(_, number)| (*number, new)));
            let at = value.index();
            let users = self.starts[at] as usize..self.starts[at + 1] as usize;
            open.extend(self.users[users].iter().map(|user| Reverse(*user)));
        }
        touched.into_iter().for_each(|v| self.values[v.index()] = None);
        found
    }

    /// A linear value along the vector, if it is not zero.
    fn written(&mut self, value: Value) -> Option<Value> {
        let f = self.f;
        let args: Vec<Value> = f.operands(value).collect();
        let at = |j: usize| self.values[args[j].index()];
        let fixed = |j: usize| self.ordinary.get(args[j]);
        let b = &mut self.b;
        match f.op(value) {
            Op::Elementary(Opcode::Neg, _) => at(0).map(|t| b.elementary(Opcode::Neg, 0, &[t])),
            Op::Elementary(code @ (Opcode::Add | Opcode::Sub), _) => match (at(0), at(1)) {
                (Some(x), Some(y)) => Some(b.elementary(code, 0, &[x, y])),
                (None, Some(y)) if code == Opcode::Sub => Some(b.elementary(Opcode::Neg, 0, &[y])),
                (x, y) => x.or(y),
            },
            Op::Elementary(code, _) => {
                // A product or a quotient: the linear factor goes to the left, where its zero wins.
                let (moving, coefficient) = if at(0).is_some() { (0, 1) } else { (1, 0) };
                at(moving).zip(fixed(coefficient)).map(|(t, c)| b.elementary(code, 0, &[t, c]))
            }
            Op::Select => match (fixed(0), at(1), at(2)) {
                (_, None, None) | (None, ..) => None,
                (Some(mask), x, y) => {
                    let zero = b.constant(0.0, f.ty(value));
                    Some(b.select(mask, x.unwrap_or(zero), y.unwrap_or(zero)))
                }
            },
            _ => None,
        }
    }
}
