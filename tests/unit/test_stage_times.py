"""Stages count the time that they take themselves."""

import threading
import time

from tt_xla import stage_times
from tt_xla.stage_times import COMPILING, LOWERING, spent, stage


def _before(monkeypatch):
    monkeypatch.setattr(stage_times, "_PROCESS", stage_times._Process())


def test_time_of_an_inner_stage_is_not_that_of_the_outer_one(monkeypatch):
    _before(monkeypatch)
    with stage(LOWERING), stage(COMPILING):
        time.sleep(0.05)
    times = spent()
    assert times[COMPILING].wall_s >= 0.05 > times[LOWERING].wall_s
    assert times[LOWERING].count == times[COMPILING].count == 1


def test_a_stage_that_fails_ends(monkeypatch):
    _before(monkeypatch)
    try:
        with stage(LOWERING):
            raise ValueError
    except ValueError:
        pass
    with stage(COMPILING):
        pass
    assert list(spent()) == [LOWERING, COMPILING]
    assert not stage_times._THREAD.open


def test_threads_have_stages_of_their_own(monkeypatch):
    _before(monkeypatch)

    def work():
        with stage(COMPILING):
            time.sleep(0.02)

    thread = threading.Thread(target=work)
    with stage(LOWERING):
        thread.start()
        thread.join()
    times = spent()
    assert times[COMPILING].wall_s >= 0.02
    assert times[LOWERING].wall_s >= 0.02
