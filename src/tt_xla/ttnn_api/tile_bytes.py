"""The bytes of tensors in tiles: tile after tile, of each its four faces of 16 by 16 elements.

A tile of block floats starts with a byte for each row of a face, the exponent that its 16 elements share. An element is
its sign and a mantissa whose first bit counts the exponent's power of two: seven bits in bfloat8_b, three in bfloat4_b.
Two elements of bfloat4_b share a byte, the first in its low half (tt-metal's ``tech_reports/data_formats``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import TILE

Array = np.ndarray[Any, Any]

FACE = 16
_EXPONENTS = TILE * TILE // FACE
_MANTISSA_BITS = {DataType.BFP_BF8: 7, DataType.BFP_BF4: 3}
_BIAS = 127


def _grid(shape: Sequence[int]) -> tuple[int, int, int]:
    """Returns the number of matrices, and of rows and columns of tiles of each."""
    rows, columns = ((1, 1), *((1, size) for size in shape[-1:]))[-1] if len(shape) < 2 else shape[-2:]
    return math.prod(shape[:-2]), -(-rows // TILE), -(-columns // TILE)


def _in_faces(array: Array) -> Array:
    """Returns the elements as [tiles, rows of faces, 16], padded with zeros to whole tiles."""
    shape = array.shape
    count, rows, columns = _grid(shape)
    matrices = array.reshape(count, *((1,) * (2 - len(shape))), *shape[-2:])
    missing = (rows * TILE - matrices.shape[1], columns * TILE - matrices.shape[2])
    padded = np.pad(matrices, [(0, 0), (0, missing[0]), (0, missing[1])])
    faces = padded.reshape(count, rows, 2, FACE, columns, 2, FACE).transpose(0, 1, 4, 2, 5, 3, 6)
    return faces.reshape(-1, _EXPONENTS, FACE)


def _from_faces(faces: Array, shape: Sequence[int]) -> Array:
    """Returns the tensor of a shape from its elements as [tiles, rows of faces, 16]."""
    count, rows, columns = _grid(shape)
    turned = faces.reshape(count, rows, columns, 2, 2, FACE, FACE).transpose(0, 1, 3, 5, 2, 4, 6)
    matrices = turned.reshape(count, rows * TILE, columns * TILE)
    height = shape[-2] if len(shape) > 1 else 1
    width = shape[-1] if shape else 1
    return np.ascontiguousarray(matrices[:, :height, :width]).reshape(tuple(shape))


def pack(array: Array, dtype: DataType) -> bytes:
    """Returns the bytes of a tensor; block floats are passed as float32 that the format holds."""
    faces = _in_faces(array)
    if dtype not in _MANTISSA_BITS:
        return faces.tobytes()
    bits = _MANTISSA_BITS[dtype]
    _, powers = np.frexp(np.abs(faces).max(-1, keepdims=True))
    exponents = np.where(faces.any(-1, keepdims=True), powers - 1 + _BIAS, 0).clip(0, 255)
    mantissas = np.abs(np.ldexp(faces.astype(np.float64), bits - 1 + _BIAS - exponents)).astype(np.uint8)
    elements = (np.signbit(faces) & (mantissas != 0)).astype(np.uint8) << bits | mantissas
    elements = elements.reshape(len(faces), -1)
    if bits == _MANTISSA_BITS[DataType.BFP_BF4]:
        elements = elements[:, ::2] | elements[:, 1::2] << 4
    return np.concatenate([exponents.astype(np.uint8).reshape(len(faces), -1), elements], -1).tobytes()


def unpack(data: bytes, dtype: DataType, shape: Sequence[int]) -> Array:
    """Returns the tensor of bytes; block floats as float32."""
    if dtype not in _MANTISSA_BITS:
        return _from_faces(np.frombuffer(data, dtype.little_endian), shape)
    bits = _MANTISSA_BITS[dtype]
    tiles = np.frombuffer(data, np.uint8).reshape(-1, dtype.tile_bytes)
    exponents, elements = tiles[:, :_EXPONENTS], tiles[:, _EXPONENTS:]
    if bits == _MANTISSA_BITS[DataType.BFP_BF4]:
        elements = np.stack([elements & 15, elements >> 4], -1)
    elements = elements.reshape(-1, _EXPONENTS, FACE)
    mantissas = (elements & (1 << bits) - 1).astype(np.float64)
    values = np.ldexp(mantissas, exponents[..., None].astype(np.int32) - _BIAS - bits + 1)
    return _from_faces(np.where(elements >> bits, -values, values).astype(np.float32), shape)
