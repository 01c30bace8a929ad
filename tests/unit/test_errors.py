"""Tests of the tree of errors and of the form of their messages."""

from __future__ import annotations

import inspect

import pytest

from tt_xla import errors

pytestmark = pytest.mark.quick

ERRORS = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, errors.TTXLAError)]


def test_the_tree_drawn_on_top_is_the_tree() -> None:
    drawn = errors.__doc__ or ""
    depths = {
        line.strip("│├└─ ").split()[0]: line.index(line.strip("│├└─ "))
        for line in drawn.splitlines()
        if "Error" in line
    }
    for cls in ERRORS:
        parents = [base for base in cls.__mro__[1:] if issubclass(base, errors.TTXLAError)]
        assert depths[cls.__name__] == min(depths.values()) + 4 * len(parents), cls.__name__
    assert set(depths) == {cls.__name__ for cls in ERRORS}


@pytest.mark.parametrize("cls", ERRORS)
def test_every_error_is_documented_and_made_of_three_parts(cls: type[errors.TTXLAError]) -> None:
    assert cls.__doc__
    error = cls("It broke.", hint="Mend it.", location="model.py:7")
    assert str(error) == "It broke. At model.py:7. Mend it."
    assert (error.message, error.hint, error.location) == ("It broke.", "Mend it.", "model.py:7")


def test_parts_that_are_absent_leave_no_trace() -> None:
    assert str(errors.CompileError("It broke.")) == "It broke."
    assert str(errors.CompileError("It broke.", location="a.py:1")) == "It broke. At a.py:1."


def test_what_pythons_own_errors_catch() -> None:
    assert issubclass(errors.OptionError, ValueError)
    assert issubclass(errors.MalformedModuleError, ValueError)
    assert issubclass(errors.UnsupportedOpError, NotImplementedError)
    assert issubclass(errors.ResourceExhaustedError, MemoryError)
