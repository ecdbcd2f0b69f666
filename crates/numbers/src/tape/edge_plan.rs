//! Edge pushing with a plan: which entries meet which is found once, and then only numbers are pushed.

use cotangent_ops::Flags;
use rustc_hash::FxHashMap;

use super::edge::{Curvature, EdgePushing, PAIRS, curve, strong};
use super::listing::Code;
use super::program::Program;
use crate::fault::{Fault, catch};

const NONE: u32 = u32::MAX;
/// In a place of W: add twice.
const TWICE: u32 = 1 << 31;

/// What edge pushing does on a program, whatever the point: made by [`Program::plan_edges`].
///
/// W stands in one array, a place an entry; a place is used again once its entry has been pushed on. So a
/// sweep searches and sorts nothing and allocates nothing.
#[derive(Clone, Debug)]
pub struct EdgePlan {
    of: u64,
    variables: usize,
    /// From the last node to the first, those that matter.
    nodes: Vec<Planned>,
    /// Of each node and operand: the place in W of each entry of the node's row, and where it is pushed.
    pushes: Vec<(u32, u32)>,
    /// Of each node: pairs of operands that curve, and where the value goes.
    creates: Vec<(u32, u32)>,
    places: usize,
    /// The entries of the Hessian on and below the diagonal, row by row: (row, column, place).
    entries: Vec<(u32, u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Planned {
    node: u32,
    /// The place of the node's own entry on the diagonal.
    diagonal: u32,
    /// How many entries its row has.
    row: u32,
    /// Where its pushes and creations end.
    pushes: u32,
    creates: u32,
    /// The operands that cotangents go to.
    operands: [u32; 3],
}

impl EdgePlan {
    /// The entries of the Hessian that may be nonzero, on and below the diagonal, row by row.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + '_ {
        self.entries.iter().map(|(i, j, _)| (*i as usize, *j as usize))
    }

    /// How many products are added up in a sweep: what it costs beside an evaluation.
    pub fn pushes(&self) -> usize {
        self.pushes.len() + self.creates.len()
    }
}

/// The making of a plan.
struct Planner {
    /// (later node, earlier node), the same twice on the diagonal → place.
    place: FxHashMap<(u32, u32), u32>,
    /// By the later of two nodes: the earlier ones.
    rows: Vec<Vec<u32>>,
    free: Vec<u32>,
    places: u32,
}

impl Planner {
    /// The place of an entry, which may be new.
    fn at(&mut self, a: u32, b: u32) -> u32 {
        let (later, with) = (a.max(b), a.min(b));
        if let Some(place) = self.place.get(&(later, with)) {
            return *place;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.places += 1;
            self.places - 1
        });
        self.place.insert((later, with), place);
        if later != with {
            self.rows[later as usize].push(with);
        }
        place
    }
}

impl Program {
    /// Plans edge pushing to the first `variables` inputs; the others are constants.
    ///
    /// ```
    /// use cotangent_numbers::Program;
    /// use cotangent_numbers::tape::EdgePushing;
    ///
    /// let program = Program::record(&[2.0, 3.0, 5.0], |x| vec![x[0] * x[0] * x[1] + x[2]]).unwrap();
    /// let plan = program.plan_edges(3).unwrap();
    /// assert_eq!(plan.entries().collect::<Vec<_>>(), [(0, 0), (1, 0)]);
    /// let (mut room, mut values) = (EdgePushing::default(), [0.0; 2]);
    /// program.push_planned(&plan, &[2.0, 3.0, 5.0], &[1.0], &mut room, &mut values).unwrap();
    /// assert_eq!((room.gradient(), values), (&[12.0, 4.0, 1.0][..], [6.0, 4.0]));
    /// ```
    ///
    /// # Errors
    /// [`Fault::RuleOrder`] for a program with array operations, [`Fault::TraceTooLong`] if W has more
    /// than 2³¹ entries.
    pub fn plan_edges(&self, variables: usize) -> Result<EdgePlan, Fault> {
        if let Some(name) = self.first_array() {
            return Err(Fault::RuleOrder { name });
        }
        let variables = variables.min(self.inputs());
        let slots = self.inputs() + self.codes().len();
        let mut planner = Planner {
            place: FxHashMap::default(),
            rows: vec![Vec::new(); slots],
            free: Vec::new(),
            places: 0,
        };
        let mut reached = vec![false; slots];
        self.mark_outputs(&mut reached);
        let varying = self.varying(variables);
        let mut plan = EdgePlan {
            of: self.id(),
            variables,
            nodes: Vec::new(),
            pushes: Vec::new(),
            creates: Vec::new(),
            places: 0,
            entries: Vec::new(),
        };
        for node in (0..self.codes().len()).rev() {
            let own = (self.inputs() + node) as u32;
            if !reached[own as usize] {
                continue;
            }
            let Some((operands, flags)) = self.structure(node, &varying) else { continue };
            for (operand, _) in
                operands.into_iter().zip(flags.first).filter(|(o, d)| *o != NONE && *d)
            {
                reached[operand as usize] = true;
            }
            self.plan_node(own, operands, flags, &mut planner, &mut plan);
            let longest = plan.pushes.len().max(plan.creates.len());
            if longest.max(planner.places as usize) >= TWICE as usize {
                return Err(Fault::TraceTooLong { limit: u64::from(TWICE) });
            }
        }
        plan.places = planner.places as usize;
        for i in 0..variables as u32 {
            let mut row = std::mem::take(&mut planner.rows[i as usize]);
            row.sort_unstable();
            row.push(i);
            for j in row {
                if let Some(place) = planner.place.get(&(i, j)) {
                    plan.entries.push((i, j, *place));
                }
            }
        }
        Ok(plan)
    }

