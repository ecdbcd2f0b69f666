//! Reading bodies: operations, and operations with bodies of their own.

use std::ops::Range;

use cotangent_ops::Opcode;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::build::Builder;
use crate::function::{Param, Value};
use crate::lex::Token;
use crate::op::{Op, takes_parameter};
use crate::parse::{ParseError, Parser, nearest, number};
use crate::table::Table;
use crate::types::{Dim, Element, Type};

/// A body in the making: its own names, and what it uses from outside.
pub(crate) struct Scope<'t> {
    pub(crate) builder: Builder,
    pub(crate) names: FxHashMap<&'t str, Value>,
    /// The values that are tangents or cotangents.
    pub(crate) linear: FxHashSet<Value>,
    /// Values of the scope around this one that are used here, and as what all are known here.
    pub(crate) captures: Vec<Value>,
    captured: FxHashMap<Value, Value>,
}

impl Scope<'_> {
    pub(crate) fn new(name: &str) -> Self {
        Scope {
            builder: Builder::new(name),
            names: FxHashMap::default(),
            linear: FxHashSet::default(),
            captures: Vec::new(),
            captured: FxHashMap::default(),
        }
    }
}

pub(crate) type Scopes<'t> = Vec<Scope<'t>>;

impl<'t> Parser<'t> {
    pub(crate) fn scope<'s>(
        &mut self,
        scopes: &'s mut Scopes<'t>,
    ) -> Result<&'s mut Scope<'t>, ParseError> {
        match scopes.last_mut() {
            Some(scope) => Ok(scope),
            None => self.unexpected("expected a body"),
        }
    }

    /// Operations up to what ends the body, which is taken together with the brace.
    pub(crate) fn body(
        &mut self,
        scopes: &mut Scopes<'t>,
        end: &str,
        declared: Option<&[Type]>,
    ) -> Result<(Range<usize>, Vec<Value>), ParseError> {
        loop {
            match self.reader.next()? {
                (Token::Value(name), span) => self.operation(vec![(Some(name), span)], scopes)?,
                (Token::Word("_"), span) => self.operation(vec![(None, span)], scopes)?,
                (Token::Word("guard"), at) => self.guard(at, scopes)?,
                (Token::Word(word), at) if word == end => {
                    let results = self.results(scopes, declared)?;
                    return Ok((at, results));
                }
                (token, span) => {
                    let found = token.describe();
                    let guard = if scopes.len() == 1 { ", `guard`" } else { "" };
                    let message = format!("expected `%name = …`{guard} or `{end}`, found {found}");
                    return Err(self.error(span, message));
                }
            }
        }
    }

    fn guard(&mut self, at: Range<usize>, scopes: &mut Scopes<'t>) -> Result<(), ParseError> {
        if scopes.len() > 1 {
            return Err(self.error(at, "a guard stands in a function, not in a body".to_string()));
        }
        let (condition, span) = self.value(scopes, Some(Type::BOOL))?;
        if self.scope(scopes)?.builder.ty(condition) != Type::BOOL {
            return Err(self.error(span, "a guard takes a truth value".to_string()));
        }
        self.reader.sign(',')?;
        let expected = match self.reader.next()? {
            (Token::Word("true"), _) => true,
            (Token::Word("false"), _) => false,
            (token, span) => {
                let found = token.describe();
                return Err(self.error(span, format!("expected `true` or `false`, found {found}")));
            }
        };
        self.scope(scopes)?.builder.guard(condition, expected);
        Ok(())
    }

    fn results(
        &mut self,
        scopes: &mut Scopes<'t>,
        declared: Option<&[Type]>,
    ) -> Result<Vec<Value>, ParseError> {
        let mut results = Vec::new();
        if self.reader.peek()? != Token::Sign('}') {
            loop {
                let wanted = declared.and_then(|d| d.get(results.len()).copied());
                let (value, span) = self.value(scopes, wanted)?;
                let found = self.scope(scopes)?.builder.ty(value);
                if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
                    let message = format!("the function gives {wanted} here, this is {found}");
                    return Err(self.error(span, message));
                }
                results.push(value);
                if !self.reader.takes(',')? {
                    break;
                }
            }
        }
        self.reader.sign('}')?;
        Ok(results)
    }

    /// `%a, %b = …`; the first name has been taken.
    fn operation(
        &mut self,
        mut names: Vec<(Option<&'t str>, Range<usize>)>,
        scopes: &mut Scopes<'t>,
    ) -> Result<(), ParseError> {
        while self.reader.takes(',')? {
            match self.reader.next()? {
                (Token::Value(name), span) => names.push((Some(name), span)),
                (Token::Word("_"), span) => names.push((None, span)),
                (token, span) => {
                    let found = token.describe();
                    return Err(self.error(span, format!("expected a name, found {found}")));
                }
            }
        }
        self.reader.sign('=')?;
        self.extent.operations += 1;
        self.extent.deep = self.extent.deep.max(scopes.len());
        let (word, at) = match self.reader.next()? {
            (Token::Word(word), at) => (word, at),
            (token, at) => {
                let found = token.describe();
                return Err(
                    self.error(at, format!("expected the name of an operation, found {found}"))
                );
            }
        };
        let values = match self.structure(word, &at, scopes)? {
            Some(parts) => parts,
            None => vec![self.plain(word, &at, scopes)?],
        };
        // An operation that gives nothing has a `_` before it.
        let nothing = values.is_empty() && matches!(names[..], [(None, _)]);
        if values.len() != names.len() && !nothing {
            let (gives, has) = (values.len(), names.len());
            let message = format!("`{word}` gives {gives} results, {has} names are given");
            return Err(self.error(at, message));
        }
        for ((name, span), value) in names.into_iter().zip(values) {
            if let Some(name) = name {
                let scope = self.scope(scopes)?;
                let taken = scope.names.insert(name, value).is_some();
                if taken {
                    let message = format!("`%{name}` is defined twice; choose another name");
                    return Err(self.error(span, message));
                }
            }
        }
        Ok(())
    }

    /// An operation without a body.
    fn plain(
        &mut self,
        word: &'t str,
        at: &Range<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Result<Value, ParseError> {
        let Some(mut op) = Op::by_name(word) else {
            let near =
                nearest(word).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(self.error(at.clone(), format!("there is no operation `{word}`{near}")));
        };
        if matches!(op, Op::Table(_)) {
            let table = self.table(at)?;
            return Ok(self.scope(scopes)?.builder.table(table));
        }
        match &mut op {
            Op::Elementary(code, parameter) if takes_parameter(*code) => {
                self.reader.sign('{')?;
                let (_, span) = self.reader.next_kept()?;
                *parameter = self.integer()?;
                if *code != Opcode::Powi && *parameter < 0 {
                    let message = format!("`{word}` has an order from 0 on, not {parameter}");
                    return Err(self.error(span, message));
                }
                self.reader.sign('}')?;
            }
            Op::Extent(k) => {
                self.reader.sign('{')?;
                let (_, span) = self.reader.next_kept()?;
                let number = self.integer()?;
                *k = u32::try_from(number)
                    .map_err(|_| self.error(span, format!("there is no dimension {number}")))?;
                self.reader.sign('}')?;
            }
            _ => {}
        }
        let operands = match op {
            Op::Load | Op::Put | Op::PutAdd => return self.access(op, scopes),
            _ => self.operands(op, word, at, scopes)?,
        };
        let mut ty = Type::F64;
        if matches!(op, Op::Fill | Op::Cast) {
            self.reader.sign(':')?;
            ty = self.ty()?;
        }
        self.check(op, ty, &operands, at, scopes)?;
        let scope = self.scope(scopes)?;
        if op == Op::Cast {
            ty = scope.builder.ty(operands[0]).of(ty.element());
        }
        let value = scope.builder.copy(op, ty, &operands);
        let linear = operands.iter().any(|v| scope.linear.contains(v));
        if linear && op != Op::Stop {
            scope.linear.insert(value);
        }
        Ok(value)
    }

    /// `[1, 2, 3] : [3]i64`
    fn table(&mut self, at: &Range<usize>) -> Result<Table, ParseError> {
        let mut entries = Vec::new();
        self.reader.sign('[')?;
        while !self.reader.takes(']')? {
            match self.reader.next()? {
                (Token::Number(text), span) => entries.push((text, span)),
                (token, span) => {
                    let found = token.describe();
                    return Err(self.error(span, format!("expected a number, found {found}")));
                }
            }
            if !self.reader.takes(',')? {
                self.reader.sign(']')?;
                break;
            }
        }
        self.reader.sign(':')?;
        let ty = self.ty()?;
        let no = |p: &Self, text: &str, span: &Range<usize>| {
            p.error(span.clone(), format!("`{text}` is no entry of {ty}"))
        };
        let table = if ty.element().is_integer() {
            let mut integers = Vec::with_capacity(entries.len());
            for (text, span) in &entries {
                integers.push(text.parse::<i64>().map_err(|_| no(self, text, span))?);
            }
            Table::integers(ty, integers)
        } else {
            let single = ty.element() == Element::F32;
            let mut numbers = Vec::with_capacity(entries.len());
            for (text, span) in &entries {
                numbers.push(number(text, single).ok_or_else(|| no(self, text, span))?);
            }
            Table::numbers(ty, &numbers)
        };
        table.ok_or_else(|| {
            let message = format!("a table of {} entries is no {ty}", entries.len());
            self.error(at.clone(), message)
        })
    }

    /// The operands of an operation element by element. The type of a constant is that of the numbers beside
    /// it.
    fn operands(
        &mut self,
        op: Op,
        word: &str,
        at: &Range<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Result<Vec<Value>, ParseError> {
        let mut tokens = vec![self.reader.next()?];
        while self.reader.takes(',')? {
            tokens.push(self.reader.next()?);
        }
        let wants = op.arity().unwrap_or(0);
        if tokens.len() != wants {
            let has = tokens.len();
            let message = format!("`{word}` takes {wants} operands, {has} are given");
            return Err(self.error(at.clone(), message));
        }
        let mut values: Vec<Option<Value>> = Vec::new();
        for (token, span) in &tokens {
            values.push(match token {
                Token::Value(_) => Some(self.operand(*token, span, None, scopes)?),
                _ => None,
            });
        }
        let skipped = usize::from(op == Op::Select);
        let scope = self.scope(scopes)?;
        let element = |v: &Value| Type::scalar(scope.builder.ty(*v).element());
        let known = values[skipped..].iter().flatten().map(element).next();
        let wanted = match op {
            Op::And | Op::Or | Op::Not => Some(Type::BOOL),
            Op::Integral(_) => Some(known.unwrap_or(Type::I64)),
            _ => known,
        };
        let mut operands = Vec::with_capacity(3);
        for (k, (token, span)) in tokens.into_iter().enumerate() {
            let wanted = if k < skipped { Some(Type::BOOL) } else { wanted };
            let value = match values[k] {
                Some(value) => value,
                None => self.operand(token, &span, wanted, scopes)?,
            };
            let found = self.scope(scopes)?.builder.ty(value);
            let element = Type::scalar(found.element());
            let fits = match op {
                Op::Elementary(..) => found.is_float(),
                Op::Integral(_) => found.element().is_integer(),
                Op::Compare(_) => found.element() != Element::Bool,
                _ => true,
            };
            if found == Type::PARTS || !fits || wanted.is_some_and(|wanted| wanted != element) {
                let wanted = match op {
                    Op::Elementary(..) | Op::Compare(_) => {
                        wanted.filter(|w| w.is_float()).unwrap_or(Type::F64)
                    }
                    Op::Integral(_) => {
                        wanted.filter(|w| w.element().is_integer()).unwrap_or(Type::I64)
                    }
                    _ => wanted.unwrap_or(Type::F64),
                };
                let message = format!("`{word}` wants {wanted} here, this is {found}");
                return Err(self.error(span, message));
            }
            operands.push(value);
        }
        Ok(operands)
    }

    /// Whether dimensions fit.
    fn check(
        &mut self,
        op: Op,
        ty: Type,
        operands: &[Value],
        at: &Range<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Result<(), ParseError> {
        let scope = self.scope(scopes)?;
        let types: Vec<Type> = operands.iter().map(|v| scope.builder.ty(*v)).collect();
        let mut arrays = types.iter().filter(|ty| !ty.is_scalar());
        let message = match (op, arrays.next()) {
            (Op::Fill, Some(array)) => format!("`fill` takes one value, this is {array}"),
            (Op::Fill, None) if ty.element() != types[0].element() => {
                format!("`fill` of {} gives no {ty}", types[0])
            }
            (Op::Fill, None) if ty.dims().contains(&Dim::Any) => {
                "an array of unknown size cannot be filled".to_string()
            }
            (Op::Argsort, None) => "`argsort` takes a list".to_string(),
            (Op::Argsort, Some(list)) if list.dims().len() != 1 || !list.is_float() => {
                format!("`argsort` takes a list of numbers, this is {list}")
            }
            (Op::Cast, _) if !ty.is_scalar() => {
                "`cast` is to f64, f32, i64, i32 or bool".to_string()
            }
            (Op::Extent(k), array) => {
                let rank = array.map_or(0, |array| array.dims().len());
                if (k as usize) < rank {
                    return Ok(());
                }
                format!("there is no dimension {k} of an array that has {rank}")
            }
            (_, Some(first)) => match arrays.find(|ty| ty.dims() != first.dims()) {
                Some(other) => format!(
                    "`{}` works element by element, but {first} and {other} have other dimensions",
                    op.name()
                ),
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        Err(self.error(at.clone(), message))
    }

    /// `ld %x[…]`, `put %x[…], %v`.
    fn access(&mut self, op: Op, scopes: &mut Scopes<'t>) -> Result<Value, ParseError> {
        let (array, span) = self.value(scopes, None)?;
        let ty = self.scope(scopes)?.builder.ty(array);
        self.reader.sign('[')?;
        let mut indices = Vec::new();
        loop {
            let (index, span) = self.value(scopes, Some(Type::I64))?;
            let found = self.scope(scopes)?.builder.ty(index);
            if found != Type::I64 {
                return Err(self.error(span, format!("an index is an i64, this is {found}")));
            }
            indices.push(index);
            if !self.reader.takes(',')? {
                self.reader.sign(']')?;
                break;
            }
        }
        let rank = ty.dims().len();
        if indices.len() > rank {
            let message =
                format!("{ty} has {rank} dimensions, {} indices are given", indices.len());
            return Err(self.error(span, message));
        }
        let mut operands = vec![array];
        if op != Op::Load {
            self.reader.sign(',')?;
            let inner = ty.after(indices.len());
            let (value, span) = self.value(scopes, Some(Type::scalar(ty.element())))?;
            let found = self.scope(scopes)?.builder.ty(value);
            let fits = found == inner || found == Type::scalar(ty.element());
            if op == Op::PutAdd && !ty.is_float() {
                let message = format!("`put_add` adds numbers, {ty} has none");
                return Err(self.error(span, message));
            }
            if !fits {
                let message = format!("`{}` wants {inner} here, this is {found}", op.name());
                return Err(self.error(span, message));
            }
            operands.push(value);
        }
        operands.extend(indices);
        let scope = self.scope(scopes)?;
        let value = scope.builder.copy(op, ty, &operands);
        if operands.iter().any(|v| scope.linear.contains(v)) {
            scope.linear.insert(value);
        }
        Ok(value)
    }

    pub(crate) fn value(
        &mut self,
        scopes: &mut Scopes<'t>,
        wanted: Option<Type>,
    ) -> Result<(Value, Range<usize>), ParseError> {
        let (token, span) = self.reader.next()?;
        Ok((self.operand(token, &span, wanted, scopes)?, span))
    }

    fn operand(
        &mut self,
        token: Token<'t>,
        span: &Range<usize>,
        wanted: Option<Type>,
        scopes: &mut Scopes<'t>,
    ) -> Result<Value, ParseError> {
        match token {
            Token::Value(name) => find(scopes, name).ok_or_else(|| {
                let message =
                    format!("`%{name}` is not defined; operands come before what uses them");
                self.error(span.clone(), message)
            }),
            Token::Word("true") => Ok(self.scope(scopes)?.builder.truth(true)),
            Token::Word("false") => Ok(self.scope(scopes)?.builder.truth(false)),
            Token::Number(text) => {
                let no_number = |p: &Self| p.error(span.clone(), format!("`{text}` is no number"));
                let (digits, ty) = match text.strip_suffix("i32") {
                    Some(digits) => (digits, Type::I32),
                    None => (text, Type::I64),
                };
                let wants_integer = wanted.is_some_and(|w| w.element().is_integer());
                let integer = wanted.is_none_or(|w| !w.is_float()) || ty == Type::I32;
                if integer && let Ok(c) = digits.parse::<i64>() {
                    let ty =
                        if wants_integer && ty != Type::I32 { wanted.unwrap_or(ty) } else { ty };
                    if ty.element() == Element::I32 && i32::try_from(c).is_err() {
                        let message = format!("`{text}` is no integer of 32 bits");
                        return Err(self.error(span.clone(), message));
                    }
                    return Ok(self
                        .scope(scopes)?
                        .builder
                        .integer_of(c, Type::scalar(ty.element())));
                }
                let (rest, rounded) =
                    text.strip_prefix('~').map_or((text, false), |rest| (rest, true));
                let (of_singles, of_doubles) = (rest.strip_suffix("f32"), rest.strip_suffix("f64"));
                let single = of_singles.is_some()
                    || of_doubles.is_none() && wanted.is_some_and(|w| w.element() == Element::F32);
                let digits = of_singles.or(of_doubles).unwrap_or(rest);
                let c = number(digits, single).ok_or_else(|| no_number(self))?;
                let ty = if single { Type::F32 } else { Type::F64 };
                let builder = &mut self.scope(scopes)?.builder;
                Ok(if rounded { builder.rounded(c, ty) } else { builder.constant(c, ty) })
            }
            other => {
                let found = other.describe();
                Err(self
                    .error(span.clone(), format!("expected a value or a number, found {found}")))
            }
        }
    }
}

/// The value with this name, captured by the bodies between.
fn find<'t>(scopes: &mut [Scope<'t>], name: &str) -> Option<Value> {
    let (scope, outer) = scopes.split_last_mut()?;
    if let Some(value) = scope.names.get(name) {
        return Some(*value);
    }
    let value = find(outer, name)?;
    let around = outer.last()?;
    if let Some(known) = scope.captured.get(&value) {
        return Some(*known);
    }
    let (op, ty) = (around.builder.function().op(value), around.builder.ty(value));
    if op.is_constant() {
        return Some(scope.builder.copy(op, ty, &[]));
    }
    let linear = around.linear.contains(&value);
    let inner = scope.builder.add_param(Param { name: name.to_string(), ty, linear });
    if linear {
        scope.linear.insert(inner);
    }
    scope.captures.push(value);
    scope.captured.insert(value, inner);
    Some(inner)
}
