"""Reads a ``.tensorbin`` file by its schema, so that tests need no ``ttnn``."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

TYPES = {0: "<u2", 1: "<f4", 2: "<u4", 5: "u1", 6: "<u2", 7: "<i4"}


class _Header:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def number(self, place: int) -> int:
        return int(struct.unpack_from("<I", self.data, place)[0])

    def follow(self, place: int) -> int:
        return place + self.number(place)

    def field(self, table: int, index: int) -> int:
        vtable = table - struct.unpack_from("<i", self.data, table)[0]
        place = struct.unpack_from("<H", self.data, vtable + 4 + 2 * index)[0]
        return table + int(place)

    def numbers(self, vector: int) -> list[int]:
        return [self.number(vector + 4 + 4 * index) for index in range(self.number(vector))]


def read(path: Path) -> np.ndarray[Any, Any]:
    """Returns the elements, bfloat16 as float32."""
    raw = path.read_bytes()
    (size,) = struct.unpack_from("<Q", raw)
    header = _Header(raw[8 : 8 + size])
    root = header.follow(0)
    spec = header.follow(header.field(root, 0))
    shape = header.numbers(header.follow(header.field(spec, 0)))
    kind = header.data[header.field(header.follow(header.field(spec, 1)), 0)]
    array = np.frombuffer(raw[8 + size :], TYPES[kind]).reshape(shape).copy()
    return (array.astype("<u4") << 16).view("<f4") if kind == 0 else array
