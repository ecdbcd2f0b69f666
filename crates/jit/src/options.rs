//! How a program is compiled.

/// How a program is compiled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether a product and a sum may become one operation with one rounding; signs and factors of two to eight may then stand elsewhere
    /// in products and sums, too (the sign of a zero is not kept), and sums at each point of vectors are added up in two parts.
    pub contract: bool,
    /// Whether there are no vectors: one point after the other.
    pub scalar: bool,
    /// Threads share the work of programs that take at least so many operations, in tables and sums of a sixteenth of that or more;
    /// with `None` there is one thread. The digits do not depend on how many threads there are: `rayon` decides that.
    pub parallel: Option<usize>,
    /// Whether products, factorisations and solves of matrices that are large enough are left to the kernels of `faer`: their
    /// order of sums is their own. Without them everything is loops in machine code, which needs nobody to call.
    pub kernels: bool,
}

/// Below this a thread has hardly begun when all is done: about 50 µs.
const PARALLEL: usize = 1 << 20;

/// The part of a program's least work that a table or a sum must take to be shared. Threads that have just shared one wait for the next
/// for a while, and then begin within a microsecond: 2¹⁶ operations are three to thirty.
const SHARE: f64 = 1.0 / 16.0;

impl Default for Options {
    fn default() -> Self {
        Options { contract: true, scalar: false, parallel: Some(PARALLEL), kernels: true }
    }
}

impl Options {
    /// Every operation rounds as the interpreter does, so there are no kernels. Sums over many points still go several points
    /// at a time.
    #[must_use]
    pub fn exact(mut self) -> Options {
        (self.contract, self.kernels) = (false, false);
        self
    }

    /// How much work a table or a sum must be for threads to share it, if they share any.
    pub(crate) fn least_shared(&self) -> Option<f64> {
        self.parallel.map(|least| least as f64 * SHARE)
    }
}
