#![allow(unreachable_pub, reason = "shared by several tests")]
//! Random programs in text: arrays, kernels, loops, branches, calls, indices that the inputs decide.

use std::fmt::Write;

use cotangent_ir::{Function, parse_all};

/// The length of arrays.
pub const N: usize = 4;
/// Inputs: an array and two numbers.
pub const INPUTS: usize = N + 2;

struct Writer {
    rng: fastrand::Rng,
    text: String,
    next: usize,
    depth: usize,
}

/// What is in scope.
#[derive(Clone, Default)]
struct Scope {
    numbers: Vec<String>,
    arrays: Vec<String>,
    /// Integers from 0 to N − 1.
    indices: Vec<String>,
}

impl Writer {
    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    fn pick(&mut self, of: &[String]) -> String {
        // Later ones more often, so that programs are deep.
        let n = of.len();
        let k =
            if self.rng.bool() { n - 1 - self.rng.usize(..n.min(3)) } else { self.rng.usize(..n) };
        of[k].clone()
    }

    fn index(&mut self, scope: &Scope) -> String {
        match scope.indices.is_empty() || self.rng.u8(..4) == 0 {
            true => self.rng.usize(..N).to_string(),
            false => self.pick(&scope.indices),
        }
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn number(&mut self, scope: &mut Scope, text: &str) -> String {
        let name = self.fresh();
        self.line(&format!("{name} = {text}"));
        scope.numbers.push(name.clone());
        name
    }

    /// A block of statements; the scope is that of the block.
    fn block(&mut self, scope: &mut Scope, statements: usize, inner: usize) {
        for _ in 0..statements {
            self.statement(scope, inner);
        }
    }

    fn statement(&mut self, scope: &mut Scope, inner: usize) {
        let a = self.pick(&scope.numbers);
        let b = self.pick(&scope.numbers);
        let x = self.pick(&scope.arrays);
        let kinds = if inner > 0 { 20 } else { 11 };
        match self.rng.u8(..kinds) {
            0 => drop(self.number(scope, &format!("add {a}, {b}"))),
            1 => drop(self.number(scope, &format!("mul {a}, {b}"))),
            2 => drop(self.number(scope, &format!("sin {a}"))),
            3 => drop(self.number(scope, &format!("tanh {a}"))),
            4 => drop(self.number(scope, &format!("max {a}, {b}"))),
            5 => {
                let i = self.index(scope);
                self.number(scope, &format!("ld {x}[{i}]"));
            }
            6 => {
                // An index that the inputs decide.
                let (s, c, i) = (self.fresh(), self.fresh(), self.fresh());
                self.line(&format!("{s} = mul {a}, 3.0"));
                self.line(&format!("{c} = cast {s} : i64"));
                self.line(&format!("{i} = irem {c}, {N}"));
                scope.indices.push(i);
            }
            7 => {
                let (c, i) = (self.fresh(), self.fresh());
                let (p, q) = (self.index(scope), self.index(scope));
                self.line(&format!("{c} = lt {a}, {b}"));
                self.line(&format!("{i} = select {c}, {p}, {q}"));
                if p != q || p.starts_with('%') {
                    scope.indices.push(i);
                }
            }
            8 => {
                let (i, y) = (self.index(scope), self.fresh());
                let op = if self.rng.bool() { "put" } else { "put_add" };
                self.line(&format!("{y} = {op} {x}[{i}], {a}"));
                scope.arrays.push(y);
            }
            9 => {
                let y = self.fresh();
                let text = match self.rng.u8(..3) {
                    0 => format!("mul {x}, {a}"),
                    1 => format!("sin {x}"),
                    _ => format!("add {x}, {}", self.pick(&scope.arrays)),
                };
                self.line(&format!("{y} = {text}"));
                scope.arrays.push(y);
            }
            10 => {
                let c = self.fresh();
                self.line(&format!("{c} = lt {a}, {b}"));
                self.number(scope, &format!("select {c}, {a}, {b}"));
            }
            11 => {
                let c = self.fresh();
                let y = self.fresh();
                self.line(&format!("{c} = lt {a}, {b}"));
                self.line(&format!("{y} = if {c} {{"));
                self.yielding(scope, inner);
                self.line("} else {");
                self.yielding(scope, inner);
                self.line("}");
                scope.numbers.push(y);
            }
            12 | 13 => {
                let y = self.fresh();
                let i = self.fresh();
                self.line(&format!("{y} = tab ({i} < {N}) {{"));
                self.kernel(scope, &i, inner);
                self.line("}");
                scope.arrays.push(y);
            }
            14 => {
                let (y, i) = (self.fresh(), self.fresh());
                let kind = ["sum", "prod", "max", "min"][self.rng.usize(..4)];
                self.line(&format!("{y} = red {kind} ({i} < {N}) {{"));
                self.kernel(scope, &i, inner);
                self.line("}");
                scope.numbers.push(y);
            }
            15 => {
                let (y, i, t) = (self.fresh(), self.fresh(), self.fresh());
                self.line(&format!("{y} = acc ({i} < {N}) ({t} = {x}) {{"));
                let mut own = scope.clone();
                own.indices.push(i);
                self.depth += 1;
                self.block(&mut own, 3, 0);
                let (v, k, u) = (self.pick(&own.numbers), self.index(&own), self.fresh());
                self.line(&format!("{u} = put_add {t}[{k}], {v}"));
                if self.rng.bool() {
                    let (v, k, w) = (self.pick(&own.numbers), self.index(&own), self.fresh());
                    self.line(&format!("{w} = put_add {u}[{k}], {v}"));
                    self.line(&format!("yield {w}"));
                } else {
                    self.line(&format!("yield {u}"));
                }
                self.depth -= 1;
                self.line("}");
                scope.arrays.push(y);
            }
            16 => {
                // Carries of both kinds, and what is stacked.
                let names: Vec<String> = (0..6).map(|_| self.fresh()).collect();
                let [y, z, s, i, c, d] = &names[..] else { return };
                let (c, d) = (c.clone(), d.clone());
                self.line(&format!("{y}, {z}, {s} = for {i} < {N} ({c} = {a}, {d} = {x}) {{"));
                let mut own = scope.clone();
                own.numbers.push(c);
                own.arrays.push(d);
                own.indices.push(i.clone());
                self.depth += 1;
                self.block(&mut own, 4, inner - 1);
                let (v, w) = (self.pick(&own.numbers), self.pick(&own.arrays));
                let u = self.pick(&own.numbers);
                self.line(&format!("yield {v}, {w}, {u}"));
                self.depth -= 1;
                self.line("}");
                scope.numbers.push(y.clone());
                scope.arrays.push(z.clone());
                scope.arrays.push(s.clone());
            }
            17 | 18 => {
                // How often it goes round is up to the inputs, and bounded.
                let names: Vec<String> = (0..9).map(|_| self.fresh()).collect();
                let [y, z, k, c, d, m, p, q, r] = &names[..] else { return };
                self.line(&format!("{y}, {z}, {k}, _ = while ({c} = {a}, {d} = {x}, {m} = 0) {{"));
                self.line(&format!("  {p} = lt {c}, 0.9"));
                self.line(&format!("  {q} = lt {m}, 3"));
                self.line(&format!("  {r} = and {p}, {q}"));
                self.line(&format!("  yield {r}"));
                self.line("} do {");
                let mut own = scope.clone();
                own.numbers.push(c.clone());
                own.arrays.push(d.clone());
                own.indices.push(m.clone());
                self.depth += 1;
                self.block(&mut own, 4, inner - 1);
                let (v, w, n) = (self.pick(&own.numbers), self.pick(&own.arrays), self.fresh());
                self.line(&format!("{n} = iadd {m}, 1"));
                self.line(&format!("yield {v}, {w}, {n}"));
                self.depth -= 1;
                self.line("}");
                scope.numbers.push(y.clone());
                scope.arrays.push(z.clone());
                scope.indices.push(k.clone());
            }
            _ => {
                let y = self.fresh();
                let z = self.fresh();
                self.line(&format!("{y} = argsort {x}"));
                let (i, k) = (self.index(scope), self.fresh());
                self.line(&format!("{k} = ld {y}[{i}]"));
                scope.indices.push(k);
                self.line(&format!("{z} = call @g({a}, {x})"));
                scope.numbers.push(z);
            }
        }
    }

    fn yielding(&mut self, scope: &Scope, inner: usize) {
        let mut own = scope.clone();
        self.depth += 1;
        self.block(&mut own, 2, inner - 1);
        let v = self.pick(&own.numbers);
        self.line(&format!("yield {v}"));
        self.depth -= 1;
    }

    fn kernel(&mut self, scope: &Scope, i: &str, inner: usize) {
        let mut own = scope.clone();
        own.indices.push(i.to_string());
        self.depth += 1;
        let (x, v) = (self.pick(&own.arrays), self.fresh());
        self.line(&format!("{v} = ld {x}[{i}]"));
        own.numbers.push(v);
        self.block(&mut own, 3, inner - 1);
        let v = self.pick(&own.numbers);
        self.line(&format!("yield {v}"));
        self.depth -= 1;
    }
}

/// A program of N + 2 inputs, with an array and a number as results.
pub fn program(seed: u64) -> Function {
    let rng = fastrand::Rng::with_seed(seed);
    let mut writer = Writer { rng, text: String::new(), next: 0, depth: 1 };
    let mut scope = Scope {
        numbers: vec!["%a".into(), "%b".into()],
        arrays: vec!["%x".into()],
        indices: Vec::new(),
    };
    let statements = 3 + seed as usize % 9;
    writer.block(&mut scope, statements, 2);
    let (y, z) = (writer.pick(&scope.arrays), writer.pick(&scope.numbers));
    let mut text = format!(
        "fn @g(%a: f64, %x: [{N}]f64) -> f64 {{ %l = ld %x[1] %c = gt %l, %a \
         %r = if %c {{ %m = mul %a, %l yield %m }} else {{ yield %a }} ret %r }}\n"
    );
    let _ = write!(
        text,
        "fn @f(%x: [{N}]f64, %a: f64, %b: f64) -> ([{N}]f64, f64) {{\n{}  ret {y}, {z}\n}}\n",
        writer.text
    );
    match parse_all(&text) {
        Ok(all) => match all.into_iter().find(|f| f.name() == "f") {
            Some(f) => (*f).clone(),
            None => panic!("no @f in\n{text}"),
        },
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// A random point.
pub fn point(rng: &mut fastrand::Rng) -> Vec<f64> {
    (0..INPUTS).map(|_| 2.4 * (rng.f64() - 0.45)).collect()
}
