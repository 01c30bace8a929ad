"""Names and categories of TTNN ops in profiler files: the device operations of tt-metal that the ops run.

Categories are those of ``tt-perf-report`` 1.4.1 (``OPERATION_CATEGORIES``): Compute, TM (tensor manipulation), DM (data
movement), CCL, Host and Other. One TTNN op is one row, even if TT-NN runs several programs for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tt_xla.ir.layout import TILE
from tt_xla.ir.program import HOST_OPS, TensorSpec
from tt_xla.profiling.recording import Op

COMPUTE, TM, DM, CCL, HOST, OTHER = "Compute", "TM", "DM", "CCL", "Host", "Other"

_UNARY = frozenset(
    {
        "abs",
        "acos",
        "asin",
        "asinh",
        "atan",
        "bitcast_convert",
        "bitwise_not",
        "cbrt",
        "ceil",
        "clamp_scalar",
        "cos",
        "erf",
        "erfc",
        "exp",
        "expm1",
        "floor",
        "gelu",
        "hardsigmoid",
        "isfinite",
        "leaky_relu",
        "log",
        "log1p",
        "logical_not",
        "mish",
        "neg",
        "pow_scalar",
        "reciprocal",
        "relu",
        "relu6",
        "round",
        "rsqrt",
        "sigmoid",
        "sign",
        "silu",
        "sin",
        "sqrt",
        "tan",
        "tanh",
    }
)
_BINARY = {
    "add": "ADD",
    "atan2": "ATAN2",
    "bitwise_and": "BITWISE_AND",
    "bitwise_or": "BITWISE_OR",
    "bitwise_xor": "BITWISE_XOR",
    "divide": "DIV",
    "eq": "EQ",
    "ge": "GTE",
    "gt": "GT",
    "le": "LTE",
    "logical_and": "LOGICAL_AND",
    "logical_left_shift": "LEFT_SHIFT",
    "logical_or": "LOGICAL_OR",
    "logical_right_shift": "RIGHT_SHIFT",
    "logical_xor": "LOGICAL_XOR",
    "lt": "LT",
    "maximum": "MAXIMUM",
    "minimum": "MINIMUM",
    "multiply": "MUL",
    "ne": "NE",
    "pow_tensor": "POWER",
    "remainder": "REMAINDER",
    "subtract": "SUB",
}
_UNARY_NAMES = {"reciprocal": "RECIP", "pow_scalar": "POWER", "logical_not": "LOGICAL_NOT_UNARY"}

_NAMED: dict[str, tuple[str, str]] = {
    "matmul": ("Matmul", COMPUTE),
    "linear": ("Matmul", COMPUTE),
    "conv2d": ("Conv2d", COMPUTE),
    "conv1d": ("Conv2d", COMPUTE),
    "conv_transpose2d": ("Conv2d", COMPUTE),
    "max_pool2d": ("Pool2D", COMPUTE),
    "max_pool2d_with_indices": ("Pool2D", COMPUTE),
    "avg_pool2d": ("Pool2D", COMPUTE),
    "global_avg_pool2d": ("Pool2D", COMPUTE),
    "upsample": ("UpSample", COMPUTE),
    "scaled_dot_product_attention": ("ScaledDotProductAttention", COMPUTE),
    "scaled_dot_product_attention_decode": ("ScaledDotProductAttentionDecode", COMPUTE),
    "layer_norm": ("LayerNorm", COMPUTE),
    "rms_norm": ("LayerNorm", COMPUTE),
    **{f"{norm}_pre_all_gather": ("LayerNormPreAllGather", COMPUTE) for norm in ("layer_norm", "rms_norm")},
    **{f"{norm}_post_all_gather": ("LayerNormPostAllGather", COMPUTE) for norm in ("layer_norm", "rms_norm")},
    "group_norm": ("GroupNorm", COMPUTE),
    "softmax": ("Softmax", COMPUTE),
    "rotary_embedding": ("RotaryEmbedding", COMPUTE),
    "rotary_embedding_llama": ("RotaryEmbeddingLlama", COMPUTE),
    "sum": ("Reduce", COMPUTE),
    "mean": ("Reduce", COMPUTE),
    "max": ("Reduce", COMPUTE),
    "min": ("Reduce", COMPUTE),
    "prod": ("Reduce", COMPUTE),
    "argmax": ("ArgMax", COMPUTE),
    "cumsum": ("Accumulation", COMPUTE),
    "cumprod": ("Accumulation", COMPUTE),
    "embedding": ("Embeddings", COMPUTE),
    "where": ("Ternary", TM),
    "typecast": ("Typecast", TM),
    "reshape": ("ReshapeView", TM),
    "slice_static": ("Slice", TM),
    "slice_dynamic": ("Slice", TM),
    "concat": ("Concat", TM),
    "repeat": ("Repeat", TM),
    "repeat_interleave": ("Repeat", TM),
    "pad": ("Pad", TM),
    "concatenate_heads": ("NLPConcatHeads", TM),
    "nlp_concat_heads": ("NLPConcatHeads", TM),
    "nlp_concat_heads_decode": ("NLPConcatHeadsDecode", TM),
    "split_query_key_value_and_split_heads": ("NlpCreateHeads", TM),
    "nlp_create_qkv_heads_decode": ("NLPCreateQKVHeadsDecode", TM),
    "paged_update_cache": ("PagedUpdateCache", DM),
    "update_cache": ("PagedUpdateCache", DM),
    "fill_cache": ("PagedUpdateCache", DM),
    "copy": ("Copy", DM),
    "assign": ("Copy", DM),
    "topk": ("TopK", OTHER),
    "sort": ("Sort", OTHER),
    "all_gather": ("AllGather", CCL),
    "all_reduce": ("AllReduceAsync", CCL),
    "all_reduce_async": ("AllReduceAsync", CCL),
    "all_to_all": ("AllToAllAsyncGeneric", CCL),
    "all_to_all_combine": ("AllToAllCombine", CCL),
    "all_to_all_dispatch": ("AllToAllDispatch", CCL),
    "all_to_all_dispatch_metadata": ("AllToAllDispatchMetadata", CCL),
    "point_to_point": ("PointToPoint", CCL),
    "reduce_scatter": ("ReduceScatter", CCL),
}

TRANSFERS = frozenset({"to_device", "from_device", "write_tensor"})
"""Transfers over PCIe, for which the device runs no program."""


def mnemonic(op: Op) -> str:
    """Returns an op's name without dialect, ``matmul`` for ``ttnn.matmul``."""
    return op.instruction.op.rpartition(".")[2]


