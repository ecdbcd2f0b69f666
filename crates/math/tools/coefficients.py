"""Writes src/coefficients.rs: python3 tools/coefficients.py [--new] [NAME ...]

Needs mpmath and numpy. With names, only those are computed; with --new, only those that the file
does not have yet. The others are kept as they are.
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
from minimax import mp, mpf, fit, single, double
from mpmath import asin, atan, atanh, cos, cosh, digamma, erf, erfc, exp, expm1, gamma, log, loggamma, pi, sin, sinh, sqrt, tan, tanh

FILE = os.path.join(os.path.dirname(__file__), "..", "src", "coefficients.rs")
NEW = "--new" in sys.argv
SPECS = []


def spec(name, doc, target, weight, a, b, powers, rounding=double, exact=0, grid=400):
    SPECS.append((name, doc, target, weight, a, b, list(powers), rounding, exact, grid))


def both(name, doc, target, weight, a, b, doubles, singles, step=1, start=0):
    spec(name, doc, target, weight, a, b, range(start, start + step * doubles, step))
    spec(name + "_F32", doc, target, weight, a, b, range(start, start + step * singles, step), single)


LN2_HALF = log(2) / 2 * mpf("1.001")
both("EXP", "(eˣ − 1 − x)/x² on |x| ≤ ln 2/2.",
     lambda x: (expm1(x) - x) / x**2, abs, -LN2_HALF, LN2_HALF, 10, 5)
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

spec("LN_TAIL", "(2 artanh s − 2 s − 2 s³/3 − 2 s⁵/5)/s⁷ as a polynomial in s², on |s| ≤ (√2 − 1)/(√2 + 1).",
     lambda z: (2 * atanh(sqrt(z)) - 2 * sqrt(z) - 2 * sqrt(z) ** 3 / 3 - 2 * sqrt(z) ** 5 / 5) / sqrt(z) ** 7,
     lambda z: z**3 / 2, mpf("1e-6"), LOG_END, range(7))
spec("INVERSE_CBRT", "x^(−1/3) on 2^(−3/2) ≤ x ≤ 2^(3/2).",
     lambda t: t ** (-mpf(1) / 3), lambda t: t ** (mpf(1) / 3), mpf(2) ** mpf("-1.51"), mpf(2) ** mpf("1.51"), range(4), single)

both("ATAN", "(arctan t − t)/t³ as a polynomial in t², on |t| ≤ √2 − 1.",
     lambda z: (atan(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3, lambda z: z, mpf("1e-9"), mpf("0.4143") ** 2, 11, 5)
both("ASIN", "(arcsin t − t)/t³ as a polynomial in t², on |t| ≤ 1/2.",
     lambda z: (asin(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3, lambda z: z, mpf("1e-9"), mpf("0.2501"), 13, 5)


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
            body = ", ".join(repr(float(k)) for k in c)
        count = len([k for k in body.split(",") if k.strip()])
        out.append("/// %s" % doc)
        out.append("pub(crate) const %s: [f64; %d] = [%s];" % (name, count, body.strip()))
    open(FILE, "w").write("\n".join(out) + "\n")
    os.system("rustfmt --edition 2024 --config-path %s %s" % (os.path.join(os.path.dirname(FILE), "..", "..", ".."), FILE))


main()
