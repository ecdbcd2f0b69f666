//! How a program is compiled.

/// How a program is compiled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether a product and a sum may become one operation with one rounding.
    pub contract: bool,
    /// Whether there are no vectors: one point after the other.
    pub scalar: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { contract: true, scalar: false }
    }
}

impl Options {
    /// Every operation rounds as the interpreter does. Sums over many points still go several points at a time.
    #[must_use]
    pub fn exact(mut self) -> Options {
        self.contract = false;
        self
    }
}
