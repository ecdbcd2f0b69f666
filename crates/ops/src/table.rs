//! The one table of elementary operations.
//!
//! A row holds everything that is known of an operation: its value, its first and second partials
//! (written over the same vocabulary, so that they hold for every number type and any order of
//! nesting), what is structurally zero, where it may be sampled, how it maps intervals and power
//! series, how exact it is, and what happens where it is singular. Number types, sparsity tracers,
//! tapes, documentation and tests are generated from the rows; no formula stands anywhere else.
//!
//! [`for_each_operation!`](crate::for_each_operation) hands all rows to a consumer macro. The
//! fields of a row:
//!
//! | field | meaning |
//! |---|---|
//! | `method` / `operator` | becomes a method of [`Elementary`](crate::Elementary), or is an operator of `std::ops` |
//! | `[x] -> y` | names of the arguments and of the value, which the partials may use |
//! | `value` | the value on `f64` and `f32` |
//! | `d…` | the partials, a [`Partial`](crate::Partial) each; `k(c)` is the constant `c`, `r(c)` one that is rounded |
//! | `class` | order of dependence on each argument, and whether two arguments interact |
//! | `sample` | the range tests draw each argument from, and the kinks they avoid |
//! | `domain` | where the operation is defined (unary) |
//! | `interval` | how it maps an interval |
//! | `series` | how it maps a power series |
//! | `ulps` | bound of the rounding error of the value, in units in the last place |
//! | `near` | which partials vanish at a given point, for local sparsity (binary, ternary) |
//! | `singular` | what the partials are where the mathematics has no answer |

