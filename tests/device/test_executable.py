"""Executables: arguments, results, const-eval, trace, memory."""

from __future__ import annotations

import gc

import pytest
import torch

from tt_xla.errors import ExecutionError, OptionError, ResourceExhaustedError, TraceRegionError
from tt_xla.ir.program import FunctionKind, MemoryPlan, Role
from tt_xla.runtime import Device, lifetimes
from tt_xla.runtime.ownership import owns_memory

BF16 = torch.bfloat16


@pytest.fixture
def add(function_builder, make_program):
    """Returns a program of x + y whose operands are declared as ``dtype`` and held on the device as ``held``."""

    def make(dtype="bf16", held="bf16", shape=(2, 3), **more):
        f = function_builder("main")
        x, y = f.argument(shape, held), f.argument(shape, held)
        total = f.op("ttnn.add", shape, held, lhs=x, rhs=y)
        f.deallocate(x)
        f.deallocate(y)
        declared = [("x", Role.INPUT, shape, dtype), ("y", Role.INPUT, shape, dtype)]
        return make_program([f.done(total)], declared, [(shape, dtype)], **more)

    return make


@pytest.fixture
def model(function_builder, make_program, make_trace):
    """Returns a program of relu(x @ w + w_sum). Const-eval transposes w; the other ops are optionally in a trace."""

    def make(trace=True, trace_bytes=4096, trace_op="ttnn.relu"):
        c = function_builder("main_const_eval_0", FunctionKind.CONST_EVAL)
        w = c.argument((4, 3), "bf16")
        const_eval = c.done(c.op("ttnn.transpose", (3, 4), "bf16", {"dim0": 0, "dim1": 1}, input=w))
        body = function_builder("trace_0_main" if trace else "main", FunctionKind.TRACE)
        if trace:
            x, wt = body.argument((2, 3), "bf16"), body.argument((3, 4), "bf16")
        else:
            body.kind = FunctionKind.FORWARD
            x, w = body.argument((2, 3), "bf16"), body.argument((4, 3), "bf16")
            wt = body.op("ttcore.load_cached", (3, 4), "bf16", {"callee": "main_const_eval_0"}, inputs=(w,))
        product = body.op("ttnn.matmul", (2, 4), "bf16", {"transpose_a": False, "transpose_b": False}, a=x, b=wt)
        y = body.op(trace_op, (2, 4), "bf16", input=product)
        body.deallocate(product)
        functions = [const_eval] if trace else [body.done(y), const_eval]
        if trace:
            around, attributes = make_trace(body, y)
            f = function_builder("main")
            x, w = f.argument((2, 3), "bf16"), f.argument((4, 3), "bf16")
            wt = f.op("ttcore.load_cached", (3, 4), "bf16", {"callee": "main_const_eval_0"}, inputs=(w,))
            y = f.op("ttnn.capture_or_execute_trace", (2, 4), "bf16", attributes, inputs=(x, wt))
            functions = [f.done(y), *around, *functions]
        return make_program(
            functions,
            [("x", Role.INPUT, (2, 3), "bf16"), ("w", Role.PARAMETER, (4, 3), "bf16")],
            [((2, 4), "bf16")],
            options={"numerics": "silicon", "enable_trace": trace},
            memory=MemoryPlan(1 << 20, 0, trace_bytes if trace else 0),
        )

    return make


def tensors(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(2, 3, generator=generator).to(BF16), torch.randn(4, 3, generator=generator).to(BF16)]


def expected(x, w):
    return torch.relu(x.float() @ w.float().T).to(BF16)


def test_runs_and_reports_its_state(device, add):
    executable = device.load(add())
    assert executable.state == "cold"
    x = torch.arange(6, dtype=BF16).reshape(2, 3)
    (result,) = executable.run([x, x], [None, None])
    assert torch.equal(result, 2 * x)
    assert executable.state == "warm"


def test_strided_arguments_are_read_by_their_strides(device, add):
    x = torch.arange(6, dtype=BF16).reshape(3, 2).T
    (result,) = device.load(add()).run([x, x], [None, None])
    assert torch.equal(result, 2 * x)
    assert result.is_contiguous()


