//! Kernels: the body at every point of a domain, several points at a time.

use std::cell::{Cell, RefCell};

use cotangent_ir::ranges::{Range, of_body};
use cotangent_ir::{Dim, Element, Function, Integral, Op, Reducer, Structure, Type, Value};
use cotangent_ops::Opcode;

use super::borders::{Inside, inside};
use super::classify::{Class, body_args, classes};
use super::cost::is_cheap;
use super::tiles::Tile;
use super::value::{Array, Val};
use super::{Emitter, Frame, Lanes, Result, internal};
use crate::JitError;
use crate::dense::has_kernels;

/// A kernel made ready.
pub(super) struct Kernel<'k> {
    pub(super) sizes: Vec<usize>,
    pub(super) body: &'k Function,
    pub(super) ranges: Vec<Range>,
    /// The dimension whose points are the lanes, and how many of them.
    pub(super) lane: Option<(usize, usize)>,
    /// The points between the ends of that dimension, if the ends are different.
    pub(super) inside: Option<Inside>,
    /// Which of the points are being written.
    pub(super) part: Cell<Part>,
    /// How many vectors a round takes.
    pub(super) copies: usize,
    /// The result that is written past the caches.
    pub(super) stream: Option<Array>,
    /// The result whose rows are written past the caches.
    pub(super) lines: Option<Array>,
    /// From where to where the first dimension goes, if not all the way.
    pub(super) bounds: Option<(String, String)>,
    /// The dimension of which several points are written together, and how many of them.
    pub(super) tile: Option<Tile>,
    /// How many points are being written together.
    pub(super) rows: Cell<usize>,
    /// What the body takes from outside at each of them, if some of it may be written early.
    pub(super) captures: Vec<Vec<Val>>,
    /// By point of these: the values of the body that have been written early.
    pub(super) early: RefCell<Vec<Vec<Option<Val>>>>,
}

/// Points of a kernel, by where they are along the dimension of the lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    All,
    Ends,
    Inside,
}

impl Kernel<'_> {
    /// The body for the points that are being written.
    pub(super) fn body(&self) -> &Function {
        match (&self.inside, self.part.get()) {
            (Some(inside), Part::Inside) => &inside.body,
            _ => self.body,
        }
    }

    pub(super) fn points(&self) -> usize {
        self.sizes.iter().product()
    }

    /// The ranges of what the body takes, where some indices are numbers.
    pub(super) fn ranges_at(&self, indices: &[Val], fixed: &[bool]) -> Vec<Range> {
        let mut ranges = self.ranges.clone();
        if let (Some(Inside { from, to, .. }), Part::Inside, Some((lane, _))) =
            (&self.inside, self.part.get(), self.lane)
        {
            ranges[lane] = Some((*from as i64, *to as i64 - 1));
        }
        for ((range, index), fixed) in ranges.iter_mut().zip(indices).zip(fixed) {
            if let Some(c) = index.known().filter(|_| *fixed) {
                *range = Some((c, c));
            }
        }
        ranges
    }
}

