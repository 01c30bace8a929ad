"""Packs and parses executables in the format of upstream's plugin: TTIR, TTNN and program in one file.

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
_HINT = "Delete the file. It is written again when the program is compiled."


def pack_executable(ttir: str, ttnn: str, program: bytes) -> bytes:
    """Returns the bytes of the file.

    Args:
        ttir: text of the TTIR module.
        ttnn: text of the TTNN module.
        program: the program as in a ``.ttnn`` file.
    """
    sections = [ttir.encode(), ttnn.encode(), program]
    pairs: list[int] = []
    offset = 0
    for section in sections:
        pairs += [offset, len(section)]
        offset += len(section)
    return b"".join((MAGIC, _PAIRS.pack(*pairs), *sections))


def parse_executable(executable_io: BinaryIO | bytes) -> tuple[str, str, bytes]:
    """Returns the TTIR module, the TTNN module and the program of a serialised executable.

    Raises:
        ProgramFormatError: the bytes do not begin with the magic, are truncated, or hold a module that is not text.
    """
    stream = io.BytesIO(executable_io) if isinstance(executable_io, bytes) else executable_io
    head = stream.read(len(MAGIC) + _PAIRS.size)
    if not head.startswith(MAGIC):
        raise ProgramFormatError(
            f"Invalid magic number in extracted payload: {head[: len(MAGIC)]!r}, expected {MAGIC!r}.", hint=_HINT
        )
    if len(head) < len(MAGIC) + _PAIRS.size:
        raise ProgramFormatError(
            f"The executable is truncated: it ends after {len(head)} bytes, in its header.", hint=_HINT
        )
    numbers = _PAIRS.unpack(head[len(MAGIC) :])
    body = stream.read()
    sections: list[bytes] = []
    for name, offset, size in zip(("TTIR", "TTNN", "program"), numbers[::2], numbers[1::2], strict=True):
        section = body[offset : offset + size]
        if len(section) != size:
            raise ProgramFormatError(
                f"The executable is truncated: its {name} part has {size} bytes at offset {offset}, but its body has "
                f"{len(body)}.",
                hint=_HINT,
            )
        sections.append(section)
    ttir, ttnn, program = sections
    try:
        return ttir.decode(), ttnn.decode(), program
    except UnicodeDecodeError as error:
        raise ProgramFormatError(f"A module of the executable is not text: {error}.", hint=_HINT) from error
