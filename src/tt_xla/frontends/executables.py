"""Executables as upstream's plugin serialises them: TTIR, TTNN and program in one file.

The file is the magic ``TTSERv00``, three pairs (offset, size) of little-endian 64-bit numbers, and the three parts:
the text of the TTIR module, of the TTNN module, and the program. Offsets count from the end of the pairs.
"""

from __future__ import annotations

import io
import struct
from typing import BinaryIO

from tt_xla.errors import ProgramFormatError

MAGIC = b"TTSERv00"
_PAIRS = struct.Struct("<6Q")
_HINT = "Delete the file; it is written again when the program is compiled."


def pack_executable(ttir: str, ttnn: str, program: bytes) -> bytes:
    """The bytes of the file; ``program`` is what a ``.ttnn`` file holds."""
    parts = [ttir.encode(), ttnn.encode(), program]
    pairs: list[int] = []
    offset = 0
    for part in parts:
        pairs += [offset, len(part)]
        offset += len(part)
    return b"".join((MAGIC, _PAIRS.pack(*pairs), *parts))


def parse_executable(executable_io: BinaryIO | bytes) -> tuple[str, str, bytes]:
    """The TTIR module, the TTNN module and the program of a serialised executable.

    Raises:
        ProgramFormatError: the bytes do not begin with the magic, or are cut off.
    """
    stream = io.BytesIO(executable_io) if isinstance(executable_io, bytes) else executable_io
    head = stream.read(len(MAGIC) + _PAIRS.size)
    if not head.startswith(MAGIC):
        raise ProgramFormatError(
            f"Invalid magic number in extracted payload: {head[: len(MAGIC)]!r} in place of {MAGIC!r}.", hint=_HINT
        )
    if len(head) < len(MAGIC) + _PAIRS.size:
        raise ProgramFormatError(f"The executable ends after {len(head)} bytes, in its header.", hint=_HINT)
    numbers = _PAIRS.unpack(head[len(MAGIC) :])
    body = stream.read()
    parts: list[bytes] = []
    for name, offset, size in zip(("TTIR", "TTNN", "program"), numbers[::2], numbers[1::2], strict=True):
        part = body[offset : offset + size]
        if len(part) != size:
            raise ProgramFormatError(
                f"The executable is cut off: its {name} has {size} bytes from {offset}, its body {len(body)}.",
                hint=_HINT,
            )
        parts.append(part)
    ttir, ttnn, program = parts
    try:
        return ttir.decode(), ttnn.decode(), program
    except UnicodeDecodeError as error:
        raise ProgramFormatError(f"A module of the executable is not text: {error}.", hint=_HINT) from error