@pytest.mark.parametrize(
    ("declared", "held", "torch_dtype"),
    [
        ("f32", "f32", torch.float32),
        ("f64", "f32", torch.float64),
        ("f16", "bf16", torch.float16),
        ("i64", "si32", torch.int64),
        ("i32", "si32", torch.int32),
        ("i8", "si32", torch.int8),
        ("ui8", "u8", torch.uint8),
        ("ui16", "u16", torch.uint16),
        ("ui32", "u32", torch.uint32),
        ("ui64", "u32", torch.uint64),
    ],
)
def test_arguments_narrow_and_results_widen(device, add, declared, held, torch_dtype):
    x = torch.arange(6).reshape(2, 3).to(torch_dtype)
    (result,) = device.load(add(declared, held)).run([x, x], [None, None])
    assert result.dtype is torch_dtype
    assert (2 * torch.arange(6)).reshape(2, 3).tolist() == result.to(torch.int64).tolist()


def test_bools_are_bfloat16_on_the_device(device, function_builder, make_program):
    f = function_builder("main")
    x, y = f.argument((4,), "bf16"), f.argument((4,), "bf16")
    both = f.op("ttnn.logical_and", (4,), "bf16", lhs=x, rhs=y)
    declared = [("x", Role.INPUT, (4,), "i1"), ("y", Role.INPUT, (4,), "i1")]
    executable = device.load(make_program([f.done(both)], declared, [((4,), "i1")]))
    x, y = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
    (result,) = executable.run([x, y], [None, None])
    assert result.dtype is torch.bool
    assert result.tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("declared", "held", "torch_dtype", "value"),
    [
        ("i64", "si32", torch.int64, 2**31),
        ("i64", "si32", torch.int64, -(2**31) - 1),
        ("ui32", "si32", torch.uint32, 2**31),
        ("ui64", "u32", torch.uint64, 2**32),
        ("ui64", "u32", torch.uint64, 2**63 + 5),
        ("i64", "u32", torch.int64, -1),
        ("f64", "f32", torch.float64, 1e300),
    ],
)
def test_a_value_that_does_not_fit_is_an_error(device, add, declared, held, torch_dtype, value):
    x = torch.zeros(2, 3, dtype=torch_dtype)
    bad = torch.tensor([[0, 0, 0], [0, 0, value]], dtype=torch_dtype)
    executable = device.load(add(declared, held))
    with pytest.raises(ExecutionError, match="Argument 'y' holds the value") as caught:
        executable.run([x, bad], [None, None])
    assert repr(value) in str(caught.value)


def test_the_ends_of_the_range_fit(device, add):
    x = torch.tensor([[2**31 - 1, -(2**31), 0]] * 2)
    (result,) = device.load(add("i64", "si32")).run([x, torch.zeros_like(x)], [None, None])
    assert torch.equal(result, x)


def test_infinity_of_float64_stays(device, add):
    x = torch.full((2, 3), torch.inf, dtype=torch.float64)
    (result,) = device.load(add("f64", "f32")).run([x, x], [None, None])
    assert torch.equal(result, x)


def test_wrong_arguments_say_what_was_expected(device, add):
    executable = device.load(add())
    x = torch.zeros(2, 3, dtype=BF16)
    with pytest.raises(ExecutionError, match=r"takes 2 arguments, got 1 tensors .* in order: x, y"):
        executable.run([x], [None])
    with pytest.raises(ExecutionError, match=r"Argument 'y' .* is bfloat16\[3, 2\], expected bfloat16\[2, 3\]"):
        executable.run([x, x.T], [None, None])
    with pytest.raises(ExecutionError, match=r"Argument 'x' .* is float32\[2, 3\], expected bfloat16\[2, 3\]"):
        executable.run([x.float(), x], [None, None])


