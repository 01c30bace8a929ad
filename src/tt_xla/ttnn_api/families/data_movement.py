"""Functions that move elements."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api import chosen_shards, conditions, shards, signatures
from tt_xla.ttnn_api.enums import DataType, Layout, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG, TILE_SIZE, MemoryConfig
from tt_xla.ttnn_api.layouts import volume
from tt_xla.ttnn_api.operation import OPERATIONS, TensorNumbers, operation, unrefused
from tt_xla.ttnn_api.plan import Calls, Operand, Step
from tt_xla.ttnn_api.shapes import Sizes


def _memory(memory: MemoryConfig | None, source: Operand, shape: Sequence[int]) -> MemoryConfig | None:
    """Returns the memory that a call names; an open one of a sharded tensor leaves the shards to the tensor."""
    if source.memory.is_sharded():
        return chosen_shards.inherited(memory, source.memory)
    return chosen_shards.for_elements(memory, shape, source.layout, [source])


def _without_open(source: Sequence[int], wanted: list[int]) -> list[int]:
    """Returns the sizes of a reshape with what is left in the place of -1."""
    if -1 not in wanted:
        return wanted
    used = f"({','.join(map(str, wanted))},)"
    if wanted.count(-1) > 1:
        raise TTFatal(
            f"Shape cannot have more than 1 elements that is set to -1! Shape used: {used}",
            hint="Name all sizes but one.",
        )
    rest = volume([size for size in wanted if size != -1])
    if not rest:
        raise TTFatal(
            f"cannot reshape tensor of 0 elements into shape {used} because the unspecified dimension size -1 can be "
            "any value and is ambiguous",
            hint=f"The tensor has shape {source}; name all sizes.",
        )
    return [volume(source) // rest if size == -1 else size for size in wanted]


@operation("ttnn.reshape")
def reshape(
    input_tensor: Operand, shape: Sequence[int] | None, logical_shape: Sequence[int] | None, memory_config: Any
) -> Step:
    """Gives a tensor another shape with the same number of elements; -1 stands for what is left."""
    sizes = _without_open(input_tensor.shape, list(shape if shape is not None else logical_shape or ()))
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
    conditions.check_on_device("Tensor must already be on device", input_tensor)
    if len(dims) != input_tensor.rank:
        raise TTFatal(
            "The number of dimensions in the tensor input does not match the length of the desired ordering",
            hint=f"The tensor has shape {input_tensor.shape}, and dims is {list(dims)}; name each dimension once.",
        )
    order = [input_tensor.dim(dim) for dim in dims]
    if len(set(order)) < len(order):
        raise TTFatal(
            f"ttnn.permute: dims {list(dims)} names a dimension twice",
            hint="TT-NN returns a tensor most of whose elements no kernel writes; name each dimension once.",
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
    if input_tensor.rank < 2 and input_tensor.layout is Layout.TILE:
        raise TTFatal("Can't convert shape rank", hint="Give the vector a second dimension with ttnn.unsqueeze.")
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
    conditions.check_unsigned("ttnn.repeat", "repeat_dims", repeat_dims)
    counts = list(repeat_dims)
    shape = input_tensor.shape.to_rank(max(len(counts), input_tensor.rank))
    counts = [1] * (len(shape) - len(counts)) + counts
    sizes = [size * count for size, count in zip(shape, counts, strict=True)]
    memory = _memory(memory_config, input_tensor, sizes) or _repeated(input_tensor, sizes)
    result = input_tensor.type.with_(shape=sizes, memory=memory)
    return Step("ttnn.repeat", {"input": input_tensor}, [result], {"repeat_dims": counts})


def _check_expanded(source: Sizes, wanted: Sequence[int]) -> None:
    """Refuses shapes that a tensor cannot be repeated to."""
    words = None
    leading = len(wanted) - len(source)
    if leading < 0:
        words = "Output rank must be >= input rank for expand"
    for axis, size in enumerate(wanted if leading >= 0 else ()):
        if axis < leading and size < 0:
            words = f"Leading dimension must be non-negative (got {size}); it has no corresponding input dimension"
        elif size < -1:
            words = f"Expand dimension size must be -1 or non-negative (got {size})"
        elif axis >= leading and size not in (-1, source[axis - leading]) and source[axis - leading] != 1:
            words = "Only size 1 dimensions can be expanded in the output shape"
        if words is not None:
            break
    if words is not None:
        raise TTFatal(words, hint=f"The tensor has shape {source}, and the wanted one is {list(wanted)}.")


@operation("ttnn.expand")
def expand(input_tensor: Operand, output_shape: Sequence[int], memory_config: MemoryConfig | None) -> Step:
    """Repeats a tensor along its dimensions of size 1 up to a shape; -1 keeps a dimension."""
    _check_expanded(input_tensor.shape, list(output_shape))
    shape = input_tensor.shape.to_rank(len(output_shape))
    counts = [1 if wanted in (-1, size) else wanted for size, wanted in zip(shape, output_shape, strict=True)]
    return repeat(input_tensor, counts, memory_config)


@operation("ttnn.repeat_interleave")
def repeat_interleave(input_tensor: Operand, repeats: int, dim: int, memory_config: MemoryConfig | None) -> Step:
    """Repeats each element along a dimension."""
    conditions.check_unsigned("ttnn.repeat_interleave", "repeats", repeats)
    if not repeats:
        raise TTFatal("ttnn.concat: expected a non-empty list of Tensors!", hint="Repeat each element at least once.")
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
    if output_tensor is not None:
        raise TTFatal("optional output tensor currently unsupported!", hint="Leave output_tensor out.")
    first, alone = tensors[0], len(tensors) == 1
    axis = 0 if alone else first.dim(dim)  # TT-NN copies a lone tensor without a look at the dimension
    if alone:
        groups = 1
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
    in_tiles = not alone and axis >= first.rank - 2 and any(each.shape[axis] % TILE_SIZE for each in tensors)
    if first.dtype.element.is_block_float and in_tiles:
        dtype = DataType.BFLOAT16  # TT-NN takes them apart into rows
    result = first.type.with_(shape=shape, dtype=dtype, memory=memory)
    return Step("ttnn.concat", {"inputs": tensors}, [result], {"dim": axis})


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


_WRAPPED = 2**32
"""The number that TT-NN adds to a bound before the first element, as its bounds are 32 bits without a sign."""


def _from_front(bounds: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Returns bounds that are counted from the front, as TT-NN reads them."""
    counted = [bound + size if bound < 0 else bound for bound, size in zip(bounds, sizes, strict=True)]
    return [bound % _WRAPPED for bound in counted]


