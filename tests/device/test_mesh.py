"""Programs for several chips, written by hand, compared with numpy on the tensors before they are split."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace as changed
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from tt_xla import environment
from tt_xla.errors import ExecutionError, ResourceExhaustedError
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import Argument, FunctionKind, MemoryPlan, Result, Role
from tt_xla.runtime import Device, device, recorded_runs
from tt_xla.runtime.emulator.fused import build
from tt_xla.runtime.mesh.executable import MeshExecutable
from tt_xla.runtime.mesh.expansion import expand
from tt_xla.runtime.mesh.shards import join, split

pytestmark = pytest.mark.usefixtures("same_bits_on_workers")

MESHES = {shape: Mesh(shape, tuple("xyz"[: len(shape)])) for shape in [(2,), (8,), (2, 4), (2, 2, 2), (1, 2)]}
every_mesh = pytest.mark.parametrize("mesh", MESHES.values(), ids=["x".join(map(str, shape)) for shape in MESHES])


@pytest.fixture
def board(chip) -> Device:
    return Device(changed(chip(), chips=8), trace_region_bytes=None)


@pytest.fixture(params=[True, False], ids=["stacked", "apart"])
def stacks(request, monkeypatch) -> bool:
    """Whether one instruction may compute the shards of several chips."""
    monkeypatch.setattr(device, "expand", lambda program, **_: expand(program, stacks=request.param))
    return request.param


@pytest.fixture
def on_mesh(make_program, board, stacks):
    """Loads a Program of functions, the entry first, on a mesh.

    Arguments are (name, role, global shape, dtype, sharding), results (global shape, dtype, sharding).
    """

    def make(mesh: Mesh, functions, arguments, results, *, load: bool = True, **more: Any) -> Any:
        plain = make_program(functions, [], [], **more)
        program = msgspec.structs.replace(
            plain,
            arguments=tuple(
                Argument(
                    name, role, sharding.local_shape(mesh, shape), dtype, name.startswith("cache"), sharding, shape
                )
                for name, role, shape, dtype, sharding in arguments
            ),
            results=tuple(
                Result(sharding.local_shape(mesh, shape), dtype, sharding, shape) for shape, dtype, sharding in results
            ),
            mesh=mesh,
        )
        return board.load(program) if load else program

    return make


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


# Splitting and joining


@every_mesh
def test_splits_and_joins(mesh):
    axes = range(len(mesh.shape))
    for rows, columns in itertools.product([(), *itertools.permutations(axes, 1), tuple(axes)], [(), (0,)]):
        if set(rows) & set(columns):
            continue
        sharding, tensor = Sharding((rows, columns)), torch.arange(63).reshape(9, 7)
        shards = split(tensor, sharding, mesh)
        assert len(shards) == mesh.size
        assert {tuple(shard.shape) for shard in shards} == {sharding.local_shape(mesh, (9, 7))}
        assert all(shard.is_contiguous() for shard in shards)
        assert len({id(shard) for shard in shards}) == np.prod(
            [mesh.shape[axis] for axis in (*rows, *columns)], initial=1
        )
        assert torch.equal(join(shards, sharding, mesh, (9, 7)), tensor)


def test_padding_is_zero():
    shards = split(torch.ones(3, 1), by_rows(0), MESHES[2,])
    assert shards[1].tolist() == [[1.0], [0.0]]


@every_mesh
def test_partial_sums_are_added(mesh):
    axes = tuple(range(len(mesh.shape)))
    for unreduced, rows in ((axes, ()), ((0,), axes[1:]), (axes[1:], (0,))):
        sharding, tensor = Sharding((rows, ()), unreduced), torch.arange(63.0).reshape(9, 7)
        shards = split(tensor, sharding, mesh)
        assert torch.equal(join(shards, sharding, mesh, (9, 7)), tensor)
        doubled = {id(shard): 2 * shard + 1 for shard in shards}
        terms = np.prod([mesh.shape[axis] for axis in unreduced], initial=1)
        assert torch.equal(join([doubled[id(shard)] for shard in shards], sharding, mesh, (9, 7)), 2 * tensor + terms)


def test_a_scalar_is_replicated():
    shards = split(torch.tensor(3.0), Sharding(()), MESHES[8,])
    assert join(shards, Sharding(()), MESHES[8,], ()).item() == 3.0


# Instructions without exchange


@every_mesh
def test_data_parallel_and_replicated_values(mesh, stacks, function_builder, on_mesh):
    f = function_builder("main")
    x, w = f.argument((2, 3), "f32"), f.argument((3, 4), "f32")
    doubled = f.op("ttnn.add", (3, 4), "f32", lhs=w, rhs=w)
    f.deallocate(w)
    y = f.op("ttnn.matmul", (2, 4), "f32", {"transpose_a": False, "transpose_b": False}, a=x, b=doubled)
    f.deallocate(x)
    axes = tuple(range(len(mesh.shape)))
    executable = on_mesh(
        mesh,
        [f.done(y, doubled)],
        [
            ("x", Role.INPUT, (2 * mesh.size, 3), "f32", by_rows(*axes)),
            ("w", Role.PARAMETER, (3, 4), "f32", REPLICATED),
        ],
        [((2 * mesh.size, 4), "f32", by_rows(*axes)), ((3, 4), "f32", REPLICATED)],
    )
    x, w = drawn(2 * mesh.size, 3), drawn(3, 4, seed=1)
    for _ in range(3):
        y, doubled = run(executable, x, w)
        assert torch.equal(y, x @ (2 * w))
        assert torch.equal(doubled, 2 * w)
    # The replicated sum is computed once, the product once a chip; or once, between a copy into one tensor and slices.
    assert executable.counters.kernel_lookups == (3 if stacks else 1) + mesh.size


def test_replicas_of_a_result_are_one_tensor(function_builder, on_mesh):
    mesh = MESHES[2, 4]
    f = function_builder("main")
    x = f.argument((2, 3), "f32")
    executable = on_mesh(
        mesh,
        [f.done(f.op("ttnn.relu", (2, 3), "f32", input=x))],
        [("x", Role.INPUT, (8, 3), "f32", by_rows(1))],
        [((8, 3), "f32", by_rows(1))],
    )
    (result,) = executable.run([split(drawn(8, 3), by_rows(1), mesh)], [None])
    assert [result[position] is result[position + 4] for position in range(4)] == [True] * 4
    assert len({id(tensor) for tensor in result}) == 4


# Exchanges


def numpy_shards(tensor: torch.Tensor, sharding: Sharding, mesh: Mesh) -> list[np.ndarray]:
    return [shard.numpy() for shard in split(tensor, sharding, mesh)]


def grouped(mesh: Mesh, axis: int) -> list[list[int]]:
    return mesh.groups([axis])


REDUCTIONS: dict[str, Callable[[Sequence[np.ndarray]], np.ndarray]] = {
    "sum": lambda parts: np.sum(parts, axis=0),
    "mean": lambda parts: np.mean(parts, axis=0),
    "max": lambda parts: np.max(parts, axis=0),
    "min": lambda parts: np.min(parts, axis=0),
    "prod": lambda parts: np.prod(parts, axis=0),
}


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


ON_AXES = [(mesh, axis) for mesh in MESHES.values() for axis in range(len(mesh.shape))]
every_axis = pytest.mark.parametrize(("mesh", "axis"), ON_AXES, ids=[f"{mesh.shape}-{axis}" for mesh, axis in ON_AXES])


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


# Loops and cases


def counted(trips: int, body: str, states: int, outputs: Sequence[int]) -> dict[str, Any]:
    bounds = {"initial": (0, None), "limit": (trips, None), "step": (1, None)}
    return bounds | {"body_program": body, "state_count": states, "output_indices": tuple(outputs)}


def loop(f, attributes, inputs, *results):
    """Adds a loop to a function; ``results`` are shape and dtype of each result."""
    numbers = tuple(f.value(shape, dtype) for shape, dtype in results)
    f.body.append(instruction("ttcore.while_loop", {"inputs": tuple(inputs)}, numbers, attributes))
    return numbers


def instruction(op, operands, results, attributes):
    from tt_xla.ir.program import Instruction

    return Instruction(op, operands, results, attributes, "model.py:9")


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


# Const-eval, traces, weights


def model(function_builder, make_trace, *, trace: bool):
    """relu(x @ w), summed over axis 1, where w is negated in const-eval and gathered from its shards."""
    c = function_builder("main_const_eval_0", FunctionKind.CONST_EVAL)
    w = c.argument((4, 2), "f32")
    negated = c.op("ttnn.neg", (4, 2), "f32", input=w)
    gathered = c.op("ttnn.all_gather", (4, 8), "f32", {"all_gather_dim": 1, "cluster_axis": 1}, input=negated)
    const_eval = c.done(gathered, negated)
    plain = {"transpose_a": False, "transpose_b": False}

    def body(f, x, gathered, negated):
        product = f.op("ttnn.relu", (2, 8), "f32", input=f.op("ttnn.matmul", (2, 8), "f32", plain, a=x, b=gathered))
        own = f.op("ttnn.matmul", (2, 2), "f32", plain, a=x, b=negated)
        summed = f.op("ttnn.all_reduce", (2, 2), "f32", {"reduce_type": "sum", "cluster_axis": 1}, input=own)
        f.deallocate(own)
        return product, summed

    def loaded(f):
        x, w = f.argument((2, 4), "f32"), f.argument((4, 2), "f32")
        results = f.value((4, 8), "f32"), f.value((4, 2), "f32")
        f.body.append(instruction("ttcore.load_cached", {"inputs": (w,)}, results, {"callee": "main_const_eval_0"}))
        return x, *results

    f = function_builder("main")
    if not trace:
        return [f.done(*body(f, *loaded(f))), const_eval]
    t = function_builder("trace_0_main", FunctionKind.TRACE)
    around, attributes = make_trace(
        t, *body(t, t.argument((2, 4), "f32"), t.argument((4, 8), "f32"), t.argument((4, 2), "f32"))
    )
    inputs = loaded(f)
    outputs = f.value((2, 8), "f32"), f.value((2, 2), "f32")
    f.body.append(instruction("ttnn.capture_or_execute_trace", {"inputs": inputs}, outputs, attributes))
    return [f.done(*outputs), *around, const_eval]


@pytest.mark.parametrize("trace", [False, True])
def test_const_eval_and_traces(trace, function_builder, make_trace, on_mesh):
    executable = on_mesh(
        MESHES[2, 4],
        model(function_builder, make_trace, trace=trace),
        [("x", Role.INPUT, (4, 4), "f32", by_rows(0)), ("w", Role.PARAMETER, (4, 8), "f32", by_columns(1))],
        [((4, 8), "f32", by_rows(0)), ((4, 2), "f32", by_rows(0))],
        options={"numerics": "silicon", "enable_trace": trace},
        memory=MemoryPlan(1 << 20, 0, 4096 if trace else 0),
    )
    shards = split(drawn(4, 8, seed=1), by_columns(1), MESHES[2, 4])
    for run_number in range(4):
        x, w = drawn(4, 4, seed=run_number), join(shards, by_columns(1), MESHES[2, 4], (4, 8))
        versions = [None, 10_001 if run_number < 3 else 10_002]
        product, summed = (
            join(result, declared.sharding, MESHES[2, 4], declared.global_shape)
            for result, declared in zip(
                executable.run([split(x, by_rows(0), MESHES[2, 4]), shards], versions),
                executable.program.results,
                strict=True,
            )
        )
        assert torch.equal(product, torch.relu(-x @ w))
        assert torch.equal(summed, sum(-x @ part for part in torch.chunk(w, 4, 1)))
        if run_number == 2:
            assert executable.counters.const_evals == 1
            assert executable.state == ("captured" if trace else "warm")
            shards = split(drawn(4, 8, seed=2), by_columns(1), MESHES[2, 4])
    assert executable.counters.const_evals == 2
    executable.forget(10_002)
    assert executable.executable.const_eval_bytes == 0


def test_const_eval_results_are_those_of_one_chip(function_builder, make_trace, on_mesh, board):
    executable = on_mesh(
        MESHES[2, 4],
        model(function_builder, make_trace, trace=False),
        [("x", Role.INPUT, (4, 4), "f32", by_rows(0)), ("w", Role.PARAMETER, (4, 8), "f32", by_columns(1))],
        [((4, 8), "f32", by_rows(0)), ((4, 2), "f32", by_rows(0))],
    )
    run(executable, drawn(4, 4), drawn(4, 8), versions=[None, 10_003])
    for chip in range(8):
        assert board.chip(chip).memory().const_eval == 2 * 4096  # one tile of float32 for each of two results


# Arguments that a program writes to


def cache_program(function_builder):
    f = function_builder("main")
    cache, rows = f.argument((1, 1, 4, 2), "f32"), f.argument((1, 1, 1, 2), "f32")
    f.body.append(instruction("ttnn.fill_cache", {"cache": cache, "input": rows}, (), {"batch_offset": 0}))
    return [f.done(cache)]


HEADS = Sharding(((), (1,), (), ()))
BATCH = Sharding(((0,), (), (), ()))
EVERYWHERE = Sharding(((), (), (), ()))


@pytest.mark.parametrize("donated", [True, False])
@pytest.mark.parametrize(("cache", "rows"), [(HEADS, HEADS), (HEADS, EVERYWHERE), (EVERYWHERE, EVERYWHERE)])
def test_writes_to_a_cache(donated, cache, rows, function_builder, on_mesh):
    mesh = MESHES[2, 4]
    shape = tuple(count * size for count, size in zip(cache.counts(mesh), (1, 1, 4, 2), strict=True))
    written = tuple(count * size for count, size in zip(rows.counts(mesh), (1, 1, 1, 2), strict=True))
    executable = on_mesh(
        mesh,
        cache_program(function_builder),
        [("cache", Role.INPUT, shape, "f32", cache), ("rows", Role.INPUT, written, "f32", rows)],
        [(shape, "f32", cache)],
    )
    tensor, new = drawn(*shape), drawn(*written, seed=1)
    expected = tensor.clone()
    expected[:, :, :1] = new
    before = tensor.clone()
    shards = [shard.clone() for shard in split(tensor, cache, mesh)]
    groups = {cache.shard_index(mesh, position): shard for position, shard in enumerate(shards)}
    shards = [groups[cache.shard_index(mesh, position)] for position in range(8)]
    (result,) = executable.run([shards, split(new, rows, mesh)], [None, None], [0] if donated else [])
    assert torch.equal(join(result, cache, mesh, shape), expected)
    in_place = [one.data_ptr() == other.data_ptr() for one, other in zip(result, shards, strict=True)]
    assert in_place == [donated] * 8
    assert torch.equal(join(shards, cache, mesh, shape), expected if donated else before)


def test_chips_that_pass_one_tensor_for_different_shards_do_not_write_to_it(function_builder, on_mesh):
    """A cache of zeros is one tensor on all chips, although they write different rows to it."""
    mesh = MESHES[2, 4]
    executable = on_mesh(
        mesh,
        cache_program(function_builder),
        [("cache", Role.INPUT, (1, 4, 4, 2), "f32", HEADS), ("rows", Role.INPUT, (1, 4, 1, 2), "f32", HEADS)],
        [((1, 4, 4, 2), "f32", HEADS)],
    )
    zeros, rows = torch.zeros(1, 1, 4, 2), drawn(1, 4, 1, 2)
    (result,) = executable.run([[zeros] * 8, split(rows, HEADS, mesh)], [None, None], [0])
    expected = torch.zeros(1, 4, 4, 2)
    expected[:, :, :1] = rows
    assert torch.equal(join(result, HEADS, mesh, (1, 4, 4, 2)), expected)
    assert not zeros.any()


def test_chips_write_different_rows_to_a_replicated_cache(function_builder, on_mesh):
    """The argument is the same on all chips; after the write it is not, so each chip gets a copy."""
    mesh = MESHES[2, 4]
    executable = on_mesh(
        mesh,
        cache_program(function_builder),
        [("cache", Role.INPUT, (1, 1, 4, 2), "f32", EVERYWHERE), ("rows", Role.INPUT, (2, 1, 1, 2), "f32", BATCH)],
        [((2, 1, 4, 2), "f32", BATCH)],
    )
    cache, rows = drawn(1, 1, 4, 2), drawn(2, 1, 1, 2, seed=1)
    expected = cache.repeat(2, 1, 1, 1)
    expected[:, :, :1] = rows
    for _ in range(2):
        assert torch.equal(run(executable, cache, rows)[0], expected)


def test_what_a_chip_reads_before_a_write_is_the_old_value(function_builder, on_mesh):
    """All chips share the cache, and each adds its own bias to what was in it before the write."""
    mesh = MESHES[8,]
    f = function_builder("main")
    cache, rows, bias = (
        f.argument((1, 1, 4, 2), "f32"),
        f.argument((1, 1, 4, 2), "f32"),
        f.argument((1, 1, 1, 1), "f32"),
    )
    before = f.op("ttnn.add", (1, 1, 4, 2), "f32", lhs=cache, rhs=bias)
    f.body.append(instruction("ttnn.fill_cache", {"cache": cache, "input": rows}, (), {"batch_offset": 0}))
    after = f.op("ttnn.add", (1, 1, 4, 2), "f32", lhs=cache, rhs=bias)
    split_batch = Sharding(((0,), (), (), ()))
    executable = on_mesh(
        mesh,
        [f.done(before, after)],
        [
            ("cache", Role.INPUT, (1, 1, 4, 2), "f32", EVERYWHERE),
            ("rows", Role.INPUT, (1, 1, 4, 2), "f32", EVERYWHERE),
            ("bias", Role.INPUT, (8, 1, 1, 1), "f32", split_batch),
        ],
        [((8, 1, 4, 2), "f32", split_batch)] * 2,
    )
    cache, rows, bias = drawn(1, 1, 4, 2), drawn(1, 1, 4, 2, seed=1), drawn(8, 1, 1, 1, seed=2)
    before, after = run(executable, cache, rows, bias)
    assert torch.equal(before, cache + bias)
    assert torch.equal(after, rows + bias)


# Arguments, memory, chips


def identity(function_builder, on_mesh, mesh=MESHES[2,], **more):
    f = function_builder("main")
    x = f.argument((2, 3), "f32")
    return on_mesh(
        mesh,
        [f.done(f.op("ttnn.relu", (2, 3), "f32", input=x))],
        [("x", Role.INPUT, (2 * mesh.size, 3), "f32", by_rows(0))],
        [((2 * mesh.size, 3), "f32", by_rows(0))],
        **more,
    )


def test_wrong_arguments_are_refused(function_builder, on_mesh):
    executable = identity(function_builder, on_mesh)
    good = torch.zeros(2, 3)
    with pytest.raises(ExecutionError, match="takes 1 arguments, got shards of 0"):
        executable.run([], [])
    with pytest.raises(ExecutionError, match="'x' of program 'small' comes in 1 shards, expected 2"):
        executable.run([[good]], [None])
    with pytest.raises(ExecutionError, match=r"float32\[3, 3\] on chip 1, expected float32\[2, 3\]"):
        executable.run([[good, torch.zeros(3, 3)]], [None])
    with pytest.raises(ExecutionError, match=r"int32\[2, 3\] on chip 0, expected float32\[2, 3\]"):
        executable.run([[good.int(), good]], [None])


def test_a_mesh_larger_than_the_board_is_refused(function_builder, on_mesh, chip):
    program = identity(function_builder, on_mesh, MESHES[8,], load=False)
    with pytest.raises(ExecutionError, match="is for a mesh of 8 chips; test has 2"):
        Device(changed(chip(), chips=2)).load(program)


def test_chosen_chips(function_builder, on_mesh, board):
    program = identity(function_builder, on_mesh, load=False)
    executable = board.load_mesh(program, [5, 3])
    assert [chip.index for chip in executable.devices] == [5, 3]
    for chips in ([1], [1, 1], [0, 1, 2]):
        with pytest.raises(ExecutionError, match="is for a mesh of 2 chips, got chips"):
            board.load_mesh(program, chips)
    with pytest.raises(ExecutionError, match="has no chip 9; its chips are 0 to 7"):
        board.load_mesh(program, [0, 9])


def test_each_chip_has_memory_of_its_own(function_builder, on_mesh, make_program, board):
    small = MemoryPlan(board.target.dram_usable_bytes // 2, 0, 0)
    program = identity(function_builder, on_mesh, memory=small, load=False)
    executable = board.load(program)
    assert [board.chip(index).memory().program_peak > 0 for index in range(8)] == [True, True, *[False] * 6]
    board.chip(1).resident = lambda: board.target.dram_usable_bytes
    with pytest.raises(ResourceExhaustedError):
        executable.run([split(drawn(4, 3), by_rows(0), MESHES[2,])], [None])
    board.load_mesh(program, [2, 3]).run([split(drawn(4, 3), by_rows(0), MESHES[2,])], [None])


def test_programs_for_one_chip_run_on_any_chip(function_builder, make_program, board):
    f = function_builder("main")
    x = f.argument((2, 3), "f32")
    program = make_program(
        [f.done(f.op("ttnn.relu", (2, 3), "f32", input=x))],
        [("x", Role.INPUT, (2, 3), "f32")],
        [((2, 3), "f32")],
        memory=MemoryPlan(4096),
    )
    executables = [board.chip(index).load(program) for index in (0, 3)]
    for executable in executables:
        (y,) = executable.run([drawn(2, 3)], [None])
        assert torch.equal(y, torch.relu(drawn(2, 3)))
    assert [board.chip(index).memory().program_peak for index in range(4)] == [4096, 0, 0, 4096]
    assert len(board.program_cache) == 1
    assert board.chip(3) is board.chip(3)
    assert board.chip(3).chip(0) is board


def test_observers_of_runs_see_the_tensors_before_they_are_split(function_builder, on_mesh):
    executable = identity(function_builder, on_mesh)
    with recorded_runs() as runs:
        run(executable, drawn(4, 3))
    ((program, (x,)),) = runs
    assert program is executable.program
    assert torch.equal(x, drawn(4, 3))


# Fused kernels


@pytest.mark.skipif(build.compiler() is None, reason="no C++ compiler")
def test_chips_share_the_text_of_a_fused_kernel(stacks, function_builder, on_mesh, monkeypatch, tmp_path):
    """Eight chips compute the same ops on their shards, so one C++ function serves all of them."""
    monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", "now")
    monkeypatch.setattr(environment, "cache_directory", lambda: tmp_path)
    mesh = MESHES[8,]
    f = function_builder("main")
    x, y = f.argument((4, 64), "bf16"), f.argument((4, 64), "bf16")
    total = f.op("ttnn.add", (4, 64), "bf16", lhs=f.op("ttnn.multiply", (4, 64), "bf16", lhs=x, rhs=y), rhs=x)
    summed = f.op("ttnn.all_reduce", (4, 64), "bf16", {"reduce_type": "sum", "cluster_axis": 0}, input=total)
    executable = on_mesh(
        mesh,
        [f.done(f.op("ttnn.subtract", (4, 64), "bf16", lhs=x, rhs=summed))],
        [(name, Role.INPUT, (32, 64), "bf16", by_rows(0)) for name in ("x", "y")],
        [((32, 64), "bf16", by_rows(0))],
    )
    x, y = drawn(32, 64, dtype=torch.bfloat16), drawn(32, 64, dtype=torch.bfloat16, seed=1)
    expected = x - (x * y + x).reshape(8, 4, 64).float().sum(0).bfloat16().repeat(8, 1)
    for _ in range(4):
        assert torch.equal(run(executable, x, y)[0], expected)
    fused = executable.executable.fused
    assert fused.count == 8
    assert fused._source.count('extern "C"') == 1


# Stacked shards


def test_a_model_on_stacked_shards(function_builder, on_mesh):
    """Reshapes, heads, attention, norms and broadcasts between products, with the batch over both axes."""
    mesh, size = MESHES[2, 4], 8
    f = function_builder("main")
    x, w, out = f.argument((2, 3, 8), "f32"), f.argument((8, 24), "f32"), f.argument((8, 8), "f32")
    gamma, bias = f.argument((8,), "f32"), f.argument((1, 3, 8), "f32")
    plain = {"transpose_a": False, "transpose_b": False}
    fused = f.op("ttnn.matmul", (2, 3, 24), "f32", plain, a=x, b=w)
    parts = []
    for place in range(3):
        attributes = {"begins": [0, 0, 8 * place], "ends": [2, 3, 8 * place + 8], "step": [1, 1, 1]}
        part = f.op("ttnn.slice_static", (2, 3, 8), "f32", attributes, input=fused)
        heads = f.op("ttnn.reshape", (2, 3, 2, 4), "f32", {"shape": [2, 3, 2, 4]}, input=part)
        parts.append(f.op("ttnn.permute", (2, 2, 3, 4), "f32", {"permutation": [0, 2, 1, 3]}, input=heads))
    f.deallocate(fused)
    names = {"query": parts[0], "key": parts[1], "value": parts[2]}
    attributes = {"is_causal": False, "scale": 0.5}
    attended = f.op("ttnn.scaled_dot_product_attention", (2, 2, 3, 4), "f32", attributes, **names)
    joined = f.op("ttnn.concatenate_heads", (2, 3, 8), "f32", input=attended)
    flat = f.op("ttnn.reshape", (6, 8), "f32", {"shape": [6, 8]}, input=joined)
    y = f.op("ttnn.matmul", (6, 8), "f32", plain, a=flat, b=out)
    y = f.op("ttnn.reshape", (2, 3, 8), "f32", {"shape": [2, 3, 8]}, input=y)
    y = f.op("ttnn.add", (2, 3, 8), "f32", lhs=f.op("ttnn.add", (2, 3, 8), "f32", lhs=x, rhs=y), rhs=bias)
    y = f.op("ttnn.rms_norm", (2, 3, 8), "f32", {"epsilon": 1e-5}, input=y, weight=gamma)
    mask = f.op("ttnn.full", (2, 3, 8), "f32", {"shape": [2, 3, 8], "fill_value": 0.5})
    y = f.op("ttnn.maximum", (2, 3, 8), "f32", lhs=mask, rhs=y)
    total = f.op("ttnn.sum", (2, 8), "f32", {"keep_dim": False, "dim_arg": [1]}, input=y)
    both = f.op("ttnn.concat", (2, 3, 16), "f32", {"dim": 2}, inputs=(y, y))
    batch = Sharding(((0, 1), (), ()))
    executable = on_mesh(
        mesh,
        [f.done(total, both)],
        [
            ("x", Role.INPUT, (2 * size, 3, 8), "f32", batch),
            ("w", Role.PARAMETER, (8, 24), "f32", REPLICATED),
            ("out", Role.PARAMETER, (8, 8), "f32", REPLICATED),
            ("gamma", Role.PARAMETER, (8,), "f32", Sharding(((),))),
            ("bias", Role.PARAMETER, (1, 3, 8), "f32", Sharding(((), (), ()))),
        ],
        [((2 * size, 8), "f32", Sharding(((0, 1), ()))), ((2 * size, 3, 16), "f32", batch)],
        options={"numerics": "exact"},
    )
    x, w, out = torch.randn(2 * size, 3, 8), torch.randn(8, 24), torch.randn(8, 8)
    gamma, bias = torch.rand(8) + 0.5, torch.randn(1, 3, 8)
    q, k, v = ((x @ w)[..., 8 * i : 8 * i + 8].reshape(-1, 3, 2, 4).transpose(1, 2) for i in range(3))
    attended = (torch.softmax(q @ k.transpose(-1, -2) * 0.5, -1) @ v).transpose(1, 2).reshape(-1, 3, 8)
    y = x + attended @ out + bias
    y = torch.clamp(y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5) * gamma, min=0.5)
    for _ in range(2):
        total, both = run(executable, x, w, out, gamma, bias)
        torch.testing.assert_close(total, y.sum(1), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(both, torch.cat([y, y], -1), rtol=1e-4, atol=1e-4)


def test_images_are_stacked_along_their_batch(function_builder, on_mesh):
    mesh = MESHES[2,]
    f = function_builder("main")
    x, w = f.argument((1, 1, 32, 2), "f32"), f.argument((3, 2, 3, 3), "f32")
    size = {"batch_size": 2, "input_height": 4, "input_width": 4}
    window = {"stride": [1, 1], "padding": [1, 1, 1, 1], "dilation": [1, 1]}
    attributes = size | window | {"in_channels": 2, "out_channels": 3, "kernel_size": [3, 3], "groups": 1}
    y = f.op("ttnn.conv2d", (1, 1, 32, 3), "f32", attributes, input=x, weight=w)
    y = f.op("ttnn.relu", (1, 1, 32, 3), "f32", input=y)
    pool = size | {"channels": 3, "kernel_size": [2, 2], "stride": [2, 2], "padding": [0, 0, 0, 0], "dilation": [1, 1]}
    y = f.op("ttnn.max_pool2d", (1, 1, 8, 3), "f32", pool | {"ceil_mode": False}, input=y)
    y = f.op("ttnn.reshape", (2, 12), "f32", {"shape": [2, 12]}, input=y)
    executable = on_mesh(
        mesh,
        [f.done(y)],
        [
            ("x", Role.INPUT, (1, 1, 64, 2), "f32", Sharding(((), (), (0,), ()))),
            ("w", Role.PARAMETER, (3, 2, 3, 3), "f32", Sharding(((), (), (), ()))),
        ],
        [((4, 12), "f32", by_rows(0))],
        options={"numerics": "exact"},
    )
    x, w = drawn(4, 2, 4, 4), drawn(3, 2, 3, 3, seed=1)
    expected = torch.nn.functional.max_pool2d(torch.relu(torch.conv2d(x, w, padding=1)), 2)
    (y,) = run(executable, x.permute(0, 2, 3, 1).reshape(1, 1, 64, 2).contiguous(), w)
    torch.testing.assert_close(y, expected.permute(0, 2, 3, 1).reshape(4, 12), rtol=1e-5, atol=1e-5)


# Programs that do not fit their mesh


@pytest.mark.parametrize(
    ("op", "attributes", "problem"),
    [
        ("ttnn.all_reduce", {"reduce_type": "sum", "cluster_axis": 2}, r"all_reduce names cluster_axis 2, expected"),
        ("ttnn.mesh_partition", {"dim": 0, "cluster_axis": -1}, r"mesh_partition names cluster_axis -1"),
        ("ttnn.point_to_point", {"sender_coord": [0, 4], "receiver_coord": [0, 0]}, r"sender_coord \[0, 4\]"),
        ("ttnn.point_to_point", {"sender_coord": [0, 0], "receiver_coord": [0]}, r"receiver_coord \[0\]"),
    ],
)
def test_places_outside_the_mesh_are_refused(op, attributes, problem, function_builder, on_mesh):
    with pytest.raises(ExecutionError, match=problem):
        exchange(on_mesh, function_builder, MESHES[2, 4], op, (8, 3), (8, 3), attributes)


def test_shardings_that_do_not_fit_are_refused(function_builder, on_mesh, board):
    program = identity(function_builder, on_mesh, load=False)
    for changes, problem in (
        ({"sharding": by_rows(1)}, r"argument 0 with sharding \(\(1,\), \(\)\), expected each axis"),
        ({"sharding": by_rows(0, 0)}, "expected each axis"),
        ({"sharding": by_rows(0).with_unreduced((0,))}, r"and partial sums along \(0,\), expected each axis"),
        ({"sharding": REPLICATED}, r"as shards \(2, 3\) of shape \(4, 3\)"),
        ({"sharding": None}, "with a sharding or a global shape alone"),
    ):
        argument = msgspec.structs.replace(program.arguments[0], **changes)
        with pytest.raises(ExecutionError, match=problem):
            board.load(msgspec.structs.replace(program, arguments=(argument,)))
    with pytest.raises(ExecutionError, match="has a mesh"):
        board.load(msgspec.structs.replace(program, mesh=Mesh((2,), ("x", "y"))))


def test_an_exchange_without_a_mesh_is_refused(function_builder, make_program, board):
    f = function_builder("main")
    x = f.argument((2, 3), "f32")
    y = f.op("ttnn.all_gather", (4, 3), "f32", {"all_gather_dim": 0, "cluster_axis": 0}, input=x)
    program = make_program([f.done(y)], [("x", Role.INPUT, (2, 3), "f32")], [((4, 3), "f32")])
    with pytest.raises(ExecutionError, match="all_gather works between chips, and program 'small' has no mesh"):
        board.load(program)
    with pytest.raises(ExecutionError, match="is for one chip and has no mesh"):
        board.load_mesh(program)
