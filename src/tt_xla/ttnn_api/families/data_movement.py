"""Functions that move elements."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api import chosen_shards, shards
from tt_xla.ttnn_api.enums import DataType, Layout, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG, TILE_SIZE, MemoryConfig, Shape
from tt_xla.ttnn_api.layouts import volume
from tt_xla.ttnn_api.operation import OPERATIONS, operation, unrefused
from tt_xla.ttnn_api.plan import Calls, Operand, Step


def _memory(memory: MemoryConfig | None, source: Operand, shape: Sequence[int]) -> MemoryConfig | None:
    """Returns the memory that a call names; an open one of a sharded tensor leaves the shards to the tensor."""
    if source.memory.is_sharded():
        return chosen_shards.inherited(memory, source.memory)
    return chosen_shards.for_elements(memory, shape, source.layout, [source])


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
    memory = _memory(memory_config, input_tensor, sizes) or shards.reshaped(
        input_tensor.memory, input_tensor.shape, sizes, input_tensor.layout
    )
    result = input_tensor.type.with_(shape=sizes, memory=memory)
    return Step("ttnn.reshape", {"input": input_tensor}, [result], {"shape": sizes})


def _permuted(source: Operand, shape: Sequence[int]) -> MemoryConfig:
    """Returns the memory of a sharded tensor whose dimensions are reordered: its rows and columns over the same cores.
    Where these would be uneven, blocks go to all cores of the card, and others into L1 without shards."""
    spec, device = source.memory.shard_spec, source.device
    if spec is None or device is None or source.layout is not Layout.TILE:
        return shards.spread(source.memory, shape, source.layout)
    kind = source.memory.memory_layout
    sides = zip(shards.matrix(shape, source.layout), shards.grid_of(kind, spec), strict=True)
    if not any(size % (cores * TILE_SIZE) for size, cores in sides):
        return shards.spread(source.memory, shape, source.layout)
    if kind is not TensorMemoryLayout.BLOCK_SHARDED:
        return L1_MEMORY_CONFIG
    return chosen_shards.divided(source.memory, shape, source.layout, device.compute_with_storage_grid_size())


@operation("ttnn.permute")
def permute(input_tensor: Operand, dims: Sequence[int], memory_config: MemoryConfig | None) -> Step:
    """Reorders dimensions."""
    if not input_tensor.type.on_device:
        raise TTFatal("Tensor must already be on device", hint="Move it there with ttnn.to_device.")
    order = [input_tensor.dim(dim) for dim in dims]
    if sorted(order) != list(range(input_tensor.rank)):
        raise TTFatal(
            f"The number of dimensions in the tensor input does not match the length of the desired ordering: "
            f"{list(dims)} for {input_tensor.shape}",
            hint="Name each dimension once.",
        )
    shape = [input_tensor.shape[dim] for dim in order]
    memory = _memory(memory_config, input_tensor, shape) or _permuted(input_tensor, shape)
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


def _repeated(source: Operand, shape: Sequence[int]) -> MemoryConfig:
    """Returns the memory of a repeated tensor: rows and blocks over all cores of the card, columns over the same."""
    kind, device = source.memory.memory_layout, source.device
    unchanged = list(shape) == list(source.shape) or kind is TensorMemoryLayout.WIDTH_SHARDED
    if source.memory.shard_spec is None or device is None or unchanged:
        return shards.spread(source.memory, shape, source.layout)
    return chosen_shards.divided(source.memory, shape, source.layout, device.compute_with_storage_grid_size())


@operation("ttnn.repeat")
def repeat(input_tensor: Operand, repeat_dims: Sequence[int], memory_config: MemoryConfig | None) -> Step:
    """Repeats a tensor along its dimensions."""
    counts = list(repeat_dims)
    shape = input_tensor.shape.to_rank(max(len(counts), input_tensor.rank))
    counts = [1] * (len(shape) - len(counts)) + counts
    sizes = [size * count for size, count in zip(shape, counts, strict=True)]
    memory = _memory(memory_config, input_tensor, sizes) or _repeated(input_tensor, sizes)
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
    memory = memory_config
    if memory is None and repeats > 1 and input_tensor.memory.is_sharded():
        rows = input_tensor.layout is Layout.ROW_MAJOR
        spread = shards.spread(input_tensor.memory, shape, Layout.ROW_MAJOR) if rows else DRAM_MEMORY_CONFIG
        memory = spread
    result = input_tensor.type.with_(shape=shape, memory=memory)
    return Step("ttnn.repeat_interleave", {"input": input_tensor}, [result], {"repeats": repeats, "dim": axis})


def _joined_in_groups(axis: int, groups: int, memory: MemoryConfig | None, tensors: Sequence[Any]) -> Any:
    """Joins the parts of tensors, group by group."""
    parts: list[Any] = []
    with unrefused():
        for group in range(groups):
            for tensor in tensors:
                begins, ends = [0] * len(tensor.shape), list(tensor.shape)
                size = ends[axis] // groups
                begins[axis], ends[axis] = group * size, (group + 1) * size
                part = OPERATIONS["ttnn.slice"](tensor, begins, ends, memory_config=DRAM_MEMORY_CONFIG)
                parts.append(OPERATIONS["ttnn.typecast"](part, tensor.dtype))
        return OPERATIONS["ttnn.concat"](parts, axis, memory_config=memory)


@operation("ttnn.concat")
def concat(
    tensors: Sequence[Operand],
    dim: int,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
    groups: int,
) -> Step | Calls:
    """Joins tensors along a dimension; with ``groups``, the first parts of all tensors, then the second ones."""
    if not tensors:
        raise TTFatal("ttnn.concat: expected a non-empty list of Tensors!", hint="Pass at least one tensor.")
    first = tensors[0]
    axis = first.dim(dim)
    if groups > 1 and any(each.shape[axis] % groups for each in tensors):
        raise TTFatal(
            f"ttnn.concat: {groups} groups must divide the sizes along {dim}", hint="Choose another number of groups."
        )
    if groups > 1:
        return Calls(functools.partial(_joined_in_groups, axis, groups, memory_config))
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
    if memory is None and first.type.on_device:
        memory = DRAM_MEMORY_CONFIG
    in_tiles = axis >= first.rank - 2 and any(each.shape[axis] % TILE_SIZE for each in tensors)
    if first.dtype.element.is_block_float and in_tiles:
        dtype = DataType.BFLOAT16  # TT-NN takes them apart into rows
    result = first.type.with_(shape=shape, dtype=dtype, memory=memory)
    result = result if output_tensor is None else output_tensor.type
    return Step("ttnn.concat", {"inputs": tensors}, [result], {"dim": axis}, into=output_tensor)


def _check_bounds(sizes: Sequence[int], begins: Sequence[int], stops: Sequence[int], by: Sequence[int]) -> None:
    """Refuses a slice that has not one start, one end and one step for each dimension."""
    words = None
    if len(begins) != len(sizes):
        words = f"Input rank {len(sizes)} and begins {len(begins)} must have the same size"
    elif len(stops) != len(sizes):
        words = f"Start {len(begins)} and end {len(stops)} must have the same size"
    elif len(by) != len(sizes):
        words = f"Step {len(by)} must have the same size as start {len(begins)} and end"
    if words is not None:
        raise TTFatal(words, hint=f"Give a start, an end and a step for each of the {len(sizes)} dimensions.")


def _check_ends(source: Operand, stops: Sequence[int], by: Sequence[int]) -> None:
    """Refuses a slice that ends after the tensor, or after the padding of its tiles where TT-NN takes whole tiles."""
    in_tiles = source.layout is Layout.TILE and all(step == 1 for step in by)
    for axis, (stop, size) in enumerate(zip(stops, source.shape, strict=True)):
        unit = TILE_SIZE if in_tiles and axis >= source.rank - 2 else 1
        end, limit = (-(-each // unit) * unit for each in (stop, size))
        if end > limit:
            raise TTFatal(
                f"Ends {end} must be less than or equal to the shape of the tensor {limit}",
                hint=f"The tensor has shape {source.shape}; end dimension {axis} at {size} at most.",
            )


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
    _check_bounds(sizes, begins, stops, by)
    _check_ends(input_tensor, stops, by)
    begins = [begin + size if begin < 0 else begin for begin, size in zip(begins, sizes, strict=True)]
    stops = [min(stop + size if stop < 0 else stop, size) for stop, size in zip(stops, sizes, strict=True)]
    for begin, stop in zip(begins, stops, strict=True):
        if stop < begin:
            raise TTFatal(
                f"End {stop} must be greater than or equal to start {begin}", hint="Swap the bounds of the slice."
            )
    shape = [max(0, -(-(stop - begin) // step)) for begin, stop, step in zip(begins, stops, by, strict=True)]
    memory = _memory(memory_config, input_tensor, shape) or shards.spread(
        input_tensor.memory, shape, input_tensor.layout
    )
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
    tiles = [-(-each[-1] // TILE_SIZE) for each in (shape, sizes) if each]
    if input_tensor.layout is Layout.TILE and len(shape) == 1 and tiles[0] != tiles[1]:
        raise TTFatal(
            "MeshBuffer must be large enough to hold the tensor.",
            hint="Give the vector a second dimension with ttnn.unsqueeze.",
        )
    in_rows = input_tensor.layout is Layout.ROW_MAJOR and input_tensor.memory.is_sharded()
    memory = memory_config
    if in_rows and memory is None:
        memory = shards.spread(input_tensor.memory, sizes, Layout.ROW_MAJOR)
    attributes = {"padding": [size for each in pairs for size in each], "value": float(value)}
    result = input_tensor.type.with_(shape=sizes, memory=memory)
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
