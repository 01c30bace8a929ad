"""A call of a mesh's worker ends early, and the worker's thread goes on with other work."""

from __future__ import annotations

import random
import sys
import threading

import pytest

from tt_xla.runtime.mesh.interruption import Interruption
from tt_xla.runtime.mesh.post import CallEnded


def test_an_end_arrives_in_its_call_or_never() -> None:
    """Ends come at all moments: before a call, within it, while it is left, and after it."""
    interruption, outcomes = Interruption(), {"ended": 0, "whole": 0}
    started, outside = threading.Event(), []
    number, calls = 0, 3000

    def work() -> None:
        nonlocal number
        started.set()
        try:
            for number in range(calls):
                try:
                    try:
                        interruption.begin(number)
                        sum(range(50))
                        for _ in range(20):
                            pass
                    finally:
                        interruption.leave()
                    outcomes["whole"] += 1
                except CallEnded:
                    outcomes["ended"] += 1
                for _ in range(20):
                    pass
        except CallEnded:
            outside.append(number)

    worker = threading.Thread(target=work)
    worker.start()
    started.wait()
    draw = random.Random(0)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        while worker.is_alive():
            interruption.end(number + draw.choice((0, 0, 0, 1)))
    finally:
        sys.setswitchinterval(interval)
    worker.join()
    assert outside == []
    assert sum(outcomes.values()) == calls
    assert outcomes["ended"] > 0


def test_an_end_of_another_call_changes_nothing() -> None:
    interruption = Interruption()
    interruption.begin(4)
    interruption.end(3)
    interruption.leave()
    interruption.end(4)
    assert sum(range(1000)) == 499_500


def test_an_end_is_raised_in_the_call() -> None:
    interruption = Interruption()

    def call() -> None:
        try:
            interruption.begin(7)
            interruption.end(7)
            sum(range(1000))
        finally:
            interruption.leave()

    with pytest.raises(CallEnded):
        call()
