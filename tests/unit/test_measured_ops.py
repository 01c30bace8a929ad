"""Translations of a profiler's op codes to TTNN ops: one case for each rule, default and refusal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.measured.measurement import RowError
from benchmarks.measured.op_codes import OP_CODES, OpRow, base_code, translate, unary_name
from tests.unit.pricing import spec

pytestmark = pytest.mark.quick

A, B, C, D = spec((64, 96)), spec((96, 32)), spec((1, 32)), spec((64, 32))
CUBE = spec((2, 3, 64, 96))


def row(code: str, inputs: Sequence[Any] = (A, B, C, D), outputs: Sequence[Any] = (D, C), **attributes: Any) -> OpRow:
    fidelity, cores, rows = attributes.pop("fidelity", "HiFi2"), attributes.pop("cores", 12), attributes.pop("rows", 0)
    return OpRow(code, attributes, list(inputs), list(outputs), fidelity, cores, rows)


COMPUTE = {"compute_config": {"math_fidelity": "hifi2"}}

PLAIN_OPS = """
Ternary elementwise where
Where elementwise where
GridSample pooling grid_sample
LayerNormPreAllGather normalization layer_norm_pre_all_gather
LayerNormPostAllGather normalization layer_norm_post_all_gather
BatchNorm normalization batch_norm_inference
RotaryEmbedding elementwise rotary_embedding
RotaryEmbeddingLlama elementwise rotary_embedding_llama
Embeddings embedding embedding
Concat data_movement concat
Split data_movement split
NLPCreateHeads data_movement nlp_create_qkv_heads
NlpCreateHeads data_movement nlp_create_qkv_heads
CreateQKVHeads data_movement nlp_create_qkv_heads
NLPCreateHeadsDecode data_movement nlp_create_qkv_heads_decode
NLPCreateQKVHeadsDecode data_movement nlp_create_qkv_heads_decode
"""
"""Code, family and op of the rules that take every input and output."""

OPS_OF_ONE_TENSOR = """
Typecast elementwise typecast
UpSample pooling upsample
Upsample pooling upsample
Halo data_movement halo
Softmax normalization softmax
FastReduceNC reduction sum_outer
ArgMax reduction argmax
IntImg reduction integral_image
TopK reduction topk
Sort reduction sort
Tilize data_movement to_layout
TilizeWithValPadding data_movement to_layout
Untilize data_movement to_layout
UntilizeWithUnpadding data_movement to_layout
InterleavedToSharded data_movement to_memory_config
ShardedToInterleaved data_movement to_memory_config
InterleavedToShardedPartial data_movement to_memory_config
ShardedToInterleavedPartial data_movement to_memory_config
Reshard data_movement to_memory_config
Copy data_movement copy
Clone data_movement copy
Move data_movement move
Reshape data_movement reshape
ReshapeView data_movement reshape
Slice data_movement slice_static
PaddedSlice data_movement padded_slice
SliceWrite data_movement slice_write
Repeat data_movement repeat
Pad data_movement pad
FillPad data_movement pad
Fold data_movement permute
NLPConcatHeads data_movement nlp_concat_heads
ConcatenateHeads data_movement nlp_concat_heads
NLPConcatHeadsDecode data_movement nlp_concat_heads_decode
PagedUpdateCache data_movement paged_update_cache
"""
"""Code, family and op of the rules that take the first input and the first output."""

EXCHANGES = """
AllGather collective all_gather
AllGatherAsync collective all_gather
AllReduceAsync collective all_reduce
ReduceScatter collective reduce_scatter
ReduceScatterMinimalAsync collective reduce_scatter
AllToAllAsyncGeneric collective all_to_all
AllBroadcast collective all_gather
"""
"""Code, family and op of the rules that take the first input and the last output."""

OTHER_CODES = {
    *("BinaryNg", "Binary", "Unary", "UnaryNg", "Matmul", "MinimalMatmul", "SparseMatmul", "Conv2d", "LayerNorm"),
    *("OptimizedConvNew", "Pool2D", "ScaledDotProductAttention", "SDPA", "ScaledDotProductAttentionDecode", "Reduce"),
    *("SdpaDecode", "GroupNorm", "Accumulation", "Transpose", "Permute"),
}
"""Codes whose rules depend on attributes; the tests below have a case for each."""


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n") if line]


@pytest.mark.parametrize(
    ("text", "inputs", "outputs", "attributes"),
    [
        (PLAIN_OPS, [A, B, C, D], [D, C], COMPUTE),
        (OPS_OF_ONE_TENSOR, [A], [D], COMPUTE),
        (EXCHANGES, [A], [C], {"cluster_axis": 0}),
    ],
    ids=["plain", "one tensor", "exchanges"],
)
def test_codes_that_stand_for_one_op(text: str, inputs: list[Any], outputs: list[Any], attributes: Any) -> None:
    for code, family, op in lines(text):
        assert translate(row(f"{code}DeviceOperation")) == (family, (op, inputs, outputs, attributes)), code


def test_every_code_has_a_case() -> None:
    named = {code for text in (PLAIN_OPS, OPS_OF_ONE_TENSOR, EXCHANGES) for code, _, _ in lines(text)}
    assert set(OP_CODES) == named | OTHER_CODES


BINARY = """
ADD add, SUB subtract, RSUB subtract, MUL multiply, DIV divide, GT gt, LT lt, GE ge, GTE ge, LE le, LTE le, EQ eq,
NE ne, LOGICAL_AND logical_and, LOGICAL_OR logical_or, LOGICAL_XOR logical_xor, BITWISE_AND bitwise_and,
BITWISE_OR bitwise_or, BITWISE_XOR bitwise_xor, LEFT_SHIFT logical_left_shift, RIGHT_SHIFT logical_right_shift,
MAXIMUM maximum, MINIMUM minimum, POWER pow_tensor, SQUARED_DIFFERENCE subtract, BIAS_GELU gelu,
REMAINDER remainder, FMOD remainder
"""


def test_binary_ops_take_two_inputs_and_the_first_output() -> None:
    for pair in BINARY.replace("\n", " ").split(","):
        kind, op = pair.split()
        for code in ("BinaryNg", "Binary"):
            expected = ("elementwise", (op, [A, B], [D], COMPUTE))
            assert translate(row(code, binary_op_type=f"BinaryOpType::{kind}")) == expected, kind
        assert translate(row("Binary", binary_op_type=kind.lower()))[1][0] == op
    for kind in ("WHERE_TST", "WHERE_TTS", "WHERE_TTT"):
        translated = translate(row("BinaryNg", binary_op_type=f"BinaryOpType::{kind}"))
        assert translated == ("elementwise", ("where", [A, B, C], [D], COMPUTE))


@pytest.mark.parametrize(
    ("inputs", "attributes", "has_scalar"),
    [
        ([A, B], {}, False),
        ([A], {}, True),
        ([A, B], {"scalar": "2.0"}, True),
        ([A, B], {"scalar": "std::nullopt"}, False),
        ([A, B], {"scalar": ""}, False),
    ],
)
def test_a_binary_op_has_a_scalar_in_place_of_a_tensor(inputs: list[Any], attributes: Any, has_scalar: bool) -> None:
    _, (_, read, _, found) = translate(row("Binary", inputs, binary_op_type="ADD", **attributes))
    assert read == inputs
    assert found.get("scalar", False) is has_scalar


UNARY = """
RECIP reciprocal, POWER pow_scalar, WHERE_TSS where, GTZ gez, LTZ gez, LEZ gez, NEZ eqz, IDENTITY typecast, SQUARE relu,
TYPECAST typecast, ADD_UNARY_SFPU relu, SUB_UNARY_SFPU relu, MUL_UNARY_SFPU relu, DIV_UNARY_SFPU relu, RSUB relu,
FILL relu, CLAMP_TSS clamp_scalar, UNARY_GT gez, UNARY_LT gez, UNARY_NE eqz, UNARY_EQ eqz, RELU_MIN clamp_scalar,
RELU_MAX clamp_scalar, LOGICAL_NOT_UNARY logical_not, SIGMOID sigmoid, Exp exp
"""


def test_unary_ops_have_ttnns_names() -> None:
    for pair in UNARY.replace("\n", " ").split(","):
        code, op = pair.split()
        assert (unary_name(code), unary_name(code.lower())) == (op, op)


@pytest.mark.parametrize("code", ["Unary", "UnaryNg"])
@pytest.mark.parametrize(
    ("chain", "op", "rest"),
    [
        ("{UnaryWithParam(op_type=UnaryOpType::GELU;param={1})}", "gelu", []),
        ("{UnaryWithParam(op_type=RECIP;param={});UnaryWithParam(op_type=UnaryOpType::SQRT)}", "reciprocal", ["sqrt"]),
        ("TYPECAST(BFLOAT16, FLOAT32)", "typecast", []),
        ("TYPECAST(BFLOAT8_B, INT32), UINT32, NEZ", "typecast", ["eqz"]),
    ],
)
def test_a_chain_of_unary_ops(code: str, chain: str, op: str, rest: list[str]) -> None:
    assert translate(row(code, op_chain=chain)) == ("elementwise", (op, [A], [D], COMPUTE | {"chain": rest}))


@pytest.mark.parametrize(
    ("attributes", "config"),
    [
        ({"fidelity": ""}, {"math_fidelity": "hifi4"}),
        ({"fidelity": "LoFi"}, {"math_fidelity": "lofi"}),
        (
            {"ckc": "fp32_acc=1,l1_acc=0"},
            {"math_fidelity": "hifi2", "fp32_dest_acc_en": True, "packer_l1_acc": False},
        ),
        (
            {"compute_kernel_config": "fp32_dest_acc_en=false;packer_l1_acc=true"},
            {"math_fidelity": "hifi2", "fp32_dest_acc_en": False, "packer_l1_acc": True},
        ),
        ({"compute_config": "fp32dest_acc_en=true"}, {"math_fidelity": "hifi2", "fp32_dest_acc_en": True}),
        ({"compute_config": "packer_l1acc=1"}, {"math_fidelity": "hifi2", "packer_l1_acc": True}),
    ],
)
def test_the_compute_config_of_a_row(attributes: Any, config: Any) -> None:
    assert translate(row("Softmax", **attributes))[1][3] == {"compute_config": config}


def test_products_have_their_program_config() -> None:
    text = (
        "MatmulMultiCoreReuseMultiCast1DProgramConfig(in0_block_w=2;out_subblock_h=3;out_subblock_w=4;per_core_M=5;"
        "per_core_N=6;fused_activation=UnaryWithParam(op_type=UnaryOpType::RECIP))"
    )
    config = {
        "per_core_m": 5,
        "per_core_n": 6,
        "in0_block_w": 2,
        "out_subblock_h": 3,
        "out_subblock_w": 4,
        "fused_activation": {"op_type": "reciprocal"},
        "config": "multi_cast_1d",
    }
    attributes = COMPUTE | {"transpose_a": False, "matmul_program_config": config, "core_count": 12}
    for code, op in (("Matmul", "matmul"), ("SparseMatmul", "matmul"), ("MinimalMatmul", "minimal_matmul")):
        assert translate(row(code, program_config=text)) == ("matmul", (op, [A, B, C], [D], attributes))
    for flag, transposed in (("true", True), ("1", True), ("false", False), ("0", False)):
        assert translate(row("Matmul", transpose_a=flag))[1][3]["transpose_a"] is transposed
    for name, kind in (("MultiCastDRAMSharded", "dram_sharded"), ("MultiCast1D", "multi_cast_1d"), ("Reuse", None)):
        assert translate(row("Matmul", program_config=name))[1][3]["matmul_program_config"].get("config") == kind
    assert translate(row("Matmul", [A, B]))[1][1] == [A, B]


@pytest.mark.parametrize(
    ("attributes", "kernel", "channels", "block"),
    [
        ({"sliding_window_config": "window_hw=(3;5)"}, [3, 5], 96, None),
        ({"sliding_window_config_": "window_hw=(3, 5)"}, [3, 5], 96, None),
        ({"other": "window_hw=(2,7)"}, [2, 7], 96, None),
        ({"block_config": "act_block_w_ntiles=2,act_block_h_ntiles=7", "rows": 576}, [9, 1], 64, 7),
        ({"block_config": "act_block_w_ntiles=2", "rows": 32}, [1, 1], 64, None),
        ({"block_config": "act_block_w_ntiles=2"}, [1, 1], 96, None),
        ({"block_config": "act_block_h_ntiles=7", "rows": 576}, [1, 1], 96, 7),
    ],
)
def test_convolutions_have_a_window_or_a_weight(attributes: Any, kernel: Any, channels: int, block: Any) -> None:
    for code in ("Conv2d", "OptimizedConvNew"):
        family, (op, inputs, outputs, found) = translate(row(code, **attributes))
        assert (family, op, inputs, outputs) == ("convolution", "conv2d", [A, B], [D])
        assert found["compute_config"] == COMPUTE["compute_config"]
        assert (found["kernel_size"], found["in_channels"], found.get("act_block_tiles")) == (kernel, channels, block)


def test_a_prepared_weight_has_the_rows_of_the_window() -> None:
    weight = spec((1, 1, 96 * 9, 32))
    assert translate(row("Conv2d", [A, weight]))[1][3]["kernel_size"] == [9, 1]
    assert translate(row("Conv2d", [A, spec((1, 1, 32, 32))]))[1][3]["kernel_size"] == [1, 1]


@pytest.mark.parametrize(
    ("attributes", "op", "kernel"),
    [
        ({"pool_type_": "Pool2DType::MAX_POOL2D", "window": "window_hw=(2;3)"}, "max_pool2d", [2, 3]),
        ({"pool_type": "max", "window": "window_hw=(2, 3)"}, "max_pool2d", [2, 3]),
        ({"pool_type_": "Pool2DType::AVG_POOL2D"}, "avg_pool2d", []),
        ({"pool_type_": "MAX", "return_indices_": "true"}, "max_pool2d_with_indices", []),
        ({"pool_type_": "MAX", "return_indices": "1"}, "max_pool2d_with_indices", []),
        ({"pool_type_": "MAX", "return_indices_": "false"}, "max_pool2d", []),
    ],
)
def test_poolings(attributes: Any, op: str, kernel: list[int]) -> None:
    assert translate(row("Pool2D", **attributes)) == ("pooling", (op, [A], [D], {"kernel_size": kernel}))


@pytest.mark.parametrize(
    ("tensor", "dim", "order"),
    [
        (CUBE, "TransposeOpDim::WH", [0, 1, 3, 2]),
        (CUBE, "hc", [0, 2, 1, 3]),
        (CUBE, "CN", [1, 0, 2, 3]),
        (CUBE, "NH", [2, 1, 0, 3]),
        (spec((3, 64, 96)), "CW", [2, 1, 0]),
        (A, "WH", [1, 0]),
    ],
)
def test_transposes_name_two_axes(tensor: Any, dim: str, order: list[int]) -> None:
    expected = ("data_movement", ("permute", [tensor], [D], {"permutation": order}))
    assert translate(row("Transpose", [tensor, A], dim=dim)) == expected


def test_permutes_and_norms_and_reductions() -> None:
    permuted = translate(row("Permute", [CUBE, A], dims="SmallVector([0; 3; 1; 2])"))
    assert permuted == ("data_movement", ("permute", [CUBE], [D], {"permutation": [0, 3, 1, 2]}))
    for attributes, op in (
        ({"norm_type": "LayerNormType::RMSNORM"}, "rms_norm"),
        ({"norm_type": "LayerNormType::LAYERNORM"}, "layer_norm"),
        ({"norm_type": "rmsnorm", "distributed_norm_stage": "PRE_ALL_GATHER"}, "rms_norm_pre_all_gather"),
        ({"distributed_norm_stage": "Stage::pre_all_gather"}, "layer_norm_pre_all_gather"),
        ({"distributed_norm_stage": "POST_ALL_GATHER"}, "layer_norm"),
    ):
        assert translate(row("LayerNorm", **attributes)) == ("normalization", (op, [A, B, C, D], [D, C], COMPUTE))
    for groups, number in (("8", 8), ("std::optional(16)", 16), ("", 32)):
        expected = ("normalization", ("group_norm", [A, B, C, D], [D], {"num_groups": number}))
        assert translate(row("GroupNorm", num_groups=groups)) == expected
    assert translate(row("GroupNorm"))[1][3] == {"num_groups": 32}
    for attributes, op in (
        ({"math_op": "ReduceOpMath::MAX"}, "max"),
        ({"reduce_op": "MIN"}, "min"),
        ({"op_type": "mean"}, "mean"),
        ({"op": "sum"}, "sum"),
        ({"math_op": "STD"}, "sum"),
        ({"math_op": ""}, "sum"),
        ({}, "sum"),
    ):
        assert translate(row("Reduce", **attributes)) == ("reduction", (op, [A], [D], COMPUTE))
    for attributes, op, dim in (
        ({"op": "AccumulationOp::CUMPROD", "dim": "-1"}, "cumprod", -1),
        ({"op": "cumsum", "dim": "2"}, "cumsum", 2),
        ({"dim": "none"}, "cumsum", 0),
        ({}, "cumsum", 0),
    ):
        assert translate(row("Accumulation", **attributes)) == ("reduction", (op, [A], [D], {"dim": dim}))


def test_attention_has_chunks_and_a_mask() -> None:
    text = "SDPAProgramConfig(q_chunk_size=64;k_chunk_size=128)"
    for code in ("ScaledDotProductAttention", "SDPA"):
        for causal, flag in (("true", True), ("1", True), ("false", False), ("0", False)):
            attributes = COMPUTE | {"is_causal": flag, "program_config": {"q_chunk_size": 64, "k_chunk_size": 128}}
            expected = ("attention", ("scaled_dot_product_attention", [A, B, C], [D], attributes))
            assert translate(row(code, is_causal=causal, program_config=text)) == expected
    assert translate(row("SDPA", [A, B, C]))[1][3]["program_config"] == {}
    for code in ("ScaledDotProductAttentionDecode", "SdpaDecode"):
        expected = ("attention", ("scaled_dot_product_attention_decode", [A, B, C], [D], COMPUTE))
        assert translate(row(code)) == expected
        assert translate(row(code, [A, B]))[1][1] == [A, B]


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (row("Frobnicate"), "op code 'Frobnicate' has no rule"),
        (row("Binary", binary_op_type="XYZZY"), "binary op type 'XYZZY' is unknown"),
        (row("Binary"), "binary op type '' is unknown"),
        (row("Unary", op_chain="{none}"), "unary op chain '{none}' names no op"),
        (row("Matmul", [A]), "the row has fewer than two input tensors"),
        (row("SDPA", [A, B]), "the row has fewer than three input tensors"),
        (row("SdpaDecode", [A]), "the row has fewer than two input tensors"),
        (row("Conv2d", [A]), "the row has neither window_hw nor a weight"),
        (row("Softmax", []), "the row has no input tensor"),
        (row("Softmax", [A], []), "the row has no output tensor"),
        (row("Transpose", dim="W"), "dimensions 'W' of a transpose are unknown"),
        (row("Transpose", [spec((3, 64, 96))], dim="NW"), "dimensions 'NW' of a transpose are unknown"),
        (row("Permute", dims="0 0"), "[0, 0] is not a permutation of 2 axes"),
        (row("Permute"), "[] is not a permutation of 2 axes"),
    ],
)
def test_rows_that_lack_something_are_refused(refused: OpRow, message: str) -> None:
    with pytest.raises(RowError) as raised:
        translate(refused)
    assert str(raised.value) == message


def test_endings_of_codes() -> None:
    for ending in ("DeviceOperation", "Operation", "Op", ""):
        assert base_code(f"Matmul{ending}") == "Matmul"
