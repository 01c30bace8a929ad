"""The methods and operators of ``ttnn.Tensor`` that compute, convert or move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api import printing, signatures
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.distribution import DistributedHostBuffer
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import IncompatibleArguments, TTFatal
from tt_xla.ttnn_api.families import operations
from tt_xla.ttnn_api.geometry import MemoryConfig, Tile
from tt_xla.ttnn_api.shapes import out_of_range, padded
from tt_xla.ttnn_api.tensor import Contents, Tensor

_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "matmul": "matmul",
}
"""TT-NN function of each of Python's binary operators."""

_NOT_CAST = ("float16", "float64")
"""Types of NumPy's arrays that the host casts to no narrower type; tensors of PyTorch have other names for theirs."""
_CAST_BY_TORCH = (DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.BFLOAT4_B)

_REFLECTED = ("add", "sub", "mul", "truediv")


def _init(
    self: Tensor,
    data: Any = None,
    shape: Any = None,
    data_type: DataType | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    mem_config: MemoryConfig | None = None,
    tile: Tile | None = None,
    pad_value: float | None = None,
    mesh_mapper: Any = None,
    **options: Any,
) -> None:
    """Makes a tensor.

    Args:
        self: the tensor.
        data: an array, a torch tensor, a flat sequence of numbers, or a tensor of TT-NN.
        shape: shape of a sequence of numbers.
        data_type: the data type; that of the array by default.
        layout: tiles or rows.
        device: the device that the tensor goes to; None leaves it on the host.
        mem_config: where it lies on the device.
        tile: rows and columns of a tile.
        pad_value: ignored, because tile padding is not materialized.
        mesh_mapper: splits the array over the chips of a mesh.
        options: options that change no element.
    """
    from tt_xla.ttnn_api.conversion import tensor_of

    _check_listed(data, shape, data_type, layout)
    if isinstance(shape, DataType):  # Tensor(array, data_type, ...)
        shape, data_type = None, shape
    made = tensor_of(data, shape, data_type, layout)
    if getattr(data, "dtype", None) in _NOT_CAST and made.dtype in _CAST_BY_TORCH:
        raise TTFatal(
            f"parse_py_tensor: ndarray_import failed, for an array of {data.dtype} that becomes {made.dtype}",
            hint="Pass the array to ttnn.from_torch, or cast it to float32.",
        )
    if mesh_mapper is not None:
        made = mesh_mapper.split(made)
    if device is not None:
        made = operations()["ttnn.to_device"](made, device, mem_config)
    self.set(made.type, made.contents, made.device(), made.topology)


def _check_listed(data: Any, shape: Any, data_type: DataType | None, layout: Layout | None) -> None:
    """Refuses numbers without a shape, a data type and a layout, or whose count is not that of the shape."""
    if hasattr(data, "shape") and hasattr(data, "dtype"):
        return  # a tensor or an array
    flat = isinstance(data, (list, tuple)) and not any(isinstance(each, (list, tuple, str)) for each in data)
    if not flat or shape is None or isinstance(shape, DataType) or data_type is None or layout is None:
        raise IncompatibleArguments(
            "__init__(): incompatible function arguments. The following argument types are supported:\n"
            "    1. __init__(self, tensor, data_type=None, ...) with a torch tensor, an array or a ttnn.Tensor\n"
            "    2. __init__(self, data, shape, data_type, layout, ...) with a flat sequence of numbers\n\n"
            "Pass numbers with shape, data_type and layout, or use ttnn.from_torch."
        )
    if len(data) != math.prod(shape):
        raise TTFatal(
            f"Buffer size {len(data)} differs from shape volume {math.prod(shape)}",
            hint=f"Pass as many numbers as a tensor of shape {list(shape)} has.",
        )


def _to_torch(self: Tensor, mesh_composer: Any = None) -> Any:
    """Returns the elements as a torch tensor, those of several chips joined by a composer."""
    from tt_xla.ttnn_api.conversion import to_torch

    return to_torch(self if mesh_composer is None else mesh_composer.join(self))


def _to_torch_with_padded_shape(self: Tensor) -> Any:
    """Returns the elements as a torch tensor with their padding."""
    if self.contents.framed is not None:
        return self.contents.framed.clone()
    tensor = _to_torch(self)
    padded = tensor.new_full(tuple(self.padded_shape), self.contents.padding)
    padded[tuple(slice(size) for size in tensor.shape)] = tensor
    return padded


def _host_buffer(self: Tensor) -> Any:
    """Returns the shards of a tensor on the host.

    Raises:
        TTFatal: it lies on a device.
    """
    if self.type.on_device:
        raise TTFatal("Tensor is not on host", hint="Move it there with ttnn.from_device.")
    return DistributedHostBuffer(self)


