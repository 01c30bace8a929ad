"""Writes the timeline of ranks as Chrome trace events: a group of tracks for each rank, and one for the links."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tt_xla.profiling.chrome_trace import device_slice
from tt_xla.profiling.communication import links_of_ranks
from tt_xla.profiling.ranks.launch import Ranks
from tt_xla.profiling.ranks.timeline import Collective, Placed, Timeline
from tt_xla.profiling.recording import Signpost

_LINKS = 1
_FIRST_RANK = 2
_KERNELS, _WAITS, _SIGNPOSTS = 1, 2, 3

Event = dict[str, Any]


def write_trace_of_ranks(path: Path, ranks: Ranks, timeline: Timeline) -> None:
    """Writes the timeline of all ranks, whose times are microseconds of predicted device time.

    Args:
        path: the file.
        ranks: the ranks.
        timeline: their timeline.
    """
    events: list[Event] = []
    for rank in ranks.ranks:
        process = _FIRST_RANK + rank.number
        events.append(_name(process, f"rank {rank.number}, chip {rank.chip} (predicted)"))
        for thread, name in ((_KERNELS, "kernels"), (_WAITS, "waits for other ranks"), (_SIGNPOSTS, "signposts")):
            events.append(_name(process, name, thread))
        placed = timeline.ranks[rank.number]
        events += _kernels(process, placed)
        events += _waits(process, placed)
        events += _signposts(process, placed, rank.recording.signposts)
    events += _links(timeline.collectives)
    document = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "device": "times are predicted by tt_xla.cost; ranks are aligned by the collectives that they share",
            "error": ranks.error,
            "system": ranks.system,
            "script": ranks.ranks[0].recording.script,
            "date": ranks.ranks[0].recording.date,
            "folder": str(Path.cwd()),
        },
    }
    path.write_text(json.dumps(document, separators=(",", ":")))


def _name(process: int, name: str, thread: int | None = None) -> Event:
    event: Event = {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
    return event if thread is None else event | {"tid": thread, "name": "thread_name"}


def _kernels(process: int, placed: Sequence[Placed]) -> Iterator[Event]:
    for each in placed:
        yield device_slice(each.kernel, process, _KERNELS, each.kernel.start_ns / 1e3)


def _waits(process: int, placed: Sequence[Placed]) -> Iterator[Event]:
    for each in placed:
        if each.wait_ns:
            yield {
                "ph": "X",
                "pid": process,
                "tid": _WAITS,
                "name": f"wait for rank {each.last}",
                "ts": (each.kernel.start_ns - each.wait_ns) / 1e3,
                "dur": each.wait_ns / 1e3,
                "args": {"before": each.kernel.code, "source": each.kernel.op.instruction.location},
            }


def _signposts(process: int, placed: Sequence[Placed], signposts: Sequence[Signpost]) -> Iterator[Event]:
    """Yields each signpost at the end of the last kernel that the host started before it."""
    number, end = 0, 0.0
    for signpost in sorted(signposts, key=lambda each: each.at):
        while number < len(placed) and placed[number].kernel.host_start < signpost.at:
            end = placed[number].kernel.start_ns + placed[number].kernel.duration_ns
            number += 1
        moment = {"ph": "i", "s": "t", "pid": process, "tid": _SIGNPOSTS, "ts": end / 1e3, "name": signpost.name}
        yield moment | {"args": {"message": signpost.message}}


def _links(collectives: Sequence[Collective]) -> Iterator[Event]:
    """Yields the exchanges on each link. Groups that share a link have tracks of their own, as they may overlap."""
    yield _name(_LINKS, "links (predicted)")
    tracks: dict[tuple[str, tuple[int, int]], int] = {}
    for collective in collectives:
        kernel = collective.first
        for link in links_of_ranks(kernel.op):
            track = collective.group, link
            if track not in tracks:
                tracks[track] = len(tracks) + 1
                name = f"chip {link[0]} - chip {link[1]}, process group {collective.group}"
                yield _name(_LINKS, name, tracks[track])
            busy = min(kernel.op.instruction.cost.link_us, kernel.duration_ns / 1e3)
            yield {
                "ph": "X",
                "pid": _LINKS,
                "tid": tracks[track],
                "name": kernel.code,
                "ts": (kernel.start_ns + kernel.duration_ns) / 1e3 - busy,
                "dur": busy,
                "args": {"process group": collective.group, "ranks": sorted(collective.kernels)},
            }
