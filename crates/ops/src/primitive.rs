//! Operations on arrays that bring their own derivative rules.

use crate::Elementary;

/// A function of arrays that is differentiated by its own rules instead of through its operations.
///
/// All methods are generic over the number, so that the rules nest: a rule written with
/// differentiable operations serves derivatives of every order. `value` must be right for every
/// number; on plain `f64` ([`Elementary::as_f64s`]) it may call a library.
pub trait Primitive: Clone + Send + Sync + 'static {
    /// What the forward evaluation keeps for the pullback, such as a factorisation.
    type Saved<T: Elementary>: Send + Sync;

    /// The name, for messages.
    fn name(&self) -> &str;

    /// y = f(x).
    fn value<T: Elementary>(&self, x: &[T], y: &mut [T]);

    /// y = f(x), and what the pullback needs.
    fn value_and_save<T: Elementary>(&self, x: &[T], y: &mut [T]) -> Self::Saved<T>;

    /// ẏ = J(x)·ẋ, given y = f(x).
    fn pushforward<T: Elementary>(&self, x: &[T], y: &[T], dx: &[T], dy: &mut [T]);

    /// x̄ += J(x)ᵀ·ȳ, given y = f(x) and what was saved with it.
    fn pullback<T: Elementary>(
        &self,
        x: &[T],
        y: &[T],
        saved: &Self::Saved<T>,
        cotangent: &[T],
        gradient: &mut [T],
    );

    /// Whether an output may depend on an input.
    fn depends(&self, _output: usize, _input: usize) -> bool {
        true
    }

    /// Whether the function is linear in its input (no second derivatives).
    fn is_linear(&self) -> bool {
        false
    }
}
