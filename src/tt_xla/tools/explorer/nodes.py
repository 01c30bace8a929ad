"""Nodes of a graph: the ops of a function at one stage, whatever the stage."""

from __future__ import annotations

from dataclasses import dataclass, field

from tt_xla.ir.program import Instruction

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


def shortened(text: str) -> str:
    """Returns a text in one line, cut after a few hundred characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + " ..."
