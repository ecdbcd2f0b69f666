"""Times functions over arrays in numpy, PyTorch and JAX, one thread each.

A line asks, for example {"function": "exp", "type": "f64", "size": 1000, "repeats": 10}; each library answers by a line:
{"library": "numpy 2.4", "seconds": the least of the repeats, "samples": some of the results}. All work on the same numbers,
which `arguments` makes, and into memory that is there already.
"""

import alone  # before the others: one thread

import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import torch

jax.config.update("jax_enable_x64", True)
torch.set_num_threads(1)

# Where the arguments lie; `elementwise.rs` has the same.
RANGES = {
    "exp": [(-10, 10)],
    "sin": [(-10, 10)],
    "tanh": [(-4, 4)],
    "ln": [(0.01, 100)],
    "pow": [(0.1, 10), (-3, 3)],
}
# Odd multipliers of 32 bits, one an argument: the places are spread evenly and in no order.
MULTIPLIERS = [2654435761, 2246822519]
SAMPLES = 64

NUMPY = {"exp": np.exp, "sin": np.sin, "tanh": np.tanh, "ln": np.log, "pow": np.power}
TORCH = {"exp": torch.exp, "sin": torch.sin, "tanh": torch.tanh, "ln": torch.log, "pow": torch.pow}
JAX = {"exp": jnp.exp, "sin": jnp.sin, "tanh": jnp.tanh, "ln": jnp.log, "pow": jnp.power}


def arguments(function, kind, size):
    found = []
    for (low, high), multiplier in zip(RANGES[function], MULTIPLIERS):
        places = np.arange(size, dtype=np.uint64) * np.uint64(multiplier) % np.uint64(2**32)
        found.append((low + (high - low) * (places / 2.0**32)).astype(kind))
    return found


def least(run, repeats):
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def with_numpy(function, x, repeats):
    f, out = NUMPY[function], np.zeros_like(x[0])
    return least(lambda: f(*x, out=out), repeats), out


def with_torch(function, x, repeats):
    f, x = TORCH[function], [torch.from_numpy(x) for x in x]
    out = torch.zeros_like(x[0])
    with torch.no_grad():
        return least(lambda: f(*x, out=out), repeats), out.numpy()


def with_jax(function, x, repeats):
    f, x = JAX[function], [jnp.asarray(x) for x in x]
    # What is donated becomes the result: no memory is fresh.
    into = jax.jit(lambda out, *x: f(*x), donate_argnums=0, keep_unused=True)
    out = jnp.zeros_like(x[0])

    def run():
        nonlocal out
        out = into(out, *x).block_until_ready()

    run()
    return least(run, repeats), np.asarray(out)


LIBRARIES = [
    (f"numpy {np.__version__}", with_numpy),
    (f"torch {torch.__version__.split('+')[0]}", with_torch),
    (f"jax {jax.__version__}", with_jax),
]


def main():
    # Asked for again and again, in turns with others.
    made, last = None, None
    for line in sys.stdin:
        ask = json.loads(line)
        key = (ask["function"], {"f64": np.float64, "f32": np.float32}[ask["type"]], ask["size"])
        if key != last:
            made, last = arguments(*key), key
        for name, run in LIBRARIES:
            seconds, out = run(ask["function"], made, ask["repeats"])
            samples = out[:: max(1, ask["size"] // SAMPLES)].astype(np.float64).tolist()
            print(json.dumps({"library": name, "seconds": seconds, "samples": samples}), flush=True)


main()
