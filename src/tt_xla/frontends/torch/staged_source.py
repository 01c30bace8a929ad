"""Writes a graph that runs in stages as source: its programs, and ``main.py``, where host ops are PyTorch code."""

from __future__ import annotations

import io
import textwrap
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from torch.fx import Node

from tt_xla import __version__
from tt_xla.codegen.body import cited
from tt_xla.codegen.export import GraphProgram, StagedGraph
from tt_xla.codegen.formatting import INDENT, WIDTH, Group, flat, lay_out, quoted
from tt_xla.codegen.judge import L1_SMALL_BYTES
from tt_xla.codegen.languages.python import closing, opening
from tt_xla.codegen.meshes import DeviceMesh, device_mesh
from tt_xla.codegen.naming import RESERVED, identifier, unique
from tt_xla.errors import UnsupportedOpError
from tt_xla.frontends.torch import settings
from tt_xla.frontends.torch.lowering import Argument, Lowered, module_path, source_line
from tt_xla.frontends.torch.numbers import number
from tt_xla.frontends.torch.outputs import OutputView
from tt_xla.frontends.torch.private.ops import OpOverload
from tt_xla.frontends.torch.stages import DeviceStage, Stage, StagedExecutor, on_host
from tt_xla.ir.program import Program, Role

_RESERVED_NAMES = {*RESERVED, "torch", "programs", "operator", "load_programs", "load_inputs"}


@dataclass(frozen=True)
class Call:
    """How a stage is called in the source.

    Attributes:
        lowered: the stage's StableHLO module and how to call it.
        part: place of the stage's program in the source; None when the stage computes nothing.
    """

    lowered: Lowered
    part: GraphProgram | None


def graph_program(
    graph: StagedGraph, folder: str, stage: DeviceStage, lowered: Lowered, arguments: Mapping[Node, Argument]
) -> GraphProgram | None:
    """Returns the place of a stage's program in the source, or None when the stage computes nothing.

    ``main.py`` passes every argument that is no weight, and complex weights, for which TT-NN has no file format.
    """

    def is_passed(node: Node) -> bool:
        return node not in arguments or arguments[node].role is Role.INPUT or node.meta["val"].dtype.is_complex

    passed = (index for index, position in enumerate(lowered.tensors) if is_passed(stage.inputs[position]))
    return GraphProgram(graph, folder, frozenset(passed)) if lowered.results else None


class ExportedStages:
    """Runs the stages of a graph. The first run also writes them as source if the options request that.

    Args:
        executor: runs the stages.
        stages: the stages in order.
        calls: how each program stage is called in the source.
        arguments: descriptions of the graph's inputs.
        graph: the source of the whole graph.
        own: compile options of this model.
    """

    _boxed_call = True  # tells AOTAutograd that the list of arguments may be emptied

    def __init__(
        self,
        executor: StagedExecutor,
        stages: Sequence[Stage],
        calls: Mapping[DeviceStage, Call],
        arguments: Mapping[Node, Argument],
        graph: StagedGraph,
        own: Mapping[str, Any],
    ) -> None:
        self._executor, self._stages, self._calls = executor, stages, calls
        self._arguments, self._graph, self._own = arguments, graph, own
        self._settings: settings.Settings | None = None
        self._options = settings.current().with_own(own)

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        if self._settings is not settings.current():
            self._settings = settings.current()
            self._options = self._settings.with_own(self._own)
        root = Path(self._options.export_path)
        if not self._options.generates_source or self._graph.is_written(root):
            return self._executor(args)
        values = self._executor.constants | dict(zip(self._executor.placeholders, args, strict=True))
        results = self._executor(args)
        if self._graph.programs:  # none when the host runs every op
            stored = self._options.export_tensors
            writer = _Writer(self._stages, self._calls, self._arguments, self._graph, self._executor.results, values)
            main = writer.file(self._options.optimization_level, stored=stored)
            stored_values = {name: on_host(values[node]) for node, name in writer.inputs.items()}
            if not self._options.dry_run:
                stored_values |= {f"expected{i}": on_host(result) for i, result in enumerate(results)}
            tensors = {name: tensor for name, tensor in stored_values.items() if isinstance(tensor, torch.Tensor)}
            files = {f"tensors/{name}.pt": partial(save, tensor=tensor) for name, tensor in tensors.items()}
            self._graph.write(root, main, files if stored else {})
        return results


