//! Reading the text of functions. Every error has its place; bodies nest as deep as [`DEEPEST`].

use std::ops::Range;
use std::sync::Arc;

use crate::function::{Function, Param};
use crate::lex::{Reader, Token};
use crate::library::PREFIX;
use crate::op::Op;
use crate::parse_body::Scope;
use crate::structure::Structure;
use crate::types::{Dim, Element, Type};

/// How deep bodies may be nested.
pub(crate) const DEEPEST: usize = 64;

/// How many operations a function may have with what it calls written out.
pub(crate) const MOST: usize = 1 << 21;

/// How much a function is with what it calls written out.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extent {
    /// How deep bodies and calls are nested.
    pub(crate) deep: usize,
    pub(crate) operations: usize,
}

impl Extent {
    /// How much a function is that has been made.
    pub(crate) fn of(function: &Function) -> Extent {
        let inner = |value| function.structure(value).into_iter().flat_map(Structure::bodies);
        let bodies = function.values().flat_map(inner).map(|body| Extent::of(body));
        bodies.fold(Extent { deep: 1, operations: function.len() }, |all, body| Extent {
            deep: all.deep.max(1 + body.deep),
            operations: all.operations.saturating_add(body.operations),
        })
    }
}

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

/// Reads a function: the last one of the text, which may call those before it.
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
    let mut functions = parse_all(text)?;
    match functions.pop() {
        Some(last) => Ok(Arc::unwrap_or_clone(last)),
        None => {
            let reader = Reader::new(text)?;
            Err(reader.error(0..0, "a function begins with `fn @name`".to_string()))
        }
    }
}

/// Reads all functions of a text. A function may call those before it.
///
/// # Errors
/// As [`parse`].
pub fn parse_all(text: &str) -> Result<Vec<Arc<Function>>, ParseError> {
    let mut parser = Parser {
        reader: Reader::new(text)?,
        functions: Vec::new(),
        extents: Vec::new(),
        extent: Extent::default(),
        symbols: Vec::new(),
    };
    loop {
        let function = parser.function()?;
        parser.functions.push(Arc::new(function));
        parser.extents.push(parser.extent);
        if parser.reader.peek()? == Token::End {
            return Ok(parser.functions);
        }
        if parser.reader.peek()? != Token::Word("fn") {
            let (token, span) = parser.reader.next()?;
            let found = token.describe();
            return Err(parser.reader.error(
                span,
                format!("expected another function or the end of the text, found {found}"),
            ));
        }
    }
}

pub(crate) struct Parser<'t> {
    pub(crate) reader: Reader<'t>,
    /// The functions so far, which may be called.
    pub(crate) functions: Vec<Arc<Function>>,
    pub(crate) extents: Vec<Extent>,
    /// Of the function that is being read.
    pub(crate) extent: Extent,
    /// The dimensions that have names.
    symbols: Vec<&'t str>,
}

impl<'t> Parser<'t> {
    pub(crate) fn error(&self, span: Range<usize>, message: String) -> ParseError {
        self.reader.error(span, message)
    }

    /// An error at what comes next.
    pub(crate) fn unexpected<T>(&mut self, wanted: &str) -> Result<T, ParseError> {
        let (token, span) = self.reader.next()?;
        Err(self.error(span, format!("{wanted}, found {}", token.describe())))
    }

    fn function(&mut self) -> Result<Function, ParseError> {
        match self.reader.next()? {
            (Token::Word("fn"), _) => {}
            (token, span) => {
                let found = token.describe();
                return Err(
                    self.error(span, format!("a function begins with `fn @name`, not {found}"))
                );
            }
        }
        let name = match self.reader.next()? {
            (Token::Function(name), span) => {
                if name.starts_with(PREFIX) {
                    let message = format!(
                        "names that begin with `{PREFIX}` belong to the library; choose another than `@{name}`"
                    );
                    return Err(self.error(span, message));
                }
                if self.functions.iter().any(|f| f.name() == name) {
                    let message = format!("there are two functions `@{name}`; choose another name");
                    return Err(self.error(span, message));
                }
                name
            }
            (token, span) => {
                let found = token.describe();
                return Err(self
                    .error(span, format!("expected the function's name, as `@f`, found {found}")));
            }
        };
        self.symbols.clear();
        self.extent = Extent { deep: 1, operations: 0 };
        if self.reader.takes('<')? {
            loop {
                match self.reader.next()? {
                    (Token::Word(name), _) => self.symbols.push(name),
                    (token, span) => {
                        let found = token.describe();
                        let message = format!("expected the name of a dimension, found {found}");
                        return Err(self.error(span, message));
                    }
                }
                if !self.reader.takes(',')? {
                    self.reader.sign('>')?;
                    break;
                }
            }
        }
        let mut scope = Scope::new(name);
        self.reader.sign('(')?;
        while !self.reader.takes(')')? {
            self.param(&mut scope)?;
            if !self.reader.takes(',')? {
                self.reader.sign(')')?;
                break;
            }
        }
        let declared = self.result_types()?;
        let mut rule = None;
        if self.reader.peek()? == Token::Word("jvp") {
            self.reader.next()?;
            rule = Some(self.known_function()?);
        }
        self.reader.sign('{')?;
        let mut scopes = vec![scope];
        let (at, results) = self.body(&mut scopes, "ret", Some(&declared))?;
        if results.len() != declared.len() {
            let (wants, has) = (declared.len(), results.len());
            return Err(
                self.error(at, format!("the function gives {wants} results, {has} are returned"))
            );
        }
        let mut function = match scopes.pop() {
            Some(scope) => scope.builder.finish(results),
            None => return self.unexpected("expected a function"),
        };
        function.rule = rule;
        Ok(function)
    }

