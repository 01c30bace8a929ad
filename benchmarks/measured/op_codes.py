"""Translates op codes of tt-metal's profiler to TTNN ops with the attributes that the cost model reads.

``OP_CODES`` has one entry per code, without the endings that versions of tt-metal add (``DeviceOperation``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.measured.measurement import RowError
from tt_xla.ir.layout import TILE
from tt_xla.ir.op_table import BINARY, UNARY
from tt_xla.ir.program import TensorSpec

Attributes = dict[str, Any]
Translation = tuple[str, list[TensorSpec], list[TensorSpec], Attributes]
"""Name of a TTNN op without its dialect, inputs, results and attributes."""


@dataclass(frozen=True)
class OpRow:
    """An op in a profiler's row.

    Attributes:
        code: op code.
        attributes: attributes by name, as text.
        inputs: input tensors.
        outputs: output tensors.
        fidelity: name of the math fidelity.
        cores: number of cores.
        weight_rows: rows of the second input as the device holds it; 0 if the file does not tell.
    """

    code: str
    attributes: Mapping[str, str]
    inputs: list[TensorSpec]
    outputs: list[TensorSpec]
    fidelity: str
    cores: int
    weight_rows: int = 0

    def text(self, *names: str) -> str:
        """Returns the first of the named attributes that exists, without C++ namespaces; empty if none exists."""
        for name in names:
            if name in self.attributes:
                return self.attributes[name].rpartition("::")[2].strip("{}() ")
        return ""

    @property
    def out(self) -> TensorSpec:
        """The first output.

        Raises:
            RowError: the row has no output.
        """
        if not self.outputs:
            raise RowError("the row has no output tensor")
        return self.outputs[0]

    @property
    def first(self) -> TensorSpec:
        """The first input.

        Raises:
            RowError: the row has no input.
        """
        if not self.inputs:
            raise RowError("the row has no input tensor")
        return self.inputs[0]


Translate = Callable[[OpRow], Translation]

_BINARY = {row.op_type: row.ttnn for row in BINARY if row.ttnn} | {
    **{"BIAS_GELU": "gelu", "GE": "ge", "LE": "le", "REMAINDER": "remainder", "RSUB": "subtract"},
    **{"SQUARED_DIFFERENCE": "subtract", "WHERE_TST": "where", "WHERE_TTS": "where", "WHERE_TTT": "where"},
}
"""TTNN op that stands in for a member of ``BinaryOpType``."""

_UNARY = {row.op_type: row.ttnn for row in UNARY if row.ttnn and row.kind} | {
    **dict.fromkeys(("ADD_UNARY_SFPU", "DIV_UNARY_SFPU", "MUL_UNARY_SFPU", "SUB_UNARY_SFPU", "RSUB"), "relu"),
    **dict.fromkeys(("FILL", "SQUARE"), "relu"),
    **dict.fromkeys(("GTZ", "LEZ", "LTZ", "UNARY_GT", "UNARY_LT"), "gez"),
    **dict.fromkeys(("NEZ", "UNARY_EQ", "UNARY_NE"), "eqz"),
    **dict.fromkeys(("CLAMP_TSS", "RELU_MAX", "RELU_MIN"), "clamp_scalar"),
    **{"IDENTITY": "typecast", "TYPECAST": "typecast", "POWER": "pow_scalar", "WHERE_TSS": "where"},
}
"""TTNN op that stands in for a member of ``UnaryOpType`` whose name differs from that of an op in more than case."""

_CONFIG_NUMBER = {
    "per_core_m": r"per_core_M=(\d+)",
    "per_core_n": r"per_core_N=(\d+)",
    "in0_block_w": r"in0_block_w=(\d+)",
    "out_subblock_h": r"out_subblock_h=(\d+)",
    "out_subblock_w": r"out_subblock_w=(\d+)",
}


def unary_name(code: str) -> str:
    """Returns the name of the TTNN op of a profiler's unary op."""
    return _UNARY.get(code.upper(), code.lower())


def _compute(row: OpRow) -> Attributes:
    """Returns the compute config of a row, as an attribute."""
    text = " ".join(row.attributes.get(name, "") for name in ("ckc", "compute_kernel_config", "compute_config"))
    config: Attributes = {"math_fidelity": row.fidelity.lower() or "hifi4"}
    wide = re.search(r"fp32_?(?:dest_acc_en|acc)=(\d|true|false)", text)
    if wide is not None:
        config["fp32_dest_acc_en"] = wide[1] in ("1", "true")
    adds = re.search(r"(?:packer_)?l1_?acc=(\d|true|false)", text)
    if adds is not None:
        config["packer_l1_acc"] = adds[1] in ("1", "true")
    return {"compute_config": config}


def _plain(op: str) -> Translate:
    """Returns a rule for an op that takes all inputs and outputs of the row."""
    return lambda row: (op, row.inputs, row.outputs, _compute(row))


