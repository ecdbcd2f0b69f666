//! Building functions: equal operations become one, constants are folded.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use cotangent_ops::{Comparison, Opcode};
use hashbrown::HashTable;
use rustc_hash::{FxHashSet, FxHasher};

use crate::function::{Function, Guard, Param, Value, hash_structure};
use crate::interpret::{apply, compare};
use crate::op::{Node, Op};
use crate::structure::Structure;
use crate::table::Table;
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
    /// The names of the parameters.
    names: FxHashSet<String>,
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
            library: None,
            guards: Vec::new(),
            results: Vec::new(),
        };
        Builder { function, known: HashTable::new(), names: FxHashSet::default() }
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
        if !self.names.insert(param.name.clone()) {
            let stem = std::mem::take(&mut param.name);
            let mut fresh = (1..).map(|k| format!("{stem}_{k}"));
            param.name = fresh.find(|name| self.names.insert(name.clone())).unwrap_or_default();
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

    /// An integer of a type.
    pub fn integer_of(&mut self, c: i64, ty: Type) -> Value {
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

    /// The truth value that a value is known to be.
    pub fn known_truth(&self, value: Value) -> Option<bool> {
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
            .all(|(arg, number)| self.known_everywhere(*arg).map(|c| *number = c).is_some());
        if all_known && let Some(exact) = fold(code, &numbers[..args.len()], ty) {
            return self.constant(exact, ty);
        }
        if let Some(same) = self.unchanged(code, parameter, args) {
            return self.fill(same, ty);
        }
        // A finite number that is not zero neither wins nor loses: a plain product.
        let plain = code == Opcode::StrongMul
            && self.known(args[0]).is_some_and(|c| c != 0.0 && c.is_finite());
        let code = if plain { Opcode::Mul } else { code };
        if is_commutative(code) && self.place(args[1]) < self.place(args[0]) {
            args.swap(0, 1);
        }
        self.intern(Op::Elementary(code, parameter), ty, args)
    }

    /// By what operands that may change places are ordered, so that both ways are one operation: parameters by
    /// their number, other values in the order of their making, constants by their bits. It does not depend
    /// on where parameters and constants stand in the arena, nor does the text.
    pub(crate) fn place(&self, value: Value) -> (u8, u64) {
        match self.function.op(value) {
            Op::Param(k) => (0, u64::from(k)),
            Op::Truth(truth) => (2, u64::from(truth)),
            Op::Integer(c) => (2, c.cast_unsigned()),
            Op::Constant(bits) => (2, bits),
            Op::Rounded(bits) => (3, bits),
            _ => (1, u64::from(value.0)),
        }
    }

    fn in_place(&self, x: Value, y: Value) -> [Value; 2] {
        if self.place(y) < self.place(x) { [y, x] } else { [x, y] }
    }

    /// The value that an operation leaves as it is, to the bit and in every interpretation.
    fn unchanged(&self, code: Opcode, parameter: i32, args: &[Value]) -> Option<Value> {
        let is = |k: usize, c: f64| self.known_everywhere(args[k]) == Some(c);
        match code {
            Opcode::Mul | Opcode::StrongMul if is(0, 1.0) => Some(args[1]),
            Opcode::Mul | Opcode::StrongMul | Opcode::Div if is(1, 1.0) => Some(args[0]),
            // By its definition a zero on the left wins over everything.
            Opcode::StrongMul if self.is_nought(args[0]) => Some(args[0]),
            Opcode::Powi if parameter == 1 => Some(args[0]),
            Opcode::Neg if self.function.op(args[0]) == Op::Elementary(Opcode::Neg, 0) => {
                self.function.operands(args[0]).next()
            }
            _ => None,
        }
    }

    /// The number that a value is, or all elements of an array.
    pub fn known_everywhere(&self, value: Value) -> Option<f64> {
        match self.function.op(value) {
            Op::Fill => self.function.operands(value).next().and_then(|x| self.known(x)),
            _ => self.known(value),
        }
    }

    /// Whether a value is zero without a sign, or an array of nothing else.
    pub(crate) fn is_nought(&self, value: Value) -> bool {
        match self.function.op(value) {
            Op::Constant(bits) => bits == 0,
            Op::Fill => self.function.operands(value).next().is_some_and(|x| self.is_nought(x)),
            _ => false,
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
                let ty = self.joint(&[x, y]);
                self.intern(Op::And, ty, &self.in_place(x, y))
            }
        }
    }

    /// One of the two, or both.
    pub fn or(&mut self, x: Value, y: Value) -> Value {
        match (self.known_truth(x), self.known_truth(y)) {
            (Some(true), _) | (_, Some(false)) if self.ty(y).is_scalar() => x,
            (_, Some(true)) | (Some(false), _) if self.ty(x).is_scalar() => y,
            _ => {
                let ty = self.joint(&[x, y]);
                self.intern(Op::Or, ty, &self.in_place(x, y))
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
            (op @ (Op::Keep | Op::Recompute), [x]) => self.marked(op, *x),
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
    /// The function without values that no result and no guard needs; parameters stay. They come first, and
    /// constants where they are needed first, so that functions of the same text are equal.
    #[must_use]
    pub fn without_dead(mut self) -> Function {
        let mut needed = vec![false; self.nodes.len()];
        let roots = self.results.iter().chain(self.guards.iter().map(|g| &g.condition));
        roots.for_each(|v| needed[v.index()] = true);
        for at in (0..self.nodes.len()).rev() {
            if needed[at] {
                for operand in self.nodes[at].operands(&self.pool) {
                    needed[*operand as usize] = true;
                }
            }
        }
        let mut moving = Moving {
            moved: vec![None; self.nodes.len()],
            nodes: Vec::with_capacity(self.nodes.len()),
            pool: Vec::new(),
            structures: Vec::new(),
            tables: Vec::new(),
            from: &self,
        };
        let param = |at: &usize| matches!(self.nodes[*at].op(), Op::Param(_));
        (0..self.nodes.len()).filter(param).for_each(|at| moving.place(at));
        for at in (0..self.nodes.len()).filter(|at| needed[*at]) {
            let node = &self.nodes[at];
            if !node.op().is_leaf() {
                node.operands(&self.pool)
                    .iter()
                    .for_each(|operand| moving.place(*operand as usize));
                moving.place(at);
            }
        }
        let guards = self.guards.iter().map(|guard| guard.condition);
        guards.chain(self.results.iter().copied()).for_each(|v| moving.place(v.index()));
        let Moving { moved, nodes, pool, structures, tables, .. } = moving;
        let place = |v: &mut Value| *v = moved[v.index()].unwrap_or(*v);
        self.results.iter_mut().for_each(place);
        self.guards.iter_mut().for_each(|g| place(&mut g.condition));
        (self.nodes, self.pool, self.structures, self.tables) = (nodes, pool, structures, tables);
        self
    }
}

/// A function whose values move to another place.
struct Moving<'f> {
    moved: Vec<Option<Value>>,
    nodes: Vec<Node>,
    pool: Vec<u32>,
    structures: Vec<Structure>,
    tables: Vec<Arc<Table>>,
    from: &'f Function,
}

impl Moving<'_> {
    /// Puts a value behind the others, whose operands have been; once.
    fn place(&mut self, at: usize) {
        if self.moved[at].is_some() {
            return;
        }
        let node = &self.from.nodes[at];
        let operands = node.operands(&self.from.pool).iter();
        let operands: Vec<Value> =
            operands.map(|v| self.moved[*v as usize].unwrap_or(Value(*v))).collect();
        let op = match node.op() {
            Op::Structure(k) => {
                self.structures.push(self.from.structures[k as usize].clone());
                Op::Structure(self.structures.len() as u32 - 1)
            }
            Op::Table(k) => {
                self.tables.push(self.from.tables[k as usize].clone());
                Op::Table(self.tables.len() as u32 - 1)
            }
            op => op,
        };
        self.moved[at] = Some(Value(self.nodes.len() as u32));
        self.nodes.push(Node::new(op, node.ty(), &operands, &mut self.pool));
    }
}
