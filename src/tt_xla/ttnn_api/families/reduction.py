"""Reductions, running sums, and positions of maxima."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.ttnn_api import chosen_shards, conditions, shards
from tt_xla.ttnn_api.configs import Config, compute_config
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.pointwise import required
from tt_xla.ttnn_api.geometry import TILE_SIZE, MemoryConfig
from tt_xla.ttnn_api.operation import Rule, define, operation
from tt_xla.ttnn_api.plan import Operand, Step


def reduced(source: Operand, dims: Sequence[int], *, keep: bool) -> list[int]:
    """Returns the shape of a tensor that is reduced along dimensions."""
    if keep:
        return [1 if index in dims else size for index, size in enumerate(source.shape)]
    return [size for index, size in enumerate(source.shape) if index not in dims]


def dims_of(source: Operand, dim: int | Sequence[int] | None, name: str) -> list[int]:
    """Returns dimensions counted from the front; all of them for None or an empty list.

    Raises:
        TTFatal: the tensor has no such dimension.
    """
    dims = [dim] if isinstance(dim, int) else list(dim or range(source.rank))
    words = f"{name}: Unsupported dim {{dim}}: expected it in the range [{{low}}, {{high}}]"
    return sorted(source.dim(each, words) for each in dims)


def _layout(name: str, source: Operand, dims: Sequence[int]) -> Layout:
    """Returns the layout of a result: tiles, unless TT-NN reduces rows where they lie."""
    last = [source.rank - 2, source.rank - 1]
    keeps_rows = (name == "mean" and list(dims) != last) or (name == "sum" and len(dims) == 1 and dims[0] in last)
    return source.layout if keeps_rows else Layout.TILE


def check_fill(source: Operand) -> None:
    """Refuses matrices in shards whose padding TT-NN's kernel would fill.

    Raises:
        TTFatal: the tensor has several, and their last two dimensions do not fill tiles.
    """
    if source.layout is not Layout.TILE or not source.type.on_device or source.memory.shard_spec is None:
        return
    count = math.prod(source.shape[:-2])
    if count > 1 and any(size % TILE_SIZE for size in source.shape[-2:]):
        raise TTFatal(
            f"FillPadL1ShardedProgramFactory: N_slices > 1 not yet supported (got {count})",
            hint="Move the tensor with ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG).",
        )


def memory_of(name: str, source: Operand, dims: Sequence[int], *, keep: bool) -> MemoryConfig:
    """Returns the memory of a reduced tensor; the rows and columns of a sharded one go to the same cores.

    TT-NN adds up outer dimensions first, where they are. For the other functions it exchanges each of them with the
    second to last dimension before it reduces that. Several dimensions of these functions leave the shards as they are.

    Raises:
        TTFatal: the shards do not fit a tensor on the way.
    """
    memory, layout = source.memory, source.layout
    if memory.shard_spec is None or layout is not Layout.TILE:
        return memory
    shape, inner = list(source.shape), source.rank - 2
    at_once = name in ("std", "var")
    unchanged = name != "sum" and not at_once and len(dims) > 1
    whole = at_once and len(dims) == source.rank
    for dim in sorted(dims, reverse=unchanged):
        if dim < inner and name != "sum" and not whole and (shape[dim] > 1 or not at_once):
            exchanged = [*shape]
            exchanged[dim], exchanged[-2] = shape[-2], shape[dim]
            shards.check(exchanged, memory)
        shape[dim] = 1
        if unchanged or (dim < inner and not whole):
            shards.check(shape, memory)
    if any(dim >= inner for dim in dims):
        memory = shards.of_one_shard(memory if unchanged else shards.spread(memory, shape, layout), shape, layout)
    return memory if keep else shards.reshaped(memory, shape, reduced(source, dims, keep=False), layout)


def scaled_by(scalar: float) -> dict[str, Any]:
    """Returns the attribute of a reduction for what it multiplies its elements by; none for 1."""
    return {} if scalar == 1 else {"scalar": float(scalar)}


def _reduction(name: str) -> Rule:
    def rule(
        input_tensor: Operand,
        dim: int | Sequence[int] | None,
        keepdim: bool,
        memory_config: MemoryConfig | None,
        compute_kernel_config: Config | None,
        scalar: float,
    ) -> Step:
        source = required(input_tensor, f"ttnn.{name}")
        dims = dims_of(source, dim, f"ttnn.{name}")
        check_fill(source)
        memory = chosen_shards.inherited(memory_config, source.memory) or memory_of(name, source, dims, keep=keepdim)
        layout = _layout(name, source, dims)
        result = source.type.with_(shape=reduced(source, dims, keep=keepdim), memory=memory, layout=layout)
        attributes: dict[str, Any] = {"keep_dim": keepdim, "dim_arg": dims}
        attributes |= {"compute_config": compute_config(compute_kernel_config)} | scaled_by(scalar)
        return Step(f"ttnn.{name}", {"input": source}, [result], attributes)

    rule.__doc__ = f"Reduces along dimensions by {name}."
    return rule


for _name in ("sum", "mean", "max", "min"):
    define(f"ttnn.{_name}", _reduction(_name))


@operation("ttnn.prod")
def prod(input_tensor: Operand, dim: int | None, keepdim: bool, memory_config: MemoryConfig | None) -> Step:
    """Multiplies elements along a dimension, or all of them."""
    dims = dims_of(input_tensor, dim, "ttnn.prod")
    check_fill(input_tensor)
    if dim is not None:
        words = f"Memory layout must be INTERLEAVED, got: {input_tensor.memory.memory_layout}"
        conditions.check_interleaved(words, input_tensor)
    shape, layout = reduced(input_tensor, dims, keep=keepdim), _layout("prod", input_tensor, dims)
    result = input_tensor.type.with_(shape=shape, memory=memory_config, layout=layout)
    return Step("ttnn.prod", {"input": input_tensor}, [result], {"keep_dim": keepdim, "dim_arg": dims})


@operation("ttnn.argmax")
def argmax(
    input_tensor: Operand,
    dim: int | None,
    keepdim: bool,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
) -> Step:
    """Returns the position of the first greatest element."""
    dims = dims_of(input_tensor, dim, "ttnn.argmax")
    conditions.check_on_device("Input tensor must be on device", input_tensor)
    if dim is None and input_tensor.layout is Layout.TILE:
        raise TTFatal(
            "For inputs with TILE layout, dim parameter must be specified!",
            hint="Pass dim, or convert the tensor with ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT).",
        )
    words = f"Only INTERLEAVED memory layout is supported for inputs, got {input_tensor.memory.memory_layout}"
    conditions.check_interleaved(words, input_tensor)
    shape = reduced(input_tensor, dims, keep=keepdim)
    result = input_tensor.type.with_(shape=shape, dtype=DataType.UINT32, layout=Layout.ROW_MAJOR, memory=memory_config)
    attributes = {"dim": None if dim is None else dims[0], "keep_dim": keepdim}
    return Step("ttnn.argmax", {"input": input_tensor}, [result], attributes, into=output_tensor)


_RUNNING = ("dim", "dtype", "reverse_order", "memory_config", "out")


def _running(op: str, source: Operand, values: Mapping[str, Any]) -> Step:
    """Returns the step of a running sum or product."""
    axis = "The requested accumulation axis is {dim}, while the input tensor has rank {rank}."
    attributes = {"dim": source.dim(values["dim"], axis) if source.rank else 0}
    if values["reverse_order"]:
        attributes["reverse_order"] = True
    out = values["out"]
    _check_running(source, out)
    result = source.type.with_(dtype=values["dtype"], memory=values["memory_config"]) if out is None else out.type
    return Step(op, {"input": source}, [result], attributes, into=out)


def _check_running(source: Operand, out: Operand | None) -> None:
    """Refuses shards, and tensors that cannot receive the result."""
    if source.rank and all(source.shape):
        words = "ttnn accumulation operations (cumprod, cumsum) do not support sharded input tensors."
        conditions.check_interleaved(words, source)
    if out is None:
        return
    conditions.check_on_device("Preallocated output tensor must be on device", out)
    if out.shape != source.shape:
        raise TTFatal(
            f"Shape mismatch: input tensor shape {source.shape} does not match output tensor shape {out.shape}.",
            hint="Make the tensor that receives the result with this shape.",
        )


@operation("ttnn.cumsum", also=_RUNNING)
def cumsum(input: Operand, **values: Any) -> Step:
    """Adds up elements along a dimension."""
    return _running("ttnn.cumsum", input, values)


@operation("ttnn.cumprod", also=_RUNNING)
def cumprod(input_tensor: Operand, **values: Any) -> Step:
    """Multiplies up elements along a dimension."""
    return _running("ttnn.cumprod", input_tensor, values)


@operation("ttnn.ema")
def ema(input_tensor: Operand, alpha: float, out: Operand | None, memory_config: MemoryConfig | None) -> Step:
    """Computes the exponential moving average of [1, B, C, T] along the last dimension."""
    if input_tensor.rank != 4:
        raise TTFatal(
            f"EMA input must be 4D [1, B, C, T], got rank {input_tensor.rank}", hint="Reshape it with ttnn.reshape."
        )
    if input_tensor.shape[0] != 1:
        raise TTFatal(
            f"EMA expects leading dimension to be 1, got {input_tensor.shape[0]}",
            hint="Move it into the next dimension with ttnn.reshape.",
        )
    result = input_tensor.type.with_(memory=memory_config) if out is None else out.type
    return Step("ttnn.ema", {"input_tensor": input_tensor}, [result], {"alpha": alpha}, into=out)
