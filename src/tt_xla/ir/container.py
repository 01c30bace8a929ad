"""The ``.ttnn`` file: a header, a document in MessagePack, and large constants as safetensors.

This module knows bytes only; :mod:`tt_xla.ir.program` says what the document holds. ``docs/program-format.md``
describes the format.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Any

from tt_xla.errors import ProgramFormatError
from tt_xla.ir.element_types import DataType, numpy_dtype

MAGIC = b"TTXLAPRG"
FORMAT_VERSION = 4

CONSTANT = "$constant"
"""Key of the attribute ``{"$constant": name}``, which stands for the bytes of a constant."""

HEADER_BYTES = 64
_ALIGNMENT = 64
"""The constants begin at a multiple of this many bytes."""


def pack(document: bytes, tensors: bytes) -> bytes:
    """Returns the bytes of a file.

    Args:
        document: the document in MessagePack.
        tensors: the constants in safetensors; empty without constants.
    """
    padding = bytes(_constants_offset(len(document)) - HEADER_BYTES - len(document)) if tensors else b""
    head = MAGIC + FORMAT_VERSION.to_bytes(4, "little") + bytes(4)
    head += len(document).to_bytes(8, "little") + len(tensors).to_bytes(8, "little")
    return b"".join((head, _digest(head, document, padding, tensors), document, padding, tensors))


def sections(data: bytes) -> tuple[bytes, bytes]:
    """Returns the document and the constants of a file after checking header, length and checksum.

    Returns:
        The document in MessagePack, and the constants in safetensors, empty without constants.

    Raises:
        ProgramFormatError: the bytes are cut, changed, of another format or of another version.
    """
    if data[:8] != MAGIC:
        raise ProgramFormatError(
            f"This is not a .ttnn program: it starts with {bytes(data[:8])!r}, expected {MAGIC!r}.",
            hint="Compile it again with `tt-xla compile`.",
        )
    version = int.from_bytes(data[8:12], "little")
    if version != FORMAT_VERSION:
        raise ProgramFormatError(
            f"This .ttnn program has format version {version}; this version of tt-xla reads {FORMAT_VERSION}.",
            hint="Compile it again with `tt-xla compile`.",
        )
    head, digest = data[:32], data[32:HEADER_BYTES]
    document_bytes, tensor_bytes = (int.from_bytes(head[offset : offset + 8], "little") for offset in (16, 24))
    start = _constants_offset(document_bytes) if tensor_bytes else HEADER_BYTES + document_bytes
    expected = start + tensor_bytes
    if len(data) != expected:
        raise ProgramFormatError(
            f"This .ttnn program is damaged: it has {len(data)} bytes, its header says {expected}.",
            hint="Copy the file again, or compile it again with `tt-xla compile`.",
        )
    if _digest(head, memoryview(data)[HEADER_BYTES:]) != digest:
        raise ProgramFormatError(
            f"This .ttnn program is damaged: the checksum of its {len(data)} bytes does not match.",
            hint="Copy the file again, or compile it again with `tt-xla compile`.",
        )
    return data[HEADER_BYTES : HEADER_BYTES + document_bytes], data[start:]


def _constants_offset(document_bytes: int) -> int:
    """Returns the offset of the constants in a file whose document has ``document_bytes`` bytes."""
    return -(-(HEADER_BYTES + document_bytes) // _ALIGNMENT) * _ALIGNMENT


def read_constants(tensors: bytes) -> dict[str, bytes]:
    """Returns the bytes of each constant by name.

    Raises:
        ValueError: ``tensors`` is not in safetensors.
    """
    from safetensors import SafetensorError, deserialize

    try:
        return {name: bytes(tensor["data"]) for name, tensor in deserialize(tensors)}
    except SafetensorError as error:
        raise ValueError(f"its constants are not safetensors: {error}") from error


def constant_name(value: Any) -> str | None:
    """Returns the name of the constant that an attribute of a stored document refers to; None for other attributes."""
    return value.get(CONSTANT) if isinstance(value, dict) else None  # pyright: ignore


def _digest(*pieces: bytes | memoryview) -> bytes:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.digest()


@dataclass
class Constants:
    """Constants that a file stores apart from its document; equal bytes are stored once."""

    names: dict[bytes, str] = field(default_factory=lambda: {})
    """Name of each constant by its bytes."""
    types: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=lambda: {})
    """NumPy type and shape of each constant by name."""

    def reference(self, value: bytes, shape: tuple[int, ...] | None, dtype: DataType | None) -> dict[str, str]:
        """Adds a constant and returns the attribute that stands for it, ``{"$constant": name}``.

        Args:
            value: little-endian elements.
            shape: shape of the tensor that has these elements; None where there is no such tensor.
            dtype: element type of that tensor. Constants of types that only the host has are stored as bytes.
        """
        name = self.names.setdefault(value, f"constant_{len(self.names)}")
        if name not in self.types:
            self.types[name] = ("uint8", (len(value),))
            if (
                shape is not None
                and dtype is not None
                and not dtype.is_host_only
                and math.prod(shape) * numpy_dtype(dtype.numpy).itemsize == len(value)
            ):
                self.types[name] = (dtype.numpy, shape)
        return {CONSTANT: name}

    def to_bytes(self) -> bytes:
        """Returns the constants in safetensors; empty without constants."""
        if not self.names:
            return b""
        import numpy as np
        from safetensors.numpy import save

        arrays: dict[str, Any] = {}
        for value, name in self.names.items():
            element, shape = self.types[name]
            arrays[name] = np.frombuffer(value, numpy_dtype(element)).reshape(shape)
        return save(arrays)
