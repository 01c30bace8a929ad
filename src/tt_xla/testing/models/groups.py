"""Whom a variant of a model is for, read from the source of its loader: what ``_get_model_info`` gives as ``group``.

Conditions on the variant are computed for each one; what else the method does is passed over.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

GROUPS = "ModelGroup"
_PLAIN = (
    *(ast.Expression, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.Not, ast.Compare, ast.cmpop, ast.IfExp, ast.Constant),
    *(ast.Name, ast.Attribute, ast.List, ast.Tuple, ast.Set, ast.GeneratorExp, ast.comprehension, ast.expr_context),
    ast.Call,
)
_FUNCTIONS: Mapping[str, Any] = {"any": any, "all": all, "str": str, "set": set, "frozenset": frozenset}
_METHODS = "startswith", "endswith", "lower", "upper"


class UnreadableError(Exception):
    """What a source says can only be known by running it."""


class Text(str):
    """A member of an enumeration of texts."""

    @property
    def value(self) -> Text:
        return self


class _Groups:
    def __getattr__(self, name: str) -> str:
        return name.lower()


def group_of(method: ast.FunctionDef, variant: str | None, default: str | None, meaning: Callable[[str], Any]) -> str:
    """The group of a variant; empty where there is none, or where the source does not say.

    Args:
        method: ``_get_model_info(cls, variant)``.
        default: the value of ``DEFAULT_VARIANT``.
        meaning: the value of a name of the module. It raises :class:`UnreadableError`.
    """
    given = [argument.arg for argument in method.args.args]
    scope: dict[str, Any] = {GROUPS: _Groups()}
    if given:
        scope[given[0]] = SimpleNamespace(DEFAULT_VARIANT=None if default is None else Text(default))
    if len(given) > 1:
        scope[given[1]] = None if variant is None else Text(variant)
    try:
        return _followed(method.body, scope, meaning) or ""
    except UnreadableError:
        return ""


def _followed(body: Sequence[ast.stmt], scope: dict[str, Any], meaning: Callable[[str], Any]) -> str | None:
    """What the statements return as ``group``; None where they go on."""
    for statement in body:
        if isinstance(statement, ast.Return):
            calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
            given = [word.value for call in calls for word in call.keywords if word.arg == "group"]
            return str(_value(given[0], scope, meaning)) if given else ""
        if isinstance(statement, ast.If):
            branch = statement.body if _value(statement.test, scope, meaning) else statement.orelse
            found = _followed(branch, scope, meaning)
            if found is not None:
                return found
        elif isinstance(statement, ast.Assign) and isinstance(name := statement.targets[0], ast.Name):
            try:
                scope[name.id] = _value(statement.value, scope, meaning)
            except UnreadableError:
                scope.pop(name.id, None)
    return None


def _value(node: ast.expr, scope: Mapping[str, Any], meaning: Callable[[str], Any]) -> Any:
    """The value of an expression of comparisons, members of enumerations and texts."""
    names: set[str] = set()
    bound: set[str] = set()
    for part in ast.walk(node):
        if not isinstance(part, _PLAIN) or (isinstance(part, ast.Attribute) and part.attr.startswith("_")):
            raise UnreadableError(f"line {node.lineno}: {ast.unparse(part)}")
        if isinstance(part, ast.Call) and not _is_known(part.func):
            raise UnreadableError(f"line {node.lineno}: {ast.unparse(part)}")
        if isinstance(part, ast.Name):
            (names if isinstance(part.ctx, ast.Load) else bound).add(part.id)
    values = {name: _named(name, scope, meaning) for name in names - bound}
    code = compile(ast.Expression(node), "<loader>", "eval")
    try:
        return eval(code, {"__builtins__": {}, **values})
    except (AttributeError, TypeError) as error:
        raise UnreadableError(f"line {node.lineno}: {error}") from error


def _is_known(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _FUNCTIONS
    return isinstance(function, ast.Attribute) and function.attr in _METHODS


def _named(name: str, scope: Mapping[str, Any], meaning: Callable[[str], Any]) -> Any:
    if name in scope:
        return scope[name]
    return _FUNCTIONS[name] if name in _FUNCTIONS else meaning(name)


def value_of(node: ast.expr, meaning: Callable[[str], Any]) -> Any:
    """The value of what a module assigns to a name of its own."""
    return _value(node, {}, meaning)