    /// A function that stands before.
    pub(crate) fn known_function(&mut self) -> Result<Arc<Function>, ParseError> {
        match self.reader.next()? {
            (Token::Function(name), span) => {
                let found = self.functions.iter().find(|f| f.name() == name).cloned();
                found.ok_or_else(|| {
                    let message =
                        format!("there is no function `@{name}` before this one; put it above");
                    self.error(span, message)
                })
            }
            (token, span) => {
                let found = token.describe();
                Err(self.error(span, format!("expected the name of a function, found {found}")))
            }
        }
    }

    fn param(&mut self, scope: &mut Scope<'t>) -> Result<(), ParseError> {
        let (name, span) = match self.reader.next()? {
            (Token::Value(name), span) => (name, span),
            (token, span) => {
                let found = token.describe();
                return Err(
                    self.error(span, format!("expected a parameter, as `%x: f64`, found {found}"))
                );
            }
        };
        self.reader.sign(':')?;
        let linear = self.reader.peek()? == Token::Word("lin");
        if linear {
            self.reader.next()?;
        }
        let ty = self.ty()?;
        let value = scope.builder.add_param(Param { name: name.to_string(), ty, linear });
        if linear {
            scope.linear.insert(value);
        }
        self.define(name, span, value, scope)
    }

    pub(crate) fn define(
        &mut self,
        name: &'t str,
        span: Range<usize>,
        value: crate::Value,
        scope: &mut Scope<'t>,
    ) -> Result<(), ParseError> {
        match scope.names.insert(name, value) {
            None => Ok(()),
            Some(_) => {
                Err(self.error(span, format!("`%{name}` is defined twice; choose another name")))
            }
        }
    }

    pub(crate) fn ty(&mut self) -> Result<Type, ParseError> {
        let mut dims = Vec::new();
        if self.reader.takes('[')? {
            loop {
                let any = dims.is_empty() && self.reader.peek()? == Token::Sign('?');
                if any {
                    self.reader.next()?;
                }
                dims.push(if any { Dim::Any } else { self.dim()? });
                if !self.reader.takes(',')? {
                    self.reader.sign(']')?;
                    break;
                }
            }
        }
        let (token, span) = self.reader.next()?;
        let element = match token {
            Token::Word(word) => Element::by_name(word),
            _ => None,
        };
        if !Type::is_room() {
            return Err(self.error(span, "there are too many different types".to_string()));
        }
        match element {
            Some(element) => Ok(Type::array(element, &dims)),
            None => {
                let found = token.describe();
                let types = "f64, f32, i64, i32, bool, or an array such as [3, n]f64";
                Err(self.error(span, format!("expected a type ({types}), found {found}")))
            }
        }
    }

    /// A dimension: a size, or a name that the function declares.
    pub(crate) fn dim(&mut self) -> Result<Dim, ParseError> {
        match self.reader.next()? {
            (Token::Number(digits), span) => match digits.parse::<usize>() {
                Ok(n) if n < 1 << 40 => Ok(Dim::Size(n)),
                _ => Err(self.error(span, format!("`{digits}` is no size of an array"))),
            },
            (Token::Word(name), _) if self.symbols.contains(&name) => Ok(Dim::symbol(name)),
            (Token::Word(name), span) => {
                let message = format!(
                    "there is no dimension `{name}`; declare it behind the function's name, as `@f<{name}>`"
                );
                Err(self.error(span, message))
            }
            (token, span) => {
                let found = token.describe();
                Err(self.error(
                    span,
                    format!("expected a size or the name of a dimension, found {found}"),
                ))
            }
        }
    }

    fn result_types(&mut self) -> Result<Vec<Type>, ParseError> {
        match self.reader.next()? {
            (Token::Arrow, _) => {}
            (token, span) => {
                let found = token.describe();
                return Err(self.error(
                    span,
                    format!("expected `->` and the types of the results, found {found}"),
                ));
            }
        }
        if !self.reader.takes('(')? {
            return Ok(vec![self.ty()?]);
        }
        let mut types = Vec::new();
        while !self.reader.takes(')')? {
            types.push(self.ty()?);
            if !self.reader.takes(',')? {
                self.reader.sign(')')?;
                break;
            }
        }
        Ok(types)
    }

    pub(crate) fn integer(&mut self) -> Result<i32, ParseError> {
        match self.reader.next()? {
            (Token::Number(digits), span) => digits
                .parse()
                .map_err(|_| self.error(span, format!("`{digits}` is no integer of 32 bits"))),
            (token, span) => {
                Err(self.error(span, format!("expected an integer, found {}", token.describe())))
            }
        }
    }
}

/// A number as it is printed.
pub(crate) fn number(text: &str, single: bool) -> Option<f64> {
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
    match single {
        true => text.parse::<f32>().ok().filter(|_| digits).map(f64::from),
        false => text.parse().ok().filter(|_| digits),
    }
}

/// The operation whose name differs by a letter or two.
pub(crate) fn nearest(word: &str) -> Option<&'static str> {
    let others = ["tab", "red", "acc", "for", "while", "if", "call", "fwd", "rev", "jac", "hess"];
    nearest_of(word, Op::names().chain(others))
}

/// The name that differs by a letter or two.
pub(crate) fn nearest_of(
    word: &str,
    names: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    let near = names.map(|name| (distance(word, name), name)).min()?;
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