def test_results_share_memory_with_nothing(device, function_builder, make_program):
    f = function_builder("main")
    x = f.argument((2, 3), "bf16")
    view = f.op("ttnn.reshape", (3, 2), "bf16", {"shape": [3, 2]}, input=x)
    fresh = f.op("ttnn.neg", (2, 3), "bf16", input=x)
    program = make_program(
        [f.done(x, view, fresh, fresh)],
        [("x", Role.INPUT, (2, 3), "bf16")],
        [((2, 3), "bf16"), ((3, 2), "bf16"), ((2, 3), "bf16"), ((2, 3), "bf16")],
    )
    x = torch.arange(6, dtype=BF16).reshape(2, 3)
    results = device.load(program).run([x], [None])
    addresses = {tensor.untyped_storage().data_ptr() for tensor in [x, *results]}
    assert len(addresses) == 5
    assert torch.equal(results[1], x.reshape(3, 2))
    assert torch.equal(results[3], -x)


def test_a_result_that_is_an_argument_or_a_kept_value_is_a_copy(device, function_builder, make_program):
    c = function_builder("main_const_eval_0", FunctionKind.CONST_EVAL)
    w = c.argument((2, 3), "bf16")
    const_eval = c.done(c.op("ttnn.neg", (2, 3), "bf16", input=w))
    f = function_builder("main")
    x, w = f.argument((2, 3), "bf16"), f.argument((2, 3), "bf16")
    cached = f.op("ttcore.load_cached", (2, 3), "bf16", {"callee": "main_const_eval_0"}, inputs=(w,))
    moved = f.op("ttnn.to_layout", (2, 3), "bf16", input=cached)
    declared = [("x", Role.INPUT, (2, 3), "bf16"), ("w", Role.PARAMETER, (2, 3), "bf16")]
    executable = device.load(make_program([f.done(x, cached, moved), const_eval], declared, [((2, 3), "bf16")] * 3))
    x = torch.arange(6, dtype=BF16).reshape(2, 3)
    for _ in range(3):
        results = executable.run([x, x], [None, 1])
        assert len({tensor.untyped_storage().data_ptr() for tensor in [x, *results]}) == 4
        assert torch.equal(results[0], x)
        assert torch.equal(results[1], -x)
        for result in results:
            result.zero_()


def test_a_dropped_executable_is_gone_at_once(device, model):
    executable = device.load(model())
    x, w = tensors()
    for _ in range(3):
        executable.run([x, w], [None, 1])
    gc.disable()
    try:
        del executable
        assert device.memory().const_eval == device.memory().traces == 0
    finally:
        gc.enable()


def test_an_error_after_the_first_run_names_op_operands_and_line(device, function_builder, make_program):
    f = function_builder("main")
    table, indices = f.argument((4, 3), "bf16"), f.argument((2, 3), "u32")
    doubled = f.op("ttnn.add", (4, 3), "bf16", lhs=table, rhs=table)
    rows = f.op("ttnn.gather", (2, 3), "bf16", {"dim": 0}, input=doubled, index=indices)
    f.deallocate(doubled)
    declared = [("table", Role.INPUT, (4, 3), "bf16"), ("indices", Role.INPUT, (2, 3), "i64")]
    executable = device.load(make_program([f.done(rows)], declared, [((2, 3), "bf16")]))
    table, indices = tensors()[1], torch.ones(2, 3, dtype=torch.int64)
    for _ in range(2):
        executable.run([table, indices], [None, None])
    named = r"ttnn.gather failed on bfloat16\[4, 3\], int64\[2, 3\]: .*out of bounds.* At model.py:7"
    with pytest.raises(ExecutionError, match=named):
        executable.run([table, indices + 3], [None, None])
    assert torch.equal(executable.run([table, indices], [None, None])[0], (2 * table)[[1, 1]])


def test_a_bound_program_looks_nothing_up(device, add):
    executable = device.load(add())
    x = torch.arange(6, dtype=BF16).reshape(2, 3)
    for _ in range(3):
        assert torch.equal(executable.run([x, x], [None, None])[0], 2 * x)
    assert executable.counters.kernel_lookups == 1


def test_a_result_that_is_a_small_view_does_not_hold_the_whole(device, function_builder, make_program):
    f = function_builder("main")
    x = f.argument((100,), "f32")
    doubled = f.op("ttnn.add", (100,), "f32", lhs=x, rhs=x)
    first = f.op("ttnn.slice_static", (1,), "f32", {"begins": [0], "ends": [1], "step": [1]}, input=doubled)
    program = make_program([f.done(first)], [("x", Role.INPUT, (100,), "f32")], [((1,), "f32")])
    (result,) = device.load(program).run([torch.ones(100)], [None])
    assert result.untyped_storage().nbytes() == 4


