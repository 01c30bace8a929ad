"""Writes TT-NN's tensor files (``.tensorbin``), which ``ttnn.load_tensor`` reads.

A file is the size of its header in eight bytes, the header, and the elements. The header is a FlatBuffer of the schema
``ttnn/core/tensor/flatbuffer`` in tt-metal, as TT-NN 0.81 writes it: shape and layout, the mesh, the shards, and their
distribution over the mesh.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_xla.ir.layout import TILE, DataType

SUFFIX = ".tensorbin"

ALIGNMENT = 64
"""Multiple of bytes at which the elements of a shard start."""

_INLINE_FILE_STORAGE, _SHARDED = 1, 1
_ROW_MAJOR, _TILE = 1, 2


class Table:
    """A table of a FlatBuffer.

    Args:
        fields: the fields in the order of the schema; a union is two fields, its type and its value. A field is a
            number, the bytes of a struct, a table, a sequence of numbers or of tables, or None when it is absent.
    """

    def __init__(self, *fields: Any) -> None:
        self.fields = fields

    def append_to(self, out: bytearray) -> int:
        """Appends the table, followed by everything that it refers to, and returns its offset."""
        _align(out, 4, before=4 + 2 * len(self.fields))
        vtable = len(out)
        start = vtable + 4 + 2 * len(self.fields)
        present = [field is not None for field in self.fields]
        places = [4 + 4 * sum(present[:index]) if present[index] else 0 for index in range(len(present))]
        out += struct.pack(f"<{2 + len(places)}H", start - vtable, 4 + 4 * sum(present), *places)
        out += struct.pack("<i", start - vtable) + bytes(4 * sum(present))
        for place, field in zip(places, self.fields, strict=True):
            if field is not None:
                value = field if isinstance(field, int) else _append(out, field) - (start + place)
                struct.pack_into("<I", out, start + place, value & 0xFFFFFFFF)
        return start


_REPLICATED = Table(None, -1)
"""Placement of a tensor that is replicated along a dimension of the mesh."""


def _append(out: bytearray, field: Any) -> int:
    """Appends the value of a field and returns its offset."""
    if isinstance(field, Table):
        return field.append_to(out)
    if isinstance(field, bytes):
        _align(out, 8)
        out += field
        return len(out) - len(field)
    _align(out, 4)
    start = len(out)
    numbers = [0 if isinstance(item, Table) else int(item) for item in field]
    out += struct.pack(f"<{1 + len(numbers)}I", len(numbers), *numbers)
    for index, item in enumerate(field):
        if isinstance(item, Table):
            place = start + 4 + 4 * index
            struct.pack_into("<I", out, place, item.append_to(out) - place)
    return start


def _align(out: bytearray, alignment: int, before: int = 0) -> None:
    """Pads so that the data after ``before`` more bytes is aligned."""
    out += bytes(-(len(out) + before) % alignment)


@dataclass(frozen=True)
class Distribution:
    """The shards of a tensor on a mesh, as a file describes them. By default there is one."""

    mesh: Sequence[int] = (1, 1)
    """Rows and columns of the mesh."""
    places: Sequence[Sequence[int]] = ((0, 0),)
    """Place of each shard's chip."""
    shape: Sequence[int] = (1,)
    """Number of parts along each axis of the distribution."""
    dims: Sequence[int | None] = (None,)
    """Dimension of the tensor that each axis splits; None for one along which it is replicated."""


ONE_CHIP = Distribution()


def header(
    shape: Sequence[int],
    dtype: DataType,
    shards: Sequence[tuple[int, int]],
    *,
    tiled: bool = False,
    over: Distribution = ONE_CHIP,
) -> bytes:
    """Returns the header of a tensor file, its size included.

    Args:
        shape: shape of a shard.
        dtype: its element type.
        shards: offset and bytes of the elements of each shard; chips with the same elements share them.
        tiled: whether the elements are in tiles; else they are in rows.
        over: the chips of the shards.
    """
    if tiled:
        layout = Table(dtype.ttnn_code, _TILE, Table(Table(TILE, TILE)), Table(), [TILE, TILE])
    else:
        layout = Table(dtype.ttnn_code, _ROW_MAJOR, Table(), Table(), [1])
    stored = [
        Table(_INLINE_FILE_STORAGE, struct.pack("<QQ", *storage), Table(list(place)))
        for storage, place in zip(shards, over.places, strict=True)
    ]
    placements = [_REPLICATED if dim is None else Table(_SHARDED, dim) for dim in over.dims]
    topology = Table(Table(list(over.shape)), placements, [Table(list(place)) for place in over.places])
    root = Table(Table(list(shape), layout), Table(list(over.mesh)), stored, topology)
    out = bytearray(4)
    struct.pack_into("<I", out, 0, root.append_to(out))
    _align(out, ALIGNMENT, before=8)
    return struct.pack("<Q", len(out)) + bytes(out)


def save(path: Path, array: Any, dtype: DataType) -> None:
    """Writes a NumPy array to a file, in rows; the elements of bfloat16 tensors are 16-bit integers."""
    with path.open("wb") as file:
        file.write(header(array.shape, dtype, [(0, array.nbytes)]))
        file.write(array.ravel().view("u1").data)  # unlike tofile, write reports why it failed
