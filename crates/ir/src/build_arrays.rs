//! Building arrays, integers and operations with bodies.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::build::Builder;
use crate::function::{Function, Param, Value};
use crate::op::{Integral, Op};
use crate::structure::{Reducer, Structure};
use crate::types::{Dim, Element, Type};
use crate::verify::Zero;

impl Builder {
    /// Arithmetic of integers.
    pub fn integral(&mut self, integral: Integral, x: Value, y: Value) -> Value {
        let ty = self.joint(&[x, y]);
        let (a, b) = (self.known_integer(x), self.known_integer(y));
        match (integral, a, b) {
            (_, Some(a), Some(b)) => {
                self.integer_of(integral.apply(a, b, ty.element()), Type::scalar(ty.element()))
            }
            (Integral::Add | Integral::Sub, _, Some(0))
            | (Integral::Mul | Integral::Div, _, Some(1))
                if self.ty(x) == ty =>
            {
                x
            }
            (Integral::Add, Some(0), _) | (Integral::Mul, Some(1), _) if self.ty(y) == ty => y,
            _ => {
                let commutes = !matches!(integral, Integral::Sub | Integral::Div | Integral::Rem);
                let swap = commutes && self.place(y) < self.place(x);
                let operands = if swap { [y, x] } else { [x, y] };
                self.intern(Op::Integral(integral), ty, &operands)
            }
        }
    }

    /// The same number as another element.
    pub fn cast(&mut self, x: Value, element: Element) -> Value {
        let ty = self.ty(x).of(element);
        if self.ty(x) == ty {
            return x;
        }
        match (self.known_integer(x), self.known(x)) {
            (Some(c), _) if element.is_float() && c.unsigned_abs() < 1 << 24 => {
                self.constant(c as f64, ty)
            }
            (Some(c), _) if element.is_integer() => self.integer_of(c, ty),
            (_, Some(c)) if element.is_integer() && c.trunc() == c && c.abs() < 1e9 => {
                self.integer_of(c as i64, ty)
            }
            _ => self.intern(Op::Cast, ty, &[x]),
        }
    }

    /// An array of one value everywhere; the value itself if it has this type.
    pub fn fill(&mut self, x: Value, ty: Type) -> Value {
        if self.ty(x).dims() == ty.dims() {
            return x;
        }
        self.intern(Op::Fill, ty.of(self.ty(x).element()), &[x])
    }

    /// A dimension of an array.
    pub fn extent(&mut self, x: Value, k: u32) -> Value {
        match self.ty(x).dims().get(k as usize) {
            Some(Dim::Size(n)) => self.integer(*n as i64),
            _ => self.intern(Op::Extent(k), Type::I64, &[x]),
        }
    }

    /// An element of an array; with fewer indices than dimensions, those that begin with them.
    pub fn load(&mut self, array: Value, indices: &[Value]) -> Value {
        if indices.is_empty() {
            return array;
        }
        let ty = self.ty(array).after(indices.len());
        if let Some(entry) = self.known_entry(array, indices) {
            return entry;
        }
        match self.function.op(array) {
            Op::Fill => {
                let scalar = self.function.operand(array, 0);
                self.fill(scalar, ty)
            }
            Op::Load => {
                let mut all: Vec<Value> = self.function.operands(array).collect();
                all.extend(indices);
                self.intern(Op::Load, ty, &all)
            }
            _ => {
                let all: Vec<Value> =
                    std::iter::once(array).chain(indices.iter().copied()).collect();
                self.intern(Op::Load, ty, &all)
            }
        }
    }

    /// The array with another element at a place.
    pub fn put(&mut self, array: Value, value: Value, indices: &[Value]) -> Value {
        self.store(Op::Put, array, value, indices)
    }

    /// The array with something added at a place.
    pub fn put_add(&mut self, array: Value, value: Value, indices: &[Value]) -> Value {
        self.store(Op::PutAdd, array, value, indices)
    }

    fn store(&mut self, op: Op, array: Value, value: Value, indices: &[Value]) -> Value {
        if indices.is_empty() {
            return match op {
                Op::Put => value,
                _ => self.elementary(cotangent_ops::Opcode::Add, 0, &[array, value]),
            };
        }
        // What is there already, at a place that is there for certain.
        let inside = indices.iter().zip(self.ty(array).dims()).all(|(index, dim)| {
            let place = self.known_integer(*index).and_then(|c| usize::try_from(c).ok());
            matches!((place, dim), (Some(k), Dim::Size(n)) if k < *n)
        });
        let bits = |v: Value| self.known_everywhere(v).map(f64::to_bits);
        let same = match op {
            Op::Put => bits(array).is_some() && bits(array) == bits(value),
            _ => self.is_nought(array) && self.is_nought(value),
        };
        if same && inside {
            return array;
        }
        let value = self.fill(value, self.ty(array).after(indices.len()));
        let all: Vec<Value> = [array, value].into_iter().chain(indices.iter().copied()).collect();
        self.intern(op, self.ty(array), &all)
    }

