"""The evaluations of GradBench in PyTorch: whole arrays, eager, in doubles."""

import warnings

import numpy as np
import torch

import gradbench_shared as shared

# Its own use of what it will drop.
warnings.filterwarnings("ignore", category=FutureWarning, module="torch")
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

NAME = f"torch {torch.__version__.split('+')[0]}"


def task(module, function, given):
    """A function without arguments that computes it."""
    primal, derivative = MODULES[module](given)
    if not shared.is_primal(function):
        return derivative

    def run():
        with torch.no_grad():
            return primal()

    return run


def numbers(result):
    parts = result if isinstance(result, (tuple, list)) else [result]
    return np.concatenate([part.detach().numpy().ravel() for part in parts])


def doubles(given, *names):
    found = [torch.tensor(given[name], dtype=torch.float64) for name in names]
    return found if len(found) > 1 else found[0]


def with_gradient(primal, *moving):
    """The function and its gradient by tensors that it uses."""
    for x in moving:
        x.requires_grad_(True)
    return primal, lambda: torch.autograd.grad(primal(), moving)


def lse(given):
    x = doubles(given, "x")
    return with_gradient(lambda: torch.logsumexp(x, 0), x)


def llsq(given):
    x = doubles(given, "x")
    t, sign = map(torch.from_numpy, shared.llsq(given["n"]))

    def primal():
        # The fastest at 1024 points: 0.73 ms for the gradient, `vander` 1.07, Horner's rule 4.3. At 16 points `vander` is
        # (0.10 ms against 0.33), at 16 392 Horner's rule (6.3 ms against 8.9).
        powers = [torch.ones_like(t)]
        for _ in range(len(x) - 1):
            powers.append(powers[-1] * t)
        return 0.5 * torch.sum((sign - x @ torch.stack(powers)) ** 2)

    return with_gradient(primal, x)


def det(given):
    ell = given["ell"]
    a = doubles(given, "A")
    levels = [tuple(map(torch.from_numpy, level)) for level in shared.det(ell)]

    def primal():
        rows, minors = a.reshape(ell, ell), torch.ones(1)
        for k, (columns, smaller, signs) in enumerate(levels, 1):
            minors = torch.sum(signs * rows[ell - k][columns] * minors[smaller], dim=1)
        return minors[0]

    return with_gradient(primal, a)