def test_a_run_leaves_the_mode_of_gradients_as_it_was(device, add):
    executable = device.load(add())
    x = torch.ones(2, 3, dtype=BF16)
    for enabled in (True, False):
        with torch.set_grad_enabled(enabled):
            executable.run([x, x], [None, None])
            assert torch.is_grad_enabled() is enabled
            with pytest.raises(ExecutionError):
                executable.run([], [])
            assert torch.is_grad_enabled() is enabled


def test_results_that_require_no_grad(device, add):
    x = torch.ones(2, 3, dtype=BF16, requires_grad=True)
    (result,) = device.load(add()).run([x, x], [None, None])
    assert not result.requires_grad


class TestConstEval:
    def test_runs_once_while_versions_stay(self, device, model):
        executable = device.load(model(trace=False))
        x, w = tensors()
        for _ in range(3):
            (result,) = executable.run([x, w], [None, 1])
            assert torch.equal(result, expected(x, w))
        assert executable.counters.const_evals == 1

    def test_runs_again_when_the_version_changes(self, device, model):
        executable = device.load(model(trace=False))
        x, w = tensors()
        executable.run([x, w], [None, 1])
        w.mul_(2)
        (result,) = executable.run([x, w], [None, 2])
        assert executable.counters.const_evals == 2
        assert torch.equal(result, expected(x, w))

    def test_runs_again_for_another_view_of_the_same_version(self, device, model):
        executable = device.load(model(trace=False))
        base = torch.randn(8, 3).to(BF16)
        x, _ = tensors()
        executable.run([x, base[:4]], [None, 1])
        (result,) = executable.run([x, base[4:]], [None, 1])
        assert torch.equal(result, expected(x, base[4:]))
        assert executable.counters.const_evals == 2

    def test_runs_each_time_when_versions_are_unknown(self, device, model):
        executable = device.load(model(trace=False))
        x, w = tensors()
        executable.run([x, w], [None, None])
        w.mul_(2)
        (result,) = executable.run([x, w], [None, None])
        assert executable.counters.const_evals == 2
        assert torch.equal(result, expected(x, w))

    def test_a_view_of_an_argument_is_no_copy_of_it(self, device, model):
        executable = device.load(model(trace=False))
        x, w = tensors()
        executable.run([x, w], [None, 1])
        (results,) = executable.const_evals.results.values()
        assert results[0].untyped_storage().data_ptr() == w.data_ptr()

    def test_a_view_ends_with_the_contents_of_its_argument(self, device, model):
        executable = device.load(model(trace=False))
        x, w = tensors()
        executable.run([x, w], [None, 1])
        w.mul_(2)
        lifetimes.ended(1)
        assert not executable.const_evals.results
        (result,) = executable.run([x, w], [None, 2])
        assert torch.equal(result, expected(x, w))

    def test_of_an_argument_without_a_version_nothing_is_held(self, device, model):
        executable = device.load(model(trace=False))
        x, w = tensors()
        executable.run([x, w], [None, None])
        assert owns_memory(w)

    def test_its_results_count_as_resident(self, device, model):
        executable = device.load(model(trace=False))
        assert device.memory().const_eval == 0
        executable.run(tensors(), [None, 1])
        assert device.memory().const_eval == 2048  # one bf16 tile
        del executable
        gc.collect()
        assert device.memory().const_eval == 0


