//! Where in the text of a program a run is.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::function::{Function, Value};
use crate::machine::watch::At;
use crate::print::{Listing, Path};
use crate::structure::Structure;

/// A run of a body: which, and where in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Within {
    /// The kind of operation: `tab`, `for`, `if`, ….
    pub kind: &'static str,
    /// The line of the operation in the printed program, from 1.
    pub line: usize,
    /// Which of its bodies: 1 for the body of a `while` and for what an `if` does otherwise.
    pub body: usize,
    /// The point of a kernel, or the round of a loop.
    pub indices: Vec<usize>,
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written: Vec<String> = self.indices.iter().map(usize::to_string).collect();
        let at = written.join(", ");
        match (self.kind, self.body) {
            ("while", 0) => write!(f, "the condition of `while` in line {}, round {at}", self.line),
            ("for" | "while", _) => write!(f, "`{}` in line {}, round {at}", self.kind, self.line),
            ("tab" | "red" | "acc", _) => {
                write!(f, "`{}` in line {}, point ({at})", self.kind, self.line)
            }
            ("if", 1) => write!(f, "the `else` of `if` in line {}", self.line),
            (kind, _) => write!(f, "`{kind}` in line {}", self.line),
        }
    }
}

/// The way from the function to where a run is.
pub(super) struct Walk {
    pub(super) listing: Listing,
    /// The functions that are called, by where they stand in memory.
    roots: FxHashMap<usize, usize>,
    /// The function and the bodies where the run is, and where it came from.
    root: usize,
    path: Path,
    before: Vec<(usize, Path)>,
    within: Vec<Within>,
}

impl Walk {
    pub(super) fn new(f: &Function) -> Walk {
        Walk {
            listing: f.listing(),
            roots: FxHashMap::default(),
            root: 0,
            path: Vec::new(),
            before: Vec::new(),
            within: Vec::new(),
        }
    }

    /// The line of an operation that is run now, from 0.
    pub(super) fn line(&self, value: Value) -> usize {
        let key = (self.root, self.path.clone(), value);
        self.listing.places.get(&key).copied().unwrap_or(0)
    }

    pub(super) fn text(&self, line: usize) -> &str {
        self.listing.lines.get(line).map_or("", |text| text.trim())
    }

    pub(super) fn within(&self) -> &[Within] {
        &self.within
    }

    pub(super) fn enter(&mut self, f: &Function, value: Value, body: usize, at: At<'_>) {
        let line = self.line(value) + 1;
        let structure = f.structure(value);
        let kind = structure.map_or("", Structure::name);
        let indices = match at {
            At::Once => Vec::new(),
            At::Round(k) => vec![usize::try_from(k).unwrap_or(0)],
            At::Points(first, sizes) => {
                let mut inner = sizes.iter().product::<usize>().max(1);
                let index = |size: &usize| {
                    inner /= (*size).max(1);
                    (first / inner.max(1)) % (*size).max(1)
                };
                sizes.iter().map(index).collect()
            }
        };
        self.within.push(Within { kind, line, body, indices });
        self.before.push((self.root, self.path.clone()));
        match structure {
            Some(Structure::Call { function }) => {
                let called = &self.listing.called;
                let place = Arc::as_ptr(function) as usize;
                self.root = *self.roots.entry(place).or_insert_with(|| {
                    let same = |other: &Arc<Function>| {
                        Arc::ptr_eq(function, other)
                            || (function.name() == other.name() && **function == **other)
                    };
                    called.iter().position(same).map_or(0, |k| k + 1)
                });
                self.path.clear();
            }
            _ => self.path.push((value, body)),
        }
    }

    pub(super) fn leave(&mut self) {
        if let Some((root, path)) = self.before.pop() {
            (self.root, self.path) = (root, path);
        }
        self.within.pop();
    }
}
