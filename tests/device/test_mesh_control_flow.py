"""Loops and cases on several chips: chips that agree run one, the others one each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from tests.device.meshes import MESHES, REPLICATED, by_rows, drawn, every_axis, grouped, instruction, run
from tt_xla.errors import ExecutionError
from tt_xla.ir.mesh import Sharding
from tt_xla.ir.program import FunctionKind, Role

pytestmark = [pytest.mark.usefixtures("same_bits_on_workers"), pytest.mark.quick]


# Loops and cases


def counted(trips: int, body: str, states: int, outputs: Sequence[int]) -> dict[str, Any]:
    bounds = {"initial": (0, None), "limit": (trips, None), "step": (1, None)}
    return bounds | {"body_program": body, "state_count": states, "output_indices": tuple(outputs)}


def loop(f, attributes, inputs, *results):
    """Adds a loop to a function; ``results`` are shape and dtype of each result."""
    numbers = tuple(f.value(shape, dtype) for shape, dtype in results)
    f.body.append(instruction("ttcore.while_loop", {"inputs": tuple(inputs)}, numbers, attributes))
    return numbers


@every_axis
def test_a_loop_with_an_exchange(mesh, axis, function_builder, on_mesh):
    """The state starts alike on all chips and differs from the first round on."""
    body = function_builder("body", FunctionKind.SUBPROGRAM)
    state, step = body.argument((1, 3), "f32"), body.argument((1, 3), "f32")
    moved = body.op("ttnn.add", (1, 3), "f32", lhs=state, rhs=step)
    summed = body.op("ttnn.all_reduce", (1, 3), "f32", {"reduce_type": "sum", "cluster_axis": axis}, input=moved)
    both = body.op("ttnn.add", (1, 3), "f32", lhs=moved, rhs=summed)
    body.deallocate(summed)
    f = function_builder("main")
    start, step = f.argument((1, 3), "f32"), f.argument((1, 3), "f32")
    (out,) = loop(f, counted(3, "body", 1, [0]), [start, step], ((1, 3), "f32"))
    everywhere = by_rows(*range(len(mesh.shape)))
    executable = on_mesh(
        mesh,
        [f.done(out), body.done(both)],
        [("start", Role.INPUT, (1, 3), "f32", REPLICATED), ("step", Role.INPUT, (mesh.size, 3), "f32", everywhere)],
        [((mesh.size, 3), "f32", everywhere)],
    )
    start, step = drawn(1, 3), drawn(mesh.size, 3, seed=1)
    state = start.expand(mesh.size, 3)
    for _ in range(3):
        moved = state + step
        state = moved.clone()
        for group in grouped(mesh, axis):
            state[group] += moved[group].sum(0)
    for _ in range(2):
        assert torch.equal(run(executable, start, step)[0], state)


def while_below(function_builder, axis=None):
    """while (limit > state) state += 1, with a sum over ``axis`` in the body."""
    condition = function_builder("condition", FunctionKind.SUBPROGRAM)
    state, limit = condition.argument((1, 1), "f32"), condition.argument((1, 1), "f32")
    more = condition.op("ttnn.gt", (1, 1), "f32", lhs=limit, rhs=state)
    body = function_builder("body", FunctionKind.SUBPROGRAM)
    state, limit = body.argument((1, 1), "f32"), body.argument((1, 1), "f32")
    state = body.op("ttnn.add", (1, 1), "f32", lhs=state, rhs=body.op("ttnn.full", (1, 1), "f32", FULL))
    if axis is not None:
        state = body.op("ttnn.all_reduce", (1, 1), "f32", {"reduce_type": "max", "cluster_axis": axis}, input=state)
    f = function_builder("main")
    start, limit = f.argument((1, 1), "f32"), f.argument((1, 1), "f32")
    attributes = {"body_program": "body", "condition_program": "condition", "state_count": 1, "output_indices": (0,)}
    (out,) = loop(f, attributes, [start, limit], ((1, 1), "f32"))
    return f.done(out), body.done(state), condition.done(more)


FULL = {"shape": [1, 1], "fill_value": 1.0}


def test_chips_leave_a_loop_at_their_own_time(function_builder, on_mesh):
    mesh = MESHES[2, 4]
    for sharding in (by_rows(0, 1), by_rows(1), by_rows(0)):
        count = sharding.counts(mesh)[0]
        executable = on_mesh(
            mesh,
            while_below(function_builder),
            [("start", Role.INPUT, (1, 1), "f32", REPLICATED), ("limit", Role.INPUT, (count, 1), "f32", sharding)],
            [((count, 1), "f32", sharding)],
        )
        limit = torch.arange(count).reshape(count, 1).float()
        for _ in range(2):
            assert torch.equal(run(executable, torch.zeros(1, 1), limit)[0], limit)


def test_an_exchange_along_an_axis_whose_chips_agree(function_builder, on_mesh):
    """Each row of the mesh has a loop of its own, in which its four chips exchange tensors."""
    mesh = MESHES[2, 4]
    executable = on_mesh(
        mesh,
        while_below(function_builder, axis=1),
        [("start", Role.INPUT, (1, 1), "f32", REPLICATED), ("limit", Role.INPUT, (2, 1), "f32", by_rows(0))],
        [((2, 1), "f32", by_rows(0))],
    )
    limit = torch.tensor([[2.0], [5.0]])
    assert torch.equal(run(executable, torch.zeros(1, 1), limit)[0], limit)


def test_an_exchange_in_a_loop_that_chips_leave_earlier_is_refused(function_builder, on_mesh):
    with pytest.raises(ExecutionError, match=r"all_reduce is in a loop or case whose condition differs.*axis 'y'"):
        on_mesh(
            MESHES[2, 4],
            while_below(function_builder, axis=1),
            [("start", Role.INPUT, (1, 1), "f32", REPLICATED), ("limit", Role.INPUT, (4, 1), "f32", by_rows(1))],
            [((4, 1), "f32", by_rows(1))],
        )


def test_a_counted_loop_with_bounds_of_its_own_on_each_chip(function_builder, on_mesh):
    """Each chip counts to its own limit, and takes its own part of a replicated tensor in every round."""
    mesh = MESHES[2, 4]
    body = function_builder("body", FunctionKind.SUBPROGRAM)
    total, _, table = body.argument((1, 2), "si32"), body.argument((), "si32"), body.argument((4, 2), "si32")
    part = body.op("ttnn.mesh_partition", (1, 2), "si32", {"dim": 0, "cluster_axis": 1}, input=table)
    total = body.op("ttnn.add", (1, 2), "si32", lhs=total, rhs=part)
    f = function_builder("main")
    limits, table = f.argument((1,), "si32"), f.argument((4, 2), "si32")
    limit = f.op("ttnn.reshape", (), "si32", {"shape": []}, input=limits)
    zero = f.op("ttnn.full", (1, 2), "si32", {"shape": [1, 2], "fill_value": 0})
    attributes = counted(0, "body", 1, [0]) | {"limit": (0, 1)}
    (out,) = loop(f, attributes, [zero, limit, table], ((1, 2), "si32"))
    executable = on_mesh(
        mesh,
        [f.done(out), body.done(total)],
        [
            ("limits", Role.INPUT, (4,), "i32", Sharding(((1,),))),
            ("table", Role.INPUT, (4, 2), "i32", REPLICATED),
        ],
        [((4, 2), "i32", by_rows(1))],
    )
    limits, table = torch.tensor([3, 0, 1, 5], dtype=torch.int32), drawn(4, 2, dtype=torch.int32)
    assert torch.equal(run(executable, limits, table)[0], limits[:, None] * table)


@pytest.mark.parametrize("replicated", [True, False])
def test_a_case(replicated, function_builder, on_mesh):
    """All chips take one branch, or each its own; one branch returns what differs, the other what does not."""
    mesh = MESHES[2, 4]
    kept = function_builder("kept", FunctionKind.SUBPROGRAM)
    branch, _ = kept.argument((1, 3), "f32"), kept.argument((1, 3), "f32")
    other = function_builder("other", FunctionKind.SUBPROGRAM)
    _, y = other.argument((1, 3), "f32"), other.argument((1, 3), "f32")
    y = other.op("ttnn.relu", (1, 3), "f32", input=y)
    f = function_builder("main")
    index, x, z = f.argument((1,), "si32"), f.argument((1, 3), "f32"), f.argument((1, 3), "f32")
    out = f.value((1, 3), "f32")
    branches = {"branch_programs": ("kept", "other")}
    f.body.append(instruction("ttcore.case", {"index": index, "inputs": (x, z)}, (out,), branches))
    rows = 1 if replicated else 4
    executable = on_mesh(
        mesh,
        [f.done(out), kept.done(branch), other.done(y)],
        [
            ("index", Role.INPUT, (rows,), "i32", Sharding(((),)) if replicated else Sharding(((1,),))),
            ("x", Role.INPUT, (1, 3), "f32", REPLICATED),
            ("z", Role.INPUT, (2, 3), "f32", by_rows(0)),
        ],
        [((8, 3), "f32", by_rows(0, 1))],
    )
    x, z = drawn(1, 3), drawn(2, 3, seed=1)
    for index in ([0], [1]) if replicated else ([0, 1, 1, 0], [1, 0, 0, 0]):
        (y,) = run(executable, torch.tensor(index, dtype=torch.int32), x, z)
        for position in range(8):
            chosen = index[0 if replicated else position % 4]
            assert torch.equal(y[position], torch.relu(z[position // 4]) if chosen else x[0])
