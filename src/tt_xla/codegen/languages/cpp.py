"""Generated source as C++20.

Tensors are ``ttnn::Tensor``, passed by value as they are handles; several results come in a vector. Arguments are in
the order of the function's declaration (:mod:`tt_xla.codegen.languages.signatures`), those that are left out up to the
last one given have their defaults.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_xla import __version__
from tt_xla.codegen.expressions import Call, Data, Device, Expression, Name, shortest
from tt_xla.codegen.expressions import Value as ValueOf
from tt_xla.codegen.formatting import INDENT, Group, Node, call, flat, lay_out
from tt_xla.codegen.judge import L1_SMALL_BYTES
from tt_xla.codegen.languages.base import DataOf, Gives, Value
from tt_xla.codegen.languages.numbered import Made
from tt_xla.codegen.languages.python import plain
from tt_xla.codegen.languages.signatures import FUNCTIONS, Function, Parameter
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
_HOMES = {
    "BufferType": "ttnn::BufferType",
    "MathFidelity": "tt::tt_metal::MathFidelity",
    "ShardOrientation": "tt::tt_metal::ShardOrientation",
    "TensorMemoryLayout": "ttnn::TensorMemoryLayout",
    "UnaryOpType": "ttnn::operations::unary::UnaryOpType",
}
_CLASSES = {
    "ttnn.CoreCoord": "ttnn::CoreCoord",
    "ttnn.CoreGrid": "ttnn::CoreGrid",
    "ttnn.CoreRange": "ttnn::CoreRange",
    "ttnn.CoreRangeSet": "ttnn::CoreRangeSet",
    "ttnn.MemoryConfig": "ttnn::MemoryConfig",
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
    "functions": "std::vector<ttnn::operations::unary::EltwiseUnaryWithParam>",
    "dims?": "ttnn::SmallVector<int>",
    "elements": "std::vector<double>",
}
_FLOATS = {"f", "f1", "f?", "cf?", "number"}


class Cpp:
    name = "cpp"
    label = "C++"
    main = "main.cpp"
    traces = False
    host = False
    spreads = False

    def node(self, expression: Expression, value: Value, data: DataOf) -> Node:
        return _Printer(value, data).node(expression)

    def call(self, function: str, arguments: Sequence[Node]) -> Node:
        return call(function, arguments)

    def weight(self, key: str) -> str:
        return f"w.at({quoted(key)})"

    def weights(self, keys: Sequence[str]) -> list[str]:
        return [self.weight(key) for key in keys]

    def under(self, prefix: str) -> str:
        return f"utils::under(w, {quoted(prefix)})"

    def listed(self, items: Sequence[str]) -> Node:
        return Group("{", tuple(items), "}")

    def keep(self, made: Sequence[Made]) -> list[str]:
        return [line for found in made for line in self._keep(found.keys, found.source)]

    def _keep(self, keys: Sequence[str], source: Node) -> list[str]:
        if len(keys) == 1:
            return lay_out(f"w[{quoted(keys[0])}] = ", source, ";", indent=1, trailing="")
        taken = [f"{INDENT * 2}w[{quoted(key)}] = allResults[{index}];" for index, key in enumerate(keys)]
        lines = lay_out("const auto allResults = ", source, ";", indent=2, trailing="")
        return [f"{INDENT}{{", *lines, *taken, f"{INDENT}}}"]

    def bind(self, names: Sequence[str], fresh: Sequence[bool], source: Node, gives: str) -> list[str]:
        declared = [f"{'auto ' if new else ''}{name} = " for name, new in zip(names, fresh, strict=True)]
        if gives == "variant":
            return lay_out(declared[0], Group("std::get<0>(", (source,), ")"), ";", indent=1, trailing="")
        if not names or (len(names) == 1 and gives == "one"):
            return lay_out("".join(declared), source, ";", indent=1, trailing="")
        if len(names) == 1:
            return lay_out(declared[0], source, "[0];", indent=1, trailing="")
        outer = [f"{INDENT}ttnn::Tensor {name};" for name, new in zip(names, fresh, strict=True) if new]
        lines = lay_out("auto allResults = ", source, ";", indent=2, trailing="")
        item = "std::get<{}>(allResults)" if gives == "tuple" else "allResults[{}]"
        taken = [f"{INDENT * 2}{name} = {item.format(index)};" for index, name in enumerate(names)]
        return [*outer, f"{INDENT}{{", *lines, *taken, f"{INDENT}}}"]

    def gives(self, expression: Expression, results: int) -> str:
        found = FUNCTIONS.get(_key(expression)) if isinstance(expression, Call) else None
        return found.returns if found is not None and found.returns != "none" else "one"

    def give(self, results: Sequence[str], gives: Gives) -> list[str]:
        if gives == "nothing" or not results:
            return [f"{INDENT}return {{}};"] if gives != "nothing" else []
        if gives == "one":
            return [f"{INDENT}return {results[0]};"]
        return lay_out("return ", self.listed(results), ";", indent=1, trailing="")

    def comment(self, text: str) -> str:
        return f"{INDENT}// {text}".rstrip("\\")

    def is_comment(self, line: str) -> bool:
        return line.lstrip().startswith("//")

    def deallocate(self, name: str) -> str:
        return f"{INDENT}ttnn::deallocate({name}, false);"

    def function(self, name: str, parameters: Sequence[str], gives: Gives, doc: str, lines: Sequence[str]) -> list[str]:
        kind = {"nothing": "void", "one": "ttnn::Tensor"}.get(gives, "std::vector<ttnn::Tensor>")
        changes = gives == "nothing"
        typed = Group("(", tuple(_parameter(given, changes) for given in parameters), ")", fill=True)
        head = lay_out(f"{kind} {name}", typed, " {", trailing="")
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

    def loop(
        self,
        bounds: Sequence[str],
        condition: str | None,
        body: str,
        carried: str,
        states: Sequence[str],
        captured: Sequence[str],
    ) -> list[str]:
        given = f"utils::joined({carried}, {flat(self.listed(captured))})"
        lines = lay_out(f"std::vector<ttnn::Tensor> {carried} = ", self.listed(states), ";", indent=1, trailing="")
        if condition is None:
            rounds = f"utils::rounds({', '.join(bounds)})"
            lines.append(f"{INDENT}for (int64_t iRound = 0, nRounds = {rounds}; iRound < nRounds; ++iRound) {{")
        else:
            lines.append(f"{INDENT}while (utils::scalar({condition}(device, {given})[0])) {{")
        return [*lines, f"{INDENT * 2}{carried} = {body}(device, {given});", f"{INDENT}}}"]

    def choose(self, chosen: str, index: str, branches: Sequence[str], given: Sequence[str]) -> tuple[list[str], Node]:
        names = tuple(branches)
        pick = Group("(", (index, Group("{", names, "}")), ")", fill=True)
        lines = lay_out(f"const utils::Branch {chosen} = utils::pick", pick, ";", indent=1, trailing="")
        return lines, call(chosen, ["device", self.listed(given)])

    def element(self, name: str, index: int) -> str:
        return f"{name}[{index}]"

    def scalar(self, name: str) -> str:
        return f"static_cast<int64_t>(utils::scalar({name}))"

    def loaders(self, weights: Sequence[Made], inputs: Sequence[Node]) -> list[str]:
        device = "ttnn::MeshDevice* device"
        lines = ["", f"utils::Weights load_weights([[maybe_unused]] {device}) {{", f"{INDENT}utils::Weights w;"]
        lines += self.keep(weights)
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

    def entry(self, program: Program, prepares: bool, inputs: int) -> list[str]:
        given = "".join(f", inputs[{index}]" for index in range(inputs))
        return [
            "",
            "int main() {",
            f"    auto mesh = ttnn::device::open_mesh_device(0, {L1_SMALL_BYTES});",
            "    auto* device = mesh.get();",
            "    {  // tensors end before the device closes",
            "        auto w = load_weights(device);",
            *(["        const_eval(device, w);"] if prepares else []),
            "        [[maybe_unused]] auto inputs = load_inputs(device);",
            f"        utils::show(forward(device, w{given}));",
            "    }",
            "    ttnn::device::close_device(*device);",
            "    return 0;",
            "}",
        ]


class _Printer:
    """Expressions with the types that parameters have."""

    def __init__(self, value: Value, data: DataOf) -> None:
        self.value = value
        self.data = data

    def node(self, expression: Expression, code: str = "") -> Node:
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
                return self._several(expression, code)
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
            return self._made(expression)
        function = FUNCTIONS.get(_key(expression))
        if function is None:
            raise UnsupportedOpError(
                f"'{expression.function}' has no declaration for C++ in the table.",
                hint="Add a row to tt_xla/codegen/languages/signatures.py.",
            )
        arguments = _ordered(function, expression)
        items = tuple(
            parameter.default if given is _ABSENT else self.node(given, parameter.code)  # pyright: ignore[reportArgumentType]
            for parameter, given in arguments
        )
        name = f"{function.name}<int32_t>" if function.template == "int32_t" else function.name
        return Group(f"{name}(", items, ")", fill=True)

    def _made(self, expression: Call) -> Node:
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
            case "ttnn.ShardSpec":
                cores, shape, orientation = expression.arguments
                items = (self.node(cores), self.node(shape, "two"), self.node(orientation))
                return Group(f"{kind}(", items, ")", fill=True)
            case _:
                return Group(f"{kind}(", tuple(map(self.node, expression.arguments)), ")", fill=True)

    def _several(self, items: tuple[Expression, ...], code: str) -> Node:
        if code in ("two", "padding"):
            return f"std::array<uint32_t, {len(items)}>{{{', '.join(map(str, items))}}}"
        if code == "shape":
            return f"ttnn::Shape({{{', '.join(map(str, items))}}})"
        inner = {"pairs": "two", "elements": "double"}.get(code, "")
        kind = _VECTORS.get(code, "")
        return Group(f"{kind}{{", tuple(self.node(item, inner) for item in items), "}", fill=True)


_ABSENT = object()


def _ordered(function: Function, expression: Call) -> list[tuple[Parameter, Expression | object]]:
    """The arguments of a call in the order of the declaration, up to the last that is given."""
    rest = list(function.parameters)
    found: list[tuple[Parameter, Expression | object]] = []
    for given in expression.arguments:
        found.append((rest.pop(0), given))
    keywords = dict(expression.keywords)
    while keywords:
        if not rest:
            raise UnsupportedOpError(
                f"'{expression.function}' has no parameter {', '.join(keywords)} in the declaration for C++.",
                hint="Correct its row in tt_xla/codegen/languages/signatures.py.",
            )
        parameter = rest.pop(0)
        found.append((parameter, keywords.pop(parameter.name, _ABSENT)))
    needed = [parameter for parameter in rest if not parameter.default]
    for parameter in rest[: rest.index(needed[-1]) + 1] if needed else []:
        found.append((parameter, _ABSENT))
    return found


def _key(expression: Call) -> str:
    """The row of a call: by its name, and for a few by what it is given."""
    if expression.function == "ttnn.clamp" and len(expression.arguments) > 1:
        return "ttnn.clamp (tensors)"
    if expression.function == "ttnn.divide" and "rounding_mode" in expression.keywords:
        return "ttnn.div"
    return expression.function


def _name(text: str) -> str:
    if text in _NAMES:
        return _NAMES[text]
    if not text.startswith("ttnn."):
        return text
    _, kind, label = text.split(".")
    return f"{_HOMES[kind]}::{label}"


def quoted(text: str) -> str:
    """Returns a string literal. Characters that a literal cannot hold are octal escapes of their UTF-8 bytes."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else "".join(f"\\{byte:03o}" for byte in character.encode())


def _number(value: float, code: str) -> str:
    if code in _FLOATS or (isinstance(value, float) and code != "double"):
        value = float(value)
        if math.isnan(value):
            return "std::numeric_limits<float>::quiet_NaN()"
        if math.isinf(value):
            return f"{'-' if value < 0 else ''}std::numeric_limits<float>::infinity()"
        return repr(shortest(value)) + "f"
    if isinstance(value, float) and not math.isfinite(value):
        kind = "quiet_NaN" if math.isnan(value) else "infinity"
        return f"{'-' if value < 0 else ''}std::numeric_limits<double>::{kind}()"
    return repr(value)


def _parameter(name: str, changes: bool) -> str:
    match name:
        case "device":
            return "[[maybe_unused]] ttnn::MeshDevice* device"
        case "w":
            return f"{'' if changes else '[[maybe_unused]] const '}utils::Weights& w"
        case "tensors":
            return "const std::vector<ttnn::Tensor>& tensors"
        case _ if stem(name) == "states":
            return f"const std::vector<ttnn::Tensor>& {name}"
        case _:
            return f"ttnn::Tensor {name}"


def _without_empty_runs(lines: Sequence[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if line or (found and found[-1]):
            found.append(line)
    return found
