"""Runs a script as one rank of torchrun and writes its recording: ``python -m`` of this module, by :mod:`.launch`."""

from __future__ import annotations

import pickle
import sys
import types
import weakref
from pathlib import Path
from typing import Any

from tt_xla.environment import launched_process
from tt_xla.profiling.ranks.launch import read_only
from tt_xla.profiling.recording import Recording
from tt_xla.profiling.scripts import run_recorded
from tt_xla.profiling.steps import Enough

_STOPPED = "stopped"


class _EnoughOnAll:
    """Returns true once all ranks of this host have enough steady steps; each leaves a file when it has.

    Args:
        folder: the folder of the ranks.
        own: number of this rank among those of the host.
        size: number of ranks of the host.
        steps: number of steady steps.
    """

    def __init__(self, folder: Path, own: int, size: int, steps: int) -> None:
        self._here = Enough(steps)
        self._own = folder / f"enough-{own}"
        self._all = [folder / f"enough-{number}" for number in range(size)]
        self._stopped = folder / _STOPPED
        self._has_enough = False

    def __call__(self, recording: Recording) -> bool:
        if not self._has_enough:
            self._has_enough = self._here(recording)
            if self._has_enough:
                self._own.touch()
        if not (self._has_enough and all(path.exists() for path in self._all)):
            return False
        self._stopped.touch()
        return True


class _Pickler(pickle.Pickler):
    """Writes the read-only tables of targets too, and leaves out optimizers."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.MappingProxyType):
            return read_only, (dict(obj),)
        return (weakref.WeakSet, ()) if isinstance(obj, weakref.WeakSet) else NotImplemented


def main(folder: Path, steps: int, as_module: bool, script: str, *arguments: str) -> int:
    """Runs a script as this rank, and writes its recording to ``RANK.pickle`` in a folder.

    Args:
        folder: the folder of all ranks of this host.
        steps: number of steady steps after which the ranks end the script; 0 to run it to its end.
        as_module: whether the script is the name of a module.
        script: path of the script, or name of the module.
        arguments: arguments of the script.

    Returns:
        The exit status: 1 if the script ended early.
    """
    own = launched_process()
    assert own is not None, "torchrun starts this module"
    enough = _EnoughOnAll(folder, own.local_rank, own.local_size, steps) if steps else None
    # A rank that has stopped answers no collective any more, which ends the others.
    recording = run_recorded(script, arguments, as_module=as_module, enough=enough, stopped=(folder / _STOPPED).exists)
    for compilation in recording.compilations:
        compilation.error = compilation.program = compilation.options = None
    unfinished = folder / f"{own.rank}.part"
    with unfinished.open("wb") as file:
        _Pickler(file).dump((own.rank, own.local_rank, recording))
    unfinished.rename(folder / f"{own.rank}.pickle")
    return 1 if recording.error else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "module", *sys.argv[4:]))
