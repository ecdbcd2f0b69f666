//! Types: what a value is made of, and its dimensions.

use std::fmt;
use std::sync::{OnceLock, RwLock};

use rustc_hash::FxHashMap;

/// What a value is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Element {
    /// Doubles.
    F64,
    /// Singles.
    F32,
    /// Truth values.
    Bool,
    /// Integers of 64 bits.
    I64,
    /// Integers of 32 bits.
    I32,
}

impl Element {
    const ALL: [Element; 5] =
        [Element::F64, Element::F32, Element::Bool, Element::I64, Element::I32];

    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Element::F64 => "f64",
            Element::F32 => "f32",
            Element::Bool => "bool",
            Element::I64 => "i64",
            Element::I32 => "i32",
        }
    }

    /// The element with this name.
    pub fn by_name(name: &str) -> Option<Element> {
        Element::ALL.into_iter().find(|e| e.name() == name)
    }

    /// Whether it has derivatives.
    pub fn is_float(self) -> bool {
        matches!(self, Element::F64 | Element::F32)
    }

    /// Whether it counts.
    pub fn is_integer(self) -> bool {
        matches!(self, Element::I64 | Element::I32)
    }

    /// How many bytes one takes.
    pub fn bytes(self) -> usize {
        match self {
            Element::F64 | Element::I64 => 8,
            Element::F32 | Element::I32 => 4,
            Element::Bool => 1,
        }
    }
}

/// A dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// So many.
    Size(usize),
    /// As many as a name stands for: the same in all types of a function.
    Symbol(&'static str),
    /// As many as a loop has gone round: known when the function runs. Only as the first dimension.
    Any,
}

impl Dim {
    /// The dimension that a name stands for.
    pub fn symbol(name: &str) -> Dim {
        Dim::Symbol(kept(name))
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Size(n) => write!(f, "{n}"),
            Dim::Symbol(name) => f.write_str(name),
            Dim::Any => f.write_str("?"),
        }
    }
}

/// What a value is: a number, an integer, a truth value, or a dense array of them.
///
/// It is a small number: types are kept once for the whole process, so that an operation needs 24 bits for
/// its type and comparing types is comparing numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type(u32);

/// The most types there can be.
const MOST: usize = 1 << 24;

/// Types that are no scalars, from number 6 on.
#[derive(Default)]
struct Known {
    arrays: Vec<(Element, &'static [Dim])>,
    numbers: FxHashMap<(Element, &'static [Dim]), u32>,
    names: FxHashMap<&'static str, ()>,
}

fn known() -> &'static RwLock<Known> {
    static KNOWN: OnceLock<RwLock<Known>> = OnceLock::new();
    KNOWN.get_or_init(RwLock::default)
}

fn kept(name: &str) -> &'static str {
    let read = known().read().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((name, ())) = read.names.get_key_value(name) {
        return name;
    }
    drop(read);
    let mut write = known().write().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((name, ())) = write.names.get_key_value(name) {
        return name;
    }
    let name: &'static str = Box::leak(name.into());
    write.names.insert(name, ());
    name
}

const SCALARS: u32 = 6;

impl Type {
    /// A double.
    pub const F64: Type = Type(Element::F64 as u32);
    /// A single.
    pub const F32: Type = Type(Element::F32 as u32);
    /// A truth value.
    pub const BOOL: Type = Type(Element::Bool as u32);
    /// An integer of 64 bits.
    pub const I64: Type = Type(Element::I64 as u32);
    /// An integer of 32 bits.
    pub const I32: Type = Type(Element::I32 as u32);
    /// What has no value of its own but parts.
    pub const PARTS: Type = Type(5);

    /// One of an element.
    pub fn scalar(element: Element) -> Type {
        Type(element as u32)
    }

    /// An array; without dimensions, a scalar.
    ///
    /// # Panics
    /// If more than 16 million different types have been made.
    pub fn array(element: Element, dims: &[Dim]) -> Type {
        if dims.is_empty() {
            return Type::scalar(element);
        }
        let read = known().read().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(number) = read.numbers.get(&(element, dims)) {
            return Type(*number);
        }
        drop(read);
        let mut write = known().write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(number) = write.numbers.get(&(element, dims)) {
            return Type(*number);
        }
        let number = SCALARS + write.arrays.len() as u32;
        assert!((number as usize) < MOST, "too many different types");
        let dims: &'static [Dim] = Box::leak(dims.into());
        write.arrays.push((element, dims));
        write.numbers.insert((element, dims), number);
        Type(number)
    }

