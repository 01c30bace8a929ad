"""Writes a traced graph as Python: a function for each module, and one for the calls outside of modules."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import networkx

from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.geometry import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG, MemoryConfig
from tt_xla.ttnn_api.tracing.graphs import Place, get_graph, inputs_of
from tt_xla.ttnn_api.tracing.nodes import (
    Arguments,
    InputTensorIndex,
    Node,
    Operation,
    PositionalArgumentName,
    TorchFunction,
    TorchModule,
    TorchModuleInput,
    TorchParameter,
    TorchTensor,
    TTNNOperation,
    function_name,
)

if TYPE_CHECKING:
    from tt_xla.ttnn_api.tracing.nodes import Graph

_TOP = "top_level_module"
_COMMENT = re.compile(r"  # [^#]*$")
"""Shapes and types at the end of a line."""


def codegen(output: Any) -> str:
    """Writes the calls of the trace in which calls returned tensors as Python.

    Modules become functions, inner ones first; equal modules share one. They take their tensors, and ``parameters``,
    whose attributes are those of :func:`ttnn.model_preprocessing.preprocess_model_parameters`. Tensors that no call
    made are arguments of ``top_level_module``, as is the device.

    Args:
        output: traced tensors, in sequences, mappings or dataclasses, or a graph.

    Raises:
        ValueError: no tensor was traced.
    """
    return _Writer().written(get_graph(output))


@dataclass
class _Function:
    """A function that is being written."""

    prefix: str
    """Name of the module, which the names of its parameters begin with."""
    names: dict[Place, str] = field(default_factory=lambda: {})
    """Expression of each tensor."""
    lines: list[str] = field(default_factory=lambda: [])
    arguments: list[str] = field(default_factory=lambda: [])

    def relative(self, name: str) -> str:
        """Returns the expression of a parameter or of the parameters of a module, by its name in the outermost one."""
        parts = name.removeprefix(f"{self.prefix}.").split(".") if name != self.prefix else []
        steps = [f"[{part}]" if part.isdigit() else f".{part}" for part in parts if part]
        return "".join(["parameters", *steps])


class _Writer:
    def __init__(self) -> None:
        self.functions: dict[str, tuple[str, str]] = {}
        """Names and texts of the modules' functions, by their text without the name and comments."""
        self._uses_device = False

    def written(self, graph: Graph) -> str:
        """Returns the source of a graph."""
        top = _Function("")
        self._write(graph, top)
        last = [place for node in sorted(graph) if not graph.out_degree(node) for place in _outputs(graph, node)]
        top.lines.append(f"return {', '.join(top.names[place] for place in last) or None}")
        keywords = ["*", "parameters=None", *(["device=None"] if self._uses_device else [])]
        body = _function(_TOP, [*top.arguments, *keywords], top.lines)
        inner = [text.replace("def (", f"def {name}(", 1) for name, text in self.functions.values()]
        return "\n\n".join(["import torch\nimport ttnn\n", *inner, body])

    def _write(self, graph: Graph, function: _Function) -> None:
        """Adds the statements of a graph's nodes to a function."""
        for node in networkx.lexicographical_topological_sort(graph, key=_number):
            operation: Operation = graph.nodes[node]["operation"]
            inputs = [function.names[place] for place in inputs_of(graph, node)]
            if isinstance(operation, TorchModuleInput):
                continue
            if isinstance(operation, TorchParameter) and operation.name:
                function.names[node, 0] = function.relative(operation.name)
                continue
            called = self._expression(operation, inputs, function)
            if called is None:
                name = function.names[node, 0] = re.sub(r"\W", "_", node.name)
                function.arguments.append(name)
                continue
            outputs = _outputs(graph, node)
            variable = f"v{len(function.lines)}"
            for place in outputs:
                function.names[place] = variable if len(outputs) == 1 else f"{variable}[{place[1]}]"
            assigned = f"{variable} = " if outputs else ""
            function.lines.append(f"{assigned}{called}  # {_comment(graph.nodes[node])}")

    def _expression(self, operation: Operation, inputs: list[str], function: _Function) -> str | None:
        """Returns the expression that computes a node; None for a tensor from outside."""
        if isinstance(operation, TorchModule):
            parameters = f"parameters={function.relative(operation.name)}"
            return f"{self._module(operation)}({', '.join([*inputs, parameters])})"
        if isinstance(operation, TorchFunction):
            return f"{function_name(operation.function)}({self._arguments(operation.arg_name_value_pairs, inputs)})"
        if isinstance(operation, TTNNOperation):
            return f"{operation.pretty_name}({self._arguments(operation.arg_name_value_pairs, inputs)})"
        if isinstance(operation, TorchTensor) and operation.tensor.numel() <= 1:
            return f"torch.tensor({operation.tensor.tolist()!r}, dtype={operation.tensor.dtype})"
        return None

    def _module(self, operation: TorchModule) -> str:
        """Returns the name of a module's function, which is written unless an equal one is there."""
        function = _Function(operation.name)
        for each in operation.inputs:
            name = re.sub(r"\W", "_", operation.graph.nodes[each.node]["operation"].name)
            function.names[each.node, 0] = name
            function.arguments.append(name)
        self._write(operation.graph, function)
        returned = [function.names[each.node, each.output_index] for each in operation.outputs]
        function.lines.append(f"return {', '.join(returned) or None}")
        text = _function("", [*function.arguments, "*", "parameters"], function.lines)
        bare = _function(
            "", [*function.arguments, "*", "parameters"], [_COMMENT.sub("", each) for each in function.lines]
        )
        if bare not in self.functions:
            kind = type(operation.module).__name__
            taken = {*(name for name, _ in self.functions.values()), _TOP}
            numbered = (f"{kind}_{number}" for number in range(1, len(taken) + 1))
            name = kind if kind not in taken else next(each for each in numbered if each not in taken)
            self.functions[bare] = name, text
        name, first = self.functions[bare]
        if text != first:  # the calls have other shapes
            self.functions[bare] = name, bare
        return name

    def _arguments(self, arguments: Arguments, inputs: list[str]) -> str:
        shown = [(name, self._value(value, inputs)) for name, value in arguments]
        return ", ".join(
            value if isinstance(name, PositionalArgumentName) else f"{name}={value}" for name, value in shown
        )

    def _value(self, value: Any, inputs: list[str]) -> str:
        """Returns an argument as Python."""
        if isinstance(value, InputTensorIndex):
            return inputs[value.index]
        if isinstance(value, MeshDevice):
            self._uses_device = True
            return "device"
        if isinstance(value, enum.Enum):
            return f"ttnn.{type(value).__name__}.{value.name}"
        if isinstance(value, (list, tuple)):
            items = [self._value(each, inputs) for each in value]
            if isinstance(value, list):
                return f"[{', '.join(items)}]"
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if isinstance(value, MemoryConfig) and any(value == each for each in (DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG)):
            return f"ttnn.{value.buffer_type.name}_MEMORY_CONFIG"
        if isinstance(value, Mapping):
            items = (f"{key!r}: {self._value(each, inputs)}" for key, each in value.items())
            return f"{{{', '.join(items)}}}"
        return _literal(value)


def _literal(value: Any) -> str:
    """Returns a value of PyTorch's or Python's as Python."""
    import torch

    if isinstance(value, torch.device):
        return f"torch.{value!r}"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"float('{value}')"
    return repr(value)


def _number(node: Node) -> int:
    return node.unique_id


def _outputs(graph: Graph, node: Node) -> list[Place]:
    operation = graph.nodes[node]["operation"]
    count = len(operation.outputs) if isinstance(operation, TorchModule) else len(graph.nodes[node]["shapes"])
    return [(node, index) for index in range(count)]


def _comment(attributes: Mapping[str, Any]) -> str:
    """Returns shapes and types of a node's outputs."""
    pairs = zip(attributes["shapes"], attributes["dtypes"], strict=True)
    return ", ".join(f"{shape} {dtype}" for shape, dtype in pairs) or "no tensor"


def _function(name: str, arguments: list[str], lines: list[str]) -> str:
    return "\n".join([f"def {name}({', '.join(arguments)}):", *(f"    {line}" for line in lines), ""])
