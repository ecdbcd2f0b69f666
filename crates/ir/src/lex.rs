//! The words of a text.

use std::ops::Range;

use crate::parse::ParseError;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'t> {
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
    pub(crate) fn describe(self) -> String {
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

/// Reads words one after the other, one ahead.
pub(crate) struct Reader<'t> {
    pub(crate) text: &'t str,
    at: usize,
    ahead: Option<(Token<'t>, Range<usize>)>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str) -> Result<Self, ParseError> {
        let reader = Reader { text, at: 0, ahead: None };
        // Values are numbered with 32 bits, and every value takes a character at least.
        if text.len() >= u32::MAX as usize {
            return Err(reader.error(0..0, "the text is longer than 4 GB".to_string()));
        }
        Ok(reader)
    }

    pub(crate) fn error(&self, span: Range<usize>, message: String) -> ParseError {
        let before = &self.text[..span.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ParseError {
            message,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span,
        }
    }

    pub(crate) fn next(&mut self) -> Result<(Token<'t>, Range<usize>), ParseError> {
        match self.ahead.take() {
            Some(token) => Ok(token),
            None => self.scan(),
        }
    }

    pub(crate) fn peek(&mut self) -> Result<Token<'t>, ParseError> {
        Ok(self.next_kept()?.0)
    }

    /// The next token and its place; it is not taken.
    pub(crate) fn next_kept(&mut self) -> Result<(Token<'t>, Range<usize>), ParseError> {
        let token = self.next()?;
        self.ahead = Some(token.clone());
        Ok(token)
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
            '(' | ')' | '{' | '}' | '[' | ']' | ',' | ':' | '=' | '<' | '>' | '?' => {
                (Token::Sign(first), 1)
            }
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
        // Brackets belong to a number only where they hold the bits of a NaN.
        let nan = self.text[start..].trim_start_matches(['~', '-']).starts_with("nan[");
        while let Some(&b) = bytes.get(end) {
            let sign = (b == b'-' || b == b'+')
                && (end == start || matches!(bytes[end - 1], b'e' | b'E' | b'~'));
            let mark = b == b'~' && end == start;
            if !(b.is_ascii_alphanumeric()
                || matches!(b, b'.' | b'_')
                || (nan && matches!(b, b'[' | b']'))
                || sign
                || mark)
            {
                break;
            }
            end += 1;
        }
        end - start
    }

    pub(crate) fn sign(&mut self, expected: char) -> Result<(), ParseError> {
        match self.next()? {
            (Token::Sign(sign), _) if sign == expected => Ok(()),
            (token, span) => {
                Err(self.error(span, format!("expected `{expected}`, found {}", token.describe())))
            }
        }
    }

    /// Whether the next token is this sign, which is then taken.
    pub(crate) fn takes(&mut self, sign: char) -> Result<bool, ParseError> {
        let found = self.peek()? == Token::Sign(sign);
        if found {
            self.next()?;
        }
        Ok(found)
    }
}
