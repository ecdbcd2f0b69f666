//! The text of a function: one operation a line, values numbered densely, constants where they are used,
//! bodies indented. Functions that are called stand before those that call them.

use std::fmt::{self, Write};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::derive::{Activity, Derive, Mode};
use crate::function::{Function, Value};
use crate::library::PREFIX;
use crate::op::{Op, takes_parameter};
use crate::structure::Structure;
use crate::types::{Dim, Element, Type};

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer::new(f).whole(self)
    }
}

/// The text of a function, and where its operations stand in it.
pub(crate) struct Listing {
    /// The lines.
    pub(crate) lines: Vec<String>,
    /// How many of them are the text of the function; behind them are functions of the library.
    pub(crate) own_lines: usize,
    /// The line of an operation, by the function that is printed there (0 for the function itself, else one
    /// more than its number among those that are called), the bodies it is in, and its value.
    pub(crate) places: FxHashMap<(usize, Path, Value), usize>,
    /// The first lines of functions.
    pub(crate) heads: FxHashMap<usize, usize>,
    /// The functions that are called.
    pub(crate) called: Vec<Arc<Function>>,
}

/// The bodies that lead to an operation: of which values, and which of their bodies.
pub(crate) type Path = Vec<(Value, usize)>;

impl Function {
    /// The text, and where operations stand in it.
    pub(crate) fn listing(&self) -> Listing {
        let mut text = String::new();
        let mut printer = Printer { library: true, ..Printer::new(&mut text) };
        // Writing to a string does not fail.
        let _ = printer.whole(self);
        let (own, own_lines) = (printer.called.len(), printer.f.lines);
        let _ = printer.behind(self);
        let (mut places, mut heads) = (printer.places, printer.heads);
        let called: Vec<Arc<Function>> = printer.called.into_iter().map(|(f, _)| f).collect();
        // The function itself comes last, but for those of the library.
        let turn = |root: usize| if root == own { 0 } else { root + 1 };
        places =
            places.into_iter().map(|((root, p, v), line)| ((turn(root), p, v), line)).collect();
        heads = heads.into_iter().map(|(root, line)| (turn(root), line)).collect();
        Listing {
            lines: text.lines().map(str::to_string).collect(),
            own_lines,
            places,
            heads,
            called,
        }
    }
}

/// Where text goes, and how many lines it has.
struct Out<'p> {
    to: &'p mut dyn fmt::Write,
    lines: usize,
}

impl fmt::Write for Out<'_> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.lines += s.bytes().filter(|b| *b == b'\n').count();
        self.to.write_str(s)
    }
}

struct Printer<'p> {
    f: Out<'p>,
    /// The name of the function that is printed last.
    root: String,
    /// Whether functions of the library are written, too, behind the others; else their name is their text.
    library: bool,
    /// Those that are still to be written.
    behind: Vec<Arc<Function>>,
    /// Functions that have been printed, with their names.
    called: Vec<(Arc<Function>, String)>,
    path: Path,
    places: FxHashMap<(usize, Path, Value), usize>,
    heads: FxHashMap<usize, usize>,
}

impl<'p> Printer<'p> {
    fn new(to: &'p mut dyn fmt::Write) -> Self {
        Printer {
            f: Out { to, lines: 0 },
            root: String::new(),
            library: false,
            behind: Vec::new(),
            called: Vec::new(),
            path: Vec::new(),
            places: FxHashMap::default(),
            heads: FxHashMap::default(),
        }
    }

    fn whole(&mut self, function: &Function) -> fmt::Result {
        let name = free_name(function.name());
        name.clone_into(&mut self.root);
        self.dependencies(function)?;
        self.function(function, name)
    }