def op_code(op: Op) -> tuple[str, str]:
    """Returns an op's name in profiler files, and its category."""
    name = mnemonic(op)
    if op.instruction.op in HOST_OPS:
        return f"(torch) {name}", HOST
    code = _by_layout(name, op.inputs, op.outputs) or _NAMED.get(name)
    if code is None and name in _UNARY:
        code = "Unary", COMPUTE
    if code is None and name in _BINARY:
        code = "BinaryNg", COMPUTE
    if code is None:
        code = "".join(part.capitalize() for part in name.split("_")), OTHER
    return f"{code[0]}DeviceOperation", code[1]


_CATEGORIES = dict(_NAMED.values()) | {
    **dict.fromkeys(("Unary", "UnaryNg", "Binary", "BinaryNg", "OptimizedConvNew", "UpSample", "GridSample"), COMPUTE),
    **dict.fromkeys(("IntImg", "FastReduceNC", "SdpaDecode", "BatchNorm", "SparseMatmul", "MinimalMatmul"), COMPUTE),
    **dict.fromkeys(("Tilize", "TilizeWithValPadding", "Untilize", "UntilizeWithUnpadding", "Split", "Fold"), TM),
    **dict.fromkeys(("Transpose", "Permute", "Reshape", "PaddedSlice", "SliceWrite", "FillPad", "CreateQKVHeads"), TM),
    **dict.fromkeys(("InterleavedToSharded", "ShardedToInterleaved", "Reshard", "Halo", "Move", "Clone", "Where"), DM),
    **dict.fromkeys(("InterleavedToShardedPartial", "ShardedToInterleavedPartial"), DM),
    **dict.fromkeys(("AllGatherAsync", "ReduceScatterMinimalAsync", "AllBroadcast", "Broadcast"), CCL),
}


def category_of(code: str) -> str:
    """Returns the category of an op's name in a profiler file, ours or a card's."""
    return HOST if "(torch)" in code else _CATEGORIES.get(code.removesuffix("DeviceOperation"), OTHER)