    /// The order of the elements of a list.
    pub fn argsort(&mut self, x: Value) -> Value {
        self.intern(Op::Argsort, self.ty(x).of(Element::I64), &[x])
    }

    /// What derivatives do not go through.
    pub fn stop(&mut self, x: Value) -> Value {
        match self.function.op(x) {
            op if op.is_constant() => x,
            _ => self.intern(Op::Stop, self.ty(x), &[x]),
        }
    }

    /// The value, kept in loops for the way back.
    pub fn keep(&mut self, x: Value) -> Value {
        self.marked(Op::Keep, x)
    }

    /// The value, computed again in loops on the way back.
    pub fn recompute(&mut self, x: Value) -> Value {
        self.marked(Op::Recompute, x)
    }

    pub(crate) fn marked(&mut self, mark: Op, x: Value) -> Value {
        match self.function.op(x) {
            op if op.is_constant() || op == mark => x,
            _ => self.intern(mark, self.ty(x), &[x]),
        }
    }

    /// The sum of all elements of an array; `linear` says whether the array is a tangent or cotangent.
    pub fn total(&mut self, array: Value, linear: bool) -> Value {
        let ty = self.ty(array);
        if ty.is_scalar() {
            return array;
        }
        let mut body = Builder::new("");
        let indices = body.indices(ty.dims().len());
        let inner = body.add_param(Param { name: "x".to_string(), ty, linear });
        let element = body.load(inner, &indices);
        let body = Arc::new(body.finish(vec![element]));
        let dims = ty.dims().to_vec();
        self.structure(Structure::Red { dims, reducer: Reducer::Sum, body }, &[array])[0]
    }

    /// Parameters for the indices of a domain.
    pub fn indices(&mut self, rank: usize) -> Vec<Value> {
        let names = ["i", "j", "k", "l"];
        (0..rank).map(|r| self.param(*names.get(r).unwrap_or(&"i"), Type::I64)).collect()
    }

    /// An operation with a body; its parts. Captures that are constants or not used go into the body or
    /// away, and equal ones become one.
    ///
    /// # Panics
    /// If there are fewer operands than it takes.
    pub fn structure(&mut self, structure: Structure, operands: &[Value]) -> Vec<Value> {
        let (structure, operands) = self.close(structure, operands);
        match &structure {
            Structure::If { yes, no } => {
                if let Some(truth) = self.known_truth(operands[0]) {
                    let branch = if truth { yes } else { no }.clone();
                    return self.inline(&branch, &operands[1..]);
                }
            }
            Structure::For { carries, body }
                if self.known_integer(operands[0]).is_some_and(|n| n <= 0)
                    && body.results().len() == *carries =>
            {
                return operands[1..=*carries].to_vec();
            }
            _ => {}
        }
        let types = structure.part_types(self.bound_of(&structure, &operands));
        self.function.structures.push(structure);
        let number = self.function.structures.len() as u32 - 1;
        let before = self.function.nodes.len();
        let whole = self.intern(Op::Structure(number), Type::PARTS, &operands);
        if whole.index() < before {
            self.function.structures.pop();
        }
        let mut parts = Vec::with_capacity(types.len());
        for (ty, k) in types.into_iter().zip(0..) {
            let zero = self.function.zero_part(whole, k as usize);
            parts.push(match zero.and_then(Zero::number) {
                // Zero wherever it comes from: seen to be, so that it counts as a tangent that is zero.
                Some(zero) if !ty.dims().contains(&Dim::Any) => self.constant(zero, ty),
                _ => self.intern(Op::Part(k), ty, &[whole]),
            });
        }
        parts
    }

    /// The dimension of what a loop stacks.
    fn bound_of(&self, structure: &Structure, operands: &[Value]) -> Dim {
        self.function.bound(structure, operands)
    }

    /// Captures in the order of their use, each once, constants in the body.
    fn close(&self, structure: Structure, operands: &[Value]) -> (Structure, Vec<Value>) {
        // A body written anew may use less than before.
        let (mut structure, mut operands) = (structure, operands.to_vec());
        loop {
            let before = operands.len();
            (structure, operands) = self.close_once(structure, &operands);
            if operands.len() == before {
                return (structure, operands);
            }
        }
    }

