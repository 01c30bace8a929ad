"""Prints generated source as Python."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from tt_xla import __version__
from tt_xla.codegen.expressions import Expression
from tt_xla.codegen.formatting import INDENT, WIDTH, Group, Node, call, flat, lay_out, node_of, quoted
from tt_xla.codegen.judge import L1_SMALL_BYTES
from tt_xla.codegen.languages.base import DataOf, Iteration, Language, ResultForm, Value
from tt_xla.codegen.languages.numbered import COUNTER, Loop, WeightEntry, gathered
from tt_xla.codegen.meshes import DeviceMesh
from tt_xla.ir.program import Program
from tt_xla.target import Target

_NAMES_WIDTH = 90
"""Maximum width of a line with names of weights."""


class Python(Language):
    """The Python source of generated programs."""

    name = "py"
    label = "Python"
    main = "main.py"
    traces = True
    host = True
    one_parameter_per_tensor = True
    brackets = "[]"
    comment_sign = "#"

    def node(self, expression: Expression, value: Value, data: DataOf) -> Node:
        return node_of(expression, value, data)

    def weight(self, key: str) -> str:
        return f"w[{'f' if f'{{{COUNTER}}}' in key else ''}{quoted(key)}]"

    def weights(self, keys: Sequence[str]) -> list[Node]:
        if not keys:
            return []
        if any(key.split() != [key] for key in keys):
            return [self.listed([self.weight(key) for key in keys])]
        lines = textwrap.wrap(" ".join(keys), _NAMES_WIDTH, break_long_words=False, break_on_hyphens=False)
        return [call("utils.named", ["w", *map(quoted, lines)])]

    def under(self, prefix: str) -> str:
        return f"utils.under(w, {quoted(prefix)})"

    def store(self, entries: Sequence[WeightEntry]) -> list[str]:
        stored = {key for entry in entries for key in entry.keys}
        read = {key for entry in entries for key in re.findall(r'w\["(.*?)"\]', flat(entry.source))}
        return [line for entry in gathered(entries, read - stored) for line in self._stored(entry)]

    def _stored(self, entry: WeightEntry | Loop, depth: int = 1) -> list[str]:
        if isinstance(entry, Loop):
            numbers = f"{entry.first}, {entry.end}" if entry.first else str(entry.end)
            inside = (line for inner in entry.body for line in self._stored(inner, depth + 1))
            return [f"{INDENT * depth}for {COUNTER} in range({numbers}):", *inside]
        return _assigned([self.weight(key) for key in entry.keys], entry.source, depth)

    def bind(self, names: Sequence[str], fresh: Sequence[bool], source: Node, form: str) -> list[str]:
        if form == "list" and len(names) == 1:
            return lay_out(f"({names[0]},) = ", source, indent=1)
        return _assigned(names, source)

    def result_form(self, expression: Expression, results: int) -> str:
        return "several" if results > 1 else "one"

    def return_statement(self, results: Sequence[str], form: ResultForm) -> list[str]:
        if form == "list":
            return lay_out("return ", self.listed(results), indent=1)
        return [] if form == "nothing" else _tuple("return ", results)

    def deallocate(self, name: str) -> str:
        return f"{INDENT}ttnn.deallocate({name}, False)"

    def function(
        self, name: str, parameters: Sequence[str], form: ResultForm, doc: str, lines: Sequence[str]
    ) -> list[str]:
        head = lay_out(f"def {name}", Group("(", tuple(parameters), ")", fill=True), ":")
        return [*head, *([f'{INDENT}"""{doc}"""'] if doc else []), *lines]

    def config(self, name: str, value: Expression) -> list[str]:
        return lay_out(f"{name} = ", node_of(value, str, lambda data: None))

    def loop(self, iteration: Iteration) -> list[str]:
        arguments = ["device", f"*{iteration.carried}", *iteration.captured]
        lines = lay_out(f"{iteration.carried} = ", self.listed(iteration.states), indent=1)
        if iteration.condition is None:
            start, *rest = iteration.bounds
            text = ", ".join(rest if (start, rest[1]) == ("0", "1") else iteration.bounds)
            lines.append(f"{INDENT}for _ in range({text.removesuffix(', 1')}):")
        else:
            lines += lay_out("while ", call(f"utils.scalar({iteration.condition}", arguments), "[0]):", indent=1)
        return [*lines, *lay_out(f"{iteration.carried} = ", call(iteration.body, arguments), indent=2)]

    def choose(
        self, chosen: str, index: str, branches: Sequence[str], arguments: Sequence[str]
    ) -> tuple[list[str], Node]:
        pick = Group("(", (index, *branches), ")", fill=True)
        return lay_out(f"{chosen} = utils.pick", pick, indent=1), call(chosen, ["device", *arguments])

    def scalar(self, name: str) -> str:
        return f"utils.scalar({name})"

    def loaders(self, weights: Sequence[WeightEntry], inputs: Sequence[Node]) -> list[str]:
        grouped = gathered(weights, ())
        loops = [entry for entry in grouped if isinstance(entry, Loop)]
        single = [(entry.keys[0], entry.source) for entry in grouped if isinstance(entry, WeightEntry)]
        entries = list(_entries(single))
        table = Group("{", tuple(source for _, source in entries), "}", prefixes=tuple(key for key, _ in entries))
        lines = ["", "", "def load_weights(device):", *lay_out("w = " if loops else "return ", table, indent=1)]
        for loop in loops:
            lines += self._stored(loop)
        return [
            *lines,
            *([f"{INDENT}return w"] if loops else []),
            "",
            "",
            "def load_inputs(device):",
            *lay_out("return ", Group("[", tuple(inputs), "]"), indent=1),
        ]

    def file(
        self,
        program: Program,
        target: Target,
        parts: Sequence[Sequence[str]],
        configs: Sequence[str],
        modules: Sequence[str] = (),
    ) -> str:
        lines = [*_head(program, target, modules), *configs, *([""] if configs else [])]
        for part in parts:
            lines += ["", *part, ""] if lines[-1] == "" else ["", "", *part, ""]
        return "\n".join(_spaced(lines)) + "\n"

    def entry(
        self,
        program: Program,
        mesh: DeviceMesh | None,
        prepares: bool,
        inputs: int,
        updates: Mapping[int | str, int],
        joined: Sequence[Node] | None,
    ) -> list[str]:
        trace = program.memory.trace_bytes
        sizes = f"l1_small_size={L1_SMALL_BYTES}" + (f", trace_region_size={trace}" if trace else "")
        forward = f"utils.steps(count, forward, device, w, load_inputs(device){', updates' if updates else ''})"
        shown = [f"        utils.show({forward}, count == 1)"]
        if joined is not None:
            shown = [
                f"        results = {forward}",
                *lay_out("utils.show(", Group("[", tuple(joined), "]"), ", count == 1)", indent=2),
            ]
        return [
            "",
            "",
            "def main():",
            "    count = utils.step_count()",
            *opening(mesh, sizes),
            "    try:",
            "        w = load_weights(device)",
            *(["        const_eval(device, w)"] if prepares else []),
            *(lay_out("updates = ", _table(updates), indent=2) if updates else []),
            *shown,
            "    finally:",
            *closing(mesh),
            "",
            "",
            'if __name__ == "__main__":',
            "    main()",
        ]


def opening(mesh: DeviceMesh | None, sizes: str) -> list[str]:
    """Returns the statements that open the device."""
    if mesh is None:
        return [f"    device = ttnn.open_device(device_id=0, {sizes})"]
    rows, columns = mesh.shape
    chips = f", physical_device_ids={list(mesh.physical_chips)}" if mesh.physical_chips else ""
    return [
        f"    ttnn.set_fabric_config(ttnn.FabricConfig.{mesh.fabric})",
        f"    device = ttnn.open_mesh_device(ttnn.MeshShape({rows}, {columns}), {sizes}{chips})",
    ]


def closing(mesh: DeviceMesh | None) -> list[str]:
    """Returns the statements that close the device."""
    if mesh is None:
        return ["        ttnn.close_device(device)"]
    return [
        "        ttnn.close_mesh_device(device)",
        "        ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)",
    ]


def _table(updates: Mapping[int | str, int]) -> Group:
    """Returns the dictionary of updates."""
    prefixes = (f"{quoted(key) if isinstance(key, str) else key}: " for key in updates)
    return Group("{", tuple(map(str, updates.values())), "}", prefixes=tuple(prefixes))


def _assigned(names: Sequence[str], source: Node, depth: int = 1) -> list[str]:
    """Returns an assignment, laid out as ``ruff format`` does it."""
    before = f"{', '.join(names)} = " if names else ""
    opening = source if isinstance(source, str) else source.opening
    if not names or len(INDENT * depth + before + opening) <= WIDTH:
        return lay_out(before, source, indent=depth)
    if len(names) == 1 or len(INDENT * depth + before + "(") <= WIDTH:
        return [f"{INDENT * depth}{before}(", *lay_out("", source, indent=depth + 1), f"{INDENT * depth})"]
    *lines, last = _parenthesized("", names, depth)
    return [*lines, *lay_out(f"{last.strip()} = ", source, indent=depth)]


def _tuple(before: str, names: Sequence[str]) -> list[str]:
    """Returns names separated by commas, or in parentheses with one name a line when they do not fit on one line."""
    line = f"{INDENT}{before}{', '.join(names)}"
    return [line] if len(line) <= WIDTH else _parenthesized(before, names, 1)


def _parenthesized(before: str, names: Sequence[str], depth: int) -> list[str]:
    lines = (f"{INDENT * (depth + 1)}{name}," for name in names)
    return [f"{INDENT * depth}{before}(", *lines, f"{INDENT * depth})"]


def _entries(weights: Sequence[tuple[str, Node]]) -> Iterator[tuple[str, Node]]:
    """Yields entries of the table of weights; consecutive unnamed arguments that are loaded alike share one entry."""

    def alike(item: tuple[int, tuple[str, Node]]) -> tuple[object, ...]:
        position, (name, source) = item
        number = _argument_number(name, source)
        return (position,) if isinstance(source, str) or number is None else (number - position, source.items[1:])

    for _, group in itertools.groupby(enumerate(weights), alike):
        (_, (name, source)), *others = group
        if not others:
            yield f"{quoted(name)}: ", source
        else:
            assert isinstance(source, Group)
            first = int(name.removeprefix("arg"))
            items = (f"range({first}, {first + 1 + len(others)})", *source.items[1:])
            yield "**", Group("utils.load_range(", items, ")", fill=True)


def _argument_number(name: str, source: Node) -> int | None:
    """Returns 3 for an entry ``"arg3": utils.load("arg3", ...)``, None for entries of another form."""
    loads_itself = isinstance(source, Group) and source.opening == "utils.load(" and source.items[0] == quoted(name)
    return int(name[3:]) if loads_itself and name.startswith("arg") and name[3:].isdecimal() else None


def _spaced(lines: Sequence[str]) -> Iterator[str]:
    """Yields lines with two empty ones between functions and none at the end."""
    empty = 0
    for line in lines:
        if not line:
            empty += 1
            continue
        if line.startswith(("def ", "if __name__")) or (line[0].isalpha() and empty > 1):
            empty = 2
        yield from [""] * min(empty, 2)
        empty = 0
        yield line


def _head(program: Program, target: Target, modules: Sequence[str]) -> list[str]:
    level = program.options.get("optimization_level", 0)
    return [
        f'"""{plain(program.name)} on TT-NN.',
        "",
        f"Generated by tt-xla {__version__} for {target.name}, optimization level {level}. Run it with ./run, or",
        "with python main.py wherever ttnn can be imported.",
        '"""',
        "",
        *(["import torch"] if modules else []),
        "import ttnn",
        "",
        *(f"import {module}" for module in sorted((*modules, "utils"))),
        "",
    ]


def plain(text: str) -> str:
    """Returns a name without characters that could end a comment or a string."""
    return "".join(character if character.isprintable() and character not in '"\\*/' else "_" for character in text)
