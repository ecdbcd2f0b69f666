//! Random programs with arrays, kernels, loops, branches and calls, well typed as they are built.
//!
//! Numbers stay tame: what an operation gives is of the size of what it takes, and indices are within their
//! arrays. A program is made by its seed alone.

use std::sync::Arc;

use cotangent_ir::{
    Builder, Dim, Element, Function, Integral, Op, Param, Reducer, Structure, Type, Value,
};
use cotangent_ops::{Comparison, Opcode};
use fastrand::Rng;

mod bodies;
mod rules;

/// What programs are made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// About how many operations.
    pub operations: usize,
    /// How deep bodies are nested.
    pub depth: usize,
    /// Whether derivatives are stopped here and there: dual numbers do not see that.
    pub stops: bool,
    /// Whether arrays are stacked by loops whose number of rounds is not known beforehand.
    pub unknown: bool,
    /// Whether the only result is one number.
    pub one: bool,
    /// Whether some dimensions are longer than a few vectors.
    pub long: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { operations: 30, depth: 3, stops: false, unknown: true, one: false, long: false }
    }
}

/// The program of a seed.
pub fn random(seed: u64, options: &Options) -> Function {
    let mut maker = Maker { rng: Rng::with_seed(seed), fuel: options.operations, options };
    let mut s = Scope::new("f", 0);
    let names = ["x", "y", "0", "z", "2", "w"];
    for name in &names[..maker.rng.usize(1..=4)] {
        let ty = match maker.rng.u8(..10) {
            0..4 => Type::F64,
            4..9 => maker.array_type(),
            _ => Type::I64,
        };
        let value = s.b.param(*name, ty);
        s.values.push(value);
    }
    if maker.rng.bool() {
        let n = s.b.param("n", Type::I64);
        s.values.push(n);
    }
    while maker.fuel > 0 {
        maker.step(&mut s);
    }
    let mut results = vec![];
    if options.one {
        let (a, b) = (maker.number(&mut s), maker.number(&mut s));
        let mut sum = s.b.elementary(Opcode::Add, 0, &[a, b]);
        if let Some(array) =
            maker.pick(&s, |ty| ty.is_float() && !ty.is_scalar() && ty.len().is_some())
        {
            let total = s.b.total(array, false);
            let total = maker.small(&mut s, total);
            sum = s.b.elementary(Opcode::Add, 0, &[sum, total]);
        }
        results.push(sum);
    } else {
        for _ in 0..maker.rng.usize(1..=3) {
            let value = maker.pick(&s, |ty| ty.len().is_some());
            results.push(value.unwrap_or_else(|| s.b.constant(1.0, Type::F64)));
        }
        if maker.rng.bool() {
            results.push(maker.number(&mut s));
        }
    }
    s.b.finish(results)
}

/// Arguments of a program: numbers between −1 and 1.5, integers from 0 to 4.
pub fn arguments(f: &Function, seed: u64) -> Vec<f64> {
    let mut rng = Rng::with_seed(seed ^ 0xa96);
    let mut all = Vec::new();
    for param in f.params() {
        for _ in 0..param.ty.len().unwrap_or(0) {
            all.push(match param.ty.element() {
                element if element.is_float() => 0.25 + 2.5 * (rng.f64() - 0.5),
                Element::Bool => f64::from(rng.u8(..2)),
                _ => f64::from(rng.u8(..5)),
            });
        }
    }
    all
}

/// A body in the making.
struct Scope {
    b: Builder,
    /// What may be used.
    values: Vec<Value>,
    /// Integers of which it is known that they are at least 0 and less than this.
    below: Vec<(Value, usize)>,
    depth: usize,
}

impl Scope {
    fn new(name: &str, depth: usize) -> Scope {
        Scope { b: Builder::new(name), values: Vec::new(), below: Vec::new(), depth }
    }

    fn ty(&self, value: Value) -> Type {
        self.b.ty(value)
    }

    fn elementary(&mut self, code: Opcode, operands: &[Value]) -> Value {
        self.b.elementary(code, 0, operands)
    }

    fn number(&mut self, c: f64) -> Value {
        self.b.constant(c, Type::F64)
    }
}

struct Maker<'o> {
    rng: Rng,
    fuel: usize,
    options: &'o Options,
}

