//! Reading.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::{BUFFER, MarketError};
use crate::Pattern;

/// The most entries memory is reserved for on the word of a size line alone.
const RESERVED: u64 = 1 << 20;
/// The longest line. The format allows 1024 bytes; arrays with all values in one line exist.
const LINE: u64 = 1 << 24;
/// The most rows or columns: the pointers to so many columns take 2 GiB.
const SIDE: u64 = 1 << 28;

/// What a Matrix Market file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixMarket {
    /// The entries, those of both triangles if the file holds one only.
    pub pattern: Pattern,
    /// The value of each entry in the pattern's order, repeated entries summed in the file's order;
    /// none if the file holds a pattern.
    pub values: Option<Vec<f64>>,
    /// Whether the header says symmetric. A skew-symmetric matrix is not, though its pattern is.
    pub symmetric: bool,
}

/// Reads a file, plain or gzip as its first bytes say.
///
/// ```
/// use cotangent_sparse::{Pattern, read_matrix_market, write_matrix_market};
///
/// let path = std::env::temp_dir().join(format!("arrow-{}.mtx.gz", std::process::id()));
/// let arrow = Pattern::from_rows(3, 3, |i| if i == 0 { 0..3 } else { 0..1 }).unwrap();
/// write_matrix_market(&path, &arrow, None, true).unwrap();
/// let read = read_matrix_market(&path).unwrap();
/// assert!(read.pattern == arrow && read.values.is_none() && read.symmetric);
/// # std::fs::remove_file(&path).unwrap();
/// ```
///
/// # Errors
/// If the file cannot be read or is not a Matrix Market file that [`parse_matrix_market`] takes.
pub fn read_matrix_market(path: &Path) -> Result<MatrixMarket, MarketError> {
    let failed = |source| MarketError::File { doing: "read", path: path.into(), source };
    let mut file = BufReader::with_capacity(BUFFER, File::open(path).map_err(failed)?);
    let mut first = Vec::new();
    file.by_ref().take(2).read_to_end(&mut first).map_err(failed)?;
    let whole = first.as_slice().chain(file);
    let parsed = if first == [0x1f, 0x8b] {
        parse_matrix_market(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole)))
    } else {
        parse_matrix_market(whole)
    };
    parsed.map_err(|error| MarketError::InFile { path: path.into(), error: Box::new(error) })
}

/// Parses a matrix: coordinate or array, real, integer or pattern, general, symmetric or
/// skew-symmetric.
///
/// All entries of a coordinate file belong to the pattern, also those whose value is zero; zeros of
/// an array do not.
///
/// ```
/// let text = "%%MatrixMarket matrix coordinate real symmetric\n% an arrow\n2 2 2\n1 1 4\n2 1 -1\n";
/// let read = cotangent_sparse::parse_matrix_market(text.as_bytes()).unwrap();
/// assert_eq!(read.pattern.to_string(), "11\n1·\n");
/// assert_eq!(read.values.unwrap(), [4.0, -1.0, -1.0]);
///
/// let wrong = cotangent_sparse::parse_matrix_market(text.replace("2 1", "3 1").as_bytes());
/// assert!(wrong.unwrap_err().to_string().starts_with("line 5: the row index is \"3\""));
/// ```
///
/// # Errors
/// If the text is malformed, or complex or hermitian.
pub fn parse_matrix_market(reader: impl BufRead) -> Result<MatrixMarket, MarketError> {
    let mut lines = Lines { reader, buffer: Vec::new(), number: 0 };
    let header = Header::read(&mut lines)?;
    let size = Size::read(&mut lines, &header)?;
    let (pattern, values) = if header.array {
        let (pattern, values) = compress(&size, array(&mut lines, &header, &size)?)?;
        (pattern, Some(values))
    } else if header.field == Field::Pattern {
        let (pattern, _) = compress(&size, coordinates::<()>(&mut lines, &header, &size)?)?;
        (pattern, None)
    } else {
        let (pattern, values) = compress(&size, coordinates::<f64>(&mut lines, &header, &size)?)?;
        (pattern, Some(values))
    };
    Ok(MatrixMarket { pattern, values, symmetric: header.symmetry == Symmetry::Symmetric })
}

/// The lines of a file, one at a time in a buffer that is used again.
struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The number of the line in the buffer, from 1.
    number: usize,
}

