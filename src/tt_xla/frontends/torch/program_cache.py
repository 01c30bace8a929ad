"""Compiled programs kept in a folder across processes: ``xr.initialize_cache(folder)``."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tt_xla import __version__
from tt_xla.errors import OutputError, ProgramFormatError
from tt_xla.frontends.executables import pack_executable, parse_executable
from tt_xla.ir.program import Program
from tt_xla.log import logger

_STALE_S = 86_400
"""Seconds after which nobody writes a file any more that has not got its name yet."""


@dataclass(frozen=True)
class ProgramCache:
    """A folder with one executable (see :mod:`tt_xla.frontends.executables`) for each compiled graph.

    Attributes:
        readonly: programs are read from it and none is written.
    """

    folder: Path
    readonly: bool = False

    def load(self, key: object) -> Program | None:
        """The program compiled earlier for an equal key, if there is one; a damaged file counts as none."""
        path = self._path(key)
        try:
            return Program.from_bytes(parse_executable(path.read_bytes())[2])
        except FileNotFoundError:
            return None
        except (ProgramFormatError, OSError) as error:
            logger().warning("%s is not used: %s", path, error)
            return None

    def store(self, key: object, program: Program, modules: dict[str, str]) -> None:
        """Keeps a program and the text of its modules; readers see the whole file or none."""
        if self.readonly:
            return
        path = self._path(key)
        data = pack_executable(modules["ttir"], modules["ttnn"], program.to_bytes())
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder.parent, prefix=f".{self.folder.name}-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.replace(name, path)
            except BaseException:
                os.unlink(name)
                raise
        except OSError as error:
            logger().warning("%s is not written, the program is compiled again next time: %s", path, error)

    def clean(self) -> None:
        """Removes what processes left that were killed as they wrote, a day ago or longer."""
        with contextlib.suppress(OSError):
            for left in self.folder.parent.glob(f".{glob.escape(self.folder.name)}-*"):
                if left.stat().st_mtime < time.time() - _STALE_S:
                    left.unlink()

    def _path(self, key: object) -> Path:
        return self.folder / hashlib.sha256(repr((__version__, key)).encode()).hexdigest()


_cache: ProgramCache | None = None


def current() -> ProgramCache | None:
    """The cache of this process, if one was opened."""
    return _cache


def open_cache(path: str, readonly: bool = False) -> None:
    """Keeps compiled programs in the folder from here on, and takes those that are there already.

    Raises:
        OutputError: the folder cannot be made.
    """
    global _cache
    folder = Path(path).absolute()
    if not readonly:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"The folder {folder} for compiled programs cannot be made: {error}.") from error
    _cache = ProgramCache(folder, readonly)
    if not readonly:
        _cache.clean()


def close_cache() -> None:
    """Compiled programs are kept in this process alone from here on."""
    global _cache
    _cache = None
