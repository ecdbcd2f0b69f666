//! Functions that can be differentiated.

use cotangent_numbers::fault::raise;
use cotangent_numbers::{Fault, Scalar};

/// Whether a function has one input (or output) or a slice of them.
pub trait Arity: sealed::Sealed {
    /// Whether it is one.
    const ONE: bool;

    /// A number, or a vector of them.
    type Of<T>;

    /// The number, or the numbers.
    fn of<T: Copy>(values: Vec<T>) -> Self::Of<T>;
}

/// One number.
#[derive(Clone, Copy, Debug)]
pub struct One;

/// A slice of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Many;

impl Arity for One {
    const ONE: bool = true;

    type Of<T> = T;

    fn of<T: Copy>(values: Vec<T>) -> T {
        values[0]
    }
}

impl Arity for Many {
    const ONE: bool = false;

    type Of<T> = Vec<T>;

    fn of<T: Copy>(values: Vec<T>) -> Vec<T> {
        values
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::One {}
    impl Sealed for super::Many {}
}

/// What a function gets besides its input.
#[derive(Debug)]
pub struct Context<'c, S> {
    /// Numbers that matter but are not differentiated.
    pub constants: &'c [S],
    /// Room whose content does not matter, as long as [`Differentiable::cache`] says.
    pub cache: &'c mut [S],
}

/// A function over any [`Scalar`]: what all derivatives are taken of.
///
/// [`function!`](crate::function) makes one of a closure. By hand it is a struct with a method:
///
/// ```
/// use cotangent::prelude::*;
///
/// struct Spring { stiffness: f64 }
///
/// impl Differentiable for Spring {
///     type Input = Many;
///     type Output = One;
///
///     fn call<S: Scalar>(&self, x: &[S], y: &mut [S], _: Context<'_, S>) {
///         y[0] = (x[1] - x[0]).powi(2) * (0.5 * self.stiffness);
///     }
/// }
///
/// let force = gradient(&Spring { stiffness: 3.0 }, &Forward::default(), &[1.0, 1.5]).unwrap();
/// assert_eq!(force, [-1.5, 1.5]);
/// ```
///
/// Being generic, the function cannot keep a number of one derivative and use it in another.
pub trait Differentiable {
    /// One input or a slice.
    type Input: Arity;
    /// One output or a slice.
    type Output: Arity;

    /// How many outputs there are at a point.
    fn outputs(&self, _x: &[f64], _constants: &[f64]) -> usize {
        1
    }

    /// How much cache a function of so many inputs needs.
    fn cache(&self, _inputs: usize) -> usize {
        0
    }

    /// Whether it needs constants, so that forgetting them is an error.
    fn takes_constants(&self) -> bool {
        false
    }