class TestTrace:
    def test_warms_up_captures_and_replays(self, device, model):
        executable = device.load(model())
        states = []
        w = tensors()[1]
        for seed in range(4):
            x = tensors(seed)[0]
            (result,) = executable.run([x, w], [None, 1])
            assert torch.equal(result, expected(x, w))
            states.append((executable.state, executable.counters.captures, executable.counters.replays))
        assert states == [("warm", 0, 0), ("captured", 1, 0), ("captured", 1, 1), ("captured", 1, 2)]

    def test_replays_look_nothing_up(self, device, model):
        executable = device.load(model())
        x, w = tensors()
        for _ in range(2):
            executable.run([x, w], [None, 1])
        before = executable.counters.kernel_lookups
        for seed in range(3):
            x = tensors(seed)[0]
            (result,) = executable.run([x, w], [None, 1])
            assert torch.equal(result, expected(x, w))
        assert executable.counters.kernel_lookups == before
        assert executable.counters.replays == 3

    def test_results_of_replays_are_apart(self, device, model):
        executable = device.load(model())
        x, w = tensors()
        results = [executable.run([x * n, w], [None, 1])[0] for n in range(5)]
        for n, result in enumerate(results):
            assert torch.equal(result, expected(x * n, w))

    def test_a_changed_parameter_reaches_the_replay(self, device, model):
        executable = device.load(model())
        x, w = tensors()
        for version in range(4):
            w = w * 2
            (result,) = executable.run([x, w], [None, version])
            assert torch.equal(result, expected(x, w))

    def test_a_changed_parameter_is_captured_anew(self, device, model):
        executable = device.load(model())
        x, w = tensors()
        for version in (1, 1, 1, 2, 2):
            executable.run([x, w * version], [None, version])
        assert (executable.counters.captures, executable.counters.replays) == (2, 2)

    def test_an_error_while_replaying_names_op_and_line(self, device, function_builder, make_program, make_trace):
        t = function_builder("trace", FunctionKind.TRACE)
        indices, table = t.argument((2,), "u32"), t.argument((4, 3), "bf16")
        around, attributes = make_trace(t, t.op("ttnn.embedding", (2, 3), "bf16", input=indices, weight=table))
        f = function_builder("main")
        indices, table = f.argument((2,), "u32"), f.argument((4, 3), "bf16")
        rows = f.op("ttnn.capture_or_execute_trace", (2, 3), "bf16", attributes, inputs=(indices, table))
        declared = [("i", Role.INPUT, (2,), "i64"), ("table", Role.PARAMETER, (4, 3), "bf16")]
        executable = device.load(make_program([f.done(rows), *around], declared, [((2, 3), "bf16")]))
        _, table = tensors()
        for _ in range(3):
            executable.run([torch.tensor([1, 3]), table], [None, 1])
        with pytest.raises(ExecutionError, match=r"ttnn.embedding .*index 4 is outside .* 4 rows\. At model.py:7"):
            executable.run([torch.tensor([1, 4]), table], [None, 1])
        (result,) = executable.run([torch.tensor([1, 3]), table], [None, 1])
        assert torch.equal(result, table[[1, 3]])

    def test_a_region_too_small_is_an_error_at_load(self, chip, model):
        device = Device(chip(), trace_region_bytes=4095)
        with pytest.raises(TraceRegionError, match=r"needs 4096 bytes.*TT_RUNTIME_TRACE_REGION_SIZE to at least 4096"):
            device.load(model())

    def test_captured_traces_share_the_region(self, chip, model):
        device = Device(chip(), trace_region_bytes=6000)
        first = device.load(model())
        first.run(tensors(), [None, 1])
        second = device.load(model(trace_op="ttnn.neg"))
        first.run(tensors(), [None, 1])
        assert device.memory().traces == 4096
        second.run(tensors(), [None, 1])
        with pytest.raises(TraceRegionError, match="at least 8192"):
            second.run(tensors(), [None, 1])

    def test_the_region_is_sized_by_the_environment(self, chip, model, monkeypatch):
        monkeypatch.setenv("TT_RUNTIME_TRACE_REGION_SIZE", "100")
        with pytest.raises(TraceRegionError):
            Device(chip()).load(model())

    def test_needs_the_program_cache(self, device, model, monkeypatch):
        monkeypatch.setenv("TT_RUNTIME_ENABLE_PROGRAM_CACHE", "0")
        with pytest.raises(OptionError, match="program cache"):
            device.load(model())
        executable = device.load(model(trace=False))
        x, w = tensors()
        assert torch.equal(executable.run([x, w], [None, 1])[0], expected(x, w))
        assert not device.program_cache

    def test_reset_starts_cold(self, device, model):
        executable = device.load(model())
        x, w = tensors()
        for _ in range(3):
            executable.run([x, w], [None, 1])
        device.reset()
        assert executable.state == "cold"
        assert device.memory().traces == device.memory().const_eval == 0
        assert torch.equal(executable.run([x, w], [None, 1])[0], expected(x, w))


