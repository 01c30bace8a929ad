"""Mutation operators: each changes one expression or statement to a subtle, real fault.

An operator is a generator of edits, registered for the types of nodes that it changes. An edit replaces the span of a
node, or the few characters of an operator between two nodes, so the rest of the file stays as it is.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping

from tests.mutants.operators import arithmetic, conditions, names, statements
from tests.mutants.operators.registry import OPERATORS, Edit, Mutation
from tests.mutants.sources import Function, Source, called

__all__ = ["Edit", "Mutation", "apply", "is_valid", "mutations", "required_parameters"]
_MODULES = (arithmetic, conditions, names, statements)
"""Modules that register the operators."""


def mutations(source: Source, required: Mapping[str, frozenset[str]] | None = None) -> Iterator[Mutation]:
    """Yields the mutations of a source.

    Args:
        source: the file.
        required: by name of a function or class of the package, the parameters that each call must give.
    """
    for place in source.places():
        for kind, operator in OPERATORS.get(type(place.node), ()):
            for edit in operator(place, source):
                if edit is None or source.text[edit.start : edit.end] == edit.text:
                    continue
                if kind == statements.KEYWORD_DROPPED and _is_required(place.node, edit, source, required or {}):
                    continue
                yield Mutation(kind, edit, place)


def apply(source: Source, edit: Edit) -> str:
    """Returns a source's text with an edit."""
    return source.text[: edit.start] + edit.text + source.text[edit.end :]


def is_valid(source: Source, edit: Edit) -> bool:
    """Returns whether an edit leaves a program that compiles and differs from the original."""
    text = apply(source, edit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, source.file, "exec")
            return ast.dump(ast.parse(text)) != ast.dump(source.tree)
        except (SyntaxError, ValueError):
            return False


def _is_required(node: ast.AST, edit: Edit, source: Source, required: Mapping[str, frozenset[str]]) -> bool:
    """Returns whether a call fails without the keyword argument that an edit drops."""
    assert isinstance(node, ast.Call)
    removed = re.search(r"(\w+)\s*=", source.text[edit.start : edit.end])
    return removed is not None and removed[1] in required.get(called(node), ())


def required_parameters(sources: Iterable[Source]) -> dict[str, frozenset[str]]:
    """Returns the parameters without a default of functions and classes, by name.

    Of several definitions of one name, those parameters that all of them require.
    """
    required: dict[str, frozenset[str]] = {}
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, Function | ast.ClassDef):
                names = _required(node)
                required[node.name] = required.get(node.name, names) & names
    return required


def _required(node: Function | ast.ClassDef) -> frozenset[str]:
    if isinstance(node, ast.ClassDef):
        initializer = [each for each in node.body if isinstance(each, Function) and each.name == "__init__"]
        if initializer:
            return _required(initializer[0])
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and each.value is None]
        return frozenset(each.target.id for each in fields if isinstance(each.target, ast.Name))
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    without = positional[: len(positional) - len(arguments.defaults)]
    keywords = [
        each for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None
    ]
    return frozenset(each.arg for each in [*without, *keywords])
