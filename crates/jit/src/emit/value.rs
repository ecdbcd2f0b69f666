//! Values in the text: what is known of them, and where arrays stand.

use cotangent_ir::{Element, Type};

/// A value, as text can use it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Val {
    /// The same in all lanes: a scalar.
    One(String),
    /// An integer that goes up by a step from lane to lane: that of the first lane, and the step.
    Affine(String, i64),
    /// Of its own in each lane: a vector.
    Many(String),
    /// An array.
    Array(Array),
    /// A target of an accumulation: nothing is done with it but adding.
    Target(Target),
    /// A value of an earlier part of a long program: where it is kept in the arena, and what it was.
    Kept(usize, Box<Val>),
}

/// Where an accumulation adds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Target {
    /// To an array that all lanes share.
    Shared(Array),
    /// To an array of which each lane has a copy of its own, summed at the end.
    Own(Array),
    /// To a number: a place on the stack with a vector (or a scalar, if there are no lanes).
    Number(String, Element),
}

/// What a pointer comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Base {
    /// A place in the arena, in bytes.
    Arena(usize),
    /// A place in the memory of a task, in bytes.
    Private(usize),
    /// An argument of the function: its number, and bytes from where that begins.
    Arg(usize, usize),
    /// A constant.
    Global(String),
    /// A pointer that has been computed, or a place on the stack.
    Pointer(String),
}

/// An array in memory, row by row. If it varies, each element is a vector: one for each lane.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub(super) base: Base,
    pub(super) ty: Type,
    pub(super) len: usize,
    pub(super) varies: bool,
    /// The block of memory it stands in, if that is counted.
    pub(super) block: Option<usize>,
    /// How many rows it has, where a loop has decided that; `len` means nothing then.
    pub(super) rows: Option<String>,
    /// Whether whole vectors may be read from where it begins to behind its end, and written, if it is in the arena or on the stack: it is
    /// no row of another one.
    pub(super) roomy: bool,
    /// Whether what is written to it is looked at: a NaN stops the run at the end of the function.
    pub(super) watched: bool,
}

impl Array {
    pub(super) fn new(base: Base, ty: Type, len: usize) -> Array {
        Array {
            base,
            ty,
            len,
            varies: false,
            block: None,
            rows: None,
            roomy: false,
            watched: false,
        }
    }

    pub(super) fn element(&self) -> Element {
        self.ty.element()
    }
}

impl Val {
    /// A known integer.
    pub(super) fn int(c: i64) -> Val {
        Val::One(c.to_string())
    }

    /// The integer that it is known to be.
    pub(super) fn known(&self) -> Option<i64> {
        match self {
            Val::One(text) => text.parse().ok(),
            _ => None,
        }
    }
}

/// A type in LLVM's text: a scalar, or a vector.
pub(crate) fn llvm_type(element: Element, width: usize) -> String {
    let one = scalar_type(element);
    if width == 1 { one.to_string() } else { format!("<{width} x {one}>") }
}

pub(super) fn scalar_type(element: Element) -> &'static str {
    match element {
        Element::F64 => "double",
        Element::F32 => "float",
        Element::Bool => "i1",
        Element::I64 => "i64",
        Element::I32 => "i32",
    }
}

/// The type in memory: truth values are bytes.
pub(super) fn stored_type(element: Element, width: usize) -> String {
    let one = if element == Element::Bool { "i8" } else { scalar_type(element) };
    if width == 1 { one.to_string() } else { format!("<{width} x {one}>") }
}

/// How intrinsics call a type: `v8f64`.
pub(super) fn suffix(element: Element, width: usize) -> String {
    let one = match element {
        Element::F64 => "f64",
        Element::F32 => "f32",
        Element::Bool => "i8",
        Element::I64 => "i64",
        Element::I32 => "i32",
    };
    if width == 1 { one.to_string() } else { format!("v{width}{one}") }
}

/// A number in LLVM's text. Singles are written as the double of the same value.
pub(super) fn number(x: f64, element: Element) -> String {
    let x = if element == Element::F32 { f64::from(x as f32) } else { x };
    format!("0x{:016X}", x.to_bits())
}

/// A constant in all lanes.
pub(super) fn splat(c: &str, ty: &str, width: usize) -> String {
    if width == 1 {
        return c.to_string();
    }
    let all: Vec<String> = (0..width).map(|_| format!("{ty} {c}")).collect();
    format!("<{}>", all.join(", "))
}

/// Whether text is a constant, not the name of a value.
pub(super) fn is_constant(text: &str) -> bool {
    !text.starts_with('%') && !text.starts_with('@')
}
