"""Programs for several chips that keep or write tensors: const-eval, traces, weights and caches."""

from __future__ import annotations

import pytest
import torch

from tests.device.meshes import MESHES, by_columns, by_rows, drawn, instruction, run
from tt_xla.ir.mesh import Sharding
from tt_xla.ir.program import FunctionKind, MemoryPlan, Role
from tt_xla.runtime.mesh.shards import join, split

pytestmark = [pytest.mark.usefixtures("same_bits_on_workers"), pytest.mark.quick]


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
    expected[:, :, 1:] = 0  # the tile that the row fills up in part
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
    expected = torch.zeros(2, 1, 4, 2)  # the tile that the row fills up in part
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
