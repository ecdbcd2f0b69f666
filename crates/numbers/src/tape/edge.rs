//! Second derivatives straight from a program: edge pushing (Gower and Mello, 2012).
//!
//! The nodes are walked backwards once, carrying the cotangents and a sparse symmetric matrix W over the
//! nodes not yet walked: the second derivatives to them. A node hands its row of W on to its operands
//! (pushing) and adds its own curvature (creating). At the end W is over the inputs: the Hessian, with
//! just the entries that the program has.

use cotangent_ops::{Binary, Elementary, Opcode, Partial, Ternary, Unary, Visitor};

use super::listing::Code;
use super::program::Program;
use crate::fault::{Fault, catch};

const NONE: u32 = u32::MAX;

/// Room for edge pushing, used again by the next evaluation.
#[derive(Debug, Default)]
pub struct EdgePushing {
    pub(super) values: Vec<f64>,
    pub(super) masks: Vec<bool>,
    pub(super) adjoints: Vec<f64>,
    diagonal: Vec<f64>,
    /// By the later of two nodes: the first of its entries in W.
    head: Vec<u32>,
    entries: Vec<Entry>,
    free: u32,
    row: Vec<(u32, f64)>,
    pub(super) inputs: usize,
    pub(super) outputs: Vec<f64>,
    /// The entries of W, as a plan places them.
    pub(super) w: Vec<f64>,
}

/// An entry of W: the earlier node, the value, the next entry of the later node.
#[derive(Clone, Copy, Debug)]
struct Entry {
    with: u32,
    value: f64,
    next: u32,
}

/// The first and second partials of an operation: to (0, 1, 2) and to (00, 01, 02, 11, 12, 22).
#[derive(Default)]
pub(super) struct Curvature {
    pub(super) first: [f64; 3],
    pub(super) second: [f64; 6],
}

/// Index of each pair in [`Curvature::second`].
pub(super) const PAIRS: [(usize, usize); 6] = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];

/// Writes the partials where they are read: a returned struct would be copied in vectors just after
/// it was stored number by number, which stalls (a third of a sweep).
struct Curve<'c> {
    x: [f64; 3],
    y: f64,
    out: &'c mut Curvature,
}

impl Visitor for Curve<'_> {
    type Output = ();

    fn unary<O: Unary>(self, op: O) {
        let Curve { x: [x, ..], y, out } = self;
        out.first[0] = op.d(x, y).value();
        out.second[0] = op.dd(x, y).value();
    }

    fn binary<O: Binary>(self, op: O) {
        let Curve { x: [x, y, _], y: z, out } = self;
        out.first[0] = op.d1(x, y, z).value();
        out.first[1] = op.d2(x, y, z).value();
        let [xx, xy, yy] = op.dd(x, y, z).map(Partial::value);
        out.second[0] = xx;
        out.second[1] = xy;
        out.second[3] = yy;
    }

    fn ternary<O: Ternary>(self, op: O) {
        let Curve { x: [x, y, z], y: w, out } = self;
        out.first = op.d(x, y, z, w).map(Partial::value);
        out.second = op.dd(x, y, z, w).map(Partial::value);
    }
}

/// A product in which a zero on either side wins over ∞ and NaN.
pub(super) fn strong(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a.strong_mul(b) }
}

impl Program {
    /// The second derivatives of the weighted outputs at a point, into `room`.
    ///
    /// ```
    /// use cotangent_numbers::Program;
    /// use cotangent_numbers::tape::EdgePushing;
    ///
    /// let program = Program::record(&[2.0, 3.0, 5.0], |x| vec![x[0] * x[0] * x[1] + x[2]]).unwrap();
    /// let mut room = EdgePushing::default();
    /// program.push_edges(&[2.0, 3.0, 5.0], &[1.0], &mut room).unwrap();
    /// assert_eq!(room.gradient(), [12.0, 4.0, 1.0]);
    /// assert_eq!(room.hessian(), [(0, 0, 6.0), (1, 0, 4.0)]);
    /// ```
    ///
    /// # Errors
    /// As [`evaluate`](Program::evaluate), and [`Fault::RuleOrder`] for a program with array operations,
    /// whose rules are of first order.
    pub fn push_edges(
        &self,
        x: &[f64],
        weights: &[f64],
        room: &mut EdgePushing,
    ) -> Result<(), Fault> {
        if let Some(name) = self.first_array() {
            return Err(Fault::RuleOrder { name });
        }
        self.check("the point", self.inputs(), x.len())?;
        self.check("the weights", self.outputs(), weights.len())?;
        catch(|| self.run_values(x, &mut room.values, &mut room.masks))?.map_or(Ok(()), Err)?;
        room.start(self.inputs(), self.inputs() + self.codes().len());
        self.weigh(weights, &mut room.adjoints);
        room.outputs.resize(self.outputs(), 0.0);
        self.store(&room.values, &mut room.outputs);
        for node in (0..self.codes().len()).rev() {
            room.node(self, node);
        }
        Ok(())
    }
}

impl EdgePushing {
    /// The outputs.
    pub fn outputs(&self) -> &[f64] {
        &self.outputs
    }

    /// The gradient of the weighted outputs.
    pub fn gradient(&self) -> &[f64] {
        &self.adjoints[..self.inputs]
    }

