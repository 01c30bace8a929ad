"""Buffers of the emulated card: each has an address in DRAM or L1, as TT-NN's allocator chooses it."""

from __future__ import annotations

import itertools

from tt_xla.cost.allocation import AddressSpace
from tt_xla.cost.memory import bytes_per_bank
from tt_xla.ir.layout import BufferType
from tt_xla.ir.program import TensorSpec
from tt_xla.target import Target
from tt_xla.ttnn_api.errors import OutOfMemoryError
from tt_xla.ttnn_api.graph_capture import CAPTURES

_TABLE = 16
"""Bytes of the smallest table of a window in a core's L1."""


class Buffer:
    """The memory of a tensor. It is freed with its last tensor."""

    __slots__ = ("address", "number", "space")

    def __init__(self, space: AddressSpace, number: int, address: int) -> None:
        self.space, self.number, self.address = space, number, address

    def __del__(self) -> None:
        for capture in CAPTURES:
            capture.freed(self)
        self.space.free(self.number)


class Memory:
    """The memory of a device: all banks look the same, on every chip of a mesh.

    Args:
        target: the system.
        l1_small_bytes: bytes at the upper end of L1 that tensors do not get.
    """

    def __init__(self, target: Target, l1_small_bytes: int) -> None:
        self.target = target
        self.dram = AddressSpace("DRAM", target.dram_unreserved_base, target.dram_unreserved_end, target.dram_align)
        self._has_l1_small = bool(l1_small_bytes)
        end = target.l1_size - l1_small_bytes
        self.l1 = AddressSpace("L1", target.l1_unreserved_base, end, target.noc_l1_align, top_down=True)
        self._numbers = itertools.count()

    def allocate(self, spec: TensorSpec, size: int | None = None) -> Buffer:
        """Returns the buffer of a new tensor.

        Args:
            spec: shape and layout of the tensor.
            size: its bytes in each bank, if they are known.

        Raises:
            OutOfMemoryError: it fits into no gap.
        """
        in_l1 = spec.layout.buffer is BufferType.L1
        space = self.l1 if in_l1 else self.dram
        size = bytes_per_bank(spec.layout, self.target) if size is None else size
        number = next(self._numbers)
        address = space.allocate(number, size)
        if address is None:
            raise self._exhausted(space, size, self.target.cores if in_l1 else self.target.dram_banks)
        buffer = Buffer(space, number, address)
        for capture in CAPTURES:
            capture.allocated(buffer, space.name, spec.layout.pages * spec.layout.page_bytes, size)
        return buffer

    def check_tables(self, banks: int) -> None:
        """Refuses the tables of a window where the device was opened without memory for them.

        Args:
            banks: cores that have a table.

        Raises:
            OutOfMemoryError: ``l1_small_size`` is 0.
        """
        if banks and not self._has_l1_small:
            raise OutOfMemoryError(
                f"Out of Memory: Not enough space to allocate {_TABLE * banks} B L1_SMALL buffer across {banks} banks, "
                f"where each bank needs to store {_TABLE} B, but bank size is 0 B (allocated: 0 B, free: 0 B, largest "
                "free block: 0 B). The L1_SMALL region is 0 B because it is reserved at device open; set l1_small_size "
                "large enough for this allocation when opening the device",
                hint="Pass l1_small_size=32768 to ttnn.open_device.",
            )

    def _exhausted(self, space: AddressSpace, size: int, banks: int) -> OutOfMemoryError:
        total = space.end - space.base
        largest = max((stop - start for start, stop in space.gaps), default=0)
        return OutOfMemoryError(
            f"Out of Memory: Not enough space to allocate {size * banks} B {space.name} buffer across {banks} banks, "
            f"where each bank needs to store {size} B, but bank size is {total} B (allocated: {space.used} B, "
            f"free: {total - space.used} B, largest free block: {largest} B)",
            hint="Deallocate tensors with ttnn.deallocate, or put large ones into DRAM with "
            "memory_config=ttnn.DRAM_MEMORY_CONFIG.",
        )
