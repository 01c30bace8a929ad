"""TT-NN's tensor files (``.tensorbin``): see :mod:`tt_xla.codegen.tensorbin` for the format."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla.codegen.tensorbin import ALIGNMENT, ONE_CHIP, Distribution, header
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.layouts import type_of
from tt_xla.ttnn_api.shapes import MeshCoordinate, MeshShape
from tt_xla.ttnn_api.tensor import Contents, Tensor
from tt_xla.ttnn_api.topology import REPLICATE, PlacementShard, TensorTopology

if TYPE_CHECKING:
    import torch

_TILE = 2
_SHARDED = 1


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

    def tables(self, index: int) -> list[_Table]:
        """Returns a field that is a vector of tables."""
        start = self._target(index)
        (count,) = struct.unpack_from("<I", self._data, start)
        places = range(start + 4, start + 4 + 4 * count, 4)
        return [_Table(self._data, place + struct.unpack_from("<I", self._data, place)[0]) for place in places]

    def number(self, index: int) -> int:
        """Returns a field that is a number of 32 bits; 0 if it is absent."""
        place = self._place(index)
        return 0 if place is None else int(struct.unpack_from("<i", self._data, place)[0])

    def extent(self, index: int) -> tuple[int, int]:
        """Returns a field that is an offset and a size of 64 bits each."""
        offset, size = struct.unpack_from("<QQ", self._data, self._target(index))
        return offset, size


def load(path: Path) -> Tensor:
    """Returns the tensor of a file, on the host, with the shards that it has.

    Raises:
        TTFatal: there is no such file, or it is no tensor file.
    """
    if not path.exists():
        raise TTFatal(f"Cannot open '{path}'", hint="Write the file with ttnn.dump_tensor.")
    content = path.read_bytes()
    try:
        return _parsed(content)
    except (AssertionError, IndexError, ValueError, struct.error) as error:
        raise TTFatal(
            f"'{path}' is no tensor file: {error or 'a field is absent'}",
            hint="Write it with ttnn.dump_tensor; files of TT-NN before 0.60 have another format.",
        ) from error


def _parsed(content: bytes) -> Tensor:
    """Returns the tensor of a file's content."""
    (size,) = struct.unpack_from("<Q", content)
    head, start = content[8 : 8 + size], 8 + size
    root = _Table(head, struct.unpack_from("<I", head)[0])
    spec = root.table(0)
    shape, layout = spec.numbers(0), spec.table(1)
    dtype, tiled = DataType(layout.byte(0)), layout.byte(1) == _TILE
    by_extent: dict[tuple[int, int], torch.Tensor] = {}
    shards: list[torch.Tensor] = []
    for stored in root.tables(2):
        extent = stored.extent(1)
        if extent not in by_extent:
            offset, length = extent
            data = content[start + offset : start + offset + length]
            if len(data) != length:
                raise ValueError(f"it has {len(content)} bytes, and its header tells of {start + offset + length}")
            by_extent[extent] = _elements(data, dtype, shape, tiled=tiled)
        shards.append(by_extent[extent])
    type_ = type_of(shape, dtype, Layout.TILE if tiled else Layout.ROW_MAJOR, on_device=False)
    return Tensor.of(type_, Contents(shards, None), None, _topology(root.table(3)) if len(shards) > 1 else None)


def _topology(table: _Table) -> TensorTopology:
    placements = [PlacementShard(each.number(1)) if each.byte(0) == _SHARDED else REPLICATE for each in table.tables(1)]
    places = [MeshCoordinate(each.numbers(0)) for each in table.tables(2)]
    return TensorTopology(MeshShape(table.table(0).numbers(0)), tuple(placements), tuple(places))


def _elements(data: bytes, dtype: DataType, shape: Sequence[int], *, tiled: bool) -> torch.Tensor:
    """Returns the elements of a shard in the container of its data type."""
    import numpy as np
    import torch

    from tt_xla.runtime.emulator.containers import CONTAINERS
    from tt_xla.ttnn_api.tile_bytes import unpack

    element = dtype.element
    if tiled:
        array = unpack(data, element, shape)
    else:
        array = np.frombuffer(data, element.little_endian).reshape(tuple(shape)).copy()
    if dtype is DataType.BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    wide: Any = array.astype({"<u4": "i8", "<u2": "i4"}.get(array.dtype.str, array.dtype.str))
    return torch.from_numpy(wide).to(CONTAINERS[element])


def dump(path: Path, tensor: Tensor) -> None:
    """Writes a tensor with the shards of all chips; shards with the same elements are written once."""
    topology, mesh = tensor.topology, tensor.device()
    over = ONE_CHIP
    if len(tensor.contents.shards) > 1 and topology is not None:
        places = tensor.coords()
        box = [*mesh.shape] if mesh is not None else [1 + max(each[axis] for each in places) for axis in range(2)]
        dims = [place.dim if isinstance(place, PlacementShard) else None for place in topology.placements()]
        over = Distribution(box, [[*each] for each in places], [*topology.distribution_shape()], dims)
    extents: list[tuple[int, int]] = []
    parts: list[bytes] = []
    known: dict[int, tuple[int, int]] = {}
    end = 0
    for shard in tensor.contents.shards:
        if id(shard) not in known:
            parts.append(bytes(-end % ALIGNMENT))
            data = _bytes_of(shard, tensor)
            start = end + len(parts[-1])
            known[id(shard)], end = (start, len(data)), start + len(data)
            parts.append(data)
        extents.append(known[id(shard)])
    element, tiled = tensor.dtype.element, tensor.layout is Layout.TILE
    with path.open("wb") as file:
        file.write(header(tuple(tensor.shape), element, extents, tiled=tiled, over=over))
        file.write(b"".join(parts))


def _bytes_of(shard: torch.Tensor, tensor: Tensor) -> bytes:
    """Returns the elements of a shard as the file has them."""
    import torch

    from tt_xla.ttnn_api.tile_bytes import pack

    element = tensor.dtype.element
    plain = shard.detach().contiguous()
    if element.is_block_float:
        array = plain.float().numpy()
    elif tensor.dtype is DataType.BFLOAT16:
        array = plain.view(torch.int16).numpy()
    else:
        array = plain.numpy().astype(element.little_endian)
    return pack(array, element) if tensor.layout is Layout.TILE else array.tobytes()