    /// Writes the outputs at `x` into `y`, whose entries are zero before.
    fn call<S: Scalar>(&self, x: &[S], y: &mut [S], context: Context<'_, S>);
}

/// What refers to a function is one.
macro_rules! delegate {
    ($($Reference:ty)*) => {$(
        impl<F: Differentiable + ?Sized> Differentiable for $Reference {
            type Input = F::Input;
            type Output = F::Output;

            fn outputs(&self, x: &[f64], constants: &[f64]) -> usize {
                (**self).outputs(x, constants)
            }

            fn cache(&self, inputs: usize) -> usize {
                (**self).cache(inputs)
            }

            fn takes_constants(&self) -> bool {
                (**self).takes_constants()
            }

            #[inline]
            fn call<S: Scalar>(&self, x: &[S], y: &mut [S], context: Context<'_, S>) {
                (**self).call(x, y, context);
            }
        }
    )*};
}

delegate!(&F std::sync::Arc<F>);

/// Copies what a function returned into its outputs.
#[doc(hidden)]
#[inline]
pub fn store<S: Scalar>(values: &impl AsRef<[S]>, y: &mut [S]) {
    let values = values.as_ref();
    if values.len() != y.len() {
        raise(Fault::Length {
            name: "the function".to_string(),
            what: "what it returned",
            expected: y.len(),
            found: values.len(),
        });
    }
    y.copy_from_slice(values);
}

/// Makes a [`Differentiable`] function of a closure over `S`, which stands for any [`Scalar`].
///
/// The types of the closure say its shape:
///
/// ```
/// use cotangent::prelude::*;
///
/// // one number to one
/// let f = function!(|x| x.sin() * x);
/// // a slice to one number
/// let g = function!(|x: &[S]| -> S { x[0] * x[1] });
/// // a slice to several, returned or written in place (the length may use the input)
/// let h = function!(|x: &[S]| -> [S; 2] { [x[0] + x[1], x[0].exp()] });
/// let k = function!(|x: &[S]| -> Vec<S> { x.iter().map(|x| x.sin()).collect() });
/// let m = function!(|x: &[S], y: &mut [S; x.len() - 1]| {
///     for i in 0..y.len() {
///         y[i] = x[i + 1] - x[i];
///     }
/// });
/// assert_eq!(derivative(&f, &Forward::default(), 0.0).unwrap(), 0.0);
/// assert_eq!(gradient(&g, &Reverse::default(), &[2.0, 3.0]).unwrap(), [3.0, 2.0]);
/// assert_eq!(jacobian(&m, &Forward::default(), &[1.0, 4.0]).unwrap().row(0), [-1.0, 1.0]);
/// # let _ = (h, k);
/// ```
///
/// Constants that may differ from call to call, and room for intermediate results, are arguments of
/// their own. Plain values of the surroundings, numbers and references, are listed first:
///
/// ```
/// use cotangent::prelude::*;
///
/// let weights = vec![1.0, 10.0];
/// let f = function!([weights: &'a [f64] = &weights] |x: &[S], constant p, cache c: &mut [S; x.len()]| -> S {
///     for i in 0..x.len() {
///         c[i] = (x[i] * p[0]).sin() * weights[i];
///     }
///     c.iter().copied().sum::<S>()
/// });
/// let g = gradient(&f, &Forward::default(), (&[0.0, 0.0], &[3.0])).unwrap();
/// assert_eq!(g, [3.0, 30.0]);
/// ```
#[macro_export]
macro_rules! function {
    ([$($name:ident : $type:ty $(= $value:expr)?),* $(,)?] |$($rest:tt)*) => {
        $crate::function!(@input [$($name: $type, { $crate::function!(@capture $name $($value)?) })*] $($rest)*)
    };
    (|$($rest:tt)*) => {
        $crate::function!(@input [] $($rest)*)
    };
    (@capture $name:ident) => { $name };
    (@capture $name:ident $value:expr) => { $value };

    // The input: a slice, or one number.
    (@input $captures:tt $x:ident : &[S] $($rest:tt)*) => {
        $crate::function!(@arguments $captures {$x Many} {} {_constants} {_cache 0} $($rest)*)
    };
    (@input $captures:tt $x:ident : S $($rest:tt)*) => {
        $crate::function!(@arguments $captures {$x One} {} {_constants} {_cache 0} $($rest)*)
    };
    (@input $captures:tt $x:ident $($rest:tt)*) => {
        $crate::function!(@arguments $captures {$x One} {} {_constants} {_cache 0} $($rest)*)
    };

    // Further arguments, in any order.
    (@arguments $captures:tt $input:tt $output:tt $constants:tt $cache:tt , constant $p:ident $($rest:tt)*) => {
        $crate::function!(@arguments $captures $input $output {$p} $cache $($rest)*)
    };
    (@arguments $captures:tt $input:tt $output:tt $constants:tt $cache:tt , cache $c:ident : &mut [S; $length:expr] $($rest:tt)*) => {
        $crate::function!(@arguments $captures $input $output $constants {$c $length} $($rest)*)
    };
    (@arguments $captures:tt $input:tt $output:tt $constants:tt $cache:tt , $y:ident : &mut [S; $length:expr] $($rest:tt)*) => {
        $crate::function!(@arguments $captures $input {$y $length} $constants $cache $($rest)*)
    };
    (@arguments $captures:tt $input:tt $output:tt $constants:tt $cache:tt , | $($rest:tt)*) => {
        $crate::function!(@arguments $captures $input $output $constants $cache | $($rest)*)
    };

    // What it returns.
    (@arguments $captures:tt $input:tt {} $constants:tt $cache:tt | -> S $body:block) => {
        $crate::function!(@build $captures $input $constants $cache One { 1 } { y } [S; 1] { [(|| -> S { $body })()] } {})
    };
    (@arguments $captures:tt $input:tt {} $constants:tt $cache:tt | -> [S; $length:expr] $body:block) => {
        $crate::function!(@build $captures $input $constants $cache Many { $length } { y } [S; $length] { $body } {})
    };
    (@arguments $captures:tt $input:tt {} $constants:tt $cache:tt | -> Vec<S> $body:block) => {
        $crate::function!(@build $captures $input $constants $cache Many {} { y } ::std::vec::Vec<S> { $body } {})
    };
    (@arguments $captures:tt $input:tt {$y:ident $length:expr} $constants:tt $cache:tt | $body:expr) => {
        $crate::function!(@build $captures $input $constants $cache Many { $length } { $y } () {} { $body; })
    };
    (@arguments $captures:tt $input:tt {} $constants:tt $cache:tt | $body:expr) => {
        $crate::function!(@build $captures $input $constants $cache One { 1 } { y } [S; 1] { [$body] } {})
    };

    // `values` computes what is returned; `place` writes it in place. One of the two is empty.
    (@build [$($name:ident : $type:ty, $value:tt)*] {$x:ident $Input:ident} {$p:ident} {$c:ident $cache:expr}
        $Output:ident { $($outputs:expr)? } { $y:ident } $Values:ty { $($values:tt)* } { $($place:tt)* }) => {{
        #[derive(Clone, Copy)]
        struct Function<'a> {
            $($name: $type,)*
            lifetime: ::core::marker::PhantomData<&'a ()>,
        }

        #[allow(unused_variables, unused_mut, clippy::all, reason = "written by a macro, around the user's code")]
        impl<'a> Function<'a> {
            #[inline]
            fn values<S: $crate::Scalar>(&self, $x: &[S], context: $crate::Context<'_, S>) -> $Values {
                let Function { $($name,)* .. } = *self;
                let $crate::Context { constants: $p, cache: $c } = context;
                let $x = $crate::function!(@bind $Input $x[..]);
                $($values)*
            }
        }

        #[allow(unused_variables, unused_mut, clippy::all, reason = "written by a macro, around the user's code")]
        impl<'a> $crate::Differentiable for Function<'a> {
            type Input = $crate::$Input;
            type Output = $crate::$Output;

            fn outputs(&self, $x: &[f64], constants: &[f64]) -> usize {
                let Function { $($name,)* .. } = *self;
                $crate::function!(@outputs self $x constants $Input $($outputs)?)
            }

            fn cache(&self, inputs: usize) -> usize {
                let Function { $($name,)* .. } = *self;
                let zeros = ::std::vec![0.0_f64; inputs.max(1)];
                let $x = $crate::function!(@bind $Input zeros[..]);
                $cache
            }

            fn takes_constants(&self) -> bool {
                $crate::function!(@takes $p)
            }

            #[inline]
            fn call<S: $crate::Scalar>(&self, $x: &[S], $y: &mut [S], context: $crate::Context<'_, S>) {
                $crate::function!(@call self $x $y context $p $c $Input [$($name)*] { $($values)* } { $($place)* });
            }
        }

        Function { $($name: $value,)* lifetime: ::core::marker::PhantomData }
    }};

