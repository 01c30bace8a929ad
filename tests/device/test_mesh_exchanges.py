"""Exchanges between chips, compared with NumPy on the shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from tests.device.meshes import MESHES, by_columns, by_rows, drawn, every_axis, exchange, grouped, run
from tt_xla.ir.mesh import Sharding
from tt_xla.ir.program import Role

pytestmark = pytest.mark.usefixtures("same_bits_on_workers")


# Exchanges


REDUCTIONS: dict[str, Callable[[Sequence[np.ndarray]], np.ndarray]] = {
    "sum": lambda parts: np.sum(parts, axis=0),
    "mean": lambda parts: np.mean(parts, axis=0),
    "max": lambda parts: np.max(parts, axis=0),
    "min": lambda parts: np.min(parts, axis=0),
    "prod": lambda parts: np.prod(parts, axis=0),
}


@pytest.mark.sample(60)
@every_axis
@pytest.mark.parametrize("op", ["ttnn.all_reduce", "ttnn.all_reduce_async"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_all_reduce(mesh, axis, op, reduction, function_builder, on_mesh):
    attributes = {"reduce_type": reduction, "cluster_axis": axis}
    executable = exchange(on_mesh, function_builder, mesh, op, (8, 3), (8, 3), attributes)
    x = drawn(mesh.size, 8, 3)
    (y,) = run(executable, x)
    for group in grouped(mesh, axis):
        expected = REDUCTIONS[reduction](x.numpy()[group])
        for position in group:
            np.testing.assert_allclose(y[position].numpy(), expected, rtol=1e-6)


@every_axis
def test_all_gather(mesh, axis, function_builder, on_mesh):
    count = mesh.shape[axis]
    attributes = {"all_gather_dim": 1, "cluster_axis": axis}
    executable = exchange(on_mesh, function_builder, mesh, "ttnn.all_gather", (2, 3), (2, 3 * count), attributes)
    x = drawn(mesh.size, 2, 3)
    (y,) = run(executable, x)
    for group in grouped(mesh, axis):
        for position in group:
            assert np.array_equal(y[position].numpy(), np.concatenate(list(x.numpy()[group]), axis=1))


@pytest.mark.sample(30)
@every_axis
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_reduce_scatter(mesh, axis, reduction, function_builder, on_mesh):
    count = mesh.shape[axis]
    attributes = {"reduce_type": reduction, "scatter_dim": 0, "cluster_axis": axis}
    executable = exchange(on_mesh, function_builder, mesh, "ttnn.reduce_scatter", (16, 3), (16 // count, 3), attributes)
    x = drawn(mesh.size, 16, 3)
    (y,) = run(executable, x)
    for group in grouped(mesh, axis):
        parts = np.split(REDUCTIONS[reduction](x.numpy()[group]), count, axis=0)
        for place, position in enumerate(group):
            np.testing.assert_allclose(y[position].numpy(), parts[place], rtol=1e-6)


@every_axis
def test_all_to_all(mesh, axis, function_builder, on_mesh):
    count = mesh.shape[axis]
    attributes = {"split_dim": 0, "concat_dim": 1, "cluster_axis": axis}
    executable = exchange(
        on_mesh, function_builder, mesh, "ttnn.all_to_all", (16, 3), (16 // count, 3 * count), attributes
    )
    x = drawn(mesh.size, 16, 3)
    (y,) = run(executable, x)
    for group in grouped(mesh, axis):
        for place, position in enumerate(group):
            parts = [np.split(x.numpy()[source], count, axis=0)[place] for source in group]
            assert np.array_equal(y[position].numpy(), np.concatenate(parts, axis=1))


@every_axis
@pytest.mark.parametrize("replicated", [True, False])
def test_mesh_partition(mesh, axis, replicated, function_builder, on_mesh):
    """Also of a tensor that all chips hold alike."""
    count = mesh.shape[axis]
    attributes = {"dim": 0, "cluster_axis": axis}
    sharding = Sharding(((), (), ())) if replicated else None
    f = function_builder("main")
    x = f.argument((1, 16, 3), "f32")
    y = f.op("ttnn.mesh_partition", (1, 16 // count, 3), "f32", attributes | {"dim": 1}, input=x)
    everywhere = Sharding((tuple(range(len(mesh.shape))), (), ()))
    executable = on_mesh(
        mesh,
        [f.done(y)],
        [("x", Role.INPUT, (1 if replicated else mesh.size, 16, 3), "f32", sharding or everywhere)],
        [((mesh.size, 16 // count, 3), "f32", everywhere)],
    )
    x = drawn(1 if replicated else mesh.size, 16, 3)
    (y,) = run(executable, x)
    for group in grouped(mesh, axis):
        for place, position in enumerate(group):
            own = x[0 if replicated else position]
            assert torch.equal(y[position], torch.chunk(own, count, 0)[place])


@pytest.mark.parametrize("mesh", [MESHES[2, 4], MESHES[2, 2, 2], MESHES[8,]])
def test_point_to_point_sends_to_one_chip(mesh, function_builder, on_mesh):
    """A chain that swaps the tensors of two chips and leaves the others alone."""
    one, other = 1, mesh.size - 2
    ends = list(mesh.coordinates(one)), list(mesh.coordinates(other))
    f = function_builder("main")
    x = f.argument((1, 3), "f32")
    copy = f.op("ttnn.assign", (1, 3), "f32", input=x)
    for sender, receiver in (ends, ends[::-1]):
        attributes = {"sender_coord": sender, "receiver_coord": receiver}
        sent = f.op("ttnn.point_to_point", (1, 3), "f32", attributes, input=x, optional_output_tensor=copy)
        f.deallocate(copy)
        copy = sent
    f.deallocate(x)
    doubled = f.op("ttnn.add", (1, 3), "f32", lhs=copy, rhs=copy)
    f.deallocate(copy)
    everywhere = by_rows(*range(len(mesh.shape)))
    executable = on_mesh(
        mesh,
        [f.done(doubled)],
        [("x", Role.INPUT, (mesh.size, 3), "f32", everywhere)],
        [((mesh.size, 3), "f32", everywhere)],
    )
    x = drawn(mesh.size, 3)
    for _ in range(3):
        (y,) = run(executable, x)
        order = list(range(mesh.size))
        order[one], order[other] = other, one
        assert torch.equal(y, 2 * x[order])


def test_tensor_parallel_products_meet_in_a_sum(stacks, function_builder, on_mesh):
    """Columns of one weight, rows of the next, over one axis; the batch over the other."""
    mesh = MESHES[2, 4]
    f = function_builder("main")
    x, up, down = f.argument((3, 8), "f32"), f.argument((8, 4), "f32"), f.argument((4, 8), "f32")
    plain = {"transpose_a": False, "transpose_b": False}
    wide = f.op("ttnn.relu", (3, 4), "f32", input=f.op("ttnn.matmul", (3, 4), "f32", plain, a=x, b=up))
    part = f.op("ttnn.matmul", (3, 8), "f32", plain, a=wide, b=down)
    y = f.op("ttnn.all_reduce", (3, 8), "f32", {"reduce_type": "sum", "cluster_axis": 1}, input=part)
    executable = on_mesh(
        mesh,
        [f.done(f.op("ttnn.add", (3, 8), "f32", lhs=x, rhs=y))],
        [
            ("x", Role.INPUT, (6, 8), "f32", by_rows(0)),
            ("up", Role.PARAMETER, (8, 16), "f32", by_columns(1)),
            ("down", Role.PARAMETER, (16, 8), "f32", by_rows(1)),
        ],
        [((6, 8), "f32", by_rows(0))],
    )
    x, up, down = drawn(6, 8), drawn(8, 16, seed=1), drawn(16, 8, seed=2)
    (y,) = run(executable, x, up, down)
    assert torch.equal(y, x + torch.relu(x @ up) @ down)
    # Two products and a relu on eight chips, a sum for each row of the mesh, and an addition for each.
    apart = 3 * 8 + 2 + 2
    # Stacked over the batch: four of each, with copies of both operands of the addition into one tensor, and slices.
    stacked = 1 + 3 * 4 + 8 + 2 + 1 + 1 + 2
    assert executable.counters.kernel_lookups == (stacked if stacks else apart)
