"""Fingerprints of Python objects: what has one, what tells two objects apart, and whose files are named."""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
import sysconfig
import types
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import tt_xla
from tt_xla.frontends.torch.fingerprints import Fingerprints, NoFingerprintError, code_digest, is_versioned

STANDARD_LIBRARY = sysconfig.get_path("stdlib")


def of(value: Any) -> Any:
    return Fingerprints().of(value)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Model:
    @property
    def width(self) -> int:
        return 3

    @staticmethod
    def twice(x: int) -> int:
        return 2 * x

    @classmethod
    def made(cls) -> Model:
        return cls()


class Other:
    def width(self) -> int:
        return 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("1", 1),
        (b"a", "a"),
        (None, ...),
        ((1, 2), [1, 2]),
        ((1, 2), (2, 1)),
        ({1: 2, 3: 4}, {3: 4, 1: 2}),
        (frozenset({1}), {1}),
        (slice(1, 2), slice(1, 2, 3)),
        (range(3), slice(3)),
        (torch.float32, torch.float16),
        (torch.device("cpu"), "cpu"),
        (torch.Size([1]), (1,)),
        (Colour.RED, Colour.BLUE),
        (Model, Other),
        (Model.twice, Model.made),
        (vars(Model)["twice"], Model.twice),
        (vars(Model)["width"], Other.width),
        (operator.add, operator.sub),
        (str.join, str.split),
        (torch.ops.aten.add.Tensor, torch.ops.aten.add.Scalar),
        (functools, operator),
    ],
)
def test_objects_that_differ_have_other_fingerprints(one: Any, other: Any) -> None:
    assert of(one) == of(one)
    assert of(one) != of(other)


def test_sets_have_no_order() -> None:
    assert of({"a", "b", "c", "d"}) == of({"d", "c", "b", "a"})


def code(text: str) -> types.CodeType:
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    return namespace["f"].__code__


@pytest.mark.parametrize(
    "text",
    [
        "def f(x): return x + 2",  # another constant
        "def f(x): return x - 1",  # instruction
        "def f(y): return y + 1",  # name
        "def f(x, /): return x + 1",
        "def f(*, x): return x + 1",
        "def f(*x): return x + 1",
    ],
)
def test_code_that_differs_has_another_digest(text: str) -> None:
    plain = "def f(x): return x + 1"
    assert code_digest(code(plain)) == code_digest(code("\n\n" + plain))
    assert code_digest(code(plain)) != code_digest(code(text))


def test_code_within_code_and_sets_of_constants_count() -> None:
    for inner, other in (("lambda: 1", "lambda: 2"), ("x in {1, 2}", "x in {1, 3}"), ("(1, (2, x))", "(1, (3, x))")):
        digests = {code_digest(code(f"def f(x): return {each}")) for each in (inner, other, inner)}
        assert len(digests) == 2


def local_class() -> type:
    class Hidden:
        pass

    return Hidden


@dataclasses.dataclass
class Numbers:
    x: int


@pytest.mark.parametrize(
    "value",
    [
        object(),
        Model(),
        torch.ones(2),
        local_class(),
        functools.partial(int, 2),
        types.ModuleType("nowhere"),
        Model().made.__func__.__get__(Model()),
        [].append,
        Numbers(1),
    ],
)
def test_what_another_process_cannot_have_has_none(value: Any) -> None:
    with pytest.raises(NoFingerprintError):
        of(value)


@pytest.mark.parametrize(
    ("name", "versioned"),
    [
        (torch.nn.functional.__file__, True),
        (f"{Path(torch.__file__).parent}_more/model.py", False),
        (str(Path(tt_xla.__file__).parent / "options.py"), True),
        (f"{Path(tt_xla.__file__).parent}_more/model.py", False),
        (f"{STANDARD_LIBRARY}/functools.py", True),
        (f"{STANDARD_LIBRARY}_more/model.py", False),
        (numpy.__file__, False),  # an installed package lies within Python's library
        ("<frozen importlib._bootstrap>", True),
        ("/home/user/model.py", False),
    ],
)
def test_files_whose_versions_the_key_of_an_entry_names(name: str, versioned: bool) -> None:
    assert is_versioned(name) == versioned


def test_the_files_of_functions_classes_and_modules_are_collected() -> None:
    prints = Fingerprints()
    prints.of((torch.nn.functional.relu, functools.reduce, Path))
    assert prints.files == set()
    for value in (of, Model, numpy):
        prints = Fingerprints()
        prints.of(value)
        assert prints.files == {numpy.__file__ if value is numpy else __file__}


def test_a_method_that_a_class_writes_belongs_to_the_class() -> None:
    prints = Fingerprints()
    written = Numbers.__init__.__code__
    assert not prints.defines(written)
    prints.of(Numbers)
    assert prints.defines(written)
    assert not prints.defines(of.__code__)
