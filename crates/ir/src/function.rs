//! The function: a list of pure operations in an arena.
//!
//! An operation with several results has no value of its own; its results are its *parts*.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::library::Origin;
use crate::op::{Node, Op};
use crate::structure::Structure;
use crate::table::Table;
use crate::types::Type;

/// A value of a function: the place of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub(crate) u32);

impl Value {
    /// The number of the value.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    /// Its name, without the sign before it.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether the results depend on it linearly: it is a tangent or a cotangent.
    pub linear: bool,
}

/// A truth value that a recording took for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The condition.
    pub condition: Value,
    /// How it came out.
    pub expected: bool,
}

/// A function of numbers: parameters, operations, results.
///
/// Operations are pure and stand in an order in which operands come first. Equal operations are one
/// (see [`Builder`](crate::Builder)). It prints as text that parses back. Functions are equal if they do
/// the same by the same operations, whatever they and their parameters are called.
#[derive(Clone)]
pub struct Function {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) pool: Vec<u32>,
    pub(crate) structures: Vec<Structure>,
    pub(crate) tables: Vec<Arc<Table>>,
    pub(crate) rule: Option<Arc<Function>>,
    /// Which function of the library it is; then its rule is found there.
    pub(crate) library: Option<Arc<Origin>>,
    pub(crate) guards: Vec<Guard>,
    pub(crate) results: Vec<Value>,
}

impl Function {
    /// The name, without the sign before it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The function under another name.
    #[must_use]
    pub fn renamed(mut self, name: impl Into<String>) -> Function {
        let name = name.into();
        if self.name != name {
            self.leave_library();
        }
        self.name = name;
        self
    }

    /// A function like others from now on, with its rule.
    fn leave_library(&mut self) {
        if let Some(origin) = self.library.take() {
            self.rule = origin.rule().cloned();
        }
    }

    /// Whether it is a function of the [`library`](crate::library): its text is its name.
    pub fn is_library(&self) -> bool {
        self.library.is_some()
    }

    /// The function with changed parameters, those of its bodies and of what it calls included. Types must
    /// stay.
    #[must_use]
    pub fn map_params(mut self, change: &impl Fn(&mut Param)) -> Function {
        let before = self.library.is_some().then(|| self.clone());
        self.params.iter_mut().for_each(change);
        for structure in &mut self.structures {
            *structure =
                structure.with_bodies(|body| Arc::new((**body).clone().map_params(change)));
        }
        // What the library has stays its own as long as it is the same.
        if let Some(before) = before
            && !before.same_operations(&self)
        {
            // With nothing linear any more, what it was in a derivative has a name, too.
            let strong = before.strong_form().filter(|strong| strong.same_operations(&self));
            match strong {
                Some(strong) => return strong,
                None => self.leave_library(),
            }
        }
        self
    }

    /// The parameters.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// The results.
    pub fn results(&self) -> &[Value] {
        &self.results
    }

