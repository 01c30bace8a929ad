"""The methods and operators of ``ttnn.Tensor`` that compute, convert or move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api import printing
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.distribution import DistributedHostBuffer
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families import operations
from tt_xla.ttnn_api.geometry import MemoryConfig, Tile
from tt_xla.ttnn_api.tensor import Tensor

_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "pow",
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
"""TT-NN function of each of Python's binary operators."""

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

    if isinstance(shape, DataType):  # Tensor(array, data_type, ...)
        shape, data_type = None, shape
    made = tensor_of(data, shape, data_type, layout)
    if mesh_mapper is not None:
        made = mesh_mapper.split(made)
    if device is not None:
        made = operations()["ttnn.to_device"](made, device, mem_config)
    self.set(made.type, made.contents, made.device(), made.topology)


def _to_torch(self: Tensor, mesh_composer: Any = None) -> Any:
    """Returns the elements as a torch tensor, those of several chips joined by a composer."""
    from tt_xla.ttnn_api.conversion import to_torch

    return to_torch(self if mesh_composer is None else mesh_composer.join(self))


def _to_torch_with_padded_shape(self: Tensor) -> Any:
    """Returns the elements as a torch tensor with the padding of tiles."""
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
    """Returns a host tensor with elements of a value around it: of a shape, with the tensor at ``start``."""
    pairs = [(first, size - first - own) for size, first, own in zip(shape, start, self.shape, strict=True)]
    return operations()["ttnn.pad"](self, pairs, value)


def _unpad(self: Tensor, start: Sequence[int], end: Sequence[int]) -> Tensor:
    """Returns the elements from ``start`` up to ``end``, which is exclusive."""
    return operations()["ttnn.slice"](self, list(start), list(end), [1] * len(self.shape))


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


def _neg(self: Tensor) -> Tensor:
    """Returns the tensor with each element's sign changed."""
    return operations()["ttnn.neg"](self)


def _getitem(self: Tensor, places: Any) -> Tensor:
    """Returns a slice of the tensor; a number in the place of a slice removes the dimension.

    Raises:
        IndexError: an index lies outside of its dimension, or there are more of them than dimensions.
    """
    sizes = self.shape
    listed = [*places] if isinstance(places, tuple) else [places]
    if Ellipsis in listed:
        at = listed.index(Ellipsis)
        listed[at : at + 1] = [slice(None)] * (len(sizes) - len(listed) + 1)
    if len(listed) > len(sizes):
        raise IndexError(
            f"Too many indices for tensor of dimension {len(sizes)}: got {len(listed)}. Give at most one for each "
            f"dimension of {sizes}."
        )
    for axis, (each, size) in enumerate(zip(listed, sizes, strict=False)):
        if not isinstance(each, slice) and not -size <= each < size:
            raise IndexError(
                f"Index {each} (converted to {each + size if each < 0 else each}) is out of bounds for dimension "
                f"{axis} of size {size}. Choose one from {-size} to {size - 1}."
            )
    listed += [slice(None)] * (len(sizes) - len(listed))
    whole = [each if isinstance(each, slice) else slice(each, each + 1 or None) for each in listed]
    begins, ends, steps = zip(*(each.indices(size) for each, size in zip(whole, sizes, strict=True)), strict=True)
    part = operations()["ttnn.slice"](self, list(begins), list(ends), list(steps))
    kept = [size for each, size in zip(listed, part.shape, strict=True) if isinstance(each, slice)]
    return part if len(kept) == len(sizes) else operations()["ttnn.reshape"](part, kept)


def _cpu(self: Tensor, blocking: bool = True, cq_id: int | None = None) -> Tensor:
    """Returns the tensor on the host."""
    return operations()["ttnn.from_device"](self) if self.type.on_device else self


def _to(self: Tensor, target: Any, memory_config: MemoryConfig | None = None, **options: Any) -> Tensor:
    """Returns the tensor on a device, or in another layout."""
    if isinstance(target, MeshDevice):
        return operations()["ttnn.to_device"](self, target, memory_config)
    return operations()["ttnn.to_layout"](self, target)


def _reshape(self: Tensor, *shape: Any) -> Tensor:
    sizes: Sequence[int] = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return operations()["ttnn.reshape"](self, list(sizes))


def _pad_to_tile(self: Tensor, pad_value: float = 0.0) -> Tensor:
    """Returns the tensor: the padding of tiles is not materialized."""
    return self


def _unpad_from_tile(self: Tensor, output_tensor_shape: Sequence[int]) -> Tensor:
    """Returns the elements that are no padding."""
    shape = list(output_tensor_shape)
    if list(self.shape) == shape:
        return self
    return operations()["ttnn.slice"](self, [0] * len(shape), shape)


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
        "__neg__": _neg,
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
        setattr(Tensor, name, method)
