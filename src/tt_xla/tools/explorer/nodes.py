"""Nodes of a graph: the ops of a function at one stage, whatever the stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tt_xla.ir.program import FunctionKind, Instruction

ARGUMENT, RETURN = "argument", "return"
"""Labels of the nodes that stand for a function's arguments and for its results."""

_LONGEST = 400
"""Characters of an attribute's value at most; longer ones are cut."""


@dataclass
class Node:
    """An op of a function, one of its arguments, or its results.

    Attributes:
        id: name that is unique in the stage: the function's name and a position.
        op: full name of the op, such as ``ttnn.matmul``; ``argument`` or ``return``.
        operands: for each operand, the node that produces it and the number of the result.
        results: for each result, its properties in words by name.
        attributes: attributes of the op in words, by name.
        location: the user's source line, ``file:line``; empty if it is unknown.
        argument: name of the argument that the node stands for; empty for other nodes.
        is_weight: whether the node is an argument whose value a model keeps between calls.
        calls: names of the functions that the op runs.
        scope: groups that the node is in besides its module, such as the body of a loop.
        named_scope: groups that the user named, such as those of ``jax.named_scope``. StableHLO text has them, and the
            session gives them to later stages.
        instruction: the instruction of the Program; None at other stages.
    """

    id: str
    op: str
    operands: list[tuple[str, int]] = field(default_factory=list)
    results: list[dict[str, str]] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    location: str = ""
    argument: str = ""
    is_weight: bool = False
    calls: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    named_scope: tuple[str, ...] = ()
    instruction: Instruction | None = None

    @property
    def name(self) -> str:
        """Name of the op without its dialect."""
        return self.op.rpartition(".")[2]


@dataclass
class FunctionNodes:
    """The nodes of a function in the order of the program."""

    name: str
    kind: str
    """Kind of the function in a Program (:class:`FunctionKind`); ``forward_device`` at other stages."""
    nodes: list[Node]


class FunctionBuilder:
    """Collects the nodes of a function in the order of the program, at any stage.

    Values, which may be numbers or objects of MLIR, tell which node reads which.
    """

    def __init__(self, name: str, kind: str = FunctionKind.FORWARD.value) -> None:
        self.function = FunctionNodes(name, kind, [])
        self._producers: dict[Any, tuple[str, int]] = {}
        self._arguments = self._ops = 0

    def argument(self, value: Any, words: dict[str, str]) -> Node:
        """Adds the next argument, whose type is given in words."""
        name = f"{self.function.name}:{ARGUMENT}{self._arguments}"
        node = Node(name, ARGUMENT, results=[words], argument=f"argument {self._arguments}")
        self._arguments += 1
        self._producers[value] = node.id, 0
        self.function.nodes.append(node)
        return node

    def op(
        self,
        name: str,
        operands: Iterable[Any],
        results: Iterable[Any],
        words: Callable[[Any], dict[str, str]],
        location: str,
        scope: tuple[str, ...] = (),
    ) -> Node:
        """Adds the next op; ``words`` describes the type of a result."""
        node = Node(f"{self.function.name}:{self._ops}", name, self._read(operands), location=location, scope=scope)
        self._ops += 1
        for index, value in enumerate(results):
            node.results.append(words(value))
            self._producers[value] = node.id, index
        self.function.nodes.append(node)
        return node

    def returned(self, results: Iterable[Any]) -> None:
        """Adds the node of the function's results."""
        self.function.nodes.append(Node(f"{self.function.name}:{RETURN}", RETURN, self._read(results)))

    def passed_on(self, value: Any, operands: Iterable[Any]) -> bool:
        """Lets a value stand for the first operand that a node makes, and returns whether there is one."""
        made = self._read(operands)
        if made:
            self._producers[value] = made[0]
        return bool(made)

    def inside(self, node: Node, region: int, arguments: Iterable[Any]) -> tuple[str, ...]:
        """The groups of ops in a region of an op, from which the arguments of the region come."""
        self._producers |= dict.fromkeys(arguments, (node.id, 0))
        return *node.scope, f"{node.name} {node.id.rpartition(':')[2]}", f"region {region}"

    def _read(self, values: Iterable[Any]) -> list[tuple[str, int]]:
        return [self._producers[value] for value in values if value in self._producers]


def shortened(text: str) -> str:
    """Returns a text in one line, cut after a few hundred characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + " ..."
