"""Writes the files of a folder: all of them, or none; on request it keeps files of others."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import msgspec

from tt_xla.errors import OutputError

Content = bytes | Callable[[Path], object]
"""The bytes of a file, or a function that writes the file at a path."""

RECORD = ".tt-xla-files.json"
"""File with the SHA-256 of each file that was written to a folder whose other files are kept."""

_MOST_NAMED = 8


def publish(
    folder: Path, files: Mapping[str, Content], gone: Collection[str] = (), *, keep_others: bool = False
) -> None:
    """Writes ``files`` to ``folder`` in one step.

    The files are first written to a work folder on the same disk and then renamed, so a failure leaves the folder
    unchanged. Other files stay.

    Args:
        folder: the folder, which need not exist.
        files: contents by path relative to ``folder``.
        gone: names of top-level entries of which the files that were written here are removed; needs ``keep_others``.
        keep_others: whether to replace only files that were written here and are unchanged. Those that were written
            to the same top-level entries before are removed.

    Raises:
        OSError: the folder cannot be written, or other files are in these places.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "a file stands where a folder is to be written", str(folder))
    outdated: list[str] = []
    if keep_others:
        outdated = replaceable(folder, files, gone)
        kept = {name: digest for name, digest in recorded(folder).items() if name not in outdated}
        files = {**files, RECORD: functools.partial(_write_record, kept=kept)}
    # The parent of a folder that exists may be on another disk, or another user's.
    place = folder if folder.exists() else folder.parent
    try:
        place.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".tt-xla-", dir=place))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from error
    try:
        fresh, old = work / "new", work / "old"
        fresh.mkdir()
        for name, data in files.items():
            _write(fresh / name, data, folder / name)
        if not folder.exists():
            os.rename(fresh, folder)
        else:
            _swap(fresh, folder, old, sorted({*files, *outdated}))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def recorded(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 of each file that was written to a folder with ``keep_others``, by its path in the folder."""
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}


def replaceable(folder: Path, files: Collection[str], gone: Collection[str] = ()) -> list[str]:
    """Returns the files of a folder that :func:`publish` with ``keep_others`` would replace or remove.

    Args:
        folder: the folder.
        files: paths of the new files, relative to ``folder``.
        gone: names of top-level entries to remove; folders may have a record of their own.

    Raises:
        FileExistsError: a file in one of these places was not written by :func:`publish`, or was changed since.
    """
    entries = {*gone, *(name.partition("/")[0] for name in files)}
    known = {name: digest for name, digest in recorded(folder).items() if name.partition("/")[0] in entries}
    records: list[str] = []
    for entry in gone:
        inner = recorded(folder / entry)
        known |= {f"{entry}/{name}": digest for name, digest in inner.items()}
        records += [f"{entry}/{RECORD}"] if inner else []
    others = [name for name in sorted({*known, *files}) if _is_there(folder / name, known.get(name))]
    if others:
        more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
        named = ", ".join(others[:_MOST_NAMED]) + more
        words = f"tt-xla did not write what is there, or it was changed since: {named}"
        raise FileExistsError(errno.EEXIST, words, str(folder))
    return [name for name in (*known, *records) if (folder / name).is_file()]


def _is_there(path: Path, digest: str | None) -> bool:
    """Returns whether anything but a file of this digest is in a place, or a file where a folder belongs."""
    if not os.path.lexists(path):
        above = next(parent for parent in path.parents if os.path.lexists(parent))
        return not above.is_dir()
    return digest is None or path.is_symlink() or not path.is_file() or _digest(path) != digest


def _digest(path: Path) -> str:
    found = path.stat()
    return _digest_of(path.absolute(), found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=1024)  # large tensors are checked before a run and again after it
def _digest_of(path: Path, modified_ns: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_record(path: Path, kept: Mapping[str, str]) -> None:
    """Writes the record beside the files that it lists; ``kept`` has those that stay as they are."""
    folder = path.parent
    written = {each.relative_to(folder).as_posix(): _digest(each) for each in folder.rglob("*") if each.is_file()}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(dict(sorted({**kept, **written}.items())))) + b"\n")


def _swap(fresh: Path, folder: Path, old: Path, names: Collection[str]) -> None:
    """Moves files from ``fresh`` to ``folder`` and those in their places to ``old``, or restores the folder."""
    moves: list[tuple[Path, Path]] = []
    try:
        for name in names:
            for source, target in ((folder / name, old / name), (fresh / name, folder / name)):
                moves.append((source, target))
                _move(source, target)
    except BaseException:  # Interrupts restore the folder too.
        for source, target in reversed(moves):
            if not os.path.lexists(source):
                _move(target, source)
        raise
    finally:
        below = {above for name in names for above in (folder / name).parents if folder in above.parents}
        for empty in sorted(below, reverse=True):
            with contextlib.suppress(OSError):  # it has files
                empty.rmdir()


def _move(source: Path, target: Path) -> None:
    if os.path.lexists(source):
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(source, target)


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


def unused_folder(folder: Path, separator: str = "_") -> Path:
    """A folder that does not exist: this one, or one with a number after its name."""
    number, unused = 1, folder
    while unused.exists():
        number += 1
        unused = folder.with_name(f"{folder.name}{separator}{number}")
    return unused


def create_folder(folder: Path) -> Path:
    """Creates the folder of a command's results if it does not exist, and returns it.

    Raises:
        OutputError: the folder cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"The folder '{folder}' cannot be created: {error.strerror or error}.", hint="Give another folder with -o."
        ) from error
    return folder
