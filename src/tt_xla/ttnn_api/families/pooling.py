"""Pooling over height and width of [1, 1, N * H * W, C]."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.ir import shapes
from tt_xla.ir.layout import TILE, round_up
from tt_xla.ttnn_api import conditions
from tt_xla.ttnn_api.enums import BufferType, DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.window_inputs import check_pool, of_first_rows
from tt_xla.ttnn_api.families.window_sizes import borders
from tt_xla.ttnn_api.families.window_slices import check_pooling
from tt_xla.ttnn_api.geometry import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG, MemoryConfig
from tt_xla.ttnn_api.layouts import Type
from tt_xla.ttnn_api.operation import OPERATIONS, operation, unrefused
from tt_xla.ttnn_api.plan import Calls, Operand, Step

_FEWER = "Pool2D: the input has fewer rows than its images"
"""TT-NN reads memory after such an input."""


_SIZES = {"batch_size": "batch_size", "input_height": "input_h", "input_width": "input_w", "channels": "channels"}
"""Parameter of a pooling by the attribute with the size."""

_SHARED = (
    *_SIZES.values(),
    *("kernel_size", "stride", "padding", "ceil_mode", "dtype", "output_layout"),
    *("memory_config", "applied_shard_scheme", "dram_slice_config"),
)
"""Parameters that both poolings have."""


def _attributes(values: Mapping[str, Any], dilation: Sequence[int]) -> dict[str, Any]:
    """Returns the attributes that the ops of both poolings have."""
    sizes = {name: values[parameter] for name, parameter in _SIZES.items()}
    window = {name: list(values[name]) for name in ("kernel_size", "stride", "padding")}
    return sizes | window | {"dilation": list(dilation), "ceil_mode": values["ceil_mode"]}


@operation("ttnn.max_pool2d", also=_SHARED)
@of_first_rows("ttnn.max_pool2d", "input_h", "input_w", "channels", _FEWER)
def max_pool2d(
    input_tensor: Operand, dilation: Sequence[int], return_indices: bool, config_tensor_in_dram: bool, **values: Any
) -> Step:
    """Computes the greatest element of each window."""
    attributes = _attributes(values, dilation)
    op = "ttnn.max_pool2d_with_indices" if return_indices else "ttnn.max_pool2d"
    result, cores = _result(op, input_tensor, attributes, values)
    results = [result, result.with_(dtype=DataType.UINT16)] if return_indices else [result]
    banks = 0 if config_tensor_in_dram else cores
    return Step(op, {"input": input_tensor}, results, attributes, table_banks=banks)


@operation("ttnn.avg_pool2d", also=_SHARED)
@of_first_rows("ttnn.avg_pool2d", "input_h", "input_w", "channels", _FEWER)
def avg_pool2d(
    input_tensor: Operand,
    count_include_pad: bool,
    divisor_override: int | None,
    config_tensor_in_dram: bool,
    **values: Any,
) -> Step:
    """Computes the mean of each window."""
    attributes = _attributes(values, (1, 1)) | {"count_include_pad": count_include_pad}
    if divisor_override is not None:
        attributes["divisor_override"] = divisor_override
    op, operands = "ttnn.avg_pool2d", {"input": input_tensor}
    if values["applied_shard_scheme"] is None and _is_global(input_tensor, attributes):
        result = _of_global(input_tensor, attributes, values["memory_config"], values["output_layout"])
        return Step(op, operands, [result], attributes)
    result, cores = _result(op, input_tensor, attributes, values)
    return Step(op, operands, [result], attributes, table_banks=0 if config_tensor_in_dram else cores)


def _is_global(source: Operand, attributes: Mapping[str, Any]) -> bool:
    """Returns whether an average pooling is a sum over whole images (``is_global_pool``).

    It is for a window as large as the image, of 16-bit numbers whose rows divide among the images, or of block floats
    if an image fills whole tiles.
    """
    height, width = attributes["input_height"], attributes["input_width"]
    if attributes["kernel_size"] != [height, width] or any(attributes["padding"]) or source.dtype is DataType.FLOAT32:
        return False
    tiled, rows = source.layout is Layout.TILE, math.prod(source.shape[:-2])
    padded = rows * (round_up(source.shape[-2], TILE) if tiled else source.shape[-2])
    whole = height * width % TILE == 0 or not source.dtype.element.is_block_float
    return source.type.on_device and padded % attributes["batch_size"] == 0 and whole


def _of_global(source: Operand, attributes: Mapping[str, Any], memory: MemoryConfig | None, layout: Layout) -> Type:
    """Returns the type of a sum over whole images, which lies in no shards."""
    wanted = memory or source.memory
    if wanted.is_sharded() or source.memory.is_sharded():
        wanted = DRAM_MEMORY_CONFIG if wanted.buffer_type is BufferType.DRAM else L1_MEMORY_CONFIG
    rows = layout is Layout.ROW_MAJOR and source.dtype.element.is_block_float
    shape = (1, 1, attributes["batch_size"], attributes["channels"])
    dtype = DataType.BFLOAT16 if rows else source.dtype
    return source.type.with_(shape=shape, dtype=dtype, layout=layout, memory=wanted)


def _result(op: str, source: Operand, attributes: dict[str, Any], values: Mapping[str, Any]) -> tuple[Type, int]:
    """Returns the type of a pooling's result, and the number of cores that compute it.

    Args:
        op: its op.
        source: the input.
        attributes: attributes of the op.
        values: arguments of the call, among them the data type, layout and memory of the result.
    """
    dtype, layout, memory = (values[each] for each in ("dtype", "output_layout", "memory_config"))
    scheme, slices = values["applied_shard_scheme"], values["dram_slice_config"]
    check_pool(op.removesuffix("_with_indices"), source, attributes)
    top, bottom, left, right = borders(attributes["padding"])
    kernel, stride, dilation, ceil = (attributes[name] for name in ("kernel_size", "stride", "dilation", "ceil_mode"))
    height = shapes.window(attributes["input_height"], kernel[0], stride[0], top, bottom, dilation[0], ceil)
    width = shapes.window(attributes["input_width"], kernel[1], stride[1], left, right, dilation[1], ceil)
    shape = (1, 1, attributes["batch_size"] * height * width, attributes["channels"])
    if source.device is None:
        raise TTFatal(f"{op}: the input is on the host", hint="Move it to the device with ttnn.to_device.")
    in_dram = source.memory.buffer_type is BufferType.DRAM
    images, window = (attributes["input_height"], attributes["input_width"]), (kernel, stride, dilation)
    if op != "ttnn.max_pool2d_with_indices" and check_pooling(
        slices, in_dram, images, (height, width), (top, bottom, left, right), window, layout
    ):
        sliced = (attributes["batch_size"], height, width, attributes["channels"])
        made = source.type.with_(shape=sliced, dtype=dtype, layout=layout, memory=DRAM_MEMORY_CONFIG)
        return made, source.device.target.cores
    from tt_xla.ttnn_api.families.window_memory import pooling_memory  # imports the cost model

    chosen = pooling_memory(op, source, attributes, (height, width), (dtype, layout), scheme, source.device.target)
    cores = 0 if chosen.shard_spec is None else chosen.shard_spec.num_cores()
    return source.type.with_(shape=shape, dtype=dtype, layout=layout, memory=memory or chosen), cores


def _of_images(options: Mapping[str, Any], shape: Sequence[int], tensors: Sequence[Any]) -> Any:
    """Computes the mean of each channel of images in four dimensions."""
    with unrefused():
        images = OPERATIONS["ttnn.reshape"](tensors[0], list(shape))
        return OPERATIONS["ttnn.global_avg_pool2d"](images, **options)


@operation("ttnn.global_avg_pool2d")
def global_avg_pool2d(
    input_tensor: Operand, memory_config: MemoryConfig | None, dtype: DataType | None
) -> Step | Calls:
    """Computes the mean of each channel of [N, H, W, C], [H, W, C] or [H, W]."""
    if input_tensor.rank not in (2, 3, 4):
        raise TTFatal(
            f"global_avg_pool2d expects rank 2, 3, or 4 input, got rank {input_tensor.rank}",
            hint="Make the images [N, H, W, C] with ttnn.reshape.",
        )
    conditions.check_on_device("Expected input tensor to be on device", input_tensor)
    if input_tensor.rank < 4:
        shape = (1, *input_tensor.shape, *(1,) * (3 - input_tensor.rank))
        return Calls(functools.partial(_of_images, {"memory_config": memory_config, "dtype": dtype}, shape))
    batch, _height, _width, channels = input_tensor.shape
    memory = memory_config or (L1_MEMORY_CONFIG if input_tensor.memory.is_sharded() else None)
    result = input_tensor.type.with_(shape=(batch, 1, 1, channels), dtype=dtype, layout=Layout.TILE, memory=memory)
    return Step("ttnn.global_avg_pool2d", {"input": input_tensor}, [result])