    /// Writes the functions of the library that a function calls.
    fn behind(&mut self, function: &Function) -> fmt::Result {
        // The function has been written: its place is taken.
        self.called.push((Arc::new(function.clone()), self.root.clone()));
        while let Some(next) = self.behind.pop() {
            if self.name_of(&next).is_none() {
                self.dependencies(&next)?;
                self.function(&next, next.name())?;
                self.called.push((next.clone(), next.name().to_string()));
            }
        }
        Ok(())
    }

    /// The rule that is written with a function.
    fn rule_of<'f>(&self, function: &'f Function) -> Option<&'f Arc<Function>> {
        if self.library { function.rule.as_ref() } else { function.rule() }
    }

    /// Writes down that an operation stands in this line.
    fn mark(&mut self, value: Value) {
        self.places.insert((self.called.len(), self.path.clone(), value), self.f.lines);
    }
}

/// The name of a function that is written: names of the library are not free.
fn free_name(name: &str) -> &str {
    let free = name.trim_start_matches(PREFIX);
    if free.is_empty() { "f" } else { free }
}

/// The names in use, and those of the values of one body.
struct Names {
    taken: FxHashSet<String>,
    next: u32,
}

impl Names {
    fn fresh(&mut self) -> String {
        loop {
            let name = self.next.to_string();
            self.next += 1;
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }

    /// A name like this one that is not taken; it is then.
    fn like(&mut self, stem: &str) -> String {
        let stem = if stem.is_empty() { "x" } else { stem };
        let mut name = stem.to_string();
        let mut k = 1;
        // Numbers that were given to values are taken, too.
        let given = |name: &str| name.parse::<u32>().is_ok_and(|number| number < self.next);
        while self.taken.contains(&name) || given(&name) {
            name = format!("{stem}_{k}");
            k += 1;
        }
        self.taken.insert(name.clone());
        name
    }
}

impl Printer<'_> {
    /// Prints what a function calls, and its rule.
    fn dependencies(&mut self, function: &Function) -> fmt::Result {
        for structure in &function.structures {
            match structure {
                Structure::Call { function } | Structure::Derive(Derive { function, .. }) => {
                    self.named(function)?;
                }
                _ => structure.bodies().try_for_each(|body| self.dependencies(body))?,
            }
        }
        match self.rule_of(function) {
            Some(rule) => self.named(rule),
            None => Ok(()),
        }
    }

    fn named(&mut self, function: &Arc<Function>) -> fmt::Result {
        if self.name_of(function).is_some() {
            return Ok(());
        }
        if function.is_library() {
            if self.library {
                self.behind.push(function.clone());
            }
            return Ok(());
        }
        let taken = |name: &str, called: &[(Arc<Function>, String)], root: &str| {
            name == root || called.iter().any(|(_, other)| other == name)
        };
        self.dependencies(function)?;
        let stem = free_name(function.name());
        let mut name = stem.to_string();
        let mut k = 1;
        while taken(&name, &self.called, &self.root) {
            name = format!("{stem}_{k}");
            k += 1;
        }
        self.function(function, &name)?;
        self.called.push((function.clone(), name));
        Ok(())
    }

    fn name_of(&self, function: &Arc<Function>) -> Option<&str> {
        if function.is_library() && !self.library {
            return None;
        }
        let same = |other: &Arc<Function>| {
            Arc::ptr_eq(function, other)
                || (function.name() == other.name() && **function == **other)
        };
        self.called.iter().find(|(other, _)| same(other)).map(|(_, name)| name.as_str())
    }

