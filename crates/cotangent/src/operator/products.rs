//! Products of the Jacobian with tangents (JVP) and of its transpose with cotangents (VJP).
//!
//! The two operators differ in which side of the Jacobian the given vectors are on, so they are
//! generated from one text.

use super::{Prepared, Workspace, join, sizes};
use crate::backend::{Backend, Engine};
use crate::error::{Error, check_size};
use crate::function::Differentiable;
use crate::point::{Point, Real, check_numbers};

macro_rules! product_operator {
    (
        $(#[$doc:meta])*
        $name:ident $value_and:ident $into:ident $value_and_into:ident $prepare:ident $Prepared:ident,
        $matrix:literal, $vector:literal, $given:ident, $found:ident
    ) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// Sizes, NaN, and what the function raised.
        pub fn $name<'a, F, B, T, V>(
            f: &F,
            backend: &B,
            at: impl Into<Point<'a, T>>,
            vectors: &[V],
        ) -> Result<Vec<Vec<T>>, Error>
        where
            F: Differentiable,
            B: Backend,
            T: Real,
            V: AsRef<[T]>,
        {
            $value_and(f, backend, at, vectors).map(|(_, products)| products)
        }

        #[doc = concat!("The outputs, and the products of ", $matrix, " with ", $vector, "s.")]
        ///
        /// # Errors
        #[doc = concat!("As [`", stringify!($name), "`].")]
        pub fn $value_and<'a, F, B, T, V>(
            f: &F,
            backend: &B,
            at: impl Into<Point<'a, T>>,
            vectors: &[V],
        ) -> Result<(Vec<T>, Vec<Vec<T>>), Error>
        where
            F: Differentiable,
            B: Backend,
            T: Real,
            V: AsRef<[T]>,
        {
            let at = at.into();
            $prepare(f, backend, at)?.$value_and(at, vectors)
        }

        #[doc = concat!("The products of ", $matrix, " with ", $vector, "s, in place, one after the other.")]
        ///
        /// # Errors
        #[doc = concat!("As [`", stringify!($name), "`].")]
        pub fn $into<'a, F, B, T>(
            f: &F,
            backend: &B,
            at: impl Into<Point<'a, T>>,
            vectors: &[T],
            products: &mut [T],
        ) -> Result<(), Error>
        where
            F: Differentiable,
            B: Backend,
            T: Real,
        {
            let at = at.into();
            let prepared = $prepare(f, backend, at)?;
            prepared.$into(at, vectors, products, &mut prepared.fresh())
        }

        #[doc = concat!("The outputs, and the products of ", $matrix, " with ", $vector, "s, in place.")]
        ///
        /// # Errors
        #[doc = concat!("As [`", stringify!($name), "`].")]
        pub fn $value_and_into<'a, F, B, T>(
            f: &F,
            backend: &B,
            at: impl Into<Point<'a, T>>,
            vectors: &[T],
            values: &mut [T],
            products: &mut [T],
        ) -> Result<(), Error>
        where
            F: Differentiable,
            B: Backend,
            T: Real,
        {
            let at = at.into();
            let prepared = $prepare(f, backend, at)?;
            prepared.$value_and_into(at, vectors, values, products, &mut prepared.fresh())
        }

        #[doc = concat!("Prepares products of ", $matrix, " with ", $vector, "s at points of the size of `at`.")]
        ///
        /// # Errors
        /// Sizes, NaN in the point, and what the function raised.
        pub fn $prepare<'a, F, B, T>(
            f: F,
            backend: &B,
            at: impl Into<Point<'a, T>>,
        ) -> Result<$Prepared<B::Engine<F, T>, T>, Error>
        where
            F: Differentiable,
            B: Backend,
            T: Real,
        {
            let at = at.into();
            let sizes = sizes(&f, at)?;
            Ok($Prepared(Prepared::new(backend.engine(f, sizes, at)?, at)))
        }

        #[doc = concat!("Products of ", $matrix, " with ", $vector, "s that have been prepared.")]
        ///
        #[doc = concat!("The slices of in-place forms hold the ", $vector, "s one after the other, and so the products.")]
        #[derive(Debug)]
        pub struct $Prepared<E, T = f64>(Prepared<E, T>);

        impl<T: Real, E: Engine<T>> $Prepared<E, T> {
            /// Room for evaluations on one thread. It is tried out where the products were prepared,
            /// so that evaluations with it allocate nothing.
            pub fn workspace(&self) -> Workspace<E::Workspace, T> {
                let mut workspace = self.fresh();
                let sizes = self.0.engine.sizes();
                let vectors = vec![T::one(); 2 * sizes.$given];
                let mut products = vec![T::zero(); 2 * sizes.$found];
                let _ = self.$into(self.0.sample(), &vectors, &mut products, &mut workspace);
                workspace
            }

            fn fresh(&self) -> Workspace<E::Workspace, T> {
                let engine = &self.0.engine;
                self.0.workspace(engine.workspace(), [engine.sizes().outputs, 0])
            }

            #[doc = concat!("The products of ", $matrix, " with ", $vector, "s.")]
            ///
            /// # Errors
            /// Sizes, NaN, and what the function raised.
            pub fn $name<'a, V: AsRef<[T]>>(
                &self,
                at: impl Into<Point<'a, T>>,
                vectors: &[V],
            ) -> Result<Vec<Vec<T>>, Error> {
                self.$value_and(at, vectors).map(|(_, products)| products)
            }

            #[doc = concat!("The outputs, and the products of ", $matrix, " with ", $vector, "s.")]
            ///
            /// # Errors
            /// Sizes, NaN, and what the function raised.
            pub fn $value_and<'a, V: AsRef<[T]>>(
                &self,
                at: impl Into<Point<'a, T>>,
                vectors: &[V],
            ) -> Result<(Vec<T>, Vec<Vec<T>>), Error> {
                let sizes = self.0.engine.sizes();
                let joined = join(concat!("a ", $vector), vectors, sizes.$given)?;
                let mut values = vec![T::zero(); sizes.outputs];
                let mut products = vec![T::zero(); vectors.len() * sizes.$found];
                let mut workspace = self.fresh();
                self.$value_and_into(at, &joined, &mut values, &mut products, &mut workspace)?;
                Ok((values, products.chunks(sizes.$found).map(<[T]>::to_vec).collect()))
            }

            #[doc = concat!("The products of ", $matrix, " with ", $vector, "s, in place.")]
            ///
            /// # Errors
            /// Sizes, NaN, a workspace of another derivative, and what the function raised.
            pub fn $into<'a>(
                &self,
                at: impl Into<Point<'a, T>>,
                vectors: &[T],
                products: &mut [T],
                workspace: &mut Workspace<E::Workspace, T>,
            ) -> Result<(), Error> {
                let (inner, [values, _]) = self.0.open(workspace)?;
                self.evaluate(at.into(), vectors, values, products, inner)
            }

            #[doc = concat!("The outputs, and the products of ", $matrix, " with ", $vector, "s, in place.")]
            ///
            /// # Errors
            /// Sizes, NaN, a workspace of another derivative, and what the function raised.
            pub fn $value_and_into<'a>(
                &self,
                at: impl Into<Point<'a, T>>,
                vectors: &[T],
                values: &mut [T],
                products: &mut [T],
                workspace: &mut Workspace<E::Workspace, T>,
            ) -> Result<(), Error> {
                let (inner, _) = self.0.open(workspace)?;
                self.evaluate(at.into(), vectors, values, products, inner)
            }

            fn evaluate(
                &self,
                at: Point<'_, T>,
                vectors: &[T],
                values: &mut [T],
                products: &mut [T],
                inner: &mut E::Workspace,
            ) -> Result<(), Error> {
                let sizes = self.0.engine.sizes();
                sizes.check(at)?;
                let (what, whole) = (concat!("the ", $vector, "s"), "whole vectors must follow one another");
                let count = vectors.len() / sizes.$given;
                check_size(what, count * sizes.$given, vectors.len(), whole)?;
                if vectors.is_empty() {
                    return Err(Error::Empty { what: concat!("the list of ", $vector, "s") });
                }
                check_numbers(what, vectors)?;
                check_size("the products", count * sizes.$found, products.len(), whole)?;
                check_size("the values", sizes.outputs, values.len(), "there is one value an output")?;
                self.0.engine.$name(at, vectors, values, products, inner)
            }
        }
    };
}

