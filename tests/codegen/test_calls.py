"""The calls in the table of TT-NN calls, printed as Python source."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tt_xla import compiler
from tt_xla.codegen.calls import CALLS, call_of
from tt_xla.codegen.expressions import Call, Data, Name
from tt_xla.codegen.formatting import flat, node_of
from tt_xla.codegen.layouts import memory_config
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir import ttnn
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.program import Instruction, Operand, TensorSpec
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

P150 = load_target("p150")


def spec(*shape: int, dtype: DataType = DataType.BF16, **layout: Any) -> TensorSpec:
    return TensorSpec(shape, TensorLayout.of(shape, dtype, **layout))


def python(expression: Any) -> str:
    return flat(node_of(expression, lambda number: f"v{number}", lambda data: Name(f"data({len(data.elements)})")))


def source(op: str, operands: dict[str, Operand], *values: TensorSpec, **attributes: Any) -> str:
    """Returns the Python source of an instruction whose result is the last of ``values``."""
    instruction = Instruction(op, operands, (len(values) - 1,), attributes)
    return python(call_of(instruction, values, P150))


STRUCTURAL = {
    "ttnn.batch_norm_inference",
    "ttnn.capture_or_execute_trace",
    "ttnn.distributed_layer_norm",
    "ttnn.distributed_rms_norm",
    "ttnn.get_device",
    "ttnn.global_avg_pool2d",
    "ttnn.host_call",
    "ttnn.host_callback",
    "ttnn.ones",
    "ttnn.rand",
    "ttnn.repeat_interleave",
    "ttnn.transpose",
    "ttnn.update_cache",
    "ttnn.zeros",
}
"""Ops that are not calls of TT-NN: the device, calls of the program's functions, host ops, and TTIR ops that the
compiler lowers to other TTNN ops than those of their name."""


def test_every_op_that_the_compiler_makes_has_a_call() -> None:
    """The compiler creates the ops that its sources name and those in the tables of elementwise ops."""
    source = "".join(path.read_text() for path in Path(compiler.__file__).parent.rglob("*.py"))
    words = set(re.findall(r"\b\w+Op\b", source))
    named = {op.name for op in ttnn.dialect().operations if op.__name__ in words}
    assert len(named) > 30
    assert named - STRUCTURAL <= set(CALLS)
    assert {op.name for op in ttnn.ELEMENTWISE_OPS.values()} <= set(CALLS)
    assert set(CALLS) <= {op.name for op in ttnn.dialect().operations}


def test_an_op_without_a_row_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedOpError, match=r"The table of calls has no row for 'ttnn.unheard_of'"):
        source("ttnn.unheard_of", {}, spec(2))


def test_matmul_says_memory_type_activation_and_precision() -> None:
    text = source(
        "ttnn.matmul",
        {"a": 0, "b": 1},
        *(spec(64, 32), spec(96, 32), spec(64, 96)),
        transpose_a=False,
        transpose_b=True,
        activation="gelu",
        compute_config={"math_fidelity": "hifi2", "fp32_dest_acc_en": True},
    )
    assert text == (
        "ttnn.matmul(v0, v1, transpose_b=True, memory_config=ttnn.DRAM_MEMORY_CONFIG, "
        "compute_kernel_config=ttnn.WormholeComputeKernelConfig(math_approx_mode=False, packer_l1_acc=True, "
        "math_fidelity=ttnn.MathFidelity.HiFi2, fp32_dest_acc_en=True), "
        "activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.GELU, False))"
    )


def test_a_sparse_product_says_how_cores_share_the_columns() -> None:
    operands: dict[str, Operand] = {"input_tensor_a": 0, "input_tensor_b": 1, "sparsity": 2}
    values = (spec(2, 3, 64, 32), spec(1, 4, 32, 96), spec(2, 3, 1, 4), spec(2, 3, 1, 4, 64, 96))
    text = source("ttnn.sparse_matmul", operands, *values, is_input_a_sparse=False, is_input_b_sparse=True)
    assert text == (
        "ttnn.sparse_matmul(v0, v1, sparsity=v2, program_config=ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig("
        "compute_with_storage_grid_size=ttnn.CoreCoord(3, 1), in0_block_w=1, out_subblock_h=1, out_subblock_w=1, "
        "per_core_M=2, per_core_N=1, fuse_batch=False, mcast_in0=True, fused_activation=None), "
        "is_input_a_sparse=False, is_input_b_sparse=True, memory_config=ttnn.DRAM_MEMORY_CONFIG)"
    )


@pytest.mark.parametrize(("buffer", "says_grid"), [(BufferType.DRAM, False), (BufferType.L1, True)])
def test_a_transposed_product_with_bias_in_l1_says_its_grid(buffer: BufferType, says_grid: bool) -> None:
    """TT-NN's own choice of a core grid fails for such a product."""
    values = (spec(64, 32, buffer=buffer), spec(96, 32), spec(96), spec(64, 96))
    operands: dict[str, Operand] = {"a": 0, "b": 1, "bias": 2}
    text = source("ttnn.linear", operands, *values, transpose_a=False, transpose_b=True)
    assert ("core_grid=ttnn.CoreGrid(y=10, x=11)" in text) == says_grid


