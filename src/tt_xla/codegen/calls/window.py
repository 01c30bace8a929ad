"""Calls for convolution and pooling on tensors of shape [1, 1, N * H * W, C]."""

from __future__ import annotations

from typing import Any

from tt_xla.codegen.calls.elementwise import activation
from tt_xla.codegen.calls.registry import Op, calls, without_none
from tt_xla.codegen.expressions import Call, Device, Expression, Name
from tt_xla.codegen.layouts import core_range_set, dtype, memory_config_of

_SIZES = ("in_channels", "out_channels", "batch_size", "input_height", "input_width")
_WINDOW = ("kernel_size", "stride", "padding", "dilation", "groups")


def conv2d_config(fields: dict[str, Any] | None) -> Expression:
    """Returns the constructor of a ``#ttnn.conv2d_config``; TT-NN chooses absent fields."""
    if not fields:
        return None
    named: dict[str, Expression] = dict(fields)
    if "weights_dtype" in fields:
        named["weights_dtype"] = dtype(fields["weights_dtype"])
    if "activation" in fields:
        named["activation"] = activation(fields["activation"]["op_type"])
    if "shard_layout" in fields:
        named["shard_layout"] = Name(f"ttnn.TensorMemoryLayout.{fields['shard_layout'].upper()}")
    if "core_grid" in fields:
        named["core_grid"] = core_range_set(fields["core_grid"])
    return Call("ttnn.Conv2dConfig", (), named)


def _geometry(op: Op) -> dict[str, Expression]:
    extra = ("output_padding",) if op.get("output_padding") else ()
    return {name: op.get(name) for name in (*_SIZES, *_WINDOW, *extra)}


def _configs(op: Op) -> dict[str, Expression]:
    return without_none(conv_config=conv2d_config(op.get("conv2d_config")), compute_config=op.compute)


@calls("ttnn.conv2d", "ttnn.conv_transpose2d")
def conv2d(op: Op) -> Call:
    tensors: dict[str, Expression] = {"input_tensor": op["input"], "weight_tensor": op["weight"], "device": Device()}
    rest = without_none(dtype=op.dtype, bias_tensor=op["bias"], memory_config=op.memory)
    return Call(op.instruction.op, (), tensors | _geometry(op) | rest | _configs(op))


@calls(*(f"ttnn.prepare_{kind}_{what}" for kind in ("conv2d", "conv_transpose2d") for what in ("weights", "bias")))
def prepare(op: Op) -> Call:
    """Returns the preparation of weights or a bias, by default for an activation in DRAM."""
    is_bias = op.instruction.op.endswith("bias")
    names = ("bias_tensor",) if is_bias else ("weight_tensor", "weights_format", "has_bias")
    keywords = {name: op.argument(name) for name in names}
    tile = op.get("input_tensor_layout") == "tile"
    keywords |= {
        "input_memory_config": memory_config_of(op.get("input_memory_config")),
        "input_layout": Name("ttnn.TILE_LAYOUT" if tile else "ttnn.ROW_MAJOR_LAYOUT"),
        "device": Device(),
        "input_dtype": dtype(op.get("input_dtype")),
    }
    output = op.get("output_dtype")
    keywords |= _geometry(op) | without_none(output_dtype=dtype(output) if output else None) | _configs(op)
    return Call(op.instruction.op.replace("prepare_conv2d", "prepare_conv"), (), keywords)


@calls("ttnn.max_pool2d", "ttnn.max_pool2d_with_indices", "ttnn.avg_pool2d")
def pool2d(op: Op) -> Call:
    average = op.instruction.op == "ttnn.avg_pool2d"
    sizes: dict[str, Expression] = {
        "batch_size": op.get("batch_size"),
        "input_h": op.get("input_height"),
        "input_w": op.get("input_width"),
        "channels": op.get("channels"),
    }
    names = ("kernel_size", "stride", "padding") if average else ("kernel_size", "stride", "padding", "dilation")
    window: dict[str, Expression] = {name: op.get(name) for name in (*names, "ceil_mode")}
    if average:
        window["count_include_pad"] = op.get("count_include_pad")
    if op.instruction.op == "ttnn.max_pool2d_with_indices":
        window["return_indices"] = True
    rest = without_none(memory_config=op.memory, dtype=op.dtype, output_layout=op.layout)
    return Call("ttnn.avg_pool2d" if average else "ttnn.max_pool2d", (op["input"],), sizes | window | rest)
