"""Records results of TT-NN for tests/device/test_bit_exact.py, with the interpreter that has ``ttnn``:

    TT_METAL_SIMULATOR=... python record_bit_exact.py bit_exact.npz [NAME ...]

It needs Tenstorrent's functional simulator, or a card of Blackhole; names select cases, and the others keep what the
file holds. The cases and their operands are read by the test too, which needs no ``ttnn``.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy

LABELS = {"bf16": "bfloat16", "f32": "float32", "bfp_bf8": "bfloat8_b", "bfp_bf4": "bfloat4_b", "si32": "int32"}
"""Names of TT-NN's data types."""


@dataclass(frozen=True)
class Case:
    """One op on drawn operands."""

    name: str
    op: str
    operands: dict[str, tuple[tuple[int, ...], str]]
    """Shape and type of each operand."""
    result: str
    """Type of the result."""
    attributes: dict[str, Any] = field(default_factory=dict)
    low: float = -2.0
    high: float = 2.0
    rows: bool = False
    """Whether the first operand is row-major."""
    in_l1: bool = False
    """Whether operands and result lie interleaved in L1; else they lie in DRAM."""

    shards: tuple[int, int] | None = None
    """Rows and columns of shards of the first operand and of the result, in L1."""
    positions: tuple[int, ...] = ()
    """The operand ``cur_pos_tensor``."""

    def arrays(self) -> dict[str, numpy.ndarray]:
        """Returns the operands: positions, and float32 before they are converted to their types."""
        arrays = {
            name: drawn(shape, 7 * seed + len(self.name), self.low, self.high)
            for seed, (name, (shape, _)) in enumerate(self.operands.items())
        }
        return arrays | ({"cur_pos_tensor": numpy.array(self.positions, numpy.int32)} if self.positions else {})


def drawn(shape: tuple[int, ...], seed: int, low: float, high: float) -> numpy.ndarray:
    """Returns numbers that depend on nothing but the arguments: the high bits of a linear congruential generator."""
    count = int(numpy.prod(shape))
    state = numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(seed << 20)
    for _ in range(3):
        state = (state * numpy.uint64(6364136223846793005) + numpy.uint64(1442695040888963407)) ^ (
            state >> numpy.uint64(33)
        )
    unit = (state >> numpy.uint64(40)).astype(numpy.float64) / (1 << 24)
    return (low + (high - low) * unit).astype(numpy.float32).reshape(shape)


def product(name: str, shape: tuple[int, int, int], a: str, b: str, result: str, fidelity: str, **more: Any) -> Case:
    """Returns a case of ttnn.linear."""
    rows, inner, columns = shape
    wide, bias, batch = more.pop("wide", True), more.pop("bias", None), more.pop("batch", ())
    sizes = {"a": (inner, rows) if more.get("transpose_a") else (rows, inner)}
    sizes["b"] = (columns, inner) if more.get("transpose_b") else (inner, columns)
    right = more.pop("right", batch[: more.pop("batched", 0)])
    operands = {"a": ((*batch, *sizes["a"]), a), "b": ((*right, *sizes["b"]), b)}
    if bias:
        operands["bias"] = ((1, columns), bias)
    config, in_l1 = {"math_fidelity": fidelity, "fp32_dest_acc_en": wide}, more.pop("in_l1", False)
    return Case(name, "ttnn.linear", operands, result, {"compute_config": config, **more}, in_l1=in_l1)


def plain_product(a: str, b: str, result: str) -> Case:
    """Returns a case of ttnn.linear whose compute config TT-NN chooses."""
    operands = {"a": ((40, 192), a), "b": ((192, 64), b)}
    return Case(f"{a} by {b} to {result} without a config", "ttnn.linear", operands, result)


