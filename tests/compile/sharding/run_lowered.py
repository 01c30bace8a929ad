"""Runs the programs of ``lowered.py`` in a process with eight CPU devices; prints the errors as JSON.

Usage: ``run_lowered.py shardy|gspmd [NAME ...]``.
"""

from __future__ import annotations

import json
import os
import sys
import traceback

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from lowered import PROGRAMS
from run_programs import compare

from tt_xla.compiler.sharding import localise
from tt_xla.compiler.stablehlo import parse_module


def check(name: str) -> None:
    """Raises an error if a program computes something else on several chips than JAX computes on them."""
    function, shapes, arguments, results = PROGRAMS[name]()
    generator = np.random.default_rng(len(name))
    arrays = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    jitted = jax.jit(function, in_shardings=arguments, out_shardings=results)
    lowered = jitted.lower(*arrays)
    localised = localise(parse_module(lowered.as_text()), 8)
    assert localised is not None
    compare(localised, arrays, jax.tree.leaves(jitted(*arrays)), 1e-5)


def main(partitioner: str, names: list[str]) -> None:
    jax.config.update("jax_use_shardy_partitioner", partitioner == "shardy")
    failures: dict[str, str] = {}
    for name in PROGRAMS:
        if name in names or not names:
            try:
                check(name)
                failures[name] = ""
            except Exception:
                failures[name] = traceback.format_exc()
    print(json.dumps(failures))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