def _check_within(source: Operand, begins: Sequence[int], stops: Sequence[int], by: Sequence[int]) -> None:
    """Refuses a slice that ends before it begins, or after the tensor: after the padding of its tiles where TT-NN takes
    whole tiles."""
    for begin, stop in zip(begins, stops, strict=True):
        if stop < begin:
            raise TTFatal(
                f"End {stop} must be greater than or equal to start {begin}",
                hint=f"The tensor has shape {source.shape}. Begin within it, and before the end of the slice.",
            )
    if any(begin == stop for begin, stop in zip(begins, stops, strict=True)):
        return  # TT-NN returns a tensor without elements before it looks further
    for axis, (begin, size) in enumerate(zip(begins, source.shape, strict=True)):
        if begin >= size:
            raise TTFatal(
                f"Slice start[{axis}] ({begin}) must be less than input tensor shape[{axis}] ({size})",
                hint=f"The tensor has shape {source.shape}; start dimension {axis} below {size}.",
            )
    in_tiles = source.layout is Layout.TILE and all(step == 1 for step in by)
    for axis, (stop, size) in enumerate(zip(stops, source.shape, strict=True)):
        unit = TILE_SIZE if in_tiles and axis >= source.rank - 2 else 1
        end, limit = (-(-each // unit) * unit for each in (stop, size))
        if end > limit:
            raise TTFatal(
                f"Ends {end} must be less than or equal to the shape of the tensor {limit}",
                hint=f"The tensor has shape {source.shape}; end dimension {axis} at {size} at most.",
            )


def _sliced_padding(bounds: Sequence[Sequence[int]], memory: MemoryConfig | None, tensors: Sequence[Any]) -> Any:
    """Takes elements of a tensor and of the padding of its tiles."""
    source = tensors[0]
    pairs = [(0, max(0, stop - size)) for stop, size in zip(bounds[1], source.shape, strict=True)]
    with unrefused():
        whole = OPERATIONS["ttnn.pad"](source, pairs, source.contents.padding)
        return OPERATIONS["ttnn.slice"](whole, *bounds, memory_config=memory)


def _part_from(
    starts: Sequence[int], sizes: Sizes, slice_dim: int | None, num_devices: int | None
) -> tuple[list[int], list[int]]:
    """Returns the bounds of one of equal parts of a tensor whose place is known on the device alone."""
    if slice_dim is None or num_devices is None:
        raise TTFatal(
            "slice_dim and num_devices must be provided for device-only tensor args slice",
            hint="Pass both, or the bounds as lists of numbers.",
        )
    begins, stops = [0] * len(sizes), list(sizes)
    begins[slice_dim] = starts[slice_dim]
    stops[slice_dim] = starts[slice_dim] + sizes[slice_dim] // num_devices
    return begins, stops


@operation("ttnn.slice")
def slice_(
    input_tensor: Operand,
    starts: Any,
    ends: Any,
    steps: Sequence[int] | None,
    slice_start: Sequence[int] | None,
    slice_end: Sequence[int] | None,
    slice_step: Sequence[int] | None,
    slice_dim: int | None,
    num_devices: int | None,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
) -> Step | Calls:
    """Takes the elements from ``starts`` up to ``ends``, which are exclusive; where they are tensors, one of
    ``num_devices`` equal parts along ``slice_dim``, which begins where ``starts`` says."""
    begins: Any = starts if starts is not None else slice_start
    stops: Any = ends if starts is not None else slice_end
    by = list(steps or slice_step or [1] * input_tensor.rank)
    sizes = input_tensor.shape
    if isinstance(begins, TensorNumbers):
        begins, stops = _part_from(begins, sizes, slice_dim, num_devices)
    _check_bounds(sizes, begins, stops, by)
    if min(by, default=1) <= 0:
        raise TTFatal(f"Steps must be greater than 0, got {by}", hint="Leave the step out, or turn the tensor first.")
    begins, stops = _from_front(begins, sizes), _from_front(stops, sizes)
    _check_within(input_tensor, begins, stops, by)
    if output_tensor is None and any(stop > size for stop, size in zip(stops, sizes, strict=True) if size):
        return Calls(functools.partial(_sliced_padding, (begins, stops, by), memory_config))
    shape = [max(0, -(-(stop - begin) // step)) for begin, stop, step in zip(begins, stops, by, strict=True)]
    memory = _memory(memory_config, input_tensor, shape) or shards.spread(
        input_tensor.memory, shape, input_tensor.layout
    )
    dtype = None
    in_tiles = len(begins) > 1 and not any(begin % TILE_SIZE for begin in begins[-2:])
    if input_tensor.dtype.element.is_block_float and not in_tiles:
        dtype = DataType.BFLOAT16  # TT-NN takes it apart into rows
    result = input_tensor.type.with_(shape=shape, dtype=dtype, memory=memory)
    bounds = {"begins": begins, "ends": stops, "step": by}
    return Step("ttnn.slice_static", {"input": input_tensor}, [result], bounds, into=output_tensor)


OPERATIONS["ttnn.slice"].numbers = (1, 2, "starts", "ends")


def _pairs(source: Operand, starts: Sequence[int], ends: Sequence[int]) -> list[tuple[int, int]]:
    """Returns the padding of a tensor that starts at a place within a shape of four dimensions."""
    if len(starts) != 4 or len(ends) != 4:
        raise signatures.unfit("ttnn.pad", "output_padded_shape and input_tensor_start must have four numbers each")
    conditions.check_rank(source, 4, "one of four dimensions")
    pairs = [(low, end - low - size) for low, end, size in zip(starts, ends, source.shape, strict=True)]
    if any(high < 0 for _, high in pairs):
        raise TTFatal(
            "Output size cannot fit input with offset",
            hint=f"The tensor has shape {source.shape}; at {list(starts)} it does not fit into {list(ends)}.",
        )
    return pairs


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
        padding = _pairs(input_tensor, input_tensor_start or (), output_padded_shape or ())
    if not all(isinstance(each, (list, tuple)) and len(each) == 2 for each in padding):
        raise signatures.unfit("ttnn.pad", f"padding must have two numbers for each dimension, got {padding!r}")
    conditions.check_unsigned("ttnn.pad", "padding", padding)
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
    places = [conditions.place_of(each, input_tensor.rank) for each in named]
    gone = set(places)
    if len(gone) < len(places):
        twice = next(each for each in places if places.count(each) > 1)
        raise TTFatal(f"dim {twice} appears multiple times in the list of dims", hint="Name each dimension once.")
    return reshape(
        input_tensor,
        [size for index, size in enumerate(input_tensor.shape) if index not in gone or size != 1],
        None,
        None,
    )


@operation("ttnn.unsqueeze")
def unsqueeze(input_tensor: Operand, dim: int) -> Step:
    """Adds a dimension of size 1."""
    place = conditions.place_of(dim, input_tensor.rank + 1)
    return reshape(input_tensor, [*input_tensor.shape[:place], 1, *input_tensor.shape[place:]], None, None)


@operation("ttnn.unsqueeze_to_4D")
def unsqueeze_to_4d(tensor: Operand) -> Step:
    """Adds dimensions of size 1 in front until there are four."""
    if tensor.rank > 4:
        raise TTFatal("Tensor rank is greater than 4", hint=f"Its shape is {tensor.shape}; use ttnn.reshape.")
    return reshape(tensor, Sizes(tensor.shape).to_rank(4), None, None)
