//! The small vocabularies in which a row of the table describes an operation.

use Order::{Constant, First, Second};

/// Ends of the real line, for rows without a bound.
pub const ALL: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// How an operation depends on one argument, everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Not at all: the first derivative is zero.
    Constant,
    /// To first order: the second derivative is zero.
    First,
    /// To second order and beyond.
    Second,
}

/// Whether the mixed second derivative of two arguments may be nonzero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interaction {
    /// It is zero everywhere.
    Separate,
    /// It may be nonzero.
    Cross,
}

/// Which partials may be nonzero: the five sparsity flags of an operation of up to two arguments,
/// and their extension to three.
///
/// A flag that is `false` promises a derivative that is zero for all arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags {
    /// `first[i]`: the partial to argument `i`.
    pub first: [bool; 3],
    /// `second[i]`: the second partial to argument `i`.
    pub second: [bool; 3],
    /// The mixed second partials to arguments (0, 1), (0, 2) and (1, 2).
    pub mixed: [bool; 3],
}

impl Flags {
    /// The flags of an operation from its class in the table.
    pub const fn new(orders: [Order; 3], mixed: [bool; 3]) -> Self {
        let mut flags = Flags { first: [false; 3], second: [false; 3], mixed };
        let mut i = 0;
        while i < 3 {
            flags.first[i] = !matches!(orders[i], Constant);
            flags.second[i] = matches!(orders[i], Second);
            i += 1;
        }
        flags
    }

    /// The flags of a unary operation.
    pub const fn unary(order: Order) -> Self {
        Flags::new([order, Constant, Constant], [false; 3])
    }

    /// The flags of a binary operation.
    pub const fn binary(x: Order, y: Order, interaction: Interaction) -> Self {
        Flags::new([x, y, Constant], [matches!(interaction, Interaction::Cross), false, false])
    }

    /// Whether the operation is at most of first order in everything.
    pub const fn is_first_order(self) -> bool {
        let [a, b, c] = self.second;
        let [d, e, f] = self.mixed;
        !(a || b || c || d || e || f)
    }
}

const _: () = assert!(Flags::unary(First).is_first_order());

/// Where a test must not sample, because a derivative jumps there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kink {
    /// Smooth on the whole sample range.
    Nowhere,
    /// At 0.
    Zero,
    /// At every integer.
    Integers,
    /// At every half-integer.
    Halves,
    /// Where the second argument is 0.
    SecondZero,
    /// Where any argument is 0.
    AnyZero,
    /// Where all arguments are 0.
    Origin,
    /// Where two arguments are equal.
    Tie,
    /// Where the quotient of the arguments is an integer.
    IntegerQuotient,
}

impl Kink {
    /// The distance of a point from the nearest kink (infinite if there is none).
    ///
    /// ```
    /// use cotangent_ops::Kink;
    /// assert_eq!(Kink::Integers.distance(&[2.25]), 0.25);
    /// assert_eq!(Kink::Nowhere.distance(&[2.0]), f64::INFINITY);
    /// ```
    pub fn distance(self, x: &[f64]) -> f64 {
        let at = |i: usize| x.get(i).copied().unwrap_or(f64::INFINITY);
        match self {
            Kink::Nowhere => f64::INFINITY,
            Kink::Zero => at(0).abs(),
            Kink::Integers => (at(0) - at(0).round()).abs(),
            Kink::Halves => 0.5 - (at(0) - at(0).round()).abs(),
            Kink::SecondZero => at(1).abs(),
            Kink::AnyZero => x.iter().fold(f64::INFINITY, |m, v| m.min(v.abs())),
            Kink::Origin => x.iter().fold(0.0, |m, v| v.abs().max(m)),
            Kink::Tie => {
                let mut distance = f64::INFINITY;
                for (i, a) in x.iter().enumerate() {
                    for b in &x[..i] {
                        distance = distance.min((a - b).abs());
                    }
                }
                distance
            }
            Kink::IntegerQuotient => {
                let q = at(0) / at(1);
                (q - q.round()).abs().min(at(1).abs()).min(at(0).abs())
            }
        }
    }
}

/// How a unary operation maps an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Increasing on its domain, with values in the given range.
    Increasing((f64, f64)),
    /// Decreasing on its domain, with values in the given range.
    Decreasing((f64, f64)),
    /// Decreasing up to 0 and increasing from there, with the given least value.
    Valley(f64),
    /// Increasing up to 0 and decreasing from there, with values in the given range.
    Hill((f64, f64)),
    /// A rule of its own.
    Custom,
}

/// How a unary operation maps a power series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Series {
    /// The higher coefficients are zero.
    Step,
    /// The higher coefficients are multiplied by the first partial, which is constant.
    Linear,
    /// All coefficients are multiplied by the first partial at the leading one.
    Signed,
    /// y·x = 1.
    Recip,
    /// y = xʳ with a fixed exponent.
    Root(f64),
    /// y = xⁿ with an integer exponent.
    Power,
    /// y′ = a·y·x′.
    Exp(f64),
    /// y′ = cos(x)·x′, the cosine alongside.
    Sin,
    /// y′ = −sin(x)·x′, the sine alongside.
    Cos,
    /// y′ = cosh(x)·x′, the cosine alongside.
    Sinh,
    /// y′ = sinh(x)·x′, the sine alongside.
    Cosh,
    /// y′ = (1 + y²)·x′.
    Tan,
    /// y′ = (1 − y²)·x′, the slope alongside.
    Tanh,
    /// The slope of tanh, that alongside.
    Sech2,
    /// y′ = y·(1 − y)·x′.
    Sigmoid,
    /// y′ = y·ψ(x)·x′.
    Gamma,
    /// y′ = d(x)·x′ where the first partial d does not use y.
    Integrate,
    /// The derivatives of all orders at one point, composed by Horner's rule.
    Derivatives,
}

/// The limits of the floating-point format that a number is built on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// The distance from 1 to the next larger number.
    pub epsilon: f64,
    /// The smallest positive normal number.
    pub min_positive: f64,
    /// The largest finite number.
    pub max: f64,
}

impl Precision {
    /// The limits of `f64`.
    pub const DOUBLE: Precision =
        Precision { epsilon: f64::EPSILON, min_positive: f64::MIN_POSITIVE, max: f64::MAX };
    /// The limits of `f32`.
    pub const SINGLE: Precision = Precision {
        epsilon: f32::EPSILON as f64,
        min_positive: f32::MIN_POSITIVE as f64,
        max: f32::MAX as f64,
    };
}
