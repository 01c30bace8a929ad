"""``ttnn.Tensor``: a tensor of TT-NN on the host or on the emulated card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import DataType, Layout, StorageType
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import MemoryConfig, Shape, Tile, padded
from tt_xla.ttnn_api.layouts import Type, volume

if TYPE_CHECKING:
    import torch

    from tt_xla.ttnn_api.memory import Buffer


class Contents:
    """The elements of a tensor: a torch tensor for each chip, in the data type's container."""

    __slots__ = ("buffer", "shards")

    def __init__(self, shards: Sequence[torch.Tensor], buffer: Buffer | None) -> None:
        self.shards, self.buffer = shards, buffer


class Tensor:
    """A tensor on the host or on a device. :mod:`tt_xla.ttnn_api.methods` adds what computes."""

    __slots__ = ("__weakref__", "_contents", "_device", "topology", "type")

    @staticmethod
    def of(type_: Type, contents: Contents, device: MeshDevice | None, topology: Any = None) -> Tensor:
        """Returns a tensor of a type with given contents."""
        tensor = object.__new__(Tensor)
        tensor.set(type_, contents, device, topology)
        return tensor

    def set(self, type_: Type, contents: Contents | None, device: MeshDevice | None, topology: Any = None) -> None:
        """Gives the tensor a type and contents."""
        self.type, self._contents, self._device, self.topology = type_, contents, device, topology

    @property
    def contents(self) -> Contents:
        """The elements.

        Raises:
            TTFatal: the tensor was deallocated.
        """
        if self._contents is None:
            raise TTFatal("Tensor is not allocated.", hint="It was deallocated; use it before ttnn.deallocate.")
        return self._contents

    @contents.setter
    def contents(self, contents: Contents) -> None:
        self._contents = contents

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def padded_shape(self) -> Shape:
        return padded(self.type.shape, self.type.layout)

    @property
    def dtype(self) -> DataType:
        return self.type.dtype

    @property
    def layout(self) -> Layout:
        return self.type.layout

    @property
    def tile(self) -> Tile:
        return Tile()

    def get_tile(self) -> Tile:
        return Tile()

    def get_dtype(self) -> DataType:
        return self.type.dtype

    def get_layout(self) -> Layout:
        return self.type.layout

    def memory_config(self) -> MemoryConfig:
        return self.type.memory

    def is_sharded(self) -> bool:
        return self.type.memory.is_sharded()

    def storage_type(self) -> StorageType:
        return StorageType.DEVICE if self.type.on_device else StorageType.HOST

    def device(self) -> MeshDevice | None:
        return self._device

    def is_allocated(self) -> bool:
        return self._contents is not None

    def buffer_address(self) -> int:
        """Returns the address of the tensor in each bank.

        Raises:
            TTFatal: it lies on the host.
        """
        buffer = self.contents.buffer
        if buffer is None:
            raise TTFatal("Tensor is not on device", hint="Move it there with ttnn.to_device.")
        return buffer.address

    def buffer_page_size(self) -> int:
        return self.type.spec.layout.page_bytes

    def buffer_num_pages(self) -> int:
        return self.type.spec.layout.pages

    def volume(self) -> int:
        return volume(self.padded_shape)

    def logical_volume(self) -> int:
        return volume(self.type.shape)

    def element_size(self) -> int:
        return self.type.dtype.element.element_bytes

    def deallocate(self, force: bool = True) -> None:
        """Frees the tensor's memory."""
        if self._contents is not None:
            self._contents.buffer = None
            self._contents = None

    def __len__(self) -> int:
        return self.type.shape[0]
