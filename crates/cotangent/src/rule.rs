//! Derivative rules for functions of the user's own.

use std::fmt;
use std::sync::Arc;

use cotangent_numbers::fault::raise;
use cotangent_numbers::{Elementary, Fault, Scalar};
use cotangent_ops::Primitive;

/// What a rule's closure may return: nothing, or whether it succeeded.
pub trait Outcome {
    /// Why it failed, if it did.
    fn failure(self) -> Option<String>;
}

impl Outcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: fmt::Display> Outcome for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|e| e.to_string())
    }
}

type Value = dyn Fn(&[f64], &mut [f64]) -> Option<String> + Send + Sync;
type Product = dyn Fn(&[f64], &[f64], &[f64], &mut [f64]) -> Option<String> + Send + Sync;

/// A function on plain `f64` with derivatives of its own: a table look-up, a solver, foreign code.
///
/// One of the two products is enough; the other is put together from it. The derivatives are of first
/// order; a rule for all orders is a [`Primitive`](cotangent_ops::Primitive).
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::{Rule, check_rule};
///
/// // sinh by a foreign library, with its derivative
/// let foreign = Rule::new("sinh", 1, |x: &[f64], y: &mut [f64]| y[0] = x[0].sinh())
///     .jvp(|x, _, dx, dy| dy[0] = x[0].cosh() * dx[0]);
/// assert!(check_rule(&foreign, 1, &[0.3])?.passes());
///
/// let f = function!([foreign: &'a Rule = &foreign] |x: &[S]| -> S { foreign.call(&[x[0] * x[1]])[0] });
/// let g = gradient(&f, &Reverse::default(), &[2.0, 0.5])?;
/// assert!((g[0] - 0.5 * 1.0_f64.cosh()).abs() < 1e-15);
/// # Ok::<(), cotangent::Error>(())
/// ```
#[derive(Clone)]
pub struct Rule {
    name: Arc<str>,
    outputs: usize,
    value: Arc<Value>,
    pushforward: Option<Arc<Product>>,
    pullback: Option<Arc<Product>>,
}

impl Rule {
    /// A function with so many outputs; `value(x, y)` writes them into y.
    pub fn new<R: Outcome>(
        name: &str,
        outputs: usize,
        value: impl Fn(&[f64], &mut [f64]) -> R + Send + Sync + 'static,
    ) -> Rule {
        Rule {
            name: name.into(),
            outputs,
            value: Arc::new(move |x, y| value(x, y).failure()),
            pushforward: None,
            pullback: None,
        }
    }

    /// With the product of its Jacobian and a tangent: `jvp(x, y, dx, dy)` writes J·dx into dy,
    /// given y = f(x).
    #[must_use]
    pub fn jvp<R: Outcome>(
        mut self,
        jvp: impl Fn(&[f64], &[f64], &[f64], &mut [f64]) -> R + Send + Sync + 'static,
    ) -> Rule {
        self.pushforward = Some(Arc::new(move |x, y, dx, dy| jvp(x, y, dx, dy).failure()));
        self
    }

    /// With the product of its transposed Jacobian and a cotangent: `vjp(x, y, w, g)` writes Jᵀ·w
    /// into g, given y = f(x).
    #[must_use]
    pub fn vjp<R: Outcome>(
        mut self,
        vjp: impl Fn(&[f64], &[f64], &[f64], &mut [f64]) -> R + Send + Sync + 'static,
    ) -> Rule {
        self.pullback = Some(Arc::new(move |x, y, w, g| vjp(x, y, w, g).failure()));
        self
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Applies the function inside another, on any number.
    pub fn call<S: Scalar>(&self, x: &[S]) -> Vec<S> {
        let mut y = vec![S::zero(); self.outputs];
        S::array(self, x, &mut y);
        y
    }

    fn fail(&self, reason: String) -> ! {
        raise(Fault::RuleFailed { name: self.name.to_string(), reason })
    }

    fn succeed(&self, failure: Option<String>) {
        if let Some(reason) = failure {
            self.fail(reason);
        }
    }

    /// J·dx: by the pushforward, or row by row from the pullback.
    fn push(&self, x: &[f64], y: &[f64], dx: &[f64], dy: &mut [f64]) {
        if let Some(pushforward) = &self.pushforward {
            return self.succeed(pushforward(x, y, dx, dy));
        }
        let Some(pullback) = &self.pullback else { self.fail(MISSING.to_string()) };
        let (mut unit, mut row) = (vec![0.0; y.len()], vec![0.0; x.len()]);
        for (j, dy) in dy.iter_mut().enumerate() {
            unit[j] = 1.0;
            row.fill(0.0);
            self.succeed(pullback(x, y, &unit, &mut row));
            unit[j] = 0.0;
            *dy = row.iter().zip(dx).map(|(r, d)| d.strong_mul(*r)).sum();
        }
    }

    /// Jᵀ·w: by the pullback, or column by column from the pushforward.
    fn pull(&self, x: &[f64], y: &[f64], w: &[f64], gradient: &mut [f64]) {
        if let Some(pullback) = &self.pullback {
            return self.succeed(pullback(x, y, w, gradient));
        }
        let Some(pushforward) = &self.pushforward else { self.fail(MISSING.to_string()) };
        let (mut unit, mut column) = (vec![0.0; x.len()], vec![0.0; y.len()]);
        for (i, g) in gradient.iter_mut().enumerate() {
            unit[i] = 1.0;
            column.fill(0.0);
            self.succeed(pushforward(x, y, &unit, &mut column));
            unit[i] = 0.0;
            *g = column.iter().zip(w).map(|(c, w)| w.strong_mul(*c)).sum();
        }
    }
}

const MISSING: &str = "it has no derivative; give it one with `jvp` or `vjp`";

/// Plain numbers as `f64`; others carry derivatives that a rule on plain numbers would lose.
fn plain<T: Elementary>(rule: &Rule, x: &[T]) -> Vec<f64> {
    if !T::PLAIN {
        raise(Fault::RuleOrder { name: rule.name.to_string() });
    }
    x.iter().map(|v| v.value()).collect()
}

fn store<T: Elementary>(from: &[f64], to: &mut [T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = T::constant(*from);
    }
}

impl Primitive for Rule {
    type Saved<T: Elementary> = ();

    fn name(&self) -> &str {
        &self.name
    }

    fn value<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        if y.len() != self.outputs {
            self.fail(format!("it has {} outputs, but {} were asked for", self.outputs, y.len()));
        }
        let mut values = vec![0.0; y.len()];
        self.succeed((self.value)(&plain(self, x), &mut values));
        store(&values, y);
    }

    fn value_and_save<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        Primitive::value(self, x, y);
    }

    fn pushforward<T: Elementary>(&self, x: &[T], y: &[T], dx: &[T], dy: &mut [T]) {
        let mut image = vec![0.0; dy.len()];
        self.push(&plain(self, x), &plain(self, y), &plain(self, dx), &mut image);
        store(&image, dy);
    }

    fn pullback<T: Elementary>(&self, x: &[T], y: &[T], (): &(), w: &[T], gradient: &mut [T]) {
        let mut found = vec![0.0; gradient.len()];
        self.pull(&plain(self, x), &plain(self, y), &plain(self, w), &mut found);
        for (to, from) in gradient.iter_mut().zip(found) {
            *to += T::constant(from);
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("name", &self.name)
            .field("outputs", &self.outputs)
            .field("jvp", &self.pushforward.is_some())
            .field("vjp", &self.pullback.is_some())
            .finish()
    }
}
