//! Operations as types and as codes, generated from the table.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, PI};

use crate::Interaction::{Cross, Separate};
use crate::Order::{Constant, First, Second};
use crate::Partial::{Is, MinusOne, One, Zero};
use crate::Shape::{Custom, Decreasing, Hill, Increasing, Valley};
use crate::{ALL, Elementary, Flags, Kink, Partial, Series, Shape};

const INF: f64 = f64::INFINITY;

/// The constant `c`, in the table's formulas.
#[inline(always)]
fn k<T: Elementary>(c: f64) -> T {
    T::constant(c)
}

/// The constant that `c` is the rounded value of, in the table's formulas.
#[inline(always)]
fn r<T: Elementary>(c: f64) -> T {
    T::rounded(c)
}

/// What the table says of an operation, as data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Its name, which is also the method's.
    pub name: &'static str,
    /// Its code.
    pub opcode: Opcode,
    /// Number of arguments.
    pub arity: usize,
    /// Which partials may be nonzero.
    pub flags: Flags,
    /// The range that tests draw each argument from.
    pub sample: [(f64, f64); 3],
    /// Where tests must not sample.
    pub kink: Kink,
    /// Where a unary operation is defined.
    pub domain: (f64, f64),
    /// Bound of the rounding error of the value, in units in the last place.
    pub ulps: u32,
    /// The first and second partials, as the compiler sees them in the table; for people,
    /// [`formulas`](Info::formulas).
    pub partials: &'static [(&'static str, &'static str)],
    /// What happens at singular points.
    pub singular: &'static str,
}

impl Info {
    /// The first and second partials by name, as people write them.
    ///
    /// ```
    /// use cotangent_ops::Opcode;
    ///
    /// let formulas: Vec<_> = Opcode::Sin.info().formulas().collect();
    /// assert_eq!(formulas, [("∂", "x.cos()".to_string()), ("∂²", "-y".to_string())]);
    /// ```
    pub fn formulas(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.partials.iter().map(|(name, tokens)| {
            let line = tokens.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = line.replace(" :: < T > ", "").replace("(- ", "(-").replace("T :: ", "");
            let formula = match line.as_str() {
                "Zero" => "0",
                "One" => "1",
                "MinusOne" => "−1",
                _ => line.strip_prefix("Is(").and_then(|l| l.strip_suffix(')')).unwrap_or(&line),
            };
            (*name, formula.to_string())
        })
    }
}

/// An operation of the table, as a type.
pub trait Operation: Copy + std::fmt::Debug + Send + Sync + 'static {
    /// What the table says of it.
    const INFO: Info;

    /// The integer parameter of operations that have one, else 0.
    #[inline(always)]
    fn parameter(self) -> i32 {
        0
    }
}

/// An operation of one argument.
pub trait Unary: Operation {
    /// How it maps an interval.
    const SHAPE: Shape;
    /// How it maps a power series.
    const SERIES: Series;

    /// The value.
    fn value<T: Elementary>(self, x: T) -> T;

    /// The first derivative at x, where the value is y.
    fn d<T: Elementary>(self, x: T, y: T) -> Partial<T>;

    /// The second derivative at x, where the value is y.
    fn dd<T: Elementary>(self, x: T, y: T) -> Partial<T>;
}

/// An operation of two arguments.
pub trait Binary: Operation {
    /// The value.
    fn value<T: Elementary>(self, x: T, y: T) -> T;

    /// The partial to the first argument, where the value is z.
    fn d1<T: Elementary>(self, x: T, y: T, z: T) -> Partial<T>;

    /// The partial to the second argument, where the value is z.
    fn d2<T: Elementary>(self, x: T, y: T, z: T) -> Partial<T>;

    /// The second partials (to both first, mixed, to both second), where the value is z.
    fn dd<T: Elementary>(self, x: T, y: T, z: T) -> [Partial<T>; 3];

    /// Which of the two first partials may be nonzero at this very point.
    fn near(self, x: f64, y: f64) -> (bool, bool);
}

/// An operation of three arguments.
pub trait Ternary: Operation {
    /// The value.
    fn value<T: Elementary>(self, x: T, y: T, z: T) -> T;

    /// The partials to the three arguments, where the value is w.
    fn d<T: Elementary>(self, x: T, y: T, z: T, w: T) -> [Partial<T>; 3];

    /// The second partials 11, 12, 13, 22, 23, 33, where the value is w.
    fn dd<T: Elementary>(self, x: T, y: T, z: T, w: T) -> [Partial<T>; 6];

    /// Which of the first partials may be nonzero at this very point.
    fn near(self, x: f64, y: f64, z: f64) -> [bool; 3];
}

/// Something to be done with an operation that is known by its code only.
pub trait Visitor {
    /// What it gives.
    type Output;
    /// Does it with a unary operation.
    fn unary<O: Unary>(self, op: O) -> Self::Output;
    /// Does it with a binary operation.
    fn binary<O: Binary>(self, op: O) -> Self::Output;
    /// Does it with a ternary operation.
    fn ternary<O: Ternary>(self, op: O) -> Self::Output;
}

