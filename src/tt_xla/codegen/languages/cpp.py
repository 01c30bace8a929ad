"""Prints generated source as C++20.

A tensor is a ``ttnn::Tensor``, passed by value because it is a handle; several results are a vector. Arguments follow
the order of the function's declaration (:mod:`tt_xla.codegen.languages.signatures`). Arguments that are left out before
the last one passed are written as their defaults.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tt_xla import __version__
from tt_xla.codegen.expressions import Call, Data, Device, Expression, Name, shortest
from tt_xla.codegen.expressions import Value as ValueOf
from tt_xla.codegen.formatting import INDENT, Group, Node, call, flat, lay_out
from tt_xla.codegen.judge import L1_SMALL_BYTES
from tt_xla.codegen.languages.base import DataOf, Iteration, Language, ResultForm, Value
from tt_xla.codegen.languages.numbered import WeightEntry
from tt_xla.codegen.languages.python import plain
from tt_xla.codegen.languages.signatures import FUNCTIONS, Function, Parameter
from tt_xla.codegen.meshes import DeviceMesh
from tt_xla.codegen.naming import stem
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import Program
from tt_xla.target import Target

_NAMES = {
    **{f"ttnn.{dtype.ttnn}": f"ttnn::DataType::{dtype.ttnn.upper()}" for dtype in DataType if not dtype.is_host_only},
    "ttnn.TILE_LAYOUT": "ttnn::Layout::TILE",
    "ttnn.ROW_MAJOR_LAYOUT": "ttnn::Layout::ROW_MAJOR",
    "ttnn.DRAM_MEMORY_CONFIG": "ttnn::DRAM_MEMORY_CONFIG",
    "ttnn.L1_MEMORY_CONFIG": "ttnn::L1_MEMORY_CONFIG",
}
_NAMESPACES = {
    "BufferType": "ttnn::BufferType",
    "MathFidelity": "tt::tt_metal::MathFidelity",
    "ShardOrientation": "tt::tt_metal::ShardOrientation",
    "TensorMemoryLayout": "ttnn::TensorMemoryLayout",
    "UnaryOpType": "ttnn::operations::unary::UnaryOpType",
}
_CLASSES = {
    **{
        f"ttnn.{name}": f"ttnn::{name}"
        for name in (
            "CoreCoord",
            "CoreGrid",
            "CoreRange",
            "CoreRangeSet",
            "MemoryConfig",
            "MeshCoordinate",
            "MeshShape",
        )
    },
    "ttnn.MeshComposerConfig": "ttnn::distributed::MeshComposerConfig",
    "ttnn.MeshMapperConfig": "ttnn::distributed::MeshMapperConfig",
    "ttnn.PlacementReplicate": "ttnn::distributed::MeshMapperConfig::Replicate",
    "ttnn.PlacementShard": "ttnn::distributed::MeshMapperConfig::Shard",
    "ttnn.ShardSpec": "tt::tt_metal::ShardSpec",
    "ttnn.UnaryWithParam": "ttnn::operations::unary::UnaryWithParam",
}
_STRUCTS = {
    "ttnn.Conv2dConfig": "ttnn::prim::Conv2dConfig",
    "ttnn.WormholeComputeKernelConfig": "ttnn::ComputeKernelConfig",
}
_VECTORS = {
    "Tn": "std::vector<ttnn::Tensor>",
    "i32s": "std::vector<int32_t>",
    "i64s": "ttnn::SmallVector<int64_t>",
    "u32s": "ttnn::SmallVector<uint32_t>",
    "u32v": "std::vector<uint32_t>",
    "pairs": "ttnn::SmallVector<std::array<uint32_t, 2>>",
    "placements": "ttnn::SmallVector<ttnn::distributed::MeshMapperConfig::Placement>",
    "functions": "std::vector<ttnn::operations::unary::EltwiseUnaryWithParam>",
    "dims?": "ttnn::SmallVector<int>",
    "elements": "std::vector<double>",
}
_FLOATS = {"f", "f1", "f?", "number", "fill"}


class Cpp(Language):
    """The C++ source of generated programs."""

    name = "cpp"
    label = "C++"
    main = "main.cpp"
    traces = False
    host = False
    one_parameter_per_tensor = False
    brackets = "{}"
    comment_sign = "//"

    def node(self, expression: Expression, value: Value, data: DataOf) -> Node:
        return _Printer(value, data).node(expression)

    def weight(self, key: str) -> str:
        return f"w.at({quoted(key)})"

    def under(self, prefix: str) -> str:
        return f"utils::under(w, {quoted(prefix)})"

    def store(self, entries: Sequence[WeightEntry]) -> list[str]:
        return [line for entry in entries for line in self._store(entry.keys, entry.source)]

    def _store(self, keys: Sequence[str], source: Node) -> list[str]:
        if len(keys) == 1:
            return lay_out(f"w[{quoted(keys[0])}] = ", source, ";", indent=1, trailing="")
        assignments = [f"{INDENT * 2}w[{quoted(key)}] = allResults[{index}];" for index, key in enumerate(keys)]
        lines = lay_out("const auto allResults = ", source, ";", indent=2, trailing="")
        return [f"{INDENT}{{", *lines, *assignments, f"{INDENT}}}"]

    def bind(self, names: Sequence[str], fresh: Sequence[bool], source: Node, form: str) -> list[str]:
        declared = [f"{'auto ' if new else ''}{name} = " for name, new in zip(names, fresh, strict=True)]
        if form == "variant":
            return lay_out(declared[0], Group("std::get<0>(", (source,), ")"), ";", indent=1, trailing="")
        if not names or (len(names) == 1 and form == "one"):
            return lay_out("".join(declared), source, ";", indent=1, trailing="")
        if len(names) == 1:
            return lay_out(declared[0], source, "[0];", indent=1, trailing="")
        declarations = [f"{INDENT}ttnn::Tensor {name};" for name, new in zip(names, fresh, strict=True) if new]
        lines = lay_out("auto allResults = ", source, ";", indent=2, trailing="")
        item = "std::get<{}>(allResults)" if form == "tuple" else "allResults[{}]"
        assignments = [f"{INDENT * 2}{name} = {item.format(index)};" for index, name in enumerate(names)]
        return [*declarations, f"{INDENT}{{", *lines, *assignments, f"{INDENT}}}"]

    def result_form(self, expression: Expression, results: int) -> str:
        function = FUNCTIONS.get(_key(expression)) if isinstance(expression, Call) else None
        return function.returns if function is not None and function.returns != "none" else "one"

    def return_statement(self, results: Sequence[str], form: ResultForm) -> list[str]:
        if form == "nothing" or not results:
            return [f"{INDENT}return {{}};"] if form != "nothing" else []
        if form == "one":
            return [f"{INDENT}return {results[0]};"]
        return lay_out("return ", self.listed(results), ";", indent=1, trailing="")

    def comment(self, text: str) -> str:
        return super().comment(text).rstrip("\\")

    def deallocate(self, name: str) -> str:
        return f"{INDENT}ttnn::deallocate({name}, false);"

    def function(
        self, name: str, parameters: Sequence[str], form: ResultForm, doc: str, lines: Sequence[str]
    ) -> list[str]:
        result_type = {"nothing": "void", "one": "ttnn::Tensor"}.get(form, "std::vector<ttnn::Tensor>")
        changes_weights = form == "nothing"
        declarations = tuple(_parameter(parameter, changes_weights) for parameter in parameters)
        head = lay_out(f"{result_type} {name}", Group("(", declarations, ")", fill=True), " {", trailing="")
        return [*([f"// {doc}"] if doc else []), *head, *lines, "}"]

    def config(self, name: str, value: Expression) -> list[str]:
        if not isinstance(value, Call) or value.function in _CLASSES:
            node = _Printer(str, lambda data: None).node(value)
            return lay_out(f"const auto {name} = ", node, ";", trailing="")
        kind = _STRUCTS.get(value.function) or f"ttnn::operations::matmul::{value.function.rpartition('.')[2]}"
        printer = _Printer(str, lambda data: None)
        fields = [
            f"{INDENT}config.{key} = {flat(printer.node(item))};"
            for key, item in value.keywords.items()
            if item is not None
        ]
        return [f"const auto {name} = [] {{", f"{INDENT}{kind} config;", *fields, f"{INDENT}return config;", "}();"]

    def loop(self, iteration: Iteration) -> list[str]:
        carried = iteration.carried
        arguments = f"utils::joined({carried}, {flat(self.listed(iteration.captured))})"
        states = self.listed(iteration.states)
        lines = lay_out(f"std::vector<ttnn::Tensor> {carried} = ", states, ";", indent=1, trailing="")
        if iteration.condition is None:
            rounds = f"utils::rounds({', '.join(iteration.bounds)})"
            lines.append(f"{INDENT}for (int64_t iRound = 0, nRounds = {rounds}; iRound < nRounds; ++iRound) {{")
        else:
            lines.append(f"{INDENT}while (utils::scalar({iteration.condition}(device, {arguments})[0])) {{")
        return [*lines, f"{INDENT * 2}{carried} = {iteration.body}(device, {arguments});", f"{INDENT}}}"]

    def choose(
        self, chosen: str, index: str, branches: Sequence[str], arguments: Sequence[str]
    ) -> tuple[list[str], Node]:
        names = tuple(branches)
        pick = Group("(", (index, Group("{", names, "}")), ")", fill=True)
        lines = lay_out(f"const utils::Branch {chosen} = utils::pick", pick, ";", indent=1, trailing="")
        return lines, call(chosen, ["device", self.listed(arguments)])

    def scalar(self, name: str) -> str:
        return f"static_cast<int64_t>(utils::scalar({name}))"

    def loaders(self, weights: Sequence[WeightEntry], inputs: Sequence[Node]) -> list[str]:
        device = "ttnn::MeshDevice* device"
        lines = ["", f"utils::Weights load_weights([[maybe_unused]] {device}) {{", f"{INDENT}utils::Weights w;"]
        lines += self.store(weights)
        lines += [f"{INDENT}return w;", "}", "", f"std::vector<ttnn::Tensor> load_inputs([[maybe_unused]] {device}) {{"]
        return [*lines, *lay_out("return ", Group("{", tuple(inputs), "}"), ";", indent=1, trailing=""), "}"]

    def file(
        self,
        program: Program,
        target: Target,
        parts: Sequence[Sequence[str]],
        configs: Sequence[str],
        modules: Sequence[str] = (),
    ) -> str:
        level = program.options.get("optimization_level", 0)
        lines = [
            f"// {plain(program.name)} on TT-NN.",
            "//",
            f"// Generated by tt-xla {__version__} for {target.name}, optimization level {level}.",
            "// ./run builds it and runs it.",
            "",
            '#include "utils.hpp"',
            "",
            *configs,
        ]
        for part in parts:
            lines += ["", *part]
        return "\n".join(_without_empty_runs(lines)) + "\n"

    def entry(
        self,
        program: Program,
        mesh: DeviceMesh | None,
        prepares: bool,
        inputs: int,
        updates: Mapping[int | str, int],
        joined: Sequence[Node] | None,
    ) -> list[str]:
        arguments = "".join(f", inputs[{index}]" for index in range(inputs))
        forward = f"forward(device, w{arguments})"
        results: Node = "results" if joined is None else Group("{", tuple(joined), "}")
        places = [f"w[{quoted(key)}]" if isinstance(key, str) else f"inputs[{key}]" for key in updates]
        taken = [f"{place} = results[{index}];" for place, index in zip(places, updates.values(), strict=True)]
        shown = [
            f"        auto results = {forward};",
            "        for (size_t step = 1; step < steps; ++step) {",
            *(f"            {statement}" for statement in taken),
            f"            results = {forward};",
            "        }",
            *lay_out("utils::show(", results, ", steps == 1);", indent=2, trailing=""),
        ]
        return [
            "",
            "int main(int argc, char** argv) {",
            "    const size_t steps = utils::step_count(argc, argv);",
            *_opening(mesh),
            "    auto* device = mesh.get();",
            "    {  // tensors must be freed before the device closes",
            "        auto w = load_weights(device);",
            *(["        const_eval(device, w);"] if prepares else []),
            "        [[maybe_unused]] auto inputs = load_inputs(device);",
            *shown,
            "    }",
            *_closing(mesh),
            "    return 0;",
            "}",
        ]


def _opening(mesh: DeviceMesh | None) -> list[str]:
    """Returns the statements that open the device."""
    if mesh is None:
        return [f"    auto mesh = ttnn::device::open_mesh_device(0, {L1_SMALL_BYTES});"]
    rows, columns = mesh.shape
    chips = f", {{{', '.join(map(str, mesh.physical_chips))}}}" if mesh.physical_chips else ""
    return [
        f"    tt::tt_fabric::SetFabricConfig(tt::tt_fabric::FabricConfig::{mesh.fabric});",
        f"    auto mesh = utils::open_mesh_device({rows}, {columns}, {L1_SMALL_BYTES}{chips});",
    ]


def _closing(mesh: DeviceMesh | None) -> list[str]:
    """Returns the statements that close the device."""
    if mesh is None:
        return ["    ttnn::device::close_device(*device);"]
    return [
        "    ttnn::distributed::close_mesh_device(mesh);",
        "    tt::tt_fabric::SetFabricConfig(tt::tt_fabric::FabricConfig::DISABLED);",
    ]


class _Printer:
    """Prints expressions in the types of the parameters that they are passed to."""

    def __init__(self, value: Value, data: DataOf) -> None:
        self.value = value
        self.data = data

    def node(self, expression: Expression, code: str = "") -> Node:
        """Returns the source of an expression that is passed to a parameter with this type code."""
        match expression:
            case ValueOf(number):
                return self.value(number)
            case Name(text):
                return _name(text)
            case Device():
                return "*device" if code == "device?" else "device"
            case Data():
                return self.node(self.data(expression))
            case Call():
                return self._call(expression)
            case tuple():
                return self._sequence(expression, code)
            case set():
                return Group("{", tuple(sorted((self.node(item) for item in expression), key=flat)), "}")
            case str():
                return quoted(expression)
            case bool():
                return "true" if expression else "false"
            case int() | float():
                return _number(expression, code)
            case _:
                return "std::nullopt"

    def _call(self, expression: Call) -> Node:
        if expression.function in _CLASSES:
            return self._constructor(expression)
        function = FUNCTIONS.get(_key(expression))
        if function is None:
            raise UnsupportedOpError(
                f"The table of C++ declarations has no row for '{expression.function}'.",
                hint="Add a row to tt_xla/codegen/languages/signatures.py.",
            )
        arguments = _ordered(function, expression)
        items = tuple(
            parameter.default if argument is _ABSENT else self.node(argument, parameter.code)  # pyright: ignore[reportArgumentType]
            for parameter, argument in arguments
        )
        name = f"{function.name}<int32_t>" if function.template == "int32_t" else function.name
        return Group(f"{name}(", items, ")", fill=True)

    def _constructor(self, expression: Call) -> Node:
        """Returns the construction of an object of TT-NN."""
        kind = _CLASSES[expression.function]
        match expression.function:
            case "ttnn.CoreGrid":
                return f"{kind}({expression.keywords['x']}, {expression.keywords['y']})"
            case "ttnn.UnaryWithParam":
                operation, *params = expression.arguments
                numbers = [_number(float(item), "f") for item in params if isinstance(item, (bool, int, float))]
                return Group(f"{kind}(", (self.node(operation), *numbers), ")", fill=True)
            case "ttnn.CoreRangeSet":
                (ranges,) = expression.arguments
                assert isinstance(ranges, tuple)
                return Group(f"{kind}(std::vector<ttnn::CoreRange>{{", tuple(map(self.node, ranges)), "})", fill=True)
            case "ttnn.MeshMapperConfig" | "ttnn.MeshComposerConfig":
                code = "placements" if expression.function == "ttnn.MeshMapperConfig" else "dims?"
                first, *rest = expression.arguments
                return Group(f"{kind}{{", (self.node(first, code), *map(self.node, rest)), "}", fill=True)
            case "ttnn.MeshShape":
                return Group(f"{kind}(", (self.node(expression.arguments[0], "u32s"),), ")", fill=True)
            case "ttnn.PlacementShard" | "ttnn.PlacementReplicate":
                return Group(f"{kind}{{", tuple(map(self.node, expression.arguments)), "}", fill=True)
            case "ttnn.ShardSpec":
                cores, shape, orientation = expression.arguments
                items = (self.node(cores), self.node(shape, "two"), self.node(orientation))
                return Group(f"{kind}(", items, ")", fill=True)
            case _:
                return Group(f"{kind}(", tuple(map(self.node, expression.arguments)), ")", fill=True)

    def _sequence(self, items: tuple[Expression, ...], code: str) -> Node:
        if code in ("two", "padding"):
            return f"std::array<uint32_t, {len(items)}>{{{', '.join(map(str, items))}}}"
        if code in ("shape", "shape?"):
            return f"ttnn::Shape({{{', '.join(map(str, items))}}})"
        inner = {"pairs": "two", "elements": "double"}.get(code, "")
        kind = _VECTORS.get(code, "")
        return Group(f"{kind}{{", tuple(self.node(item, inner) for item in items), "}", fill=True)


_ABSENT = object()
"""Marks a parameter that gets its default."""


def _ordered(function: Function, expression: Call) -> list[tuple[Parameter, Expression | object]]:
    """Returns the arguments of a call in the order of the declaration, up to the last one that is passed or required.

    Raises:
        UnsupportedOpError: the declaration has no parameter of a keyword's name.
    """
    rest = list(function.parameters)
    ordered: list[tuple[Parameter, Expression | object]] = []
    for argument in expression.arguments:
        ordered.append((rest.pop(0), argument))
    keywords = dict(expression.keywords)
    while keywords:
        if not rest:
            raise UnsupportedOpError(
                f"The C++ declaration of '{expression.function}' has no parameter {', '.join(keywords)}.",
                hint="Correct its row in tt_xla/codegen/languages/signatures.py.",
            )
        parameter = rest.pop(0)
        ordered.append((parameter, keywords.pop(parameter.name, _ABSENT)))
    required = [parameter for parameter in rest if not parameter.default]
    for parameter in rest[: rest.index(required[-1]) + 1] if required else []:
        ordered.append((parameter, _ABSENT))
    return ordered


def _key(expression: Call) -> str:
    """Returns the key of a call in the table of declarations; a few functions have a row for each form of arguments."""
    if expression.function == "ttnn.clamp" and len(expression.arguments) > 1:
        return "ttnn.clamp (tensors)"
    if expression.function == "ttnn.divide" and "rounding_mode" in expression.keywords:
        return "ttnn.div"
    return expression.function


def _name(text: str) -> str:
    """Returns the C++ name for a name of the Python library."""
    if text in _NAMES:
        return _NAMES[text]
    if not text.startswith("ttnn."):
        return text
    _, kind, label = text.split(".")
    return f"{_NAMESPACES[kind]}::{label}"


def quoted(text: str) -> str:
    """Returns a string literal. Characters that a literal cannot hold are octal escapes of their UTF-8 bytes."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else "".join(f"\\{byte:03o}" for byte in character.encode())


def _number(value: float, code: str) -> str:
    """Returns a number as a C++ literal for a parameter with this type code."""
    if code not in _FLOATS and not isinstance(value, float):
        return repr(value)
    kind = "double" if code == "double" else "float"
    if math.isnan(value):
        return f"std::numeric_limits<{kind}>::quiet_NaN()"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}std::numeric_limits<{kind}>::infinity()"
    return repr(value) if kind == "double" else f"{shortest(float(value))!r}f"


def _parameter(name: str, changes_weights: bool) -> str:
    """Returns the declaration of a parameter by its name."""
    match name:
        case "device":
            return "[[maybe_unused]] ttnn::MeshDevice* device"
        case "w":
            return f"{'' if changes_weights else '[[maybe_unused]] const '}utils::Weights& w"
        case "tensors":
            return "const std::vector<ttnn::Tensor>& tensors"
        case _ if stem(name) == "states":
            return f"const std::vector<ttnn::Tensor>& {name}"
        case _:
            return f"ttnn::Tensor {name}"


def _without_empty_runs(lines: Sequence[str]) -> list[str]:
    """Returns lines with no two empty ones in a row."""
    result: list[str] = []
    for line in lines:
        if line or (result and result[-1]):
            result.append(line)
    return result
