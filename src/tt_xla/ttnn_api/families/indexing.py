"""Functions that read and write elements by index, and sorts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.layouts import Type
from tt_xla.ttnn_api.operation import operation
from tt_xla.ttnn_api.plan import Operand, Step

_REDUCTIONS = {None: "invalid", "add": "sum", "multiply": "prod", "amax": "max", "amin": "min"}
_LARGEST_U16 = 65535


@operation("ttnn.embedding")
def embedding(
    input_tensor: Operand,
    weight: Operand,
    layout: Layout | None,
    dtype: DataType | None,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
    padding_idx: int | None,
    embeddings_type: Any,
) -> Step:
    """Returns rows of a table. The type and the padding index say which rows a card keeps at hand."""
    if input_tensor.memory.is_sharded():
        raise TTFatal(
            "Embedding does not currently support sharded inputs",
            hint="Move the indices with ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG).",
        )
    shape = (*input_tensor.shape, weight.shape[-1])
    result = weight.type.with_(
        shape=shape, layout=layout or weight.layout, dtype=dtype, memory=memory_config or input_tensor.memory
    )
    if output_tensor is not None:
        result = output_tensor.type
    return Step("ttnn.embedding", {"input": input_tensor, "weight": weight}, [result], into=output_tensor)


def gradient_of_embedding(
    weight: Operand, gradient: Operand, dtype: DataType | None, memory: MemoryConfig | None
) -> Type:
    """Returns the type of the gradient of an embedding table."""
    shape = (1, 1, *weight.shape[-2:])
    return gradient.type.with_(shape=shape, dtype=dtype, memory=memory)


def _check_on_device(*operands: Operand) -> None:
    """Refuses tensors on the host."""
    if not all(operand.type.on_device for operand in operands):
        raise TTFatal(
            "Expected Tensor with DeviceStorage, got StorageType::HOST", hint="Move it there with ttnn.to_device."
        )


@operation("ttnn.gather")
def gather(input: Operand, dim: int, index: Operand, memory_config: MemoryConfig | None, out: Operand | None) -> Step:
    """Takes elements along a dimension at the positions of an index."""
    _check_on_device(input, index)
    result = input.type.with_(shape=index.shape, memory=memory_config) if out is None else out.type
    return Step("ttnn.gather", {"input": input, "index": index}, [result], {"dim": input.dim(dim)}, into=out)


@operation("ttnn.scatter")
def scatter(
    input: Operand,
    dim: int,
    index: Operand,
    src: Operand,
    memory_config: MemoryConfig | None,
    reduce: str | None,
) -> Step:
    """Writes elements along a dimension at the positions of an index."""
    _check_on_device(input, index, src)
    if reduce not in _REDUCTIONS:
        raise TTFatal(f"ttnn.scatter: unknown reduction {reduce!r}", hint=f"TT-NN has {[*_REDUCTIONS]}.")
    attributes = {"dim": input.dim(dim), "scatter_reduce_type": _REDUCTIONS[reduce]}
    operands = {"input": input, "index": index, "source": src}
    return Step("ttnn.scatter", operands, [input.type.with_(memory=memory_config)], attributes)


@operation("ttnn.sort")
def sort(
    input_tensor: Operand,
    dim: int,
    descending: bool,
    stable: bool,
    memory_config: MemoryConfig | None,
    out: Sequence[Operand] | None,
) -> Step:
    """Sorts along a dimension; returns elements and their positions."""
    attributes = {"dim": input_tensor.dim(dim), "descending": descending, "stable": stable}
    values = input_tensor.type.with_(memory=memory_config)
    results = [values, _positions(input_tensor, dim, values.shape, memory_config)]
    if out is not None:
        results = [each.type for each in out]
    return Step("ttnn.sort", {"input": input_tensor}, results, attributes, into=out)


@operation("ttnn.topk")
def topk(
    input_tensor: Operand,
    k: int,
    dim: int,
    largest: bool,
    sorted: bool,
    stable: bool,
    memory_config: MemoryConfig | None,
    output_tensor: Sequence[Operand] | None,
) -> Step:
    """Returns the greatest or least elements along a dimension, and their positions."""
    axis = input_tensor.dim(dim)
    shape = [k if index == axis else size for index, size in enumerate(input_tensor.shape)]
    values = input_tensor.type.with_(shape=shape, memory=memory_config)
    attributes = {"k": k, "dim": axis, "largest": largest, "sorted": sorted}
    results = [values, _positions(input_tensor, dim, shape, memory_config)]
    if output_tensor is not None:
        results = [each.type for each in output_tensor]
    return Step("ttnn.topk", {"input_tensor": input_tensor}, results, attributes, into=output_tensor)


def _positions(source: Operand, dim: int, shape: object, memory: MemoryConfig | None):
    """Returns the type of positions along a dimension: 16 bits where they suffice."""
    wide = source.shape[source.dim(dim)] > _LARGEST_U16 or source.dtype is DataType.FLOAT32
    dtype = DataType.UINT32 if wide else DataType.UINT16
    return source.type.with_(shape=shape, dtype=dtype, memory=memory)
