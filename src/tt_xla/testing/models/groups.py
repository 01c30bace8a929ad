"""Reads the model group of each variant from a loader's source: the ``group`` that ``_get_model_info`` passes on.

Conditions on the variant are evaluated per variant. Other statements of the method are ignored.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

GROUPS = "ModelGroup"
_PLAIN_NODES = (
    *(ast.Expression, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.Not, ast.Compare, ast.cmpop, ast.IfExp, ast.Constant),
    *(ast.Name, ast.Attribute, ast.List, ast.Tuple, ast.Set, ast.GeneratorExp, ast.comprehension, ast.expr_context),
    ast.Call,
)
_FUNCTIONS: Mapping[str, Any] = {"any": any, "all": all, "str": str, "set": set, "frozenset": frozenset}
_METHODS = "startswith", "endswith", "lower", "upper"


class UnreadableError(Exception):
    """A fact cannot be read from a source; only running the source would tell."""


class Text(str):
    """A member of an enumeration of strings, which compares equal to its value."""

    @property
    def value(self) -> Text:
        """The member's value."""
        return self


class _Groups:
    """Stands for ``ModelGroup``: each attribute is its own name in lower case."""

    def __getattr__(self, name: str) -> str:
        return name.lower()


def group_of(method: ast.FunctionDef, variant: str | None, default: str | None, meaning: Callable[[str], Any]) -> str:
    """Returns the group of a variant; empty if there is none, or if the source does not tell.

    Args:
        method: the definition of ``_get_model_info(cls, variant)``.
        variant: name of the variant.
        default: value of ``DEFAULT_VARIANT``.
        meaning: returns the value of a name of the module, or raises :class:`UnreadableError`.
    """
    parameters = [argument.arg for argument in method.args.args]
    scope: dict[str, Any] = {GROUPS: _Groups()}
    if parameters:
        scope[parameters[0]] = SimpleNamespace(DEFAULT_VARIANT=None if default is None else Text(default))
    if len(parameters) > 1:
        scope[parameters[1]] = None if variant is None else Text(variant)
    try:
        return _returned_group(method.body, scope, meaning) or ""
    except UnreadableError:
        return ""


def _returned_group(body: Sequence[ast.stmt], scope: dict[str, Any], meaning: Callable[[str], Any]) -> str | None:
    """Returns the ``group`` in the value that statements return; None if they do not return."""
    for statement in body:
        if isinstance(statement, ast.Return):
            calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
            groups = [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "group"]
            return str(_value(groups[0], scope, meaning)) if groups else ""
        if isinstance(statement, ast.If):
            branch = statement.body if _value(statement.test, scope, meaning) else statement.orelse
            group = _returned_group(branch, scope, meaning)
            if group is not None:
                return group
        elif isinstance(statement, ast.Assign) and isinstance(name := statement.targets[0], ast.Name):
            try:
                scope[name.id] = _value(statement.value, scope, meaning)
            except UnreadableError:
                scope.pop(name.id, None)
    return None


def _value(node: ast.expr, scope: Mapping[str, Any], meaning: Callable[[str], Any]) -> Any:
    """Evaluates an expression of comparisons, members of enumerations and strings.

    Raises:
        UnreadableError: the expression has other parts.
    """
    names: set[str] = set()
    bound: set[str] = set()
    for child in ast.walk(node):
        if not isinstance(child, _PLAIN_NODES) or (isinstance(child, ast.Attribute) and child.attr.startswith("_")):
            raise UnreadableError(f"line {node.lineno}: {ast.unparse(child)}")
        if isinstance(child, ast.Call) and not _is_known(child.func):
            raise UnreadableError(f"line {node.lineno}: {ast.unparse(child)}")
        if isinstance(child, ast.Name):
            (names if isinstance(child.ctx, ast.Load) else bound).add(child.id)
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
    """Evaluates an expression that a module assigns to a name.

    Raises:
        UnreadableError: the expression is not plain enough to be evaluated.
    """
    return _value(node, {}, meaning)