    fn close_once(&self, structure: Structure, operands: &[Value]) -> (Structure, Vec<Value>) {
        // A size that was not known may be now: then bodies are written anew for it.
        let given = |k: usize| structure.operand_of(k).and_then(|o| operands.get(o).copied());
        let sized = |k: usize, param: &Param| match given(k).map(|v| self.ty(v)) {
            Some(ty) if param.ty.is_unknown() && ty.dims().len() == param.ty.dims().len() => ty,
            _ => param.ty,
        };
        let resized = structure
            .bodies()
            .any(|body| body.params().iter().enumerate().any(|(k, p)| sized(k, p) != p.ty));
        if let Structure::Derive(_) = &structure {
            return (structure, operands.to_vec());
        }
        if let Structure::Call { function } = &structure {
            if !resized || function.rule().is_some() {
                return (structure, operands.to_vec());
            }
            let mut b = Builder::new(function.name());
            let params: Vec<Value> = function
                .params()
                .iter()
                .enumerate()
                .map(|(k, p)| b.add_param(Param { ty: sized(k, p), ..p.clone() }))
                .collect();
            let results = b.inline(function, &params);
            let function = Arc::new(b.finish(results));
            return (Structure::Call { function }, operands.to_vec());
        }
        let (own, handed) = structure.own_params();
        let (fixed, captures) = operands.split_at(structure.lead() + handed);
        let mut order: Vec<usize> = Vec::with_capacity(captures.len());
        let mut seen = vec![false; captures.len()];
        for body in structure.bodies() {
            let results = body.results().iter().copied();
            let used = body.values().flat_map(|v| body.operands(v)).chain(results);
            for value in used {
                if let Op::Param(k) = body.op(value)
                    && let Some(k) = (k as usize).checked_sub(own)
                    && !std::mem::replace(&mut seen[k], true)
                {
                    order.push(k);
                }
            }
        }
        // Zeros that stand for something linear are not linear by themselves: they go into the body, too.
        let linear = |k: usize| structure.params().get(own + k).is_some_and(|p| p.linear);
        let zero = |k: usize| {
            self.function.op(captures[k]) == Op::Fill
                && linear(k)
                && self.function.is_zero(captures[k])
        };
        let constant = |k: usize| self.function.op(captures[k]).is_constant() || zero(k);
        // The first capture of the same value stands for all.
        let mut first_of: FxHashMap<Value, usize> = FxHashMap::default();
        for k in order.iter().filter(|k| !constant(**k)) {
            first_of.entry(captures[*k]).or_insert(*k);
        }
        let first = |k: usize| first_of.get(&captures[k]).copied();
        let kept: Vec<usize> =
            order.iter().copied().filter(|k| !constant(*k) && first(*k) == Some(*k)).collect();
        let mut places: Vec<Option<usize>> = vec![None; captures.len()];
        kept.iter().enumerate().for_each(|(place, k)| places[*k] = Some(place));
        let operands = |kept: &[usize]| -> Vec<Value> {
            fixed.iter().copied().chain(kept.iter().map(|k| captures[*k])).collect()
        };
        let as_they_are =
            kept.len() == captures.len() && kept.iter().enumerate().all(|(a, b)| a == *b);
        if as_they_are && !resized {
            return (structure, operands(&kept));
        }
        let closed = structure.with_bodies(|body| {
            let mut b = Builder::new(body.name());
            let mut add = |k: usize| {
                let param = &body.params()[k];
                b.add_param(Param { ty: sized(k, param), ..param.clone() })
            };
            let mut args: Vec<Value> = (0..own).map(&mut add).collect();
            let params: Vec<Value> = kept.iter().map(|k| add(own + k)).collect();
            for k in 0..captures.len() {
                let place = first(k).and_then(|j| places[j]);
                let value = match (self.function.op(captures[k]), place) {
                    (op, _) if op.is_constant() => b.copy(op, self.ty(captures[k]), &[]),
                    _ if zero(k) => b.constant(0.0, self.ty(captures[k])),
                    (_, Some(place)) => params[place],
                    // Not used: anything does.
                    _ => b.constant(0.0, Type::F64),
                };
                args.push(value);
            }
            let results = b.inline(body, &args);
            Arc::new(b.finish(results))
        });
        (closed, operands(&kept))
    }

    /// The operations of a function with values in the place of its parameters; its results. Guards come
    /// with them.
    ///
    /// # Panics
    /// If there are fewer values than parameters.
    pub fn inline(&mut self, f: &Function, args: &[Value]) -> Vec<Value> {
        let mut copy = Copied::new(f.len());
        // What is linear in a zero is zero, and must be seen to be: a product with it is linear no more.
        let vanishing =
            f.params().iter().zip(args).any(|(p, v)| p.linear && self.function.is_zero(*v));
        let linear = if vanishing { f.linear_values().ok() } else { None };
        for value in f.values() {
            copy.value(self, f, value, args);
            if let Some(linear) = &linear
                && linear[value.index()]
                && self.vanishes(f, value, linear, &copy)
            {
                let zero = self.constant(0.0, f.ty(value));
                copy.set(value, zero);
            }
        }
        for guard in f.guards() {
            self.guard(copy.of(guard.condition), guard.expected);
        }
        f.results().iter().map(|v| copy.of(*v)).collect()
    }

