//! Random operations with bodies.

use super::*;

impl Maker<'_> {
    /// Values that the body of an operation may use, and the scope of that body, which has its own
    /// parameters already.
    fn captured(&mut self, s: &Scope) -> Vec<Value> {
        let mut all = s.values.clone();
        self.rng.shuffle(&mut all);
        all.truncate(self.rng.usize(1..=5));
        for (index, _) in &s.below {
            if self.rng.bool() && !all.contains(index) {
                all.push(*index);
            }
        }
        all
    }

    fn inner(
        &mut self,
        s: &Scope,
        own: &[(Type, Option<usize>)],
        captures: &[Value],
    ) -> (Scope, Vec<Value>) {
        let mut inner = Scope::new("", s.depth + 1);
        let names = ["i", "0", "k", "x", "4", "a"];
        let mut params = Vec::new();
        for (k, (ty, below)) in own.iter().enumerate() {
            let value = inner.b.param(names[(k + self.rng.usize(..2)) % names.len()], *ty);
            params.push(value);
            inner.values.push(value);
            if let Some(below) = below {
                inner.below.push((value, *below));
            }
        }
        for outer in captures {
            let ty = s.ty(*outer);
            let value = inner.b.add_param(Param { name: "c".to_string(), ty, linear: false });
            inner.values.push(value);
            if let Some((_, below)) = s.below.iter().find(|(v, _)| v == outer) {
                inner.below.push((value, *below));
            }
        }
        (inner, params)
    }

    fn fill_in(&mut self, inner: &mut Scope) {
        let most = self.fuel.min(12);
        let mut left = if most > 0 { self.rng.usize(..=most) } else { 0 };
        while left > 0 && self.fuel > 0 {
            let before = self.fuel;
            self.step(inner);
            left = left.saturating_sub(before - self.fuel);
        }
    }

    /// An operation with a body; its parts.
    pub(super) fn structure(&mut self, s: &mut Scope) -> Vec<Value> {
        self.spend(1);
        match self.rng.u8(..7) {
            0 => self.tab(s),
            1 | 2 => self.red(s),
            3 => self.acc(s),
            4 => self.repeat(s),
            5 => self.as_long_as(s),
            _ => self.branch(s),
        }
    }

    fn domain(&mut self) -> (Vec<Dim>, Vec<(Type, Option<usize>)>) {
        let rank = [0, 1, 1, 1, 2][self.rng.usize(..5)];
        let sizes: Vec<usize> = match self.rng.u8(..40) {
            // More points than are computed at a time.
            0 => vec![300],
            _ => (0..rank).map(|_| self.size()).collect(),
        };
        let own = sizes.iter().map(|n| (Type::I64, Some(*n))).collect();
        (sizes.into_iter().map(Dim::Size).collect(), own)
    }

    /// A value of a body that fits into an array around it.
    fn element(&mut self, inner: &mut Scope, rank: usize) -> Value {
        let value = self
            .pick(inner, |ty| ty.len().is_some_and(|len| len <= 30) && ty.dims().len() + rank <= 2);
        match value {
            Some(value) if self.rng.u8(..3) > 0 => value,
            _ => self.number(inner),
        }
    }

    fn tab(&mut self, s: &mut Scope) -> Vec<Value> {
        let (dims, own) = self.domain();
        let captures = self.captured(s);
        let (mut inner, _) = self.inner(s, &own, &captures);
        self.fill_in(&mut inner);
        let rank = if dims == [Dim::Size(300)] { 2 } else { dims.len() };
        let results: Vec<Value> =
            (0..self.rng.usize(1..=2)).map(|_| self.element(&mut inner, rank)).collect();
        let body = Arc::new(inner.b.finish(results));
        let parts = s.b.structure(Structure::Tab { dims: dims.clone(), body }, &captures);
        if dims != [Dim::Size(300)] {
            return parts;
        }
        // Not to be carried through all that follows.
        let floats: Vec<Value> = parts.into_iter().filter(|v| s.ty(*v).is_float()).collect();
        floats
            .into_iter()
            .map(|v| {
                let total = s.b.total(v, false);
                s.elementary(Opcode::Sin, &[total])
            })
            .collect()
    }

    fn red(&mut self, s: &mut Scope) -> Vec<Value> {
        let (dims, own) = self.domain();
        let captures = self.captured(s);
        let (mut inner, _) = self.inner(s, &own, &captures);
        self.fill_in(&mut inner);
        let none = dims.contains(&Dim::Size(0));
        let reducer = [
            Reducer::Sum,
            Reducer::Product,
            Reducer::Max,
            Reducer::Min,
            Reducer::ArgMax,
            Reducer::ArgMin,
        ][self.rng.usize(..if none { 2 } else { 6 })];
        let result = match reducer {
            Reducer::Sum => {
                let any =
                    self.pick(&inner, |ty| ty.len().is_some() && ty.element() != Element::Bool);
                any.unwrap_or_else(|| inner.number(1.0))
            }
            Reducer::Product | Reducer::Max | Reducer::Min if self.rng.u8(..4) == 0 => {
                self.integer(&mut inner)
            }
            Reducer::Product => {
                let x = self.number(&mut inner);
                inner.elementary(Opcode::Cos, &[x])
            }
            _ => self.number(&mut inner),
        };
        let body = Arc::new(inner.b.finish(vec![result]));
        let part = s.b.structure(Structure::Red { dims, reducer, body }, &captures)[0];
        let ty = s.ty(part);
        if ty == Type::I64 {
            // Products of many are large.
            let most = s.b.integer(50);
            return vec![s.b.integral(Integral::Rem, part, most)];
        }
        match ty.is_float() && self.rng.bool() {
            true => {
                let part = self.small(s, part);
                vec![part]
            }
            false => vec![part],
        }
    }

    fn acc(&mut self, s: &mut Scope) -> Vec<Value> {
        let (dims, mut own) = self.domain();
        let mut targets = Vec::new();
        for _ in 0..self.rng.usize(1..=2) {
            let value = self.pick(s, |ty| ty.is_float() && ty.len().is_some());
            targets.push(value.unwrap_or_else(|| s.number(0.5)));
        }
        let types: Vec<Type> = targets.iter().map(|v| s.ty(*v)).collect();
        own.extend(types.iter().map(|ty| (*ty, None)));
        let captures = self.captured(s);
        let (mut inner, params) = self.inner(s, &own, &captures);
        let handed: Vec<Value> = params[dims.len()..].to_vec();
        // Targets are added to and not looked at.
        inner.values.retain(|v| !handed.contains(v));
        self.fill_in(&mut inner);
        let mut results = handed;
        for target in &mut results {
            for _ in 0..self.rng.usize(..=2) {
                *target = self.added(&mut inner, *target);
            }
        }
        let body = Arc::new(inner.b.finish(results));
        let operands: Vec<Value> = targets.iter().chain(&captures).copied().collect();
        s.b.structure(Structure::Acc { dims, targets: targets.len(), body }, &operands)
    }

    /// A target with something added.
    fn added(&mut self, inner: &mut Scope, target: Value) -> Value {
        let ty = inner.ty(target);
        if self.rng.u8(..5) == 0 {
            // In one branch only.
            let condition = self.truth(inner);
            let x = self.number(inner);
            let branch = |add: bool| {
                let mut b = Builder::new("");
                let (t, x) = (b.param("t", ty), b.param("x", Type::F64));
                let result = if add { b.elementary(Opcode::Add, 0, &[t, x]) } else { t };
                Arc::new(b.finish(vec![result]))
            };
            let structure = Structure::If { yes: branch(true), no: branch(false) };
            return inner.b.structure(structure, &[condition, target, x])[0];
        }
        let x = self.number(inner);
        if ty.is_scalar() || ty.is_empty() || self.rng.u8(..4) == 0 {
            return inner.elementary(Opcode::Add, &[target, x]);
        }
        let count = self.rng.usize(1..=ty.dims().len());
        let indices = self.indices(inner, ty, count);
        inner.b.put_add(target, x, &indices)
    }

    fn carried(&mut self, s: &mut Scope) -> Vec<Value> {
        let mut carries = Vec::new();
        for _ in 0..self.rng.usize(..=3) {
            carries.extend(self.pick(s, |ty| ty.len().is_some() && ty != Type::I64));
        }
        carries
    }

    /// What a carry becomes in a round: of its type, and not larger and larger.
    fn next(&mut self, inner: &mut Scope, ty: Type) -> Value {
        let value = self.of_type(inner, ty);
        match ty.is_float() {
            true => {
                let c = inner.number(0.7);
                inner.elementary(Opcode::Mul, &[value, c])
            }
            false => value,
        }
    }

    fn stacked(&mut self, inner: &mut Scope) -> Vec<Value> {
        (0..self.rng.usize(..=2)).map(|_| self.element(inner, 1)).collect()
    }

    fn repeat(&mut self, s: &mut Scope) -> Vec<Value> {
        let (bound, below) = match self.rng.u8(..4) {
            0 | 1 => {
                let n = self.rng.i64(..5);
                (s.b.integer(n.max(0)), usize::try_from(n).ok())
            }
            _ => {
                let any = self.integer(s);
                let most = s.b.integer(4);
                (s.b.integral(Integral::Rem, any, most), Some(4))
            }
        };
        let known = matches!(s.b.function().op(bound), Op::Integer(_));
        let carries = self.carried(s);
        let types: Vec<Type> = carries.iter().map(|v| s.ty(*v)).collect();
        let mut own = vec![(Type::I64, below)];
        own.extend(types.iter().map(|ty| (*ty, None)));
        let captures = self.captured(s);
        let (mut inner, _) = self.inner(s, &own, &captures);
        self.fill_in(&mut inner);
        let mut results: Vec<Value> = types.iter().map(|ty| self.next(&mut inner, *ty)).collect();
        if known || self.options.unknown {
            results.extend(self.stacked(&mut inner));
        }
        let body = Arc::new(inner.b.finish(results));
        let operands: Vec<Value> =
            [bound].iter().chain(&carries).chain(&captures).copied().collect();
        let parts = s.b.structure(Structure::For { carries: carries.len(), body }, &operands);
        self.read_back(s, parts, bound)
    }

    /// Stacks of unknown size are gone through by another loop of as many rounds.
    fn read_back(&mut self, s: &mut Scope, parts: Vec<Value>, rounds: Value) -> Vec<Value> {
        let (known, unknown): (Vec<Value>, Vec<Value>) =
            parts.into_iter().partition(|v| s.ty(*v).len().is_some());
        let mut values = known;
        for stack in unknown {
            let ty = s.ty(stack);
            if !ty.is_float() {
                continue;
            }
            let mut b = Builder::new("");
            let (i, sum) = (b.param("i", Type::I64), b.param("s", ty.after(1)));
            let list = b.param("l", ty);
            let entry = b.load(list, &[i]);
            let cosine = b.elementary(Opcode::Cos, 0, &[entry]);
            let sum = b.elementary(Opcode::Add, 0, &[sum, cosine]);
            let body = Arc::new(b.finish(vec![sum]));
            let start = s.b.constant(0.0, ty.after(1));
            let bound = if self.rng.bool() && !ty.after(1).is_empty() {
                s.b.extent(stack, 0)
            } else {
                rounds
            };
            let looped = Structure::For { carries: 1, body };
            values.extend(s.b.structure(looped, &[bound, start, stack]));
        }
        values
    }

    fn as_long_as(&mut self, s: &mut Scope) -> Vec<Value> {
        let zero = s.b.integer(0);
        let carries: Vec<Value> = [zero].into_iter().chain(self.carried(s)).collect();
        let types: Vec<Type> = carries.iter().map(|v| s.ty(*v)).collect();
        let own: Vec<(Type, Option<usize>)> = types.iter().map(|ty| (*ty, None)).collect();
        let captures = self.captured(s);
        let (mut test, counters) = self.inner(s, &own, &captures);
        let most = test.b.integer(self.rng.i64(1..5));
        let mut condition = test.b.compare(Comparison::Less, counters[0], most);
        if self.rng.bool() {
            let other = self.truth(&mut test);
            condition = test.b.and(condition, other);
        }
        let condition = Arc::new(test.b.finish(vec![condition]));
        let (mut inner, counters) = self.inner(s, &own, &captures);
        inner.below.push((counters[0], 4));
        self.fill_in(&mut inner);
        let one = inner.b.integer(1);
        let mut results = vec![inner.b.integral(Integral::Add, counters[0], one)];
        for ty in &types[1..] {
            let next = self.next(&mut inner, *ty);
            results.push(next);
        }
        if self.options.unknown {
            results.extend(self.stacked(&mut inner));
        }
        let body = Arc::new(inner.b.finish(results));
        let operands: Vec<Value> = carries.iter().chain(&captures).copied().collect();
        let structure = Structure::While { carries: carries.len(), condition, body };
        let parts = s.b.structure(structure, &operands);
        let rounds = parts[parts.len() - 1];
        self.read_back(s, parts, rounds)
    }

    fn branch(&mut self, s: &mut Scope) -> Vec<Value> {
        let condition = self.truth(s);
        let captures = self.captured(s);
        let types: Vec<Type> = (0..self.rng.usize(1..=2))
            .map(|_| {
                let like = self.pick(s, |ty| ty.len().is_some());
                like.map_or(Type::F64, |v| s.ty(v))
            })
            .collect();
        let branch = |maker: &mut Self| {
            let (mut inner, _) = maker.inner(s, &[], &captures);
            maker.fill_in(&mut inner);
            let results = types.iter().map(|ty| maker.of_type(&mut inner, *ty)).collect();
            Arc::new(inner.b.finish(results))
        };
        let (yes, no) = (branch(self), branch(self));
        let operands: Vec<Value> = [condition].iter().chain(&captures).copied().collect();
        s.b.structure(Structure::If { yes, no }, &operands)
    }
}
