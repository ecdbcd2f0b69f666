"""What JAX and PyTorch are both given: constants and tables that follow from an input's shape."""

import math
from itertools import combinations

import numpy as np


def is_primal(function):
    return function in ("primal", "objective", "cost")


def llsq(n):
    """The places and the signs."""
    t = -1.0 + np.arange(n) * 2.0 / (n - 1.0)
    return t, np.sign(t)


def det(ell):
    """For each number of rows: columns, the minors without each, and signs.

    The minors of the last k rows, one for each set of k columns, are expanded along their first row; so each is computed
    once, as in our trace, where equal operations are one.
    """
    levels, before = [], {(): 0}
    for k in range(1, ell + 1):
        sets = list(combinations(range(ell), k))
        smaller = [[before[s[:j] + s[j + 1 :]] for j in range(k)] for s in sets]
        levels.append((np.array(sets), np.array(smaller), (-1.0) ** np.arange(k)))
        before = {s: at for at, s in enumerate(sets)}
    return levels


def gmm_constant(given):
    d, k, n, gamma, m = (given[name] for name in ("d", "k", "n", "gamma", "m"))
    nu = d + m + 1.0
    gammas = sum(math.lgamma(nu / 2 - j / 2) for j in range(d)) + 0.25 * d * (d - 1) * math.log(math.pi)
    prior = nu * d * (math.log(gamma) - 0.5 * math.log(2)) - gammas
    return k * prior - 0.5 * n * d * math.log(2 * math.pi)


def gmm_below(d):
    """Rows and columns below a diagonal, column by column."""
    columns, rows = np.triu_indices(d, 1)
    return rows, columns


def ba(given):
    """For each observation the camera, point and weight in a row; the features."""
    p = given["p"]
    cameras = np.tile(np.array(given["cam"], dtype=np.float64), (given["n"], 1))
    points = np.tile(np.array(given["x"], dtype=np.float64), (given["m"], 1))
    weights = np.full(p, given["w"], dtype=np.float64)
    features = np.tile(np.array(given["feat"], dtype=np.float64), (p, 1))
    return cameras, points, weights, features


def ht_angles(bones):
    """Where the three angles of each bone stand in the pose; a zero stands behind its 26 numbers."""
    places = np.full((bones, 3), 26)
    for finger in range(5):
        first, start = 2 + 4 * finger, 6 + 4 * finger
        places[first, :2] = start, start + 1
        places[first + 1, 0], places[first + 2, 0] = start + 2, start + 3
    return places