    /// The entries of the Hessian on and below the diagonal, as (row, column, value), row by row; none
    /// after a sweep by a plan, which gives them out itself.
    pub fn hessian(&mut self) -> Vec<(usize, usize, f64)> {
        let mut all = Vec::new();
        for i in 0..self.inputs.min(self.head.len()) {
            self.take_row(i as u32);
            let nonzero = self.row.iter().filter(|(_, v)| *v != 0.0);
            all.extend(nonzero.map(|(j, v)| (i, *j as usize, *v)));
            // The row may be asked for again.
            for k in 0..self.row.len() {
                let (j, v) = self.row[k];
                self.link(i as u32, j, v);
            }
            if self.diagonal[i] != 0.0 {
                all.push((i, i, self.diagonal[i]));
            }
        }
        all
    }

    /// Leaves no entries of another sweep behind: those of a planned one are given out by it.
    pub(super) fn forget(&mut self) {
        self.head.clear();
        self.diagonal.clear();
        self.entries.clear();
        self.free = NONE;
    }

    fn start(&mut self, inputs: usize, slots: usize) {
        self.inputs = inputs;
        self.adjoints.clear();
        self.adjoints.resize(slots, 0.0);
        self.diagonal.clear();
        self.diagonal.resize(slots, 0.0);
        self.head.clear();
        self.head.resize(slots, NONE);
        self.entries.clear();
        self.free = NONE;
    }

    /// Pushes and creates at one node.
    fn node(&mut self, program: &Program, node: usize) {
        let own = self.inputs + node;
        let (weight, curved) = (self.adjoints[own], self.diagonal[own]);
        if weight == 0.0 && curved == 0.0 && self.head[own] == NONE {
            return;
        }
        let Some((operands, curvature)) = self.local(program, node) else { return };
        let active = |k: usize| (operands[k] as usize) < own;
        self.take_row(own as u32);
        let row = std::mem::take(&mut self.row);
        for (k, &operand) in operands.iter().enumerate().filter(|(k, _)| active(*k)) {
            let c = curvature.first[k];
            for &(with, w) in &row {
                let pushed = strong(w, c);
                if with == operand {
                    self.diagonal[operand as usize] += 2.0 * pushed;
                } else {
                    self.add(operand, with, pushed);
                }
            }
            self.adjoints[operand as usize] += strong(weight, c);
        }
        self.row = row;
        for (p, (j, k)) in PAIRS.into_iter().enumerate() {
            if !active(j) || !active(k) {
                continue;
            }
            let product = strong(curvature.first[j], curvature.first[k]);
            let value = strong(curved, product) + strong(weight, curvature.second[p]);
            if value == 0.0 {
                continue;
            }
            match (j == k, operands[j] == operands[k]) {
                (true, _) => self.diagonal[operands[j] as usize] += value,
                // Two operands that are one: both mixed partials fall on the diagonal.
                (false, true) => self.diagonal[operands[j] as usize] += 2.0 * value,
                (false, false) => self.add(operands[j], operands[k], value),
            }
        }
    }

    /// The operands of a node (constants and absent ones as none) and its partials.
    fn local(&self, program: &Program, node: usize) -> Option<([u32; 3], Curvature)> {
        let own = (self.inputs + node) as u32;
        let slots = (self.inputs + program.codes().len()) as u32;
        let [a, b] = program.operands(node);
        let place = |slot: u32| if slot < slots { slot } else { NONE };
        let value = |slot: u32| self.values[slot as usize];
        match program.codes()[node] {
            Code::Join => None,
            Code::Select(mask) => {
                let chosen = if self.masks[mask as usize] { a } else { b };
                let curvature = Curvature { first: [1.0, 0.0, 0.0], second: [0.0; 6] };
                Some(([place(chosen), NONE, NONE], curvature))
            }
            Code::Operation(op) => {
                let y = self.values[own as usize];
                let (slots, x, parameter) = match op.arity() {
                    1 => ([place(a), NONE, NONE], [value(a), 0.0, 0.0], b.cast_signed()),
                    2 => ([place(a), place(b), NONE], [value(a), value(b), 0.0], 0),
                    _ => {
                        let [p, q] = program.operands(node - 1);
                        ([place(p), place(q), place(b)], [value(p), value(q), value(b)], 0)
                    }
                };
                let mut curvature = Curvature::default();
                curve(op, parameter, x, y, &mut curvature);
                Some((slots, curvature))
            }
        }
    }

    /// Adds to an entry of W off the diagonal.
    fn add(&mut self, a: u32, b: u32, value: f64) {
        if value != 0.0 {
            self.link(a.max(b), a.min(b), value);
        }
    }

    fn link(&mut self, later: u32, with: u32, value: f64) {
        let entry = Entry { with, value, next: self.head[later as usize] };
        let place = if self.free == NONE {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        } else {
            let place = self.free;
            self.free = std::mem::replace(&mut self.entries[place as usize], entry).next;
            place
        };
        self.head[later as usize] = place;
    }

    /// Moves the entries of a node into `row`, sorted, those with the same node added up.
    fn take_row(&mut self, node: u32) {
        self.row.clear();
        let mut at = std::mem::replace(&mut self.head[node as usize], NONE);
        while at != NONE {
            let Entry { with, value, next } = self.entries[at as usize];
            self.row.push((with, value));
            self.entries[at as usize].next = self.free;
            self.free = at;
            at = next;
        }
        // Stable, so that sums do not depend on anything but the program.
        self.row.sort_by_key(|(with, _)| *with);
        self.row.dedup_by(|next, first| {
            let same = next.0 == first.0;
            if same {
                first.1 += next.1;
            }
            same
        });
    }
}

/// The partials that an operation of this arity has; the others stay as they are.
#[inline]
pub(super) fn curve(op: Opcode, parameter: i32, x: [f64; 3], y: f64, out: &mut Curvature) {
    op.visit(parameter, Curve { x, y, out });
}
