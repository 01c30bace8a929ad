"""Makes new tensors of the device quickly, for the results of compiled programs and of recorded ops."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from tt_xla.frontends.torch.device.buffers import ADDRESSES, Buffer, new_tensor_on, storage_for
from tt_xla.frontends.torch.device.dlpack import TYPE_CODES, Layout
from tt_xla.frontends.torch.private.storages import UntypedStorage

if TYPE_CHECKING:
    from tt_xla.frontends.torch.device.values import Kept


class TensorFactory:
    """Makes tensors of the device of one dtype, size and strides, whose elements fill their memory without gaps.

    Args:
        dtype: element type.
        size: sizes.
        stride: strides, in elements.
        chip: the chip of tensors that :meth:`lift` makes.
    """

    def __init__(self, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int], chip: int = 0) -> None:
        self._dtype, self._size, self._stride = dtype, [int(n) for n in size], [int(n) for n in stride]
        self._nbytes = math.prod(self._size) * dtype.itemsize
        self._chip = chip
        self._layout = Layout(dtype, self._size, self._stride) if dtype in TYPE_CODES and self._nbytes else None

    def lift(self, host: torch.Tensor) -> torch.Tensor:
        """Returns a ``tt`` tensor that takes over the memory of a CPU tensor.

        Args:
            host: CPU tensor that owns its whole memory. Its own size and strides are ignored.
        """
        return self.make(Buffer(host, nbytes=self._nbytes, chip=self._chip))

    def keep(self, handle: Kept) -> torch.Tensor:
        """Returns a ``tt`` tensor of a result that stays in the memory of a card."""
        return self.make(Buffer(kept=handle, nbytes=self._nbytes, chip=self._chip))

    def make(self, buffer: Buffer) -> torch.Tensor:
        """Returns a ``tt`` tensor on the buffer's chip, whose whole memory has the contents of the buffer."""
        if self._layout is None:
            return new_tensor_on(storage_for(buffer, self._nbytes), self._dtype, self._size, self._stride, 0)
        tensor = self._layout.tensor_at(ADDRESSES.reserve(self._nbytes), buffer.chip)
        storage = tensor.untyped_storage()
        storage.__class__ = UntypedStorage
        storage.tt_buffer = buffer
        return tensor


@functools.lru_cache(4096)
def factory_for(dtype: torch.dtype, size: Sequence[int], stride: Sequence[int], chip: int) -> TensorFactory:
    """Returns the factory of tensors of a dtype, size and strides, in elements, on a chip."""
    return TensorFactory(dtype, size, stride, chip)
