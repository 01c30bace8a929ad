"""Times calls and compilations of small jitted functions on ``tt`` and on JAX's CPU backend: ``make bench-jax-calls``.

Both platforms take turns, each in a process of its own.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.turns import Call, in_turns
from docs.tables import write_between_marks


def cached_call(jax: Any) -> Call:
    function = jax.jit(lambda x, w: jax.nn.relu(x @ w))
    x, w = jax.numpy.ones((4, 8)), jax.numpy.ones((8, 16))
    return lambda: function(x, w).block_until_ready()


def one_op_program(jax: Any) -> Call:
    """Compiles a program with a new constant each time, so that no cache contains it."""
    numbers = itertools.count()
    x = jax.numpy.ones((4, 8))

    def compile_one() -> Any:
        number = float(next(numbers))
        return jax.jit(lambda x: x + number).lower(x).compile()

    return compile_one


def read_result(jax: Any) -> Call:
    """Calls a function on 4 MB and converts the result to a NumPy array."""
    import numpy as np

    function = jax.jit(lambda x: x + 1)
    x = jax.numpy.ones((1024, 1024))
    return lambda: np.asarray(function(x))


ROWS: dict[str, tuple[Callable[[Any], Call], int, int, str]] = {
    "cached call of `relu(x @ w)`, 4 x 8 and 8 x 16": (cached_call, 20, 300, "CPU + 40 us"),
    "`lower(x).compile()` of one op": (one_op_program, 1, 60, "CPU"),
    "`np.asarray` of `x + 1`, 4 MB": (read_result, 5, 60, ""),
}
"""By row: the function that creates the call, calls per turn, number of turns, and the target."""


def timed_call(row: str, platform: str) -> Call:
    """Creates the call of a row in a fresh process on one platform."""
    os.environ["JAX_PLATFORMS"] = platform
    import jax

    return ROWS[row][0](jax)


def cell(seconds: list[float]) -> str:
    unit, scale = ("us", 1e6) if min(seconds) < 1e-3 else ("ms", 1e3)
    return f"{min(seconds) * scale:.1f} {unit}, {statistics.median(seconds) * scale:.1f} {unit}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--document", type=Path, help="write the table into this document")
    arguments = parser.parse_args()
    lines = ["| minimum, median of the turns | JAX's CPU | `tt` | target |", "|---|---|---|---|"]
    print(*lines, sep="\n")
    for row, (_, number, rounds, target) in ROWS.items():
        makers = {platform: functools.partial(timed_call, row, platform) for platform in ("cpu", "tt")}
        durations = in_turns(makers, rounds, number=number)
        lines.append(f"| {row} | {cell(durations['cpu'])} | {cell(durations['tt'])} | {target} |")
        print(lines[-1], flush=True)
    if arguments.document:
        write_between_marks(arguments.document, "jax-calls", "\n".join(lines))


if __name__ == "__main__":
    main()