def _pad(self: Tensor, shape: Sequence[int], start: Sequence[int], value: float) -> Tensor:
    """Returns a host tensor whose rows have elements of a value around them in memory.

    Args:
        self: the tensor, whose shape the result keeps; tiles stay as they are.
        shape: the shape in memory.
        start: place of the tensor's first element there.
        value: the element around it.
    """
    if self.type.on_device:
        raise TTFatal("Tensor must be on host for padding", hint="Move it there with ttnn.from_device.")
    if self.layout is Layout.TILE:
        return self
    source = _framed(self)
    _check_ranks(self, shape, start)
    if any(first + size > whole for first, size, whole in zip(start, source.shape, shape, strict=True)):
        raise TTFatal(
            f"A tensor of shape {list(source.shape)} does not fit into {list(shape)} at {list(start)}",
            hint="Pass a larger shape.",
        )
    framed = source.new_full(tuple(shape), value)
    framed[tuple(slice(first, first + size) for first, size in zip(start, source.shape, strict=True))] = source
    part = framed[tuple(map(slice, self.shape))].contiguous()
    made = Tensor.of(self.type, Contents([part], None), None, self.topology)
    made.contents.framed = framed
    return made


def _check_ranks(self: Tensor, *numbers: Sequence[int]) -> None:
    """Refuses lists that have not one number for each dimension."""
    for each in numbers:
        if len(each) != len(self.shape):
            raise out_of_range(len(each), len(each), self.shape)


def _framed(self: Tensor) -> Any:
    """Returns the elements of a host tensor with what lies around its rows."""
    _to_torch(self)  # refuses the shards of several chips
    return self.contents.shards[0] if self.contents.framed is None else self.contents.framed


def _unpad(self: Tensor, start: Sequence[int], end: Sequence[int]) -> Tensor:
    """Returns the elements of a host tensor from ``start`` up to ``end``, which is exclusive.

    Raises:
        TTFatal: it has tiles, or lies on a device.
    """
    if self.type.on_device:
        raise TTFatal("Tensor must be on host for unpadding", hint="Move it there with ttnn.from_device.")
    if self.layout is not Layout.ROW_MAJOR:
        raise TTFatal(
            "Tensor layout must be ROW_MAJOR for unpadding",
            hint="Convert it with ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT).",
        )
    return _cut(self, start, end)


def _cut(self: Tensor, start: Sequence[int], end: Sequence[int]) -> Tensor:
    """Returns the elements of a host tensor between bounds that lie within it."""
    source = _framed(self)
    _check_ranks(self, start, end)
    for first, last, size in zip(start, end, source.shape, strict=True):
        if not 0 <= first <= last <= size:
            raise TTFatal(
                f"Elements from {list(start)} to {list(end)} lie outside of the tensor",
                hint=f"Its shape in memory is {list(source.shape)}.",
            )
    part = source[tuple(map(slice, start, end))].contiguous()
    return Tensor.of(self.type.with_(shape=tuple(part.shape)), Contents([part], None), None, self.topology)


def _to_numpy(self: Tensor, mesh_composer: Any = None) -> Any:
    """Returns the elements as an array; those of bfloat16 as float32."""
    tensor = _to_torch(self, mesh_composer)
    return (tensor.float() if self.dtype.element.is_float else tensor).numpy()


def _to_list(self: Tensor) -> list[Any]:
    """Returns the elements as nested lists."""
    return _to_torch(self).tolist()


def _item(self: Tensor) -> Any:
    """Returns the only element."""
    return _to_torch(self).item()


def _places(self: Tensor, places: Any) -> list[Any]:
    """Returns an index or a slice for each dimension of a tensor.

    Raises:
        TypeError: an index is neither a number nor a slice.
        ValueError: there are two ellipses.
        IndexError: there are more indices than dimensions.
    """
    listed = [*places] if isinstance(places, (tuple, list)) else [places]
    rank = len(self.shape)
    if listed.count(...) > 1:
        raise ValueError("Only one ellipsis ('...') is allowed in a slice. Write the other dimensions as ':'.")
    if ... in listed:
        at = listed.index(...)
        listed[at : at + 1] = [slice(None)] * (rank - len(listed) + 1)
    if len(listed) > rank:
        raise IndexError(
            f"Too many indices for tensor of dimension {rank}: got {len(listed)}. Give at most one for each "
            f"dimension of {self.shape}."
        )
    for each in listed:
        if not isinstance(each, (int, slice)):
            raise TypeError(f"Invalid slice type: {each}. Use numbers, slices, or ttnn.gather for a list of indices.")
    return listed + [slice(None)] * (rank - len(listed))