def test_with_the_left_operand_transposed_product_and_sum_are_two_calls_in_l1() -> None:
    """A single call of TT-NN returns a result of another shape for such a product."""
    in_l1 = spec(32, 64, buffer=BufferType.L1)
    values = (in_l1, spec(32, 96), spec(96), spec(64, 96))
    flags = {"transpose_a": True, "transpose_b": False, "activation": "relu"}
    text = source("ttnn.linear", {"a": 0, "b": 1, "bias": 2}, *values, **flags)
    assert text.startswith("ttnn.add(ttnn.matmul(v0, v1, transpose_a=True, memory_config=ttnn.DRAM_MEMORY_CONFIG")
    assert text.endswith("activations=[ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)])")


def test_functions_of_a_binary_op_have_their_parameters() -> None:
    steps = ((("op_type", "square"),), (("op_type", "mul_unary_sfpu"), ("params", (0.5,))))
    values = (spec(64, 32), spec(64, 32), spec(64, 32))
    text = source("ttnn.add", {"lhs": 0, "rhs": 1}, *values, input_tensor_b_activations=steps)
    chain = "ttnn.UnaryWithParam(ttnn.UnaryOpType.SQUARE), ttnn.UnaryWithParam(ttnn.UnaryOpType.MUL_UNARY_SFPU, 0.5)"
    assert f"input_tensor_b_activations=[{chain}]" in text


def test_remainder_has_the_sign_of_the_dividend() -> None:
    """StableHLO's remainder has the sign of the dividend; TT-NN's ``remainder`` has that of the divisor."""
    text = source("ttnn.remainder", {"lhs": 0, "rhs": 1}, *[spec(3)] * 3)
    assert text.startswith("ttnn.fmod(v0, v1")


@pytest.mark.parametrize(("dtype", "rounds"), [(DataType.SI32, True), (DataType.F32, False)])
def test_integers_divide_to_integers(dtype: DataType, rounds: bool) -> None:
    text = source("ttnn.divide", {"lhs": 0, "rhs": 1}, *[spec(3, dtype=dtype)] * 3)
    assert ('rounding_mode="trunc"' in text.replace("'", '"')) == rounds


def test_a_comparison_asks_for_its_type() -> None:
    float32 = spec(3, dtype=DataType.F32)
    assert "dtype=ttnn.bfloat16" in source("ttnn.gt", {"lhs": 0, "rhs": 1}, float32, float32, spec(3))
    assert "dtype" not in source("ttnn.gt", {"lhs": 0, "rhs": 1}, spec(3), spec(3), spec(3))


def test_what_stays_in_the_memory_of_its_operand_is_moved() -> None:
    in_l1 = spec(4, 6, buffer=BufferType.L1)
    text = source("ttnn.pad", {"input": 0}, in_l1, spec(5, 6), padding=[0, 1, 0, 0], value=0.0, use_multicore=True)
    assert text.startswith("ttnn.to_memory_config(ttnn.pad(v0, [[0, 1], [0, 0]], 0.0")
    assert text.endswith(", ttnn.DRAM_MEMORY_CONFIG)")


