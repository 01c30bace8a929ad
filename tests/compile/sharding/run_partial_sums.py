"""Runs programs with partial sums in a process with eight CPU devices, and prints what went wrong with each as JSON.

The values are small integers as floats, so that sums are exact in any order.
"""

from __future__ import annotations

import json
import os
import traceback

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np
import spmd
from partial_sums import CASES, Case, module_of

from tt_xla.compiler.sharding import localise


def check(case: Case) -> None:
    """Raises an error if a program computes something else on several chips, or exchanges something else."""
    generator = np.random.default_rng(1)
    a, b = (generator.integers(-9, 10, shape).astype(np.float32) for shape in ((8, 4), (4, 8)))
    localised = localise(module_of(case), 8)
    assert localised is not None
    used = [
        name for name in ("all_gather", "all_reduce", "reduce_scatter") if f"stablehlo.{name}" in str(localised.module)
    ]
    assert tuple(used) == case.collectives, localised.module
    (result,) = spmd.run(localised, [a, b])
    np.testing.assert_array_equal(result, case.expected(a, b))


def main() -> None:
    failures: dict[str, str] = {}
    for name, case in CASES.items():
        try:
            check(case)
            failures[name] = ""
        except Exception:
            failures[name] = traceback.format_exc()
    print(json.dumps(failures))


if __name__ == "__main__":
    main()