    /// The conditions under which it stands for what was recorded.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// The number of values: parameters, constants and operations.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no value at all.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All values, operands before what uses them.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + use<> {
        (0..self.nodes.len() as u32).map(Value)
    }

    /// What a value is computed by.
    ///
    /// # Panics
    /// If it is a value of a longer function.
    pub fn op(&self, value: Value) -> Op {
        self.nodes[value.index()].op()
    }

    /// The type of a value.
    ///
    /// # Panics
    /// If it is a value of a longer function.
    pub fn ty(&self, value: Value) -> Type {
        self.nodes[value.index()].ty()
    }

    /// The operands of a value.
    ///
    /// # Panics
    /// If it is a value of a longer function.
    pub fn operands(
        &self,
        value: Value,
    ) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + '_ {
        self.nodes[value.index()].operands(&self.pool).iter().map(|arg| Value(*arg))
    }

    /// An operand of a value.
    ///
    /// # Panics
    /// If there is none of this number.
    pub fn operand(&self, value: Value, k: usize) -> Value {
        Value(self.nodes[value.index()].operands(&self.pool)[k])
    }

    /// The operation with a body that a value is.
    pub fn structure(&self, value: Value) -> Option<&Structure> {
        match self.op(value) {
            Op::Structure(k) => self.structures.get(k as usize),
            _ => None,
        }
    }

    /// Whether there are only scalar numbers and truth values, made by the operations of the table, comparisons,
    /// `and`, `or`, `not` and `select`.
    pub fn is_flat(&self) -> bool {
        self.structures.is_empty()
            && self.values().all(|v| {
                let (op, ty) = (self.op(v), self.ty(v));
                // What stops or casts, or chooses between truth values, is run with the rest.
                let other = matches!(op, Op::Stop | Op::Keep | Op::Recompute | Op::Cast)
                    || matches!(op, Op::Select) && ty == Type::BOOL;
                !other && (ty.is_float() && ty.is_scalar() || ty == Type::BOOL)
            })
    }

    /// The values of the parameters.
    pub fn param_values(&self) -> Vec<Option<Value>> {
        let mut found = vec![None; self.params.len()];
        for value in self.values() {
            if let Op::Param(k) = self.op(value) {
                found[k as usize] = Some(value);
            }
        }
        found
    }

    /// The parts of an operation with a body, as far as they are used.
    pub fn parts_of(&self, whole: Value) -> Vec<Option<Value>> {
        let Some(structure) = self.structure(whole) else { return Vec::new() };
        let mut parts = vec![None; structure.part_types(crate::types::Dim::Any).len()];
        // Parts follow what they are of, but other values may stand between.
        for value in self.values().skip(whole.index() + 1) {
            if let Op::Part(k) = self.op(value)
                && self.operand(value, 0) == whole
            {
                parts[k as usize] = Some(value);
            }
        }
        parts
    }

    /// The parts of all operations with bodies, as far as they are used.
    pub fn all_parts(&self) -> FxHashMap<Value, Vec<Option<Value>>> {
        let mut found: FxHashMap<Value, Vec<Option<Value>>> = FxHashMap::default();
        for value in self.values() {
            if let Some(structure) = self.structure(value) {
                let count = structure.part_types(crate::types::Dim::Any).len();
                found.insert(value, vec![None; count]);
            } else if let Op::Part(k) = self.op(value)
                && let Some(parts) = found.get_mut(&self.operand(value, 0))
            {
                parts[k as usize] = Some(value);
            }
        }
        found
    }

    /// Whether it or something in it takes for granted how a condition comes out.
    pub fn has_guards(&self) -> bool {
        let inside = |structure: &Structure| structure.bodies().any(|body| body.has_guards());
        !self.guards.is_empty() || self.structures.iter().any(inside)
    }

    /// The first dimension of what a loop stacks.
    pub fn stack_dim(&self, whole: Value) -> crate::types::Dim {
        let operands: Vec<Value> = self.operands(whole).collect();
        match self.structure(whole) {
            Some(structure) => self.bound(structure, &operands),
            None => crate::types::Dim::Any,
        }
    }

    /// The derivative that was given with it: of its parameters and their tangents, the tangents of its
    /// results.
    pub fn rule(&self) -> Option<&Arc<Function>> {
        match &self.library {
            Some(origin) => origin.rule(),
            None => self.rule.as_ref(),
        }
    }

    /// The function with a derivative of its own: a function of its parameters and of a tangent of each
    /// number among them, which gives a tangent of each number among its results.
    #[must_use]
    pub fn with_rule(mut self, rule: Function) -> Function {
        self.library = None;
        self.rule = Some(Arc::new(rule));
        self
    }

    /// The function with the derivative of the one that it was made of; in the library, if that is and nothing has
    /// changed.
    pub(crate) fn with_rule_of(mut self, f: &Function) -> Function {
        self.library = f.library.clone().filter(|_| self.same_operations(f));
        self.rule = if self.library.is_some() { None } else { f.rule().cloned() };
        self
    }

    /// The function without a derivative of its own: that of its operations is taken.
    #[must_use]
    pub fn without_rule(mut self) -> Function {
        (self.library, self.rule) = (None, None);
        self
    }

    /// The operations, without parameters, constants, tables and parts; those of a body count once.
    pub fn operations(&self) -> usize {
        let own = self.values().filter(|v| {
            let op = self.op(*v);
            !op.is_leaf() && !matches!(op, Op::Part(_) | Op::Structure(_) | Op::Table(_))
        });
        let bodies = self.structures.iter().flat_map(Structure::bodies);
        own.count() + bodies.map(|body| body.operations()).sum::<usize>()
    }

    /// A hash of what the function does: equal for functions whose text is equal, names aside.
    pub fn structural_hash(&self) -> u64 {
        let mut hasher = rustc_hash::FxHasher::default();
        for param in &self.params {
            (param.linear, param.ty.element()).hash(&mut hasher);
            hash_dims(param.ty, &mut hasher);
        }
        // Operations by their number in the text: where constants stand in the arena is no part of it.
        let mut numbers = vec![0u32; self.nodes.len()];
        let operations = self.values().filter(|v| !self.op(*v).is_leaf());
        for (value, number) in operations.zip(0u32..) {
            match (self.structure(value), self.table(value)) {
                (Some(structure), _) => hash_structure(structure, &mut hasher),
                (_, Some(table)) => table.entries().hash(&mut hasher),
                _ => self.op(value).hash(&mut hasher),
            }
            self.ty(value).element().hash(&mut hasher);
            hash_dims(self.ty(value), &mut hasher);
            self.operands(value).for_each(|v| self.hash_use(v, &numbers, &mut hasher));
            numbers[value.index()] = number;
        }
        for guard in &self.guards {
            guard.expected.hash(&mut hasher);
            self.hash_use(guard.condition, &numbers, &mut hasher);
        }
        self.results.iter().for_each(|v| self.hash_use(*v, &numbers, &mut hasher));
        // Not by what it says: the rule of a library function may call the function.
        let ruled = self.library.as_ref().map_or(self.rule.is_some(), |origin| origin.has_rule());
        ruled.hash(&mut hasher);
        hasher.finish()
    }

    fn hash_use(&self, value: Value, numbers: &[u32], hasher: &mut impl Hasher) {
        match self.op(value) {
            op if op.is_leaf() => (op, self.ty(value).element()).hash(hasher),
            _ => numbers[value.index()].hash(hasher),
        }
    }
}