def _one(op: str) -> Translate:
    """Returns a rule for an op with one input and one output.

    Profilers list an output that the caller allocated as an input too, which is ignored.
    """
    return lambda row: (op, [row.first], [row.out], _compute(row))


def _binary(row: OpRow) -> Translation:
    kind = row.text("binary_op_type").upper()
    if kind not in _BINARY:
        raise RowError(f"binary op type {kind!r} is unknown")
    attributes = _compute(row)
    inputs = row.inputs[:2]
    if len(inputs) == 1 or ("scalar" in row.attributes and row.text("scalar") not in ("", "nullopt")):
        attributes["scalar"] = True
    if kind.startswith("WHERE"):
        return "where", row.inputs[:3], [row.out], attributes
    return _BINARY[kind], inputs, [row.out], attributes


def _unary(row: OpRow) -> Translation:
    chain = row.attributes.get("op_chain", "")
    steps = re.findall(r"([A-Z][A-Z0-9_]+)(?=\s*[{(;,)]|\s*$)", re.sub(r"UnaryOpType::", "", chain))
    ops = [step for step in steps if step not in ("BFLOAT16", "FLOAT32", "BFLOAT8_B", "INT32", "UINT32")]
    if not ops:
        raise RowError(f"unary op chain {chain!r} names no op")
    attributes = _compute(row)
    attributes["chain"] = [unary_name(op) for op in ops[1:]]
    return unary_name(ops[0]), [row.first], [row.out], attributes


def _matmul(row: OpRow) -> Translation:
    if len(row.inputs) < 2:
        raise RowError("the row has fewer than two input tensors")
    attributes = _compute(row)
    config_text = row.attributes.get("program_config", "")
    config: Attributes = {
        name: int(match[1]) for name, text in _CONFIG_NUMBER.items() if (match := re.search(text, config_text))
    }
    activation = re.search(r"op_type=(?:UnaryOpType::)?([A-Z_0-9]+)", config_text)
    if activation is not None:
        config["fused_activation"] = {"op_type": unary_name(activation[1])}
    if "DRAMSharded" in config_text:
        config["config"] = "dram_sharded"
    elif "MultiCast1D" in config_text:
        config["config"] = "multi_cast_1d"
    attributes["transpose_a"] = row.text("transpose_a") in ("true", "1")
    attributes["matmul_program_config"] = config
    attributes["core_count"] = row.cores
    return "matmul", row.inputs[:3], [row.out], attributes


def _minimal_matmul(row: OpRow) -> Translation:
    _, inputs, outputs, attributes = _matmul(row)
    return "minimal_matmul", inputs, outputs, attributes


