"""A long compilation shows its stage and pass on a terminal, and at its end where the time went."""

import io
import sys
import time

import pytest

from tt_xla import progress, stage_times
from tt_xla.stage_times import AUTOGRAD, COMPILING, LOADING, TRACING, Spent, note, stage

pytestmark = pytest.mark.quick


class Terminal(io.StringIO):
    def isatty(self):
        return True


def _terminal(monkeypatch):
    """Makes standard error a terminal; pytest would undo what a fixture does."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(stage_times, "WATCHERS", [progress.Progress])
    monkeypatch.setattr(progress, "AFTER_S", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("TTXLA_PROGRESS", raising=False)
    return terminal


def _compile(seconds):
    with stage(TRACING), stage(COMPILING):
        note("ttir-fuse")
        time.sleep(seconds)


def test_a_long_compilation_shows_a_line_and_a_summary(monkeypatch):
    shown = _terminal(monkeypatch)
    with stage(TRACING), stage(COMPILING):
        note("ttir-fuse")
        deadline = time.monotonic() + 30
        while "ttir-fuse" not in shown.getvalue() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert f"tt: {COMPILING}, ttir-fuse" in shown.getvalue()
    last = shown.getvalue().splitlines()[-1]
    assert f"{COMPILING} " in last
    assert "cache" not in last


def test_a_short_compilation_shows_nothing(monkeypatch):
    shown = _terminal(monkeypatch)
    _compile(0.0)
    time.sleep(0.1)
    assert not shown.getvalue()


def test_the_environment_hides_the_line(monkeypatch):
    shown = _terminal(monkeypatch)
    monkeypatch.setenv("TTXLA_PROGRESS", "0")
    _compile(0.15)
    assert not shown.getvalue()


def test_nothing_is_shown_where_there_is_no_terminal(monkeypatch):
    shown = _terminal(monkeypatch)
    monkeypatch.setattr(Terminal, "isatty", lambda _: False)
    _compile(0.15)
    assert not shown.getvalue()


def test_the_summary_says_what_came_from_the_cache():
    spent = {TRACING: Spent(1.0), AUTOGRAD: Spent(0.01), LOADING: Spent(2.0)}
    assert progress.summary(spent, 3.01) == f"tt: 3.0 s (from a cache): {TRACING} 1.0 s, {LOADING} 2.0 s"
    assert progress.summary(spent | {COMPILING: Spent(4.0)}, 7.0) == (
        f"tt: 7.0 s: {TRACING} 1.0 s, {LOADING} 2.0 s, {COMPILING} 4.0 s"
    )


def test_a_compilation_that_stays_in_one_pass_says_where_once(monkeypatch, project_log):
    stall = progress.Stall()
    try:
        stall.entered("compiling", "ttir-fold")
        stall.report()
        assert "ttir-fold" not in project_log.text
        monkeypatch.setattr(progress, "STALLED_S", 0.0)
        stall.report()
        stall.report()
        (record,) = [each for each in project_log.records if "'compiling, ttir-fold'" in each.getMessage()]
        assert "test_a_compilation_that_stays_in_one_pass_says_where_once" in record.getMessage()
    finally:
        stall.ended({}, 0.0)
