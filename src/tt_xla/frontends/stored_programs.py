"""Compiled programs in the cache on disk, which all frontends share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from tt_xla import disk_cache
from tt_xla.compiler.recording import is_recording
from tt_xla.errors import ProgramFormatError
from tt_xla.ir.program import Program
from tt_xla.log import logger
from tt_xla.options import CompileOptions
from tt_xla.target import Target

KIND = "programs"
"""Kind of the entries."""

Record = Callable[[str, bytes], None]
"""Receives key and contents of an entry that this process reads or writes."""


def program_key(module_digest: str, options: CompileOptions, target: Target, devices: Sequence[int]) -> str:
    """Returns the key of a program.

    Args:
        module_digest: digest of the StableHLO module with its locations.
        options: compile options.
        target: the system.
        devices: number of the device at each position of the module's mesh; empty without a mesh.
    """
    return disk_cache.key_of([module_digest, options, target, [*devices]])


def is_used(options: CompileOptions) -> bool:
    """Returns whether programs with these options are stored.

    They are not if the cache is off, or if somebody asks for the stages of a compilation: an export, a recording, a log
    with the text of the modules.
    """
    asks_for_stages = options.export_path or options.generates_source or options.loads_source or is_recording()
    return not asks_for_stages and disk_cache.current() is not None and not logger().isEnabledFor(logging.DEBUG)


def stored(key: str, record: Record | None = None) -> Program | None:
    """Returns the program that was stored under a key, or None."""
    cache = disk_cache.current()
    contents = None if cache is None else cache.get(KIND, key)
    if contents is None:
        return None
    try:
        program = Program.from_bytes(contents)
    except ProgramFormatError as error:
        logger().warning("The program %s of the cache is not used: %s", key, error)
        return None
    if record is not None:
        record(key, contents)
    return program


def store(key: str, program: Program, record: Record | None = None) -> None:
    """Stores a program. A failure is a warning in the log."""
    cache = disk_cache.current()
    if cache is not None:
        contents = program.to_bytes()
        cache.put(KIND, key, contents)
        if record is not None:
            record(key, contents)


__all__ = ["KIND", "Record", "is_used", "program_key", "store", "stored"]
