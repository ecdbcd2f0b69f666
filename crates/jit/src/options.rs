//! How a program is compiled.

/// How a program is compiled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether a product and a sum may become one operation with one rounding.
    pub contract: bool,
    /// Whether there are no vectors: one point after the other.
    pub scalar: bool,
    /// Threads share the work of tables and sums that take at least so many operations; with `None` there is one thread. The
    /// digits do not depend on how many threads there are: `rayon` decides that.
    pub parallel: Option<usize>,
}

/// Below this a thread has hardly begun when all is done: about 50 µs.
const PARALLEL: usize = 1 << 20;

impl Default for Options {
    fn default() -> Self {
        Options { contract: true, scalar: false, parallel: Some(PARALLEL) }
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
