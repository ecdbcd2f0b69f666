//! Building functions: equal operations become one, constants are folded.

use std::hash::{Hash, Hasher};

use cotangent_ops::{Comparison, Opcode};
use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::function::{Function, Guard, Param, Value, hash_structure};
use crate::interpret::{apply, compare};
use crate::op::{Node, Op};
use crate::types::{Element, Type};

/// A function in the making.
///
/// ```
/// use cotangent_ir::{Builder, Type};
/// use cotangent_ops::Opcode;
///
/// let mut b = Builder::new("square_sum");
/// let x = b.param("x", Type::F64);
/// let square = b.elementary(Opcode::Mul, 0, &[x, x]);
/// let again = b.elementary(Opcode::Mul, 0, &[x, x]);
/// assert_eq!(square, again);
/// let sum = b.elementary(Opcode::Add, 0, &[square, again]);
/// let f = b.finish(vec![sum]);
/// assert_eq!(f.to_string(), "fn @square_sum(%x: f64) -> f64 {\n  %0 = mul %x, %x\n  %1 = add %0, %0\n  ret %1\n}\n");
/// ```
pub struct Builder {
    pub(crate) function: Function,
    known: HashTable<u32>,
}

impl Builder {
    /// A function without parameters and operations.
    pub fn new(name: impl Into<String>) -> Self {
        let function = Function {
            name: name.into(),
            params: Vec::new(),
            nodes: Vec::new(),
            pool: Vec::new(),
            structures: Vec::new(),
            tables: Vec::new(),
            rule: None,
            guards: Vec::new(),
            results: Vec::new(),
        };
        Builder { function, known: HashTable::new() }
    }

    /// The function so far.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Adds a parameter.
    pub fn param(&mut self, name: impl Into<String>, ty: Type) -> Value {
        self.add_param(Param { name: name.into(), ty, linear: false })
    }

    /// Adds a parameter on which the results depend linearly.
    pub fn linear_param(&mut self, name: impl Into<String>, ty: Type) -> Value {
        self.add_param(Param { name: name.into(), ty, linear: true })
    }

    /// Adds a parameter; a name that is taken gets a number.
    pub fn add_param(&mut self, mut param: Param) -> Value {
        let taken = |name: &str, params: &[Param]| params.iter().any(|p| p.name == name);
        if taken(&param.name, &self.function.params) {
            let stem = std::mem::take(&mut param.name);
            let fresh = (1..).map(|k| format!("{stem}_{k}"));
            let fresh = fresh.into_iter().find(|name| !taken(name, &self.function.params));
            param.name = fresh.unwrap_or_default();
        }
        self.push_param(param)
    }