def save(path: Path, tensor: torch.Tensor) -> None:
    """Writes a tensor to a file that ``torch.load`` reads."""
    tensor = tensor.detach()
    if tensor.untyped_storage().nbytes() > tensor.nbytes:
        tensor = tensor.clone()  # torch.save would store the whole base of a view
    file = io.BytesIO()
    torch.save(tensor, file)
    path.write_bytes(file.getbuffer())  # raises OSError on a full disk, which torch.save does not


class _Writer:
    """Writer of ``main.py``.

    Args:
        stages: stages of the graph in order.
        calls: how each program stage is called.
        arguments: descriptions of the graph's inputs.
        graph: the source of the whole graph.
        results: outputs of the graph: nodes and other values.
        values: value of each input and constant of the graph.

    Attributes:
        inputs: name in ``forward``, and of the tensor's file, of each input of the graph.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        calls: Mapping[DeviceStage, Call],
        arguments: Mapping[Node, Argument],
        graph: StagedGraph,
        results: Sequence[Any],
        values: Mapping[Node, Any],
    ) -> None:
        self._stages, self._calls, self._arguments = stages, calls, arguments
        self._programs, self._results, self._values = graph.programs, results, values
        self._names: dict[Node, str] = {}
        self._used_names = {*_RESERVED_NAMES, *self._programs}
        self._imports: set[str] = set()
        self.inputs: dict[Node, str] = {}

    def file(self, level: int, *, stored: bool) -> str:
        """Returns the text of ``main.py``.

        Args:
            level: optimization level, for the comment at the top.
            stored: whether inputs are read from ``tensors/``; otherwise they are ones.
        """
        functions: list[list[str]] = []
        body: list[str] = []
        for _, group in groupby(self._stages, type):
            stages = [*group]
            body += self._host_part([stage for stage in stages if isinstance(stage, Node)], functions)
            for stage in stages:
                if isinstance(stage, DeviceStage):
                    body += self._program(stage, self._calls[stage])
        returned = [self._text(result) for result in self._results]
        body += lay_out("return ", Group("[", tuple(returned), "]"), indent=1)
        head = lay_out("def forward", Group("(", (*self._programs, *self.inputs.values()), ")", fill=True), ":")
        functions += [[*head, f'{INDENT}"""Runs the model and returns a list of its results."""', *body]]
        functions += [self._loaded_programs(), self._loaded_inputs(stored=stored), self._main()]
        sections = ["\n".join(lines) for lines in (self._head(level), *functions)]
        return "\n\n\n".join([*sections, f'if __name__ == "__main__":\n{INDENT}main()']) + "\n"

    def _head(self, level: int) -> list[str]:
        target = next(iter(self._programs.values())).target
        return [
            '"""A model on TT-NN and on the host.',
            "",
            f"Generated by tt-xla {__version__} for {target}, optimization level {level}. Run it with ./run, or with",
            "python main.py wherever ttnn and torch can be imported. What TT-NN computes is in",
            f"{' and '.join(', '.join(self._programs).rsplit(', ', 1))}; what it has no op for is torch code here.",
            '"""',
            "",
            *(f"import {name}" for name in sorted(self._imports)),
            *([""] if self._imports else []),
            "import torch",
            "import ttnn",
            "",
            "import programs",
        ]

    def _loaded_programs(self) -> list[str]:
        calls = [call for call in self._calls.values() if call.part is not None]
        dtypes = {call.part.folder: [fake.dtype for fake in call.lowered.results] for call in calls}
        loaded = [
            Group("programs.Program(", (quoted(name), "device", _listed(map(str, dtypes[name]))), ")", fill=True)
            for name in self._programs
        ]
        return ["def load_programs(device):", *lay_out("return ", _listed(loaded), indent=1)]

    def _loaded_inputs(self, *, stored: bool) -> list[str]:
        def expression(node: Node, name: str) -> str:
            value = self._values[node]
            if not isinstance(value, torch.Tensor):
                return repr(value)
            if stored:
                return f"programs.load({quoted(name)})"
            return f'torch.ones({[*value.shape]}, dtype={value.dtype}, device="cpu")'

        return [
            "def load_inputs():",
            *lay_out("return ", _listed(expression(*item) for item in self.inputs.items()), indent=1),
        ]

    def _main(self) -> list[str]:
        trace = sum(program.memory.trace_bytes for program in self._programs.values())
        region = f", trace_region_size={trace}" if trace else ""
        mesh = self._mesh()
        return [
            "def main():",
            "    programs.refuse_steps()",
            *opening(mesh, f"l1_small_size={L1_SMALL_BYTES}{region}"),
            "    try:",
            "        programs.show(forward(*load_programs(device), *load_inputs()))",
            "    finally:",
            *closing(mesh),
        ]

    def _mesh(self) -> DeviceMesh | None:
        """Returns the mesh device that all programs run on; None if all are for one chip.

        Raises:
            UnsupportedOpError: they are for different mesh devices.
        """
        found = [mesh for program in self._programs.values() if (mesh := device_mesh(program))]
        meshes = list({(mesh.shape, mesh.physical_chips): mesh for mesh in found}.values())
        if len(meshes) > 1:
            shapes = " and ".join("x".join(map(str, mesh.shape)) for mesh in meshes)
            raise UnsupportedOpError(
                f"The programs of the graph run on different mesh devices, of shapes {shapes}.",
                hint="Mark all tensors of the model on one mesh.",
            )
        return meshes[0] if meshes else None

    # Programs

    def _program(self, stage: DeviceStage, call: Call) -> Iterator[str]:
        """Yields the lines that call a program and name the outputs of its stage."""
        lowered = call.lowered
        results: list[str] = []
        if call.part is not None:
            program = self._programs[call.part.folder]
            arguments = [
                f"arg{index}={self._argument(stage.inputs[position], lowered.input_orders[index], program, index)}"
                for index, position in enumerate(lowered.tensors)
                if index in call.part.passed_positions
            ]
            result_nodes = {
                value: node
                for (kind, value), node in zip(lowered.outputs, stage.outputs, strict=True)
                if kind == "result"
            }
            results = [
                self._new(_module_name(result_nodes[i]) if i in result_nodes else "base")
                for i in range(len(lowered.results))
            ]
            before = f"{', '.join(results)} = " if len(results) > 1 else f"({results[0]},) = "
            yield from lay_out(before, Group(f"{call.part.folder}(", tuple(arguments), ")", fill=True), indent=1)
            for name, order, fake in zip(results, lowered.orders, lowered.results, strict=True):
                if order is not None:
                    yield f"{INDENT}{name} = {name}.permute({[order.index(axis) for axis in range(fake.dim())]})"
        for node, (kind, value) in zip(stage.outputs, lowered.outputs, strict=True):
            if kind == "result":
                self._names.setdefault(node, results[value])
            elif kind == "view":
                base, fake = (
                    (self._of_node(stage.inputs[value.index]), stage.inputs[value.index].meta["val"])
                    if value.of_input
                    else (results[value.index], lowered.results[value.index])
                )
                self._names[node] = name = self._new(_module_name(node))
                yield f"{INDENT}{name} = {_viewed(base, fake, value)}"
            else:
                self._names[node] = str(self._text(stage.inputs[value] if kind == "input" else value))

    def _argument(self, node: Node, order: Sequence[int] | None, program: Program, index: int) -> str:
        """Returns the expression for argument ``index`` of a program: permuted and reshaped as the program takes it."""
        text = str(self._text(node))
        entry = program.functions[0]
        shape, declared = entry.values[entry.arguments[index]].shape, program.arguments[index].shape
        permuted = text if order is None else f"{text}.permute({[*order]})"
        return permuted if tuple(shape) == tuple(declared) else f"{permuted}.reshape({[*shape]})"

    # The host

    def _host_part(self, nodes: Sequence[Node], functions: list[list[str]]) -> list[str]:
        """Adds a function of PyTorch code for consecutive host ops, and returns the lines that call it."""
        if not nodes:
            return []
        own = set(nodes)
        operands = [n for node in nodes for n in node.all_input_nodes if n not in own and self._is_tensor(n)]
        parameters = [str(self._text(node)) for node in dict.fromkeys(operands)]
        lines: list[str] = []
        last_location = ""
        for node in nodes:
            location, citation = cited(source_line(node))
            if citation and location != last_location:
                last_location = location
                lines.append(f"{INDENT}# {citation}".rstrip())
            lines += self._host_op(node, own)
        used_later = [node for node in nodes if node in self._results or any(user not in own for user in node.users)]
        results = [self._names[node] for node in used_later]
        first = next((node for node in nodes if isinstance(node.target, OpOverload)), nodes[0])
        name = unique(f"host_{_op_name(first)}", self._used_names)
        self._used_names.add(name)
        head = lay_out(f"def {name}", Group("(", tuple(parameters), ")", fill=True), ":")
        ops = ", ".join(dict.fromkeys(str(node.target) for node in nodes if isinstance(node.target, OpOverload)))
        doc = textwrap.wrap(f'"""Runs on the host: {ops}."""', WIDTH - len(INDENT), break_on_hyphens=False)
        lines = [*head, *(INDENT + line for line in doc), *lines]
        functions.append([*lines, f"{INDENT}return {', '.join(results)}"] if results else lines)
        call = Group(f"{name}(", tuple(parameters), ")", fill=True)
        return lay_out(f"{', '.join(results)} = " if results else "", call, indent=1)

    def _host_op(self, node: Node, own: set[Node]) -> list[str]:
        """Returns the statement of one op. Each result of an op with several results gets its own name."""
        items = [user for user in node.users if _is_item(user)]
        if _is_item(node) and node in self._names:
            return []
        target = node.target
        if _is_item(node):
            text: Any = f"{self._text(node.args[0])}[{self._text(node.args[1])}]"
        else:
            arguments = [self._text(argument) for argument in node.args]
            arguments += [_named(name, self._text(argument)) for name, argument in node.kwargs.items()]
            text = Group(f"{self._callee(node)}(", tuple(arguments), ")", fill=True)
        value = node.meta.get("val")
        if (
            isinstance(target, OpOverload)
            and isinstance(value, list | tuple)
            and len(items) == len(node.users)
            and {*items} <= own
        ):
            names = []
            for index in range(len(value)):
                reading = [item for item in items if item.args[1] == index]
                names.append(self._new(_return_name(target, index, node)) if reading else "_")
                self._names |= dict.fromkeys(reading, names[-1])
            return lay_out(f"{', '.join(names)}{',' if len(names) == 1 else ''} = ", text, indent=1)
        self._names[node] = self._new(_op_name(node))
        return lay_out(f"{self._names[node]} = " if node.users else "", text, indent=1)

    def _callee(self, node: Node) -> str:
        """Returns the expression of the function that a node calls.

        Raises:
            UnsupportedOpError: source cannot name the function.
        """
        target = node.target
        if isinstance(target, OpOverload):
            return _torch_name(target)
        module, name = getattr(target, "__module__", ""), getattr(target, "__name__", "")
        if module == "_operator":
            self._imports.add("operator")
            return f"operator.{name}"
        if module == "torch" and hasattr(torch, name):
            return f"torch.{name}"
        raise UnsupportedOpError(
            f"No source can be written for {target}, which runs on the host.",
            hint="Keep that part out of the compiled model with torch.compiler.disable, or write it with other ops.",
            location=source_line(node),
        )

    # Values

    def _is_tensor(self, node: Node) -> bool:
        return not isinstance(self._values.get(node), bool | int | float)

    def _text(self, value: Any) -> Any:
        """Returns a value of the graph or an argument of an op as source."""
        match value:
            case Node():
                return self._of_node(value)
            case list() | tuple():
                return _listed([self._text(item) for item in value])
            case slice():
                return "slice({})".format(", ".join(flat(self._text(x)) for x in (value.start, value.stop, value.step)))
            case torch.device():
                return '"cpu"'
            case float():
                return repr(value) if value == value and abs(value) != float("inf") else f'float("{value}")'
            case str():
                return quoted(value)
            case torch.SymInt() | torch.SymFloat() | torch.SymBool():
                return repr(number(value))
            case _:
                return str(value)

    def _of_node(self, node: Node) -> str:
        """Returns the name of a node's result. An input of the graph gets its name here.

        Raises:
            UnsupportedOpError: the node is a function, such as a branch of ``torch.cond``.
        """
        if not self._is_tensor(node):
            return repr(self._values[node])
        if node not in self._names:
            if isinstance(self._values.get(node), torch.nn.Module):
                raise UnsupportedOpError(
                    "No source can be written for a graph that runs on the host as a function, such as a branch of "
                    "torch.cond."
                )
            argument = self._arguments.get(node)
            self._names[node] = self.inputs[node] = self._new(argument.name if argument else str(node.target))
        return self._names[node]

    def _new(self, base: str) -> str:
        """Returns a new name in ``main.py`` that begins with ``base``."""
        name = unique(identifier(base), self._used_names)
        self._used_names.add(name)
        return name


