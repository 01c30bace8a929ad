"""Files of a benchmark of ranks: those of each rank in a folder of its own, and the timeline and figures of all."""

from __future__ import annotations

import json
from pathlib import Path

from tt_xla.profiling.bench import measure
from tt_xla.profiling.bench_files import CSV_NAME, JSON_NAME, write_all
from tt_xla.profiling.ops_csv import write_ops
from tt_xla.profiling.profile import TRACE_NAME
from tt_xla.profiling.ranks.bench import RanksBench
from tt_xla.profiling.ranks.launch import Ranks
from tt_xla.profiling.ranks.timeline import Timeline
from tt_xla.profiling.ranks.trace import write_trace_of_ranks
from tt_xla.publish import create_folder


def write_ranks(folder: Path, ranks: Ranks, timeline: Timeline, result: RanksBench | None, steps: int) -> None:
    """Writes all files of a benchmark into an existing folder.

    Args:
        folder: the folder, which gets a folder ``rank_N`` for each rank.
        ranks: the ranks.
        timeline: their timeline.
        result: the figures of all; None if a rank has no steady steps, so that there is only a timeline and the table.
        steps: number of steady steps.
    """
    if result is not None:
        for rank in ranks.ranks:
            own = create_folder(folder / f"rank_{rank.number}")
            write_all(own, rank.recording, measure(rank.recording, steps))
        (folder / JSON_NAME).write_text(json.dumps(result.as_dict(), indent=1) + "\n")
    calls = {rank: [placed.kernel for placed in own] for rank, own in timeline.ranks.items()}
    write_ops(folder / CSV_NAME, ranks.ranks[0].recording.signposts, calls)
    write_trace_of_ranks(folder / TRACE_NAME, ranks, timeline)