def attention(name: str, rows: int, keys: int, heads: tuple[int, int] = (2, 2), mask: Any = None, **more: Any) -> Case:
    """Returns a case of attention with heads of 32 elements; ``mask`` is a shape."""
    sizes = {"query": (1, heads[0], rows, 32), "key": (1, heads[1], keys, 32), "value": (1, heads[1], keys, 32)}
    operands = {operand: (size, "bf16") for operand, size in sizes.items()}
    if mask:
        operands["attention_mask"] = (mask, "bf16")
    if more.pop("sink", False):
        operands["attention_sink"] = ((1, heads[0], 1, 1), "bf16")
    return Case(name, "ttnn.scaled_dot_product_attention", operands, "bf16", {"is_causal": False, **more})


def decoding(name: str, heads: tuple[int, int, int], keys: int, *positions: int, **more: Any) -> Case:
    """Returns a case of attention of one position; ``heads`` are the batch, and how many query and key heads it has."""
    batch, rows, groups = heads
    caches = dict.fromkeys(("key", "value"), ((batch, groups, keys, 64), more.pop("cache", "bf16")))
    operands: dict[str, Any] = {"query": ((1, batch, rows, 64), "bf16"), **caches}
    if more.pop("mask", False):
        operands["attention_mask"] = ((batch, 1, rows, keys), "bf16")
    if positions:
        operands["cur_pos_tensor"] = ((batch,), "si32")
    if more.pop("sink", False):
        operands["attention_sink"] = ((rows, 32), "bf16")
    attributes = {"is_causal": bool(positions), **more}
    return Case(name, "ttnn.scaled_dot_product_attention_decode", operands, "bf16", attributes, positions=positions)


