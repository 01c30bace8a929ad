"""Nodes of a traced graph, and the operations that they stand for.

The classes have the names and fields of TT-NN's ``ttnn.tracer``, whose users read them in graphs.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import networkx
    import torch

    Graph: TypeAlias = "networkx.MultiDiGraph[Node]"

_LINE = 50
"""Characters of a label's line after which its arguments go on in the next."""


@dataclass(frozen=True)
class Node:
    """A node of a graph. Nodes are ordered as they were recorded.

    Attributes:
        name: unique name.
        unique_id: number of the node in the process.
    """

    name: str
    unique_id: int

    def __hash__(self) -> int:
        return self.unique_id

    def __lt__(self, other: Node) -> bool:
        return self.unique_id < other.unique_id


@dataclass(frozen=True)
class PositionalArgumentName:
    """Stands in the place of the name of an argument that was given by position."""

    index: int

    def __repr__(self) -> str:
        return f"{self.index}"


@dataclass(frozen=True)
class InputTensorIndex:
    """Stands in the place of a tensor among the arguments of a call: the edge of this index leads to it."""

    index: int

    def __repr__(self) -> str:
        return f"${self.index}"


ArgumentName = str | PositionalArgumentName
Arguments = Sequence[tuple[ArgumentName, Any]]
"""Names and values of a call's arguments."""


@dataclass(frozen=True)
class ModuleTensor:
    """A tensor that enters or leaves a module, as a place in the module's own graph."""

    graph: Graph
    node: Node
    output_index: int

    @property
    def name(self) -> str:
        """Name of the node."""
        return self.node.name

    @property
    def shape(self) -> Any:
        """Shape of the tensor."""
        return self.graph.nodes[self.node]["shapes"][self.output_index]


class Operation(abc.ABC):
    """The call, module or tensor that a node stands for."""

    @abc.abstractmethod
    def to_string(self, verbose: bool = False) -> str:
        """Returns the label of the node.

        Args:
            verbose: whether it lists the arguments of the call.
        """

    def __repr__(self) -> str:
        return self.to_string()


@dataclass(repr=False)
class TorchTensor(Operation):
    """A torch tensor that was made before tracing began, or by a function that PyTorch does not show."""

    tensor: torch.Tensor

    def to_string(self, verbose: bool = False) -> str:
        return "torch.Tensor"


@dataclass(repr=False)
class TorchParameter(Operation):
    """A parameter or a buffer of a module.

    Attributes:
        parameter: the tensor.
        name: its name in the outermost module that was called; empty if it was used outside of one.
    """

    parameter: torch.Tensor
    name: str = ""

    def to_string(self, verbose: bool = False) -> str:
        return "\n".join(["torch.nn.Parameter", *([self.name] if self.name else [])])


@dataclass(repr=False)
class TorchFunction(Operation):
    """A call of a function or method of PyTorch."""

    function: Any
    arg_name_value_pairs: Arguments = field(default_factory=lambda: [])

    def to_string(self, verbose: bool = False) -> str:
        return _called(function_name(self.function), self.arg_name_value_pairs, verbose)


@dataclass(repr=False)
class TorchModule(Operation):
    """A call of a module of PyTorch, with the graph of what it called.

    Attributes:
        name: name of the module in the outermost one that was called, whose own name is empty.
    """

    module: torch.nn.Module
    graph: Graph
    inputs: list[ModuleTensor]
    outputs: list[ModuleTensor]
    arg_name_value_pairs: Arguments
    name: str = ""

    def to_string(self, verbose: bool = False) -> str:
        kind = type(self.module)
        label = _called(f"{kind.__module__}.{kind.__qualname__}", self.arg_name_value_pairs, verbose)
        return "\n".join([label, *([self.name] if self.name else [])])


@dataclass(repr=False)
class TorchModuleInput(Operation):
    """An argument of a module, in the module's own graph."""

    name: str

    def to_string(self, verbose: bool = False) -> str:
        return self.name


@dataclass(repr=False)
class TTNNTensor(Operation):
    """A tensor of TT-NN that was made before tracing began."""

    def to_string(self, verbose: bool = False) -> str:
        return "ttnn.Tensor"


@dataclass(repr=False)
class TTNNOperation(Operation):
    """A call of an operation of TT-NN.

    Attributes:
        pretty_name: its full name, such as ``ttnn.add``.
    """

    pretty_name: str
    operation: Any
    arg_name_value_pairs: Arguments

    def to_string(self, verbose: bool = False) -> str:
        return _called(self.pretty_name, self.arg_name_value_pairs, verbose)


def function_name(function: Any) -> str:
    """Returns the name under which a user of PyTorch knows a function: ``torch.nn.functional.gelu``."""
    from torch.overrides import resolve_name

    return resolve_name(function) or f"{function.__module__ or 'torch'}.{function.__name__}"


def _called(name: str, arguments: Arguments, verbose: bool) -> str:
    """Returns the name of a function, with its arguments in lines of some fifty characters where they are asked for."""
    if not verbose:
        return name
    lines = [f"{name}("]
    for place, (key, value) in enumerate(arguments):
        shown = f"{value!r}" if isinstance(key, PositionalArgumentName) else f"{key}={value!r}"
        if len(lines[-1]) > _LINE:
            lines.append("")
        lines[-1] += shown + (", " if place + 1 < len(arguments) else "")
    return "\n".join(line.rstrip() for line in lines) + ")"