    (@takes _constants) => { false };
    (@takes $p:ident) => { true };
    (@bind Many $x:expr) => { &$x };
    (@bind One $x:expr) => { $x[0] };
    (@call $self:ident $x:ident $y:ident $context:ident $p:ident $c:ident $Input:ident $names:tt { $($values:tt)+ } {}) => {
        $crate::store(&$self.values($x, $context), $y)
    };
    (@call $self:ident $x:ident $y:ident $context:ident $p:ident $c:ident $Input:ident [$($name:ident)*] {} { $($place:tt)* }) => {
        let Function { $($name,)* .. } = *$self;
        let $crate::Context { constants: $p, cache: $c } = $context;
        let $x = $crate::function!(@bind $Input $x[..]);
        $($place)*
    };
    (@outputs $self:ident $x:ident $constants:ident $Input:ident $length:expr) => {{
        let $x = $crate::function!(@bind $Input $x[..]);
        $length
    }};
    (@outputs $self:ident $x:ident $constants:ident $Input:ident) => {{
        let mut cache = ::std::vec![0.0_f64; $crate::Differentiable::cache($self, $x.len())];
        let context = $crate::Context { constants: $constants, cache: &mut cache };
        $self.values::<f64>($x, context).len()
    }};

    ($($other:tt)*) => {
        ::core::compile_error!(
            "`function!` takes a closure whose head says its shape: |x|, |x: &[S]| -> S, |x: &[S]| -> [S; 2], \
             |x: &[S]| -> Vec<S> or |x: &[S], y: &mut [S; 2]|; after the input, `constant p` and \
             `cache c: &mut [S; 3]`; captured values before the closure, with their types: [a: f64] |x| …"
        )
    };
}