impl Maker<'_> {
    fn spend(&mut self, fuel: usize) {
        self.fuel = self.fuel.saturating_sub(fuel);
    }

    fn size(&mut self) -> usize {
        match self.options.long {
            false => [0, 1, 2, 2, 3, 3, 4, 5][self.rng.usize(..8)],
            true => [1, 3, 37, 37, 37, 40][self.rng.usize(..6)],
        }
    }

    fn array_type(&mut self) -> Type {
        let rank = if self.rng.u8(..3) == 0 { 2 } else { 1 };
        let sizes: Vec<usize> = (0..rank).map(|_| self.size()).collect();
        Type::f64s(&sizes)
    }

    /// A value whose type will do; recent ones more often, so that programs are deep.
    fn pick(&mut self, s: &Scope, fits: impl Fn(Type) -> bool) -> Option<Value> {
        let all: Vec<Value> = s.values.iter().copied().filter(|v| fits(s.ty(*v))).collect();
        let n = all.len();
        match n {
            0 => None,
            _ if self.rng.bool() => Some(all[n - 1 - self.rng.usize(..n.min(4))]),
            _ => Some(all[self.rng.usize(..n)]),
        }
    }

    /// A scalar number.
    fn number(&mut self, s: &mut Scope) -> Value {
        if self.rng.u8(..12) == 0 {
            let c = (self.rng.f64() - 0.4) * 2.0;
            return s.number(c);
        }
        if self.rng.u8(..3) == 0
            && let Some(array) = self.pick(s, |ty| {
                ty.is_float() && !ty.is_scalar() && !ty.is_empty() && ty.len().is_some()
            })
        {
            let rank = s.ty(array).dims().len();
            return self.load(s, array, rank);
        }
        match self.pick(s, |ty| ty == Type::F64) {
            Some(value) => value,
            None => {
                let c = self.rng.f64();
                s.number(c)
            }
        }
    }

    /// A number or an array of numbers.
    fn numbers(&mut self, s: &mut Scope) -> Value {
        if self.rng.bool()
            && let Some(array) = self.pick(s, |ty| ty.is_float() && !ty.is_scalar())
        {
            return array;
        }
        self.number(s)
    }

    /// What goes beside a number or an array: a number, or an array of the same dimensions.
    fn beside(&mut self, s: &mut Scope, value: Value) -> Value {
        let ty = s.ty(value);
        // Two arrays of unknown size may be of different ones.
        let known = ty.len().is_some();
        if !ty.is_scalar()
            && known
            && self.rng.bool()
            && let Some(other) = self.pick(s, |other| other == ty)
        {
            return other;
        }
        self.number(s)
    }

    fn integer(&mut self, s: &mut Scope) -> Value {
        match self.pick(s, |ty| ty == Type::I64) {
            Some(value) if self.rng.u8(..5) > 0 => value,
            _ => {
                let c = self.rng.i64(-3..6);
                s.b.integer(c)
            }
        }
    }

    /// An index of a dimension of this size, which is not zero.
    fn index(&mut self, s: &mut Scope, size: usize) -> Value {
        let known: Vec<Value> =
            s.below.iter().filter(|(_, below)| *below <= size).map(|(v, _)| *v).collect();
        if !known.is_empty() && self.rng.u8(..4) > 0 {
            return known[self.rng.usize(..known.len())];
        }
        if self.rng.bool() {
            let c = self.rng.usize(..size) as i64;
            return s.b.integer(c);
        }
        let any = self.integer(s);
        let size = s.b.integer(size as i64);
        s.b.integral(Integral::Rem, any, size)
    }

    fn indices(&mut self, s: &mut Scope, ty: Type, count: usize) -> Vec<Value> {
        let dims = &ty.dims()[..count];
        dims.iter()
            .map(|dim| match dim {
                Dim::Size(n) => self.index(s, *n),
                _ => s.b.integer(0),
            })
            .collect()
    }

    fn load(&mut self, s: &mut Scope, array: Value, count: usize) -> Value {
        let ty = s.ty(array);
        let indices = self.indices(s, ty, count);
        s.b.load(array, &indices)
    }

    fn small(&mut self, s: &mut Scope, x: Value) -> Value {
        let c = s.number(0.3);
        s.elementary(Opcode::Mul, &[x, c])
    }

    fn truth(&mut self, s: &mut Scope) -> Value {
        if self.rng.u8(..3) == 0
            && let Some(value) = self.pick(s, |ty| ty == Type::BOOL)
        {
            return value;
        }
        let comparison = [
            Comparison::Less,
            Comparison::AtMost,
            Comparison::Greater,
            Comparison::AtLeast,
            Comparison::Equal,
            Comparison::Differ,
        ][self.rng.usize(..6)];
        let (x, y) = match self.rng.bool() {
            true => (self.number(s), self.number(s)),
            false => (self.integer(s), self.integer(s)),
        };
        s.b.compare(comparison, x, y)
    }

    /// An operation more.
    fn step(&mut self, s: &mut Scope) {
        self.spend(1);
        let deeper = s.depth < self.options.depth && self.fuel > 2;
        let value = match self.rng.u8(..if deeper { 46 } else { 30 }) {
            0..6 => self.unary(s),
            6..11 => self.binary(s),
            11 | 12 => self.choose(s),
            13..15 => self.read(s),
            15..18 => self.write(s),
            18 => {
                let (x, ty) = (self.number(s), self.array_type());
                Some(s.b.fill(x, ty))
            }
            19..22 => self.whole(s),
            22 | 23 => self.cast(s),
            24 => {
                let (x, y) = (self.truth(s), self.truth(s));
                Some(match self.rng.u8(..3) {
                    0 => s.b.and(x, y),
                    1 => s.b.or(x, y),
                    _ => s.b.not(x),
                })
            }
            25 => self.pick(s, |ty| ty.is_float() && ty.dims().len() == 1).map(|x| s.b.argsort(x)),
            26 => self.pick(s, |ty| !ty.is_scalar()).map(|x| s.b.extent(x, 0)),
            27 if self.options.stops => {
                let x = self.numbers(s);
                Some(s.b.stop(x))
            }
            28 | 29 => {
                let values = self.call(s);
                s.values.extend(values);
                None
            }
            30.. => {
                let parts = self.structure(s);
                s.values.extend(parts);
                None
            }
            _ => self.binary(s),
        };
        s.values.extend(value);
    }

    fn unary(&mut self, s: &mut Scope) -> Option<Value> {
        let x = self.numbers(s);
        let plain = [
            Opcode::Sin,
            Opcode::Cos,
            Opcode::Tanh,
            Opcode::Atan,
            Opcode::Asinh,
            Opcode::Neg,
            Opcode::Abs,
            Opcode::Sigmoid,
            Opcode::Softplus,
            Opcode::Erf,
        ];
        Some(match self.rng.usize(..plain.len() + 6) {
            0 => {
                let x = self.small(s, x);
                s.elementary(Opcode::Exp, &[x])
            }
            k @ 1..4 => {
                // Of a square and a little: roots and logarithms stay smooth.
                let square = s.elementary(Opcode::Mul, &[x, x]);
                let half = s.number(0.5);
                let inside = s.elementary(Opcode::Add, &[square, half]);
                let code = [Opcode::Ln, Opcode::Sqrt, Opcode::Recip][k - 1];
                s.elementary(code, &[inside])
            }
            4 => {
                let x = self.small(s, x);
                s.b.elementary(Opcode::Powi, 3, &[x])
            }
            5 => {
                let x = self.small(s, x);
                s.elementary(Opcode::Cosh, &[x])
            }
            k => s.elementary(plain[k - 6], &[x]),
        })
    }

    fn binary(&mut self, s: &mut Scope) -> Option<Value> {
        let x = self.numbers(s);
        let y = self.beside(s, x);
        let (x, y) = if self.rng.bool() { (x, y) } else { (y, x) };
        Some(match self.rng.u8(..9) {
            0 => s.elementary(Opcode::Add, &[x, y]),
            1 => s.elementary(Opcode::Sub, &[x, y]),
            2 | 3 => {
                let x = self.small(s, x);
                s.elementary(Opcode::Mul, &[x, y])
            }
            4 => {
                let square = s.elementary(Opcode::Mul, &[y, y]);
                let c = s.number(1.5);
                let below = s.elementary(Opcode::Add, &[square, c]);
                s.elementary(Opcode::Div, &[x, below])
            }
            5 => s.elementary(Opcode::Max, &[x, y]),
            6 => s.elementary(Opcode::Min, &[x, y]),
            7 => {
                let third = self.beside(s, x);
                let third = if s.ty(third).dims() == s.ty(y).dims()
                    || s.ty(y).is_scalar()
                    || s.ty(third).is_scalar()
                {
                    third
                } else {
                    y
                };
                let sine = s.elementary(Opcode::Sin, &[y]);
                s.elementary(Opcode::MulAdd, &[x, sine, third])
            }
            _ => {
                let square = s.elementary(Opcode::Mul, &[y, y]);
                let one = s.number(1.0);
                let y = s.elementary(Opcode::Add, &[square, one]);
                s.elementary(Opcode::Atan2, &[x, y])
            }
        })
    }

    /// A selection, number by number.
    fn choose(&mut self, s: &mut Scope) -> Option<Value> {
        let x = self.numbers(s);
        let y = self.beside(s, x);
        let mask = if self.rng.bool() {
            let z = self.number(s);
            s.b.compare(Comparison::Less, x, z)
        } else {
            self.truth(s)
        };
        Some(if self.rng.bool() { s.b.select(mask, x, y) } else { s.b.select(mask, y, x) })
    }

    fn read(&mut self, s: &mut Scope) -> Option<Value> {
        let array = self.pick(s, |ty| !ty.is_scalar() && !ty.is_empty() && ty.len().is_some())?;
        let rank = s.ty(array).dims().len();
        let count = self.rng.usize(1..=rank);
        Some(self.load(s, array, count))
    }

    fn write(&mut self, s: &mut Scope) -> Option<Value> {
        let array = self.pick(s, |ty| {
            ty.is_float() && !ty.is_scalar() && !ty.is_empty() && ty.len().is_some()
        })?;
        let ty = s.ty(array);
        let count = self.rng.usize(1..=ty.dims().len());
        let inner = ty.after(count);
        let value = match self.pick(s, |other| other == inner) {
            Some(value) if self.rng.u8(..4) > 0 => value,
            _ => self.number(s),
        };
        let indices = self.indices(s, ty, count);
        Some(match self.rng.bool() {
            true => s.b.put(array, value, &indices),
            false => s.b.put_add(array, value, &indices),
        })
    }

    /// Integers.
    fn whole(&mut self, s: &mut Scope) -> Option<Value> {
        let (x, y) = (self.integer(s), self.integer(s));
        let integral = [
            Integral::Add,
            Integral::Sub,
            Integral::Mul,
            Integral::Div,
            Integral::Rem,
            Integral::Min,
            Integral::Max,
        ][self.rng.usize(..7)];
        let value = s.b.integral(integral, x, y);
        // Not too large.
        let most = s.b.integer(50);
        Some(s.b.integral(Integral::Rem, value, most))
    }

    fn cast(&mut self, s: &mut Scope) -> Option<Value> {
        Some(match self.rng.u8(..4) {
            0 => {
                let x = self.numbers(s);
                let ten = s.number(3.0);
                let x = s.elementary(Opcode::Mul, &[x, ten]);
                s.b.cast(x, Element::I64)
            }
            1 => {
                let x = self.truth(s);
                s.b.cast(x, if self.rng.bool() { Element::F64 } else { Element::I64 })
            }
            2 => {
                let x = self.integer(s);
                let narrow = s.b.cast(x, Element::I32);
                s.b.cast(narrow, Element::I64)
            }
            _ => {
                let x = self.pick(s, |ty| ty.element() == Element::I64)?;
                let x = s.b.cast(x, Element::F64);
                let c = s.number(0.1);
                s.elementary(Opcode::Mul, &[x, c])
            }
        })
    }

    /// A value of a type: one that is there, or one made for it.
    fn of_type(&mut self, s: &mut Scope, ty: Type) -> Value {
        if let Some(value) = self.pick(s, |other| other == ty)
            && self.rng.u8(..6) > 0
        {
            return value;
        }
        match ty.element() {
            element if element.is_float() => {
                let x = self.number(s);
                s.b.fill(x, ty)
            }
            Element::Bool => {
                let x = self.truth(s);
                s.b.fill(x, ty)
            }
            Element::I32 => {
                let x = self.integer(s);
                let x = s.b.cast(x, Element::I32);
                s.b.fill(x, ty)
            }
            _ => {
                let x = self.integer(s);
                s.b.fill(x, ty)
            }
        }
    }

    /// A call, of a function with a rule of its own or of a small random one.
    fn call(&mut self, s: &mut Scope) -> Vec<Value> {
        let function = if self.rng.bool() {
            rules::with_rule(self.rng.usize(..rules::COUNT))
        } else {
            let options = Options {
                operations: 4,
                depth: if s.depth < self.options.depth { 1 } else { 0 },
                ..self.options.clone()
            };
            // Few different ones, so that a program calls the same twice.
            random(self.rng.u64(..50), &options).renamed("g")
        };
        let operands: Vec<Value> = function
            .params()
            .iter()
            .map(|p| p.ty)
            .collect::<Vec<_>>()
            .into_iter()
            .map(|ty| self.of_type(s, ty))
            .collect();
        self.spend(function.operations().min(5));
        s.b.structure(Structure::Call { function: Arc::new(function) }, &operands)
    }
}
