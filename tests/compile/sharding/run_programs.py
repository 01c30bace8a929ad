"""Runs programs in a process with eight CPU devices, and prints what went wrong with each as JSON.

Usage: ``run_programs.py [NAME ...]``; without names it runs all programs, and a name such as ``1/4`` stands for a part.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
import spmd
from jaxlib.mlir import ir
from programs import PROGRAMS, Program, Spec

from tt_xla.compiler.mlir_context import context
from tt_xla.compiler.sharding import localize


def with_shardings(text: str, mesh: dict[str, int], arguments: Sequence[Spec], results: Sequence[Spec] | None) -> Any:
    """Returns a module of one device with a mesh, and shardings of its arguments and results."""
    module = ir.Module.parse(text, context(len(text)))
    with module.context, ir.Location.unknown():
        axes = ", ".join(f'"{name}"={size}' for name, size in mesh.items())
        declaration = ir.Module.parse(f"sdy.mesh @mesh = <[{axes}]>").body.operations[0]
        declaration.operation.clone(ip=ir.InsertionPoint.at_block_begin(module.body))
        count = int(np.prod(list(mesh.values())))
        module.operation.attributes["mhlo.num_partitions"] = ir.Attribute.parse(f"{count} : i32")
        for function in module.body.operations:
            if function.operation.name == "func.func" and function.name.value == "main":
                shardings = [ir.DictAttr.get({"sdy.sharding": _attribute(spec)}) for spec in arguments]
                function.attributes["arg_attrs"] = ir.ArrayAttr.get(shardings)
                if results is not None:
                    shardings = [ir.DictAttr.get({"sdy.sharding": _attribute(spec)}) for spec in results]
                    function.attributes["res_attrs"] = ir.ArrayAttr.get(shardings)
    return module


def _attribute(spec: Spec) -> Any:
    names = [() if axes is None else (axes,) if isinstance(axes, str) else axes for axes in spec]
    dims = ", ".join("{" + ", ".join(f'"{name}"' for name in axes) + "}" for axes in names)
    return ir.Attribute.parse(f"#sdy.sharding<@mesh, [{dims}]>")


def check(name: str, program: Program, number: int) -> None:
    """Raises an error if a program with the shardings of a number computes something else on several chips."""
    mesh, arguments, results = program.shardings[number]
    arrays = program.arrays(name)
    compiled = jax.jit(program.function, keep_unused=True)
    expected = jax.tree.leaves(compiled(*arrays))
    module = with_shardings(compiled.lower(*arrays).as_text(), mesh, arguments, results)
    localized = localize(module, 8)
    assert localized is not None
    compare(localized, arrays, expected, program.tolerance)


def compare(localized: Any, arrays: list[Any], expected: list[Any], tolerance: float) -> None:
    results = spmd.run(localized, arrays)
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
