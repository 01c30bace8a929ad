"""The cache on disk: entries that processes share, found again by key.

``TTXLA_CACHE`` selects the folder or turns the cache off; ``tt-xla cache`` shows and empties it. An entry is one file
with a checksum. It is written under a temporary name and renamed, so a reader sees a whole entry or none, and a process
that is killed leaves at most a temporary file. An entry that is truncated or altered counts as absent and is removed. A
write that fails costs a warning. When the folder holds more bytes than :data:`LIMIT_BYTES`, the entries that were used
least recently are removed. No lock is needed: two processes that write the same entry write equal contents.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from tt_xla.environment import disk_cache_directory
from tt_xla.log import logger

LIMIT_BYTES = 4 << 30
"""Size of the entries of all kinds that the cache keeps."""

KINDS = ("frames", "fused", "graphs", "loaders", "made", "programs")
"""Kinds of entries: functions that dynamo traced, libraries of fused kernels, traced graphs of earlier versions of this
package, which are now in PyTorch's cache, variants of model loaders, programs whose fused kernels were made, compiled
programs."""

_MAGIC = b"TTXLAC01"
_TRAILER_BYTES = hashlib.sha256().digest_size + len(_MAGIC)
"""Bytes of checksum and magic, which follow the contents: the file of a library is still a library."""

_TEMPORARY = ".unfinished-"
_STALE_S = 86_400
"""Age in seconds from which a temporary file belongs to a process that no longer runs."""

_PACKAGES = ("torch", "jax", "jaxlib", "xdsl", "numpy")


def write_atomically(path: Path, data: bytes, temporary: Path, prefix: str) -> None:
    """Writes a file so that readers see the old contents or the new ones, and never a part.

    Args:
        path: the file.
        data: its new contents.
        temporary: folder, on the same file system, of the temporary file.
        prefix: first characters of the temporary file's name.

    Raises:
        OSError: the file cannot be written; the temporary file is removed.
    """
    handle, name = tempfile.mkstemp(dir=temporary, prefix=prefix)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def remove_stale(folder: Path, pattern: str) -> None:
    """Removes temporary files that are at least a day old: the processes that wrote them were killed."""
    with contextlib.suppress(OSError):
        for path in folder.glob(pattern):
            if path.stat().st_mtime < time.time() - _STALE_S:
                path.unlink()


@dataclass(frozen=True)
class Kept:
    """The number and the size of the entries of one kind.

    Attributes:
        kind: name of the kind.
        entries: number of entries.
        size: their bytes on disk.
    """

    kind: str
    entries: int
    size: int


@dataclass
class DiskCache:
    """A folder of entries, with one folder for each kind.

    Attributes:
        folder: the folder; the first write creates it.
        limit: number of bytes that the entries of all kinds may have.
    """

    folder: Path
    limit: int = LIMIT_BYTES
    _written: int = field(default=-1)
    """Bytes written since the size of the folder was last checked; -1 before the first check."""
    _warned: bool = field(default=False)

    def get(self, kind: str, key: str) -> bytes | None:
        """Returns the contents of an entry, or None if there is no such entry or its file is damaged."""
        return self._read(self.folder / kind / key)

    def file(self, kind: str, key: str) -> Path | None:
        """Returns the file of an entry, which begins with its contents, or None as :meth:`get` does."""
        path = self.folder / kind / key
        return None if self._read(path) is None else path

    def candidates(self, kind: str, key: str) -> Iterator[bytes]:
        """Yields the contents of all entries that were stored with :meth:`add` under a key."""
        with contextlib.suppress(OSError):
            for path in sorted((self.folder / kind).glob(f"{key}.*")):
                contents = self._read(path)
                if contents is not None:
                    yield contents

    def put(self, kind: str, key: str, contents: bytes) -> None:
        """Stores an entry and replaces an older one of the same key. A failure is a warning in the log."""
        path = self.folder / kind / key
        data = b"".join((contents, hashlib.sha256(contents).digest(), _MAGIC))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data, path.parent, _TEMPORARY)
        except OSError as error:
            log = logger().debug if self._warned else logger().warning
            self._warned = True
            log("The cache entry %s is not written, so the next process makes it again: %s", path, error)
            return
        self._bound(len(data))

    @contextlib.contextmanager
    def alone(self, kind: str) -> Iterator[None]:
        """Waits until no other process is in here for a kind of entries, where the system can tell."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(ImportError, OSError):  # no such locks on Windows, or a folder for reading alone
                import fcntl

                self.folder.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context((self.folder / f".{kind}.lock").open("w"))
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def add(self, kind: str, key: str, contents: bytes) -> None:
        """Stores one of several entries of a key, for :meth:`candidates`."""
        self.put(kind, f"{key}.{hashlib.sha256(contents).hexdigest()[:16]}", contents)

    def kept(self) -> list[Kept]:
        """Returns the number of entries and their size by kind, in the order of the names."""
        sizes: dict[str, list[int]] = {}
        for _, size, path in self._files():
            sizes.setdefault(path.parent.name, []).append(size)
        return [Kept(kind, len(of_kind), sum(of_kind)) for kind, of_kind in sorted(sizes.items())]

    def clear(self) -> None:
        """Removes all entries. Entries that cannot be removed stay."""
        for _, _, path in self._files(everything=True):
            with contextlib.suppress(OSError):
                path.unlink()

    def _read(self, path: Path) -> bytes | None:
        try:
            data = path.read_bytes()
        except OSError:
            return None
        contents = data[:-_TRAILER_BYTES]
        if data[-_TRAILER_BYTES:] != hashlib.sha256(contents).digest() + _MAGIC:
            logger().warning("The cache entry %s is damaged and is made again.", path)
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the time of the last use, for the order of removal
        return contents

    def _files(self, everything: bool = False) -> list[tuple[float, int, Path]]:
        """Returns time of the last use, size and path of each entry; with ``everything``, of temporary files too."""
        files: list[tuple[float, int, Path]] = []
        with contextlib.suppress(OSError):
            paths = [path for kind in KINDS for path in (self.folder / kind).glob("*")]
            for path in paths:
                if everything or not path.name.startswith("."):
                    with contextlib.suppress(OSError):  # another process may have removed it
                        status = path.stat()
                        files.append((status.st_mtime, status.st_size, path))
        return files

    def _bound(self, size: int) -> None:
        """Removes the entries used least recently if the entries are too large together.

        Args:
            size: bytes that were just written. The folder is listed once a process, and again when the process has
                written a twentieth of the limit.
        """
        if self._written >= 0 and self._written + size < self.limit // 20:
            self._written += size
            return
        self._written = 0
        for kind in KINDS:
            remove_stale(self.folder / kind, f"{_TEMPORARY}*")
        files = self._files()
        total = sum(size for _, size, _ in files)
        for _, of_file, path in sorted(files):
            if total <= self.limit:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                total -= of_file


