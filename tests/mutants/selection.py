"""Selects the tests that may see a mutant, the cheapest and most specific ones first."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.mutants.drawing import Mutant
from tests.mutants.linemap import LineMap, RecordedTest
from tests.mutants.sources import Function, Source

_COMMON_WORDS = {"", "and", "compile", "compiler", "of", "src", "test", "tt", "xla"}
"""Words of many paths, which say nothing about what a test judges."""
_START_S = 0.3
"""Processor seconds that the first test of a file costs more, to import the file."""


@dataclass(frozen=True)
class Selection:
    """Tests of a mutant in the order in which they run."""

    reached: bool
    """Whether a test executes the changed statement, or for a statement of an import, a use of what it defines."""
    tests: Sequence[RecordedTest]


class Selector:
    """Selects tests by a map of lines."""

    def __init__(self, lines: LineMap, sources: Mapping[str, Source]) -> None:
        self._map = lines
        self._sources = sources

    def select(self, mutant: Mutant, budget_s: float) -> Selection:
        """Returns tests whose processor time is within a budget."""
        source = self._sources[mutant.file]
        executing, of_module = self._executing(mutant, source), self._map.executing(source, _all_function_lines(source))
        is_imported = self._map.is_imported(source, range(mutant.lines[0], mutant.lines[1] + 1)) and bool(of_module)
        if executing:
            groups = [(executing, budget_s), (self._beside(executing), budget_s / 4)]
        elif is_imported:
            groups = [(of_module, budget_s)]
        else:
            function = self._map.executing(source, _function_lines(source, mutant))
            groups = [(function, budget_s / 4), (of_module, budget_s / 4)]
        chosen: dict[int, None] = {}
        files: set[str] = set()
        for numbers, limit in groups:
            for number in self._ordered(numbers - chosen.keys(), mutant):
                test = self._map.tests[number]
                cost = test.processor_s + (0 if test.file in files else _START_S)
                if cost <= limit:
                    chosen[number] = None
                    files.add(test.file)
                    limit -= cost
        return Selection(bool(executing) or is_imported, [self._map.tests[number] for number in chosen])

    def _beside(self, numbers: frozenset[int]) -> frozenset[int]:
        """Returns the tests of the same files, which may judge what a fixture or a cache computed for another test."""
        files = {self._map.tests[number].file for number in numbers}
        return frozenset(number for number, test in enumerate(self._map.tests) if test.file in files) - numbers

    def _executing(self, mutant: Mutant, source: Source) -> frozenset[int]:
        """Returns the tests that execute the statement; of an import's statement, those that execute its uses."""
        if mutant.in_function:
            first, last = mutant.lines
            return self._map.executing(source, range(first, last + 1))
        definition = _definition(source, mutant)
        if isinstance(definition, Function):
            return self._map.executing(source, _body_lines([definition]))
        names = _dependents(source, _assigned(definition) if definition is not None else set())
        uses = {file: {line for name in names for line in lines.get(name, ())} for file, lines in self._uses.items()}
        return frozenset().union(*(self._map.executing(self._sources[file], uses[file]) for file in uses if uses[file]))

    @cached_property
    def _uses(self) -> dict[str, dict[str, set[int]]]:
        """By file and name, the lines in functions that read a name or an attribute of this name."""
        return {file: _uses(source.tree) for file, source in self._sources.items()}

    def _ordered(self, numbers: Iterable[int], mutant: Mutant) -> list[int]:
        """Orders tests: of each test function the cheapest parameters first, functions near the module first."""
        functions: dict[str, list[int]] = defaultdict(list)
        for number in sorted(numbers, key=lambda number: self._map.tests[number].processor_s):
            functions[self._map.tests[number].function].append(number)
        ranked = [
            (turn, self._weight(number, mutant), number)
            for members in functions.values()
            for turn, number in enumerate(members)
        ]
        return [number for *_, number in sorted(ranked)]

    def _weight(self, number: int, mutant: Mutant) -> float:
        """Returns a test's processor time, which counts less for tests of the module and of few lines."""
        test = self._map.tests[number]
        shared = len(_words(mutant.file) & _words(test.file))
        return (test.processor_s + 0.02) * (1 + test.lines / 5000) / (1 + shared) ** 2


def _words(file: str) -> set[str]:
    """Returns the words of a path that say what a file is about."""
    words = file.removesuffix(".py").replace("/", "_").split("_")
    return {word.removesuffix("s") for word in words} - _COMMON_WORDS


def _lines(nodes: Iterable[ast.AST]) -> set[int]:
    return {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def _body_lines(functions: Iterable[Function]) -> set[int]:
    """Returns the lines of functions' bodies, without those of the definitions, which importing executes."""
    return _lines(statement for function in functions for statement in function.body)


def _all_function_lines(source: Source) -> set[int]:
    return _body_lines(node for node in ast.walk(source.tree) if isinstance(node, Function))


def _function_lines(source: Source, mutant: Mutant) -> set[int]:
    """Returns the lines of the innermost function around a mutant; of new code the map knows no others."""
    around = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, Function) and node.lineno <= mutant.line <= (node.end_lineno or node.lineno)
    ]
    return _body_lines(sorted(around, key=lambda node: node.lineno)[-1:])


def _definition(source: Source, mutant: Mutant) -> ast.stmt | None:
    """Returns the outermost statement around a mutant in a module's or class's body, or the method with its default."""
    body: Sequence[ast.stmt] = source.tree.body
    statement = None
    while body:
        inner = [each for each in body if _first_line(each) <= mutant.line <= (each.end_lineno or each.lineno)]
        if not inner:
            break
        is_member = isinstance(statement, ast.ClassDef)
        if is_member and not isinstance(inner[0], Function | ast.ClassDef):
            break
        statement = inner[0]
        body = statement.body if isinstance(statement, ast.ClassDef) else []
    return statement


def _first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _assigned(statement: ast.stmt) -> set[str]:
    """Returns the names that a statement of a module defines."""
    if isinstance(statement, ast.ClassDef):
        return {statement.name}
    nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return {node.id for node in nodes if isinstance(node.ctx, ast.Store)}


def _dependents(source: Source, names: set[str]) -> set[str]:
    """Returns names of a module, and those that its other statements define from them when it is imported."""
    names = set(names)
    for statement in source.tree.body:
        if not isinstance(statement, Function) and names & {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }:
            names |= _assigned(statement)
    return names


def _uses(tree: ast.Module) -> dict[str, set[int]]:
    uses: dict[str, set[int]] = defaultdict(set)
    for function in ast.walk(tree):
        if isinstance(function, Function):
            for statement in function.body:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                        uses[node.id].add(node.lineno)
                    elif isinstance(node, ast.Attribute):
                        uses[node.attr].add(node.lineno)
    return uses
