//! What a part looks like, places and constants aside.

use cotangent_ir::{Builder, Function, Op, Type, Value};

use super::chains::Term;
use super::roots::{Owner, Plan};

/// Where a value of the flat function is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Nowhere,
    /// A value of the new function.
    Scalar(Value),
    /// An element of one of the arrays.
    Element {
        array: u32,
        at: u32,
    },
}

/// What a part reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    Constant(Op),
    Element { array: u32, at: u32 },
    Scalar(Value),
}

/// A shape as a list of words: each operation with its operands, then the terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Word {
    Op(Op, Type),
    /// A term, whose operand comes next; whether it is taken away.
    Term(bool),
    /// The result of an operation of the part.
    Local(u32),
    /// A number.
    Constant(Type),
    /// An element of an array.
    Element(u32),
    /// A value that stands alone.
    Scalar(Type),
}

/// A part: its shape, and what it reads in the order of the words that do.
pub(super) struct Part {
    pub words: Vec<Word>,
    pub leaves: Vec<Leaf>,
}

/// Reads parts off a function.
pub(super) struct Reader<'f> {
    f: &'f Function,
    plan: &'f Plan,
    /// The number of a value within the part of an owner.
    numbers: Vec<(Owner, u32)>,
}

impl<'f> Reader<'f> {
    pub(super) fn new(f: &'f Function, plan: &'f Plan) -> Reader<'f> {
        Reader { f, plan, numbers: vec![(Owner::MAX, 0); f.len()] }
    }

    /// The part of an owner: what is computed for it, given where the other values are.
    /// None if one of them is not there yet.
    pub(super) fn part(&mut self, owner: Owner, terms: &[Term], places: &[Place]) -> Option<Part> {
        let mut part = Part { words: Vec::new(), leaves: Vec::new() };
        let mut count = 0;
        for term in terms {
            self.walk(owner, term.value, places, &mut count, &mut part)?;
            part.words.push(Word::Term(term.negative));
            self.operand(owner, term.value, places, &mut part)?;
        }
        Some(part)
    }

    /// The operations of a part, operands first; without recursion, as chains may be long.
    fn walk(
        &mut self,
        owner: Owner,
        top: Value,
        places: &[Place],
        count: &mut u32,
        part: &mut Part,
    ) -> Option<()> {
        let mut open = vec![(top, 0)];
        while let Some((value, next)) = open.last_mut() {
            let value = *value;
            if !self.plan.is_within(value, owner) || self.numbers[value.index()].0 == owner {
                open.pop();
            } else if *next < self.f.operands(value).len() {
                let operand = self.f.operand(value, *next);
                *next += 1;
                open.push((operand, 0));
            } else {
                part.words.push(Word::Op(self.f.op(value), self.f.ty(value)));
                for operand in self.f.operands(value) {
                    self.operand(owner, operand, places, part)?;
                }
                self.numbers[value.index()] = (owner, *count);
                *count += 1;
                open.pop();
            }
        }
        Some(())
    }

    fn operand(&self, owner: Owner, value: Value, places: &[Place], part: &mut Part) -> Option<()> {
        let (op, ty) = (self.f.op(value), self.f.ty(value));
        let (word, leaf) = match (self.numbers[value.index()], places[value.index()]) {
            ((of, number), _) if of == owner => {
                part.words.push(Word::Local(number));
                return Some(());
            }
            _ if op.is_number() => (Word::Constant(ty), Leaf::Constant(op)),
            // Truths are not laid out in tables: they belong to the shape.
            _ if op.is_constant() => {
                part.words.push(Word::Op(op, ty));
                return Some(());
            }
            (_, Place::Element { array, at }) => {
                (Word::Element(array), Leaf::Element { array, at })
            }
            (_, Place::Scalar(new)) => (Word::Scalar(ty), Leaf::Scalar(new)),
            (_, Place::Nowhere) => return None,
        };
        part.words.push(word);
        part.leaves.push(leaf);
        Some(())
    }
}

/// Writes a part, given what it reads; its terms.
pub(super) fn write(b: &mut Builder, words: &[Word], leaves: &[Value]) -> Vec<(bool, Value)> {
    let mut leaves = leaves.iter().copied();
    let (mut locals, mut terms) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < words.len() {
        let head = words[at];
        at += 1;
        let arity = match head {
            Word::Op(op, _) => op.arity().unwrap_or(0),
            _ => 1,
        };
        let mut operands = Vec::with_capacity(arity);
        for word in &words[at..at + arity] {
            operands.extend(match word {
                Word::Local(k) => Some(locals[*k as usize]),
                Word::Op(op, ty) => Some(b.copy(*op, *ty, &[])),
                _ => leaves.next(),
            });
        }
        at += arity;
        match head {
            Word::Op(op, ty) => locals.push(b.copy(op, ty, &operands)),
            Word::Term(negative) => terms.push((negative, operands[0])),
            _ => {}
        }
    }
    terms
}