impl<R: BufRead> Lines<R> {
    /// Reads a line; false at the end of the file, where the number stays that of the last line.
    fn advance(&mut self) -> Result<bool, MarketError> {
        self.buffer.clear();
        let line = self.number + 1;
        let read = self.reader.by_ref().take(LINE).read_until(b'\n', &mut self.buffer);
        let length = read.map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => MarketError::Truncated { line },
            _ => MarketError::Read { line, source },
        })?;
        if length as u64 == LINE && self.buffer.last() != Some(&b'\n') {
            let expected = format!("at most {LINE} bytes (the format allows 1024)");
            return Err(malformed(line, "line", &self.buffer, expected));
        }
        self.number += usize::from(length > 0);
        Ok(length > 0)
    }

    /// Reads up to the next line that is neither blank nor a comment.
    fn advance_to_data(&mut self) -> Result<bool, MarketError> {
        while self.advance()? {
            if !matches!(self.words().peek(), None | Some(b'%')) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn words(&self) -> Words<'_> {
        Words(&self.buffer)
    }
}

/// The words of a line.
#[derive(Clone)]
struct Words<'a>(&'a [u8]);

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

impl Words<'_> {
    /// The first byte of the next word.
    fn peek(&mut self) -> Option<u8> {
        while let [space, rest @ ..] = self.0
            && is_space(*space)
        {
            self.0 = rest;
        }
        self.0.first().copied()
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let length = self.0.iter().position(|byte| is_space(*byte)).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(word)
    }
}

/// The error of a part, which shows the beginning of what was found.
#[cold]
fn malformed(
    line: usize,
    part: &'static str,
    found: &[u8],
    expected: impl Into<String>,
) -> MarketError {
    let text = found.trim_ascii();
    let mut found = String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned();
    if text.len() > 60 {
        found.push('…');
    }
    MarketError::Malformed { line, part, found, expected: expected.into() }
}

/// A whole number without sign that fits into 64 bits.
fn whole(word: &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for byte in word {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (!word.is_empty()).then_some(number)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Real,
    Integer,
    Pattern,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Symmetry {
    General,
    Symmetric,
    Skew,
}

impl Symmetry {
    pub(super) fn name(self) -> &'static str {
        match self {
            Symmetry::General => "general",
            Symmetry::Symmetric => "symmetric",
            Symmetry::Skew => "skew-symmetric",
        }
    }

    /// The first row of a column that is in the file.
    pub(super) fn first(self, column: usize) -> usize {
        match self {
            Symmetry::General => 0,
            Symmetry::Symmetric => column,
            Symmetry::Skew => column + 1,
        }
    }
}

struct Header {
    array: bool,
    field: Field,
    symmetry: Symmetry,
}

impl Header {
    fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Header, MarketError> {
        lines.advance()?;
        let mut words = lines.words();
        if !words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"%%MatrixMarket")) {
            let expected = "a header such as \"%%MatrixMarket matrix coordinate real general\"";
            return Err(malformed(1, "first line", &lines.buffer, expected));
        }
        let wrong = |part, word: &[u8], expected: &str| Err(malformed(1, part, word, expected));
        let mut next = || words.next().unwrap_or_default().to_ascii_lowercase();
        let (object, format, field, symmetry, rest) = (next(), next(), next(), next(), next());
        if object != b"matrix" {
            return wrong("header's object", &object, "matrix");
        }
        let array = match &*format {
            b"coordinate" => false,
            b"array" => true,
            _ => return wrong("header's format", &format, "coordinate or array"),
        };
        let field = match &*field {
            b"real" => Field::Real,
            b"integer" => Field::Integer,
            b"pattern" if !array => Field::Pattern,
            b"pattern" => return wrong("header's field", &field, "real or integer for an array"),
            _ => {
                let expected = "real, integer or pattern (complex is not supported)";
                return wrong("header's field", &field, expected);
            }
        };
        let symmetry = match &*symmetry {
            b"general" => Symmetry::General,
            b"symmetric" => Symmetry::Symmetric,
            b"skew-symmetric" => Symmetry::Skew,
            _ => {
                let expected = "general, symmetric or skew-symmetric (hermitian is not supported)";
                return wrong("header's symmetry", &symmetry, expected);
            }
        };
        if !rest.is_empty() {
            return wrong("header's sixth word", &rest, "none");
        }
        Ok(Header { array, field, symmetry })
    }
}

/// The size line.
struct Size {
    line: usize,
    nrows: usize,
    ncols: usize,
    /// The number of entries in the file, or of values of an array.
    entries: u64,
}

