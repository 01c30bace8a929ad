"""Keeps compiled programs in a folder across processes: ``xr.initialize_cache(folder)``."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path

from tt_xla.disk_cache import key_of, remove_stale, write_atomically
from tt_xla.errors import OutputError, ProgramFormatError
from tt_xla.frontends.executables import pack_executable, parse_executable
from tt_xla.frontends.torch import session
from tt_xla.ir.program import Program
from tt_xla.log import logger


@dataclass(frozen=True)
class ProgramCache:
    """A folder with one executable (see :mod:`tt_xla.frontends.executables`) per compiled graph.

    Attributes:
        folder: the folder.
        readonly: whether programs are only read from it.
    """

    folder: Path
    readonly: bool = False

    def load(self, key: object) -> Program | None:
        """Returns the program that was compiled for an equal key, or None. A damaged file is logged and ignored."""
        path = self._path(key)
        try:
            return Program.from_bytes(parse_executable(path.read_bytes())[2])
        except FileNotFoundError:
            return None
        except (ProgramFormatError, OSError) as error:
            logger().warning("The cached program %s is not used: %s", path, error)
            return None

    def store(self, key: object, program: Program, modules: dict[str, str]) -> None:
        """Writes a program and the text of its modules. Readers see the whole file or none."""
        if self.readonly:
            return
        path = self._path(key)
        data = pack_executable(modules["ttir"], modules["ttnn"], program.to_bytes())
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data, self.folder.parent, f".{self.folder.name}-")
        except OSError as error:
            logger().warning(
                "The cached program %s is not written, so the next process compiles it again: %s", path, error
            )

    def clean(self) -> None:
        """Removes temporary files that are at least a day old: their processes were killed while they wrote."""
        remove_stale(self.folder.parent, f".{glob.escape(self.folder.name)}-*")

    def _path(self, key: object) -> Path:
        return self.folder / key_of([key])


class _Opened:
    """The session's open cache, or None."""

    cache: ProgramCache | None = None


def current() -> ProgramCache | None:
    """Returns the cache of the session, or None."""
    return session.current.part(_Opened).cache


def open_cache(path: str, readonly: bool = False) -> None:
    """Opens a folder as the cache of the session: programs are read from it, and written to it unless it is read-only.

    Raises:
        OutputError: the folder cannot be created.
    """
    folder = Path(path).absolute()
    if not readonly:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"The folder {folder} for compiled programs cannot be created: {error}.") from error
    session.current.part(_Opened).cache = cache = ProgramCache(folder, readonly)
    if not readonly:
        cache.clean()


def close_cache() -> None:
    """Closes the cache. Compiled programs are kept in this process alone from now on."""
    session.current.part(_Opened).cache = None
