//! Reading the text of a function.
//!
//! Nothing is nested, so nothing recurses; every error has its place.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::build::Builder;
use crate::function::{Function, Op, Param, Type, Value, takes_parameter};

/// Why a text is no function, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// What is wrong, and what was expected.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The bytes of the text that are meant.
    pub span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'t> {
    /// Letters, digits, `_` and `.`: keywords, names of operations.
    Word(&'t str),
    /// `%name`
    Value(&'t str),
    /// `@name`
    Function(&'t str),
    Number(&'t str),
    Sign(char),
    Arrow,
    End,
}

impl Token<'_> {
    fn describe(self) -> String {
        match self {
            Token::Word(word) | Token::Number(word) => format!("`{word}`"),
            Token::Value(name) => format!("`%{name}`"),
            Token::Function(name) => format!("`@{name}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::Arrow => "`->`".to_string(),
            Token::End => "the end of the text".to_string(),
        }
    }
}

/// Reads one function.
///
/// ```
/// use cotangent_ir::parse;
///
/// let f = parse("fn @f(%x: f64) -> f64 {\n  %y = exp %x\n  %z = mul %y, 2.0 // twice\n  ret %z\n}").unwrap();
/// assert_eq!(f.run(&[0.0]).unwrap(), [2.0]);
/// let error = parse("fn @f(%x: f64) -> f64 {\n  %y = exx %x\n  ret %y\n}").unwrap_err();
/// assert_eq!(error.to_string(), "2:8: there is no operation `exx`; did you mean `exp`?");
/// ```
///
/// # Errors
/// What is wrong, with line and column.
pub fn parse(text: &str) -> Result<Function, ParseError> {
    let mut reader = Reader::new(text)?;
    let function = reader.function()?;
    match reader.next()? {
        (Token::End, _) => Ok(function),
        (token, span) => {
            Err(reader
                .error(span, format!("expected the end of the text, found {}", token.describe())))
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    ahead: Option<(Token<'t>, Range<usize>)>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Result<Self, ParseError> {
        let reader = Reader { text, at: 0, ahead: None };
        // Values are numbered with 32 bits, and every value takes a character at least.
        if text.len() >= u32::MAX as usize {
            return Err(reader.error(0..0, "the text is longer than 4 GB".to_string()));
        }
        Ok(reader)
    }

    fn error(&self, span: Range<usize>, message: String) -> ParseError {
        let before = &self.text[..span.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ParseError {
            message,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span,
        }
    }

    fn next(&mut self) -> Result<(Token<'t>, Range<usize>), ParseError> {
        match self.ahead.take() {
            Some(token) => Ok(token),
            None => self.scan(),
        }
    }

    fn peek(&mut self) -> Result<Token<'t>, ParseError> {
        let token = self.next()?;
        self.ahead = Some(token.clone());
        Ok(token.0)
    }

    fn scan(&mut self) -> Result<(Token<'t>, Range<usize>), ParseError> {
        let bytes = self.text.as_bytes();
        loop {
            while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            }
            if !self.text[self.at..].starts_with("//") {
                break;
            }
            self.at = self.text[self.at..].find('\n').map_or(self.text.len(), |n| self.at + n);
        }
        let start = self.at;
        let Some(first) = self.text[start..].chars().next() else {
            return Ok((Token::End, start..start));
        };
        let word = |from: usize| {
            let rest = &self.text[from..];
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
            &rest[..end.unwrap_or(rest.len())]
        };
        let negative = first == '-' && !self.text[start..].starts_with("->");
        let (token, length) = match first {
            '%' | '@' => {
                let name = word(start + 1);
                if name.is_empty() {
                    return Err(
                        self.error(start..start + 1, format!("`{first}` has no name after it"))
                    );
                }
                let token = if first == '%' { Token::Value(name) } else { Token::Function(name) };
                (token, 1 + name.len())
            }
            '-' if !negative => (Token::Arrow, 2),
            c if c.is_ascii_digit() || c == '~' || negative => {
                let length = self.number_length(start);
                (Token::Number(&self.text[start..start + length]), length)
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let name = word(start);
                let special = name == "inf" || name == "inff32" || name == "nan";
                if special {
                    let length = self.number_length(start);
                    (Token::Number(&self.text[start..start + length]), length)
                } else {
                    (Token::Word(name), name.len())
                }
            }
            '(' | ')' | '{' | '}' | ',' | ':' | '=' => (Token::Sign(first), 1),
            other => {
                let span = start..start + other.len_utf8();
                return Err(
                    self.error(span, format!("the character {other:?} has no meaning here"))
                );
            }
        };
        self.at += length;
        Ok((token, start..start + length))
    }

    /// The bytes of a number: digits, letters, a point, brackets, and signs after an `e`.
    fn number_length(&self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut end = start;
        while let Some(&b) = bytes.get(end) {
            let sign = (b == b'-' || b == b'+')
                && (end == start || matches!(bytes[end - 1], b'e' | b'E' | b'~'));
            let mark = b == b'~' && end == start;
            if !(b.is_ascii_alphanumeric()
                || matches!(b, b'.' | b'[' | b']' | b'_')
                || sign
                || mark)
            {
                break;
            }
            end += 1;
        }
        end - start
    }

    fn sign(&mut self, expected: char) -> Result<(), ParseError> {
        match self.next()? {
            (Token::Sign(sign), _) if sign == expected => Ok(()),
            (token, span) => {
                Err(self.error(span, format!("expected `{expected}`, found {}", token.describe())))
            }
        }
    }

    /// Whether the next token is this sign, which is then taken.
    fn takes(&mut self, sign: char) -> Result<bool, ParseError> {
        let found = self.peek()? == Token::Sign(sign);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    fn function(&mut self) -> Result<Function, ParseError> {
        match self.next()? {
            (Token::Word("fn"), _) => {}
            (token, span) => {
                let found = token.describe();
                return Err(
                    self.error(span, format!("a function begins with `fn @name`, not {found}"))
                );
            }
        }
        let name = match self.next()? {
            (Token::Function(name), _) => name,
            (token, span) => {
                let found = token.describe();
                return Err(self
                    .error(span, format!("expected the function's name, as `@f`, found {found}")));
            }
        };
        let mut body = Body { builder: Builder::new(name), names: FxHashMap::default() };
        self.sign('(')?;
        while !self.takes(')')? {
            self.param(&mut body)?;
            if !self.takes(',')? {
                self.sign(')')?;
                break;
            }
        }
        let declared = self.result_types()?;
        self.sign('{')?;
        loop {
            match self.next()? {
                (Token::Value(name), span) => self.operation(name, span, &mut body)?,
                (Token::Word("guard"), _) => {
                    let (condition, span) = self.value(&mut body, Some(Type::Bool))?;
                    if body.builder.function().ty(condition) != Type::Bool {
                        return Err(self.error(span, "a guard takes a truth value".to_string()));
                    }
                    self.sign(',')?;
                    match self.next()? {
                        (Token::Word("true"), _) => body.builder.guard(condition, true),
                        (Token::Word("false"), _) => body.builder.guard(condition, false),
                        (token, span) => {
                            let found = token.describe();
                            return Err(self.error(
                                span,
                                format!("expected `true` or `false`, found {found}"),
                            ));
                        }
                    }
                }
                (Token::Word("ret"), span) => return self.results(span, body, &declared),
                (token, span) => {
                    let found = token.describe();
                    let message = format!("expected `%name = …`, `guard` or `ret`, found {found}");
                    return Err(self.error(span, message));
                }
            }
        }
    }

    fn param(&mut self, body: &mut Body<'t>) -> Result<(), ParseError> {
        let (name, span) = match self.next()? {
            (Token::Value(name), span) => (name, span),
            (token, span) => {
                let found = token.describe();
                return Err(
                    self.error(span, format!("expected a parameter, as `%x: f64`, found {found}"))
                );
            }
        };
        self.sign(':')?;
        let linear = self.peek()? == Token::Word("lin");
        if linear {
            self.next()?;
        }
        let ty = self.ty()?;
        let value = body.builder.add_param(Param { name: name.to_string(), ty, linear });
        self.define(name, span, value, body)
    }

    fn define(
        &mut self,
        name: &'t str,
        span: Range<usize>,
        value: Value,
        body: &mut Body<'t>,
    ) -> Result<(), ParseError> {
        match body.names.insert(name, value) {
            None => Ok(()),
            Some(_) => {
                Err(self.error(span, format!("`%{name}` is defined twice; choose another name")))
            }
        }
    }

    fn ty(&mut self) -> Result<Type, ParseError> {
        match self.next()? {
            (Token::Word("f64"), _) => Ok(Type::F64),
            (Token::Word("f32"), _) => Ok(Type::F32),
            (Token::Word("bool"), _) => Ok(Type::Bool),
            (token, span) => {
                let found = token.describe();
                Err(self.error(span, format!("expected a type (f64, f32, bool), found {found}")))
            }
        }
    }

    fn result_types(&mut self) -> Result<Vec<Type>, ParseError> {
        match self.next()? {
            (Token::Arrow, _) => {}
            (token, span) => {
                let found = token.describe();
                return Err(self.error(
                    span,
                    format!("expected `->` and the types of the results, found {found}"),
                ));
            }
        }
        if !self.takes('(')? {
            return Ok(vec![self.ty()?]);
        }
        let mut types = Vec::new();
        while !self.takes(')')? {
            types.push(self.ty()?);
            if !self.takes(',')? {
                self.sign(')')?;
                break;
            }
        }
        Ok(types)
    }

    fn operation(
        &mut self,
        name: &'t str,
        span: Range<usize>,
        body: &mut Body<'t>,
    ) -> Result<(), ParseError> {
        self.sign('=')?;
        let (word, at) = match self.next()? {
            (Token::Word(word), at) => (word, at),
            (token, at) => {
                let found = token.describe();
                return Err(
                    self.error(at, format!("expected the name of an operation, found {found}"))
                );
            }
        };
        let Some(mut op) = Op::by_name(word) else {
            let near =
                nearest(word).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(self.error(at, format!("there is no operation `{word}`{near}")));
        };
        if let Op::Elementary(code, _) = op
            && takes_parameter(code)
        {
            self.sign('{')?;
            op = Op::Elementary(code, self.integer()?);
            self.sign('}')?;
        }
        // The type of a constant is that of the numbers beside it.
        let mut tokens = vec![self.next()?];
        while self.takes(',')? {
            tokens.push(self.next()?);
        }
        if tokens.len() != op.arity() {
            let (wants, has) = (op.arity(), tokens.len());
            return Err(self.error(at, format!("`{word}` takes {wants} operands, {has} are given")));
        }
        let known = |token: &Token<'_>| match token {
            Token::Value(name) => body.names.get(name).map(|v| body.builder.function().ty(*v)),
            _ => None,
        };
        let wanted = match op {
            Op::And | Op::Or | Op::Not => Some(Type::Bool),
            Op::Select => tokens[1..].iter().find_map(|(token, _)| known(token)),
            _ => tokens.iter().find_map(|(token, _)| known(token)),
        };
        let mut operands = Vec::with_capacity(3);
        for (k, (token, span)) in tokens.into_iter().enumerate() {
            let wanted = if op == Op::Select && k == 0 { Some(Type::Bool) } else { wanted };
            let value = self.operand(token, &span, wanted, body)?;
            let found = body.builder.function().ty(value);
            let number = !matches!(op, Op::And | Op::Or | Op::Not | Op::Select);
            if wanted.is_some_and(|wanted| wanted != found) || (number && !found.is_float()) {
                let wanted = wanted.filter(|w| w.is_float() || !number).unwrap_or(Type::F64);
                return Err(
                    self.error(span, format!("`{word}` wants {wanted} here, this is {found}"))
                );
            }
            operands.push(value);
        }
        let ty = operands.last().map_or(Type::F64, |v| body.builder.function().ty(*v));
        let value = body.builder.copy(op, ty, &operands);
        self.define(name, span, value, body)
    }

    fn integer(&mut self) -> Result<i32, ParseError> {
        match self.next()? {
            (Token::Number(digits), span) => digits
                .parse()
                .map_err(|_| self.error(span, format!("`{digits}` is no integer of 32 bits"))),
            (token, span) => {
                Err(self.error(span, format!("expected an integer, found {}", token.describe())))
            }
        }
    }

    fn value(
        &mut self,
        body: &mut Body<'t>,
        wanted: Option<Type>,
    ) -> Result<(Value, Range<usize>), ParseError> {
        let (token, span) = self.next()?;
        Ok((self.operand(token, &span, wanted, body)?, span))
    }

    fn operand(
        &mut self,
        token: Token<'t>,
        span: &Range<usize>,
        wanted: Option<Type>,
        body: &mut Body<'t>,
    ) -> Result<Value, ParseError> {
        match token {
            Token::Value(name) => body.names.get(name).copied().ok_or_else(|| {
                let message =
                    format!("`%{name}` is not defined; operands come before what uses them");
                self.error(span.clone(), message)
            }),
            Token::Word("true") => Ok(body.builder.truth(true)),
            Token::Word("false") => Ok(body.builder.truth(false)),
            Token::Number(text) => {
                let (rest, rounded) =
                    text.strip_prefix('~').map_or((text, false), |rest| (rest, true));
                let single = rest.strip_suffix("f32");
                let ty = match (single, wanted) {
                    (Some(_), _) | (None, Some(Type::F32)) => Type::F32,
                    _ => Type::F64,
                };
                let number = number(single.unwrap_or(rest), ty)
                    .ok_or_else(|| self.error(span.clone(), format!("`{text}` is no number")))?;
                let builder = &mut body.builder;
                Ok(if rounded { builder.rounded(number, ty) } else { builder.constant(number, ty) })
            }
            other => {
                let found = other.describe();
                Err(self
                    .error(span.clone(), format!("expected a value or a number, found {found}")))
            }
        }
    }

    fn results(
        &mut self,
        at: Range<usize>,
        mut body: Body<'t>,
        declared: &[Type],
    ) -> Result<Function, ParseError> {
        let mut results = Vec::new();
        if self.peek()? != Token::Sign('}') {
            loop {
                let wanted = declared.get(results.len()).copied();
                let (value, span) = self.value(&mut body, wanted)?;
                let found = body.builder.function().ty(value);
                if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
                    let message = format!("the function gives {wanted} here, this is {found}");
                    return Err(self.error(span, message));
                }
                results.push(value);
                if !self.takes(',')? {
                    break;
                }
            }
        }
        if results.len() != declared.len() {
            let (wants, has) = (declared.len(), results.len());
            return Err(
                self.error(at, format!("the function gives {wants} results, {has} are returned"))
            );
        }
        self.sign('}')?;
        Ok(body.builder.finish(results))
    }
}

struct Body<'t> {
    builder: Builder,
    names: FxHashMap<&'t str, Value>,
}

/// A number as it is printed.
fn number(text: &str, ty: Type) -> Option<f64> {
    match text {
        "inf" => return Some(f64::INFINITY),
        "-inf" => return Some(f64::NEG_INFINITY),
        "nan" => return Some(f64::NAN),
        _ => {}
    }
    if let Some(bits) = text.strip_prefix("nan[").and_then(|rest| rest.strip_suffix(']')) {
        let number = f64::from_bits(u64::from_str_radix(bits, 16).ok()?);
        return number.is_nan().then_some(number);
    }
    // `inf` and `nan` in other spellings are not what is printed.
    let digits = text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
    match ty {
        Type::F32 => text.parse::<f32>().ok().filter(|_| digits).map(f64::from),
        _ => text.parse().ok().filter(|_| digits),
    }
}

/// The operation whose name differs by a letter or two.
fn nearest(word: &str) -> Option<&'static str> {
    let names = cotangent_ops::Opcode::ALL.iter().map(|code| code.info().name);
    let others = ["lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "select"];
    let near = names.chain(others).map(|name| (distance(word, name), name)).min()?;
    (near.0 <= 2 && near.0 < word.len()).then_some(near.1)
}

/// How many letters must be changed, added or removed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    // A long word is near nothing.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(40).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