_opened: dict[Path, DiskCache] = {}


def current() -> DiskCache | None:
    """Returns the cache that ``TTXLA_CACHE`` selects; None if it is off."""
    folder = disk_cache_directory()
    if folder is None:
        return None
    if folder not in _opened:
        _opened[folder] = DiskCache(folder)
    return _opened[folder]


salt = ""
"""Text that is part of every key. Tests set it, so that no test is served by the entries of another."""


def key_of(parts: Sequence[object]) -> str:
    """Returns the key of an entry: a digest of the parts, of this package's sources and of the versions it runs with.

    Args:
        parts: objects whose ``repr`` tells everything else that the entry depends on.
    """
    return hashlib.sha256(repr((salt, version_digest(), *parts)).encode()).hexdigest()


@functools.cache
def version_digest() -> str:
    """Returns a digest of this package's sources and of the versions of Python and the packages that it uses."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".c", ".h", ".cpp", ".json", ".toml", ".yaml", ".csv", ".so"):
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
    versions = [sys.version, sys.byteorder]
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{package} {metadata.version(package)}")
    digest.update(repr(versions).encode())
    return digest.hexdigest()


__all__ = [
    "KINDS",
    "LIMIT_BYTES",
    "DiskCache",
    "Kept",
    "current",
    "key_of",
    "remove_stale",
    "version_digest",
    "write_atomically",
]
