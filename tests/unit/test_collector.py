"""Compilations pause Python's garbage collector, and leave it as it was."""

from __future__ import annotations

import gc
import threading

import pytest

from tt_xla.collector import collector_paused

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def _enabled():
    gc.enable()
    yield
    gc.enable()


def test_the_collector_runs_again_after_nested_blocks():
    with collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_runs_again_after_an_error():
    with pytest.raises(ValueError, match="stop"), collector_paused():
        raise ValueError("stop")
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    with collector_paused():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_blocks_of_two_threads_that_overlap():
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with collector_paused():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    with collector_paused():
        thread.start()
        entered.wait()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_the_environment_keeps_it_on(monkeypatch):
    monkeypatch.setenv("TTXLA_PAUSE_COLLECTOR", "0")
    with collector_paused():
        assert gc.isenabled()
