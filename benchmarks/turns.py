"""Times several implementations in turns, each in a process of its own, so that other load affects all equally."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

Call = Callable[[], Any]


@dataclass
class Turns:
    """What one implementation took.

    Attributes:
        wall: seconds per call by the wall clock, one entry per round.
        processor: seconds per call that all threads of the process computed, one entry per round.
        report: what the implementation says of itself in the end; empty without ``call.report``.
    """

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)


def in_turns(
    makers: Mapping[str, Callable[[], Call]],
    rounds: int,
    *,
    number: int = 0,
    seconds: float = 0.0,
    warmups: int = 4,
    cpu: bool = False,
) -> dict[str, list[float]]:
    """Times one call of each implementation, in each round, by one clock.

    Args:
        makers: for each implementation, a picklable function that its process calls to create the timed call.
        rounds: number of rounds; each round times every implementation once.
        number: calls per turn. With 0, as many calls as take about ``seconds``, at least one.
        seconds: duration of a turn when ``number`` is 0.
        warmups: untimed calls before the first round.
        cpu: whether to measure processor time instead of wall-clock time.

    Returns:
        Seconds per call by implementation, one entry per round.
    """
    turns = measured_in_turns(makers, rounds, number=number, seconds=seconds, warmups=warmups)
    return {way: turn.processor if cpu else turn.wall for way, turn in turns.items()}


def measured_in_turns(
    makers: Mapping[str, Callable[[], Call]],
    rounds: int,
    *,
    number: int = 0,
    seconds: float = 0.0,
    warmups: int = 4,
) -> dict[str, Turns]:
    """Same as :func:`in_turns`, with both clocks and the report that a call's attribute ``report`` returns."""
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    numbers: dict[str, int] = {}
    processes = []
    for way, make in makers.items():
        ours, theirs = context.Pipe()
        processes.append(context.Process(target=_serve, args=(theirs, make, warmups), daemon=True))
        processes[-1].start()
        theirs.close()
        pipes[way] = ours
        one = ours.recv()  # sequentially, because all of them compile on the same cores
        numbers[way] = number or max(1, int(seconds / one))
    turns = {way: Turns() for way in makers}
    ways = [*makers]
    for turn in range(rounds):
        first = turn % len(ways)
        for way in ways[first:] + ways[:first]:
            pipes[way].send(numbers[way])
            wall, processor = pipes[way].recv()
            turns[way].wall.append(wall)
            turns[way].processor.append(processor)
    for (way, pipe), process in zip(pipes.items(), processes, strict=True):
        pipe.send(0)
        turns[way].report = pipe.recv()
        process.join()
    return turns


def _serve(pipe: Connection, make: Callable[[], Call], warmups: int) -> None:
    """Receives a number of calls from the pipe, times them and sends the seconds per call; 0 ends the loop."""
    warnings.simplefilter("ignore")
    call = make()
    for _ in range(warmups):
        call()
    start = time.perf_counter()
    call()
    pipe.send(time.perf_counter() - start)
    while number := pipe.recv():
        wall, processor = time.perf_counter(), time.process_time()
        for _ in range(number):
            call()
        pipe.send(((time.perf_counter() - wall) / number, (time.process_time() - processor) / number))
    report = getattr(call, "report", dict)
    pipe.send(report())
