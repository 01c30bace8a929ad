"""Writes the files of a folder: all of them, or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

Content = bytes | Callable[[Path], object]
"""The bytes of a file, or a function that writes the file at a path."""


def publish(folder: Path, files: Mapping[str, Content], gone: Collection[str] = ()) -> None:
    """Writes ``files`` to ``folder`` in one step.

    The files are first written beside the folder and then renamed, so a failure leaves the folder unchanged. Their
    top-level entries replace those of the same name; other entries stay, except those in ``gone``.

    Args:
        folder: the folder, which need not exist.
        files: contents by path relative to ``folder``.
        gone: names of top-level entries to remove.

    Raises:
        OSError: the folder cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(20, "a file stands where a folder is to be written", str(folder))
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.resolve().parent))
    try:
        fresh, old = work / "new", work / "old"
        fresh.mkdir()
        for name, data in files.items():
            _write(fresh / name, data, folder / name)
        if not folder.exists():
            os.rename(fresh, folder)
            return
        old.mkdir()
        _swap(fresh, folder, old, gone)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _swap(fresh: Path, folder: Path, old: Path, gone: Collection[str]) -> None:
    """Moves each entry of ``fresh`` to ``folder``; if one cannot be moved, restores the folder."""
    moved: list[str] = []
    try:
        for name in sorted({*gone, *(entry.name for entry in fresh.iterdir())}):
            if (folder / name).exists():
                os.rename(folder / name, old / name)
            moved.append(name)
            if (fresh / name).exists():
                os.rename(fresh / name, folder / name)
    except BaseException:  # Interrupts restore the folder too.
        for name in moved:
            if (folder / name).exists():
                os.rename(folder / name, fresh / name)
            if (old / name).exists():
                os.rename(old / name, folder / name)
        raise


def _write(path: Path, data: Content, final_path: Path) -> None:
    """Writes a file; an error without a file name, such as that of a full disk, gets ``final_path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            data(path)
    except OSError as error:
        if error.filename is None:
            raise OSError(error.errno, error.strerror, str(final_path)) from error
        raise
