//! The error function and its complement.
//!
//! (1 + 2x) e^(x²) erfc x lies between 1 and 1.3 for all x ≥ 0, and is a polynomial in
//! (x − k)/(x + k) (Shepherd and Laframboise 1981).

use crate::Lanes;
use crate::coefficients::{ERF, ERF_F32, ERFC, ERFC_F32};
use crate::exponential::exp_parts;
use crate::parts::{fast_two_sum, pick, poly_of, product, quotient, tail, two_product};

const TAIL: [f64; 21] = tail(ERFC);
const TAIL_F32: [f64; 9] = tail(ERFC_F32);

/// erfc x for x ≥ 1/2; from `most` on it stays the same.
#[inline(always)]
fn complement<L: Lanes>(x: L, most: L) -> L {
    let x = most.smaller(x);
    let k: L = pick(3.0, 2.25);
    let t = (x - k) / (x + k);
    let first = pick(ERFC[0], ERFC_F32[0]);
    let (p, low) = fast_two_sum(first, poly_of(t, t * t, &TAIL, &TAIL_F32) * t);
    let p = (p, low + pick(ERFC[1], ERFC_F32[1]));
    let (square, error) = two_product(x, x);
    let (e, (first, second)) = exp_parts(-square, -error);
    let below = fast_two_sum(x + x, L::splat(1.0));
    quotient(product(e, p), below) * first * second
}

/// (erf x)/x − 1 for |x| ≤ 1/2.
#[inline(always)]
fn slope<L: Lanes>(x: L) -> L {
    let z = x * x;
    poly_of(z, z * z, &ERF, &ERF_F32)
}

/// The error function.
#[inline(always)]
pub fn erf<L: Lanes>(x: L) -> L {
    let y = x.abs();
    // From there on it is 1.
    let far = (L::splat(1.0) - complement(y, pick(6.0, 4.0))).copysign(x);
    L::select(y.lt(L::splat(0.5)), slope(x).fma(x, x), far)
}

/// 1 − the error function, also where that is small.
#[inline(always)]
pub fn erfc<L: Lanes>(x: L) -> L {
    // From there on it is 0.
    let far = complement(x.abs(), pick(27.5, 10.2));
    let far = L::select(x.lt(L::splat(0.0)), L::splat(2.0) - far, far);
    let (sum, error) = fast_two_sum(L::splat(1.0), -x);
    let near = sum - (slope(x) * x - error);
    L::select(x.abs().lt(L::splat(0.5)), near, far)
}
