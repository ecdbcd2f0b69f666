//! The same functions in the peers' natural forms.

pub mod with_num_dual {
    use nalgebra::{DVector, SVector};
    use num_dual::DualNum;

    fn rosenbrock<D: DualNum<Primitive = f64>>(x: &[D]) -> D {
        let mut sum = D::from(0.0);
        for i in 0..x.len() - 1 {
            let t = x[i + 1].clone() - x[i].clone() * x[i].clone();
            let u = -x[i].clone() + 1.0;
            sum += t.powi(2) * 100.0 + u.powi(2);
        }
        sum
    }

    fn log_sum_exp<D: DualNum<Primitive = f64>>(x: &[D]) -> D {
        x.iter().map(|x| x.exp()).sum::<D>().ln()
    }

    pub fn gradient_static<const N: usize>(x: &SVector<f64, N>) -> SVector<f64, N> {
        num_dual::gradient(|v| rosenbrock(v.as_slice()), x).1
    }

    pub fn gradient_dynamic(x: &DVector<f64>) -> DVector<f64> {
        num_dual::gradient(|v| rosenbrock(v.as_slice()), x).1
    }

    pub fn hessian_static<const N: usize>(x: &SVector<f64, N>) -> nalgebra::SMatrix<f64, N, N> {
        num_dual::hessian(|v| rosenbrock(v.as_slice()), x).2
    }

    pub fn hessian_dynamic(x: &DVector<f64>) -> nalgebra::DMatrix<f64> {
        num_dual::hessian(|v| rosenbrock(v.as_slice()), x).2
    }

    pub fn log_sum_exp_hessian_static<const N: usize>(
        x: &SVector<f64, N>,
    ) -> nalgebra::SMatrix<f64, N, N> {
        num_dual::hessian(|v| log_sum_exp(v.as_slice()), x).2
    }

    pub fn log_sum_exp_hessian_dynamic(x: &DVector<f64>) -> nalgebra::DMatrix<f64> {
        num_dual::hessian(|v| log_sum_exp(v.as_slice()), x).2
    }
}

pub mod with_hyperdual {
    use hyperdual::{Float, Hyperdual};

    /// M = N + 1 components: the value and N partials.
    pub fn gradient<const N: usize, const M: usize>(x: &[f64]) -> [f64; N] {
        let x: [Hyperdual<f64, M>; N] = std::array::from_fn(|i| {
            let mut parts = [0.0; M];
            parts[0] = x[i];
            parts[i + 1] = 1.0;
            Hyperdual::from_slice(&parts)
        });
        let one = Hyperdual::from_real(1.0);
        let hundred: Hyperdual<f64, M> = Hyperdual::from_real(100.0);
        let mut sum: Hyperdual<f64, M> = Hyperdual::from_real(0.0);
        for i in 0..N - 1 {
            sum = sum + (x[i + 1] - x[i] * x[i]).powi(2) * hundred + (one - x[i]).powi(2);
        }
        std::array::from_fn(|i| sum[i + 1])
    }
}

pub mod with_hyperjet {
    use hyperjet::jets::{Jet1, Jet2};

    pub fn gradient<const N: usize>(x: &[f64]) -> [f64; N] {
        let x: [Jet1<N>; N] = std::array::from_fn(|i| Jet1::variable(x[i], i));
        let mut sum = Jet1::constant(0.0);
        for i in 0..N - 1 {
            sum += (x[i + 1] - x[i] * x[i]).powi(2) * 100.0 + (1.0 - x[i]).powi(2);
        }
        sum.grad
    }

    /// H = N(N + 1)/2 entries of the lower triangle.
    pub fn hessian<const N: usize, const H: usize>(x: &[f64]) -> [f64; H] {
        let x: [Jet2<N, H>; N] = std::array::from_fn(|i| Jet2::variable(x[i], i));
        let mut sum = Jet2::constant(0.0);
        for i in 0..N - 1 {
            sum += (x[i + 1] - x[i] * x[i]).powi(2) * 100.0 + (1.0 - x[i]).powi(2);
        }
        sum.hess
    }