def ode(given):
    x, s = doubles(given, "x"), given["s"]
    h = 2.0 / s
    one = torch.ones(1)

    def slope(y):
        return x * torch.cat([one, y[:-1]])

    def primal():
        y = torch.zeros_like(x)
        for _ in range(s):
            k1 = slope(y)
            k2 = slope(y + h / 2 * k1)
            k3 = slope(y + h / 2 * k2)
            k4 = slope(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y

    x.requires_grad_(True)
    return primal, lambda: torch.autograd.grad(primal()[-1], x)


def kmeans(given):
    points, centroids = doubles(given, "points", "centroids")

    def distances():
        squares = torch.sum(points**2, 1)[:, None] + torch.sum(centroids**2, 1)
        return torch.addmm(squares, points, centroids.T, alpha=-2)

    def primal():
        return torch.sum(torch.min(distances(), dim=1).values)

    def derivative():
        # Which centroid is the nearest does not change nearby.
        with torch.no_grad():
            nearest = torch.argmin(distances(), dim=1)
        cost = torch.sum((points - centroids[nearest]) ** 2)
        (g,) = torch.autograd.grad(cost, centroids, create_graph=True)
        # The Hessian is diagonal: the gradient of the sum.
        (h,) = torch.autograd.grad(g.sum(), centroids)
        return g / h

    centroids.requires_grad_(True)
    return primal, derivative


def gmm(given):
    d, k, n, gamma, m = (given[name] for name in ("d", "k", "n", "gamma", "m"))
    rows, columns = map(torch.from_numpy, shared.gmm_below(d))
    constant = shared.gmm_constant(given)
    alpha, mu, q, l, x = doubles(given, "alpha", "mu", "q", "l", "x")
    l = l.reshape(k, -1)

    def primal():
        scales, sums = torch.exp(q), torch.sum(q, dim=1)
        factors = torch.diag_embed(scales)
        factors[:, rows, columns] = l
        turned = (x @ factors.reshape(k * d, d).T).reshape(n, k, d)
        turned = turned - (factors @ mu[:, :, None])[:, :, 0]
        terms = alpha + sums - 0.5 * torch.sum(turned**2, dim=2)
        prior = 0.5 * gamma**2 * (torch.sum(scales**2) + torch.sum(l**2)) - m * torch.sum(sums)
        points = torch.sum(torch.logsumexp(terms, dim=1))
        return constant + points - n * torch.logsumexp(alpha, 0) - prior

    return with_gradient(primal, alpha, mu, q, l)


def ba(given):
    cameras, points, weights, features = map(torch.from_numpy, shared.ba(given))
    i = torch.arange(given["p"])

    def observed():
        """What an observation depends on, in a row."""
        camera, point = cameras[i % len(cameras)], points[i % len(points)]
        return torch.cat([camera, point, weights[:, None]], dim=1)

    def residuals(x):
        about, centre, focal, middle = x[:, :3], x[:, 3:6], x[:, 6:7], x[:, 7:9]
        seen = rotated(about, x[:, 11:14] - centre)
        uv = seen[:, :2] / seen[:, 2:]
        r = torch.sum(uv * uv, dim=1, keepdim=True)
        distortion = 1 + x[:, 9:10] * r + x[:, 10:11] * r * r
        return x[:, 14:] * (uv * distortion * focal + middle - features)

    def weight_errors():
        return 1 - weights * weights

    def primal():
        return residuals(observed()), weight_errors()

    def derivative():
        # Residuals of different observations have nothing in common, so sums give all rows at once.
        x = observed().detach().requires_grad_(True)
        u, v = residuals(x).sum(dim=0)
        (by_u,) = torch.autograd.grad(u, x, retain_graph=True)
        (by_v,) = torch.autograd.grad(v, x)
        (by_weight,) = torch.autograd.grad(weight_errors().sum(), weights)
        return torch.stack([by_u, by_v], dim=1), by_weight

    weights.requires_grad_(True)
    return primal, derivative


def rotated(about, x):
    squared = torch.sum(about * about, dim=1, keepdim=True)
    turns = squared > 0
    angle = torch.sqrt(torch.where(turns, squared, 1.0))
    axis = about / angle
    sin, cos = torch.sin(angle), torch.cos(angle)
    along = torch.sum(axis * x, dim=1, keepdim=True) * (1 - cos)
    turned = x * cos + torch.linalg.cross(axis, x) * sin + axis * along
    return torch.where(turns, turned, x + torch.linalg.cross(about, x))


def lstm(given):
    main, extra, state, sequence = doubles(given, "main_params", "extra_params", "state", "sequence")
    b, layers, c = state.shape[1], state.shape[0] // 2, sequence.shape[0]
    main, start = main.reshape(layers, 2, 4, b), state.reshape(layers, 2, b)

    def primal():
        parameters = [layer.unbind() for layer in main.unbind()]
        hidden, cell = map(list, start.unbind(dim=1))
        weight_in, weight_out, bias_out = extra.unbind()
        inputs, last = (sequence[:-1] * weight_in).unbind(), []
        for x in inputs:
            for i, (weight, bias) in enumerate(parameters):
                # All four gates at once.
                gates = torch.addcmul(bias, torch.stack([x, hidden[i], x, hidden[i]]), weight)
                forget, take, give = torch.sigmoid(gates[:3]).unbind()
                cell[i] = cell[i] * forget + take * torch.tanh(gates[3])
                x = hidden[i] = give * torch.tanh(cell[i])
            last.append(x)
        y = torch.stack(last) * weight_out + bias_out
        y = y - torch.log(2 + torch.sum(torch.exp(y), dim=1, keepdim=True))
        return -torch.sum(sequence[1:] * y) / (b * (c - 1))

    return with_gradient(primal, main, extra)


def turns(angles):
    """Rz(a₁) Ry(a₂) Rx(a₀) for each row."""
    sx, sz, sy = torch.sin(angles).unbind(1)
    cx, cz, cy = torch.cos(angles).unbind(1)
    entries = [
        cz * cy,
        cz * sy * sx - sz * cx,
        cz * sy * cx + sz * sx,
        sz * cy,
        sz * sy * sx + cz * cx,
        sz * sy * cx - cz * sx,
        -sy,
        cy * sx,
        cy * cx,
    ]
    return torch.stack(entries, dim=1).reshape(-1, 3, 3)


def rotation(about):
    """About a vector by its length; none if that is small."""
    squared = torch.sum(about * about)
    turns = squared >= 1e-8
    angle = torch.sqrt(torch.where(turns, squared, 1.0))
    axis = about / angle
    x, y, z = axis.unbind()
    zero = torch.zeros_like(x)
    sin, cos = torch.sin(angle), torch.cos(angle)
    across = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
    whole = cos * torch.eye(3) + sin * across + (1 - cos) * torch.outer(axis, axis)
    return torch.where(turns, whole, torch.eye(3))


def ht(given):
    data = given["data"]
    model = data["model"]
    relatives, inverses, positions, weights = doubles(
        model, "base_relatives", "inverse_base_absolutes", "base_positions", "weights"
    )
    theta, us = doubles(given, "theta", "us")
    points, bones = doubles(data, "points"), model["bone_count"]
    places = torch.from_numpy(shared.ht_angles(bones))
    in_triangles = len(given["us"]) > 0
    corners = torch.tensor(data["correspondences"])
    if in_triangles:
        corners = torch.tensor(model["triangles"])[corners]

    def vertices(theta):
        angles = torch.cat([theta, torch.zeros(1)])[places]
        turned = relatives[:, :, :3] @ turns(angles)
        posed = torch.cat([turned, relatives[:, :, 3:]], dim=2).unbind()
        absolutes = []
        for bone, parent in enumerate(model["parents"]):
            absolutes.append(posed[bone] if parent < 0 else absolutes[parent] @ posed[bone])
        transforms = (torch.stack(absolutes) @ inverses)[:, :3]
        skinned = (weights @ transforms.reshape(bones, 12)).reshape(-1, 3, 4)
        skinned = torch.sum(skinned * positions[:, None, :], dim=2)
        if model["is_mirrored"]:
            skinned = skinned * torch.tensor([-1.0, 1.0, 1.0])
        return skinned @ rotation(theta[:3]).T + theta[3:6]

    def errors(theta, us):
        found = vertices(theta)[corners]
        if not in_triangles:
            return points - found
        u, v = us[:, :1], us[:, 1:]
        return points - (u * found[:, 0] + v * found[:, 1] + (1 - u - v) * found[:, 2])

    def derivative():
        by_pose = torch.func.jacfwd(errors)(theta, us)
        if not in_triangles:
            return by_pose
        # A point depends on its own place only, so one tangent is enough for all.
        along = torch.eye(2)[:, None, :].expand(2, len(points), 2)
        by_place = [torch.func.jvp(lambda us: errors(theta, us), (us,), (t,))[1] for t in along]
        return torch.cat([torch.stack(by_place, dim=2), by_pose], dim=2)

    return lambda: errors(theta, us), derivative


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