    /// Whether many more types can be made.
    pub(crate) fn is_room() -> bool {
        let read = known().read().unwrap_or_else(std::sync::PoisonError::into_inner);
        read.arrays.len() < MOST / 2
    }

    /// An array of doubles of given sizes.
    pub fn f64s(sizes: &[usize]) -> Type {
        let dims: Vec<Dim> = sizes.iter().map(|n| Dim::Size(*n)).collect();
        Type::array(Element::F64, &dims)
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }

    pub(crate) fn from_number(number: u32) -> Type {
        Type(number)
    }

    fn parts(self) -> (Element, &'static [Dim]) {
        match self.0 {
            n if n < 5 => (Element::ALL[n as usize], &[]),
            5 => (Element::Bool, &[]),
            n => {
                let read = known().read().unwrap_or_else(std::sync::PoisonError::into_inner);
                read.arrays[(n - SCALARS) as usize]
            }
        }
    }

    /// What it is made of.
    pub fn element(self) -> Element {
        self.parts().0
    }

    /// The dimensions; none of a scalar.
    pub fn dims(self) -> &'static [Dim] {
        self.parts().1
    }

    /// Whether it is one number, integer or truth value.
    pub fn is_scalar(self) -> bool {
        self.0 < 5
    }

    /// Whether it has derivatives.
    pub fn is_float(self) -> bool {
        self != Type::PARTS && self.element().is_float()
    }

    /// The type of the same dimensions made of something else.
    #[must_use]
    pub fn of(self, element: Element) -> Type {
        if self.is_scalar() { Type::scalar(element) } else { Type::array(element, self.dims()) }
    }

    /// An array of these.
    #[must_use]
    pub fn within(self, outer: &[Dim]) -> Type {
        if outer.is_empty() {
            return self;
        }
        let (element, own) = self.parts();
        Type::array(element, &[outer, own].concat())
    }

    /// What is left when the first dimensions are chosen from.
    #[must_use]
    pub fn after(self, indices: usize) -> Type {
        let (element, dims) = self.parts();
        Type::array(element, dims.get(indices..).unwrap_or(&[]))
    }

    /// How many elements it has, if that is known and can be counted.
    pub fn len(self) -> Option<usize> {
        self.dims().iter().try_fold(1usize, |len, dim| match dim {
            Dim::Size(n) => len.checked_mul(*n),
            Dim::Symbol(_) | Dim::Any => None,
        })
    }

    /// Whether a loop says how many elements it has.
    pub fn is_unknown(self) -> bool {
        self.dims().first() == Some(&Dim::Any)
    }

    /// Whether it is known to have no elements.
    pub fn is_empty(self) -> bool {
        self.len() == Some(0)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Type::PARTS {
            return f.write_str("parts");
        }
        let (element, dims) = self.parts();
        if !dims.is_empty() {
            f.write_str("[")?;
            for (k, dim) in dims.iter().enumerate() {
                write!(f, "{}{dim}", if k > 0 { ", " } else { "" })?;
            }
            f.write_str("]")?;
        }
        f.write_str(element.name())
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_types_are_one() {
        let a = Type::array(Element::F64, &[Dim::Size(3), Dim::symbol("n")]);
        let b = Type::array(Element::F64, &[Dim::Size(3), Dim::symbol("n")]);
        assert_eq!(a, b);
        assert_eq!(a.to_string(), "[3, n]f64");
        assert_eq!(a.after(1).to_string(), "[n]f64");
        assert_eq!(a.after(2), Type::F64);
        assert_eq!(Type::F32.within(a.dims()).element(), Element::F32);
        assert_eq!(
            (a.len(), Type::f64s(&[2, 5]).len(), Type::I64.len()),
            (None, Some(10), Some(1))
        );
        assert_ne!(a, a.of(Element::I64));
    }
}
