"""What a language of generated source has to say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from tt_xla.codegen.expressions import Data, Expression
from tt_xla.codegen.formatting import Node
from tt_xla.codegen.languages.numbered import Made
from tt_xla.ir.program import Program
from tt_xla.target import Target

Gives = Literal["nothing", "one", "several", "list"]
"""What a function gives: ``several`` tensors of its own, or a ``list`` however many they are."""

Value = Callable[[int], str]
DataOf = Callable[[Data], Expression]
"""What stands for elements given with the program."""


class Language(Protocol):
    """Statements come as lines, indented once where they stand in a function."""

    name: str
    """What ``tt-xla codegen --language`` takes."""
    label: str
    main: str
    """The name of the main file."""
    traces: bool
    """Whether there is source for traces."""
    host: bool
    """Whether there is source for what the host runs."""
    spreads: bool
    """Whether functions that loops and cases run take tensors one by one; else in a list."""

    def node(self, expression: Expression, value: Value, data: DataOf) -> Node: ...

    def call(self, function: str, arguments: Sequence[Node]) -> Node:
        """A call of a function of the file."""
        ...

    def weight(self, key: str) -> str:
        """A weight by its name."""
        ...

    def weights(self, keys: Sequence[str]) -> Sequence[Node]:
        """Several weights as arguments of a call: one list for a language that ``spreads``."""
        ...

    def under(self, prefix: str) -> str:
        """The weights of one module."""
        ...

    def listed(self, items: Sequence[str]) -> Node: ...

    def keep(self, made: Sequence[Made]) -> list[str]:
        """Puts results of const-eval with the weights."""
        ...

    def bind(self, names: Sequence[str], fresh: Sequence[bool], source: Node, gives: str) -> list[str]:
        """Gives results their names. ``fresh``: which names nothing had before."""
        ...

    def gives(self, expression: Expression, results: int) -> str:
        """How the results of a call of TT-NN come."""
        ...

    def give(self, results: Sequence[str], gives: Gives) -> list[str]: ...

    def comment(self, text: str) -> str: ...

    def is_comment(self, line: str) -> bool: ...

    def deallocate(self, name: str) -> str: ...

    def function(
        self, name: str, parameters: Sequence[str], gives: Gives, doc: str, lines: Sequence[str]
    ) -> list[str]: ...

    def config(self, name: str, value: Expression) -> list[str]: ...

    def loop(
        self,
        bounds: Sequence[str],
        condition: str | None,
        body: str,
        carried: str,
        states: Sequence[str],
        captured: Sequence[str],
    ) -> list[str]:
        """A loop of a function over its states.

        Args:
            bounds: initial, limit and step of a counted loop.
            condition: the function that says whether there is another round, where it is not counted.
        """
        ...

    def choose(self, chosen: str, index: str, branches: Sequence[str], given: Sequence[str]) -> tuple[list[str], Node]:
        """What chooses among functions, and the call of the one that is chosen."""
        ...

    def element(self, name: str, index: int) -> str: ...

    def scalar(self, name: str) -> str:
        """The number that a tensor holds."""
        ...

    def loaders(self, weights: Sequence[Made], inputs: Sequence[Node]) -> list[str]: ...

    def file(
        self,
        program: Program,
        target: Target,
        parts: Sequence[Sequence[str]],
        configs: Sequence[str],
        modules: Sequence[str] = (),
    ) -> str:
        """The whole text, of configs and functions.

        Args:
            modules: what is imported beside ``utils``; there are none for a language without ``host``.
        """
        ...

    def entry(self, program: Program, prepares: bool, inputs: int) -> list[str]:
        """What loads, runs and prints."""
        ...
