"""Writes the profile of the ranks that torchrun starts, in the files of a profile of one process."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from tt_xla.profiling.profile import Contents, Profile, describe, write_profile
from tt_xla.profiling.ranks.launch import run_ranks
from tt_xla.profiling.ranks.timeline import align
from tt_xla.profiling.ranks.trace import write_trace_of_ranks


def profile_ranks(
    arguments: Sequence[str], folder: Path, *, report: bool = True, name: str = "", keep_partial: bool = True
) -> Profile:
    """Runs a script by torchrun and writes the profile of its ranks, also if one of them fails.

    The device of a row is the number of its rank; signposts are those of the first rank.

    Args:
        arguments: torchrun's arguments.
        folder: output folder.
        report, name, keep_partial: as for :func:`.write_profile`.

    Raises:
        OptionError: as for :func:`.run_ranks`, or the name has a slash.
        EmptyRecordingError: no rank left a recording.
        OutputError: the folder cannot be created.
    """

    def contents() -> Contents:
        ranks = run_ranks(arguments)
        timeline = align({rank.number: rank.recording for rank in ranks.ranks})
        calls = {rank: [placed.kernel for placed in own] for rank, own in timeline.ranks.items()}
        done = "; ".join(f"rank {rank.number}: {describe(rank.recording)}" for rank in ranks.ranks)
        trace = functools.partial(write_trace_of_ranks, ranks=ranks, timeline=timeline)
        return Contents(calls, ranks.ranks[0].recording.signposts, trace, ranks.error, done)

    return write_profile(folder, contents, report=report, name=name, keep_partial=keep_partial)
