"""Starts the ranks of a script by torchrun, each of which records itself, and reads their recordings."""

from __future__ import annotations

import pickle
import tempfile
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_xla.errors import EmptyRecordingError, OptionError
from tt_xla.profiling.recording import Recording
from tt_xla.profiling.scripts import check_exists


@dataclass(frozen=True)
class Rank:
    """One rank of this host."""

    number: int
    """Its number among all ranks."""
    chip: int
    """Number of its device among those of the host."""
    recording: Recording


@dataclass(frozen=True)
class Ranks:
    """The ranks of this host, and how their script ended."""

    ranks: list[Rank]
    """The ranks that left a recording, in order."""
    error: str
    """The error of the first rank that ended early, with its number; empty if none did."""

    @property
    def system(self) -> str:
        """Name of the system that they ran on; empty if nothing ran."""
        return next((rank.recording.programs[0].target.name for rank in self.ranks if rank.recording.programs), "")


def run_ranks(arguments: Sequence[str], *, steps: int = 0) -> Ranks:
    """Runs a script by torchrun, and returns the recordings of the ranks of this host, however the script ends.

    Args:
        arguments: torchrun's arguments: its options, the script, and the script's arguments.
        steps: number of steady steps after which the ranks end the script; 0 to run it to its end.

    Raises:
        OptionError: the script does not exist, or torchrun is not to start Python; torchrun prints what is wrong with
            its own options and ends the process.
        EmptyRecordingError: no rank left a recording.
    """
    import torch.distributed.run as torchrun

    options = torchrun.parse_args([*arguments])
    if options.no_python:
        raise OptionError(
            f"torchrun is to start '{options.training_script}', which is no Python script (--no-python).",
            hint="Leave out --no-python and name the script: its ranks are recorded within Python.",
        )
    check_exists(options.training_script, as_module=options.module)
    with tempfile.TemporaryDirectory(prefix="tt-xla-ranks-") as name:
        folder = Path(name)
        kind = "module" if options.module else "script"
        options.training_script_args = [
            *(name, str(steps), kind, options.training_script),
            *options.training_script_args,
        ]
        options.module, options.run_path, options.training_script = True, False, "tt_xla.profiling.ranks.process"
        ended = _run(torchrun, options)
        ranks = sorted(map(_read, folder.glob("*.pickle")), key=lambda rank: rank.number)
    if not ranks:
        raise EmptyRecordingError(f"No rank left a recording{f' ({ended})' if ended else ''}.")
    return Ranks(ranks, _first_error(ranks) or ended)


def _run(torchrun: Any, options: Any) -> str:
    """Runs torchrun in this process and returns what ended it early; empty if all ranks ended well."""
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    try:
        torchrun.run(options)
    except ChildFailedError as error:
        number, failure = error.get_first_failure()
        return f"rank {number} ended with exit status {failure.exitcode}"
    except (SignalException, KeyboardInterrupt) as error:
        return f"{type(error).__name__}: {error}".rstrip(": ")
    return ""


def _read(path: Path) -> Rank:
    return Rank(*pickle.loads(path.read_bytes()))  # the rank's process wrote it into our own folder


def read_only(table: dict[Any, Any]) -> types.MappingProxyType[Any, Any]:
    """Returns a table that nobody can change, as targets have them; recordings call this when they are read."""
    return types.MappingProxyType(table)


def _first_error(ranks: Sequence[Rank]) -> str:
    """Returns the error of the rank that ended first of those that ended early; empty if there is none."""
    failed = [rank for rank in ranks if rank.recording.error]
    if not failed:
        return ""
    first = min(failed, key=lambda rank: rank.recording.ended)
    return f"rank {first.number}: {first.recording.error}"