product_operator! {
    /// The products of the Jacobian with tangents: how the outputs move as the inputs do.
    ///
    /// ```
    /// use cotangent::prelude::*;
    ///
    /// let f = function!(|x: &[S]| -> [S; 2] { [x[0] * x[1], x[0] + x[1]] });
    /// let products = pushforward(&f, &Auto, &[2.0, 3.0], &[[1.0, 0.0], [1.0, 1.0]])?;
    /// assert_eq!(products, [[3.0, 1.0], [5.0, 2.0]]);
    /// # Ok::<(), cotangent::Error>(())
    /// ```
    pushforward value_and_pushforward pushforward_into value_and_pushforward_into prepare_pushforward
    PreparedPushforward, "the Jacobian", "tangent", inputs, outputs
}

product_operator! {
    /// The products of the transposed Jacobian with cotangents: gradients of weighted outputs.
    ///
    /// ```
    /// use cotangent::prelude::*;
    ///
    /// let f = function!(|x: &[S]| -> [S; 2] { [x[0] * x[1], x[0] + x[1]] });
    /// let products = pullback(&f, &Reverse::default(), &[2.0, 3.0], &[[1.0, 0.0], [1.0, 10.0]])?;
    /// assert_eq!(products, [[3.0, 2.0], [13.0, 12.0]]);
    /// # Ok::<(), cotangent::Error>(())
    /// ```
    pullback value_and_pullback pullback_into value_and_pullback_into prepare_pullback
    PreparedPullback, "the transposed Jacobian", "cotangent", outputs, inputs
}
