"""Writes src/coefficients.rs: python3 tools/coefficients.py [--new] [NAME ...]

Needs mpmath and numpy. With names, only those are computed; with --new, only those that the file
does not have yet. The others are kept as they are.
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
from minimax import mp, mpf, fit, single, double
from mpmath import asin, atan, atanh, cos, cosh, digamma, erf, erfc, euler, exp, expm1, findroot, log, loggamma, pi, sin, sinh, sqrt, tanh

FILE = os.path.join(os.path.dirname(__file__), "..", "src", "coefficients.rs")
NEW = "--new" in sys.argv
SPECS = []


def spec(name, doc, target, weight, a, b, powers, rounding=double, exact=0, grid=400):
    SPECS.append((name, doc, target, weight, a, b, list(powers), rounding, exact, grid))


def both(name, doc, target, weight, a, b, doubles, singles, step=1, start=0):
    spec(name, doc, target, weight, a, b, range(start, start + step * doubles, step))
    spec(name + "_F32", doc, target, weight, a, b, range(start, start + step * singles, step), single)


LN2_HALF = log(2) / 2 * mpf("1.001")
both("EXP_M1", "(eˣ − 1 − x)/x² on |x| ≤ ln 2/2, for differences from 1.",
     lambda x: (expm1(x) - x) / x**2, abs, -LN2_HALF, LN2_HALF, 11, 6)
both("EXP2", "(2ˣ − 1)/x on |x| ≤ 1/2.",
     lambda x: expm1(x * log(2)) / x, abs, mpf("-0.5005"), mpf("0.5005"), 11, 6)
LOG_END = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2 * mpf("1.001")
both("LN", "(2 artanh s − 2 s)/s³ as a polynomial in s², on |s| ≤ (√2 − 1)/(√2 + 1).",
     lambda z: (2 * atanh(sqrt(z)) - 2 * sqrt(z)) / (sqrt(z) * z), lambda z: z / 2, mpf("1e-9"), LOG_END, 7, 4)

QUARTER = (pi / 4 * mpf("1.0005")) ** 2
both("SIN", "(sin r − r)/r³ as a polynomial in r², on |r| ≤ π/4.",
     lambda z: (sin(sqrt(z)) - sqrt(z)) / (sqrt(z) * z), lambda z: z, mpf("1e-9"), QUARTER, 6, 3)
both("COS", "(cos r − 1 + r²/2)/r⁴ as a polynomial in r², on |r| ≤ π/4.",
     lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda z: z**2, mpf("1e-9"), QUARTER, 6, 3)

LN2_QUARTER = LN2_HALF**2
both("SINH", "(sinh r − r)/r³ as a polynomial in r², on |r| ≤ ln 2/2.",
     lambda z: (sinh(sqrt(z)) - sqrt(z)) / (sqrt(z) * z), lambda z: z, mpf("1e-9"), LN2_QUARTER, 5, 2)
both("COSH", "(cosh r − 1 − r²/2)/r⁴ as a polynomial in r², on |r| ≤ ln 2/2.",
     lambda z: (cosh(sqrt(z)) - 1 - z / 2) / z**2, lambda z: z**2, mpf("1e-9"), LN2_QUARTER, 5, 2)

TANH = "(tanh r − r)/r³ as a polynomial in r², on |r| ≤ ln 2/%d."
spec("TANH", TANH % 64,
     lambda z: (tanh(sqrt(z)) - sqrt(z)) / (sqrt(z) * z), lambda z: z, mpf("1e-9"), (LN2_HALF / 32) ** 2, range(3))
spec("TANH_F32", TANH % 128,
     lambda z: (tanh(sqrt(z)) - sqrt(z)) / (sqrt(z) * z), lambda z: z, mpf("1e-9"), (LN2_HALF / 64) ** 2, range(1), single)

# The ends are the largest |f| that `tables.py` tells.
LN_NEAR = "(ln(1 + f) − f + f²/2)/f³ on |f| ≤ %s."
spec("LN_NEAR", LN_NEAR % "0.0333",
     lambda f: (log(1 + f) - f + f * f / 2) / f**3, lambda f: f * f, mpf("-0.0333"), mpf("0.0333"), range(9))
spec("LN_NEAR_F32", LN_NEAR % "0.0187",
     lambda f: (log(1 + f) - f + f * f / 2) / f**3, lambda f: f * f, mpf("-0.0187"), mpf("0.0187"), range(3), single)
spec("EXP_NEAR", "(eˣ − 1 − x)/x² on |x| ≤ ln 2/32.",
     lambda x: (expm1(x) - x) / x**2, lambda x: x * x, -LN2_HALF / 16, LN2_HALF / 16, range(5))
spec("EXP_NEAR_F32", "(eˣ − 1 − x)/x² on |x| ≤ ln 2/64.",
     lambda x: (expm1(x) - x) / x**2, lambda x: x * x, -LN2_HALF / 32, LN2_HALF / 32, range(2), single)
spec("INVERSE_CBRT", "x^(−1/3) on 2^(−3/2) ≤ x ≤ 2^(3/2).",
     lambda t: t ** (-mpf(1) / 3), lambda t: t ** (mpf(1) / 3), mpf(2) ** mpf("-1.51"), mpf(2) ** mpf("1.51"), range(4), single)

both("ATAN", "(arctan t − t)/t³ as a polynomial in t², on |t| ≤ √2 − 1.",
     lambda z: (atan(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3, lambda z: z, mpf("1e-9"), mpf("0.4143") ** 2, 11, 5)
both("ASIN", "(arcsin t − t)/t³ as a polynomial in t², on |t| ≤ 1/2.",
     lambda z: (asin(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3, lambda z: z, mpf("1e-9"), mpf("0.2501"), 13, 5)


def scaled_erfc(k):
    """(1 + 2x) e^(x²) erfc x as a function of t = (x − k)/(x + k)."""

    def g(t):
        x = k * (1 + t) / (1 - t)
        return (1 + 2 * x) * exp(x * x) * erfc(x)

    return g


def erfc_range(k, end):
    return (mpf("0.499") - k) / (mpf("0.499") + k), (end - k) / (end + k)


spec("ERFC", "(1 + 2x) e^(x²) erfc x as a polynomial in t = (x − 3)/(x + 3), on 1/2 ≤ x ≤ 27.5.",
     scaled_erfc(mpf(3)), lambda t: mpf(1), *erfc_range(mpf(3), mpf("27.5")), range(22), exact=1)
spec("ERFC_F32", "(1 + 2x) e^(x²) erfc x as a polynomial in t = (x − 2.25)/(x + 2.25), on 1/2 ≤ x ≤ 10.2.",
     scaled_erfc(mpf("2.25")), lambda t: mpf(1), *erfc_range(mpf("2.25"), mpf("10.2")), range(10), single, exact=1)
both("ERF", "(erf x)/x − 1 as a polynomial in x², on |x| ≤ 1/2.",
     lambda z: erf(sqrt(z)) / sqrt(z) - 1, lambda z: mpf(1), mpf("1e-9"), mpf("0.501") ** 2, 10, 5)

spec("LN_GAMMA", "(ln Γ(2 + y)/y − (1 − γ))/y on |y| ≤ 1/2.",
     lambda y: (loggamma(2 + y) / y - (1 - euler)) / y, lambda y: abs(y) / mpf("0.4"), mpf("-0.5001"), mpf("0.5001"), range(19),
     exact=1, grid=300)
spec("STIRLING", "x (ln Γ(x) − (x − 1/2) ln x + x − ln(2π)/2) as a polynomial in 1/x², on x ≥ 4.",
     lambda w: (loggamma(1 / sqrt(w)) - (1 / sqrt(w) - mpf(1) / 2) * log(1 / sqrt(w)) + 1 / sqrt(w) - log(2 * pi) / 2) / sqrt(w),
     lambda w: sqrt(w) / 2, mpf("1e-6"), mpf(1) / 16, range(9), grid=300)
DIGAMMA_ROOT = findroot(digamma, mpf("1.46163"))
spec("DIGAMMA", "ψ(3/2 + y)/(3/2 + y − x₀) on |y| ≤ 1/2, where ψ(x₀) = 0.",
     lambda y: digamma(y + mpf(3) / 2) / (y + mpf(3) / 2 - DIGAMMA_ROOT), lambda y: mpf(1), mpf("-0.5001"), mpf("0.5001"), range(23),
     exact=1, grid=300)
spec("DIGAMMA_TAIL", "x² (ln x − 1/(2x) − ψ(x)) as a polynomial in 1/x², on x ≥ 4.",
     lambda w: (log(1 / sqrt(w)) - sqrt(w) / 2 - digamma(1 / sqrt(w))) / w, lambda w: w, mpf("1e-6"), mpf(1) / 16, range(9), grid=300)


def main():
    wanted = set(sys.argv[1:]) - {"--new"}
    old = {}
    if os.path.exists(FILE):
        text = open(FILE).read()
        for m in re.finditer(r"const (\w+): \[f64; (\d+)\] =\s*\[(.*?)\];", text, re.S):
            old[m[1]] = m[3]
    known = {s[0] for s in SPECS}
    assert wanted <= known, wanted - known
    out = ["//! Coefficients of minimax polynomials, lowest power first. Written by `tools/coefficients.py`.", "",
           '#![allow(clippy::approx_constant, reason = "a fitted coefficient may be near a known constant")]', ""]
    for name, doc, target, weight, a, b, powers, rounding, exact, grid in SPECS:
        if name in old and name not in wanted and (wanted or NEW):
            body = old[name]
        else:
            c, error = fit(target, weight, a, b, powers, rounding, exact, grid)
            print(name, len(powers), "2^%.2f" % error, flush=True)
            parts = []
            for i, k in enumerate(c):
                parts += [rounding(k), rounding(k - rounding(k))] if i < exact else [k]
            body = ", ".join(repr(float(k)) for k in parts)
        count = len([k for k in body.split(",") if k.strip()])
        out.append("/// %s" % doc)
        if exact:
            out += ["///", "/// The first coefficient is in two parts."]
        out.append("pub(crate) const %s: [f64; %d] = [%s];" % (name, count, body.strip()))
    open(FILE, "w").write("\n".join(out) + "\n")
    os.system("rustfmt --edition 2024 --config-path %s %s" % (os.path.join(os.path.dirname(FILE), "..", "..", ".."), FILE))


main()
