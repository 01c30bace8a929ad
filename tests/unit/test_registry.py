"""Tests of the tables that decorators fill."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tt_xla.registry import Registry

pytestmark = pytest.mark.quick


class Kernel(NamedTuple):
    function: Any


class AbsOp:
    name = "ttir.abs"


def first(x: int) -> int:
    return x


def second(x: int) -> int:
    return x


HERE = Path(__file__).name


@pytest.mark.parametrize("wrap", [lambda f: f, Kernel, functools.partial], ids=["function", "record", "partial"])
def test_a_duplicate_names_both_places(wrap: Any) -> None:
    table: Registry[str, Any] = Registry("kernel")
    table.register("ttnn.abs", "ttnn.add")(wrap(first))
    with pytest.raises(
        ValueError, match=rf"duplicate kernel for ttnn\.add: .*{HERE}:(\d+) and .*{HERE}:(\d+)"
    ) as error:
        table.register("ttnn.add")(wrap(second))
    assert str(error.value).count(f"{HERE}:") == 2
    places = [int(place.rpartition(":")[2]) for place in str(error.value).split(" and ")]
    assert places == [first.__code__.co_firstlineno, second.__code__.co_firstlineno]
    assert list(table) == ["ttnn.abs", "ttnn.add"]


def test_op_classes_are_named_as_in_text() -> None:
    table: Registry[type, int] = Registry("lowering")
    table.register(AbsOp)(1)
    with pytest.raises(ValueError, match=r"duplicate lowering for ttir\.abs: 1 and 2"):
        table.register(AbsOp)(2)
