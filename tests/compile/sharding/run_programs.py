"""Runs programs in a process with eight CPU devices, and prints what went wrong with each as JSON.

Usage: ``run_programs.py [NAME ...]``; without names it runs all programs, and a name such as ``1/4`` stands for a part.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
import spmd
from programs import PROGRAMS, Program, with_shardings

from tt_xla.compiler.sharding import localise


def check(name: str, program: Program, number: int) -> None:
    """Raises an error if a program with the shardings of a number computes something else on several chips."""
    mesh, arguments, results = program.shardings[number]
    arrays = program.arrays(name)
    compiled = jax.jit(program.function, keep_unused=True)
    expected = jax.tree.leaves(compiled(*arrays))
    module = with_shardings(compiled.lower(*arrays).as_text(), mesh, arguments, results)
    localised = localise(module, 8)
    assert localised is not None
    compare(localised, arrays, expected, program.tolerance)


def compare(localised: Any, arrays: list[Any], expected: list[Any], tolerance: float) -> None:
    results = spmd.run(localised, arrays)
    for got, want in zip(results, expected, strict=True):
        want = np.asarray(want)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(got, want)
        else:
            wide = "complex128" if want.dtype.kind == "c" else "float64"
            largest = max(1.0, float(np.abs(want.astype(wide)).max(initial=0)))
            np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=tolerance, atol=tolerance * largest)


def _selected(names: list[str]) -> list[str]:
    if len(names) == 1 and "/" in names[0]:
        part, parts = map(int, names[0].split("/"))
        return list(PROGRAMS)[part::parts]
    return names or list(PROGRAMS)


def main(names: list[str]) -> None:
    failures: dict[str, str] = {}
    for name in _selected(names):
        for number in range(len(PROGRAMS[name].shardings)):
            try:
                check(name, PROGRAMS[name], number)
                failures[f"{name}-{number}"] = ""
            except Exception:
                failures[f"{name}-{number}"] = traceback.format_exc()
    print(json.dumps(failures))


if __name__ == "__main__":
    main(sys.argv[1:])
