//! Tracers with a value: what they find holds at a point.

use std::fmt;

use cotangent_ops::{Binary, Comparison, Lift, Primitive, Ternary, Unary};

use super::Dependence;
use super::global::unary_flags;
use crate::number::{inherent, number};

/// A tracer with a value: branches go as at the point, and a factor that is zero there cuts
/// a dependence.
#[derive(Clone, Copy)]
pub struct Local<D> {
    /// The value.
    pub value: f64,
    /// What it depends on.
    pub dependence: D,
}

impl<D: Dependence> Local<D> {
    #[inline(always)]
    fn of(value: f64, dependence: D) -> Self {
        Local { value, dependence }
    }
}

impl<D: Dependence> Lift for Local<D> {
    type Mask = bool;

    #[inline(always)]
    fn lift(c: f64) -> Self {
        Local::of(c, D::NONE)
    }

    #[inline(always)]
    fn primal(self) -> f64 {
        self.value
    }

    #[inline(always)]
    #[track_caller]
    fn unary<O: Unary>(self, op: O) -> Self {
        let (first, second) = unary_flags(op);
        Local::of(op.value(self.value), self.dependence.unary(first, second))
    }

    #[inline(always)]
    #[track_caller]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        let mut flags = const { O::INFO.flags };
        let near = op.near(self.value, y.value);
        flags.first[0] &= near.0;
        flags.first[1] &= near.1;
        Local::of(op.value(self.value, y.value), self.dependence.binary(y.dependence, flags))
    }

    #[inline(always)]
    #[track_caller]
    fn binary_constant<O: Binary>(self, c: f64, op: O) -> Self {
        let flags = const { O::INFO.flags };
        let first = flags.first[0] && op.near(self.value, c).0;
        Local::of(op.value(self.value, c), self.dependence.unary(first, flags.second[0]))
    }

    #[inline(always)]
    #[track_caller]
    fn constant_binary<O: Binary>(c: f64, y: Self, op: O) -> Self {
        let flags = const { O::INFO.flags };
        let first = flags.first[1] && op.near(c, y.value).1;
        Local::of(op.value(c, y.value), y.dependence.unary(first, flags.second[1]))
    }

    #[inline(always)]
    #[track_caller]
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        let mut flags = const { O::INFO.flags };
        for (flag, near) in flags.first.iter_mut().zip(op.near(self.value, y.value, z.value)) {
            *flag &= near;
        }
        let dependence = self.dependence.ternary(y.dependence, z.dependence, flags);
        Local::of(op.value(self.value, y.value, z.value), dependence)
    }

    #[inline(always)]
    fn compare(self, y: Self, comparison: Comparison) -> bool {
        comparison.holds(&self.value, &y.value)
    }

    #[inline(always)]
    fn choose(mask: bool, x: Self, y: Self) -> Self {
        if mask { x } else { y }
    }

    #[inline(always)]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        comparison.holds(&self.value, &y.value)
    }

    #[inline(always)]
    fn vanishes(self) -> bool {
        self.value == 0.0 && self.dependence.is_none()
    }

    #[inline(always)]
    fn all_finite(self) -> bool {
        self.value.is_finite()
    }

    #[track_caller]
    fn array<P: Primitive>(primitive: &P, x: &[Self], y: &mut [Self]) {
        let values: Vec<f64> = x.iter().map(|x| x.value).collect();
        let mut results = vec![0.0; y.len()];
        primitive.value(&values, &mut results);
        let inputs: Vec<D> = x.iter().map(|x| x.dependence).collect();
        let mut outputs = vec![D::NONE; y.len()];
        super::detect::array(primitive, &inputs, &mut outputs);
        for ((y, value), dependence) in y.iter_mut().zip(results).zip(outputs) {
            *y = Local::of(value, dependence);
        }
    }
}

number!([D: Dependence] Local<D>);

impl<D> fmt::Debug for Local<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("value", &self.value).finish_non_exhaustive()
    }
}

impl<D> fmt::Display for Local<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}