    fn function(&mut self, function: &Function, name: &str) -> fmt::Result {
        self.heads.insert(self.called.len(), self.f.lines);
        write!(self.f, "fn @{name}")?;
        let symbols = function.symbols();
        if !symbols.is_empty() {
            write!(self.f, "<{}>", symbols.join(", "))?;
        }
        self.f.write_str("(")?;
        for (k, param) in function.params().iter().enumerate() {
            let comma = if k > 0 { ", " } else { "" };
            let linear = if param.linear { "lin " } else { "" };
            write!(self.f, "{comma}%{}: {linear}{}", param.name, param.ty)?;
        }
        self.f.write_str(") -> ")?;
        match function.results() {
            [one] => write!(self.f, "{}", function.ty(*one))?,
            many => {
                self.f.write_str("(")?;
                for (k, value) in many.iter().enumerate() {
                    write!(self.f, "{}{}", if k > 0 { ", " } else { "" }, function.ty(*value))?;
                }
                self.f.write_str(")")?;
            }
        }
        let rule = self.rule_of(function).and_then(|rule| self.name_of(rule));
        if let Some(rule) = rule.map(str::to_string) {
            write!(self.f, " jvp @{rule}")?;
        }
        self.f.write_str(" {\n")?;
        let params: Vec<String> =
            function.params().iter().map(|p| format!("%{}", p.name)).collect();
        let taken = function.params().iter().map(|p| p.name.clone()).collect();
        let mut names = Names { taken, next: 0 };
        self.body(function, &params, &mut names, 1, "ret")?;
        self.f.write_str("}\n")
    }

    fn indent(&mut self, depth: usize) -> fmt::Result {
        (0..depth).try_for_each(|_| self.f.write_str("  "))
    }

    /// The operations and results of a body whose parameters have these names.
    fn body(
        &mut self,
        f: &Function,
        params: &[String],
        names: &mut Names,
        depth: usize,
        end: &str,
    ) -> fmt::Result {
        let mut of: Vec<String> = vec![String::new(); f.len()];
        let mut parts: Vec<Vec<Option<Value>>> = vec![Vec::new(); f.structures.len()];
        for value in f.values() {
            match f.op(value) {
                Op::Param(k) => of[value.index()].clone_from(&params[k as usize]),
                Op::Part(k) => {
                    if let Op::Structure(s) = f.op(f.operand(value, 0)) {
                        let parts = &mut parts[s as usize];
                        if parts.len() <= k as usize {
                            parts.resize(k as usize + 1, None);
                        }
                        parts[k as usize] = Some(value);
                    }
                }
                _ => {}
            }
        }
        for value in f.values() {
            let op = f.op(value);
            if op.is_leaf() || matches!(op, Op::Part(_)) {
                continue;
            }
            self.mark(value);
            self.indent(depth)?;
            if let (Op::Structure(s), Some(structure)) = (op, f.structure(value)) {
                let operands: Vec<Value> = f.operands(value).collect();
                let count = structure.part_types(Dim::Any).len();
                let mut written = Vec::with_capacity(count);
                for k in 0..count {
                    let part = parts[s as usize].get(k).copied().flatten();
                    written.push(part.map_or_else(
                        || "_".to_string(),
                        |part| {
                            let name = format!("%{}", names.fresh());
                            of[part.index()].clone_from(&name);
                            name
                        },
                    ));
                }
                if written.is_empty() {
                    written.push("_".to_string());
                }
                write!(self.f, "{} = ", written.join(", "))?;
                let operands: Vec<String> =
                    operands.iter().map(|v| written_value(f, *v, &of)).collect();
                self.structure(value, structure, &operands, names, depth)?;
                continue;
            }
            let name = format!("%{}", names.fresh());
            write!(self.f, "{name} = {}", op.name())?;
            self.operation(f, value, &of)?;
            of[value.index()] = name;
            self.f.write_str("\n")?;
        }
        for guard in f.guards() {
            self.indent(depth)?;
            let condition = written_value(f, guard.condition, &of);
            writeln!(self.f, "guard {condition}, {}", guard.expected)?;
        }
        self.indent(depth)?;
        let results: Vec<String> = f.results().iter().map(|v| written_value(f, *v, &of)).collect();
        let space = if results.is_empty() { "" } else { " " };
        writeln!(self.f, "{end}{space}{}", results.join(", "))
    }