def _listed(items: Any) -> Group:
    return Group("[", tuple(items), "]")


def _named(name: str, text: Any) -> Any:
    return f"{name}={flat(text)}"


def _is_item(node: Node) -> bool:
    return node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem"


def _torch_name(target: OpOverload) -> str:
    """Returns the public function of an op, such as ``torch.nanmedian``, or ``torch.ops...`` when there is none."""
    namespace, _, name = target._schema.name.partition("::")
    if namespace == "aten":
        for prefix, module in (("linalg_", "linalg"), ("special_", "special"), ("", "")):
            inner = getattr(torch, module) if module else torch
            function = getattr(inner, name.removeprefix(prefix), None) if name.startswith(prefix) else None
            if isinstance(function, types.BuiltinFunctionType):
                return ".".join(step for step in ("torch", module, name.removeprefix(prefix)) if step)
    return f"torch.ops.{target}"


def _op_name(node: Node) -> str:
    target = node.target
    if isinstance(target, OpOverload):
        return identifier(target._schema.name.partition("::")[2].strip("_"))
    return identifier(getattr(target, "__name__", node.name))


def _return_name(target: OpOverload, index: int, node: Node) -> str:
    returns = target._schema.returns
    return (returns[index].name if index < len(returns) else "") or _op_name(node)


def _module_name(node: Node) -> str:
    """Returns a name for a result of a program: that of the module that computes it, else that of its op."""
    path = [name for name in module_path(node).split(".") if name and not name.isdecimal()]
    return path[-1] if path else _op_name(node)


def _viewed(base: str, fake: torch.Tensor, view: OutputView) -> str:
    """Returns a view as source: ``permute`` where that is enough, else ``as_strided``."""
    if not view.offset and len(view.size) == fake.dim():
        of_view, of_base = (
            list(zip(*pair, strict=True)) for pair in ((view.size, view.stride), (fake.shape, fake.stride()))
        )
        order = sorted(
            range(fake.dim()), key=lambda axis: of_view.index(of_base[axis]) if of_base[axis] in of_view else -1
        )
        if [of_base[axis] for axis in order] == of_view:
            return f"{base}.permute({order})"
    return f"{base}.as_strided({[*view.size]}, {[*view.stride]}, {base}.storage_offset() + {view.offset})"
