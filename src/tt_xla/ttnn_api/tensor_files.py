"""TT-NN's tensor files (``.tensorbin``): see :mod:`tt_xla.codegen.tensorbin` for the format."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tt_xla.codegen.tensorbin import save
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.layouts import type_of
from tt_xla.ttnn_api.tensor import Contents, Tensor

_ROW_MAJOR = 1


class _Table:
    """A table of a FlatBuffer that is read."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data, self._start = data, start
        (distance,) = struct.unpack_from("<i", data, start)
        self._fields = start - distance
        (self._bytes,) = struct.unpack_from("<H", data, self._fields)

    def _place(self, index: int) -> int | None:
        offset = 4 + 2 * index
        if offset >= self._bytes:
            return None
        (place,) = struct.unpack_from("<H", self._data, self._fields + offset)
        return self._start + place if place else None

    def byte(self, index: int) -> int:
        """Returns a field of one byte; 0 if it is absent."""
        place = self._place(index)
        return 0 if place is None else self._data[place]

    def _target(self, index: int) -> int:
        place = self._place(index)
        assert place is not None
        return place + struct.unpack_from("<I", self._data, place)[0]

    def table(self, index: int) -> _Table:
        """Returns a field that is a table."""
        return _Table(self._data, self._target(index))

    def numbers(self, index: int) -> tuple[int, ...]:
        """Returns a field that is a vector of 32-bit numbers."""
        start = self._target(index)
        (count,) = struct.unpack_from("<I", self._data, start)
        return struct.unpack_from(f"<{count}I", self._data, start + 4)


def load(path: Path) -> Tensor:
    """Returns the tensor of a file, on the host.

    Raises:
        TTFatal: there is no such file, or it has tiles.
    """
    import numpy as np
    import torch

    if not path.exists():
        raise TTFatal(f"Cannot open '{path}'", hint="Write the file with ttnn.dump_tensor.")
    content = path.read_bytes()
    (size,) = struct.unpack_from("<Q", content)
    head = content[8 : 8 + size]
    spec = _Table(head, struct.unpack_from("<I", head)[0]).table(0)
    shape, layout = spec.numbers(0), spec.table(1)
    dtype = DataType(layout.byte(0))
    if layout.byte(1) != _ROW_MAJOR:
        raise TTFatal(f"'{path}' has tiles, which are not read here", hint="Write it with ROW_MAJOR_LAYOUT.")
    array: Any = np.frombuffer(content, dtype.element.little_endian, offset=8 + size).copy()
    tensor = _as_torch(array, dtype, torch).reshape(shape)
    return Tensor.of(type_of(shape, dtype, Layout.ROW_MAJOR, on_device=False), Contents([tensor], None), None)


def _as_torch(array: Any, dtype: DataType, torch: Any) -> Any:
    if dtype is DataType.BFLOAT16:
        return torch.from_numpy(array).view(torch.bfloat16)
    wide = {"<u4": "i8", "<u2": "i4"}.get(array.dtype.str)
    return torch.from_numpy(array if wide is None else array.astype(wide))


def dump(path: Path, tensor: Tensor) -> None:
    """Writes a tensor in rows; block floats as bfloat16."""
    import torch

    shard = tensor.contents.shards[0].contiguous()
    dtype = DataType.BFLOAT16 if tensor.dtype.element.is_block_float else tensor.dtype
    array = shard.view(torch.int16).numpy() if dtype is DataType.BFLOAT16 else shard.numpy()
    save(path, array.astype(dtype.element.little_endian), dtype.element)
