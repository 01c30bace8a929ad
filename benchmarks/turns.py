"""Ways to do one thing, each in a process of its own, timed in turns: what else the machine does meets all alike."""

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
    """Seconds of a call in each way, round by round.

    Args:
        makers: what makes the call that is timed, in the process of its way; to be pickled.
        number: calls a turn; where it is 0, as many as take ``seconds``, at least one.
        warmups: calls before the first that is timed.
        cpu: processor time instead of time.
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
        one = ours.recv()  # one way after the other: they compile on the same cores
        numbers[way] = number or max(1, int(seconds / one))
    taken: dict[str, list[float]] = {way: [] for way in makers}
    ways = [*makers]
    for turn in range(rounds):
        first = turn % len(ways)
        for way in ways[first:] + ways[:first]:
            pipes[way].send(numbers[way])
            taken[way].append(pipes[way].recv())
    for pipe, process in zip(pipes.values(), processes, strict=True):
        pipe.send(0)
        process.join()
    return taken


def _serve(pipe: Connection, make: Callable[[], Call], warmups: int, cpu: bool) -> None:
    """Times as many calls as the pipe says, until it says none."""
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