    fn plan_node(
        &self,
        own: u32,
        operands: [u32; 3],
        flags: Flags,
        planner: &mut Planner,
        plan: &mut EdgePlan,
    ) {
        let active = |k: usize| operands[k] != NONE;
        let selects = matches!(self.codes()[own as usize - self.inputs()], Code::Select(_));
        let row = std::mem::take(&mut planner.rows[own as usize]);
        let from: Vec<u32> =
            row.iter().filter_map(|with| planner.place.remove(&(own, *with))).collect();
        let diagonal = planner.place.remove(&(own, own)).unwrap_or(NONE);
        for k in (0..3).filter(|k| active(*k) && flags.first[*k]) {
            for (with, from) in row.iter().zip(&from) {
                // Twice on the diagonal: the entry stands for its mirror image, too.
                let twice = if *with == operands[k] { TWICE } else { 0 };
                plan.pushes.push((*from, planner.at(operands[k], *with) | twice));
            }
        }
        for (p, (j, k)) in PAIRS.into_iter().enumerate() {
            if !active(j) || !active(k) {
                continue;
            }
            let curves = if j == k { flags.second[j] } else { flags.mixed[j + k - 1] };
            // Of two operands that are selected from, one has no part.
            let both = j == k || !selects;
            let pushed = diagonal != NONE && flags.first[j] && flags.first[k] && both;
            if curves || pushed {
                // Two operands that are one: both mixed partials fall on the diagonal.
                let twice = if j != k && operands[j] == operands[k] { TWICE } else { 0 };
                plan.creates.push((p as u32, planner.at(operands[j], operands[k]) | twice));
            }
        }
        // What is pushed is zero afterwards; a row that goes nowhere is not.
        if (0..3).any(|k| active(k) && flags.first[k]) {
            planner.free.extend(&from);
        }
        if diagonal != NONE {
            planner.free.push(diagonal);
        }
        let operands = std::array::from_fn(|k| if flags.first[k] { operands[k] } else { NONE });
        plan.nodes.push(Planned {
            node: own - self.inputs() as u32,
            diagonal,
            row: row.len() as u32,
            pushes: plan.pushes.len() as u32,
            creates: plan.creates.len() as u32,
            operands,
        });
    }

    /// The slots that depend on the variables.
    fn varying(&self, variables: usize) -> Vec<bool> {
        let slots = self.inputs() + self.codes().len();
        let mut varying = vec![false; slots];
        varying[..variables].fill(true);
        for node in 0..self.codes().len() {
            // A join has the first operands of the next node, which has its slot as its first.
            let unary = matches!(self.codes()[node], Code::Operation(op) if op.arity() == 1);
            let ternary = matches!(self.codes()[node], Code::Operation(op) if op.arity() == 3);
            let [a, b] = self.operands(node);
            let on = |slot: u32| varying.get(slot as usize).is_some_and(|v| *v);
            let first = if ternary { varying[self.inputs() + node - 1] } else { on(a) };
            // A step has no derivative.
            let moves = match self.codes()[node] {
                Code::Operation(op) => op.info().flags.first.contains(&true),
                _ => true,
            };
            varying[self.inputs() + node] = moves && (first || (!unary && on(b)));
        }
        varying
    }

    /// The operands of a node that are no constants, and which partials may be nonzero.
    fn structure(&self, node: usize, varying: &[bool]) -> Option<([u32; 3], Flags)> {
        let [a, b] = self.operands(node);
        let place = |slot: u32| match varying.get(slot as usize) {
            Some(true) => slot,
            _ => NONE,
        };
        match self.codes()[node] {
            Code::Join => None,
            // Either operand may be chosen.
            Code::Select(_) => {
                let first = [true, true, false];
                let flags = Flags { first, second: [false; 3], mixed: [false; 3] };
                Some(([place(a), place(b), NONE], flags))
            }
            Code::Operation(op) => {
                let operands = match op.arity() {
                    1 => [place(a), NONE, NONE],
                    2 => [place(a), place(b), NONE],
                    _ => {
                        let [p, q] = self.operands(node - 1);
                        [place(p), place(q), place(b)]
                    }
                };
                Some((operands, op.info().flags))
            }
        }
    }