    /// Whether all that a linear value is linear in has become zero, and it has not been seen to be.
    fn vanishes(&self, f: &Function, value: Value, linear: &[bool], copy: &Copied) -> bool {
        if f.op(value).is_leaf() || f.ty(value).dims().contains(&Dim::Any) {
            return false;
        }
        let whole = if matches!(f.op(value), Op::Part(_)) { f.operand(value, 0) } else { value };
        let zero = |v: Value| copy.get(v).is_some_and(|v| self.function.is_zero(v));
        !zero(value) && f.operands(whole).filter(|v| linear[v.index()]).all(zero)
    }

    /// An own function as a parameter list: one for each parameter of `f`.
    pub fn params_of(&mut self, params: &[Param]) -> Vec<Value> {
        params.iter().map(|p| self.add_param(p.clone())).collect()
    }
}

/// Values of a function in another one.
pub struct Copied {
    values: Vec<Option<Value>>,
    parts: Vec<Vec<Value>>,
    /// Where the parts of a structure stand.
    of_structure: Vec<u32>,
}

impl Copied {
    /// Room for a function of so many values.
    pub fn new(len: usize) -> Self {
        Copied { values: vec![None; len], parts: Vec::new(), of_structure: vec![u32::MAX; len] }
    }

    /// The copy of a value.
    ///
    /// # Panics
    /// If it has not been copied, or is an operation with a body.
    pub fn of(&self, value: Value) -> Value {
        match self.values[value.index()] {
            Some(copy) => copy,
            None => panic!("value {} has no copy", value.index()),
        }
    }

    /// The copy of a value, if there is one.
    pub fn get(&self, value: Value) -> Option<Value> {
        self.values[value.index()]
    }

    /// Sets the copy of a value.
    pub fn set(&mut self, value: Value, copy: Value) {
        self.values[value.index()] = Some(copy);
    }

    /// Sets the parts of an operation with a body.
    pub fn set_parts(&mut self, value: Value, parts: Vec<Value>) {
        self.of_structure[value.index()] = self.parts.len() as u32;
        self.parts.push(parts);
    }

    /// The parts of the copy of an operation with a body.
    pub fn parts(&self, value: Value) -> Option<&[Value]> {
        self.parts.get(self.of_structure[value.index()] as usize).map(Vec::as_slice)
    }

    /// Copies a value whose operands have been copied; parameters are given.
    pub fn value(&mut self, b: &mut Builder, f: &Function, value: Value, args: &[Value]) {
        let mut small = [Value(0); 3];
        let copy = match f.op(value) {
            Op::Param(k) => args[k as usize],
            Op::Table(_) => match f.table(value) {
                Some(table) => b.table(table.clone()),
                None => return,
            },
            Op::Structure(_) => {
                let operands: Vec<Value> = f.operands(value).map(|v| self.of(v)).collect();
                if let Some(structure) = f.structure(value) {
                    let parts = b.structure(structure.clone(), &operands);
                    self.set_parts(value, parts);
                }
                return;
            }
            Op::Part(k) => match self.parts(f.operand(value, 0)) {
                Some(parts) => parts[k as usize],
                None => return,
            },
            op if op.arity().is_some() => {
                let mut count = 0;
                for (to, from) in small.iter_mut().zip(f.operands(value)) {
                    *to = self.of(from);
                    count += 1;
                }
                b.copy(op, f.ty(value), &small[..count])
            }
            op => {
                let operands: Vec<Value> = f.operands(value).map(|v| self.of(v)).collect();
                b.copy(op, f.ty(value), &operands)
            }
        };
        self.set(value, copy);
    }
}

impl Function {
    /// The dimension of what a loop stacks, as far as it is known.
    pub(crate) fn bound(&self, structure: &Structure, operands: &[Value]) -> Dim {
        let Structure::For { .. } = structure else { return Dim::Any };
        match self.op(operands[0]) {
            Op::Integer(n) => Dim::Size(usize::try_from(n).unwrap_or(0)),
            Op::Extent(k) => {
                let array = self.operand(operands[0], 0);
                self.ty(array).dims().get(k as usize).copied().unwrap_or(Dim::Any)
            }
            _ => Dim::Any,
        }
    }
}
