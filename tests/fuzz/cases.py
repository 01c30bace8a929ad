"""Kinds of programs, cases that are drawn from them, and the differences that are found."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")


class NotDrawnError(Exception):
    """A drawn program that means nothing, such as one that PyTorch or XLA refuses. Another one is drawn instead."""


@dataclass(frozen=True)
class Difference:
    """Something wrong with a program.

    Attributes:
        check: What was compared, such as ``exact at level 2``.
        text: What was got and what was expected.
    """

    check: str
    text: str


class Subject(Protocol):
    """A drawn program with its inputs."""

    @property
    def text(self) -> str:
        """The program's source and inputs, as a reader needs them to run it."""
        ...

    def check(self) -> Iterator[Difference]:
        """Compiles and runs the program in several ways, and yields what differs from what others compute.

        Raises:
            NotDrawnError: The program means nothing: the reference refuses it too.
            UnsupportedOpError: Our compiler refuses it in its own words.
        """
        ...


Draw = Callable[["Generator"], Subject]
"""Draws a program. The same state of the generator gives the same program, in every process."""


@dataclass(frozen=True)
class Case:
    """One drawn program, named by its kind, the seed of the run and its number: ``ops:7:123``."""

    kind: str
    seed: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.seed}:{self.number}"

    @staticmethod
    def parse(text: str) -> Case:
        """Returns the case of a name.

        Raises:
            ValueError: The text is no name of a case.
        """
        kind, seed, number = text.split(":")
        return Case(kind, seed, int(number))

    def generator(self) -> Generator:
        """Returns the generator that draws the program."""
        return Generator(self)


class Generator(random.Random):
    """The generator that draws the program of a case."""

    def __init__(self, case: Case) -> None:
        super().__init__(str(case))
        self._case = case

    def in_turn(self, items: Iterable[T]) -> T:
        """One of several items: the cases of a seed take all of them in turn, in an order that the seed draws."""
        order = list(items)
        random.Random(self._case.seed).shuffle(order)
        return order[self._case.number % len(order)]