/// Calls the macro `$consumer` with all rows of the table, after the token tree `$arguments` if one
/// is given.
///
/// ```
/// macro_rules! count_unary {
///     (unary { $($unary:tt)* } binary { $($binary:tt)* } ternary { $($ternary:tt)* }) => {
///         // every row carries exactly one note on its singular points
///         const TOKENS: &str = stringify!($($unary)*);
///     };
/// }
/// cotangent_ops::for_each_operation!(count_unary);
/// assert!(TOKENS.matches("singular").count() > 40);
/// ```
#[macro_export]
macro_rules! for_each_operation {
    ($consumer:ident $(, $arguments:tt)?) => {
        $consumer! {
            $($arguments)?
            unary {
                /// Negation.
                operator neg Neg [x] -> y {
                    value: -x; d: MinusOne; dd: Zero;
                    class: First; sample: -10.0, 10.0, Nowhere; domain: ALL;
                    interval: Decreasing(ALL); series: Linear; ulps: 0;
                    singular: "smooth everywhere";
                }
                /// Absolute value.
                method abs Abs [x] -> y {
                    value: x.abs(); d: Is(x.sgn()); dd: Zero;
                    class: First; sample: -10.0, 10.0, Zero; domain: ALL;
                    interval: Valley(0.0); series: Signed; ulps: 0;
                    singular: "derivative 0 at 0";
                }
                /// Sign as in `f64::signum`: 1 at +0, −1 at −0.
                method signum Signum [x] -> y {
                    value: x.signum(); d: Zero; dd: Zero;
                    class: Constant; sample: -10.0, 10.0, Zero; domain: ALL;
                    interval: Custom; series: Step; ulps: 0;
                    singular: "derivative 0, at the jump too";
                }
                /// Sign with 0 at 0: the derivative of the absolute value.
                method sgn Sgn [x] -> y {
                    value: if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x }; d: Zero; dd: Zero;
                    class: Constant; sample: -10.0, 10.0, Zero; domain: ALL;
                    interval: Increasing((-1.0, 1.0)); series: Step; ulps: 0;
                    singular: "derivative 0, at the jump too";
                }
                /// Largest integer not above x.
                method floor Floor [x] -> y {
                    value: x.floor(); d: Zero; dd: Zero;
                    class: Constant; sample: -10.0, 10.0, Integers; domain: ALL;
                    interval: Increasing(ALL); series: Step; ulps: 0;
                    singular: "derivative 0, at the jumps too";
                }
                /// Smallest integer not below x.
                method ceil Ceil [x] -> y {
                    value: x.ceil(); d: Zero; dd: Zero;
                    class: Constant; sample: -10.0, 10.0, Integers; domain: ALL;
                    interval: Increasing(ALL); series: Step; ulps: 0;
                    singular: "derivative 0, at the jumps too";
                }
                /// Nearest integer, halves away from zero.
                method round Round [x] -> y {
                    value: x.round(); d: Zero; dd: Zero;
                    class: Constant; sample: -10.0, 10.0, Halves; domain: ALL;
                    interval: Increasing(ALL); series: Step; ulps: 0;
                    singular: "derivative 0, at the jumps too";
                }
                /// Integer part.
                method trunc Trunc [x] -> y {
                    value: x.trunc(); d: Zero; dd: Zero;
                    class: Constant; sample: -10.0, 10.0, Integers; domain: ALL;
                    interval: Increasing(ALL); series: Step; ulps: 0;
                    singular: "derivative 0, at the jumps too";
                }
                /// Fractional part, with the sign of x.
                method fract Fract [x] -> y {
                    value: x.fract(); d: One; dd: Zero;
                    class: First; sample: -10.0, 10.0, Integers; domain: ALL;
                    interval: Custom; series: Linear; ulps: 0;
                    singular: "derivative 1, at the jumps too";
                }
                /// Reciprocal.
                method recip Recip [x] -> y {
                    value: x.recip(); d: Is(-(y * y)); dd: Is(k::<T>(2.0) * y * y * y);
                    class: Second; sample: -10.0, 10.0, Zero; domain: ALL;
                    interval: Custom; series: Recip; ulps: 0;
                    singular: "infinite at 0";
                }
                /// Square root.
                method sqrt Sqrt [x] -> y {
                    value: x.sqrt(); d: Is(y.recip() * k(0.5)); dd: Is({ let r = y.recip(); r * r * (r * k(-0.25)) });
                    class: Second; sample: 1e-3, 100.0, Nowhere; domain: (0.0, INF);
                    interval: Increasing((0.0, INF)); series: Root(0.5); ulps: 0;
                    singular: "infinite at 0";
                }
                /// Cube root.
                method cbrt Cbrt [x] -> y {
                    value: x.cbrt(); d: Is(r::<T>(1.0 / 3.0) / (y * y)); dd: Is(r::<T>(-2.0 / 9.0) / (x * y * y));
                    class: Second; sample: -100.0, 100.0, Zero; domain: ALL;
                    interval: Increasing(ALL); series: Root(1.0 / 3.0); ulps: 4;
                    singular: "infinite at 0";
                }
                /// Exponential.
                method exp Exp [x] -> y {
                    value: x.exp(); d: Is(y); dd: Is(y);
                    class: Second; sample: -30.0, 30.0, Nowhere; domain: ALL;
                    interval: Increasing((0.0, INF)); series: Exp(1.0); ulps: 2;
                    singular: "smooth everywhere";
                }
                /// Power of two.
                method exp2 Exp2 [x] -> y {
                    value: x.exp2(); d: Is(y * r(LN_2)); dd: Is(y * r(LN_2 * LN_2));
                    class: Second; sample: -30.0, 30.0, Nowhere; domain: ALL;
                    interval: Increasing((0.0, INF)); series: Exp(LN_2); ulps: 2;
                    singular: "smooth everywhere";
                }
                /// eˣ − 1, exact near 0.
                method exp_m1 ExpM1 [x] -> y {
                    value: x.exp_m1(); d: Is(x.exp()); dd: Is(x.exp());
                    class: Second; sample: -30.0, 30.0, Nowhere; domain: ALL;
                    interval: Increasing((-1.0, INF)); series: Integrate; ulps: 2;
                    singular: "smooth everywhere";
                }
                /// Natural logarithm.
                method ln Ln [x] -> y {
                    value: x.ln(); d: Is(x.recip()); dd: Is(-(x * x).recip());
                    class: Second; sample: 1e-3, 100.0, Nowhere; domain: (0.0, INF);
                    interval: Increasing(ALL); series: Integrate; ulps: 2;
                    singular: "infinite at 0";
                }
                /// Logarithm to base 2.
                method log2 Log2 [x] -> y {
                    value: x.log2(); d: Is((x * r(LN_2)).recip()); dd: Is(-(x * x * r(LN_2)).recip());
                    class: Second; sample: 1e-3, 100.0, Nowhere; domain: (0.0, INF);
                    interval: Increasing(ALL); series: Integrate; ulps: 2;
                    singular: "infinite at 0";
                }
                /// Logarithm to base 10.
                method log10 Log10 [x] -> y {
                    value: x.log10(); d: Is((x * r(LN_10)).recip()); dd: Is(-(x * x * r(LN_10)).recip());
                    class: Second; sample: 1e-3, 100.0, Nowhere; domain: (0.0, INF);
                    interval: Increasing(ALL); series: Integrate; ulps: 3;
                    singular: "infinite at 0";
                }
                /// ln(1 + x), exact near 0.
                method ln_1p Ln1p [x] -> y {
                    value: x.ln_1p(); d: Is((x + k(1.0)).recip()); dd: Is(-((x + k(1.0)) * (x + k(1.0))).recip());
                    class: Second; sample: -0.999, 100.0, Nowhere; domain: (-1.0, INF);
                    interval: Increasing(ALL); series: Integrate; ulps: 2;
                    singular: "infinite at −1";
                }
                /// Sine.
                method sin Sin [x] -> y {
                    value: x.sin(); d: Is(x.cos()); dd: Is(-y);
                    class: Second; sample: -20.0, 20.0, Nowhere; domain: ALL;
                    interval: Custom; series: Sin; ulps: 2;
                    singular: "smooth everywhere";
                }
                /// Cosine.
                method cos Cos [x] -> y {
                    value: x.cos(); d: Is(-x.sin()); dd: Is(-y);
                    class: Second; sample: -20.0, 20.0, Nowhere; domain: ALL;
                    interval: Custom; series: Cos; ulps: 2;
                    singular: "smooth everywhere";
                }
                /// Tangent.
                method tan Tan [x] -> y {
                    value: x.tan(); d: Is(k::<T>(1.0) + y * y); dd: Is(k::<T>(2.0) * y * (k::<T>(1.0) + y * y));
                    class: Second; sample: -1.5, 1.5, Nowhere; domain: ALL;
                    interval: Custom; series: Tan; ulps: 2;
                    singular: "poles at odd multiples of π/2";
                }
                /// Inverse sine.
                method asin Asin [x] -> y {
                    value: x.asin(); d: Is(((k::<T>(1.0) - x) * (k::<T>(1.0) + x)).sqrt().recip());
                    dd: Is({ let w = (k::<T>(1.0) - x) * (k::<T>(1.0) + x); x / (w * w.sqrt()) });
                    class: Second; sample: -0.999, 0.999, Nowhere; domain: (-1.0, 1.0);
                    interval: Increasing((-PI / 2.0, PI / 2.0)); series: Integrate; ulps: 2;
                    singular: "infinite at ±1";
                }
                /// Inverse cosine.
                method acos Acos [x] -> y {
                    value: x.acos(); d: Is(-((k::<T>(1.0) - x) * (k::<T>(1.0) + x)).sqrt().recip());
                    dd: Is({ let w = (k::<T>(1.0) - x) * (k::<T>(1.0) + x); -(x / (w * w.sqrt())) });
                    class: Second; sample: -0.999, 0.999, Nowhere; domain: (-1.0, 1.0);
                    interval: Decreasing((0.0, PI)); series: Integrate; ulps: 2;
                    singular: "infinite at ±1";
                }
                /// Inverse tangent.
                method atan Atan [x] -> y {
                    value: x.atan(); d: Is((k::<T>(1.0) + x * x).recip());
                    dd: Is({ let w = k::<T>(1.0) + x * x; k::<T>(-2.0) * x / (w * w) });
                    class: Second; sample: -50.0, 50.0, Nowhere; domain: ALL;
                    interval: Increasing((-PI / 2.0, PI / 2.0)); series: Integrate; ulps: 2;
                    singular: "smooth everywhere";
                }
                /// Hyperbolic sine.
                method sinh Sinh [x] -> y {
                    value: x.sinh(); d: Is(x.cosh()); dd: Is(y);
                    class: Second; sample: -20.0, 20.0, Nowhere; domain: ALL;
                    interval: Increasing(ALL); series: Sinh; ulps: 3;
                    singular: "smooth everywhere";
                }
                /// Hyperbolic cosine.
                method cosh Cosh [x] -> y {
                    value: x.cosh(); d: Is(x.sinh()); dd: Is(y);
                    class: Second; sample: -20.0, 20.0, Nowhere; domain: ALL;
                    interval: Valley(1.0); series: Cosh; ulps: 3;
                    singular: "smooth everywhere";
                }
                /// Hyperbolic tangent. The partial is sech², not 1 − y², which cancels for |x| > 10.
                method tanh Tanh [x] -> y {
                    value: x.tanh(); d: Is(x.sech2()); dd: Is(k::<T>(-2.0) * y * x.sech2());
                    class: Second; sample: -20.0, 20.0, Nowhere; domain: ALL;
                    interval: Increasing((-1.0, 1.0)); series: Tanh; ulps: 3;
                    singular: "smooth everywhere";
                }
                /// 1/cosh² x, the slope of the hyperbolic tangent.
                method sech2 Sech2 [x] -> y {
                    value: x.by(special::sech2); d: Is(k::<T>(-2.0) * x.tanh() * y); dd: Is(k::<T>(2.0) * y * (k::<T>(2.0) - k::<T>(3.0) * y));
                    class: Second; sample: -20.0, 20.0, Nowhere; domain: ALL;
                    interval: Hill((0.0, 1.0)); series: Sech2; ulps: 4;
                    singular: "smooth everywhere";
                }
                /// Inverse hyperbolic sine.
                method asinh Asinh [x] -> y {
                    value: x.asinh(); d: Is(x.hypot(k::<T>(1.0)).recip());
                    dd: Is({ let h = x.hypot(k::<T>(1.0)); -(x / h / (h * h)) });
                    class: Second; sample: -50.0, 50.0, Nowhere; domain: ALL;
                    interval: Increasing(ALL); series: Integrate; ulps: 3;
                    singular: "smooth everywhere";
                }
                /// Inverse hyperbolic cosine.
                method acosh Acosh [x] -> y {
                    value: x.by(libm::acosh); d: Is(((x - k(1.0)) * (x + k(1.0))).sqrt().recip());
                    dd: Is({ let w = (x - k(1.0)) * (x + k(1.0)); -(x / (w * w.sqrt())) });
                    class: Second; sample: 1.001, 50.0, Nowhere; domain: (1.0, INF);
                    interval: Increasing((0.0, INF)); series: Integrate; ulps: 3;
                    singular: "infinite at 1";
                }
                /// Inverse hyperbolic tangent.
                method atanh Atanh [x] -> y {
                    value: x.by(libm::atanh); d: Is(((k::<T>(1.0) - x) * (k::<T>(1.0) + x)).recip());
                    dd: Is({ let w = (k::<T>(1.0) - x) * (k::<T>(1.0) + x); k::<T>(2.0) * x / (w * w) });
                    class: Second; sample: -0.999, 0.999, Nowhere; domain: (-1.0, 1.0);
                    interval: Increasing(ALL); series: Integrate; ulps: 3;
                    singular: "infinite at ±1";
                }
                /// sin(x)/x, 1 at 0.
                method sinc Sinc [x] -> y {
                    value: x.by(special::sinc); d: Is(x.sinc_derivative(1)); dd: Is(x.sinc_derivative(2));
                    class: Second; sample: -20.0, 20.0, Nowhere; domain: ALL;
                    interval: Custom; series: Derivatives; ulps: 4;
                    singular: "smooth everywhere; 0 is an ordinary point";
                }
                /// The n-th derivative of sin(x)/x.
                method sinc_derivative SincDerivative(n: u32) [x] -> y {
                    value: x.by(|x| special::sinc_derivative(n, x));
                    d: Is(x.sinc_derivative(n.saturating_add(1))); dd: Is(x.sinc_derivative(n.saturating_add(2)));
                    class: Second; sample: -20.0, 20.0, Nowhere; domain: ALL;
                    interval: Custom; series: Derivatives; ulps: 64;
                    singular: "smooth everywhere";
                }
                /// Error function.
                method erf Erf [x] -> y {
                    value: x.by(libm::erf); d: Is(r::<T>(FRAC_2_SQRT_PI) * (-(x * x)).exp());
                    dd: Is(r::<T>(-2.0 * FRAC_2_SQRT_PI) * x * (-(x * x)).exp());
                    class: Second; sample: -5.0, 5.0, Nowhere; domain: ALL;
                    interval: Increasing((-1.0, 1.0)); series: Integrate; ulps: 3;
                    singular: "smooth everywhere";
                }
                /// Complementary error function 1 − erf(x), exact in the tail.
                method erfc Erfc [x] -> y {
                    value: x.by(libm::erfc); d: Is(r::<T>(-FRAC_2_SQRT_PI) * (-(x * x)).exp());
                    dd: Is(r::<T>(2.0 * FRAC_2_SQRT_PI) * x * (-(x * x)).exp());
                    class: Second; sample: -5.0, 25.0, Nowhere; domain: ALL;
                    interval: Decreasing((0.0, 2.0)); series: Integrate; ulps: 8;
                    singular: "smooth everywhere";
                }
                /// Gamma function.
                method gamma Gamma [x] -> y {
                    value: x.by(special::gamma); d: Is(y * x.digamma());
                    dd: Is({ let p = x.digamma(); y * (p * p + x.polygamma(1)) });
                    class: Second; sample: 0.05, 30.0, Nowhere; domain: ALL;
                    interval: Custom; series: Gamma; ulps: 16;
                    singular: "NaN at the poles 0, −1, −2, …";
                }
                /// Logarithm of the absolute value of the gamma function.
                method ln_gamma LnGamma [x] -> y {
                    value: x.by(special::ln_gamma); d: Is(x.digamma()); dd: Is(x.polygamma(1));
                    class: Second; sample: 0.05, 100.0, Nowhere; domain: ALL;
                    interval: Custom; series: Integrate; ulps: 8;
                    singular: "NaN at the poles 0, −1, −2, …; near the zeros 1 and 2 the error is absolute";
                }
                /// Digamma function, the derivative of ln Γ.
                method digamma Digamma [x] -> y {
                    value: x.by(|x| special::polygamma(0, x)); d: Is(x.polygamma(1)); dd: Is(x.polygamma(2));
                    class: Second; sample: 0.05, 100.0, Nowhere; domain: ALL;
                    interval: Custom; series: Derivatives; ulps: 16;
                    singular: "NaN at the poles 0, −1, −2, …; near the zero 1.46 the error is absolute";
                }
                /// The n-th derivative of the digamma function.
                method polygamma Polygamma(n: u32) [x] -> y {
                    value: x.by(|x| special::polygamma(n, x));
                    d: Is(x.polygamma(n.saturating_add(1))); dd: Is(x.polygamma(n.saturating_add(2)));
                    class: Second; sample: 0.05, 100.0, Nowhere; domain: ALL;
                    interval: Custom; series: Derivatives; ulps: 64;
                    singular: "NaN at the poles 0, −1, −2, …";
                }
                /// Logistic function 1/(1 + e⁻ˣ).
                method sigmoid Sigmoid [x] -> y {
                    value: x.by(special::sigmoid); d: Is(y * (-x).sigmoid());
                    dd: Is({ let z = (-x).sigmoid(); y * z * (z - y) });
                    class: Second; sample: -40.0, 40.0, Nowhere; domain: ALL;
                    interval: Increasing((0.0, 1.0)); series: Sigmoid; ulps: 4;
                    singular: "smooth everywhere";
                }
                /// ln(1 + eˣ), without overflow.
                method softplus Softplus [x] -> y {
                    value: x.by(special::softplus); d: Is(x.sigmoid()); dd: Is(x.sigmoid() * (-x).sigmoid());
                    class: Second; sample: -40.0, 40.0, Nowhere; domain: ALL;
                    interval: Increasing((0.0, INF)); series: Integrate; ulps: 4;
                    singular: "smooth everywhere";
                }
                /// Radians to degrees.
                method to_degrees ToDegrees [x] -> y {
                    value: x.to_degrees(); d: Is(r(180.0 / PI)); dd: Zero;
                    class: First; sample: -10.0, 10.0, Nowhere; domain: ALL;
                    interval: Increasing(ALL); series: Linear; ulps: 2;
                    singular: "smooth everywhere";
                }
                /// Degrees to radians.
                method to_radians ToRadians [x] -> y {
                    value: x.to_radians(); d: Is(r(PI / 180.0)); dd: Zero;
                    class: First; sample: -500.0, 500.0, Nowhere; domain: ALL;
                    interval: Increasing(ALL); series: Linear; ulps: 2;
                    singular: "smooth everywhere";
                }
                /// Integer power.
                method powi Powi(n: i32) [x] -> y {
                    value: x.integer_power(n);
                    d: if n == 0 { Zero } else if n == 1 { One } else { Is(x.powi(n.saturating_sub(1)) * k(f64::from(n))) };
                    dd: if n == 0 || n == 1 { Zero } else {
                        Is(x.powi(n.saturating_sub(2)) * k(f64::from(n) * (f64::from(n) - 1.0)))
                    };
                    class: Second; sample: -4.0, 4.0, Zero; domain: ALL;
                    interval: Custom; series: Power; ulps: 4;
                    singular: "infinite at 0 for negative n; x⁰ is 1 with derivative 0, at 0 too";
                }
            }
            binary {
                /// Sum.
                operator add Add [x, y] -> z {
                    value: x + y; d1: One; d2: One; d11: Zero; d12: Zero; d22: Zero;
                    class: First, First, Separate; near: (true, true);
                    sample: -10.0, 10.0, -10.0, 10.0, Nowhere; ulps: 0;
                    singular: "smooth everywhere";
                }
                /// Difference.
                operator sub Sub [x, y] -> z {
                    value: x - y; d1: One; d2: MinusOne; d11: Zero; d12: Zero; d22: Zero;
                    class: First, First, Separate; near: (true, true);
                    sample: -10.0, 10.0, -10.0, 10.0, Nowhere; ulps: 0;
                    singular: "smooth everywhere";
                }
                /// Product.
                operator mul Mul [x, y] -> z {
                    value: x * y; d1: Is(y); d2: Is(x); d11: Zero; d12: One; d22: Zero;
                    class: First, First, Cross; near: (y != 0.0, x != 0.0);
                    sample: -10.0, 10.0, -10.0, 10.0, Nowhere; ulps: 0;
                    singular: "smooth everywhere";
                }
                /// Quotient.
                operator div Div [x, y] -> z {
                    value: x / y; d1: Is(y.recip()); d2: Is(-(z / y));
                    d11: Zero; d12: Is({ let r = y.recip(); -(r * r) }); d22: Is(k::<T>(2.0) * (z / y) / y);
                    class: First, Second, Cross; near: (true, x != 0.0);
                    sample: -10.0, 10.0, -10.0, 10.0, SecondZero; ulps: 0;
                    singular: "infinite at y = 0";
                }
                /// Remainder x − y·trunc(x/y), with the sign of x.
                operator rem Rem [x, y] -> z {
                    value: x % y; d1: One; d2: Is(-((x - z) / y).round()); d11: Zero; d12: Zero; d22: Zero;
                    class: First, First, Separate; near: (true, !(x.abs() < y.abs()));
                    sample: -10.0, 10.0, -10.0, 10.0, IntegerQuotient; ulps: 0;
                    singular: "the one-sided derivative at the jumps";
                }
                /// Power xʸ.
                method powf Powf [x, y] -> z {
                    value: x.powf(y);
                    d1: Is(y.strong_mul(x.powf(y - k(1.0)))); d2: Is(z.strong_mul(x.ln()));
                    d11: Is((y * (y - k(1.0))).strong_mul(x.powf(y - k(2.0))));
                    d12: Is({ let w = x.powf(y - k(1.0)); w + (y * w).strong_mul(x.ln()) });
                    d22: Is(z.strong_mul(x.ln()).strong_mul(x.ln()));
                    class: Second, Second, Cross; near: (true, true);
                    sample: 0.05, 10.0, -4.0, 4.0, Nowhere; ulps: 2;
                    singular: "at x = 0: ∂x is 0 where y = 0, ∂y is 0 where y > 0 and −∞ where y ≤ 0; ∂y is NaN for x < 0";
                }
                /// Angle of the point (y, x): `y.atan2(x)`.
                method atan2 Atan2 [y, x] -> z {
                    value: y.atan2(x);
                    d1: Is({ let h = y.hypot(x); x.strong_div(h).strong_div(h) });
                    d2: Is({ let h = y.hypot(x); -(y.strong_div(h).strong_div(h)) });
                    d11: Is({ let h = y.hypot(x); let (u, v) = (y.strong_div(h), x.strong_div(h));
                        (k::<T>(-2.0) * u * v).strong_div(h).strong_div(h) });
                    d12: Is({ let h = y.hypot(x); let (u, v) = (y.strong_div(h), x.strong_div(h));
                        ((u - v) * (u + v)).strong_div(h).strong_div(h) });
                    d22: Is({ let h = y.hypot(x); let (u, v) = (y.strong_div(h), x.strong_div(h));
                        (k::<T>(2.0) * u * v).strong_div(h).strong_div(h) });
                    class: Second, Second, Cross; near: (true, true);
                    sample: -10.0, 10.0, -10.0, 10.0, Origin; ulps: 2;
                    singular: "all partials 0 at the origin";
                }
                /// Length of the vector (x, y), without overflow.
                method hypot Hypot [x, y] -> z {
                    value: x.hypot(y); d1: Is(x.strong_div(z)); d2: Is(y.strong_div(z));
                    d11: Is({ let v = y.strong_div(z); (v * v).strong_div(z) });
                    d12: Is(-(x.strong_div(z) * y.strong_div(z)).strong_div(z));
                    d22: Is({ let u = x.strong_div(z); (u * u).strong_div(z) });
                    class: Second, Second, Cross; near: (true, true);
                    sample: -10.0, 10.0, -10.0, 10.0, Origin; ulps: 2;
                    singular: "all partials 0 at the origin";
                }
                /// The greater value; a NaN argument loses.
                method max Max [x, y] -> z {
                    value: x.larger(y); d1: Is(T::select(z.equals(x), k::<T>(1.0), k::<T>(0.0)));
                    d2: Is(T::select(z.equals(x), k::<T>(0.0), k::<T>(1.0))); d11: Zero; d12: Zero; d22: Zero;
                    class: First, First, Separate; near: (!(x < y), !(y < x));
                    sample: -10.0, 10.0, -10.0, 10.0, Tie; ulps: 0;
                    singular: "a tie goes to the first argument";
                }
                /// The smaller value; a NaN argument loses.
                method min Min [x, y] -> z {
                    value: x.smaller(y); d1: Is(T::select(z.equals(x), k::<T>(1.0), k::<T>(0.0)));
                    d2: Is(T::select(z.equals(x), k::<T>(0.0), k::<T>(1.0))); d11: Zero; d12: Zero; d22: Zero;
                    class: First, First, Separate; near: (!(y < x), !(x < y));
                    sample: -10.0, 10.0, -10.0, 10.0, Tie; ulps: 0;
                    singular: "a tie goes to the first argument";
                }
                /// Magnitude of x with the sign of y.
                method copysign Copysign [x, y] -> z {
                    value: x.copysign(y); d1: Is(x.sgn() * k::<T>(1.0).copysign(y)); d2: Zero;
                    d11: Zero; d12: Zero; d22: Zero;
                    class: First, Constant, Separate; near: (true, false);
                    sample: -10.0, 10.0, -10.0, 10.0, AnyZero; ulps: 0;
                    singular: "derivative 0 at x = 0";
                }
                /// Logarithm to a base: `x.log(base)`.
                method log Log [x, b] -> z {
                    value: x.log(b); d1: Is((x * b.ln()).recip()); d2: Is(-(z / (b * b.ln())));
                    d11: Is(-(x * x * b.ln()).recip()); d12: Is({ let w = b.ln(); -(x * b * w * w).recip() });
                    d22: Is({ let w = b.ln(); z * (k::<T>(1.0) + k::<T>(2.0) / w) / (b * b * w) });
                    class: Second, Second, Cross; near: (true, true);
                    sample: 1e-2, 100.0, 1.2, 10.0, Nowhere; ulps: 6;
                    singular: "infinite at x = 0, b = 0 and b = 1";
                }
                /// Product in which a zero on either side wins over ∞ and NaN.
                method strong_mul StrongMul [x, y] -> z {
                    value: if x == 0.0 || y == 0.0 { 0.0 } else { x * y }; d1: Is(y); d2: Is(x); d11: Zero; d12: One; d22: Zero;
                    class: First, First, Cross; near: (y != 0.0, x != 0.0);
                    sample: -10.0, 10.0, -10.0, 10.0, Nowhere; ulps: 0;
                    singular: "0·∞ = 0·NaN = ∞·0 = NaN·0 = 0";
                }
                /// Quotient in which a zero numerator wins over a zero or NaN denominator.
                method strong_div StrongDiv [x, y] -> z {
                    value: if x == 0.0 { 0.0 } else { x / y };
                    d1: Is(T::select(x.equals(k::<T>(0.0)) & y.equals(k::<T>(0.0)), k::<T>(0.0), y.recip())); d2: Is(-z.strong_div(y));
                    d11: Zero; d12: Is(-(y * y).recip()); d22: Is(k::<T>(2.0) * z.strong_div(y).strong_div(y));
                    class: First, Second, Cross; near: (true, x != 0.0);
                    sample: -10.0, 10.0, -10.0, 10.0, SecondZero; ulps: 0;
                    singular: "0/0 = 0/NaN = 0, with derivative 0 at 0/0";
                }
            }
            ternary {
                /// x·y + z with one rounding.
                method mul_add MulAdd [x, y, z] -> w {
                    value: x.mul_add(y, z); d: [Is(y), Is(x), One]; dd: [Zero, One, Zero, Zero, Zero, Zero];
                    class: [First, First, First], [true, false, false]; near: [y != 0.0, x != 0.0, true];
                    sample: [(-10.0, 10.0), (-10.0, 10.0), (-10.0, 10.0)], Nowhere; ulps: 0;
                    singular: "smooth everywhere";
                }
                /// x limited to the range from `low` to `high`.
                method clamp Clamp [x, low, high] -> w {
                    value: if x < low { low } else if x > high { high } else { x };
                    d: [
                        Is(T::select(x.less(low) | x.greater(high), k::<T>(0.0), k::<T>(1.0))),
                        Is(T::select(x.less(low), k::<T>(1.0), k::<T>(0.0))),
                        Is(T::select(x.less(low), k::<T>(0.0), T::select(x.greater(high), k::<T>(1.0), k::<T>(0.0))))
                    ];
                    dd: [Zero, Zero, Zero, Zero, Zero, Zero];
                    class: [First, First, First], [false, false, false];
                    near: [!(x < low || x > high), !(x > low), !(x < high || x < low)];
                    sample: [(-10.0, 10.0), (-10.0, 0.0), (0.0, 10.0)], Tie; ulps: 0;
                    singular: "a tie goes to x";
                }
            }
        }
    };
}
