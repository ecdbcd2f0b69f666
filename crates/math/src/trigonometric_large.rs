//! Large arguments of sine and cosine: x·2/π modulo 4 from those bits of 2/π that matter (Payne and
//! Hanek 1983), in floating point and for all lanes at once.

use crate::parts::{fast_two_sum, magic, two_product, two_sum};
use crate::{LaneBits, Lanes};

/// 2/π in 23 digits of 53 bits, first digit first, as integers. 1 219 bits.
const TWO_OVER_PI: [f64; 23] = [
    5_734_161_139_222_658.0,
    5_814_151_408_469_972.0,
    7_440_259_586_542_284.0,
    5_563_773_718_881_558.0,
    2_066_796_102_992_750.0,
    2_563_573_915_284_664.0,
    55_291_115_753_100.0,
    5_098_427_330_010_289.0,
    1_465_545_334_474_430.0,
    5_835_026_907_506_289.0,
    6_776_677_510_095_004.0,
    7_069_188_010_357_663.0,
    2_595_984_518_904_818.0,
    2_831_001_892_290_551.0,
    4_552_804_911_380_620.0,
    3_195_225_570_766_134.0,
    4_461_702_110_328_553.0,
    8_190_251_822_055_336.0,
    6_397_593_724_909_042.0,
    8_751_785_341_853_560.0,
    5_811_081_437_509_311.0,
    3_456_741_467_624_832.0,
    7_180_050_975_382_879.0,
];

/// x = n·π/2 + r + low for doubles 1 ≤ x < ∞; gives r, low and n modulo 4. NaN for ∞ and NaN.
///
/// With x < 2^(e+1), the digits of 2/π whose product with x is a multiple of 4 are skipped: the
/// first one used has the number k = ⌊(e − 54)/53⌋ or 0. Five digits leave an error below 2⁻¹⁵⁰,
/// and no double is nearer to a multiple of π/2 than 2⁻⁶².
#[inline(always)]
pub(crate) fn reduce_large<L: Lanes>(x: L) -> [L; 3] {
    debug_assert!(L::DOUBLE);
    // 2⁵² + e + 1023, by the bits of the exponent.
    let biased = x.to_bits().shr(52).or(L::Bits::splat(0x4330_0000_0000_0000));
    let e = L::from_bits(biased) - L::splat(4_503_599_627_370_496.0 + 1023.0);
    // The nearest integer to (e − 54)/53 − 1/2 + 1/106 is its floor.
    let k = L::splat(0.0).larger((e - L::splat(54.0 + 26.0)) * L::splat(1.0 / 53.0));
    let shifted = k + magic();
    let k = shifted - magic();
    let digits = pick_digits::<L>(shifted.to_bits());
    // x·2^(−53 k), which is below 2¹⁰⁸.
    let down = k.fma(L::splat(53.0), magic()).to_bits().shl(52);
    let x = L::select(
        x.lt(L::splat(f64::INFINITY)),
        L::from_bits(x.to_bits().sub(down)),
        L::splat(f64::NAN),
    );

    // The products, exactly, in order of size; whole multiples of 4 are taken out of the large ones.
    let mut terms = [x; 10];
    let mut unit = 2.0_f64.powi(-53);
    for (i, &digit) in digits.iter().enumerate() {
        let (product, error) = two_product(x, digit * L::splat(unit));
        terms[2 * i] = if i < 2 { modulo_four(product) } else { product };
        terms[2 * i + 1] = if i < 1 { modulo_four(error) } else { error };
        unit *= 2.0_f64.powi(-53);
    }
    distil(&mut terms);
    let n = terms[0].round_even();
    terms[0] = terms[0] - n;
    // The whole may have cancelled: what counts is now further down.
    distil(&mut terms);
    distil(&mut terms);
    let (high, low) = (terms[0], terms[1] + terms[2]);
    // r = (high + low)·π/2.
    let (first, second) = two_product(high, L::splat(std::f64::consts::FRAC_PI_2));
    let second = high.fma(L::splat(6.123_233_995_736_766e-17), second);
    let second = low.fma(L::splat(std::f64::consts::FRAC_PI_2), second);
    let (r, low) = fast_two_sum(first, second);
    [r, low, n]
}

/// Five digits from the number in the low bits of k on, by shifts of 16, 8, 4, 2 and 1 places.
#[inline(always)]
fn pick_digits<L: Lanes>(k: L::Bits) -> [L; 5] {
    let zero = L::Bits::splat(0);
    let mut digits = [L::splat(TWO_OVER_PI[0]); 23];
    for i in 1..23 {
        digits[i] = L::splat(TWO_OVER_PI[i]);
    }
    // As many places as later shifts can still reach.
    for (bit, reach) in [(4, 7), (3, 12), (2, 8), (1, 6), (0, 5)] {
        let shift = k.shl(63 - bit).lt(zero);
        for i in 0..reach {
            digits[i] = L::select(shift, digits[i + (1 << bit)], digits[i]);
        }
    }
    [digits[0], digits[1], digits[2], digits[3], digits[4]]
}

/// x minus the nearest multiple of 4, exactly.
#[inline(always)]
fn modulo_four<L: Lanes>(x: L) -> L {
    (x * L::splat(0.25)).round_even().fma(L::splat(-4.0), x)
}

/// Adds from the least term up; the sum is kept exactly, more and more of it in the first terms.
#[inline(always)]
fn distil<L: Lanes>(terms: &mut [L; 10]) {
    for i in (0..9).rev() {
        (terms[i], terms[i + 1]) = two_sum(terms[i], terms[i + 1]);
    }
}
