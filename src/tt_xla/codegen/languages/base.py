"""What generated source needs of its language: what Python and C++ share, and what each writes in its own way."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tt_xla.codegen.expressions import Data, Expression
from tt_xla.codegen.formatting import INDENT, Group, Node, call
from tt_xla.codegen.languages.numbered import WeightEntry
from tt_xla.codegen.meshes import DeviceMesh
from tt_xla.ir.program import Program
from tt_xla.target import Target

ResultForm = Literal["nothing", "one", "several", "list"]
"""Form of a function's results: none, one tensor, ``several`` separate tensors, or a ``list`` of any length."""

Value = Callable[[int], str]
"""Returns the source that names a tensor, by its value number."""

DataOf = Callable[[Data], Expression]
"""Returns the expression that creates or loads a constant."""


@dataclass(frozen=True)
class Iteration:
    """A loop that calls a function on its own results."""

    bounds: Sequence[str]
    """Initial value, limit and step of a counted loop; a limit that the step never reaches means no round, as in
    Python's ``range``."""
    condition: str | None
    """Name of the function that decides on another round; None for a counted loop."""
    body: str
    """Name of the function that computes the next states."""
    carried: str
    """Name of the list of states."""
    states: Sequence[str]
    """States before the first round."""
    captured: Sequence[str]
    """Further arguments of both functions."""


class Language(abc.ABC):
    """Prints generated source in one language. Statements are lists of lines, indented once inside a function."""

    name: str
    """Name that ``tt-xla codegen --language`` takes."""
    label: str
    """Name in messages, ``C++``."""
    main: str
    """Name of the main file."""
    traces: bool
    """Whether the language supports traces."""
    host: bool
    """Whether the language supports ops that the host runs."""
    one_parameter_per_tensor: bool
    """Whether functions that loops and cases run take one parameter for each tensor rather than one list."""
    brackets: str
    """Brackets of a list."""
    comment_sign: str
    """Beginning of a comment."""

    @abc.abstractmethod
    def node(self, expression: Expression, value: Value, data: DataOf) -> Node:
        """Returns the source of an expression."""

    def call(self, function: str, arguments: Sequence[Node]) -> Node:
        """Returns a call of a function of the file."""
        return call(function, arguments)

    @abc.abstractmethod
    def weight(self, key: str) -> str:
        """Returns the source that looks up a weight by its key."""

    def weights(self, keys: Sequence[str]) -> Sequence[Node]:
        """Returns several weights as arguments of a call."""
        return [self.weight(key) for key in keys]

    @abc.abstractmethod
    def under(self, prefix: str) -> str:
        """Returns the source that selects the weights of one module."""

    def listed(self, items: Sequence[str]) -> Node:
        """Returns a list of these items."""
        return Group(self.brackets[0], tuple(items), self.brackets[1])

    @abc.abstractmethod
    def store(self, entries: Sequence[WeightEntry]) -> list[str]:
        """Returns statements that store entries in the table of weights."""

    @abc.abstractmethod
    def bind(self, names: Sequence[str], fresh: Sequence[bool], source: Node, form: str) -> list[str]:
        """Returns a statement that assigns the results of an expression.

        Args:
            names: names of the results.
            fresh: for each name, whether the function uses it for the first time.
            source: the expression.
            form: form of its results, as :meth:`result_form` returns it.
        """

    @abc.abstractmethod
    def result_form(self, expression: Expression, results: int) -> str:
        """Returns the form in which a call of TT-NN returns its results."""

    @abc.abstractmethod
    def return_statement(self, results: Sequence[str], form: ResultForm) -> list[str]:
        """Returns a return statement."""

    def comment(self, text: str) -> str:
        """Returns a line with a comment."""
        return f"{INDENT}{self.comment_sign} {text}"

    def is_comment(self, line: str) -> bool:
        """Returns whether a line is a comment."""
        return line.lstrip().startswith(self.comment_sign)

    @abc.abstractmethod
    def deallocate(self, name: str) -> str:
        """Returns a statement that frees a tensor."""

    @abc.abstractmethod
    def function(
        self, name: str, parameters: Sequence[str], form: ResultForm, doc: str, lines: Sequence[str]
    ) -> list[str]:
        """Returns a function definition."""

    @abc.abstractmethod
    def config(self, name: str, value: Expression) -> list[str]:
        """Returns the definition of a named config at the top of the file."""

    @abc.abstractmethod
    def loop(self, iteration: Iteration) -> list[str]:
        """Returns a loop."""

    @abc.abstractmethod
    def choose(
        self, chosen: str, index: str, branches: Sequence[str], arguments: Sequence[str]
    ) -> tuple[list[str], Node]:
        """Returns statements that choose one of several functions, and a call of the chosen one.

        Args:
            chosen: name for the chosen function.
            index: tensor that holds the number of the branch.
            branches: names of the functions.
            arguments: arguments of the call.
        """

    @abc.abstractmethod
    def scalar(self, name: str) -> str:
        """Returns the number that a tensor of one element holds."""

    @abc.abstractmethod
    def loaders(self, weights: Sequence[WeightEntry], inputs: Sequence[Node]) -> list[str]:
        """Returns the functions ``load_weights`` and ``load_inputs``."""

    @abc.abstractmethod
    def file(
        self,
        program: Program,
        target: Target,
        parts: Sequence[Sequence[str]],
        configs: Sequence[str],
        modules: Sequence[str] = (),
    ) -> str:
        """Returns the text of the main file.

        Args:
            program: the Program.
            target: the chip it was compiled for.
            parts: functions, each as lines.
            configs: definitions of configs.
            modules: modules to import beside ``utils``; none for a language without ``host``.
        """

    @abc.abstractmethod
    def entry(
        self,
        program: Program,
        mesh: DeviceMesh | None,
        prepares: bool,
        inputs: int,
        updates: Mapping[int | str, int],
        joined: Sequence[Node] | None,
    ) -> list[str]:
        """Returns the ``main`` function, which loads tensors, runs ``forward`` and prints results.

        Args:
            program: the Program.
            mesh: the mesh device to open; None for a device of one chip.
            prepares: whether there is a function ``const_eval``.
            inputs: number of inputs of ``forward``.
            updates: result that takes the place of an input in the next call, by the input's position, or by its key
                in the table of weights.
            joined: for each result, the expression that joins its shards, which are in the list ``results``; None if
                results are printed as they are.
        """
