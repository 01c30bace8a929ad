"""Times several implementations in turns, each in a process of its own, so that other load affects all equally."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

Call = Callable[[], Any]


def in_turns(
    makers: Mapping[str, Callable[[], Call]],
    rounds: int,
    *,
    number: int = 0,
    seconds: float = 0.0,
    warmups: int = 4,
    cpu: bool = False,
) -> dict[str, list[float]]:
    """Times one call of each implementation, in each round.

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
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    numbers: dict[str, int] = {}
    processes = []
    for way, make in makers.items():
        ours, theirs = context.Pipe()
        processes.append(context.Process(target=_serve, args=(theirs, make, warmups, cpu), daemon=True))
        processes[-1].start()
        theirs.close()
        pipes[way] = ours
        one = ours.recv()  # sequentially, because all of them compile on the same cores
        numbers[way] = number or max(1, int(seconds / one))
    durations: dict[str, list[float]] = {way: [] for way in makers}
    ways = [*makers]
    for turn in range(rounds):
        first = turn % len(ways)
        for way in ways[first:] + ways[:first]:
            pipes[way].send(numbers[way])
            durations[way].append(pipes[way].recv())
    for pipe, process in zip(pipes.values(), processes, strict=True):
        pipe.send(0)
        process.join()
    return durations


def _serve(pipe: Connection, make: Callable[[], Call], warmups: int, cpu: bool) -> None:
    """Receives a number of calls from the pipe, times them and sends the seconds per call; 0 ends the loop."""
    warnings.simplefilter("ignore")
    clock = time.process_time if cpu else time.perf_counter
    call = make()
    for _ in range(warmups):
        call()
    start = clock()
    call()
    pipe.send(clock() - start)
    while number := pipe.recv():
        start = clock()
        for _ in range(number):
            call()
        pipe.send((clock() - start) / number)
