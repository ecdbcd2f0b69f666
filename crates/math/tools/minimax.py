"""Minimax polynomials by the exchange algorithm of Remez, in high precision.

`fit` gives the coefficients of a polynomial in the given powers of x that minimises the largest
weighted error, already rounded to doubles or singles: each coefficient is rounded in turn and the
others are fitted again, so that later ones make up for the rounding of earlier ones.
"""

import struct

import numpy
from mpmath import mp, mpf, lu_solve, matrix, cos, pi

mp.dps = 50


def single(c):
    return mpf(struct.unpack("f", struct.pack("f", float(c)))[0])


def double(c):
    return mpf(float(c))


def remez(target, weight, a, b, powers, grid=600):
    """Coefficients for `powers` on [a, b], and the largest weighted error."""
    n = len(powers)
    # Points of a grid that is denser towards the ends, as the extrema are.
    xs = [(a + b) / 2 - (b - a) / 2 * cos(pi * (i + mpf(1) / 2) / grid) for i in range(grid)]
    fs = [target(x) for x in xs]
    ws = [weight(x) for x in xs]
    table = [[x**p for p in powers] for x in xs]
    index = [int((i + 0.5) * grid / (n + 1)) for i in range(n + 1)]
    best = None
    for _ in range(40):
        m = matrix(n + 1, n + 1)
        v = matrix(n + 1, 1)
        for row, i in enumerate(index):
            for col in range(n):
                m[row, col] = table[i][col] * ws[i]
            m[row, n] = (-1) ** row
            v[row] = fs[i] * ws[i]
        c = lu_solve(m, v)
        level = abs(c[n])
        err = [ws[i] * (fs[i] - sum(c[k] * table[i][k] for k in range(n))) for i in range(grid)]
        top = max(abs(e) for e in err)
        if best is None or top < best[1]:
            best = ([c[k] for k in range(n)], top)
        if top <= level * mpf("1.005"):
            break
        # One extremum for each run of equal signs, then the n + 1 neighbouring ones with the largest.
        runs = []
        for i, e in enumerate(err):
            if runs and (err[runs[-1]] > 0) == (e > 0):
                if abs(e) > abs(err[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > n + 1:
            if abs(err[runs[0]]) < abs(err[runs[-1]]):
                runs.pop(0)
            else:
                runs.pop()
        if len(runs) < n + 1:
            break
        index = runs
    return best


def fit(target, weight, a, b, powers, rounding=double, exact=0, grid=400):
    """Rounded coefficients and log2 of the largest weighted error.

    The first `exact` coefficients are left in high precision (the caller splits them in two).
    """
    a, b = mpf(a), mpf(b)
    fixed, _ = remez(target, weight, a, b, powers, grid)
    xs = [(a + b) / 2 - (b - a) / 2 * cos(pi * (i + mpf(1) / 2) / (2 * grid)) for i in range(2 * grid)]
    ws = [weight(x) for x in xs]
    columns = numpy.array([[float(w * x**p) for p in powers] for x, w in zip(xs, ws)])
    scale = abs(columns).max(axis=0)
    columns = columns / scale
    for k in range(exact, len(powers)):
        rounded = rounding(fixed[k])
        change = fixed[k] - rounded
        fixed[k] = rounded
        if k + 1 < len(powers) and change != 0:
            # The later coefficients take over what rounding took away, by least squares.
            more = numpy.linalg.lstsq(columns[:, k + 1 :], columns[:, k], rcond=None)[0]
            for j in range(k + 1, len(powers)):
                fixed[j] += change * mpf(more[j - k - 1] * scale[k] / scale[j])
    worst = max(
        abs(w * (target(x) - sum(k * x**p for p, k in zip(powers, fixed)))) for x, w in zip(xs, ws)
    )
    return fixed, float(mp.log(worst, 2))
