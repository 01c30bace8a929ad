"""Programs for several chips, written by hand, compared with numpy on the tensors before they are split."""

from __future__ import annotations

import itertools
from dataclasses import replace as changed

import msgspec
import numpy as np
import pytest
import torch

from tests.device.meshes import MESHES, REPLICATED, by_rows, drawn, every_mesh, exchange, run
from tt_xla.errors import ExecutionError, ResourceExhaustedError
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import MemoryPlan, Role
from tt_xla.runtime import Device, recorded_runs
from tt_xla.runtime.emulator import library
from tt_xla.runtime.emulator.fused import build
from tt_xla.runtime.mesh.shards import join, split

pytestmark = [pytest.mark.usefixtures("same_bits_on_workers"), pytest.mark.quick]


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
    board.chip(1).count_tensors("test", lambda: board.target.dram_usable_bytes)
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
    """Eight chips compute the same ops on their shards: before and after the exchange one C++ function each."""
    monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", "now")
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path))
    sources, compiled = [], build.Build.of
    library.library()
    monkeypatch.setattr(build.Build, "of", lambda source, **more: sources.append(source) or compiled(source, **more))
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
    assert executable.executable.fused.count == 2
    assert {source.count("static __attribute__") for source in sources} == {2}  # also those of workers with some chips


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
