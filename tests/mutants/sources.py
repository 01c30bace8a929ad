"""Sources of ``src/tt_xla``: their text, their syntax trees, and the places in them that mutants may change."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "src/tt_xla"
Function = ast.FunctionDef | ast.AsyncFunctionDef
_SPLIT = ("frontends",)
"""Folders whose subfolders count as packages of their own."""
_MESSAGE_KEYWORDS = {"help", "short_help", "description", "metavar", "doc", "message", "reason", "title"}
_SPEED_KEYWORDS = {"maxsize", "timeout", "stacklevel", "indent", "width", "strict"}
_LOGGERS = {"log", "logger", "logging", "warnings", "click", "console"}
_LOGGING = {"debug", "info", "warning", "warn", "error", "exception", "echo", "secho", "print", "filterwarnings"}
_DECORATORS = {
    "click",
    "pytest",
    "functools",
    "cache",
    "lru_cache",
    "overload",
    "property",
    "staticmethod",
    "dataclass",
}
_SPECIAL = {"TYPE_CHECKING", "__name__"}
_DUNDERS = {"__doc__", "__all__", "__slots__", "__match_args__"}
_SPEED_WORDS = {"s", "ms", "seconds", "timeout", "interval", "cache", "cached", "maxsize", "expectant", "patient"}


@dataclass(frozen=True, slots=True)
class Place:
    """A node of a syntax tree that mutants may change, and what surrounds it."""

    node: ast.AST
    parents: tuple[ast.AST, ...]
    """Nodes around the node, the module first."""

    @property
    def parent(self) -> ast.AST:
        return self.parents[-1]

    @property
    def function(self) -> Function | None:
        """The innermost function whose body contains the node."""
        inner = self.node
        for outer in reversed(self.parents):
            if isinstance(outer, Function) and inner in outer.body:
                return outer
            inner = outer
        return None

    @property
    def scope(self) -> str:
        """Qualified name of the function or class whose definition contains the node; empty in a module's body."""
        return ".".join(node.name for node in self.parents if isinstance(node, Function | ast.ClassDef))

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line of the statement that evaluates the node; of a compound statement the header's."""
        nodes = [*self.parents, self.node]
        number = max(index for index, node in enumerate(nodes) if isinstance(node, ast.stmt))
        statement = nodes[number]
        inner = nodes[number + 1] if number + 1 < len(nodes) else statement
        if isinstance(inner, ast.match_case | ast.ExceptHandler | ast.withitem):
            inner = nodes[number + 2] if number + 2 < len(nodes) else inner
        if not hasattr(statement, "body"):
            inner = statement
        elif inner is statement and isinstance(statement, ast.If):
            inner = statement.test
        first, last = getattr(inner, "lineno", statement.lineno), getattr(inner, "end_lineno", statement.end_lineno)
        return min(first, statement.lineno), last or first


@dataclass(frozen=True)
class Source:
    """One file, with the offsets of its nodes in its text."""

    file: str
    """Path from the repository's root."""
    text: str
    tree: ast.Module = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", ast.parse(self.text))

    @property
    def package(self) -> str:
        """Folder in ``src/tt_xla`` that the tables name; ``tt_xla`` for modules beside the folders."""
        parts = self.file.removeprefix(f"{PACKAGE}/").split("/")[:-1]
        return "/".join(parts[: 2 if parts[:1] and parts[0] in _SPLIT else 1]) or "tt_xla"

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @cached_property
    def lines_of_code(self) -> list[int]:
        """Numbers of the lines that are neither blank nor a comment."""
        lines = enumerate(map(str.strip, self.text.splitlines()), 1)
        return [number for number, line in lines if line and not line.startswith("#")]

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Names of attributes that the file reads."""
        return frozenset(node.attr for node in ast.walk(self.tree) if isinstance(node, ast.Attribute))

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self._lines:
            starts.append(starts[-1] + len(line))
        return starts

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)

    def _offset(self, line: int, column: int) -> int:
        """Returns the index in the text of a column, which the syntax tree counts in bytes of UTF-8."""
        text = self._lines[line - 1]
        return self._starts[line - 1] + (column if text.isascii() else len(text.encode()[:column].decode()))

    def start(self, node: ast.AST) -> int:
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.AST) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)

    def of(self, node: ast.AST) -> str:
        """Returns the text of a node, without parentheses around it."""
        return self.text[self.start(node) : self.end(node)]

    def line_of(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def line(self, number: int) -> str:
        return self._lines[number - 1].rstrip("\n") if number <= len(self._lines) else ""

    def places(self) -> Iterator[Place]:
        """Yields the nodes that mutants may change: no annotation, message, logging, docstring or assertion."""
        yield from _places(self.tree, ())


def _places(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Place]:
    if isinstance(node, ast.stmt | ast.expr | ast.comprehension | ast.ExceptHandler):
        yield Place(node, parents)
    for child in _children(node):
        if not _is_excluded(child, node):
            yield from _places(child, (*parents, node))


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the children of a node that are evaluated and matter, so no annotations."""
    if isinstance(node, Function):
        yield from (decorator for decorator in node.decorator_list if _root(decorator) not in _DECORATORS)
        yield from node.args.defaults
        yield from (default for default in node.args.kw_defaults if default is not None)
        yield from node.body
    elif isinstance(node, ast.ClassDef):
        yield from (decorator for decorator in node.decorator_list if _root(decorator) not in _DECORATORS)
        yield from node.body
    elif isinstance(node, ast.AnnAssign):
        yield from (node.value,) if node.value is not None else ()
    elif isinstance(node, ast.Call):
        yield node.func
        yield from node.args[1:] if called(node) == "cast" else node.args
        kept = _MESSAGE_KEYWORDS | _SPEED_KEYWORDS
        yield from (keyword.value for keyword in node.keywords if keyword.arg not in kept)
    else:
        yield from ast.iter_child_nodes(node)


def _is_excluded(node: ast.AST, parent: ast.AST) -> bool:
    if isinstance(node, ast.Assert | ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, Function):
        return node.name == "__repr__" or any(_root(decorator) == "overload" for decorator in node.decorator_list)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or is_logging(node.value)
    if isinstance(node, ast.If):
        return any(isinstance(name, ast.Name) and name.id in _SPECIAL for name in ast.walk(node.test))
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [getattr(target, "id", getattr(target, "attr", "")) for target in targets]
        return any(name in _DUNDERS or (isinstance(parent, ast.Module) and _is_speed(name)) for name in names)
    return isinstance(node, ast.Call) and is_logging(node)


def _is_speed(name: str) -> bool:
    """Returns whether a module's constant is a time limit or the size of a cache."""
    return name.isupper() and bool(set(name.lower().strip("_").split("_")) & _SPEED_WORDS)


def is_logging(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id == "print"
    return (
        isinstance(node.func, ast.Attribute) and node.func.attr in _LOGGING and _root(node.func).strip("_") in _LOGGERS
    )


def _root(node: ast.AST) -> str:
    """Returns the first name of ``name.attribute(...)``."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def called(node: ast.Call) -> str:
    """Returns the last name of the function that a call calls."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def read(root: Path = ROOT) -> dict[str, Source]:
    """Returns the sources of the package in a repository's root, by file."""
    paths = sorted((root / PACKAGE).rglob("*.py"))
    return {
        path.relative_to(root).as_posix(): Source(path.relative_to(root).as_posix(), path.read_text()) for path in paths
    }