    pub fn log_sum_exp_hessian<const N: usize, const H: usize>(x: &[f64]) -> [f64; H] {
        let x: [Jet2<N, H>; N] = std::array::from_fn(|i| Jet2::variable(x[i], i));
        let mut sum = Jet2::constant(0.0);
        for x in x {
            sum += x.exp();
        }
        sum.ln().hess
    }
}

pub mod with_ad_trait {
    use ad_trait::AD;
    use ad_trait::differentiable_function::{
        DifferentiableFunctionTrait, ForwardAD, ForwardADMulti, ReverseAD,
    };
    use ad_trait::forward_ad::adfn::adfn;
    use ad_trait::function_engine::FunctionEngine;
    use ad_trait::reverse_ad::adr::adr;

    #[derive(Clone)]
    pub struct Rosenbrock(pub usize);

    impl<T: AD> DifferentiableFunctionTrait<T> for Rosenbrock {
        const NAME: &'static str = "Rosenbrock";

        fn call(&self, x: &[T], _: bool) -> Vec<T> {
            let (one, hundred) = (T::constant(1.0), T::constant(100.0));
            let mut sum = T::constant(0.0);
            for i in 0..x.len() - 1 {
                let t = x[i + 1] - x[i] * x[i];
                let u = one - x[i];
                sum = sum + hundred * t * t + u * u;
            }
            vec![sum]
        }

        fn num_inputs(&self) -> usize {
            self.0
        }

        fn num_outputs(&self) -> usize {
            1
        }
    }

    pub fn forward(n: usize) -> impl Fn(&[f64]) -> Vec<f64> {
        let engine = FunctionEngine::new(Rosenbrock(n), Rosenbrock(n), ForwardAD::new());
        move |x| engine.derivative(x).1.as_slice().to_vec()
    }

    pub fn forward_8(n: usize) -> impl Fn(&[f64]) -> Vec<f64> {
        let engine =
            FunctionEngine::new(Rosenbrock(n), Rosenbrock(n), ForwardADMulti::<adfn<8>>::new());
        move |x| engine.derivative(x).1.as_slice().to_vec()
    }

    pub fn reverse(n: usize) -> impl Fn(&[f64]) -> Vec<f64> {
        let engine = FunctionEngine::new(Rosenbrock(n), Rosenbrock(n), ReverseAD::new());
        let _: Option<adr> = None;
        move |x| engine.derivative(x).1.as_slice().to_vec()
    }
}

pub mod with_echidna {
    use echidna::{DualVec, Scalar};

    pub fn rosenbrock<T: Scalar<Float = f64>>(x: &[T]) -> T {
        let (one, hundred) = (T::from_f(1.0), T::from_f(100.0));
        let mut sum = T::from_f(0.0);
        for i in 0..x.len() - 1 {
            let t = x[i + 1] - x[i] * x[i];
            let u = one - x[i];
            sum = sum + hundred * t * t + u * u;
        }
        sum
    }

    pub fn log_sum_exp<T: Scalar<Float = f64>>(x: &[T]) -> T {
        let mut sum = T::from_f(0.0);
        for x in x {
            sum = sum + x.exp();
        }
        sum.ln()
    }

    /// Forward mode, N lanes at a time.
    pub fn forward<const N: usize>(x: &[f64], buffer: &mut Vec<DualVec<f64, N>>, g: &mut [f64]) {
        buffer.clear();
        buffer.extend(x.iter().map(|v| DualVec::constant(*v)));
        for start in (0..x.len()).step_by(N) {
            let lanes = start..(start + N).min(x.len());
            for i in lanes.clone() {
                buffer[i].eps[i - start] = 1.0;
            }
            let y = rosenbrock(buffer);
            for i in lanes {
                g[i] = y.eps[i - start];
                buffer[i].eps[i - start] = 0.0;
            }
        }
    }
}