impl Size {
    fn read<R: BufRead>(lines: &mut Lines<R>, header: &Header) -> Result<Size, MarketError> {
        lines.advance_to_data()?;
        let line = lines.number;
        let mut words = lines.words();
        let mut next = || words.next().and_then(whole);
        let numbers = [next(), next(), if header.array { Some(0) } else { next() }];
        let wrong = |expected: String| Err(malformed(line, "size line", &lines.buffer, expected));
        let ([Some(nrows), Some(ncols), Some(entries)], None) = (numbers, words.next()) else {
            let entries = if header.array { " and columns" } else { ", columns and entries" };
            return wrong(format!("the numbers of rows{entries}"));
        };
        if nrows > SIDE || ncols > SIDE {
            return wrong(format!("at most {SIDE} rows and columns"));
        }
        let symmetry = header.symmetry;
        if symmetry != Symmetry::General && nrows != ncols {
            return wrong(format!("a square matrix, as the header says {}", symmetry.name()));
        }
        // Sides of 32 bits make products that fit into 64.
        let entries = match symmetry {
            _ if !header.array => entries,
            Symmetry::General => nrows * ncols,
            Symmetry::Symmetric => nrows * (nrows + 1) / 2,
            Symmetry::Skew => nrows * nrows.saturating_sub(1) / 2,
        };
        let (nrows, ncols) = (nrows as usize, ncols as usize);
        Ok(Size { line, nrows, ncols, entries })
    }

    /// Room for entries, of which a false size line gets little.
    fn room<V>(&self) -> Vec<Entry<V>> {
        Vec::with_capacity(self.entries.min(RESERVED) as usize)
    }

    /// The error of too few or too many entries.
    fn miscounted(&self, line: usize, found: &str) -> MarketError {
        let expected = format!("{} as line {} announces", self.entries, self.line);
        malformed(line, "number of entries", found.as_bytes(), expected)
    }
}

/// An entry as read: row, column and value.
type Entry<V> = (u32, u32, V);

/// What an entry holds: a number, or nothing in a pattern.
trait Value: Copy + Default {
    /// The words of an entry.
    const ENTRY: &'static str;
    fn read(words: &mut Words<'_>, field: Field, line: usize) -> Result<Option<Self>, MarketError>;
    fn plus(self, other: Self) -> Self;
    fn negated(self) -> Self;
}

impl Value for () {
    const ENTRY: &'static str = "a row and a column";

    fn read(_: &mut Words<'_>, _: Field, _: usize) -> Result<Option<()>, MarketError> {
        Ok(Some(()))
    }

    fn plus(self, (): ()) {}

    fn negated(self) {}
}

impl Value for f64 {
    const ENTRY: &'static str = "a row, a column and a value";

    /// None at the end of the line.
    fn read(words: &mut Words<'_>, field: Field, line: usize) -> Result<Option<f64>, MarketError> {
        let Some(word) = words.next() else { return Ok(None) };
        let is_integer = || word.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-'));
        let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        match number.filter(|number: &f64| number.is_finite()) {
            Some(number) if field == Field::Real || is_integer() => Ok(Some(number)),
            _ if field == Field::Real => Err(malformed(line, "value", word, "a finite number")),
            _ => Err(malformed(line, "value", word, "a finite whole number")),
        }
    }

    fn plus(self, other: f64) -> f64 {
        self + other
    }

