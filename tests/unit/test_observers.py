"""Observers are told while their context lasts, and no longer."""

from __future__ import annotations

import pytest

from tt_xla.observers import Observers

pytestmark = pytest.mark.quick


def test_observers_are_told_in_the_order_of_their_contexts():
    events: Observers[list[str]] = Observers()
    with events.added([]) as outer:
        for observer in events:
            observer.append("first")
        with events.added([]) as inner:
            for observer in events:
                observer.append("second")
        for observer in events:
            observer.append("third")
    assert not events
    assert (outer, inner) == (["first", "second", "third"], ["second"])


def test_an_observer_leaves_an_equal_one_in_place():
    events: Observers[list[str]] = Observers()
    with events.added([]) as outer:
        with events.added([]):
            pass
        assert [observer is outer for observer in events] == [True]


def test_an_error_ends_the_observation():
    events: Observers[list[str]] = Observers()
    try:
        with events.added([]):
            raise KeyError
    except KeyError:
        pass
    assert not events
