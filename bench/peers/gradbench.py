"""The evaluations of GradBench in JAX and PyTorch, one thread each.

Lines of JSON, each answered by a line:
  {"module": "lse", "input": {...}}                             what the next ones are about
  {"library": "jax", "function": "gradient", "output": "FILE"}  computes it and writes the numbers there, as doubles
  {"seconds": 0.2}                                              runs the last again for so long, at least twice
The answers are {}, {"library": its name and version} and {"nanoseconds": the least}; {"error": "..."} where something fails.
"""

import alone  # before the others: one thread

import importlib
import json
import sys
import time

import numpy as np


def least(run, seconds):
    best, spent, count = float("inf"), 0.0, 0
    while count < 2 or spent < seconds:
        start = time.perf_counter()
        run()
        time_taken = time.perf_counter() - start
        best, spent, count = min(best, time_taken), spent + time_taken, count + 1
    return 1e9 * best


def main():
    module = given = run = None
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if "module" in ask:
                module, given, answer = ask["module"], ask["input"], {}
            elif "library" in ask:
                run = None
                library = importlib.import_module("gradbench_" + ask["library"])
                run = library.task(module, ask["function"], given)
                library.numbers(run()).astype(np.float64).tofile(ask["output"])
                answer = {"library": library.NAME}
            else:
                answer = {"nanoseconds": least(run, ask["seconds"])}
        except Exception as error:  # whatever it is, the other end is told
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
