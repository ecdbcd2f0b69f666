"""Writes src/tables.rs: python3 tools/tables.py

Needs mpmath and numpy. Doubles have 16 entries and singles 32.
"""

import math
import os
import struct
import sys
from fractions import Fraction

sys.path.insert(0, os.path.dirname(__file__))
import numpy
from minimax import mpf, single, double
from mpmath import log, nint

FILE = os.path.join(os.path.dirname(__file__), "..", "src", "tables.rs")


class Kind:
    """Numbers with their table: how many bits they have, and into how many parts an octave is divided."""

    def __init__(self, name, rounding, fraction, entries, grain):
        self.name, self.rounding, self.fraction, self.entries, self.grain = name, rounding, fraction, entries, grain

    def bits(self, x):
        return struct.unpack("<q", struct.pack("<d", x))[0] if self.fraction == 52 else struct.unpack("<i", struct.pack("<f", x))[0]

    def number(self, bits):
        return struct.unpack("<d", struct.pack("<q", bits))[0] if self.fraction == 52 else struct.unpack("<f", struct.pack("<i", bits))[0]


# The high parts of logarithms are multiples of 2^-grain, so that sums of them up to that of the greatest number are exact.
DOUBLES = Kind("doubles", double, 52, 16, 43)
SINGLES = Kind("singles", single, 23, 32, 17)