    /// What stands behind the name of an operation without a body.
    fn operation(&mut self, f: &Function, value: Value, of: &[String]) -> fmt::Result {
        let operands: Vec<String> = f.operands(value).map(|v| written_value(f, v, of)).collect();
        match f.op(value) {
            Op::Elementary(code, parameter) if takes_parameter(code) => {
                write!(self.f, "{{{parameter}}} {}", operands.join(", "))
            }
            Op::Table(_) => match f.table(value) {
                Some(table) => write!(self.f, " {table}"),
                None => Ok(()),
            },
            Op::Extent(k) => write!(self.f, "{{{k}}} {}", operands[0]),
            Op::Cast => write!(self.f, " {} : {}", operands[0], f.ty(value).element().name()),
            Op::Fill => write!(self.f, " {} : {}", operands[0], f.ty(value)),
            Op::Load => write!(self.f, " {}[{}]", operands[0], operands[1..].join(", ")),
            Op::Put | Op::PutAdd => {
                write!(self.f, " {}[{}], {}", operands[0], operands[2..].join(", "), operands[1])
            }
            _ => write!(self.f, " {}", operands.join(", ")),
        }
    }

    fn structure(
        &mut self,
        value: Value,
        structure: &Structure,
        operands: &[String],
        names: &mut Names,
        depth: usize,
    ) -> fmt::Result {
        let (own, handed) = structure.own_params();
        let first = structure.bodies().next().map(|body| body.params()).unwrap_or_default();
        if let Structure::Call { function } = structure {
            let name = self.name_of(function).unwrap_or(function.name()).to_string();
            return writeln!(self.f, "call @{name}({})", operands.join(", "));
        }
        if let Structure::Derive(derive) = structure {
            return self.derive(derive, operands);
        }
        // Names of parameters are free again behind the body.
        let own_names: Vec<String> = first[..own].iter().map(|p| names.like(&p.name)).collect();
        let (indices, carried) = own_names.split_at(own - handed);
        let lead = structure.lead();
        match structure {
            Structure::Tab { dims, .. }
            | Structure::Red { dims, .. }
            | Structure::Acc { dims, .. } => {
                let kind = match structure {
                    Structure::Red { reducer, .. } => format!("red {}", reducer.name()),
                    other => other.name().to_string(),
                };
                let domain: Vec<String> =
                    indices.iter().zip(dims).map(|(i, dim)| format!("%{i} < {dim}")).collect();
                write!(self.f, "{kind} ({})", domain.join(", "))?;
            }
            Structure::For { .. } => write!(self.f, "for %{} < {}", indices[0], operands[0])?,
            Structure::While { .. } => self.f.write_str("while")?,
            _ => write!(self.f, "if {}", operands[0])?,
        }
        if !matches!(
            structure,
            Structure::Tab { .. } | Structure::Red { .. } | Structure::If { .. }
        ) {
            let carried: Vec<String> = carried
                .iter()
                .zip(&first[own - handed..])
                .zip(&operands[lead..])
                .map(|((name, param), init)| {
                    format!("%{name}{} = {init}", if param.linear { ": lin" } else { "" })
                })
                .collect();
            write!(self.f, " ({})", carried.join(", "))?;
        }
        self.f.write_str(" {\n")?;
        let params: Vec<String> = own_names
            .iter()
            .map(|name| format!("%{name}"))
            .chain(operands[lead + handed..].iter().cloned())
            .collect();
        let between = if matches!(structure, Structure::While { .. }) { "do" } else { "else" };
        for (k, body) in structure.bodies().enumerate() {
            if k > 0 {
                self.indent(depth)?;
                writeln!(self.f, "}} {between} {{")?;
            }
            self.path.push((value, k));
            let done = self.body(body, &params, names, depth + 1, "yield");
            self.path.pop();
            done?;
        }
        self.indent(depth)?;
        own_names.iter().for_each(|name| {
            names.taken.remove(name);
        });
        self.f.write_str("}\n")
    }
}