def _by_layout(name: str, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...]) -> tuple[str, str] | None:
    """Returns name and category of an op whose program depends on its tensors' layouts; None for other ops."""
    if not inputs or not outputs:
        return None
    before, after = inputs[0], outputs[0]
    if name == "to_layout":
        if before.layout.tiled == after.layout.tiled:
            return "Typecast" if before.layout.dtype != after.layout.dtype else "Copy", DM
        unpadded = all(size % TILE == 0 for size in after.shape[-2:]) and len(after.shape) > 1
        tilize = "Tilize" if unpadded else "TilizeWithValPadding"
        return (tilize if after.layout.tiled else "Untilize" if unpadded else "UntilizeWithUnpadding"), TM
    if name == "to_memory_config":
        sharded = before.layout.is_sharded, after.layout.is_sharded
        names = {(False, True): "InterleavedToSharded", (True, False): "ShardedToInterleaved", (True, True): "Reshard"}
        return names.get(sharded, "Copy"), DM
    if name in ("permute", "transpose"):
        return ("Transpose" if name == "transpose" else "Permute"), TM
    return None


def attributes_of(op: Op) -> dict[str, Any]:
    """Returns the contents of the ``ATTRIBUTES`` cell: the op's attributes, and those that tools expect."""
    name, attributes = mnemonic(op), dict(op.instruction.attributes)
    if name in _BINARY:
        attributes = {"binary_op_type": f"BinaryOpType::{_BINARY[name]}"} | attributes
    elif name in _UNARY:
        kind = _UNARY_NAMES.get(name, name.upper())
        attributes = {"op_chain": f"{{UnaryWithParam(op_type=UnaryOpType::{kind};param={{}})}}"} | attributes
    elif "kernel_size" in attributes:
        rows, columns = _pair(attributes["kernel_size"])
        attributes = {"sliding_window_config": f"window_hw=({rows};{columns}); "} | attributes
    elif name == "permute":
        attributes = {"dims": f"SmallVector({_text(attributes.get('permutation', ()))})"} | attributes
    elif name in ("sum", "mean", "max", "min"):
        attributes = {"math_op": f"ReduceOpMath::{name.upper()}"} | attributes
    elif name.startswith("rms_norm"):
        attributes = {"norm_type": "LayerNormType::RMSNORM"} | attributes
    if name in ("matmul", "linear"):  # the row shows the inputs after transposing
        attributes.pop("transpose_a", None)
        attributes.pop("transpose_b", None)
    config: Any = attributes.pop("matmul_program_config", None)
    if config:
        attributes = {"program_config": _program_config(dict(config))} | attributes
    if op.outputs:
        attributes["output_dtype"] = op.outputs[0].layout.dtype.value
    return attributes


def _pair(sizes: Any) -> tuple[int, int]:
    numbers = [int(size) for size in sizes] if isinstance(sizes, list | tuple) else [int(sizes)] * 2
    return (numbers[0], numbers[1]) if len(numbers) > 1 else (numbers[0], 1)


_CONFIGS = {
    "dram_sharded": "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig",
    "multi_cast_1d": "MatmulMultiCoreReuseMultiCast1DProgramConfig",
    "multi_cast": "MatmulMultiCoreReuseMultiCastProgramConfig",
}
_TT_METAL_NAMES = {"per_core_m": "per_core_M", "per_core_n": "per_core_N"}


def _program_config(config: Mapping[str, Any]) -> str:
    kind = str(config.get("config", ""))
    name = next((full for part, full in _CONFIGS.items() if part in kind), "MatmulMultiCoreReuseProgramConfig")
    fields = (f"{_TT_METAL_NAMES.get(key, key)}={_text(value)}" for key, value in config.items() if key != "config")
    return f"{name}({';'.join(fields)})"


def cell(attributes: Mapping[str, Any]) -> str:
    """Returns attributes as the text of one cell, with ``;`` instead of the ``,`` of a dictionary."""
    pairs = (f"'{key}': '{_text(value)}'" for key, value in attributes.items() if not isinstance(value, bytes))
    return "{" + "; ".join(pairs) + "}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ";".join(f"{key}={_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + "; ".join(map(_text, value)) + "]"
    return str(value).replace(",", ";").replace("'", "")