def test_the_program_cache_is_shared_by_programs(device, add):
    x = torch.ones(2, 3, dtype=BF16)
    executables = [device.load(add()) for _ in range(2)]
    for executable in executables:
        executable.run([x, x], [None, None])
    assert len(device.program_cache) == 1
    other = device.load(add(shape=(3, 2)))
    other.run([x.T, x.T], [None, None])
    assert len(device.program_cache) == 2


def test_numerics_is_part_of_the_key(device, add):
    x = torch.ones(2, 3, dtype=BF16)
    executables = [device.load(add(options={"numerics": numerics})) for numerics in ("silicon", "exact")]
    for executable in executables:
        executable.run([x, x], [None, None])
    assert len(device.program_cache) == 2


def test_an_unknown_op_is_named_with_near_names(device, function_builder, make_program):
    f = function_builder("main")
    x = f.argument((2,), "bf16")
    y = f.op("ttnn.sofmax", (2,), "bf16", {"dimension": 0}, input=x)
    with pytest.raises(ExecutionError, match=r"no kernel for ttnn.sofmax\. At model.py:7.*ttnn.softmax"):
        device.load(make_program([f.done(y)], [("x", Role.INPUT, (2,), "bf16")], [((2,), "bf16")]))


def test_an_unknown_attribute_is_named(device, function_builder, make_program):
    f = function_builder("main")
    x = f.argument((2,), "bf16")
    y = f.op("ttnn.relu", (2,), "bf16", {"slope": 0.5}, input=x)
    executable = device.load(make_program([f.done(y)], [("x", Role.INPUT, (2,), "bf16")], [((2,), "bf16")]))
    with pytest.raises(ExecutionError, match=r"ttnn.relu .*attributes slope"):
        executable.run([torch.ones(2, dtype=BF16)], [None])


def test_a_declared_shape_that_a_kernel_does_not_give(device, function_builder, make_program):
    f = function_builder("main")
    x = f.argument((2,), "bf16")
    y = f.op("ttnn.relu", (3,), "bf16", input=x)
    executable = device.load(make_program([f.done(y)], [("x", Role.INPUT, (2,), "bf16")], [((3,), "bf16")]))
    with pytest.raises(ExecutionError, match=r"returned shape \(2,\), the program declares \(3,\)"):
        executable.run([torch.ones(2, dtype=BF16)], [None])


def test_a_call_of_a_missing_function(device, function_builder, make_program):
    f = function_builder("main")
    x = f.argument((2,), "bf16")
    y = f.op("ttcore.load_cached", (2,), "bf16", {"callee": "nowhere"}, inputs=(x,))
    with pytest.raises(ExecutionError, match="calls 'nowhere'"):
        device.load(make_program([f.done(y)], [("x", Role.INPUT, (2,), "bf16")], [((2,), "bf16")]))


def test_another_systems_program(device, add):
    with pytest.raises(ExecutionError, match="compiled for p150; this device is test"):
        device.load(add(target="p150"))


def test_a_program_that_does_not_fit(chip, add):
    device = Device(chip(dram_usable_bytes=1000), trace_region_bytes=None)
    with pytest.raises(
        ResourceExhaustedError, match=r"needs 1500 bytes .* has 1000 bytes and lacks 500 bytes"
    ) as caught:
        device.load(add(memory=MemoryPlan(1500)))
    assert "argument 'x' bf16[2, 3] with 2048 bytes" in str(caught.value)


def test_an_argument_from_the_host_takes_room_beside_all_tensors(chip, add):
    device = Device(chip(dram_usable_bytes=10_000), trace_region_bytes=None)
    executable = device.load(add(memory=MemoryPlan(6000)))
    x = torch.ones(2, 3, dtype=torch.bfloat16)
    device.count_tensors("test", lambda: 4000 + executable.argument_bytes)
    executable.run([x, x], [7, 8])
    for _ in range(2):
        with pytest.raises(ResourceExhaustedError, match=r"lacks 2048 bytes.*other tensors take 6048 bytes"):
            executable.run([x, x], [None, 8])
    device.count_tensors("other", lambda: 1)
    with pytest.raises(ResourceExhaustedError, match="lacks 1 bytes"):
        executable.run([x, x], [7, 8])


