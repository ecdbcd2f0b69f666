//! The numbers that lists of arguments are made of.

use cotangent_ir::{Element, Type};

/// A double or a single.
pub trait Number: Copy + Into<f64> + sealed::Sealed {
    /// Its kind.
    const ELEMENT: Element;

    /// The nearest to a double.
    fn nearest(x: f64) -> Self;
}

impl Number for f64 {
    const ELEMENT: Element = Element::F64;

    fn nearest(x: f64) -> f64 {
        x
    }
}

impl Number for f32 {
    const ELEMENT: Element = Element::F32;

    fn nearest(x: f64) -> f32 {
        x as f32
    }
}

mod sealed {
    /// Machine code is handed pointers to these: nobody else may say what is there.
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
}

/// The element that all types have, if there is one.
pub(crate) fn common(mut types: impl Iterator<Item = Type>) -> Option<Element> {
    let first = types.next()?.element();
    types.all(|ty| ty.element() == first).then_some(first)
}
