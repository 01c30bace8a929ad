"""Tests of the cost model: its behaviour for any op, and its distance from times measured on silicon."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.measured import by_family, price, read
from tt_xla.cost import instruction_cost, predicted_device_us
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.program import Cost, Function, FunctionKind, Instruction, TensorSpec
from tt_xla.target import Target, load_target, system_names

pytestmark = pytest.mark.quick

N150 = load_target("n150")
MEASURED = Path(__file__).parents[1] / "data" / "measured"


def spec(
    shape: tuple[int, ...],
    dtype: DataType = DataType.BF16,
    *,
    tiled: bool = True,
    buffer: BufferType = BufferType.DRAM,
    memory: MemoryLayout | None = None,
    grid: tuple[int, int] = (1, 1),
) -> TensorSpec:
    return TensorSpec(shape, TensorLayout.of(shape, dtype, tiled=tiled, buffer=buffer, memory=memory, grid=grid))


def cost(op: str, inputs: list[TensorSpec], output: TensorSpec, target: Target = N150, **attributes: Any) -> Cost:
    operands = {f"operand{number}": number for number in range(len(inputs))}
    instruction = Instruction(f"ttnn.{op}", operands, (len(inputs),), attributes)
    return instruction_cost(instruction, [*inputs, output], target)


def matmul(m: int, k: int, n: int, target: Target = N150, weight: DataType = DataType.BF16, **attributes: Any) -> Cost:
    return cost("matmul", [spec((m, k)), spec((k, n), weight)], spec((m, n)), target, **attributes)


SIZES = st.integers(1, 4096)


def divided(m: int, k: int, n: int, target: Target) -> float:
    """Returns the price of a product whose cores share its rows and columns, tile by tile of the inner dimension.

    TT-NN's own choice of blocks follows the divisors of the sizes, so that a larger product can be faster.
    """
    rows, columns = (-(size // -(32 * cores)) for size, cores in zip((m, n), target.grid, strict=True))
    config = {"config": "multi_cast", "per_core_m": rows, "per_core_n": columns, "in0_block_w": 1}
    config |= {"out_subblock_h": 1, "out_subblock_w": 1}
    return matmul(m, k, n, target, matmul_program_config=config).total_us


@given(SIZES, SIZES, SIZES, st.sampled_from(system_names()))
def test_a_larger_matmul_is_not_faster(m: int, k: int, n: int, system: str) -> None:
    target = load_target(system)
    base = divided(m, k, n, target) - target.cores * target.launch_core_us  # A larger one may use fewer cores.
    assert matmul(m, k, n, target).total_us > 0
    assert divided(2 * m, k, n, target) >= base
    assert divided(m, 2 * k, n, target) >= base
    assert divided(m, k, 2 * n, target) >= base


@given(
    st.sampled_from(["exp", "add", "sum", "softmax", "layer_norm", "permute", "concat", "typecast", "no_such_op"]),
    SIZES,
    SIZES,
)
def test_a_larger_tensor_is_not_faster(op: str, rows: int, columns: int) -> None:
    def time(rows: int, columns: int) -> float:
        shape = (rows, columns)
        result = spec((rows, 1) if op == "sum" else shape)
        attributes = {"permutation": [1, 0]} if op == "permute" else {}
        return cost(op, [spec(shape)] * (2 if op in ("add", "concat") else 1), result, **attributes).total_us

    base = time(rows, columns) - N150.cores * N150.launch_core_us  # A larger one may use fewer cores.
    assert time(rows, columns) > 0
    assert time(2 * rows, columns) >= base
    assert time(rows, 2 * columns) >= base


@given(SIZES, SIZES, SIZES)
def test_more_cores_are_not_slower_but_for_their_start(m: int, k: int, n: int) -> None:
    small = dataclasses.replace(N150, grid=(4, 4))
    start = 48 * N150.launch_core_us + 1e-6
    assert divided(m, k, n, N150) <= divided(m, k, n, small) + start
    tensor = spec((m, n))
    assert cost("exp", [tensor], tensor).total_us <= cost("exp", [tensor], tensor, small).total_us + start


def test_functions_inside_a_binary_op_take_their_time_but_no_trip_to_memory() -> None:
    matrix = spec((2048, 2048), buffer=BufferType.L1, memory=MemoryLayout.INTERLEAVED)
    steps = ((("op_type", "sqrt"),), (("op_type", "mul_unary_sfpu"), ("params", (0.5,))))
    plain = cost("add", [matrix, matrix], matrix)
    for side in ("activations", "input_tensor_a_activations", "input_tensor_b_activations"):
        joined = cost("add", [matrix, matrix], matrix, **{side: steps})
        assert plain.total_us < joined.total_us
        assert joined.total_us < plain.total_us + cost("sqrt", [matrix], matrix).total_us * 2


def test_bfp8_weights_help_a_matmul_that_waits_for_dram() -> None:
    wide, narrow = matmul(32, 4096, 4096), matmul(32, 4096, 4096, weight=DataType.BFP_BF8)
    assert wide.bound in ("dram", "noc")
    assert narrow.dram_us < wide.dram_us
    assert narrow.total_us < 0.7 * wide.total_us


def test_lower_fidelity_helps_a_matmul_that_computes() -> None:
    times = [
        matmul(4096, 32 * 11 * 12, 4096, load_target("p150"), compute_config={"math_fidelity": name}).total_us
        for name in ("hifi4", "hifi3", "hifi2")
    ]
    assert times == sorted(times, reverse=True)
    assert times[0] > 1.5 * times[2]
    assert matmul(4096, 4096, 4096).bound == "compute"


def test_shards_in_l1_spare_the_trip_to_dram() -> None:
    shape = (2048, 2048)
    dram = spec(shape)
    shards = spec(shape, buffer=BufferType.L1, memory=MemoryLayout.BLOCK_SHARDED, grid=(8, 8))
    assert cost("add", [shards, shards], shards).dram_us == 0
    assert cost("add", [shards, shards], shards).total_us < 0.5 * cost("add", [dram, dram], dram).total_us


def test_convolution_is_the_matmul_of_its_windows() -> None:
    image, weight, out = spec((1, 1, 56 * 56, 64)), spec((1, 1, 9 * 64, 64)), spec((1, 1, 56 * 56, 64))
    window = {"kernel_size": [3, 3], "in_channels": 64}
    assert cost("conv2d", [image, weight], out, **window).compute_us >= matmul(56 * 56, 9 * 64, 64).compute_us
    assert cost("conv2d", [image, weight], out, kernel_size=[1, 1], in_channels=64).total_us < (
        cost("conv2d", [image, weight], out, **window).total_us
    )


def test_weights_on_the_host_cross_pcie_with_each_convolution() -> None:
    image, out = spec((1, 1, 56 * 56, 64)), spec((1, 1, 56 * 56, 64))
    window = {"kernel_size": [3, 3], "in_channels": 64}
    host = spec((64, 64, 3, 3), tiled=False, buffer=BufferType.SYSTEM_MEMORY)
    prepared = cost("conv2d", [image, spec((1, 1, 9 * 64, 64))], out, **window).total_us
    unprepared = cost("conv2d", [image, host], out, **window).total_us
    assert unprepared > prepared + N150.host_transfer_us


def test_host_moves_cost_pcie_time_and_bookkeeping_nothing() -> None:
    here, there = spec((1024, 1024)), spec((1024, 1024), buffer=BufferType.SYSTEM_MEMORY)
    moved = cost("to_device", [there], here)
    assert moved.total_us == pytest.approx(N150.host_transfer_us + 2 * 1024 * 1024 / 10.3e9 * 1e6)
    assert moved.cores == 0
    assert cost("from_device", [here], there).total_us > moved.total_us
    assert cost("to_layout", [there], spec((1024, 1024), tiled=False, buffer=BufferType.SYSTEM_MEMORY)).total_us == 0
    for op in ("deallocate", "get_device", "reshape"):
        assert cost(op, [here], here) == Cost()


def test_rows_that_need_padding_are_slow_to_tilize() -> None:
    def tilize(rows: int) -> float:
        return cost("to_layout", [spec((rows, 256), tiled=False)], spec((rows, 256))).total_us

    assert tilize(2049) > 1.2 * tilize(2048)


def test_a_traced_program_has_shorter_gaps_and_const_eval_is_free() -> None:
    tensor = spec((32, 32))
    add = Instruction("ttnn.add", {"lhs": 0, "rhs": 0}, (0,), {})

    def function(name: str, kind: FunctionKind, *body: Instruction) -> Function:
        return Function(name, kind, (0,), (0,), (tensor,), body)

    plain = function("main", FunctionKind.FORWARD, *[add] * 10)
    inner = function("trace_0_main", FunctionKind.TRACE, *[add] * 10)
    call = Instruction(
        "ttnn.capture_or_execute_trace", {}, (0,), {"capture_callee": "@trace_0_main", "execute_callee": "@execute"}
    )
    traced = function("main", FunctionKind.FORWARD, call)
    assert predicted_device_us(inner, N150) < predicted_device_us(traced, N150, [inner])
    assert predicted_device_us(traced, N150, [inner]) < predicted_device_us(plain, N150)
    add_cost = instruction_cost(add, [tensor], N150).total_us
    assert predicted_device_us(inner, N150) == pytest.approx(10 * (add_cost + N150.gap_us_traced))
    cached = Instruction("ttcore.load_cached", {"inputs": (0,)}, (0,), {"callee": "@main_const_eval_0"})
    assert predicted_device_us(function("main", FunctionKind.FORWARD, cached), N150) == 0
    carried = function("main", FunctionKind.FORWARD, Instruction("ttnn.add", {}, (0,), {}, "", Cost(100.0)))
    assert predicted_device_us(carried, N150) >= 100


def test_every_op_of_the_dialect_has_a_rule_of_its_own() -> None:
    from xdsl.ir import Operation

    from tt_xla.cost.model import has_rule
    from tt_xla.ir.ttnn import dialect

    ops: list[type[Operation]] = list(dialect().operations)
    assert len(ops) > 100
    assert [op.name for op in ops if not has_rule(op.name)] == []


def test_an_op_is_priced_once_for_the_same_tensors_and_attributes() -> None:
    first = matmul(512, 512, 512, compute_config={"math_fidelity": "hifi4"})
    assert matmul(512, 512, 512, compute_config={"math_fidelity": "hifi4"}) is first
    assert matmul(512, 512, 512, compute_config={"math_fidelity": "lofi"}).compute_us < first.compute_us
    assert matmul(512, 512, 512, load_target("p150"), compute_config={"math_fidelity": "hifi4"}) is not first


def test_an_empty_tensor_and_operandless_ops_do_not_fail() -> None:
    for op in ("exp", "sum", "concat", "reshape", "to_layout", "softmax"):
        assert cost(op, [spec((0, 32))], spec((0, 64))).total_us >= 0
    assert cost("full", [], spec((32, 32)), fill_value=1.0).total_us > 0


# Comparison with public measurements on silicon (tests/data/README.md).


@pytest.mark.parametrize(
    ("name", "family", "median"),
    [
        ("gemm_flops.csv", "matmul", 0.05),
        ("gemm_flops_out_of_box.csv", "matmul", 0.06),
        ("op_sweep_matmul_hs.csv", "matmul", 0.08),
        ("op_sweep_exp_n150.csv", "elementwise", 0.03),
        ("sdpa_bh_p100a.csv", "attention", 0.08),
        *(("op_durations.csv", family, 0.12) for family in ("matmul", "convolution", "data_movement", "elementwise")),
        ("op_durations.csv", "normalization", 0.08),
    ],
)
def test_predictions_are_near_times_measured_on_silicon(name: str, family: str, median: float) -> None:
    summary = by_family(price(read(MEASURED / name))[0])[family]
    assert summary.priced > 10
    assert summary.median is not None
    assert summary.median < median
    assert summary.p90 is not None
    assert summary.p90 < 0.4
    assert summary.bias is not None
    assert abs(summary.bias) < 0.06


@pytest.mark.parametrize(
    ("name", "family", "median", "bias"),
    [
        ("op_durations_dlv3_p100.csv", "convolution", 0.13, 0.08),  # no constant comes from these rows
        ("op_durations_dlv3_p100.csv", "data_movement", 0.13, 0.05),
        ("op_durations_dlv3_p100.csv", "matmul", 0.06, 0.05),
        ("op_durations_segformer_wh.csv", "convolution", 0.18, 0.1),
        ("op_durations_segformer_wh.csv", "data_movement", 0.13, 0.05),
        ("op_durations_segformer_wh.csv", "matmul", 0.17, 0.08),
        ("op_durations_segformer_wh.csv", "normalization", 0.15, 0.1),
        ("op_durations_llama_decode_p150.csv", "matmul", 0.05, 0.05),
        ("op_durations_oft_2025_bh20.csv", "convolution", 0.18, 0.15),
        ("op_durations_oft_2025_bh20.csv", "data_movement", 0.18, 0.08),
        ("op_durations_deepseek_p150.csv", "matmul", 0.08, 0.08),
        ("op_durations_pool2d_targets.csv", "pooling", 0.05, 0.05),
        ("sdpa_decode_bh.csv", "attention", 0.12, 0.08),
    ],
)
def test_predictions_are_near_times_of_sharded_models(name: str, family: str, median: float, bias: float) -> None:
    summary = by_family(price(read(MEASURED / name))[0])[family]
    assert summary.median is not None
    assert summary.median < median
    assert summary.bias is not None
    assert abs(summary.bias) < bias


def shards(shape: tuple[int, ...], memory: MemoryLayout, grid: tuple[int, int], dtype: DataType) -> TensorSpec:
    return spec(shape, dtype, buffer=BufferType.L1, memory=memory, grid=grid)


def test_few_cores_compute_a_product_with_weights_over_the_banks() -> None:
    p150 = load_target("p150")
    config = {"config": "dram_sharded", "per_core_m": 1, "per_core_n": 14, "in0_block_w": 4}
    row = shards((32, 4096), MemoryLayout.WIDTH_SHARDED, (1, 32), DataType.BF16)
    weight = spec((4096, 14336), DataType.BFP_BF8)
    out = shards((32, 14336), MemoryLayout.WIDTH_SHARDED, (1, 32), DataType.BF16)

    def product(fidelity: str) -> Cost:
        attributes = {"matmul_program_config": config, "compute_config": {"math_fidelity": fidelity}}
        return cost("matmul", [row, weight], out, p150, **attributes)

    assert product("lofi").bound == "dram"
    assert product("hifi2").bound == "compute"
    assert product("hifi2").total_us > 1.4 * product("lofi").total_us


def test_a_result_in_dram_is_written_after_it_is_computed() -> None:
    p150 = load_target("p150")
    inputs = [spec((32768, 64), DataType.BFP_BF8), spec((64, 256), DataType.BFP_BF8)]
    kept = cost("matmul", inputs, spec((32768, 256), DataType.BFP_BF8, buffer=BufferType.L1), p150)
    written = cost("matmul", inputs, spec((32768, 256), DataType.BFP_BF8), p150)
    assert written.total_us - kept.total_us > 0.8 * written.dram_us


def test_cores_multiply_their_own_matrices_of_a_sharded_batch() -> None:
    config = {"math_fidelity": "lofi"}

    def product(batch: int) -> float:
        a = shards((1, batch, 1024, 256), MemoryLayout.HEIGHT_SHARDED, (4 * batch, 1), DataType.BFP_BF8)
        b = spec((1, batch, 256, 32), DataType.BFP_BF8, buffer=BufferType.L1)
        out = shards((1, batch, 1024, 32), MemoryLayout.HEIGHT_SHARDED, (4 * batch, 1), DataType.BFP_BF8)
        return cost("matmul", [a, b], out, compute_config=config).total_us

    assert product(8) < 2 * product(2)


def test_weights_of_a_convolution_come_again_for_each_block_of_rows_if_channels_are_cut() -> None:
    weight = spec((1, 1, 9 * 512, 512), DataType.BFP_BF8)

    def convolution(rows_of_tiles: int) -> float:
        place = shards((1, 1, 8 * 128, 512), MemoryLayout.BLOCK_SHARDED, (8, 8), DataType.BFP_BF8)
        window = {"kernel_size": [3, 3], "in_channels": 512, "act_block_tiles": rows_of_tiles}
        return cost("conv2d", [place, weight], place, **window).noc_us

    assert convolution(1) > 2 * convolution(4)


def test_a_convolution_pays_for_the_rows_of_neighbours() -> None:
    source = shards((1, 1, 56 * 56 * 16, 64), MemoryLayout.HEIGHT_SHARDED, (64, 1), DataType.BF16)

    def convolution(kernel: int, *, biased: bool = False, **more: Any) -> float:
        weight = spec((1, 1, kernel * kernel * 64, 64), DataType.BFP_BF8)
        operands = [source, weight, *([spec((1, 1, 1, 64))] if biased else [])]
        window = {"kernel_size": [kernel, kernel], "padding": [kernel // 2, kernel // 2], "in_channels": 64}
        return cost("conv2d", operands, source, **window, **more).total_us

    assert convolution(1, input_width=56) == convolution(1)
    halo = convolution(3, input_width=56) - convolution(3)
    assert halo > 5
    assert convolution(3, input_width=112) - convolution(3) > halo
    assert convolution(3, biased=True, input_width=56) - convolution(3, biased=True) == pytest.approx(halo)
    moved = convolution(3, input_width=56, conv2d_config={"reallocate_halo_output": False}) - convolution(3)
    assert 0 < moved < halo


def test_the_packer_clips_for_a_lone_relu() -> None:
    place = shards((1, 1, 64 * 256, 256), MemoryLayout.HEIGHT_SHARDED, (64, 1), DataType.BFP_BF8)

    def add(**steps: Any) -> float:
        return cost("add", [place, place], place, **steps).compute_us

    relu, silu = ({"op_type": name} for name in ("relu", "silu"))
    assert add(activations=[relu]) == add()
    assert add(input_tensor_a_activations=[relu]) > add()
    assert add(activations=[silu]) > add(input_tensor_a_activations=[relu])
    config = {"config": "multi_cast", "per_core_m": 4, "per_core_n": 4}
    plain, clipped = (
        matmul(1024, 64, 1024, matmul_program_config=config, **more) for more in ({}, {"activation": "relu"})
    )
    assert clipped == plain
    assert matmul(1024, 64, 1024, activation="relu").launch_us > plain.launch_us  # a program of its own


def test_a_convolution_of_tensors_outside_shards_copies_them() -> None:
    sharded = shards((1, 1, 56 * 56 * 16, 64), MemoryLayout.HEIGHT_SHARDED, (64, 1), DataType.BF16)
    outside = spec((1, 1, 56 * 56 * 16, 64))

    def convolution(source: TensorSpec, result: TensorSpec) -> float:
        weight = spec((1, 1, 576, 64), DataType.BFP_BF8)
        return cost("conv2d", [source, weight], result, kernel_size=[3, 3], in_channels=64).total_us

    inside = convolution(sharded, sharded)
    into = cost("to_memory_config", [outside], sharded).total_us
    out_of = cost("to_memory_config", [sharded], outside).total_us
    assert convolution(outside, sharded) == pytest.approx(inside + into)
    assert convolution(sharded, outside) == pytest.approx(inside + out_of, rel=0.02)


def test_copies_of_small_shards_start_faster_than_kernels_that_compute() -> None:
    place = shards((1, 1, 2048, 32), MemoryLayout.HEIGHT_SHARDED, (64, 1), DataType.BFP_BF8)
    assert cost("move", [place], place).total_us < 1
    assert cost("relu", [place], place).total_us > 1.5


def test_partial_sums_that_are_fetched_again_take_longer_than_those_added_in_l1() -> None:
    times = [
        matmul(2048, 2048, 2048, compute_config={"math_fidelity": "lofi", "packer_l1_acc": added}).total_us
        for added in (True, False)
    ]
    assert times[0] < times[1]


def test_a_convolution_with_few_rows_waits_for_its_weights() -> None:
    weight = spec((1, 1, 9 * 512, 512), DataType.BFP_BF8)
    window = {"kernel_size": [3, 3], "in_channels": 512}
    one, many = (cost("conv2d", [place(rows), weight], place(rows), **window) for rows in (32 * 64, 32 * 64 * 16))
    assert one.noc_us > one.compute_us
    assert many.compute_us > many.noc_us


def place(rows: int) -> TensorSpec:
    """Returns the spec of a feature map of 512 channels, height-sharded."""
    return spec((1, 1, rows, 512), buffer=BufferType.L1, memory=MemoryLayout.HEIGHT_SHARDED, grid=(64, 1))


def test_rows_wider_than_they_are_many_are_tilized_by_more_cores() -> None:
    narrow, wide = (
        cost("to_layout", [spec((19, columns), tiled=False)], spec((19, columns))) for columns in (1024, 1056)
    )
    assert narrow.cores == 1
    assert wide.cores == 33
    assert wide.total_us < narrow.total_us


def test_reshapes_pay_for_each_tile_that_rows_come_from() -> None:
    scattered = cost("reshape", [spec((1, 1, 32, 1024))], spec((1, 32, 32, 32))).total_us
    together = cost("reshape", [spec((1, 1, 1024, 32))], spec((1, 64, 16, 32))).total_us
    assert scattered > 2 * together


def test_a_running_sum_has_no_more_cores_than_lines_of_tiles() -> None:
    long, wide = spec((64, 32, 32)), spec((2, 32, 32 * 32))
    assert cost("cumsum", [long], long, dim=0).cores == 1
    assert cost("cumsum", [wide], wide, dim=0).cores == 32
    assert cost("cumsum", [long], long, dim=0).total_us > 5 * cost("cumsum", [wide], wide, dim=0).total_us