/// What is written for a point (or for the points of some lanes), given its indices.
pub(super) type AtPoint<'o, 'b> = dyn FnMut(&mut Emitter<'o>, &[Val], &Lanes) -> Result<()> + 'b;

/// The most vectors that go through the sums of a body together. A sum of products waits four cycles for each summand, and what is
/// the same for all lanes is loaded once for all of them (a table of sums of 88 products, 28 points a row: 0.6 of the time).
const WIDE: usize = 4;

/// The most operations of such a body: four vectors of each must stay in registers.
const FEW: usize = 16;

/// The most operations that a loop is written out to.
pub(super) const UNROLLED: usize = 96;

impl<'o> Emitter<'o> {
    pub(super) fn kernel<'k>(
        &self,
        frame: &Frame<'_>,
        value: Value,
        dims: &[Dim],
        body: &'k Function,
        operands: &[Value],
        cx: &Lanes,
    ) -> Result<Kernel<'k>> {
        let mut sizes = Vec::with_capacity(dims.len());
        for dim in dims {
            match dim {
                Dim::Size(n) => sizes.push(*n),
                other => {
                    return Err(JitError::Unsupported(format!("a domain of unknown size {other}")));
                }
            }
        }
        let points = sizes.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        if points.is_none_or(|points| points >= 1 << 40) {
            return Err(JitError::Unsupported(format!("a domain of {sizes:?} points")));
        }
        let Some(structure) = frame.f.structure(value) else { return Err(internal("no kernel")) };
        let ranges = of_body(frame.f, structure, operands, &frame.ranges, body.params().len());
        let mut kernel = Kernel {
            sizes,
            body,
            ranges,
            lane: None,
            inside: None,
            part: Cell::new(Part::All),
            copies: 1,
            stream: None,
            lines: None,
            bounds: None,
            tile: None,
            rows: Cell::new(1),
            captures: Vec::new(),
            early: RefCell::default(),
        };
        if cx.width == 1 {
            (kernel.lane, kernel.inside) = self.choose(&kernel, structure);
        }
        Ok(kernel)
    }

    /// The dimension whose points become lanes, by what the loads then are.
    fn choose(
        &self,
        kernel: &Kernel<'_>,
        structure: &Structure,
    ) -> (Option<(usize, usize)>, Option<Inside>) {
        let alone = has_order(kernel.body) || self.options.kernels && has_kernels(kernel.body);
        if self.options.scalar || kernel.points() < 2 || alone {
            return (None, None);
        }
        let width = self.lanes_of(kernel.body);
        if width < 2 {
            return (None, None);
        }
        let captures = vec![Class::One; kernel.body.params().len()];
        let mut best = (f64::INFINITY, (None, None));
        let mut consider = |cost: f64, choice| {
            if cost < best.0 {
                best = (cost, choice);
            }
        };
        let points = kernel.points() as f64;
        for (k, size) in kernel.sizes.iter().enumerate().rev() {
            if *size < 2 {
                continue;
            }
            let mut args = body_args(structure, &captures, kernel.body.params().len());
            args[k] = Class::Step(1);
            let strided = match structure {
                // Results that do not lie side by side.
                Structure::Tab { .. } if k + 1 < kernel.sizes.len() => width as f64,
                _ => 1.0,
            };
            let steps = (*size as f64 / width as f64).ceil() / *size as f64;
            let inside = inside(kernel.body, &kernel.ranges, k, *size, width);
            let body = inside.as_ref().map_or(kernel.body, |inside| &*inside.body);
            let cost = self.body_cost(body, &args, width, false) + strided;
            consider(cost * points * steps, (Some((k, width)), inside));
        }
        // Or lanes within the body, if there are kernels in it.
        let args = vec![Class::One; kernel.body.params().len()];
        if kernel.body.values().any(|v| is_kernel(kernel.body, v)) {
            consider(self.body_cost(kernel.body, &args, width, true) * points, (None, None));
        }
        let (lane, inside) = best.1;
        let lane = lane.map(|(k, width)| match structure {
            Structure::Tab { .. } if inside.is_none() && has_sums(kernel.body) => {
                let most = WIDE.min(kernel.sizes[k].div_ceil(width));
                (k, width * (1 << most.ilog2()))
            }
            _ => (k, width),
        });
        (lane, inside)
    }

    /// How many lanes fit what a body computes with.
    pub(super) fn lanes_of(&self, body: &Function) -> usize {
        fn widest(f: &Function) -> usize {
            let own = f.values().filter(|v| {
                let op = f.op(*v);
                !op.is_constant() && f.ty(*v) != Type::PARTS && f.ty(*v).is_float()
            });
            let own = own.map(|v| f.ty(v).element().bytes()).max().unwrap_or(4);
            let inner = f.values().filter_map(|v| f.structure(v)).flat_map(Structure::bodies);
            inner.map(|body| widest(body)).fold(own, usize::max)
        }
        self.vector_bytes / widest(body)
    }

    /// Writes a body for all points of a domain. It may be written several times: for whole vectors and for the rest.
    pub(super) fn nest(
        &mut self,
        kernel: &Kernel<'_>,
        cx: &Lanes,
        body: &mut AtPoint<'o, '_>,
    ) -> Result<()> {
        let mut indices = vec![Val::int(0); kernel.sizes.len()];
        let mut order: Vec<usize> = (0..kernel.sizes.len()).collect();
        if let Some((lane, _)) = kernel.lane {
            order.retain(|k| *k != lane);
        }
        if kernel.points() == 0 {
            return Ok(());
        }
        let parts: &[Part] = match kernel.inside {
            Some(_) => &[Part::Ends, Part::Inside],
            None => &[Part::All],
        };
        self.nested += 1;
        for part in parts {
            kernel.part.set(*part);
            let written = kernel.body().operations().max(1);
            self.levels(kernel, &order, written, &mut indices, cx, body)?;
        }
        self.nested -= 1;
        Ok(())
    }

    fn levels(
        &mut self,
        kernel: &Kernel<'_>,
        order: &[usize],
        written: usize,
        indices: &mut Vec<Val>,
        cx: &Lanes,
        body: &mut AtPoint<'o, '_>,
    ) -> Result<()> {
        let Some((first, rest)) = order.split_first() else {
            let Some((lane, width)) = kernel.lane else { return body(self, indices, cx) };
            let size = kernel.sizes[lane];
            let mut at = |e: &mut Self, index: &Val, cx: &Lanes| {
                indices[lane] = index.clone();
                body(e, indices, cx)
            };
            let bounds = kernel.bounds.as_ref().filter(|_| lane == 0);
            if let Some(out) = &kernel.stream {
                return self.streamed(out, bounds, width, at);
            }
            if let Some(out) = &kernel.lines {
                return self.by_lines((out, size, width), |e| match bounds {
                    Some(bounds) => e.side_by_side_between(bounds, size, width, at),
                    None => e.side_by_side(size, width, &Lanes::none(), at),
                });
            }
            return match (&kernel.inside, kernel.part.get()) {
                (Some(Inside { from, to, .. }), Part::Inside) => match bounds {
                    Some(bounds) => self.whole_between(bounds, (*from, *to), width, at),
                    None => {
                        self.side_by_side_from(*from, kernel.copies, *to, width, &Lanes::none(), at)
                    }
                },
                (Some(Inside { from, to, .. }), Part::Ends) => {
                    self.at_ends(bounds, (*from, *to), size, width, &mut at)
                }
                _ => match bounds {
                    Some(bounds) => self.side_by_side_between(bounds, size, width, at),
                    None => self.side_by_side_in(kernel.copies, size, width, &Lanes::none(), at),
                },
            };
        };
        let size = kernel.sizes[*first];
        if let Some(tile) = kernel.tile.filter(|tile| tile.dimension == *first) {
            return self.tiles(kernel, tile, |e, i| {
                indices[*first] = Val::One(i.to_string());
                e.level(kernel, rest, written * tile.rows, indices, cx, body)
            });
        }
        if let (0, Some((from, to))) = (*first, &kernel.bounds) {
            return self.count(from, to, 1, |e, i| {
                indices[0] = Val::One(i.to_string());
                e.level(kernel, rest, written, indices, cx, body)
            });
        }
        if size == 1 || size * written <= UNROLLED {
            for i in 0..size {
                indices[*first] = Val::int(i as i64);
                self.level(kernel, rest, written * size, indices, cx, body)?;
            }
            return Ok(());
        }
        self.count("0", &size.to_string(), 1, |e, i| {
            indices[*first] = Val::One(i.to_string());
            e.level(kernel, rest, written, indices, cx, body)
        })
    }

    /// The inner dimensions, after what does not depend on them.
    fn level(
        &mut self,
        kernel: &Kernel<'_>,
        rest: &[usize],
        written: usize,
        indices: &mut Vec<Val>,
        cx: &Lanes,
        body: &mut AtPoint<'o, '_>,
    ) -> Result<()> {
        if rest.is_empty() && kernel.lane.is_none() {
            return self.levels(kernel, rest, written, indices, cx, body);
        }
        let inner = |k: usize| rest.contains(&k) || kernel.lane.is_some_and(|(lane, _)| lane == k);
        let fixed: Vec<bool> = (0..indices.len()).map(|k| !inner(k)).collect();
        let before = self.early(kernel, indices, &fixed, cx)?;
        self.levels(kernel, rest, written, indices, cx, body)?;
        *kernel.early.borrow_mut() = before;
        Ok(())
    }

    /// The results of a body at a point, which is one of several that are written together.
    pub(super) fn at_point(
        &mut self,
        kernel: &Kernel<'_>,
        indices: &[Val],
        (row, captures): (usize, &[Val]),
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let mut args = indices.to_vec();
        for val in captures {
            self.retain(val);
            args.push(val.clone());
        }
        let ranges = kernel.ranges_at(indices, &vec![true; indices.len()]);
        let early = kernel.early.borrow().get(row).cloned().unwrap_or_default();
        self.body_after(kernel.body(), args, cx, ranges, (&[], &[]), &early)
    }

    /// The number of a point of the domain.
    pub(super) fn point(&mut self, kernel: &Kernel<'_>, indices: &[Val], cx: &Lanes) -> Val {
        let mut place = Val::int(0);
        for (index, size) in indices.iter().zip(&kernel.sizes) {
            place = self.integral(Integral::Mul, &place, &Val::int(*size as i64), Element::I64, cx);
            place = self.integral(Integral::Add, &place, index, Element::I64, cx);
        }
        place
    }

    pub(super) fn captured(&self, frame: &Frame<'_>, operands: &[Value]) -> Result<Vec<Val>> {
        operands.iter().map(|v| frame.get(*v).cloned()).collect()
    }

    /// The classes of the results of a body in the lanes around it.
    pub(super) fn result_classes(
        &self,
        frame: &Frame<'_>,
        value: Value,
        body: &Function,
        captures: &[Val],
    ) -> Vec<Class> {
        let given: Vec<Class> = captures.iter().map(Class::of).collect();
        let Some(structure) = frame.f.structure(value) else { return Vec::new() };
        let args = body_args(structure, &given, body.params().len());
        let found = classes(body, &args);
        body.results().iter().map(|v| found[v.index()].join(Class::One)).collect()
    }

    pub(super) fn tab(
        &mut self,
        frame: &mut Frame<'_>,
        value: Value,
        dims: &[Dim],
        body: &Function,
        operands: &[Value],
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let mut kernel = self.kernel(frame, value, dims, body, operands, cx)?;
        let captures = self.captured(frame, operands)?;
        if dims.is_empty() {
            // One point: what the body gives.
            return self.at_point(&kernel, &[], (0, &captures), cx);
        }
        let classes = self.result_classes(frame, value, body, &captures);
        let parts = frame.parts_of(value, body.results().len());
        let mut outs: Vec<Option<Array>> = Vec::new();
        let mut taken: Vec<usize> = Vec::new();
        for ((result, part), class) in body.results().iter().zip(&parts).zip(&classes) {
            let ty = body.ty(*result).within(dims);
            let len = self.known(ty)?;
            let varies = cx.width > 1 && *class != Class::One;
            let Some(part) = *part else {
                outs.push(None);
                continue;
            };
            // In place of an array that is read at the same points only, and never again; not if somebody waits for it elsewhere.
            let asked = self.place_of(frame, part).map(|place| place.base.clone());
            let here = (0..operands.len()).find_map(|k| match &captures[k] {
                Val::Array(array)
                    if !taken.contains(&k)
                        && array.ty == ty
                        && array.varies == varies
                        && asked.as_ref().is_none_or(|base| *base == array.base)
                        && Self::dies(frame, operands[k], value)
                        && self.is_alone(array)
                        && is_read_at_points(body, dims.len() + k, dims.len()) =>
                {
                    Some((k, array.clone()))
                }
                _ => None,
            });
            outs.push(Some(match here {
                Some((k, array)) => {
                    taken.push(k);
                    self.retain(&Val::Array(array.clone()));
                    self.watched(frame, part, array)
                }
                None => {
                    let out = self.allocate_for(frame, part, (ty, len), cx, varies);
                    self.watched(frame, part, out)
                }
            }));
        }
        kernel.stream = self.stream_of(&kernel, &outs);
        kernel.lines = self.rows_by_lines(&kernel, &outs);
        kernel.tile = self.tile_of(&kernel);
        match self.blocks(&kernel, &captures, cx) {
            Some(blocks) => self.shared_table(&mut kernel, blocks, &captures, &outs)?,
            None => {
                kernel.captures = vec![captures.clone()];
                self.nest(&kernel, cx, &mut |e, indices, cx| {
                    e.table_point(&kernel, indices, &captures, &outs, cx)
                })?;
            }
        }
        let unwatched = |out: Array| Val::Array(Array { watched: false, ..out });
        Ok(outs.into_iter().map(|out| out.map_or(Val::One("poison".into()), unwatched)).collect())
    }

    /// Writes a point of a table.
    pub(super) fn table_point(
        &mut self,
        kernel: &Kernel<'_>,
        indices: &[Val],
        captures: &[Val],
        outs: &[Option<Array>],
        cx: &Lanes,
    ) -> Result<()> {
        if kernel.rows.get() > 1 {
            return self.tile_point(kernel, indices, captures, outs, cx);
        }
        let results = self.at_point(kernel, indices, (0, captures), cx)?;
        self.store_point(kernel, indices, results, outs, cx)
    }

    /// Writes the results of a body at a point.
    pub(super) fn store_point(
        &mut self,
        kernel: &Kernel<'_>,
        indices: &[Val],
        results: Vec<Val>,
        outs: &[Option<Array>],
        cx: &Lanes,
    ) -> Result<()> {
        let point = self.point(kernel, indices, cx);
        for (result, out) in results.iter().zip(outs) {
            let Some(out) = out else { continue };
            match result {
                Val::Array(array) => self.store_row(array, out, &point, cx)?,
                Val::Target(_) => return Err(internal("a target in a table")),
                x => self.store(out, &point, x, cx),
            }
        }
        results.into_iter().for_each(|val| self.release(val));
        Ok(())
    }
}

