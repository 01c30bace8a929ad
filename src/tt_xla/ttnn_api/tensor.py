"""``ttnn.Tensor``: a tensor of TT-NN on the host or on the emulated card."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import BufferType, DataType, Layout, StorageType
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import MemoryConfig, Tile
from tt_xla.ttnn_api.layouts import Type, volume
from tt_xla.ttnn_api.shapes import MeshCoordinate, Shape, Sizes, padded
from tt_xla.ttnn_api.specs import TensorSpec
from tt_xla.ttnn_api.topology import ONE_CHIP, TensorTopology

if TYPE_CHECKING:
    import torch

    from tt_xla.ttnn_api.memory import Buffer


_numbers = itertools.count(1)


class Contents:
    """The elements of a tensor: a torch tensor for each chip, in the data type's container.

    Chips that hold the same elements share one torch tensor.

    Args:
        shards: the torch tensor of each chip.
        buffer: the memory on the device; None on the host.
        coords: places of the chips in the mesh, for a part of a tensor; None for all that its topology names.
    """

    __slots__ = ("buffer", "coords", "framed", "padding", "shards")

    def __init__(
        self, shards: Sequence[torch.Tensor], buffer: Buffer | None, coords: Sequence[MeshCoordinate] | None = None
    ) -> None:
        self.shards, self.buffer, self.coords = shards, buffer, coords
        self.padding: float = 0
        """The value in the padding of tiles, which is not materialized."""
        self.framed: torch.Tensor | None = None
        """The elements of a host tensor with those that ``Tensor.pad`` puts around them."""


class Tensor:
    """A tensor on the host or on a device. :mod:`tt_xla.ttnn_api.methods` adds what computes."""

    __slots__ = ("__weakref__", "_contents", "_device", "_number", "topology", "type")

    @staticmethod
    def of(
        type_: Type, contents: Contents, device: MeshDevice | None, topology: TensorTopology | None = None
    ) -> Tensor:
        """Returns a tensor of a type with given contents."""
        tensor = object.__new__(Tensor)
        tensor.set(type_, contents, device, topology)
        return tensor

    def set(
        self,
        type_: Type,
        contents: Contents | None,
        device: MeshDevice | None,
        topology: TensorTopology | None = None,
    ) -> None:
        """Gives the tensor a type and contents."""
        self.type, self._contents, self._device, self.topology = type_, contents, device, topology

    @property
    def tensor_id(self) -> int:
        """Number of the tensor among those whose numbers were asked for."""
        number = getattr(self, "_number", None)
        if number is None:
            number = self._number = next(_numbers)
        return number

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
        return Shape(self.type.shape)

    @property
    def padded_shape(self) -> Shape:
        return Shape(self._padded)

    @property
    def _padded(self) -> Sizes:
        """The sizes of the tensor in memory."""
        framed = None if self._contents is None else self._contents.framed
        return padded(self.type.shape, self.type.layout) if framed is None else Sizes(framed.shape)

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

    @property
    def spec(self) -> TensorSpec:
        """Shape, data type, layout and memory."""
        memory = self.type.memory
        if memory.nd_shard_spec is not None:
            return TensorSpec(self.shape, self.dtype, self.layout, memory.nd_shard_spec, memory.buffer_type)
        return TensorSpec(
            self.shape, self.dtype, self.layout, memory.memory_layout, memory.shard_spec, memory.buffer_type
        )

    def device(self) -> MeshDevice | None:
        return self._device

    def _check_on_device(self) -> MeshDevice:
        if self._device is None:
            raise TTFatal("Tensor is not on device", hint="Move it there with ttnn.to_device.")
        return self._device

    def devices(self) -> list[MeshDevice]:
        return [] if self._device is None else [self._device]

    def tensor_topology(self) -> TensorTopology:
        """Returns the distribution of the tensor over chips."""
        return self.topology or ONE_CHIP

    def update_tensor_topology(self, topology: TensorTopology) -> None:
        """Sets how the tensor is said to be distributed over chips."""
        self.topology = topology

    def coords(self) -> list[MeshCoordinate]:
        """Returns the place in the mesh of each shard, also of a tensor on the host."""
        return list(self.contents.coords or self.tensor_topology().mesh_coords())

    def device_coords(self) -> list[MeshCoordinate]:
        """Returns the place in the mesh of each chip that holds a shard.

        Raises:
            TTFatal: the tensor lies on the host.
        """
        self._check_on_device()
        return self.coords()

    def is_allocated(self) -> bool:
        return self._contents is not None

    def buffer_address(self) -> int:
        """Returns the address of the tensor in each bank.

        Raises:
            TTFatal: it lies on the host.
        """
        buffer = self.contents.buffer
        self._check_on_device()
        assert buffer is not None
        return buffer.address

    def buffer_page_size(self) -> int:
        return self.type.spec.layout.page_bytes

    def buffer_aligned_page_size(self) -> int:
        """Returns the bytes from one page to the next, on the device."""
        target = self._check_on_device().target
        unit = target.dram_align if self.type.memory.buffer_type is BufferType.DRAM else target.noc_l1_align
        return -(-self.buffer_page_size() // unit) * unit

    def buffer_unique_id(self) -> int | None:
        """Returns a number that tensors with the same memory share; None on the host."""
        buffer = self.contents.buffer
        return None if buffer is None else buffer.number

    def is_per_core_allocated(self) -> bool:
        return False

    def is_range_lockstep_allocated(self) -> bool:
        return False

    def buffer_num_pages(self) -> int:
        return self.type.spec.layout.pages

    def volume(self) -> int:
        return volume(self._padded)

    def logical_volume(self) -> int:
        return volume(self.type.shape)

    def element_size(self) -> int:
        return self.type.dtype.element.element_bytes

    def deallocate(self, force: bool = True) -> None:
        """Frees the tensor's memory."""
        if self._contents is not None:
            self._contents.buffer = None
            self._contents = None