def inverses(kind):
    """Where the octave begins, which part 1 lies in, and a number near the inverse of all m of each part.

    Of all ways this is the one with the least f = |m·inverse − 1| that has that number exact, and the inverse 1 around 1.
    f²/|ln m| counts too: rounding errors are those of f², and matter relative to the logarithm.
    """
    best, entries = None, kind.entries
    for one in range(entries // 3, entries * 3 // 4):
        for k in range(1, 48):
            # Parts are as wide below 1 as half of those above.
            def border(i):
                s = Fraction(i - one) - Fraction(k, 48)
                return 1 + s / entries / (2 if s < 0 else 1)

            found, worst = [], 0
            for i in range(entries):
                a, b = border(i), border(i + 1)
                largest = lambda r: max(abs(a * r - 1), abs(b * r - 1))

                def size(r):
                    return max(largest(r), *((m * r - 1) ** 2 / Fraction(abs(math.log(m))) for m in (a, b))) if r != 1 else largest(r)

                choices = [Fraction(1)]
                if i != one:
                    near = 2 / (a + b)
                    choices = [Fraction(int(near * 2**n) + d, 2**n) for n in range(2, 10) for d in range(-2, 4)]
                    # m is a multiple of 2^-52, or of 2^-53 below 1 (doubles).
                    choices = [r for r in choices if largest(r) * r.denominator <= (2 if a >= 1 else 1)]
                if not choices:
                    break
                found.append(min(choices, key=size))
                worst = max(worst, size(found[-1]))
            if len(found) == entries and (best is None or worst < best[0]):
                best = worst, one, Fraction(k, 48), found
    worst, one, part, found = best
    start = kind.bits(1.0) - int((one + part) * 2**kind.fraction / entries)
    print(kind.name, "largest |f| %.6f" % float(worst), flush=True)
    return start, one, found


def high(kind, x):
    return nint(x * 2**kind.grain) / 2**kind.grain


def logarithm(kind):
    start, one, found = inverses(kind)
    step = log(2) / kind.entries
    sums = [(one - i) * step - log(mpf(r.numerator) / r.denominator) for i, r in enumerate(found)]
    highs = [high(kind, s) for s in sums]
    parts = high(kind, step), kind.rounding(step - high(kind, step))
    return [float(r) for r in found], highs, [kind.rounding(s - h) for s, h in zip(sums, highs)], start, one, parts


def power(kind):
    exact = [mpf(2) ** (mpf(i) / kind.entries) for i in range(kind.entries)]
    near = [kind.rounding(x) for x in exact]
    lowered = [kind.number(kind.bits(float(x)) - (i << kind.fraction) // kind.entries) for i, x in enumerate(near)]
    return lowered, [kind.rounding((x - n) / x) for x, n in zip(exact, near)]


def halves(kind):
    """Numbers near 2^(i/entries) with few bits, and half of how much larger their logarithms are.

    There are few enough bits for 1 ± the number to be exact where it is not much smaller. Of those near it is the one with a half
    that has few bits, too: then what is left of an argument near 0 is exact.
    """
    bits, grain = (26, 59) if kind is DOUBLES else (16, 31)
    # What the step of half a logarithm, which is rounded, is short of, at the entries of the octave below 1.
    step = log(2) / (2 * kind.entries)
    short = step - kind.rounding(step)
    found, logs = [mpf(1)], [mpf(0)]
    for i in range(1, kind.entries):
        near = nint(mpf(2) ** (mpf(i) / kind.entries) * 2**bits)

        def half(d):
            return (log((near + d) / 2**bits) - log(2) * i / kind.entries) / 2 + (i - kind.entries) * short

        d = min(range(-32, 33), key=lambda d: abs(half(d) * 2**grain - nint(half(d) * 2**grain)))
        found.append((near + d) / 2**bits)
        logs.append(nint(half(d) * 2**grain) / 2**grain)
    lowered = [kind.number(kind.bits(float(x)) - (i << kind.fraction) // kind.entries) for i, x in enumerate(found)]
    return lowered, [kind.rounding(x) for x in logs]


def short(x, kind):
    """The shortest decimal that is read as this number."""
    return repr(float(x)) if kind is DOUBLES else repr(float(str(numpy.float32(float(x)))))


def main():
    logs = {kind: logarithm(kind) for kind in (DOUBLES, SINGLES)}
    powers = {kind: power(kind) for kind in (DOUBLES, SINGLES)}
    near = {kind: halves(kind) for kind in (DOUBLES, SINGLES)}
    out = ["//! Tables of 16 doubles and 32 singles, for logarithms, powers and exponentials. Written by `tools/tables.py`.", "//!",
           "//! x = m·2ᵉ, and the octave of m, which begins below 1, is divided into as many parts as there are entries.", "",
           '#![allow(clippy::approx_constant, reason = "an entry may be near a known constant")]', "", "use crate::Table;", ""]
    for name, doc, ty, text in [
        ("START", "The bits of the least m, for doubles and for singles.", "i64", lambda kind: "%#x" % logs[kind][3]),
        ("ONE", "The part that 1 lies in.", "f64", lambda kind: "%d.0" % logs[kind][4]),
        ("STEP", "ln 2/entries, with so few bits that its product with any exponent is exact.", "f64",
         lambda kind: short(logs[kind][5][0], kind)),
        ("STEP_LOW", "What is missing from [`STEP`].", "f64", lambda kind: short(logs[kind][5][1], kind)),
    ]:
        out.append("/// %s" % doc)
        out.append("pub(crate) const %s: (%s, %s) = (%s, %s);" % (name, ty, ty, text(DOUBLES), text(SINGLES)))
    for name, doc, found, k in [
        ("INVERSE", "Numbers near 1/m, such that m·entry − 1 is exact and small.", logs, 0),
        ("LN", "The high part of −ln(inverse) less the logarithm of 2^((i − i₁)/entries) for part i, where i₁ is that of 1.", logs, 1),
        ("LN_LOW", "What is missing from [`LN`].", logs, 2),
        ("POWER", "2^(i/entries), with i taken from the highest bits of the fraction.", powers, 0),
        ("POWER_LOW", "What is missing from [`POWER`], relative to it.", powers, 1),
        ("NEAR_POWER", "Numbers near 2^(i/entries) with few bits, with i taken from the highest ones of the fraction.", near, 0),
        ("NEAR_POWER_LOG", "Half of how much larger the logarithm of [`NEAR_POWER`] is than i/entries of ln 2, and what i − entries rounded steps are short of.", near, 1),
    ]:
        out.append("/// %s" % doc)
        out.append("pub(crate) static %s: Table = Table {" % name)
        for kind in (DOUBLES, SINGLES):
            out.append("%s: [%s]," % (kind.name, ", ".join(short(x, kind) for x in found[kind][k])))
        out.append("};")
    open(FILE, "w").write("\n".join(out) + "\n")
    os.system("rustfmt --edition 2024 --config-path %s %s" % (os.path.join(os.path.dirname(FILE), "..", "..", ".."), FILE))


main()
