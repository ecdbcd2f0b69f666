//! Reading operations with bodies.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::build::Builder;
use crate::derive::{Activity, Derive, MOST_ORDER, Mode};
use crate::function::{Function, Param, Value};
use crate::lex::Token;
use crate::library::{self, PREFIX};
use crate::parse::{DEEPEST, Extent, MOST, ParseError, Parser};
use crate::parse_body::{Scope, Scopes};
use crate::structure::{Reducer, Structure};
use crate::types::{Dim, Type};

/// What is called, before its arguments are known.
enum Callee<'t> {
    Known(Arc<Function>),
    Library(&'t str, Range<usize>),
}

impl Callee<'_> {
    /// The type of a parameter, if it is known.
    fn param(&self, k: usize) -> Option<Type> {
        match self {
            Callee::Known(function) => function.params().get(k).map(|p| p.ty),
            Callee::Library(..) => None,
        }
    }
}

/// Bodies with what they capture.
type Closed = (Function, Vec<Value>);

impl<'t> Parser<'t> {
    /// An operation with a body; none if the word is no such.
    pub(crate) fn structure(
        &mut self,
        word: &str,
        at: &Range<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Result<Option<Vec<Value>>, ParseError> {
        if let Some(mode) = Mode::by_name(word) {
            return self.derive(mode, at, scopes).map(Some);
        }
        if !matches!(word, "tab" | "red" | "acc" | "for" | "while" | "if" | "call") {
            return Ok(None);
        }
        if scopes.len() >= DEEPEST {
            let message = format!("bodies are nested deeper than {DEEPEST}");
            return Err(self.error(at.clone(), message));
        }
        let mut own = Vec::new();
        let mut lead = Vec::new();
        let structure = match word {
            "call" => return self.call(at, scopes).map(Some),
            "tab" | "red" | "acc" => {
                let reducer = if word == "red" { Some(self.reducer()?) } else { None };
                let dims = self.domain(&mut own)?;
                let (targets, inits) =
                    if word == "acc" { self.carries(&mut own, scopes)? } else { (0, Vec::new()) };
                let (body, captures) = self.region(&own, scopes)?;
                lead.extend(inits);
                lead.extend(captures);
                let body = Arc::new(body);
                match reducer {
                    Some(reducer) => Structure::Red { dims, reducer, body },
                    None if word == "tab" => Structure::Tab { dims, body },
                    None => Structure::Acc { dims, targets, body },
                }
            }
            "for" => {
                // `for{checkpoint 100}`: no more than so many states on the way back.
                let mut states = None;
                if self.reader.takes('{')? {
                    self.word("checkpoint")?;
                    states = Some(self.integer()?.unsigned_abs() as usize);
                    self.reader.sign('}')?;
                }
                own.push(self.index()?);
                let (bound, span) = self.value(scopes, Some(Type::I64))?;
                let found = self.scope(scopes)?.builder.ty(bound);
                if found != Type::I64 {
                    return Err(self.error(span, format!("a bound is an i64, this is {found}")));
                }
                let (carries, inits) = self.carries(&mut own, scopes)?;
                let (body, captures) = self.region(&own, scopes)?;
                lead.push(bound);
                lead.extend(inits);
                lead.extend(captures);
                let structure = Structure::For { carries, body: Arc::new(body) };
                if let Some(states) = states {
                    return self.checkpointed(&structure, &lead, states, at, scopes).map(Some);
                }
                structure
            }
            "while" => {
                let (carries, inits) = self.carries(&mut own, scopes)?;
                let condition = self.region(&own, scopes)?;
                self.word("do")?;
                let body = self.region(&own, scopes)?;
                let (condition, body, captures) = join(own.len(), &condition, &body);
                lead.extend(inits);
                lead.extend(captures);
                let (condition, body) = (Arc::new(condition), Arc::new(body));
                Structure::While { carries, condition, body }
            }
            _ => {
                let (condition, span) = self.value(scopes, Some(Type::BOOL))?;
                let found = self.scope(scopes)?.builder.ty(condition);
                if found != Type::BOOL {
                    return Err(
                        self.error(span, format!("`if` takes a truth value, this is {found}"))
                    );
                }
                let yes = self.region(&[], scopes)?;
                self.word("else")?;
                let no = self.region(&[], scopes)?;
                let (yes, no, captures) = join(0, &yes, &no);
                lead.push(condition);
                lead.extend(captures);
                Structure::If { yes: Arc::new(yes), no: Arc::new(no) }
            }
        };
        self.add(structure, &lead, at, scopes).map(Some)
    }

    /// A loop that is written as a nest of loops, so that reverse mode keeps few states.
    fn checkpointed(
        &mut self,
        structure: &Structure,
        operands: &[Value],
        states: usize,
        at: &Range<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Result<Vec<Value>, ParseError> {
        let scope = self.scope(scopes)?;
        let types: Vec<Type> = operands.iter().map(|v| scope.builder.ty(*v)).collect();
        let rounds = scope.builder.known_integer(operands[0]);
        let linear = operands.iter().any(|v| scope.linear.contains(v));
        let checked = structure.check(&types).map_err(|e| e.to_string());
        let lengths = rounds.map(|n| crate::loop_lengths(usize::try_from(n).unwrap_or(0), states));
        let message = match (checked, lengths) {
            (Err(message), _) => message,
            (_, None) => {
                "the number of rounds is not known here, so no checkpoints are planned".to_string()
            }
            (_, Some(None)) => {
                format!("{states} states are too few for any plan; allow 4 at least")
            }
            _ if linear => {
                "a loop of tangents keeps nothing, so it takes no checkpoints".to_string()
            }
            (Ok(()), Some(Some(lengths))) => {
                return Ok(scope.builder.split_loop(structure, operands, &lengths));
            }
        };
        Err(self.error(at.clone(), message))
    }

    fn add(
        &mut self,
        structure: Structure,
        operands: &[Value],
        at: &Range<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Result<Vec<Value>, ParseError> {
        let scope = self.scope(scopes)?;
        let types: Vec<Type> = operands.iter().map(|v| scope.builder.ty(*v)).collect();
        let checked = structure
            .check(&types)
            .map_err(|e| e.to_string())
            .and_then(|()| structure.linear_parts().map_err(|e| e.to_string()));
        match checked {
            Ok(parts_linear) => {
                let parts = scope.builder.structure(structure, operands);
                for (part, linear) in parts.iter().zip(parts_linear) {
                    if linear {
                        scope.linear.insert(*part);
                    }
                }
                Ok(parts)
            }
            Err(message) => Err(self.error(at.clone(), message)),
        }
    }

    fn call(
        &mut self,
        at: &Range<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Result<Vec<Value>, ParseError> {
        let callee = self.callee(at, scopes.len())?;
        let mut operands = Vec::new();
        self.reader.sign('(')?;
        while !self.reader.takes(')')? {
            let wanted = callee.param(operands.len());
            operands.push(self.value(scopes, wanted)?.0);
            if !self.reader.takes(',')? {
                self.reader.sign(')')?;
                break;
            }
        }
        let function = self.for_arguments(callee, &operands, scopes)?;
        self.add(Structure::Call { function }, &operands, at, scopes)
    }

    /// What is called: a function that stands before, or one of the library.
    fn callee(&mut self, at: &Range<usize>, depth: usize) -> Result<Callee<'t>, ParseError> {
        match self.reader.next_kept()? {
            (Token::Function(name), span) if name.starts_with(PREFIX) => {
                self.reader.next()?;
                Ok(Callee::Library(name, span))
            }
            _ => {
                let function = self.known_function()?;
                let place = self.functions.iter().position(|f| Arc::ptr_eq(f, &function));
                let extent = place.map(|k| self.extents[k]).unwrap_or_default();
                self.count_call(extent, at, depth)?;
                Ok(Callee::Known(function))
            }
        }
    }

    /// The function for what it is given: with sizes for its dimensions that have names.
    fn for_arguments(
        &mut self,
        callee: Callee<'t>,
        args: &[Value],
        scopes: &mut Scopes<'t>,
    ) -> Result<Arc<Function>, ParseError> {
        let depth = scopes.len();
        let scope = self.scope(scopes)?;
        let types: Vec<Type> = args.iter().map(|v| scope.builder.ty(*v)).collect();
        let function = match callee {
            Callee::Known(function) => function,
            Callee::Library(name, span) => {
                let function = library::function(name, &types)
                    .map_err(|error| self.error(span.clone(), error.to_string()))?;
                self.count_call(Extent::of(&function), &span, depth)?;
                return Ok(Arc::new(function));
            }
        };
        Ok(match function.sizes_for(&types) {
            Some(sizes) if !sizes.is_empty() => Arc::new(function.specialised(&sizes)),
            // What does not fit is said when it is checked.
            _ => function,
        })
    }

    /// `fwd @f(%x: dup %dx, %y: const) ret(dup)`
    fn derive(
        &mut self,
        mode: Mode,
        at: &Range<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Result<Vec<Value>, ParseError> {
        let (mut mode, mut width) = (mode, None);
        if let Mode::Jet { order } = &mut mode {
            self.reader.sign('{')?;
            self.word("order")?;
            *order = usize::try_from(self.integer()?).unwrap_or(0);
            self.reader.sign('}')?;
            if !(1..=MOST_ORDER).contains(order) {
                let message = format!("`jet` has orders from 1 to {MOST_ORDER}, not {order}");
                return Err(self.error(at.clone(), message));
            }
        } else if self.reader.takes('{')? {
            self.word("width")?;
            width = usize::try_from(self.integer()?).ok();
            self.reader.sign('}')?;
        }
        let callee = self.callee(at, scopes.len())?;
        let mut activities = Vec::new();
        let (mut operands, mut primals) = (Vec::new(), Vec::new());
        self.reader.sign('(')?;
        while !self.reader.takes(')')? {
            let ty = callee.param(activities.len());
            operands.push(self.value(scopes, ty)?.0);
            primals.extend(operands.last().copied());
            self.reader.sign(':')?;
            let activity = self.activity()?;
            activities.push(activity);
            if matches!(activity, Activity::Dup | Activity::DupNoNeed) {
                for _ in 0..mode.seeds() {
                    operands.push(self.value(scopes, ty)?.0);
                }
            }
            if !self.reader.takes(',')? {
                self.reader.sign(')')?;
                break;
            }
        }
        let function = self.for_arguments(callee, &primals, scopes)?;
        let mut derive = Derive { mode, function, args: activities, results: Vec::new(), width };
        if mode.says_results() {
            self.word("ret")?;
            self.reader.sign('(')?;
            while !self.reader.takes(')')? {
                let activity = self.activity()?;
                if mode == Mode::Reverse && activity.moves() {
                    let result = derive.function.results().get(derive.results.len());
                    let ty = result.map(|v| derive.function.ty(*v));
                    operands.push(self.value(scopes, ty)?.0);
                }
                derive.results.push(activity);
                if !self.reader.takes(',')? {
                    self.reader.sign(')')?;
                    break;
                }
            }
        }
        self.add(Structure::Derive(derive), &operands, at, scopes)
    }

    fn activity(&mut self) -> Result<Activity, ParseError> {
        let (token, span) = self.reader.next()?;
        let activity = match token {
            Token::Word(word) => Activity::by_name(word),
            _ => None,
        };
        activity.ok_or_else(|| {
            let found = token.describe();
            let names = "const, active, dup, dupnn, activenn or constnn";
            self.error(span, format!("expected an activity ({names}), found {found}"))
        })
    }

    /// Calls may not lead too deep, nor to too much.
    fn count_call(
        &mut self,
        Extent { deep, operations }: Extent,
        at: &Range<usize>,
        depth: usize,
    ) -> Result<(), ParseError> {
        self.extent.deep = self.extent.deep.max(depth + deep);
        self.extent.operations = self.extent.operations.saturating_add(operations);
        let message = if self.extent.deep > DEEPEST {
            format!("bodies and calls are nested deeper than {DEEPEST}")
        } else if self.extent.operations > MOST {
            format!("with what is called written out, there are more than {MOST} operations")
        } else {
            return Ok(());
        };
        Err(self.error(at.clone(), message))
    }

    fn word(&mut self, wanted: &str) -> Result<(), ParseError> {
        match self.reader.peek()? {
            Token::Word(word) if word == wanted => self.reader.next().map(|_| ()),
            _ => self.unexpected(&format!("expected `{wanted}`")),
        }
    }

    fn reducer(&mut self) -> Result<Reducer, ParseError> {
        let (token, span) = self.reader.next()?;
        let reducer = match token {
            Token::Word(word) => Reducer::by_name(word),
            _ => None,
        };
        reducer.ok_or_else(|| {
            let found = token.describe();
            let message = format!("expected sum, prod, max, min, argmax or argmin, found {found}");
            self.error(span, message)
        })
    }

    /// `%i <`
    fn index(&mut self) -> Result<(&'t str, Param), ParseError> {
        match self.reader.next()? {
            (Token::Value(name), _) => {
                self.reader.sign('<')?;
                Ok((name, Param { name: name.to_string(), ty: Type::I64, linear: false }))
            }
            (token, span) => {
                let found = token.describe();
                Err(self.error(span, format!("expected an index, as `%i < 10`, found {found}")))
            }
        }
    }

    /// `(%i < n, %j < m)`
    fn domain(&mut self, own: &mut Vec<(&'t str, Param)>) -> Result<Vec<Dim>, ParseError> {
        let mut dims = Vec::new();
        self.reader.sign('(')?;
        while !self.reader.takes(')')? {
            own.push(self.index()?);
            dims.push(self.dim()?);
            if !self.reader.takes(',')? {
                self.reader.sign(')')?;
                break;
            }
        }
        Ok(dims)
    }

    /// `(%a = %x, %b: lin = 0.0)`
    fn carries(
        &mut self,
        own: &mut Vec<(&'t str, Param)>,
        scopes: &mut Scopes<'t>,
    ) -> Result<(usize, Vec<Value>), ParseError> {
        let mut inits = Vec::new();
        self.reader.sign('(')?;
        while !self.reader.takes(')')? {
            let name = match self.reader.next()? {
                (Token::Value(name), _) => name,
                (token, span) => {
                    let found = token.describe();
                    let message = format!("expected a carry, as `%s = 0.0`, found {found}");
                    return Err(self.error(span, message));
                }
            };
            let mut linear = false;
            if self.reader.takes(':')? {
                self.word("lin")?;
                linear = true;
            }
            self.reader.sign('=')?;
            let (init, _) = self.value(scopes, None)?;
            let scope = self.scope(scopes)?;
            let linear = linear || scope.linear.contains(&init);
            own.push((name, Param { name: name.to_string(), ty: scope.builder.ty(init), linear }));
            inits.push(init);
            if !self.reader.takes(',')? {
                self.reader.sign(')')?;
                break;
            }
        }
        Ok((inits.len(), inits))
    }

    /// `{ … yield … }`, with parameters of its own.
    fn region(
        &mut self,
        own: &[(&'t str, Param)],
        scopes: &mut Scopes<'t>,
    ) -> Result<Closed, ParseError> {
        self.reader.sign('{')?;
        let mut scope = Scope::new("");
        for (name, param) in own {
            let value = scope.builder.add_param(param.clone());
            if param.linear {
                scope.linear.insert(value);
            }
            scope.names.insert(name, value);
        }
        scopes.push(scope);
        let (_, results) = self.body(scopes, "yield", None)?;
        match scopes.pop() {
            Some(scope) => Ok((scope.builder.finish(results), scope.captures)),
            None => self.unexpected("expected a body"),
        }
    }
}

/// Two bodies that capture the same values.
pub(crate) fn join(own: usize, a: &Closed, b: &Closed) -> (Function, Function, Vec<Value>) {
    // By value: its place among all, and in which body it is which capture.
    let mut places: FxHashMap<Value, usize> = FxHashMap::default();
    let mut captures: Vec<(Value, &Param)> = Vec::new();
    for (body, used) in [a, b] {
        for (value, param) in used.iter().zip(&body.params()[own..]) {
            places.entry(*value).or_insert_with(|| {
                captures.push((*value, param));
                captures.len() - 1
            });
        }
    }
    let with_all = |(body, used): &Closed| {
        let mut builder = Builder::new("");
        let mut args = builder.params_of(&body.params()[..own]);
        let shared: Vec<Value> =
            captures.iter().map(|(_, param)| builder.add_param((*param).clone())).collect();
        args.extend(used.iter().filter_map(|v| places.get(v).map(|k| shared[*k])));
        let results = builder.inline(body, &args);
        builder.finish(results)
    };
    let values = captures.iter().map(|(value, _)| *value).collect();
    (with_all(a), with_all(b), values)
}
