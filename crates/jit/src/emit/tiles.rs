//! Sums at several points of a table together, so that what they share is loaded once.
//!
//! In a table of sums of products, a vector of one factor is often the same for all points of a dimension: a product of matrices
//! reads each row of the second factor for each row of the result. Written for one point at a time, every multiplication waits
//! for a load; for four together, one load serves four. (Skinning a hand along 28 directions, rows of 28 numbers that cross
//! lines: 0.90 of the time by hand instead of 1.08.)

use cotangent_ir::{Element, Function, Integral, Op, Structure, Value};

use super::classify::{Class, body_args, classes};
use super::kernels::{Kernel, has_sums, is_light};
use super::value::{Array, Val};
use super::{Emitter, Frame, Lanes, Result, internal};

/// Points of one dimension that are written together.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) dimension: usize,
    pub(super) rows: usize,
}

/// The most points together.
const MOST: usize = 4;

impl Emitter<'_> {
    /// The points of a table whose sums are written together, if they share loads.
    pub(super) fn tile_of(&self, kernel: &Kernel<'_>) -> Option<Tile> {
        let (lane, width) = kernel.lane?;
        let body = kernel.body;
        if kernel.inside.is_some() || kernel.stream.is_some() || !has_sums(body) {
            return None;
        }
        let sums: Vec<&Structure> = body.values().filter_map(|v| body.structure(v)).collect();
        if !sums.iter().all(|sum| sum.bodies().all(|body| is_light(body))) {
            return None;
        }
        // Half of the registers are for sums.
        let registers = if self.vector_bytes == 64 { 16 } else { 8 };
        let rows = MOST.min(registers / (sums.len() * width / self.lanes_of(body)).max(1));
        let far = (0..kernel.sizes.len()).filter(|k| *k != lane && kernel.sizes[*k] >= rows);
        let (shared, dimension) = far.map(|k| (shared_loads(body, lane, k), k)).max()?;
        (rows > 1 && shared > 0).then_some(Tile { dimension, rows })
    }

    /// The points of the dimension that has tiles: as many as there are together, then the rest one by one.
    pub(super) fn tiles(
        &mut self,
        kernel: &Kernel<'_>,
        tile: Tile,
        mut body: impl FnMut(&mut Self, &str) -> Result<()>,
    ) -> Result<()> {
        let Tile { dimension, rows } = tile;
        let size = kernel.sizes[dimension];
        let (from, whole, to) = match (dimension, &kernel.bounds) {
            (0, Some((from, to))) => {
                let count = self.op(format_args!("sub nsw i64 {to}, {from}"));
                let rest = self.op(format_args!("urem i64 {count}, {rows}"));
                (from.clone(), self.op(format_args!("sub nsw i64 {to}, {rest}")), to.clone())
            }
            _ => ("0".to_string(), (size / rows * rows).to_string(), size.to_string()),
        };
        let around = std::mem::replace(&mut self.tiled, true);
        kernel.rows.set(rows);
        self.count(&from, &whole, rows, &mut body)?;
        kernel.rows.set(1);
        if whole != to {
            self.count(&whole, &to, 1, &mut body)?;
        }
        self.tiled = around;
        Ok(())
    }

    /// The indices of one of the points of a tile.
    pub(super) fn row_of(
        &mut self,
        tile: Tile,
        indices: &[Val],
        row: usize,
        cx: &Lanes,
    ) -> Vec<Val> {
        let mut own = indices.to_vec();
        if row > 0 {
            let first = &indices[tile.dimension];
            let row = Val::int(row as i64);
            own[tile.dimension] = self.integral(Integral::Add, first, &row, Element::I64, cx);
        }
        own
    }

    /// Writes the points of a tile: operation by operation for all of them, each sum as one loop for all.
    pub(super) fn tile_point(
        &mut self,
        kernel: &Kernel<'_>,
        indices: &[Val],
        captures: &[Val],
        outs: &[Option<Array>],
        cx: &Lanes,
    ) -> Result<()> {
        let Some(tile) = kernel.tile else { return Err(internal("no tile")) };
        let f = kernel.body();
        let early = kernel.early.borrow().clone();
        let mut frames = Vec::with_capacity(tile.rows);
        let mut places = Vec::with_capacity(tile.rows);
        for row in 0..tile.rows {
            let own = self.row_of(tile, indices, row, cx);
            let ranges = kernel.ranges_at(&own, &vec![true; own.len()]);
            let mut frame = Frame::of(f, ranges, &[]);
            for value in f.values() {
                if let Op::Param(k) = f.op(value) {
                    let k = k as usize;
                    let val = own.get(k).or_else(|| captures.get(k - own.len())).cloned();
                    val.iter().for_each(|val| self.retain(val));
                    frame.values[value.index()] = val;
                }
            }
            frames.push(frame);
            places.push(own);
        }
        for value in f.values() {
            if let (Op::Structure(_), Some(structure)) = (f.op(value), f.structure(value)) {
                self.sums(&mut frames, value, structure, cx)?;
                frames.iter_mut().for_each(|frame| self.forget(frame, value));
                continue;
            }
            for (row, frame) in frames.iter_mut().enumerate() {
                let known = early.get(row).and_then(|early| early.get(value.index()));
                let val = match (known.cloned().flatten(), f.op(value)) {
                    (Some(val), _) => Some(val),
                    (None, Op::Param(_)) => continue,
                    (None, Op::Part(k)) => {
                        let whole = frame.parts.get_mut(&f.operand(value, 0));
                        whole.and_then(|parts| parts[k as usize].take())
                    }
                    (None, _) => Some(self.operation(frame, value, cx)?),
                };
                frame.values[value.index()] = val;
                self.forget(frame, value);
            }
        }
        for (frame, own) in frames.iter_mut().zip(&places) {
            let mut results = Vec::with_capacity(f.results().len());
            for result in f.results() {
                let val = frame.get(*result)?.clone();
                self.retain(&val);
                results.push(val);
            }
            self.store_point(kernel, own, results, outs, cx)?;
        }
        for val in frames.into_iter().flat_map(|frame| frame.values).flatten() {
            self.release(val);
        }
        Ok(())
    }

    /// A sum at each of several points.
    fn sums(
        &mut self,
        frames: &mut [Frame<'_>],
        value: Value,
        structure: &Structure,
        cx: &Lanes,
    ) -> Result<()> {
        let Structure::Red { dims, reducer, body } = structure else {
            return Err(internal("no sum"));
        };
        let operands: Vec<Value> = frames[0].f.operands(value).collect();
        let mut kernel = self.kernel(&frames[0], value, dims, body, &operands, cx)?;
        let mut rows = Vec::with_capacity(frames.len());
        for frame in frames.iter() {
            rows.push(self.captured(frame, &operands)?);
        }
        let class = self.result_classes(&frames[0], value, body, &rows[0])[0];
        let sums = self.red_rows(&mut kernel, *reducer, &rows, class, cx)?;
        for (frame, sum) in frames.iter_mut().zip(sums) {
            frame.parts.insert(value, vec![Some(sum)]);
        }
        Ok(())
    }
}

/// How many loads in the sums of a body differ from lane to lane and not along another dimension.
fn shared_loads(body: &Function, lane: usize, dimension: usize) -> usize {
    let start = |index: usize| -> Vec<Class> {
        let class = |k: usize| if k == index { Class::Step(1) } else { Class::One };
        classes(body, &(0..body.params().len()).map(class).collect::<Vec<_>>())
    };
    let (lanes, far) = (start(lane), start(dimension));
    let mut count = 0;
    for value in body.values() {
        let Some(structure) = body.structure(value) else { continue };
        let operands: Vec<Value> = body.operands(value).collect();
        for inner in structure.bodies() {
            let within = |all: &[Class]| -> Vec<Class> {
                let given: Vec<Class> = operands.iter().map(|v| all[v.index()]).collect();
                classes(inner, &body_args(structure, &given, inner.params().len()))
            };
            let (lanes, far) = (within(&lanes), within(&far));
            count += inner
                .values()
                .filter(|v| inner.op(*v) == Op::Load)
                .filter(|v| lanes[v.index()] != Class::One && far[v.index()] == Class::One)
                .count();
        }
    }
    count
}
