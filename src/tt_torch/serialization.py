"""Reads what ``xr.initialize_cache(folder)`` stores of a compiled model: its TTIR, its TTNN and its program.

xr.initialize_cache("cache"); model(x)
ttir, ttnn, program = parse_compiled_artifacts_from_cache("cache")
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tt_xla.frontends.executables import parse_executable


def parse_compiled_artifacts_from_cache(cache_path: str | os.PathLike[str]) -> tuple[str, str, bytes]:
    """Returns the only graph in the cache folder: its TTIR text, its TTNN text and its ``.ttnn`` program.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: the path is no folder, or the folder is empty.
        AssertionError: the folder holds more than one file; ``ttxla_tools.parse_executable`` reads a single one.
        ProgramFormatError: the file is no executable.
    """
    folder = Path(cache_path)
    if not folder.exists():
        raise FileNotFoundError(f"Cache path does not exist: {cache_path}")
    if not folder.is_dir():
        raise ValueError(f"Cache path is not a directory: {cache_path}")
    files = sorted(path for path in folder.iterdir() if path.is_file())
    if not files:
        raise ValueError(f"No files found in cache directory: {cache_path}")
    if len(files) > 1:
        raise AssertionError(
            f"Expected exactly one file in cache directory {cache_path}, found {len(files)}: "
            f"{[path.name for path in files]}. Read one with ttxla_tools.parse_executable."
        )
    return parse_executable(files[0].read_bytes())


def parse_compiled_artifacts_from_cache_to_disk(cache_path: str | os.PathLike[str], output_prefix: str) -> None:
    """Writes ``<output_prefix>_ttir.mlir``, ``<output_prefix>_ttnn.mlir`` and ``<output_prefix>.ttnn``.

    Then removes the cache folder, as upstream does.

    Raises:
        FileNotFoundError, ValueError, AssertionError: see :func:`parse_compiled_artifacts_from_cache`.
    """
    ttir, ttnn, program = parse_compiled_artifacts_from_cache(cache_path)
    Path(output_prefix).parent.mkdir(parents=True, exist_ok=True)
    Path(f"{output_prefix}_ttir.mlir").write_text(ttir)
    Path(f"{output_prefix}_ttnn.mlir").write_text(ttnn)
    Path(f"{output_prefix}.ttnn").write_bytes(program)
    shutil.rmtree(cache_path)


__all__ = ["parse_compiled_artifacts_from_cache", "parse_compiled_artifacts_from_cache_to_disk"]