def _getitem(self: Tensor, places: Any) -> Tensor:
    """Returns a slice of the tensor; a number in the place of a slice removes the dimension.

    Unlike bounds of Python's own slices, those of a dimension lie within it.

    Raises:
        IndexError: an index lies outside of its dimension, or there are more of them than dimensions.
    """
    sizes = self.shape
    listed = _places(self, places)
    for axis, (each, size) in enumerate(zip(listed, sizes, strict=True)):
        if not isinstance(each, slice) and not -size <= each < size:
            raise IndexError(
                f"Index {each} (converted to {each + size if each < 0 else each}) is out of bounds for dimension "
                f"{axis} of size {size}. Choose one from {-size} to {size - 1}."
            )
    pairs = zip(listed, sizes, strict=True)
    whole = [each if isinstance(each, slice) else slice(each % size, each % size + 1) for each, size in pairs]
    begins = [0 if each.start is None else each.start for each in whole]
    ends = [size if each.stop is None else each.stop for each, size in zip(whole, sizes, strict=True)]
    steps = [1 if each.step is None else each.step for each in whole]
    part = _part(self, begins, ends, steps)
    kept = [size for each, size in zip(listed, part.shape, strict=True) if isinstance(each, slice)]
    return part if len(kept) == len(sizes) else operations()["ttnn.reshape"](part, kept)


def _part(self: Tensor, begins: list[int], ends: list[int], steps: list[int]) -> Tensor:
    """Returns the elements between bounds.

    Raises:
        TTFatal: bounds of a host tensor are not those of elements that it has.
    """
    if self.type.on_device:
        return operations()["ttnn.slice"](self, begins, ends, steps)
    if any(step != 1 for step in steps):
        raise TTFatal(
            "Host tensors cannot be accessed with non-unit stride", hint="Move the tensor with ttnn.to_device first."
        )
    for axis, (begin, end, size) in enumerate(zip(begins, ends, self.shape, strict=True)):
        if not 0 <= begin <= end <= size:
            raise TTFatal(
                f"Host tensors cannot be accessed from {begin} to {end} in dimension {axis} of size {size}",
                hint="Bounds of a tensor on the host count from the front and lie within it.",
            )
    return _cut(self, begins, ends)


def _cpu(self: Tensor, blocking: bool = True, cq_id: int | None = None) -> Tensor:
    """Returns the tensor on the host."""
    return operations()["ttnn.from_device"](self) if self.type.on_device else self


def _to(self: Tensor, target: Any, memory_config: MemoryConfig | None = None, **options: Any) -> Tensor:
    """Returns the tensor on a device, or in another layout."""
    if isinstance(target, MeshDevice):
        return operations()["ttnn.to_device"](self, target, memory_config)
    return operations()["ttnn.to_layout"](self, target)


def _reshape(self: Tensor, *shape: Any) -> Tensor:
    """Returns the tensor in a shape: four numbers, or a sequence of them."""
    return operations()["ttnn.reshape"](self, list(shape[0] if len(shape) == 1 else shape))


def _pad_to_tile(self: Tensor, pad_value: float) -> Tensor:
    """Returns a host tensor whose rows fill tiles in memory."""
    return _pad(self, padded(self.type.shape, Layout.TILE), [0] * len(self.shape), pad_value)


def _unpad_from_tile(self: Tensor, output_tensor_shape: Sequence[int]) -> Tensor:
    """Returns the elements that are no padding."""
    return _unpad(self, [0] * len(output_tensor_shape), output_tensor_shape)


def _repr(self: Tensor) -> str:
    if not self.is_allocated():
        return "ttnn.Tensor(<buffer is not allocated>)"
    dtype, layout = f"DataType::{self.dtype.name}", f"Layout::{self.layout.name}"
    text = printing.elements(_to_torch(self), len("ttnn.Tensor("))
    return f"ttnn.Tensor({text}, shape={self.shape}, dtype={dtype}, layout={layout})"


def _binary(name: str, *, reflected: bool = False) -> Any:
    def apply(self: Tensor, other: Any) -> Tensor:
        return operations()[name](other, self) if reflected else operations()[name](self, other)

    return apply


def install() -> None:
    """Gives :class:`Tensor` its methods and operators."""
    methods = {
        "__init__": _init,
        "__repr__": _repr,
        "__getitem__": _getitem,
        "__hash__": object.__hash__,
        "to_torch": _to_torch,
        "to_torch_with_padded_shape": _to_torch_with_padded_shape,
        "host_buffer": _host_buffer,
        "pad": _pad,
        "unpad": _unpad,
        "to_numpy": _to_numpy,
        "to_list": _to_list,
        "item": _item,
        "cpu": _cpu,
        "to": _to,
        "reshape": _reshape,
        "pad_to_tile": _pad_to_tile,
        "unpad_from_tile": _unpad_from_tile,
    }
    methods |= {f"__{name}__": _binary(f"ttnn.{function}") for name, function in _OPERATORS.items()}
    methods |= {f"__r{name}__": _binary(f"ttnn.{_OPERATORS[name]}", reflected=True) for name in _REFLECTED}
    for name, method in methods.items():
        full = f"ttnn.Tensor.{name}"
        setattr(Tensor, name, signatures.checked(full, method) if signatures.overloads(full) else method)