def test_on_the_host_layout_and_type_change_one_after_the_other() -> None:
    operand = spec(4, 6, tiled=False, buffer=BufferType.SYSTEM_MEMORY)
    result = spec(4, 6, dtype=DataType.BFP_BF8, buffer=BufferType.SYSTEM_MEMORY)
    text = source("ttnn.to_layout", {"input": 0}, operand, result)
    assert text == "ttnn.to_dtype(ttnn.to_layout(v0, ttnn.TILE_LAYOUT), ttnn.bfloat8_b)"


def test_conv2d_config_in_ttnn_terms() -> None:
    geometry: dict[str, Any] = dict.fromkeys(("in_channels", "out_channels", "batch_size"), 1)
    config = {"weights_dtype": "bfp_bf8", "activation": {"op_type": "relu"}, "config_tensors_in_dram": True}
    values = (spec(1, 1, 4, 1), spec(1, 1, 1, 1), spec(1, 1, 4, 1))
    text = source("ttnn.conv2d", {"input": 0, "weight": 1}, *values, conv2d_config=config, **geometry)
    assert (
        "conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat8_b, "
        "activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU), config_tensors_in_dram=True)" in text
    )
    assert "bias_tensor" not in text
    assert "device=device" in text


def test_a_constant_comes_from_the_host() -> None:
    text = source("ttnn.constant", {}, spec(2, tiled=False), value=b"\x00\x00\x80\x3f")
    assert text == "ttnn.to_device(data(4), device, memory_config=ttnn.DRAM_MEMORY_CONFIG)"


def test_the_same_bits_under_another_type() -> None:
    operand, result = spec(3, dtype=DataType.F32), spec(3, dtype=DataType.SI32)
    assert source("ttnn.bitcast_convert", {"input": 0}, operand, result).startswith("ttnn.bitcast(v0, ttnn.int32")


def test_attention_says_its_scale_and_mask() -> None:
    qkv = [spec(1, 2, 32, 64)] * 3
    operands: dict[str, Operand] = {"query": 0, "key": 1, "value": 2, "attention_mask": 3}
    text = source(
        "ttnn.scaled_dot_product_attention", operands, *qkv, spec(1, 1, 32, 32), qkv[0], is_causal=False, scale=0.125
    )
    assert text == (
        "ttnn.transformer.scaled_dot_product_attention(v0, v1, v2, is_causal=False, attn_mask=v3, scale=0.125, "
        "memory_config=ttnn.DRAM_MEMORY_CONFIG)"
    )


@pytest.mark.parametrize("name", ["scaled_dot_product_attention", "scaled_dot_product_attention_decode"])
def test_attention_says_its_compute_config(name: str) -> None:
    config = {"math_fidelity": "hifi4", "fp32_dest_acc_en": True}
    operands: dict[str, Operand] = {"query": 0, "key": 1, "value": 2}
    text = source(f"ttnn.{name}", operands, *[spec(1, 2, 32, 64)] * 4, is_causal=False, compute_config=config)
    assert "compute_kernel_config=ttnn.WormholeComputeKernelConfig(math_approx_mode=False, packer_l1_acc=True" in text
    assert "fp32_dest_acc_en=True" in text


def test_a_mask_in_l1_goes_to_dram() -> None:
    values = (*[spec(1, 2, 32, 64)] * 3, spec(1, 1, 32, 32, buffer=BufferType.L1), spec(1, 2, 32, 64))
    operands: dict[str, Operand] = {"query": 0, "key": 1, "value": 2, "attention_mask": 3}
    text = source("ttnn.scaled_dot_product_attention", operands, *values, is_causal=False)
    assert "attn_mask=ttnn.to_memory_config(v3, ttnn.DRAM_MEMORY_CONFIG)" in text


