"""The benchmark of ranks: of a step, how much is computing and how much exchange, and which link bounds it."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tt_xla.errors import EmptyRecordingError
from tt_xla.profiling.communication import is_exchange, links_of_ranks
from tt_xla.profiling.ranks.launch import Rank, Ranks
from tt_xla.profiling.ranks.timeline import Collective, Placed, Timeline
from tt_xla.profiling.steps import Step, find_steps, steady


@dataclass(frozen=True)
class RankLine:
    """Predicted times of a rank, in milliseconds: medians of its steady steps."""

    rank: int
    chip: int
    step_ms: float
    """Time of a step: the sum of the other ones."""
    compute_ms: float
    exchange_ms: float
    """Time of the collectives."""
    wait_ms: float
    """Time in which the rank waits for other ranks before collectives."""
    gaps_ms: float
    """Time between ops, without waits."""
    transfers_ms: float
    """Time of transfers over PCIe, and of ops that the host computes."""


@dataclass(frozen=True)
class LinkLine:
    """The exchanges over one link in a steady step."""

    chips: tuple[int, int]
    channels: int
    busy_ms: float
    """Predicted time in which the link carries bytes; the mean of the steady steps."""
    groups: tuple[str, ...]
    """Names of the process groups that exchange over it."""


@dataclass(frozen=True)
class RanksBench:
    """Figures of the ranks of this host."""

    system: str
    ranks: tuple[RankLine, ...]
    links: tuple[LinkLine, ...]
    """The links in use, the one that bounds the exchanges first."""
    partial: str
    """The error that ended the script early; empty if none did."""

    @property
    def longest(self) -> RankLine:
        """The rank whose step takes longest."""
        return max(self.ranks, key=lambda line: line.step_ms)

    def as_dict(self) -> dict[str, Any]:
        """Returns the figures as plain data, for JSON."""
        return asdict(self) | {"step_ms": self.longest.step_ms}


def measure_ranks(ranks: Ranks, timeline: Timeline, count: int) -> RanksBench:
    """Returns the figures of the last steady steps.

    Args:
        ranks: the ranks.
        timeline: their timeline.
        count: number of steps at most.

    Raises:
        EmptyRecordingError: a rank has no steady steps; the message names it.
    """
    steps = {rank.number: _steady(rank, count) for rank in ranks.ranks}
    lines = [_line(rank, timeline.ranks[rank.number], steps[rank.number]) for rank in ranks.ranks]
    return RanksBench(ranks.system, tuple(lines), _links(timeline.collectives, steps), ranks.error)


def _steady(rank: Rank, count: int) -> list[Step]:
    try:
        return steady(find_steps(rank.recording), count)
    except EmptyRecordingError as error:
        raise EmptyRecordingError(f"Rank {rank.number}: {error.message}", hint=error.hint) from None


def _line(rank: Rank, placed: Sequence[Placed], steps: Sequence[Step]) -> RankLine:
    parts: defaultdict[str, list[float]] = defaultdict(list)
    for step in steps:
        own = [each for each in placed if step.start <= each.kernel.host_start < step.end]
        times = dict.fromkeys(("compute", "exchange", "wait", "gaps", "transfers"), 0.0)
        for each in own:
            kind = "exchange" if is_exchange(each.kernel.op) else "compute" if each.kernel.on_device else "transfers"
            times[kind] += each.kernel.duration_ns / 1e6
            times["wait"] += each.wait_ns / 1e6
            times["gaps"] += (each.kernel.gap_ns - each.wait_ns) / 1e6
        for kind, time in {**times, "step": sum(times.values())}.items():
            parts[f"{kind}_ms"].append(time)
    return RankLine(rank.number, rank.chip, **{kind: statistics.median(times) for kind, times in parts.items()})


def _links(collectives: Sequence[Collective], steps: dict[int, list[Step]]) -> tuple[LinkLine, ...]:
    """Returns the links that are used within steady steps of the first rank of each collective, the busiest first."""
    busy: defaultdict[tuple[int, int], float] = defaultdict(float)
    groups: defaultdict[tuple[int, int], dict[str, None]] = defaultdict(dict)
    channels: dict[tuple[int, int], int] = {}
    for collective in collectives:
        kernel, own = collective.first, steps[min(collective.kernels)]
        if not any(step.start <= kernel.host_start < step.end for step in own):
            continue
        for link in links_of_ranks(kernel.op):
            busy[link] += kernel.op.instruction.cost.link_us / 1e3 / len(own)
            groups[link][collective.group] = None
            channels |= {each.chips: each.channels for each in kernel.op.program.target.links if each.chips == link}
    lines = [LinkLine(link, channels[link], time, tuple(groups[link])) for link, time in busy.items()]
    return tuple(sorted(lines, key=lambda line: (-line.busy_ms, line.channels, line.chips)))