/// By the dimensions, not by the number of the type: that depends on what was built before.
fn hash_dims(ty: Type, hasher: &mut impl Hasher) {
    if !ty.is_scalar() {
        ty.dims().hash(hasher);
    }
}

/// What a structure does, its bodies by their hashes.
pub(crate) fn hash_structure(structure: &Structure, hasher: &mut impl Hasher) {
    structure.name().hash(hasher);
    structure.domain().hash(hasher);
    structure.own_params().hash(hasher);
    match structure {
        Structure::Red { reducer, .. } => reducer.hash(hasher),
        Structure::Derive(derive) => (&derive.args, &derive.results, derive.width).hash(hasher),
        _ => {}
    }
    structure.bodies().for_each(|body| body.structural_hash().hash(hasher));
}

impl Function {
    /// Whether both do the same by the same operations, their rules aside.
    fn same_operations(&self, other: &Function) -> bool {
        let params = |f: &Function| -> Vec<(Type, bool)> {
            f.params.iter().map(|p| (p.ty, p.linear)).collect()
        };
        self.nodes == other.nodes
            && self.pool == other.pool
            && self.results == other.results
            && self.guards == other.guards
            && params(self) == params(other)
            && self.structures == other.structures
            && self.tables == other.tables
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        match (&self.library, &other.library) {
            (Some(own), Some(theirs)) => own.is(theirs),
            _ => self.same_operations(other) && self.rule() == other.rule(),
        }
    }
}

impl Eq for Function {}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