def test_a_mask_hides_the_keys_that_fill_up_a_tile() -> None:
    query, keys = spec(1, 2, 32, 64), spec(1, 2, 70, 64)
    operands: dict[str, Operand] = {"query": 0, "key": 1, "value": 2, "attention_mask": 3}
    values = (query, keys, keys, spec(1, 1, 32, 70), query)
    text = source("ttnn.scaled_dot_product_attention", operands, *values, is_causal=False)
    assert 'attn_mask=ttnn.fill_implicit_tile_padding(v3, float("-inf"))' in text


def test_attention_for_decoding_says_its_scale_and_mask() -> None:
    rows, keys = spec(1, 2, 32, 64), spec(2, 1, 96, 64)
    operands: dict[str, Operand] = {"query": 0, "key": 1, "value": 2, "attention_mask": 3}
    values = (rows, keys, keys, spec(2, 1, 32, 96), rows)
    text = source("ttnn.scaled_dot_product_attention_decode", operands, *values, is_causal=False, scale=0.125)
    assert text == (
        "ttnn.transformer.scaled_dot_product_attention_decode(v0, v1, v2, is_causal=False, attn_mask=v3, scale=0.125, "
        "memory_config=ttnn.DRAM_MEMORY_CONFIG)"
    )


def test_concat_takes_a_list() -> None:
    assert source("ttnn.concat", {"inputs": (0, 1)}, *[spec(2, 3)] * 3, dim=0).startswith("ttnn.concat([v0, v1], 0")


def sharded(memory: MemoryLayout, grid: tuple[int, int], *shape: int) -> str:
    layout = TensorLayout.of(shape, DataType.BF16, buffer=BufferType.L1, memory=memory, grid=grid)
    return python(memory_config(layout, P150.grid))


def test_height_shards_fill_the_grid_row_by_row() -> None:
    """24 shards on rows of 11 cores fill two rows and two cores of a third."""
    assert sharded(MemoryLayout.HEIGHT_SHARDED, (24, 1), 24 * 32, 64) == (
        "ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, "
        "ttnn.ShardSpec(ttnn.CoreRangeSet(["
        "ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(10, 1)), "
        "ttnn.CoreRange(ttnn.CoreCoord(0, 2), ttnn.CoreCoord(1, 2))]), [32, 64], ttnn.ShardOrientation.ROW_MAJOR))"
    )


def test_block_shards_are_a_rectangle() -> None:
    text = sharded(MemoryLayout.BLOCK_SHARDED, (4, 8), 256, 256)
    assert "ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(7, 3))" in text
    assert "[64, 32]" in text


def test_floats_that_are_not_finite_are_valid_python() -> None:
    assert eval(python(Call("max", (float("-inf"), 1.5)))) == 1.5


def test_data_is_named_by_its_user() -> None:
    assert python(Data(b"12", spec(1))) == "data(2)"


def test_a_program_config_in_ttnn_terms() -> None:
    config = {
        "config": "multi_cast_1d",
        "compute_with_storage_grid_size": [8, 4],
        "in0_block_w": 2,
        "per_core_m": 1,
        "per_core_n": 4,
        "mcast_in0": True,
        "hop_cores": [],
        "fused_activation": {"op_type": "gelu"},
    }
    values = (spec(32, 64), spec(64, 4096), spec(32, 4096))
    text = source("ttnn.matmul", {"a": 0, "b": 1}, *values, matmul_program_config=config)
    assert (
        "program_config=ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig("
        "compute_with_storage_grid_size=ttnn.CoreCoord(8, 4), in0_block_w=2, per_core_M=1, per_core_N=4, "
        "mcast_in0=True, fused_activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.GELU, False))" in text
    )


def test_a_convolutions_shards_in_ttnn_terms() -> None:
    geometry: dict[str, Any] = dict.fromkeys(("in_channels", "out_channels", "batch_size"), 1)
    values = (spec(1, 1, 4, 1), spec(1, 1, 1, 1), spec(1, 1, 4, 1))
    config = {"shard_layout": "height_sharded"}
    text = source("ttnn.conv2d", {"input": 0, "weight": 1}, *values, conv2d_config=config, **geometry)
    assert "ttnn.Conv2dConfig(shard_layout=ttnn.TensorMemoryLayout.HEIGHT_SHARDED)" in text
