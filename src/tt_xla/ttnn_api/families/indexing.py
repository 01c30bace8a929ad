"""Functions that read and write elements by index, and sorts."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.ir.op_table import SCATTER_REDUCTIONS
from tt_xla.ttnn_api import conditions
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.layouts import Type
from tt_xla.ttnn_api.operation import OPERATIONS, operation, unrefused
from tt_xla.ttnn_api.plan import Calls, Operand, Step

_REDUCTIONS = {argument: reduction for reduction, argument in SCATTER_REDUCTIONS.items()}
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
    conditions.check_interleaved("Embedding does not currently support sharded inputs", input_tensor)
    leading = weight.shape.to_rank(max(4, weight.rank))[:2]
    if any(size != 1 for size in leading):
        raise TTFatal(
            f"First two dimensions for the weights must be 1 but got {leading[0]} and {leading[1]}",
            hint=f"The weights have shape {weight.shape}; make them [1, 1, rows, columns] with ttnn.reshape.",
        )
    shape = (*input_tensor.shape, weight.shape[-1])
    made = layout or weight.layout
    own = DataType.BFLOAT16 if weight.dtype.element.is_block_float else None  # TT-NN turns the table into rows
    dtype = dtype or own if made is Layout.TILE else own
    memory = memory_config or input_tensor.memory
    result = weight.type.with_(shape=shape, layout=made, dtype=dtype, memory=memory)
    if output_tensor is not None:
        result = output_tensor.type
    return Step("ttnn.embedding", {"input": input_tensor, "weight": weight}, [result], into=output_tensor)


@operation("ttnn.embedding_bw")
def embedding_bw(
    input_tensor: Operand,
    weight_tensor: Operand,
    output_gradient_tensor: Operand,
    dtype: DataType | None,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
) -> Step:
    """Adds up the gradients of each row of an embedding table."""
    shape = (1, 1, *weight_tensor.shape[-2:])
    made = output_gradient_tensor.type.with_(shape=shape, dtype=dtype, memory=memory_config)
    operands = {"input": input_tensor, "weight": weight_tensor, "in_gradient": output_gradient_tensor}
    result = made if output_tensor is None else output_tensor.type
    return Step("ttnn.embedding_bw", operands, [result], into=output_tensor)


_ON_HOST = "Expected Tensor with DeviceStorage, got StorageType::HOST"
_NO_DIMENSION = ": dim {dim} is out of range for tensor rank {rank}"


@operation("ttnn.gather")
def gather(input: Operand, dim: int, index: Operand, memory_config: MemoryConfig | None, out: Operand | None) -> Step:
    """Takes elements along a dimension at the positions of an index."""
    conditions.check_on_device(_ON_HOST, input, index)
    axis = input.dim(dim, "gather" + _NO_DIMENSION)
    is_last = axis == input.rank - 1  # along another dimension TT-NN turns both tensors
    memory = memory_config or (input if is_last or index.memory.is_sharded() else index).memory
    result = input.type.with_(shape=index.shape, memory=memory) if out is None else out.type
    return Step("ttnn.gather", {"input": input, "index": index}, [result], {"dim": axis}, into=out)


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
    conditions.check_on_device(_ON_HOST, input, index, src)
    axis = input.dim(dim, "scatter" + _NO_DIMENSION)
    if input.dtype is not src.dtype:
        raise TTFatal("input_dtype differs from src_dtype", hint="Convert one of them with ttnn.typecast.")
    if input.dtype is DataType.FLOAT32 and input.layout is Layout.TILE:
        raise TTFatal(
            "Scatter doesn't work for fp32 tiled tensors yet (see to_layout issue #) - input tensor is "
            "DataType::FLOAT32 Layout::TILE.",
            hint="Convert it with ttnn.to_layout to rows, or with ttnn.typecast.",
        )
    if reduce not in _REDUCTIONS:
        raise TTFatal(f"ttnn.scatter: unknown reduction {reduce!r}", hint=f"TT-NN has {[*_REDUCTIONS]}.")
    attributes = {"dim": axis, "scatter_reduce_type": _REDUCTIONS[reduce]}
    operands = {"input": input, "index": index, "source": src}
    dtype = DataType.BFLOAT16 if input.dtype.element.is_block_float else None
    return Step("ttnn.scatter", operands, [input.type.with_(memory=memory_config, dtype=dtype)], attributes)


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
    words = f"Sort dim {{dim}} is out of range for rank-{input_tensor.rank} tensor"
    axis = conditions.place_of(dim, max(input_tensor.rank, 1), words)
    attributes = {"dim": axis, "descending": descending, "stable": stable}
    values = input_tensor.type.with_(memory=memory_config)
    positions = _positions(input_tensor, dim, values.shape, memory_config)
    if input_tensor.dtype is DataType.UINT16:  # the kernel moves positions with numbers of the same accumulator
        positions = positions.with_(dtype=DataType.UINT32)
    results = [values, positions]
    if out is not None:
        _check_sorted(input_tensor, *out)
        results = [each.type for each in out]
    return Step("ttnn.sort", {"input": input_tensor}, results, attributes, into=out)


def _check_sorted(source: Operand, values: Operand, positions: Operand) -> None:
    """Refuses tensors that cannot receive sorted elements and their positions."""
    if values.dtype is not source.dtype:
        raise TTFatal(
            f"Preallocated sort values tensor dtype must match the input dtype DataType::{source.dtype.name}, "
            f"got DataType::{values.dtype.name}",
            hint="Make it with the data type of the tensor.",
        )
    if positions.dtype not in (DataType.UINT16, DataType.UINT32):
        raise TTFatal(
            f"Preallocated sort indices tensor dtype must be UINT16 or UINT32, got DataType::{positions.dtype.name}",
            hint="Make it in ttnn.uint16.",
        )
    if any(each.shape != source.shape for each in (values, positions)):
        raise TTFatal(
            f"Preallocated sort output tensors must match the input shape {source.shape}, got values shape "
            f"{values.shape}, indices shape {positions.shape}",
            hint="Make both with this shape.",
        )


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
    indices_tensor: Operand | None,
) -> Step | Calls:
    """Returns the greatest or least elements along a dimension, and their positions.

    With ``indices_tensor``, they are that tensor's elements at the positions.
    """
    words = "Dimension for topk is out of range (expected to be in range of [{low}, {high}])"
    axis = input_tensor.dim(dim, words)
    conditions.check_unsigned("ttnn.topk", "k", k)
    size = input_tensor.shape[dim]
    if k > size:
        raise TTFatal(
            f"K cannot be larger than the dimension size! K={k}, dimension size={size}",
            hint=f"The tensor has shape {input_tensor.shape}; ask for {size} elements at most.",
        )
    if indices_tensor is not None:
        options = {"largest": largest, "sorted": sorted, "stable": stable, "memory_config": memory_config}
        return Calls(functools.partial(_topk_of_indices, (k, dim), options, output_tensor))
    shape = [k if index == axis else size for index, size in enumerate(input_tensor.shape)]
    values = input_tensor.type.with_(shape=shape, memory=memory_config)
    attributes = {"k": k, "dim": axis, "largest": largest, "sorted": sorted, "stable": stable}
    positions = _positions(input_tensor, dim, shape, memory_config, _LARGEST_U16 + 1)
    results = [values, positions if k else values]  # TT-NN makes no positions of no elements
    if output_tensor is not None:
        results = [each.type for each in output_tensor]
    return Step("ttnn.topk", {"input_tensor": input_tensor}, results, attributes, into=output_tensor)


def _topk_of_indices(
    place: tuple[int, int], options: Mapping[str, Any], into: Sequence[Operand] | None, tensors: Sequence[Any]
) -> list[Any]:
    """Returns the greatest elements, and those of a second tensor at the same positions."""
    with unrefused():
        values, positions = OPERATIONS["ttnn.topk"](tensors[0], *place, **options)
        chosen = OPERATIONS["ttnn.gather"](tensors[1], place[1], positions)
        if into is None:
            return [values, chosen]
        made = zip((values, chosen), into, strict=True)
        return [OPERATIONS["ttnn.copy"](result, tensors[each.index]) for result, each in made]


def _positions(source: Operand, dim: int, shape: object, memory: MemoryConfig | None, most: int = _LARGEST_U16) -> Type:
    """Returns the type of positions along a dimension: 16 bits for ``most`` elements, of which sorts leave out one."""
    wide = bool(source.rank) and source.shape[source.dim(dim)] > most
    dtype = DataType.UINT32 if wide or source.dtype is DataType.FLOAT32 else DataType.UINT16
    return source.type.with_(shape=shape, dtype=dtype, memory=memory)