impl Printer<'_> {
    fn derive(&mut self, derive: &Derive, operands: &[String]) -> fmt::Result {
        let name = self.name_of(&derive.function).unwrap_or(derive.function.name()).to_string();
        let width = match (derive.mode, derive.width) {
            (Mode::Jet { order }, _) => format!("{{order {order}}}"),
            (_, Some(width)) => format!("{{width {width}}}"),
            _ => String::new(),
        };
        write!(self.f, "{}{width} @{name}(", derive.mode.name())?;
        let mut operands = operands.iter();
        for (k, activity) in derive.args.iter().enumerate() {
            let comma = if k > 0 { ", " } else { "" };
            let value = operands.next().map_or("", |v| v);
            write!(self.f, "{comma}{value}: {}", activity.name())?;
            if matches!(activity, Activity::Dup | Activity::DupNoNeed) {
                for seed in operands.by_ref().take(derive.mode.seeds()) {
                    write!(self.f, " {seed}")?;
                }
            }
        }
        self.f.write_str(")")?;
        if derive.mode.says_results() {
            self.f.write_str(" ret(")?;
            for (k, activity) in derive.results.iter().enumerate() {
                let comma = if k > 0 { ", " } else { "" };
                write!(self.f, "{comma}{}", activity.name())?;
                if derive.mode == Mode::Reverse && activity.moves() {
                    write!(self.f, " {}", operands.next().map_or("", |v| v))?;
                }
            }
            self.f.write_str(")")?;
        }
        self.f.write_str("\n")
    }
}

impl Function {
    /// The names of dimensions, in the order in which they are met.
    pub fn symbols(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        self.collect_symbols(&mut found);
        found
    }

    fn collect_symbols(&self, found: &mut Vec<&'static str>) {
        let mut add = |dims: &[Dim]| {
            for dim in dims {
                if let Dim::Symbol(name) = dim
                    && !found.contains(name)
                {
                    found.push(name);
                }
            }
        };
        self.params.iter().for_each(|p| add(p.ty.dims()));
        self.nodes
            .iter()
            .map(crate::op::Node::ty)
            .filter(|ty| !ty.is_scalar())
            .for_each(|ty| add(ty.dims()));
        for structure in &self.structures {
            structure.domain().iter().for_each(|dim| {
                if let Dim::Symbol(name) = dim
                    && !found.contains(name)
                {
                    found.push(name);
                }
            });
            if !structure.is_named() {
                structure.bodies().for_each(|body| body.collect_symbols(found));
            }
        }
    }
}

fn written_value(f: &Function, value: Value, of: &[String]) -> String {
    match f.op(value) {
        Op::Truth(truth) => truth.to_string(),
        Op::Constant(bits) => written_number("", f64::from_bits(bits), f.ty(value)),
        Op::Rounded(bits) => written_number("~", f64::from_bits(bits), f.ty(value)),
        Op::Integer(c) if f.ty(value) == Type::I32 => format!("{c}i32"),
        Op::Integer(c) => c.to_string(),
        _ => of[value.index()].clone(),
    }
}

/// An entry of a table; what it is made of stands behind the table.
pub(crate) fn written_entry(c: f64, ty: Type) -> String {
    let written = written_number("", c, ty);
    match ty.element() {
        Element::F32 => written.trim_end_matches("f32").to_string(),
        _ => written,
    }
}

/// The shortest decimal that reads back to the same bits; a NaN by its bits.
fn written_number(mark: &str, c: f64, ty: Type) -> String {
    let single = ty.element() == Element::F32;
    let suffix = if single { "f32" } else { "" };
    if c.is_nan() {
        format!("{mark}nan[{:x}]{suffix}", c.to_bits())
    } else if c.is_infinite() {
        format!("{mark}{}inf{suffix}", if c < 0.0 { "-" } else { "" })
    } else if single {
        format!("{mark}{:?}{suffix}", c as f32)
    } else {
        format!("{mark}{c:?}")
    }
}