    /// Edge pushing at a point by a plan of this program: the outputs and the gradient are in the room
    /// afterwards, the values of the plan's entries in `hessian`.
    ///
    /// # Errors
    /// As [`push_edges`](Program::push_edges), [`Fault::NoReplay`] if the plan is of another program, and
    /// [`Fault::Length`].
    pub fn push_planned(
        &self,
        plan: &EdgePlan,
        x: &[f64],
        weights: &[f64],
        room: &mut EdgePushing,
        hessian: &mut [f64],
    ) -> Result<(), Fault> {
        if plan.of != self.id() {
            return Err(Fault::NoReplay);
        }
        self.check("the point", self.inputs(), x.len())?;
        self.check("the weights", self.outputs(), weights.len())?;
        self.check("the Hessian", plan.entries.len(), hessian.len())?;
        catch(|| self.run_values(x, &mut room.values, &mut room.masks))?.map_or(Ok(()), Err)?;
        room.inputs = plan.variables;
        room.forget();
        room.adjoints.clear();
        room.adjoints.resize(self.inputs() + self.codes().len(), 0.0);
        self.weigh(weights, &mut room.adjoints);
        room.outputs.resize(self.outputs(), 0.0);
        self.store(&room.values, &mut room.outputs);
        room.w.clear();
        room.w.resize(plan.places, 0.0);
        let (mut pushes, mut creates) = (&plan.pushes[..], &plan.creates[..]);
        let (mut pushed, mut created) = (0, 0);
        let mut curvature = Curvature::default();
        for planned in &plan.nodes {
            let (own_pushes, rest) = pushes.split_at(planned.pushes as usize - pushed);
            (pushes, pushed) = (rest, planned.pushes as usize);
            let (own_creates, rest) = creates.split_at(planned.creates as usize - created);
            (creates, created) = (rest, planned.creates as usize);
            self.node(planned, own_pushes, own_creates, room, &mut curvature);
        }
        for (value, (.., place)) in hessian.iter_mut().zip(&plan.entries) {
            *value = room.w[*place as usize];
        }
        Ok(())
    }

    #[inline]
    fn node(
        &self,
        planned: &Planned,
        pushes: &[(u32, u32)],
        creates: &[(u32, u32)],
        room: &mut EdgePushing,
        curvature: &mut Curvature,
    ) {
        let node = planned.node as usize;
        let own = self.inputs() + node;
        let weight = room.adjoints[own];
        let [a, b] = self.operands(node);
        let value = |slot: u32| room.values[slot as usize];
        match self.codes()[node] {
            Code::Join => return,
            Code::Select(mask) => {
                let chosen = room.masks[mask as usize];
                let part = |yes: bool| if yes { 1.0 } else { 0.0 };
                *curvature = Curvature::default();
                (curvature.first[0], curvature.first[1]) = (part(chosen), part(!chosen));
            }
            Code::Operation(op) => {
                let (x, parameter) = match op.arity() {
                    1 => ([value(a), 0.0, 0.0], b.cast_signed()),
                    2 => ([value(a), value(b), 0.0], 0),
                    _ => {
                        let [p, q] = self.operands(node - 1);
                        ([value(p), value(q), value(b)], 0)
                    }
                };
                curve(op, parameter, x, room.values[own], curvature);
            }
        }
        let Curvature { first, second } = &*curvature;
        let w = &mut room.w[..];
        let add = |w: &mut [f64], place: u32, value: f64| {
            let value = if place & TWICE == 0 { value } else { 2.0 * value };
            w[(place & !TWICE) as usize] += value;
        };
        let mut left = pushes;
        for (k, operand) in planned.operands.into_iter().enumerate().filter(|(_, o)| *o != NONE) {
            let (now, rest) = left.split_at(planned.row as usize);
            left = rest;
            for (from, to) in now {
                add(w, *to, strong(w[*from as usize], first[k]));
            }
            room.adjoints[operand as usize] += strong(weight, first[k]);
        }
        let curved = if planned.diagonal == NONE { 0.0 } else { w[planned.diagonal as usize] };
        for (p, to) in creates {
            let (j, k) = PAIRS[*p as usize];
            let product = strong(first[j], first[k]);
            add(w, *to, strong(curved, product) + strong(weight, second[*p as usize]));
        }
        // The places are free for others now; each operand has the same.
        for (from, _) in &pushes[..(planned.row as usize).min(pushes.len())] {
            w[*from as usize] = 0.0;
        }
        if planned.diagonal != NONE {
            w[planned.diagonal as usize] = 0.0;
        }
    }
}
