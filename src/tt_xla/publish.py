"""Writing a folder's files all or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

Content = bytes | Callable[[Path], object]
"""A file's bytes, or what writes it at the path that it is given."""


def publish(folder: Path, files: Mapping[str, Content], gone: Collection[str] = ()) -> None:
    """Puts ``files``, by path relative to ``folder``, there in one step.

    They are written beside it and then renamed, so a failure leaves neither a part of them nor a changed folder. The
    top-level entries they make replace those of the same name; others in ``folder`` stay, but for those ``gone``.

    Raises:
        OSError: the folder cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(20, "it is a file, and a folder is to be written there", str(folder))
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
    """Moves each entry of ``fresh`` to ``folder``; puts all back as it was when one cannot be moved."""
    moved: list[str] = []
    try:
        for name in sorted({*gone, *(entry.name for entry in fresh.iterdir())}):
            if (folder / name).exists():
                os.rename(folder / name, old / name)
            moved.append(name)
            if (fresh / name).exists():
                os.rename(fresh / name, folder / name)
    except BaseException:  # an interrupt, too
        for name in moved:
            if (folder / name).exists():
                os.rename(folder / name, fresh / name)
            if (old / name).exists():
                os.rename(old / name, folder / name)
        raise


def _write(path: Path, data: Content, wanted: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            data(path)
    except OSError as error:
        if error.filename is None:  # as of a full disk
            raise OSError(error.errno, error.strerror, str(wanted)) from error
        raise
