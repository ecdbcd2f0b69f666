"""The evaluations of GradBench in JAX: whole arrays, compiled, in doubles."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.nn import logsumexp

import gradbench_shared as shared

jax.config.update("jax_enable_x64", True)

NAME = f"jax {jax.__version__}"


def task(module, function, given):
    """A function without arguments that computes it and waits."""
    args, primal, derivative = MODULES[module](given)
    f = jax.jit(primal if shared.is_primal(function) else derivative)
    args = jax.tree.map(jnp.asarray, args)
    return lambda: jax.block_until_ready(f(*args))


def numbers(result):
    return np.concatenate([np.ravel(part) for part in jax.tree.leaves(result)])


def doubles(given, *names):
    return tuple(np.array(given[name], dtype=np.float64) for name in names)


def lse(given):
    return doubles(given, "x"), logsumexp, jax.grad(logsumexp)


def llsq(given):
    t, sign = shared.llsq(given["n"])

    def primal(x, t, sign):
        # By Horner's rule, at all places at once.
        value, _ = lax.scan(lambda value, x: (value * t + x, None), jnp.zeros_like(t), x, reverse=True)
        return 0.5 * jnp.sum((sign - value) ** 2)

    return (*doubles(given, "x"), t, sign), primal, jax.grad(primal)


def det(given):
    ell = given["ell"]
    levels = shared.det(ell)

    # Terms one by one are faster forwards, all at once on the way back.
    def by_terms(row, minors, columns, smaller, signs):
        terms = zip(signs, columns.T, smaller.T)
        return sum(sign * row[column] * minors[rest] for sign, column, rest in terms)

    def at_once(row, minors, columns, smaller, signs):
        return jnp.sum(signs[:, None] * row[columns.T] * minors[smaller.T], axis=0)

    def primal(a, expanded=by_terms):
        a, minors = a.reshape(ell, ell), jnp.ones(1)
        for k, level in enumerate(levels, 1):
            minors = expanded(a[ell - k], minors, *level)
        return minors[0]

    return doubles(given, "A"), primal, jax.grad(lambda a: primal(a, at_once))


def ode(given):
    s = given["s"]
    h = 2.0 / s

    def primal(x):
        def slope(y):
            return x * jnp.concatenate([jnp.ones(1), y[:-1]])

        def step(y, _):
            k1 = slope(y)
            k2 = slope(y + h / 2 * k1)
            k3 = slope(y + h / 2 * k2)
            k4 = slope(y + h * k3)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        return lax.scan(step, jnp.zeros_like(x), None, length=s)[0]

    return doubles(given, "x"), primal, jax.grad(lambda x: primal(x)[-1])


def kmeans(given):
    def distances(points, centroids):
        squares = jnp.sum(points**2, 1)[:, None] + jnp.sum(centroids**2, 1)
        return squares - 2 * points @ centroids.T

    def primal(points, centroids):
        return jnp.sum(jnp.min(distances(points, centroids), axis=1))

    def derivative(points, centroids):
        # Which centroid is the nearest does not change nearby.
        nearest = jnp.argmin(distances(points, centroids), axis=1)
        gradient = jax.grad(lambda c: jnp.sum((points - c[nearest]) ** 2))
        # The Hessian is diagonal: its product with ones.
        g, h = jax.jvp(gradient, (centroids,), (jnp.ones_like(centroids),))
        return g / h

    return doubles(given, "points", "centroids"), primal, derivative


def gmm(given):
    d, k, n, gamma, m = (given[name] for name in ("d", "k", "n", "gamma", "m"))
    rows, columns = shared.gmm_below(d)
    constant = shared.gmm_constant(given)

    def primal(alpha, mu, q, l, x):
        scales, sums = jnp.exp(q), jnp.sum(q, axis=1)
        factors = jnp.zeros((k, d, d)).at[:, rows, columns].set(l)
        factors = factors + scales[:, :, None] * jnp.eye(d)
        turned = jnp.einsum("nj,kij->nki", x, factors) - jnp.einsum("kj,kij->ki", mu, factors)
        terms = alpha + sums - 0.5 * jnp.sum(turned**2, axis=2)
        prior = 0.5 * gamma**2 * (jnp.sum(scales**2) + jnp.sum(l**2)) - m * jnp.sum(sums)
        return constant + jnp.sum(logsumexp(terms, axis=1)) - n * logsumexp(alpha) - prior

    alpha, mu, q, l, x = doubles(given, "alpha", "mu", "q", "l", "x")
    args = (alpha, mu, q, l.reshape(k, -1), x)
    return args, primal, jax.grad(primal, argnums=(0, 1, 2, 3))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def rotated(about, x):
    squared = about[0] * about[0] + about[1] * about[1] + about[2] * about[2]
    turns = squared > 0
    angle = jnp.sqrt(jnp.where(turns, squared, 1.0))
    axis = [a / angle for a in about]
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    along = (axis[0] * x[0] + axis[1] * x[1] + axis[2] * x[2]) * (1 - cos)
    across, little = cross(axis, x), cross(about, x)
    turned = [x[k] * cos + across[k] * sin + axis[k] * along for k in range(3)]
    return [jnp.where(turns, turned[k], x[k] + little[k]) for k in range(3)]


def ba(given):
    # Number by number: with vectors of three it took twice as long.
    def residual(camera, point, weight, feature):
        x, y, z = rotated(camera[:3], [point[k] - camera[3 + k] for k in range(3)])
        u, v = x / z, y / z
        r = u * u + v * v
        scale = (1 + camera[9] * r + camera[10] * r * r) * camera[6]
        seen = [u * scale + camera[7], v * scale + camera[8]]
        return jnp.stack([weight * (seen[k] - feature[k]) for k in range(2)])

    def of_all(f, cameras, points, weights, features):
        i = jnp.arange(weights.shape[0])
        return jax.vmap(f)(cameras[i % cameras.shape[0]], points[i % points.shape[0]], weights, features)

    def weight_error(w):
        return 1 - w * w

    def primal(*args):
        return of_all(residual, *args), weight_error(args[2])

    def derivative(*args):
        by_camera, by_point, by_weight = of_all(jax.jacrev(residual, argnums=(0, 1, 2)), *args)
        entries = jnp.concatenate([by_camera, by_point, by_weight[:, :, None]], axis=2)
        return entries, jax.vmap(jax.grad(weight_error))(args[2])

    return shared.ba(given), primal, derivative


def lstm(given):
    main, extra, state, sequence = doubles(given, "main_params", "extra_params", "state", "sequence")
    b, layers, c = state.shape[1], state.shape[0] // 2, sequence.shape[0]

    def primal(main, extra, state, sequence):
        def step(state, characters):
            now, after = characters
            x, new = now * extra[0], []
            for i in range(layers):
                (weight, bias), (hidden, cell) = main[i], state[i]
                forget = jax.nn.sigmoid(x * weight[0] + bias[0])
                take = jax.nn.sigmoid(hidden * weight[1] + bias[1])
                give = jax.nn.sigmoid(x * weight[2] + bias[2])
                change = jnp.tanh(hidden * weight[3] + bias[3])
                cell = cell * forget + take * change
                x = give * jnp.tanh(cell)
                new.append((x, cell))
            y = x * extra[1] + extra[2]
            y = y - jnp.log(2 + jnp.sum(jnp.exp(y)))
            return new, after @ y

        state = [(state[i, 0], state[i, 1]) for i in range(layers)]
        _, terms = lax.scan(step, state, (sequence[:-1], sequence[1:]))
        return -jnp.sum(terms) / (b * (c - 1))

    args = (main.reshape(layers, 2, 4, b), extra, state.reshape(layers, 2, b), sequence)
    return args, primal, jax.grad(primal, argnums=(0, 1))


def turns(angles):
    """Rz(a₁) Ry(a₂) Rx(a₀) for each row."""
    sx, sz, sy = jnp.sin(angles).T
    cx, cz, cy = jnp.cos(angles).T
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
        [-sy, cy * sx, cy * cx],
    ]
    return jnp.moveaxis(jnp.array(rows), 2, 0)


def rotation(about):
    """About a vector by its length; none if that is small."""
    squared = about @ about
    turns = squared >= 1e-8
    angle = jnp.sqrt(jnp.where(turns, squared, 1.0))
    x, y, z = axis = about / angle
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    across = jnp.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    whole = cos * jnp.eye(3) + sin * across + (1 - cos) * jnp.outer(axis, axis)
    return jnp.where(turns, whole, jnp.eye(3))


def ht(given):
    data = given["data"]
    model = data["model"]
    relatives, inverses, positions, weights = doubles(
        model, "base_relatives", "inverse_base_absolutes", "base_positions", "weights"
    )
    bones, mirrored = model["bone_count"], model["is_mirrored"]
    places = shared.ht_angles(bones)
    in_triangles = len(given["us"]) > 0

    def vertices(theta, relatives, inverses, positions, weights):
        angles = jnp.append(theta, 0.0)[places]
        turned = jnp.einsum("brk,bkc->brc", relatives[:, :, :3], turns(angles))
        posed = jnp.concatenate([turned, relatives[:, :, 3:]], axis=2)
        absolutes = []
        for bone, parent in enumerate(model["parents"]):
            absolutes.append(posed[bone] if parent < 0 else absolutes[parent] @ posed[bone])
        transforms = (jnp.stack(absolutes) @ inverses)[:, :3]
        skinned = (weights @ transforms.reshape(bones, 12)).reshape(-1, 3, 4)
        skinned = jnp.sum(skinned * positions[:, None, :], axis=2)
        if mirrored:
            skinned = skinned * jnp.array([-1.0, 1.0, 1.0])
        return skinned @ rotation(theta[:3]).T + theta[3:6]

    def primal(theta, us, points, corners, *hand):
        found = vertices(theta, *hand)[corners]
        if not in_triangles:
            return points - found
        u, v = us[:, :1], us[:, 1:]
        return points - (u * found[:, 0] + v * found[:, 1] + (1 - u - v) * found[:, 2])

    def derivative(theta, us, *rest):
        by_pose = jax.jacfwd(primal)(theta, us, *rest)
        if not in_triangles:
            return by_pose
        # A point depends on its own place only, so one tangent is enough for all.
        along = functools.partial(jax.jvp, lambda us: primal(theta, us, *rest), (us,))
        by_place = [along((jnp.zeros_like(us).at[:, j].set(1.0),))[1] for j in range(2)]
        return jnp.concatenate([jnp.stack(by_place, axis=2), by_pose], axis=2)

    theta, us = doubles(given, "theta", "us")
    correspondences = np.array(data["correspondences"])
    corners = np.array(model["triangles"])[correspondences] if in_triangles else correspondences
    args = (theta, us, *doubles(data, "points"), corners, relatives, inverses, positions, weights)
    return args, primal, derivative


MODULES = {
    "lse": lse,
    "llsq": llsq,
    "det": det,
    "ode": ode,
    "kmeans": kmeans,
    "gmm": gmm,
    "ba": ba,
    "lstm": lstm,
    "ht": ht,
}