def _convolution(row: OpRow) -> Translation:
    """Translates a convolution.

    A row that names no window has the block's width in tiles. The number of blocks follows from the weight's rows.
    """
    window = row.attributes.get("sliding_window_config") or row.attributes.get("sliding_window_config_") or ""
    match = re.search(r"window_hw=\((\d+)[;,] ?(\d+)\)", window or " ".join(row.attributes.values()))
    channels = row.first.shape[-1]
    blocks = row.attributes.get("block_config", "")
    high, wide = (re.search(rf"act_block_{side}_ntiles=(\d+)", blocks) for side in "hw")
    if match is not None:
        kernel = [int(match[1]), int(match[2])]
    elif wide is not None and row.weight_rows:
        channels = int(wide[1]) * TILE
        kernel = [max(row.weight_rows // channels, 1), 1]
    elif len(row.inputs) > 1:  # the rows of a prepared weight are the window's inputs
        kernel = [max(row.inputs[1].shape[-2] // channels, 1), 1]
    else:
        raise RowError("the row has neither window_hw nor a weight")
    attributes = _compute(row) | {"kernel_size": kernel, "in_channels": channels}
    if high is not None:
        attributes["act_block_tiles"] = int(high[1])
    return "conv2d", row.inputs[:2], [row.out], attributes


def _pool(row: OpRow) -> Translation:
    match = re.search(r"window_hw=\((\d+)[;,] ?(\d+)\)", " ".join(row.attributes.values()))
    kernel = [int(match[1]), int(match[2])] if match else []
    maximum = "MAX" in row.text("pool_type_", "pool_type").upper()
    indices = row.text("return_indices_", "return_indices") in ("true", "1")
    op = "max_pool2d_with_indices" if indices else "max_pool2d" if maximum else "avg_pool2d"
    return op, [row.first], [row.out], {"kernel_size": kernel}


def _transpose(row: OpRow) -> Translation:
    rank = len(row.first.shape)
    axes = {"W": 3, "H": 2, "C": 1, "N": 0}
    letters = [axes[letter] - 4 + rank for letter in row.text("dim").upper() if letter in axes]
    if len(letters) != 2 or min(letters) < 0:
        raise RowError(f"dimensions {row.text('dim')!r} of a transpose are unknown")
    order = list(range(rank))
    order[letters[0]], order[letters[1]] = letters[1], letters[0]
    return "permute", [row.first], [row.out], {"permutation": order}


def _permute(row: OpRow) -> Translation:
    order = [int(axis) for axis in re.findall(r"-?\d+", row.attributes.get("dims", ""))]
    if sorted(order) != list(range(len(row.first.shape))):
        raise RowError(f"{order} is not a permutation of {len(row.first.shape)} axes")
    return "permute", [row.first], [row.out], {"permutation": order}


def _norm(row: OpRow) -> Translation:
    rms = "RMS" in row.text("norm_type").upper()
    stage = row.text("distributed_norm_stage").upper()
    op = "rms_norm" if rms else "layer_norm"
    if "PRE" in stage:
        op = "rms_norm_pre_all_gather" if rms else "layer_norm_pre_all_gather"
    return op, row.inputs, row.outputs, _compute(row)


def _group_norm(row: OpRow) -> Translation:
    groups = re.search(r"\d+", row.attributes.get("num_groups", ""))
    return "group_norm", row.inputs, [row.out], {"num_groups": int(groups[0]) if groups else 32}


def _reduce(row: OpRow) -> Translation:
    op = row.text("math_op", "reduce_op", "op_type", "op").lower() or "sum"
    return op if op in ("sum", "mean", "max", "min") else "sum", [row.first], [row.out], _compute(row)


def _accumulation(row: OpRow) -> Translation:
    op = "cumprod" if "PROD" in row.text("op").upper() else "cumsum"
    dim = re.search(r"-?\d+", row.attributes.get("dim", "0"))
    return op, [row.first], [row.out], {"dim": int(dim[0]) if dim else 0}


def _attention(row: OpRow) -> Translation:
    config = row.attributes.get("program_config", "")
    names = ("q_chunk_size", "k_chunk_size")
    chunks = {name: int(match[1]) for name in names if (match := re.search(rf"{name}=(\d+)", config))}
    causal = row.text("is_causal") in ("true", "1")
    attributes = _compute(row) | {"is_causal": causal, "program_config": chunks}
    if len(row.inputs) < 3:
        raise RowError("the row has fewer than three input tensors")
    return "scaled_dot_product_attention", row.inputs[:3], [row.out], attributes


def _attention_decode(row: OpRow) -> Translation:
    if len(row.inputs) < 2:
        raise RowError("the row has fewer than two input tensors")
    return "scaled_dot_product_attention_decode", row.inputs[:3], [row.out], _compute(row)


def _collective(op: str) -> Translate:
    """Returns the rule of an exchange. Its last output is the result; those before are buffers."""
    return lambda row: (op, [row.first], row.outputs[-1:], {"cluster_axis": 0})


MATMUL, ATTENTION, ELEMENTWISE = "matmul", "attention", "elementwise"
MOVEMENT, REDUCTION, NORM = "data_movement", "reduction", "normalization"
CONVOLUTION, POOLING, EMBEDDING, COLLECTIVE = "convolution", "pooling", "embedding", "collective"

OP_CODES: dict[str, tuple[str, Translate]] = {
    "BinaryNg": (ELEMENTWISE, _binary),
    "Binary": (ELEMENTWISE, _binary),
    "Unary": (ELEMENTWISE, _unary),
    "UnaryNg": (ELEMENTWISE, _unary),
    "Ternary": (ELEMENTWISE, _plain("where")),
    "Where": (ELEMENTWISE, _plain("where")),
    "Typecast": (ELEMENTWISE, _one("typecast")),
    "Matmul": (MATMUL, _matmul),
    "MinimalMatmul": (MATMUL, _minimal_matmul),
    "SparseMatmul": (MATMUL, _matmul),
    "Conv2d": (CONVOLUTION, _convolution),
    "OptimizedConvNew": (CONVOLUTION, _convolution),
    "Pool2D": (POOLING, _pool),
    "GridSample": (POOLING, _plain("grid_sample")),
    "UpSample": (POOLING, _one("upsample")),
    "Upsample": (POOLING, _one("upsample")),
    "Halo": (MOVEMENT, _one("halo")),
    "ScaledDotProductAttention": (ATTENTION, _attention),
    "SDPA": (ATTENTION, _attention),
    "ScaledDotProductAttentionDecode": (ATTENTION, _attention_decode),
    "SdpaDecode": (ATTENTION, _attention_decode),
    "LayerNorm": (NORM, _norm),
    "LayerNormPreAllGather": (NORM, _plain("layer_norm_pre_all_gather")),
    "LayerNormPostAllGather": (NORM, _plain("layer_norm_post_all_gather")),
    "GroupNorm": (NORM, _group_norm),
    "BatchNorm": (NORM, _plain("batch_norm_inference")),
    "Softmax": (NORM, _one("softmax")),
    "RotaryEmbedding": (ELEMENTWISE, _plain("rotary_embedding")),
    "RotaryEmbeddingLlama": (ELEMENTWISE, _plain("rotary_embedding_llama")),
    "Reduce": (REDUCTION, _reduce),
    "FastReduceNC": (REDUCTION, _one("sum_outer")),
    "ArgMax": (REDUCTION, _one("argmax")),
    "Accumulation": (REDUCTION, _accumulation),
    "IntImg": (REDUCTION, _one("integral_image")),
    "TopK": (REDUCTION, _one("topk")),
    "Sort": (REDUCTION, _one("sort")),
    "Embeddings": (EMBEDDING, _plain("embedding")),
    "Tilize": (MOVEMENT, _one("to_layout")),
    "TilizeWithValPadding": (MOVEMENT, _one("to_layout")),
    "Untilize": (MOVEMENT, _one("to_layout")),
    "UntilizeWithUnpadding": (MOVEMENT, _one("to_layout")),
    "InterleavedToSharded": (MOVEMENT, _one("to_memory_config")),
    "ShardedToInterleaved": (MOVEMENT, _one("to_memory_config")),
    "InterleavedToShardedPartial": (MOVEMENT, _one("to_memory_config")),
    "ShardedToInterleavedPartial": (MOVEMENT, _one("to_memory_config")),
    "Reshard": (MOVEMENT, _one("to_memory_config")),
    "Copy": (MOVEMENT, _one("copy")),
    "Clone": (MOVEMENT, _one("copy")),
    "Move": (MOVEMENT, _one("move")),
    "Transpose": (MOVEMENT, _transpose),
    "Permute": (MOVEMENT, _permute),
    "Reshape": (MOVEMENT, _one("reshape")),
    "ReshapeView": (MOVEMENT, _one("reshape")),
    "Slice": (MOVEMENT, _one("slice_static")),
    "PaddedSlice": (MOVEMENT, _one("padded_slice")),
    "SliceWrite": (MOVEMENT, _one("slice_write")),
    "Concat": (MOVEMENT, _plain("concat")),
    "Split": (MOVEMENT, _plain("split")),
    "Repeat": (MOVEMENT, _one("repeat")),
    "Pad": (MOVEMENT, _one("pad")),
    "FillPad": (MOVEMENT, _one("pad")),
    "Fold": (MOVEMENT, _one("permute")),
    "NLPCreateHeads": (MOVEMENT, _plain("nlp_create_qkv_heads")),
    "NlpCreateHeads": (MOVEMENT, _plain("nlp_create_qkv_heads")),
    "CreateQKVHeads": (MOVEMENT, _plain("nlp_create_qkv_heads")),
    "NLPConcatHeads": (MOVEMENT, _one("nlp_concat_heads")),
    "ConcatenateHeads": (MOVEMENT, _one("nlp_concat_heads")),
    "NLPConcatHeadsDecode": (MOVEMENT, _one("nlp_concat_heads_decode")),
    "NLPCreateHeadsDecode": (MOVEMENT, _plain("nlp_create_qkv_heads_decode")),
    "NLPCreateQKVHeadsDecode": (MOVEMENT, _plain("nlp_create_qkv_heads_decode")),
    "PagedUpdateCache": (MOVEMENT, _one("paged_update_cache")),
    "AllGather": (COLLECTIVE, _collective("all_gather")),
    "AllGatherAsync": (COLLECTIVE, _collective("all_gather")),
    "AllReduceAsync": (COLLECTIVE, _collective("all_reduce")),
    "ReduceScatter": (COLLECTIVE, _collective("reduce_scatter")),
    "ReduceScatterMinimalAsync": (COLLECTIVE, _collective("reduce_scatter")),
    "AllToAllAsyncGeneric": (COLLECTIVE, _collective("all_to_all")),
    "AllBroadcast": (COLLECTIVE, _collective("all_gather")),
}


def base_code(code: str) -> str:
    """Returns an op code without its ending: ``Matmul`` for ``MatmulDeviceOperation`` and ``MatmulOp``."""
    for ending in ("DeviceOperation", "Operation", "Op"):
        if code.endswith(ending):
            return code[: -len(ending)]
    return code


def translate(row: OpRow) -> tuple[str, Translation]:
    """Returns the family of a row's op, and the op for the cost model.

    Raises:
        RowError: the op code is unknown, or the row lacks something that the op needs.
    """
    entry = OP_CODES.get(row.code) or OP_CODES.get(base_code(row.code))
    if entry is None:
        raise RowError(f"op code {row.code!r} has no rule")
    family, rule = entry
    return family, rule(row)