def test_const_eval_results_of_others_take_room(chip, add, model):
    device = Device(chip(dram_usable_bytes=(1 << 20) + 2000), trace_region_bytes=None)
    first = device.load(model(trace=False))
    device.load(add(memory=MemoryPlan(1 << 20)))
    first.run(tensors(), [None, 1])
    with pytest.raises(ResourceExhaustedError, match="Const-eval results of other programs take 2048 bytes"):
        device.load(add(memory=MemoryPlan(1 << 20)))


def test_a_device_opens_once(monkeypatch):
    from tt_xla.runtime import get_device

    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    assert get_device() is get_device("p150")
    assert get_device("n150") is not get_device("p150")
    assert get_device("n150").name == "n150"


def test_importing_the_runtime_imports_no_torch():
    import subprocess
    import sys

    code = "import sys, tt_xla.runtime; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_single_integer_has_its_value_in_each_run(device, function_builder, make_program):
    """Its memory on the device serves all runs, and no result lies in it."""
    f = function_builder("main")
    count, other = f.argument((1, 1), "si32"), f.argument((1,), "si32")
    reshaped = f.op("ttnn.reshape", (1,), "si32", {"shape": [1]}, input=count)
    results = [count, reshaped, f.op("ttnn.add", (1,), "si32", lhs=reshaped, rhs=other), other]
    arguments = [("count", Role.INPUT, (1, 1), "i64"), ("other", Role.INPUT, (1,), "i64")]
    shapes = [((1, 1), "i32"), ((1,), "i32"), ((1,), "i32"), ((1,), "i32")]
    executable = device.load(make_program([f.done(*results)], arguments, shapes))
    runs = [executable.run([torch.tensor([[n]]), torch.tensor([100])], [None, None]) for n in (5, -(2**31), 7)]
    assert [[tensor.item() for tensor in each] for each in runs] == [
        [5, 5, 105, 100],
        [-(2**31), -(2**31), 100 - 2**31, 100],
        [7, 7, 107, 100],
    ]
    for number in (2**31, -(2**31) - 1):
        with pytest.raises(ExecutionError, match=f"holds the value {number}, which does not fit"):
            executable.run([torch.tensor([[number]]), torch.tensor([100])], [None, None])


def test_a_function_of_constants_that_is_loaded_for_two_arguments(device, function_builder, make_program):
    """Results that need no look at their arguments belong to one step, and to the arguments' last contents."""
    doubled = function_builder("main_const_eval_0", FunctionKind.CONST_EVAL)
    w = doubled.argument((2,), "f32")
    doubled = doubled.done(doubled.op("ttnn.add", (2,), "f32", lhs=w, rhs=w))
    f = function_builder("main")
    first, second = f.argument((2,), "f32"), f.argument((2,), "f32")
    loaded = [
        f.op("ttcore.load_cached", (2,), "f32", {"callee": "main_const_eval_0"}, inputs=(each,))
        for each in (first, second)
    ]
    declared = [("v", Role.PARAMETER, (2,), "f32"), ("w", Role.PARAMETER, (2,), "f32")]
    executable = device.load(make_program([f.done(*loaded), doubled], declared, [((2,), "f32")] * 2))
    versions = [lifetimes.new_version() for _ in range(3)]
    tensors = [torch.full((2,), float(number)) for number in (1, 2, 3)]
    for at in ((0, 1), (0, 1), (0, 1), (2, 1), (2, 1), (1, 2), (0, 1)):
        results = executable.run([tensors[each] for each in at], [versions[each] for each in at])
        assert [result[0].item() for result in results] == [2.0 * (each + 1) for each in at]
    lifetimes.ended(versions[1])
    tensors[1], versions[1] = torch.full((2,), 7.0), lifetimes.new_version()
    results = executable.run(tensors[:2], versions[:2])
    assert [result[0].item() for result in results] == [2.0, 14.0]