    fn negated(self) -> f64 {
        -self
    }
}

/// Adds an entry, and the one across the diagonal if the file leaves it out.
fn push<V: Value>(entries: &mut Vec<Entry<V>>, symmetry: Symmetry, (row, column, value): Entry<V>) {
    entries.push((row, column, value));
    match symmetry {
        Symmetry::Symmetric if row != column => entries.push((column, row, value)),
        Symmetry::Skew => entries.push((column, row, value.negated())),
        Symmetry::General | Symmetry::Symmetric => {}
    }
}

fn coordinates<V: Value>(
    lines: &mut Lines<impl BufRead>,
    header: &Header,
    size: &Size,
) -> Result<Vec<Entry<V>>, MarketError> {
    let (mut entries, mut found, symmetry) = (size.room(), 0, header.symmetry);
    while lines.advance_to_data()? {
        let line = lines.number;
        if found == size.entries {
            return Err(size.miscounted(line, &format!("{} or more", found + 1)));
        }
        let wrong = |expected: &str| malformed(line, "entry", &lines.buffer, expected);
        let mut words = lines.words();
        let mut index = |part, limit: usize| {
            let word = words.next().ok_or_else(|| wrong(V::ENTRY))?;
            match whole(word) {
                Some(index) if index >= 1 && index <= limit as u64 => Ok(index as u32 - 1),
                _ => Err(malformed(line, part, word, format!("a whole number from 1 to {limit}"))),
            }
        };
        let (row, column) = (index("row index", size.nrows)?, index("column index", size.ncols)?);
        let value = V::read(&mut words, header.field, line)?.ok_or_else(|| wrong(V::ENTRY))?;
        if words.peek().is_some() {
            return Err(wrong(V::ENTRY));
        }
        if (row as usize) < symmetry.first(column as usize) {
            return Err(wrong(match symmetry {
                Symmetry::Skew => "a row below the diagonal, as the header says skew-symmetric",
                _ => "a row on or below the diagonal, as the header says symmetric",
            }));
        }
        push(&mut entries, symmetry, (row, column, value));
        found += 1;
    }
    if found < size.entries {
        return Err(size.miscounted(lines.number, &found.to_string()));
    }
    Ok(entries)
}

/// Column by column, as many values in a line as there are.
fn array(
    lines: &mut Lines<impl BufRead>,
    header: &Header,
    size: &Size,
) -> Result<Vec<Entry<f64>>, MarketError> {
    let (mut entries, mut found, symmetry) = (size.room(), 0, header.symmetry);
    let (mut row, mut column) = (symmetry.first(0), 0);
    while lines.advance_to_data()? {
        let (mut words, line) = (lines.words(), lines.number);
        while let Some(value) = f64::read(&mut words, header.field, line)? {
            if found == size.entries {
                return Err(size.miscounted(line, &format!("{} or more", found + 1)));
            }
            if value != 0.0 {
                push(&mut entries, symmetry, (row as u32, column as u32, value));
            }
            found += 1;
            row += 1;
            if row == size.nrows {
                column += 1;
                row = symmetry.first(column);
            }
        }
    }
    if found < size.entries {
        return Err(size.miscounted(lines.number, &found.to_string()));
    }
    Ok(entries)
}

/// Sorts entries by column and row and adds up repeated ones, in the order they were read in.
fn compress<V: Value>(
    size: &Size,
    entries: Vec<Entry<V>>,
) -> Result<(Pattern, Vec<V>), MarketError> {
    let (nrows, ncols) = (size.nrows, size.ncols);
    let mut col_ptr = Vec::new();
    // A short file may announce columns without end: that must not abort the process.
    let (found, expected) = (ncols.to_string(), "as many as there is memory for");
    col_ptr
        .try_reserve_exact(ncols + 1)
        .map_err(|_| malformed(size.line, "number of columns", found.as_bytes(), expected))?;
    col_ptr.resize(ncols + 1, 0);
    for entry in &entries {
        col_ptr[entry.1 as usize] += 1;
    }
    let mut end = 0;
    for pointer in &mut col_ptr {
        end += *pointer;
        *pointer = end;
    }
    // Backwards, so that the ends of columns become their starts and repetitions keep their order.
    let mut by_column = vec![(0, V::default()); entries.len()];
    for &(row, column, value) in entries.iter().rev() {
        let place = &mut col_ptr[column as usize];
        *place -= 1;
        by_column[*place] = (row, value);
    }
    drop(entries);
    let mut row_idx: Vec<usize> = Vec::with_capacity(by_column.len());
    let mut values: Vec<V> = Vec::with_capacity(by_column.len());
    let mut start = 0;
    for column in 0..ncols {
        let end = col_ptr[column + 1];
        let (entries, first) = (&mut by_column[start..end], row_idx.len());
        if !entries.is_sorted_by_key(|entry| entry.0) {
            entries.sort_by_key(|entry| entry.0);
        }
        for &(row, value) in &*entries {
            let row = row as usize;
            match values.last_mut() {
                Some(last) if row_idx.len() > first && row_idx.last() == Some(&row) => {
                    *last = last.plus(value);
                }
                _ => {
                    row_idx.push(row);
                    values.push(value);
                }
            }
        }
        (col_ptr[column], start) = (first, end);
    }
    col_ptr[ncols] = row_idx.len();
    Ok((Pattern::new(nrows, ncols, col_ptr, row_idx)?, values))
}