def convolution(
    name: str, image: tuple[int, int, int], outputs: int, kernel: int = 3, dtype: str = "bf16", **more: Any
) -> Case:
    """Returns a case of ttnn.conv2d; ``image`` is side, channels and count of square images."""
    side, channels, batch = image
    sizes: dict[str, tuple[int, ...]] = {
        "input": (1, 1, batch * side * side, channels), "weight": (outputs, channels, kernel, kernel)
    }  # fmt: skip
    if more.pop("bias", False):
        sizes["bias"] = (1, 1, 1, outputs)
    window = {"in_channels": channels, "out_channels": outputs, "batch_size": batch, "input_height": side}
    window |= {"input_width": side, "kernel_size": [kernel, kernel], "dilation": [1, 1], "groups": 1}
    window |= {"stride": [more.pop("stride", 1)] * 2, "padding": [more.pop("padding", kernel // 2)] * 4}
    config = {"weights_dtype": dtype, "config_tensors_in_dram": True, **more.pop("config", {})}
    compute = {"math_fidelity": "hifi4", "fp32_dest_acc_en": more.pop("wide", True)}
    attributes = {**window, "conv2d_config": config, "compute_config": compute}
    operands = {operand: (size, dtype) for operand, size in sizes.items()}
    return Case(name, "ttnn.conv2d", operands, more.pop("result", dtype), attributes, rows=more.pop("rows", False))


FUNCTIONS = (
    "atan", "cbrt", "cos", "erf", "erfc", "exp", "expm1", "gelu", "hardsigmoid", "log", "log1p", "mish", "reciprocal",
    "rsqrt", "sigmoid", "silu", "sin", "sqrt", "tan", "tanh",
)  # fmt: skip
POSITIVE = ("log", "log1p", "reciprocal", "rsqrt", "sqrt")


def function(name: str, dtype: str) -> Case:
    """Returns a case of a function of one number."""
    bounds = (0.01, 20.0) if name in POSITIVE else (-9.0, 9.0)
    return Case(f"{name} of {dtype}", f"ttnn.{name}", {"input": ((32, 32), dtype)}, dtype, {}, *bounds)


def pair(name: str, dtype: str) -> Case:
    """Returns a case of an op of two tensors."""
    operands = {"lhs": ((32, 64), dtype), "rhs": ((32, 64), dtype)}
    return Case(f"{name} of {dtype}", f"ttnn.{name}", operands, dtype, {}, -8.0, 8.0)


def divided_by_number(dtype: str) -> Case:
    """Returns a case of an addition whose first operand is divided by a number first."""
    operands = {"lhs": ((32, 64), dtype), "rhs": ((32, 64), dtype)}
    division = {"op_type": "div_unary_sfpu", "params": [0.031622775]}
    attributes = {"input_tensor_a_activations": [division]}
    return Case(f"quotient by a number of {dtype}", "ttnn.add", operands, dtype, attributes)


APPROXIMATE = {"math_fidelity": "hifi4", "fp32_dest_acc_en": False, "math_approx_mode": True}
"""Compute config whose kernels the simulator runs: it lacks an instruction of the accurate reciprocal of attention."""
WIDE = APPROXIMATE | {"fp32_dest_acc_en": True}
EXACT = {"compute_config": {"math_fidelity": "hifi4", "fp32_dest_acc_en": True}}
"""Compute config of our programs."""


def in_shards(name: str, op: str, rows: int, shards: tuple[int, int], columns: int, dtype: str = "bf16") -> Case:
    """Returns a case of a normalization of a sharded tensor."""
    operands = {"input": ((rows, columns), dtype), "weight": ((1, columns), dtype)}
    return Case(name, f"ttnn.{op}", operands, dtype, {"epsilon": 1e-5, **EXACT}, -4.0, 4.0, shards=shards)


def along_rows(name: str, op: str, dtype: str, *parameters: str, **attributes: Any) -> Case:
    """Returns a case of an op along the rows of 40 x 70; its parameters have the length of a row."""
    operands = {"input": ((40, 70), dtype), **dict.fromkeys(parameters, ((1, 70), dtype))}
    return Case(f"{name}, {dtype}", f"ttnn.{op}", operands, dtype, attributes, -4.0, 4.0)


def running(op: str, dtype: str, along: int, **attributes: Any) -> Case:
    """Returns a case of products, or of running sums or products, along a dimension."""
    name = f"{op} along {along}, {dtype}"
    return Case(name, f"ttnn.{op}", {"input": ((40, 70), dtype)}, dtype, attributes, -2.0, 3.0)


def scaled_product(dtype: str, value: float) -> Case:
    """Returns a case of ``input + value * first * second``."""
    operands = dict.fromkeys(("input", "first", "second"), ((32, 64), dtype))
    return Case(f"addcmul of {dtype}", "ttnn.addcmul", operands, dtype, {"value": value}, -8.0, 8.0)


def softmax_of_columns(dtype: str, along: int, **attributes: Any) -> Case:
    """Returns a case of a softmax along another dimension than the last."""
    name = f"softmax along {along}{' with a config' if attributes else ''}, {dtype}"
    attributes = {"dimension": along, "numericStable": True, **attributes}
    return Case(name, "ttnn.softmax", {"input": ((3, 40, 70), dtype)}, dtype, attributes, -4.0, 4.0)


def of_three(op: str, dtype: str, *names: str, **attributes: Any) -> Case:
    """Returns a case of an op of three tensors."""
    operands = dict.fromkeys(names, ((32, 64), dtype))
    return Case(f"{op} of {dtype}", f"ttnn.{op}", operands, dtype, attributes, -8.0, 8.0)


def quotients_and_multiply_adds(dtype: str) -> tuple[Case, ...]:
    """Returns cases of quotients, remainders and multiply-adds of a type."""
    return (
        *(pair(op, dtype) for op in ("div_no_nan", "floor_div", "modulo", "remainder")),
        of_three("addcdiv", dtype, "input", "first", "second", value=0.7),
        of_three("lerp", dtype, "input", "end", "weight"),
        of_three("mac", dtype, "input", "first", "second"),
    )


def norms_and_sums(dtype: str) -> tuple[Case, ...]:
    """Returns cases of softmax and normalizations and sums of a type."""
    softmax = {"dimension": -1, "numericStable": True}
    cases = (
        along_rows("softmax", "softmax", dtype, **softmax),
        along_rows("softmax with a config", "softmax", dtype, **softmax, **EXACT),
        along_rows("layer_norm", "layer_norm", dtype, "weight", "bias", epsilon=1e-5),
        along_rows("layer_norm with a config", "layer_norm", dtype, "weight", epsilon=1e-5, **EXACT),
        along_rows("rms_norm", "rms_norm", dtype, "weight", epsilon=1e-5),
        along_rows("rms_norm with a config", "rms_norm", dtype, "weight", epsilon=1e-5, **EXACT),
    )
    sums = (
        along_rows(f"{op} of {dim}", op, dtype, dim_arg=[dim], keep_dim=True)
        for op in ("sum", "mean")
        for dim in (-1, -2)
    )
    if dtype == "f32":
        return *cases, *sums
    return (
        *cases,
        *sums,
        along_rows("cumsum", "cumsum", dtype, dim=-1),
        along_rows("mean with a config", "mean", dtype, dim_arg=[-1], keep_dim=True, **EXACT),
    )


CASES = (
    product("bf16 lofi", (34, 40, 33), "bf16", "bf16", "bf16", "lofi"),
    product("bf16 hifi2", (64, 128, 64), "bf16", "bf16", "f32", "hifi2"),
    product("bf16 hifi3", (33, 96, 64), "bf16", "bf16", "f32", "hifi3"),
    product("bf16 hifi4, four blocks", (64, 128, 96), "bf16", "bf16", "f32", "hifi4"),
    product("bf16 hifi4, one side", (20, 192, 50), "bf16", "bf16", "bf16", "hifi4"),
    product("bf16 hifi4, 16 bits", (64, 160, 64), "bf16", "bf16", "bf16", "hifi4", wide=False),
    product("f32 hifi4", (40, 100, 40), "f32", "f32", "f32", "hifi4"),
    product("f32 hifi2, 16 bits", (40, 70, 40), "f32", "f32", "f32", "hifi2", wide=False),
    product("bfp8 lofi", (40, 64, 64), "bf16", "bfp_bf8", "bf16", "lofi"),
    product("bfp8 to bfp8", (64, 64, 64), "bfp_bf8", "bfp_bf8", "bfp_bf8", "hifi2"),
    product("bfp4 hifi4", (40, 64, 64), "bf16", "bfp_bf4", "f32", "hifi4"),
    product("bfp8 transposed", (40, 64, 40), "bfp_bf8", "bf16", "bf16", "hifi4", transpose_a=True),
    product("bias", (64, 96, 64), "bf16", "bf16", "bf16", "hifi4", bias="bf16"),
    product("bias of f32", (40, 64, 64), "f32", "f32", "f32", "hifi4", bias="f32", transpose_b=True),
    product("batched", (40, 64, 64), "bf16", "bf16", "bf16", "hifi4", batch=(2,), batched=1, bias="bf16"),
    product("two blocks to bfp8", (40, 64, 64), "bfp_bf8", "bf16", "bfp_bf8", "lofi", wide=False),
    product("bias to bfp8", (36, 21, 23), "bf16", "bf16", "bfp_bf8", "hifi4", wide=False, bias="f32"),
    product("batched bias", (32, 4, 42), "bfp_bf8", "bf16", "bf16", "hifi3", batch=(2,), batched=1, bias="f32"),
    product("in L1, one part", (64, 192, 64), "bf16", "bf16", "f32", "hifi4", in_l1=True),
    product("in L1, one side", (32, 96, 320), "bf16", "bf16", "f32", "hifi4", in_l1=True),
    product("in L1 with a bias", (40, 192, 64), "bf16", "bf16", "bf16", "hifi4", in_l1=True, wide=False, bias="bf16"),
    product("one matrix by two", (40, 192, 64), "bf16", "bf16", "f32", "hifi4", batch=(1,), right=(2,)),
    plain_product("bf16", "bf16", "bf16"),
    plain_product("bf16", "bf16", "f32"),
    plain_product("f32", "bf16", "f32"),
    plain_product("f32", "f32", "f32"),
    plain_product("bf16", "bfp_bf8", "bf16"),
    plain_product("bfp_bf8", "bfp_bf8", "bfp_bf8"),
    attention("attention", 64, 96),
    attention("attention of parts of tiles", 40, 70, (4, 2), scale=0.7),
    attention("causal attention", 70, 70, is_causal=True),
    attention("attention with a mask", 32, 64, mask=(1, 1, 32, 64), scale=0.3),
    attention("attention in 32 bits", 64, 96, compute_config=WIDE),
    attention("attention in 32 bits with a mask", 40, 64, (4, 2), mask=(1, 1, 40, 64), scale=0.3, compute_config=WIDE),
    attention("causal attention in 32 bits", 64, 64, is_causal=True, compute_config=WIDE | {"math_fidelity": "hifi2"}),
    attention("attention in 32 bits with sinks", 32, 64, sink=True, scale=0.3, compute_config=WIDE),
    decoding("decoding", (3, 4, 2), 64, 40, 5, 63),
    decoding("decoding by a tree of five cores", (3, 24, 3), 320, 300, 100, 0),
    decoding("decoding by one core", (8, 40, 20), 256, 200, 100, 50, 255, 0, 1, 31, 32, cache="bfp_bf8"),
    decoding("decoding of two chunks", (4, 2, 1), 1024, 900, 511, 512, 3),
    decoding("decoding with a mask", (2, 8, 4), 96, mask=True, scale=0.3),
    decoding("decoding with a window", (2, 8, 4), 192, 150, 100, sliding_window_size=50),
    decoding("decoding with sinks", (2, 8, 4), 192, 150, 20, sink=True),
    decoding("decoding in hifi4", (2, 8, 4), 96, 80, 20, compute_config=APPROXIMATE),
    decoding("decoding in 32 bits", (2, 8, 4), 96, 80, 20, compute_config=WIDE),
    convolution("convolution", (8, 16, 1), 32),
    convolution("convolution of float32", (6, 32, 1), 32, dtype="f32"),
    convolution("convolution of rows", (8, 16, 1), 32, rows=True),
    convolution("convolution with two blocks", (7, 32, 1), 32, 2, padding=0),
    convolution("convolution with a bias", (8, 32, 1), 32, bias=True, config={"activation": "relu"}),
    convolution("convolution in 16 bits", (8, 32, 1), 32, wide=False),
    convolution("convolution in blocks", (8, 128, 2), 32, stride=2),
    convolution("convolution by width", (4, 64, 1), 128),
    convolution("convolution to bfp8", (8, 32, 1), 32, result="bfp_bf8"),
    convolution("convolution to bfp8 in 16 bits", (8, 32, 1), 32, result="bfp_bf8", wide=False),
    convolution("convolution of patches", (8, 32, 1), 32, 2, stride=2, padding=0),
    *(function(name, dtype) for name in FUNCTIONS for dtype in ("bf16", "f32")),
    *(pair(name, "bf16") for name in ("add", "subtract", "multiply")),
    pair("add", "bfp_bf8"),
    pair("atan2", "bf16"),
    pair("atan2", "f32"),
    pair("divide", "bf16"),
    pair("divide", "f32"),
    in_shards("rms_norm of shards", "rms_norm", 32, (1, 3), 288),
    in_shards("rms_norm of shards of different widths", "rms_norm", 96, (1, 4), 224),
    in_shards("layer_norm of blocks", "layer_norm", 128, (2, 2), 128, "f32"),
    in_shards("layer_norm of two rows of cores", "layer_norm", 32, (1, 26), 832),
    *norms_and_sums("bf16"),
    *norms_and_sums("f32"),
    *(running("prod", dtype, dim, dim_arg=dim, keep_dim=True) for dtype in ("bf16", "f32") for dim in (0, 1)),
    *(running(op, dtype, dim, dim=dim) for op in ("cumsum", "cumprod") for dtype in ("bf16", "f32") for dim in (0, 1)),
    scaled_product("f32", 0.7),
    function("hardswish", "bf16"),
    function("hardswish", "f32"),
    function("deg2rad", "bf16"),
    function("rad2deg", "bf16"),
    divided_by_number("f32"),
    divided_by_number("bf16"),
    *quotients_and_multiply_adds("f32"),
    *quotients_and_multiply_adds("bf16"),
    scaled_product("bf16", 0.7),
    *(
        softmax_of_columns(dtype, dim, **config)
        for dtype in ("bf16", "f32")
        for dim in (0, 1)
        for config in ({}, EXACT)
    ),
)

NAMES = {
    f"ttnn.{name}": f"ttnn.transformer.{name}"
    for name in ("scaled_dot_product_attention", "scaled_dot_product_attention_decode")
} | {"ttnn.modulo": "ttnn.remainder", "ttnn.remainder": "ttnn.fmod"}
"""Functions of TT-NN whose names differ from those of our ops."""
RENAMED = {
    "attention_mask": "attn_mask",
    "dim_arg": "dim",
    "dimension": "dim",
    "keep_dim": "keepdim",
    "numericStable": "numeric_stable",
}
"""Names of TT-NN's keywords by ours."""


def compute_config(ttnn: Any, config: dict[str, Any]) -> Any:
    """Returns TT-NN's compute config."""
    fidelities = {"lofi": "LoFi", "hifi2": "HiFi2", "hifi3": "HiFi3", "hifi4": "HiFi4"}
    fidelity = getattr(ttnn.MathFidelity, fidelities[config["math_fidelity"]])
    options = {"math_approx_mode": False, "packer_l1_acc": True, **config, "math_fidelity": fidelity}
    return ttnn.WormholeComputeKernelConfig(**options)


def convolved(ttnn: Any, case: Case, tensors: dict[str, Any], device: Any) -> Any:
    """Returns a convolution, whose weights and bias TT-NN prepares first."""
    window = dict(case.attributes)
    config, compute = dict(window.pop("conv2d_config")), compute_config(ttnn, window.pop("compute_config"))
    if "activation" in config:
        config["activation"] = ttnn.UnaryWithParam(getattr(ttnn.UnaryOpType, config["activation"].upper()))
    dtype, source = (getattr(ttnn, LABELS[label]) for label in (case.result, case.operands["input"][1]))
    options = {"conv_config": ttnn.Conv2dConfig(**{**config, "weights_dtype": source}), "compute_config": compute}
    keywords = {**window, "device": device, **options}
    first = tensors["input"]
    of_input = {"input_dtype": source, "output_dtype": dtype, "input_layout": first.layout}
    preparing = {**keywords, **of_input, "input_memory_config": ttnn.DRAM_MEMORY_CONFIG}
    weight = ttnn.prepare_conv_weights(
        weight_tensor=tensors["weight"], weights_format="OIHW", has_bias="bias" in tensors, **preparing
    )
    bias = ttnn.prepare_conv_bias(bias_tensor=tensors["bias"], **preparing) if "bias" in tensors else None
    return ttnn.conv2d(input_tensor=first, weight_tensor=weight, bias_tensor=bias, dtype=dtype, **keywords)


def computed(case: Case, device: Any) -> numpy.ndarray:
    """Returns the result of TT-NN as float32."""
    ttnn: Any = importlib.import_module("ttnn")

    def placed(name: str, array: numpy.ndarray) -> Any:
        dtype = getattr(ttnn, LABELS[case.operands[name][1]])
        stays = case.op == "ttnn.conv2d" and name != "input"
        layout = ttnn.ROW_MAJOR_LAYOUT if case.rows or stays or array.ndim == 1 else ttnn.TILE_LAYOUT
        host = ttnn.Tensor(numpy.ascontiguousarray(array), data_type=dtype, layout=layout)
        return host if stays else ttnn.to_device(host, device, memory_config=memory_config(ttnn, case, name))

    tensors = {name: placed(name, array) for name, array in case.arrays().items()}
    result = convolved(ttnn, case, tensors, device) if case.op == "ttnn.conv2d" else called(ttnn, case, tensors)
    host = ttnn.from_device(ttnn.to_memory_config(result, ttnn.DRAM_MEMORY_CONFIG) if case.shards else result)
    if host.dtype is not ttnn.float32:
        host = ttnn.to_dtype(host, ttnn.float32)
    return numpy.array(numpy.from_dlpack(ttnn.to_layout(host, ttnn.ROW_MAJOR_LAYOUT).to_numpy()))


def called(ttnn: Any, case: Case, tensors: dict[str, Any]) -> Any:
    """Returns the result of the function of TT-NN that a case names."""
    keywords = dict(case.attributes)
    if "compute_config" in keywords:
        keywords["compute_kernel_config"] = compute_config(ttnn, keywords.pop("compute_config"))
    functions = keywords.get("input_tensor_a_activations", ())
    if functions:
        kinds = [getattr(ttnn.UnaryOpType, each["op_type"].upper()) for each in functions]
        keywords["input_tensor_a_activations"] = [
            ttnn.UnaryWithParam(kind, *each["params"]) for kind, each in zip(kinds, functions, strict=True)
        ]
    function: Any = ttnn
    for part in NAMES.get(case.op, case.op).split(".")[1:]:
        function = getattr(function, part)
    positional = [
        tensors.pop(name)
        for name in ("a", "b", "input", "first", "second", "lhs", "rhs", "query", "key", "value")
        if name in tensors
    ]
    named = {RENAMED.get(name, name): tensor for name, tensor in tensors.items()}
    keywords = {RENAMED.get(name, name): value for name, value in keywords.items()}
    return function(*positional, **named, **keywords, **_typed(case, ttnn))


def memory_config(ttnn: Any, case: Case, operand: str) -> Any:
    """Returns where an operand lies; the result lies where the first does."""
    if case.shards and operand == "input":
        (down, across), (rows, columns) = case.shards, case.operands["input"][0]
        kind = ttnn.TensorMemoryLayout.BLOCK_SHARDED if down > 1 else ttnn.TensorMemoryLayout.WIDTH_SHARDED
        block = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(across - 1, down - 1))})
        cores = block if down > 1 else ttnn.num_cores_to_corerangeset(across, ttnn.CoreCoord(13, 10), True)
        shape = (-(-rows // down // 32) * 32, -(-columns // across // 32) * 32)
        spec = ttnn.ShardSpec(cores, shape, ttnn.ShardOrientation.ROW_MAJOR)
        return ttnn.MemoryConfig(kind, ttnn.BufferType.L1, spec)
    return ttnn.L1_MEMORY_CONFIG if case.in_l1 else ttnn.DRAM_MEMORY_CONFIG


def _typed(case: Case, ttnn: Any) -> dict[str, Any]:
    """Returns the keywords of the result's type and place, for ops that take them."""
    memory = {"memory_config": memory_config(ttnn, case, "input")}
    if case.op == "ttnn.linear":
        return {"dtype": getattr(ttnn, LABELS[case.result]), **memory}
    return memory if case.shards else {}


def main() -> None:
    path, *names = sys.argv[1:]
    ttnn: Any = importlib.import_module("ttnn")

    results = dict(numpy.load(path)) if names and os.path.exists(path) else {}
    device = ttnn.open_device(device_id=0)
    for case in CASES:
        if not names or case.name in names:
            results[case.name] = computed(case, device)
            print(json.dumps({"case": case.name, "shape": results[case.name].shape}), flush=True)
    numpy.savez_compressed(path, **results)


if __name__ == "__main__":
    main()
