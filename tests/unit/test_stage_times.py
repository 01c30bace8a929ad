"""Stages count the time that they take themselves."""

import threading
import time

import pytest

from tt_xla import stage_times
from tt_xla.stage_times import COMPILING, LOWERING, spent, stage

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def no_times_of_other_tests():
    with stage_times.counted_apart():
        yield


def test_time_of_an_inner_stage_is_not_that_of_the_outer_one():
    with stage(LOWERING), stage(COMPILING):
        time.sleep(0.05)
    times = spent()
    assert times[COMPILING].wall_s >= 0.05 > times[LOWERING].wall_s
    assert times[LOWERING].count == times[COMPILING].count == 1


class Endings(list):
    """Watches stages, and lists the stages inside each outermost one that ended."""

    def entered(self, stage, detail):
        pass

    def ended(self, spent, wall_s):
        self.append([*spent])


def test_a_stage_that_fails_ends(monkeypatch):
    endings = Endings()
    monkeypatch.setattr(stage_times, "WATCHERS", [lambda: endings])
    try:
        with stage(LOWERING):
            raise ValueError
    except ValueError:
        pass
    with stage(COMPILING):
        pass
    assert list(spent()) == [LOWERING, COMPILING]
    assert endings == [[LOWERING], [COMPILING]]


def test_threads_have_stages_of_their_own():
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
