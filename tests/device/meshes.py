"""Meshes, shardings and tensors of the tests of programs for several chips."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import Instruction, Role
from tt_xla.runtime.mesh.executable import MeshExecutable
from tt_xla.runtime.mesh.shards import join, split

MESHES = {shape: Mesh(shape, tuple("xyz"[: len(shape)])) for shape in [(2,), (8,), (2, 4), (2, 2, 2), (1, 2)]}
every_mesh = pytest.mark.parametrize("mesh", MESHES.values(), ids=["x".join(map(str, shape)) for shape in MESHES])


ON_AXES = [(mesh, axis) for mesh in MESHES.values() for axis in range(len(mesh.shape))]
every_axis = pytest.mark.parametrize(("mesh", "axis"), ON_AXES, ids=[f"{mesh.shape}-{axis}" for mesh, axis in ON_AXES])


def run(executable: MeshExecutable, *tensors: torch.Tensor, **more: Any) -> list[torch.Tensor]:
    """Runs a program on global tensors and returns global results."""
    program = executable.program
    mesh = program.mesh
    shards = [
        split(tensor, argument.sharding, mesh) for tensor, argument in zip(tensors, program.arguments, strict=True)
    ]
    results = executable.run(shards, more.pop("versions", [None] * len(shards)), **more)
    return [
        join(result, declared.sharding, mesh, declared.global_shape)
        for result, declared in zip(results, program.results, strict=True)
    ]


def drawn(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Returns small integers, whose sums are exact in every type and order."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-8, 8, shape, generator=generator).to(dtype)


REPLICATED = Sharding(((), ()))


def by_rows(*axes: int) -> Sharding:
    return Sharding((axes, ()))


def by_columns(*axes: int) -> Sharding:
    return Sharding(((), axes))


def numpy_shards(tensor: torch.Tensor, sharding: Sharding, mesh: Mesh) -> list[np.ndarray]:
    return [shard.numpy() for shard in split(tensor, sharding, mesh)]


def exchange(on_mesh, function_builder, mesh, op, local, result, attributes, sharding=None):
    """Loads a program of one exchange. The operand and the result are split over all axes along new dimensions."""
    axes = tuple(range(len(mesh.shape)))
    everywhere = Sharding((axes, *[()] * len(local))) if sharding is None else sharding
    f = function_builder("main")
    x = f.argument((1, *local), "f32")
    flat = f.op("ttnn.reshape", local, "f32", {"shape": list(local)}, input=x)
    y = f.op(op, result, "f32", attributes, input=flat)
    out = f.op("ttnn.reshape", (1, *result), "f32", {"shape": [1, *result]}, input=y)
    return on_mesh(
        mesh,
        [f.done(out)],
        [("x", Role.INPUT, (mesh.size, *local), "f32", everywhere)],
        [((mesh.size, *result), "f32", Sharding((axes, *[()] * len(result))))],
    )


def grouped(mesh: Mesh, axis: int) -> list[list[int]]:
    return mesh.groups([axis])


def instruction(op, operands, results, attributes):
    return Instruction(op, operands, results, attributes, "model.py:9")