impl Frame<'_> {
    /// The values that are parts of a structure, as far as they are used.
    pub(super) fn parts_of(&self, whole: Value, count: usize) -> Vec<Option<Value>> {
        let mut found = self.all_parts.get(&whole).cloned().unwrap_or_default();
        found.resize(count, None);
        found
    }
}

pub(super) fn is_kernel(f: &Function, value: Value) -> bool {
    matches!(
        f.structure(value),
        Some(Structure::Tab { .. } | Structure::Red { .. } | Structure::Acc { .. })
    )
}

/// Whether a parameter of a body is read at the point itself and used for nothing else.
pub(crate) fn is_read_at_points(body: &Function, param: usize, indices: usize) -> bool {
    let is = |v: Value, k: usize| body.op(v) == Op::Param(k as u32);
    body.values().filter(|v| body.operands(*v).any(|o| is(o, param))).all(|v| {
        let mut operands = body.operands(v);
        body.op(v) == Op::Load
            && operands.len() == indices + 1
            && operands.next().is_some_and(|array| is(array, param))
            && operands.enumerate().all(|(k, index)| is(index, k))
    }) && !body.results().iter().any(|v| is(*v, param))
}

/// Whether a body is arithmetic of scalars alone.
pub(super) fn is_light(body: &Function) -> bool {
    let light = |v: Value| match body.op(v) {
        Op::Elementary(code, _) => {
            body.ty(v).is_scalar() && (is_cheap(code) || code == Opcode::Powi)
        }
        Op::Structure(_) => false,
        _ => true,
    };
    body.values().all(light)
}

/// Whether a body is sums of light arithmetic on numbers and little else.
pub(super) fn has_sums(body: &Function) -> bool {
    let sum =
        |v: Value| matches!(body.structure(v), Some(Structure::Red { reducer: Reducer::Sum, .. }));
    is_sums(body) && body.operations() <= FEW && body.values().any(sum)
}

fn is_sums(body: &Function) -> bool {
    body.values().all(|v| {
        let number = body.ty(v).is_scalar() || matches!(body.op(v), Op::Param(_));
        match (body.op(v), body.structure(v)) {
            (_, Some(Structure::Red { reducer: Reducer::Sum, body, .. })) => is_sums(body),
            (_, Some(_)) | (Op::Argsort | Op::Put | Op::PutAdd, _) => false,
            (Op::Elementary(code, _), _) => number && is_cheap(code),
            _ => number || body.ty(v) == Type::PARTS,
        }
    })
}

/// Whether something in a body is done for one point at a time only.
fn has_order(f: &Function) -> bool {
    f.values().any(|v| {
        f.op(v) == Op::Argsort
            || f.structure(v).is_some_and(|s| s.bodies().any(|body| has_order(body)))
    })
}
