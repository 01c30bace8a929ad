"""Functions that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api import shards
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import DRAM_MEMORY_CONFIG, TILE_SIZE, MemoryConfig, Shape
from tt_xla.ttnn_api.layouts import volume
from tt_xla.ttnn_api.operation import OPERATIONS, operation
from tt_xla.ttnn_api.plan import Operand, Step


@operation("ttnn.reshape")
def reshape(
    input_tensor: Operand, shape: Sequence[int] | None, logical_shape: Sequence[int] | None, memory_config: Any
) -> Step:
    """Gives a tensor another shape with the same number of elements; -1 stands for what is left."""
    sizes = list(shape if shape is not None else logical_shape or ())
    if -1 in sizes:
        rest = volume([size for size in sizes if size != -1])
        sizes[sizes.index(-1)] = volume(input_tensor.shape) // max(rest, 1)
    if volume(sizes) != volume(input_tensor.shape):
        raise TTFatal(
            f"Invalid arguments to reshape: new volume {volume(sizes)} is not the old volume "
            f"{volume(input_tensor.shape)}",
            hint=f"The shape is {input_tensor.shape}, the new one {sizes}.",
        )
    memory = memory_config or shards.reshaped(input_tensor.memory, input_tensor.shape, sizes, input_tensor.layout)
    result = input_tensor.type.with_(shape=sizes, memory=memory)
    return Step("ttnn.reshape", {"input": input_tensor}, [result], {"shape": sizes})


@operation("ttnn.permute")
def permute(input_tensor: Operand, dims: Sequence[int], memory_config: MemoryConfig | None) -> Step:
    """Reorders dimensions."""
    order = [input_tensor.dim(dim) for dim in dims]
    if sorted(order) != list(range(input_tensor.rank)):
        raise TTFatal(
            f"The number of dimensions in the tensor input does not match the length of the desired ordering: "
            f"{list(dims)} for {input_tensor.shape}",
            hint="Name each dimension once.",
        )
    shape = [input_tensor.shape[dim] for dim in order]
    memory = memory_config or shards.spread(input_tensor.memory, shape, input_tensor.layout)
    return Step(
        "ttnn.permute",
        {"input": input_tensor},
        [input_tensor.type.with_(shape=shape, memory=memory)],
        {"permutation": order},
    )


@operation("ttnn.transpose")
def transpose(input_tensor: Operand, dim1: int, dim2: int, memory_config: MemoryConfig | None) -> Step:
    """Exchanges two dimensions."""
    order = list(range(input_tensor.rank))
    one, other = input_tensor.dim(dim1), input_tensor.dim(dim2)
    order[one], order[other] = other, one
    return permute(input_tensor, order, memory_config)


@operation("ttnn.repeat")
def repeat(input_tensor: Operand, repeat_dims: Sequence[int], memory_config: MemoryConfig | None) -> Step:
    """Repeats a tensor along its dimensions."""
    counts = list(repeat_dims)
    shape = input_tensor.shape.to_rank(max(len(counts), input_tensor.rank))
    counts = [1] * (len(shape) - len(counts)) + counts
    sizes = [size * count for size, count in zip(shape, counts, strict=True)]
    memory = memory_config or shards.spread(input_tensor.memory, sizes, input_tensor.layout)
    result = input_tensor.type.with_(shape=sizes, memory=memory)
    return Step("ttnn.repeat", {"input": input_tensor}, [result], {"repeat_dims": counts})


@operation("ttnn.expand")
def expand(input_tensor: Operand, output_shape: Sequence[int], memory_config: MemoryConfig | None) -> Step:
    """Repeats a tensor along its dimensions of size 1 up to a shape; -1 keeps a dimension."""
    shape = input_tensor.shape.to_rank(len(output_shape))
    counts = [1 if wanted in (-1, size) else wanted for size, wanted in zip(shape, output_shape, strict=True)]
    return repeat(input_tensor, counts, memory_config)


@operation("ttnn.repeat_interleave")
def repeat_interleave(input_tensor: Operand, repeats: int, dim: int, memory_config: MemoryConfig | None) -> Step:
    """Repeats each element along a dimension."""
    axis = input_tensor.dim(dim) if repeats > 1 else 0  # TT-NN returns the tensor before it looks at the dimension
    shape = list(input_tensor.shape)
    shape[axis] *= repeats
    result = input_tensor.type.with_(shape=shape, memory=memory_config)
    return Step("ttnn.repeat_interleave", {"input": input_tensor}, [result], {"repeats": repeats, "dim": axis})


@operation("ttnn.concat")
def concat(
    tensors: Sequence[Operand], dim: int, memory_config: MemoryConfig | None, output_tensor: Operand | None
) -> Step:
    """Joins tensors along a dimension."""
    if not tensors:
        raise TTFatal("ttnn.concat: expected a non-empty list of Tensors!", hint="Pass at least one tensor.")
    first = tensors[0]
    axis = first.dim(dim)
    for other in tensors[1:]:
        rests = [[size for index, size in enumerate(each.shape) if index != axis] for each in (first, other)]
        if rests[0] != rests[1] or other.rank != first.rank:
            raise TTFatal(
                f"All dimensions must be the same size except for the dimension along which the contenation is taking "
                f"place: {first.shape} and {other.shape} along {dim}",
                hint="Pad or slice the tensors first.",
            )
    shape = list(first.shape)
    shape[axis] = sum(each.shape[axis] for each in tensors)
    dtype, memory = None, memory_config
    if memory is None and first.memory.is_sharded():
        memory = DRAM_MEMORY_CONFIG
    in_tiles = axis >= first.rank - 2 and any(each.shape[axis] % TILE_SIZE for each in tensors)
    if first.dtype.element.is_block_float and in_tiles:
        dtype = DataType.BFLOAT16  # TT-NN takes them apart into rows
    result = first.type.with_(shape=shape, dtype=dtype, memory=memory)
    result = result if output_tensor is None else output_tensor.type
    return Step("ttnn.concat", {"inputs": tensors}, [result], {"dim": axis}, into=output_tensor)


@operation("ttnn.slice")
def slice_(
    input_tensor: Operand,
    starts: Any,
    ends: Any,
    steps: Sequence[int] | None,
    slice_start: Sequence[int] | None,
    slice_end: Sequence[int] | None,
    slice_step: Sequence[int] | None,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
) -> Step:
    """Takes the elements from ``starts`` up to ``ends``, which are exclusive."""
    begins: Any = starts if starts is not None else slice_start
    stops: Any = ends if starts is not None else slice_end
    by = list(steps or slice_step or [1] * input_tensor.rank)
    sizes = input_tensor.shape
    begins = [begin + size if begin < 0 else begin for begin, size in zip(begins, sizes, strict=True)]
    stops = [min(stop + size if stop < 0 else stop, size) for stop, size in zip(stops, sizes, strict=True)]
    for begin, stop in zip(begins, stops, strict=True):
        if stop < begin:
            raise TTFatal(
                f"End {stop} must be greater than or equal to start {begin}", hint="Swap the bounds of the slice."
            )
    shape = [max(0, -(-(stop - begin) // step)) for begin, stop, step in zip(begins, stops, by, strict=True)]
    memory = memory_config or shards.spread(input_tensor.memory, shape, input_tensor.layout)
    dtype = None
    in_tiles = len(begins) > 1 and not any(begin % TILE_SIZE for begin in begins[-2:])
    if input_tensor.dtype.element.is_block_float and not in_tiles:
        dtype = DataType.BFLOAT16  # TT-NN takes it apart into rows
    result = input_tensor.type.with_(shape=shape, dtype=dtype, memory=memory)
    if output_tensor is not None:
        result = output_tensor.type
    bounds = {"begins": begins, "ends": stops, "step": by}
    return Step("ttnn.slice_static", {"input": input_tensor}, [result], bounds, into=output_tensor)


OPERATIONS["ttnn.slice"].numbers = (1, 2, "starts", "ends")


@operation("ttnn.pad")
def pad(
    input_tensor: Operand,
    padding: Sequence[Sequence[int]] | None,
    output_padded_shape: Sequence[int] | None,
    input_tensor_start: Sequence[int] | None,
    value: float,
    memory_config: MemoryConfig | None,
) -> Step:
    """Adds elements of a value before and after the others."""
    shape = input_tensor.shape
    if padding is None:
        starts, ends = input_tensor_start or (), output_padded_shape or ()
        padding = [(low, end - low - size) for low, end, size in zip(starts, ends, shape, strict=True)]
    if len(padding) > len(shape):
        raise TTFatal(
            "ttnn.pad: padding len can't be larger than input tensor rank", hint=f"The tensor has shape {shape}."
        )
    pairs = [(0, 0)] * (len(shape) - len(padding)) + [tuple(each) for each in padding]
    sizes = [low + size + high for size, (low, high) in zip(shape, pairs, strict=True)]
    if input_tensor.layout is Layout.TILE and input_tensor.type.on_device and any(low for low, _ in pairs):
        raise TTFatal(
            "ttnn.pad: on device tile padding does not support front padding",
            hint="Convert the tensor with ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT).",
        )
    attributes = {"padding": [size for each in pairs for size in each], "value": float(value)}
    result = input_tensor.type.with_(shape=sizes, memory=memory_config)
    return Step("ttnn.pad", {"input": input_tensor}, [result], attributes)


@operation("ttnn.squeeze")
def squeeze(input_tensor: Operand, dim: Any) -> Step:
    """Removes dimensions of size 1."""
    named = range(input_tensor.rank) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {input_tensor.dim(each) for each in named}
    return reshape(
        input_tensor,
        [size for index, size in enumerate(input_tensor.shape) if index not in gone or size != 1],
        None,
        None,
    )


@operation("ttnn.unsqueeze")
def unsqueeze(input_tensor: Operand, dim: int) -> Step:
    """Adds a dimension of size 1."""
    place = dim + input_tensor.rank + 1 if dim < 0 else dim
    return reshape(input_tensor, [*input_tensor.shape[:place], 1, *input_tensor.shape[place:]], None, None)


@operation("ttnn.unsqueeze_to_4D")
def unsqueeze_to_4d(tensor: Operand) -> Step:
    """Adds dimensions of size 1 in front until there are four."""
    return reshape(tensor, Shape(tensor.shape).to_rank(4), None, None)