    /// Adds a parameter whose name is not taken.
    pub(crate) fn push_param(&mut self, param: Param) -> Value {
        let op = Op::Param(self.function.params.len() as u32);
        let node = Node::new(op, param.ty, &[], &mut self.function.pool);
        self.function.params.push(param);
        self.push(node)
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    /// A number; of an array, the number everywhere.
    pub fn constant(&mut self, c: f64, ty: Type) -> Value {
        // Singles are kept as the doubles they are.
        let c = if ty.element() == Element::F32 { f64::from(c as f32) } else { c };
        let scalar = self.intern(Op::Constant(c.to_bits()), Type::scalar(ty.element()), &[]);
        self.fill(scalar, ty)
    }

    /// A number of which this is the rounded value.
    pub fn rounded(&mut self, c: f64, ty: Type) -> Value {
        let c = if ty.element() == Element::F32 { f64::from(c as f32) } else { c };
        self.intern(Op::Rounded(c.to_bits()), Type::scalar(ty.element()), &[])
    }

    /// An integer.
    pub fn integer(&mut self, c: i64) -> Value {
        self.integer_of(c, Type::I64)
    }

    pub(crate) fn integer_of(&mut self, c: i64, ty: Type) -> Value {
        let c = if ty == Type::I32 { i64::from(c as i32) } else { c };
        self.intern(Op::Integer(c), ty, &[])
    }

    /// A truth value.
    pub fn truth(&mut self, truth: bool) -> Value {
        self.intern(Op::Truth(truth), Type::BOOL, &[])
    }

    /// The number that a value is known to be.
    pub fn known(&self, value: Value) -> Option<f64> {
        match self.function.op(value) {
            Op::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// The integer that a value is known to be.
    pub fn known_integer(&self, value: Value) -> Option<i64> {
        match self.function.op(value) {
            Op::Integer(c) => Some(c),
            _ => None,
        }
    }

    pub(crate) fn known_truth(&self, value: Value) -> Option<bool> {
        match self.function.op(value) {
            Op::Truth(truth) => Some(truth),
            _ => None,
        }
    }

    /// The type that an operation element by element gives: the dimensions of its arrays.
    pub(crate) fn joint(&self, operands: &[Value]) -> Type {
        let mut types = operands.iter().map(|v| self.ty(*v));
        let first = types.next().unwrap_or(Type::F64);
        if first.is_scalar() { types.find(|ty| !ty.is_scalar()).unwrap_or(first) } else { first }
    }

    /// An operation of the table on numbers of one kind, scalars or arrays of equal dimensions.
    ///
    /// # Panics
    /// If there are not as many operands as it takes.
    pub fn elementary(&mut self, code: Opcode, parameter: i32, operands: &[Value]) -> Value {
        assert_eq!(operands.len(), code.info().arity, "{}", code.info().name);
        let ty = self.joint(operands);
        let mut args = [operands[0]; 3];
        args[..operands.len()].copy_from_slice(operands);
        let args = &mut args[..operands.len()];
        let mut numbers = [0.0; 3];
        let all_known = args
            .iter()
            .zip(&mut numbers)
            .all(|(arg, number)| self.known(*arg).map(|c| *number = c).is_some());
        if all_known && let Some(exact) = fold(code, &numbers[..args.len()], ty) {
            return self.constant(exact, ty);
        }
        if let Some(same) = self.unchanged(code, parameter, args) {
            return self.fill(same, ty);
        }
        // A number on the left that is not zero wins over nothing: a plain product.
        let plain = code == Opcode::StrongMul && self.known(args[0]).is_some_and(|c| c != 0.0);
        let code = if plain { Opcode::Mul } else { code };
        if is_commutative(code) {
            self.in_order(args);
        }
        self.intern(Op::Elementary(code, parameter), ty, args)
    }

    /// Puts two operands that may change places in order: parameters first, by their number; then values as
    /// they were made; then constants, by their bits. Both ways are one operation, and the text does not
    /// depend on where constants and captures stand in the arena.
    pub(crate) fn in_order(&self, operands: &mut [Value]) {
        let key = |v: Value| match self.function.op(v) {
            Op::Param(k) => (0, u64::from(k)),
            Op::Constant(bits) => (2, bits),
            Op::Rounded(bits) => (3, bits),
            Op::Integer(c) => (4, c.cast_unsigned()),
            Op::Truth(truth) => (5, u64::from(truth)),
            _ => (1, u64::from(v.0)),
        };
        if let [x, y] = operands
            && key(*y) < key(*x)
        {
            std::mem::swap(x, y);
        }
    }

    /// The value that an operation leaves as it is, to the bit and in every interpretation.
    fn unchanged(&self, code: Opcode, parameter: i32, args: &[Value]) -> Option<Value> {
        let is = |k: usize, c: f64| self.known(args[k]) == Some(c);
        match code {
            Opcode::Mul | Opcode::StrongMul if is(0, 1.0) => Some(args[1]),
            Opcode::Mul | Opcode::StrongMul | Opcode::Div if is(1, 1.0) => Some(args[0]),
            // By its definition a zero on the left wins over everything.
            Opcode::StrongMul if self.function.op(args[0]) == Op::Constant(0) => Some(args[0]),
            Opcode::Powi if parameter == 1 => Some(args[0]),
            Opcode::Neg if self.function.op(args[0]) == Op::Elementary(Opcode::Neg, 0) => {
                self.function.operands(args[0]).next()
            }
            _ => None,
        }
    }

    /// A comparison of two numbers or integers of one type.
    pub fn compare(&mut self, comparison: Comparison, x: Value, y: Value) -> Value {
        if let (Some(a), Some(b)) = (self.known(x), self.known(y)) {
            return self.truth(compare(comparison, a, b));
        }
        if let (Some(a), Some(b)) = (self.known_integer(x), self.known_integer(y)) {
            return self.truth(comparison.holds(&a, &b));
        }
        let ty = self.joint(&[x, y]).of(Element::Bool);
        self.intern(Op::Compare(comparison), ty, &[x, y])
    }

    /// Both.
    pub fn and(&mut self, x: Value, y: Value) -> Value {
        match (self.known_truth(x), self.known_truth(y)) {
            (Some(false), _) | (_, Some(true)) if self.ty(y).is_scalar() => x,
            (_, Some(false)) | (Some(true), _) if self.ty(x).is_scalar() => y,
            _ => {
                let mut operands = [x, y];
                self.in_order(&mut operands);
                self.intern(Op::And, self.joint(&operands), &operands)
            }
        }
    }

    /// One of the two, or both.
    pub fn or(&mut self, x: Value, y: Value) -> Value {
        match (self.known_truth(x), self.known_truth(y)) {
            (Some(true), _) | (_, Some(false)) if self.ty(y).is_scalar() => x,
            (_, Some(true)) | (Some(false), _) if self.ty(x).is_scalar() => y,
            _ => {
                let mut operands = [x, y];
                self.in_order(&mut operands);
                self.intern(Op::Or, self.joint(&operands), &operands)
            }
        }
    }

    /// The opposite.
    pub fn not(&mut self, x: Value) -> Value {
        match (self.known_truth(x), self.function.op(x)) {
            (Some(truth), _) => self.truth(!truth),
            (None, Op::Not) => self.function.operands(x).next().unwrap_or(x),
            _ => self.intern(Op::Not, self.ty(x), &[x]),
        }
    }

    /// x where the mask holds, else y.
    pub fn select(&mut self, mask: Value, x: Value, y: Value) -> Value {
        let ty = self.joint(&[x, y]);
        let ty = if ty.is_scalar() { self.ty(mask).of(ty.element()) } else { ty };
        match self.known_truth(mask) {
            Some(true) => self.fill(x, ty),
            Some(false) => self.fill(y, ty),
            None if x == y => self.fill(x, ty),
            None => self.intern(Op::Select, ty, &[mask, x, y]),
        }
    }

    /// The operation again, on other operands: what a transformation does with what it leaves alone.
    ///
    /// # Panics
    /// If there are not as many operands as it takes, and for parameters, tables and operations with bodies,
    /// which are added by [`add_param`](Builder::add_param), [`table`](Builder::table) and
    /// [`structure`](Builder::structure).
    pub fn copy(&mut self, op: Op, ty: Type, operands: &[Value]) -> Value {
        match (op, operands) {
            (Op::Constant(bits), []) => self.constant(f64::from_bits(bits), ty),
            (Op::Rounded(bits), []) => self.rounded(f64::from_bits(bits), ty),
            (Op::Truth(truth), []) => self.truth(truth),
            (Op::Integer(c), []) => self.integer_of(c, ty),
            (Op::Elementary(code, parameter), args) => self.elementary(code, parameter, args),
            (Op::Compare(comparison), [x, y]) => self.compare(comparison, *x, *y),
            (Op::And, [x, y]) => self.and(*x, *y),
            (Op::Or, [x, y]) => self.or(*x, *y),
            (Op::Not, [x]) => self.not(*x),
            (Op::Select, [mask, x, y]) => self.select(*mask, *x, *y),
            (Op::Integral(integral), [x, y]) => self.integral(integral, *x, *y),
            (Op::Cast, [x]) => self.cast(*x, ty.element()),
            (Op::Fill, [x]) => self.fill(*x, ty),
            (Op::Extent(k), [x]) => self.extent(*x, k),
            (Op::Load, [array, indices @ ..]) => self.load(*array, indices),
            (Op::Put, [array, value, indices @ ..]) => self.put(*array, *value, indices),
            (Op::PutAdd, [array, value, indices @ ..]) => self.put_add(*array, *value, indices),
            (Op::Argsort, [x]) => self.argsort(*x),
            (Op::Stop, [x]) => self.stop(*x),
            (op, operands) => panic!("{} does not take {} operands", op.name(), operands.len()),
        }
    }

    /// Takes for granted how a condition comes out.
    pub fn guard(&mut self, condition: Value, expected: bool) {
        let guard = Guard { condition, expected };
        if self.known_truth(condition) != Some(expected) && !self.function.guards.contains(&guard) {
            self.function.guards.push(guard);
        }
    }

    /// The function with these results; what they and the guards do not need is gone.
    pub fn finish(mut self, results: Vec<Value>) -> Function {
        self.function.results = results;
        self.function.without_dead()
    }

    pub(crate) fn intern(&mut self, op: Op, ty: Type, operands: &[Value]) -> Value {
        let mark = self.function.pool.len();
        let node = Node::new(op, ty, operands, &mut self.function.pool);
        let function = &self.function;
        let hash = |node: &Node| {
            let mut hasher = FxHasher::default();
            if node.is_pooled() {
                // Where the operands stand in the pool is no part of it.
                (node.ty(), node.operands(&function.pool)).hash(&mut hasher);
                match node.op() {
                    Op::Structure(k) => {
                        hash_structure(&function.structures[k as usize], &mut hasher);
                    }
                    op => op.hash(&mut hasher),
                }
            } else {
                node.hash(&mut hasher);
            }
            hasher.finish()
        };
        let same = |other: &Node| {
            if !node.is_pooled() || !other.is_pooled() {
                return node == *other;
            }
            let ops = match (node.op(), other.op()) {
                (Op::Structure(a), Op::Structure(b)) => {
                    function.structures[a as usize] == function.structures[b as usize]
                }
                (a, b) => a == b,
            };
            ops && node.ty() == other.ty()
                && node.operands(&function.pool) == other.operands(&function.pool)
        };
        let own = hash(&node);
        if let Some(found) = self.known.find(own, |id| same(&function.nodes[*id as usize])) {
            let found = Value(*found);
            self.function.pool.truncate(mark);
            return found;
        }
        let value = Value(self.function.nodes.len() as u32);
        let nodes = &self.function.nodes;
        self.known.insert_unique(own, value.0, |id| hash(&nodes[*id as usize]));
        self.push(node)
    }

    fn push(&mut self, node: Node) -> Value {
        let value = Value(self.function.nodes.len() as u32);
        self.function.nodes.push(node);
        value
    }
}

/// The result of an operation on numbers, if it is exact: then it is the same in every interpretation,
/// bounds included. All else is left to what runs the function.
pub(crate) fn fold(code: Opcode, x: &[f64], ty: Type) -> Option<f64> {
    let result = apply(code, 0, x, ty);
    let finite = result.is_finite() && x.iter().all(|x| x.is_finite());
    let exact = match (code, x) {
        (Opcode::Neg | Opcode::Abs, _) => true,
        // What an addition loses is again a number (Knuth).
        (Opcode::Add | Opcode::Sub, [a, b]) if ty.element() == Element::F64 => {
            let b = if code == Opcode::Sub { -b } else { *b };
            let back = result - a;
            (a - (result - back)) + (b - back) == 0.0
        }
        // A tiny product may lose what the remainder cannot hold.
        (Opcode::Mul | Opcode::StrongMul, [a, b]) if ty.element() == Element::F64 => {
            (result.abs() > 1e-200 || *a == 0.0 || *b == 0.0) && a.mul_add(*b, -result) == 0.0
        }
        _ => false,
    };
    (finite && exact).then_some(result)
}

/// Whether the operands may change places: to the bit, so not `max`, whose ties go to the first.
pub fn is_commutative(code: Opcode) -> bool {
    matches!(code, Opcode::Add | Opcode::Mul)
}

impl Function {
    /// The function without values that no result and no guard needs; parameters stay.
    #[must_use]
    pub fn without_dead(mut self) -> Function {
        let mut needed = vec![false; self.nodes.len()];
        let roots = self.results.iter().chain(self.guards.iter().map(|g| &g.condition));
        roots.for_each(|v| needed[v.index()] = true);
        for at in (0..self.nodes.len()).rev() {
            match self.nodes[at].op() {
                Op::Param(_) => needed[at] = true,
                _ if needed[at] => {
                    for operand in self.nodes[at].operands(&self.pool) {
                        needed[*operand as usize] = true;
                    }
                }
                _ => {}
            }
        }
        let mut moved = vec![Value(0); self.nodes.len()];
        let mut kept = Vec::with_capacity(self.nodes.len());
        let (mut pool, mut structures, mut tables) = (Vec::new(), Vec::new(), Vec::new());
        let mut operands = Vec::new();
        for (at, node) in self.nodes.iter().enumerate().filter(|(at, _)| needed[*at]) {
            moved[at] = Value(kept.len() as u32);
            operands.clear();
            operands.extend(node.operands(&self.pool).iter().map(|v| moved[*v as usize]));
            let op = match node.op() {
                Op::Structure(k) => {
                    structures.push(self.structures[k as usize].clone());
                    Op::Structure(structures.len() as u32 - 1)
                }
                Op::Table(k) => {
                    tables.push(self.tables[k as usize].clone());
                    Op::Table(tables.len() as u32 - 1)
                }
                op => op,
            };
            kept.push(Node::new(op, node.ty(), &operands, &mut pool));
        }
        (self.pool, self.structures, self.tables) = (pool, structures, tables);
        self.nodes = kept;
        self.results.iter_mut().for_each(|v| *v = moved[v.index()]);
        self.guards.iter_mut().for_each(|g| g.condition = moved[g.condition.index()]);
        self
    }
}