/// Applies an operation to as many of these as it takes.
///
/// ```
/// use cotangent_ops::{Apply, Opcode};
///
/// assert_eq!(Opcode::Mul.visit(0, Apply([3.0, 4.0, 0.0])), 12.0);
/// ```
pub struct Apply<S>(pub [S; 3]);

impl<S: Elementary> Visitor for Apply<S> {
    type Output = S;

    #[inline]
    fn unary<O: Unary>(self, op: O) -> S {
        op.value(self.0[0])
    }

    #[inline]
    fn binary<O: Binary>(self, op: O) -> S {
        op.value(self.0[0], self.0[1])
    }

    #[inline]
    fn ternary<O: Ternary>(self, op: O) -> S {
        op.value(self.0[0], self.0[1], self.0[2])
    }
}

macro_rules! define {
    (unary { $($(#[$udoc:meta])* $ukind:ident $uname:ident $U:ident $(($n:ident : $N:ty))? [$ux:ident] -> $uy:ident {
            value: $uvalue:expr; d: $ud:expr; dd: $udd:expr;
            class: $uclass:ident; sample: $ulow:expr, $uhigh:expr, $ukink:ident; domain: $udomain:expr;
            interval: $ushape:expr; series: $useries:expr; ulps: $uulps:expr; singular: $unote:literal; })* }
     binary { $($(#[$bdoc:meta])* $bkind:ident $bname:ident $B:ident [$bx:ident, $by:ident] -> $bz:ident {
            value: $bvalue:expr; d1: $bd1:expr; d2: $bd2:expr; d11: $bd11:expr; d12: $bd12:expr; d22: $bd22:expr;
            class: $bc1:ident, $bc2:ident, $bcross:ident; near: $bnear:expr;
            sample: $bl1:expr, $bh1:expr, $bl2:expr, $bh2:expr, $bkink:ident; ulps: $bulps:expr; singular: $bnote:literal; })* }
     ternary { $($(#[$tdoc:meta])* method $tname:ident $T3:ident [$tx:ident, $ty:ident, $tz:ident] -> $tw:ident {
            value: $tvalue:expr; d: $td:expr; dd: $tdd:expr;
            class: $tclass:expr, $tmixed:expr; near: $tnear:expr;
            sample: $tsample:expr, $tkink:ident; ulps: $tulps:expr; singular: $tnote:literal; })* }
    ) => {
        /// The operations as types.
        pub mod ops {
            $($(#[$udoc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $U $((
                #[doc = concat!("The parameter `", stringify!($n), "`.")]
                pub $N
            ))?;)*
            $($(#[$bdoc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $B;)*
            $($(#[$tdoc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $T3;)*
        }

        /// The operations as codes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Opcode {
            $($(#[$udoc])* $U,)*
            $($(#[$bdoc])* $B,)*
            $($(#[$tdoc])* $T3,)*
        }

        impl Opcode {
            /// All operations, in the order of the table.
            pub const ALL: &[Opcode] = &[$(Opcode::$U,)* $(Opcode::$B,)* $(Opcode::$T3,)*];

            /// What the table says of the operation.
            pub const fn info(self) -> &'static Info {
                match self {
                    $(Opcode::$U => const { &<ops::$U as Operation>::INFO },)*
                    $(Opcode::$B => const { &<ops::$B as Operation>::INFO },)*
                    $(Opcode::$T3 => const { &<ops::$T3 as Operation>::INFO },)*
                }
            }

            /// Hands the operation, with its integer parameter if it takes one, to a visitor.
            #[inline(always)]
            pub fn visit<V: Visitor>(self, parameter: i32, visitor: V) -> V::Output {
                match self {
                    $(Opcode::$U => visitor.unary(define!(@make $U parameter $($N)?)),)*
                    $(Opcode::$B => visitor.binary(ops::$B),)*
                    $(Opcode::$T3 => visitor.ternary(ops::$T3),)*
                }
            }
        }

        $(
            impl Operation for ops::$U {
                const INFO: Info = Info {
                    name: stringify!($uname),
                    opcode: Opcode::$U,
                    arity: 1,
                    flags: Flags::unary($uclass),
                    sample: [($ulow, $uhigh), ALL, ALL],
                    kink: Kink::$ukink,
                    domain: $udomain,
                    ulps: $uulps,
                    partials: &[("∂", stringify!($ud)), ("∂²", stringify!($udd))],
                    singular: $unote,
                };

                define!(@parameter $($n: $N)?);
            }

            #[allow(unused_variables, reason = "a partial uses what it needs")]
            impl Unary for ops::$U {
                const SHAPE: Shape = $ushape;
                const SERIES: Series = { use Series::*; $useries };

                #[inline(always)]
                #[track_caller]
                fn value<T: Elementary>(self, $ux: T) -> T {
                    define!(@apply self $ukind $uname [$ux] ($uvalue) $($n)?)
                }

                #[inline(always)]
                fn d<T: Elementary>(self, $ux: T, $uy: T) -> Partial<T> {
                    $(let $n = self.0;)?
                    $ud
                }

                #[inline(always)]
                fn dd<T: Elementary>(self, $ux: T, $uy: T) -> Partial<T> {
                    $(let $n = self.0;)?
                    $udd
                }
            }
        )*

        $(
            impl Operation for ops::$B {
                const INFO: Info = Info {
                    name: stringify!($bname),
                    opcode: Opcode::$B,
                    arity: 2,
                    flags: Flags::binary($bc1, $bc2, $bcross),
                    sample: [($bl1, $bh1), ($bl2, $bh2), ALL],
                    kink: Kink::$bkink,
                    domain: ALL,
                    ulps: $bulps,
                    partials: &[
                        ("∂1", stringify!($bd1)), ("∂2", stringify!($bd2)), ("∂11", stringify!($bd11)),
                        ("∂12", stringify!($bd12)), ("∂22", stringify!($bd22)),
                    ],
                    singular: $bnote,
                };
            }

            #[allow(unused_variables, reason = "a partial uses what it needs")]
            #[allow(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN must keep its dependence")]
            impl Binary for ops::$B {
                #[inline(always)]
                #[track_caller]
                fn value<T: Elementary>(self, $bx: T, $by: T) -> T {
                    define!(@apply2 $bkind $bname [$bx, $by] ($bvalue))
                }

                #[inline(always)]
                fn d1<T: Elementary>(self, $bx: T, $by: T, $bz: T) -> Partial<T> {
                    $bd1
                }

                #[inline(always)]
                fn d2<T: Elementary>(self, $bx: T, $by: T, $bz: T) -> Partial<T> {
                    $bd2
                }

                #[inline(always)]
                fn dd<T: Elementary>(self, $bx: T, $by: T, $bz: T) -> [Partial<T>; 3] {
                    [$bd11, $bd12, $bd22]
                }

                #[inline(always)]
                fn near(self, $bx: f64, $by: f64) -> (bool, bool) {
                    $bnear
                }
            }
        )*

        $(
            impl Operation for ops::$T3 {
                const INFO: Info = Info {
                    name: stringify!($tname),
                    opcode: Opcode::$T3,
                    arity: 3,
                    flags: Flags::new($tclass, $tmixed),
                    sample: $tsample,
                    kink: Kink::$tkink,
                    domain: ALL,
                    ulps: $tulps,
                    partials: &[("∂1, ∂2, ∂3", stringify!($td)), ("∂11, ∂12, ∂13, ∂22, ∂23, ∂33", stringify!($tdd))],
                    singular: $tnote,
                };
            }

            #[allow(unused_variables, reason = "a partial uses what it needs")]
            #[allow(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN must keep its dependence")]
            impl Ternary for ops::$T3 {
                #[inline(always)]
                #[track_caller]
                fn value<T: Elementary>(self, $tx: T, $ty: T, $tz: T) -> T {
                    $tx.$tname($ty, $tz)
                }

                #[inline(always)]
                fn d<T: Elementary>(self, $tx: T, $ty: T, $tz: T, $tw: T) -> [Partial<T>; 3] {
                    $td
                }

                #[inline(always)]
                fn dd<T: Elementary>(self, $tx: T, $ty: T, $tz: T, $tw: T) -> [Partial<T>; 6] {
                    $tdd
                }

                #[inline(always)]
                fn near(self, $tx: f64, $ty: f64, $tz: f64) -> [bool; 3] {
                    $tnear
                }
            }
        )*

    };

    (@make $U:ident $parameter:ident) => { ops::$U };
    (@make $U:ident $parameter:ident $N:ty) => { ops::$U($parameter as $N) };
    (@parameter) => {};
    (@parameter $n:ident: $N:ty) => {
        #[inline(always)]
        fn parameter(self) -> i32 {
            self.0 as i32
        }
    };
    (@apply $self:ident operator $name:ident [$x:ident] ($value:expr)) => { $value };
    (@apply $self:ident method $name:ident [$x:ident] ($value:expr)) => { $x.$name() };
    (@apply $self:ident method $name:ident [$x:ident] ($value:expr) $n:ident) => { $x.$name($self.0) };
    (@apply2 operator $name:ident [$x:ident, $y:ident] ($value:expr)) => { $value };
    (@apply2 method $name:ident [$x:ident, $y:ident] ($value:expr)) => { $x.$name($y) };
}

crate::for_each_operation!(define);

impl Opcode {
    /// The name of the operation.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The number of arguments.
    pub const fn arity(self) -> usize {
        self.info().arity
    }
}

impl std::fmt::Display for Opcode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[doc = include_str!("../OPERATIONS.md")]
pub mod reference {}
