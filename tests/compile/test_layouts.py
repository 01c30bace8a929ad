"""The layout optimiser: its choices follow the rules, fit into L1, and save time."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.compiler.ttnn.layouts import explain
from tt_xla.compiler.ttnn.layouts.forms import Form
from tt_xla.compiler.ttnn.layouts.search import State, Step
from tt_xla.cost import instruction_cost
from tt_xla.cost.circular_buffers import circular_buffer_bytes
from tt_xla.cost.residency import Residency, held_arguments
from tt_xla.errors import ExecutionError
from tt_xla.ir.layout import BufferType, MemoryLayout
from tt_xla.ir.program import DEALLOCATE
from tt_xla.options import CompileOptions
from tt_xla.runtime import Device
from tt_xla.target import load_target

BF16 = np.dtype(ml_dtypes.bfloat16)


def compiled(function, shapes, level=2, arch="p150", choices=None, **options):
    arrays = [jax.ShapeDtypeStruct(shape, BF16) for shape in shapes]
    text = jax.jit(function, keep_unused=True).lower(*arrays).as_text()
    compile_options = CompileOptions.parse({"optimization_level": level, **options})
    return compile_module(parse_module(text.encode(), "test"), compile_options, load_target(arch), choices=choices)


def chain(x, w):
    """Returns an elementwise op of a product of an elementwise op."""
    h = jnp.abs(x) * x
    h = jnp.abs(h @ w)
    return jnp.negative(h) + h * h


def residual(layers, x, *weights):
    """Returns a residual stream through pairs of products, with a norm in each block."""
    for index in range(layers):
        mean = x.mean(-1, keepdims=True)
        h = (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + jnp.asarray(1e-5, x.dtype))
        x = x + jax.nn.relu(h @ weights[2 * index]) @ weights[2 * index + 1]
    return jnp.tanh(x)


def result_layouts(program, op):
    entry = program.functions[0]
    return [entry.values[step.results[0]].layout for step in entry.body if step.op == op]


def test_a_chain_is_sharded_in_l1():
    program = compiled(chain, [(2048, 512), (512, 512)], arch="n150")
    entry = program.functions[0]
    layouts = result_layouts(program, "ttnn.matmul")
    assert [layout.memory for layout in layouts] == [MemoryLayout.BLOCK_SHARDED]
    product = next(step for step in entry.body if step.op == "ttnn.matmul")
    assert layouts[0] in result_layouts(program, "ttnn.abs")
    config = product.attributes["matmul_program_config"]
    assert (config["per_core_m"], config["per_core_n"]) == layouts[0].shard
    assert entry.values[entry.results[0]].layout.buffer is BufferType.DRAM


def test_a_cast_stays_where_its_operand_lies():
    def mixed(x, w):
        h = jnp.tanh(x @ w)
        return h.astype(jnp.float32), jnp.exp(h) + h

    program = compiled(mixed, [(512, 512), (512, 512)], arch="n150")
    values = program.functions[0].values
    casts = [step for step in program.functions[0].body if step.op == "ttnn.typecast"]
    assert casts
    for step in casts:
        (operand,) = step.operands.values()
        assert values[operand].layout.memory == values[step.results[0]].layout.memory


def test_a_sharded_product_keeps_its_activation():
    shapes = [(2, 32, 32, 64), (64, 256), (256, 64)]
    random = np.random.default_rng(0)
    arrays = [torch.from_numpy(random.standard_normal(shape) / 8).to(torch.bfloat16) for shape in shapes]

    def mlp(x, up, down):
        return jax.nn.gelu(x @ up, approximate=False) @ down + x

    levels = [compiled(mlp, shapes, level, "n150") for level in (0, 2)]
    configs = [step.attributes.get("matmul_program_config") or {} for step in levels[1].functions[0].body]
    assert any(config.get("fused_activation") for config in configs)
    plain, sharded = (Device(load_target("n150")).load(program).run(arrays, [None] * 3)[0] for program in levels)
    # A fused activation sees the product before it is rounded.
    torch.testing.assert_close(sharded, plain, rtol=2**-7, atol=2**-7)


def test_sums_of_16_bits_leave_room_for_larger_parts_and_deeper_blocks():
    shapes, formats = ((3072, 1024), (1024, 4096)), {"enable_bfp8_conversion": True, "math_fidelity": "lofi"}
    configs = {}
    for wide in (True, False):
        program = compiled(lambda x, w: jnp.abs(x) @ w * 2, shapes, arch="n150", fp32_dest_acc_en=wide, **formats)
        (step,) = (step for step in program.functions[0].body if step.op == "ttnn.matmul")
        configs[wide] = step.attributes.get("matmul_program_config")
    assert configs[True] is None  # the sums of 12 x 16 tiles in float32 leave no room for a config
    block = {"per_core_m": 12, "per_core_n": 16, "out_subblock_h": 1, "out_subblock_w": 8, "in0_block_w": 2}
    assert {name: configs[False][name] for name in block} == block


def test_level_2_pays_where_data_is_large():
    slow, fast = (compiled(chain, [(2048, 512), (512, 512)], level).predicted_device_us for level in (1, 2))
    assert fast < 0.9 * slow


WIDTHS = st.sampled_from([32, 40, 256, 320, 1024])


@settings(max_examples=15)
@given(
    rows=st.sampled_from([1, 32, 100, 512, 4096]),
    width=WIDTHS,
    inner=WIDTHS,
    layers=st.integers(1, 3),
    arch=st.sampled_from(["n150", "p150"]),
)
def test_what_is_chosen_fits_and_is_never_slower(rows, width, inner, layers, arch):
    shapes = [(rows, width), *[(width, inner), (inner, width)] * layers]
    function = functools.partial(residual, layers)
    program = compiled(function, shapes, arch=arch)
    check_room(program, load_target(arch))
    slower = compiled(function, shapes, level=1, arch=arch)
    assert program.predicted_device_us <= slower.predicted_device_us * (1 + 1e-9)
    for before, after in zip(slower.functions[0].results, program.functions[0].results, strict=True):
        assert slower.functions[0].values[before] == program.functions[0].values[after]


def check_room(program, target):
    """Checks that circular buffers end below every tensor in L1 at each op, and that no two live tensors overlap."""
    residency, entry = Residency(target), program.functions[0]
    for value in held_arguments(entry, program.arguments):
        assert residency.hold((entry.name, value), entry.values[value]) is None
    for step in entry.body:
        if step.op == DEALLOCATE:
            residency.free((entry.name, step.operands["input"]))
            continue
        assert residency.run(entry, step, {}) is None
        for space in (residency.dram, residency.l1):
            occupied = sorted(space.owners.values())
            assert all(stop <= start for (_, stop), (start, _) in itertools.pairwise(occupied))
        buffers = circular_buffer_bytes(step, entry.values, target)
        if residency.l1.owners:
            assert target.l1_unreserved_base + buffers <= residency.l1.lowest, step
        assert step.cost == instruction_cost(step, entry.values, target)


def test_what_l1_cannot_hold_goes_to_dram():
    """The program needs nine results of 2 MiB per core until its end."""

    def hold(x):
        held = [jnp.exp(x * index) for index in range(1, 10)]
        return functools.reduce(jnp.maximum, [jnp.tanh(each) + x for each in reversed(held)])

    program = compiled(hold, [(8192, 1024)])
    check_room(program, load_target("p150"))
    assert program.memory.l1_peak_bytes_per_core < load_target("p150").l1_usable_bytes


@pytest.mark.parametrize("trace", [False, True])
def test_the_runtime_takes_what_was_planned(trace):
    program = compiled(chain, [(2048, 512), (512, 512)], enable_trace=trace)
    assert program.memory.l1_peak_bytes_per_core > 0
    import torch

    inputs = [torch.full(shape, 0.01, dtype=torch.bfloat16) for shape in ((2048, 512), (512, 512))]
    device = Device(load_target("p150"))
    (result,) = device.load(program).run(inputs, [None, None])
    for level in (0, 1):
        other = compiled(chain, [(2048, 512), (512, 512)], level, enable_trace=trace)
        assert torch.equal(device.load(other).run(inputs, [None, None])[0], result)


def test_a_wrong_memory_plan_is_found_out():
    import msgspec
    import torch

    program = compiled(chain, [(64, 64), (64, 64)])
    plan = msgspec.structs.replace(program.memory, dram_peak_bytes=program.memory.dram_peak_bytes + 64)
    wrong = Device(load_target("p150")).load(msgspec.structs.replace(program, memory=plan))
    for _ in range(2):
        with pytest.raises(ExecutionError, match="its memory plan says"):
            wrong.run([torch.ones(64, 64, dtype=torch.bfloat16)] * 2, [None, None])


def test_explanations_name_the_runner_up():
    choices = []
    program = compiled(chain, [(2048, 512), (512, 512)], arch="n150", choices=choices)
    product = next(choice for choice in choices if choice.op == "ttnn.matmul")
    assert product.chosen.startswith("L1 block sharded 8x8, multi cast in blocks of ")
    assert (product.bound, product.roof) == ("compute", "compute")
    assert product.roofline_us == pytest.approx(2 * 2048 * 512 * 512 / 65.536e12 * 1e6)
    assert product.runner_up
    assert product.runner_up != product.chosen
    assert product.why
    assert any(choice.costs_us > 1 and "saves" in choice.why for choice in choices)
    last = [choice for choice in choices if choice.chosen == "DRAM"][-1]
    assert "must be in DRAM" in last.why
    assert sum(choice.time_us for choice in choices) < program.predicted_device_us


@pytest.mark.parametrize(
    ("here", "extra", "reason"),
    [
        (3.0, 3.0, "saves 2.00 us here and 1.00 us later"),
        (0.5, 3.0, "saves 3.50 us later, costs 0.50 us here"),
        (1.0, 0.0, "as fast"),
        (1.0, -2.5, "the next best would save 2.50 us over the next 12 ops, which the search missed"),
    ],
)
def test_an_explanation_says_what_a_form_saves(here, extra, reason):
    chosen, runner = (
        State(0.0, {}, (), step=Step(Form(None, (), ()), (), None, time_us, 0.0)) for time_us in (1.0, here)
    )
    assert explain.reason_of(chosen, runner, extra, False, []) == reason


@pytest.mark.parametrize("level", [0, 1])
def test_a_convolution_keeps_its_weights_row_major(level):
    """Permuting 3x3 weights in tiles would move 114 times as much data."""

    def conv(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    program = compiled(conv, [(1, 16, 16, 64), (3, 3, 64, 64)], level)
    (permuted,) = result_layouts(program, "ttnn.permute")
    assert (permuted.tiled, permuted.buffer) == (False, BufferType.DRAM)


@pytest.mark.parametrize("dim", [1, 2])
def test_room_between_elements_takes_no_tile_for_each_of_them(dim):
    program = compiled(
        lambda x: jax.lax.pad(x, jnp.bfloat16(0), [(0, 0, 7 if d == dim else 0) for d in range(3)]), [(1, 256, 1024)]
    )
    assert program.memory.dram_peak_bytes < 100 * 2 * 256 * 1024


def test_training_a_convolution_takes_no_tile_for_each_window_of_its_weights():
    """Tiles take 114 times the memory of 3x3 weights, of which a step with momentum has four, and their gradient."""

    def loss(w, x):
        return jnp.mean(jax.lax.conv(x, w, (1, 1), "SAME") ** 2)

    def step(w, momentum, x):
        gradient = jax.grad(loss)(w, x) + 1e-4 * w
        momentum = 0.9 * momentum + gradient * jax.lax.rsqrt(jnp.sum(gradient**2))
        return w - 0.1 * momentum, momentum

    weights = (256, 256, 3, 3)
    program = compiled(step, [weights, weights, (1, 256, 8, 8)], level=0)
    in_tiles = 256 * 256 * 2 * 32 * 32
    assert program.memory.dram_peak_bytes < in_tiles / 2
