"""The names that users import, with parameters, fields and their defaults."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from tests.golden import Goldens
from tt_xla.testing import plugin

MODULES = (
    *("tt_xla.testing", "tt_xla.testing.divergence", "tt_xla.testing.divergence.instructions"),
    *("tt_xla.testing.divergence.parts", "tt_xla.testing.models.protocol", "tt_xla.profiling.workload"),
)


def shown(value: Any) -> str:
    """Returns a default as text, without addresses of objects."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(shown, value))}]"
    name = getattr(value, "__qualname__", type(value).__name__)
    return "..." if "FACTORY" in name else name  # dataclasses have a value of their own for a default that is made


def parameters(function: Any) -> str:
    try:
        listed = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ""
    texts = []
    for each in listed:
        star = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**", each.KEYWORD_ONLY: "* "}.get(each.kind, "")
        default = "" if each.default is each.empty else f"={shown(each.default)}"
        texts.append(f"{star}{each.name}{default}")
    return f"({', '.join(texts)})"


def lines_of(name: str, value: Any) -> Iterator[str]:
    """Yields a function with its parameters, or a class with its fields or members and its own methods."""
    if not inspect.isclass(value):
        yield f"{name}{parameters(value)}" if callable(value) else f"{name} = {shown(value)}"
        return
    if issubclass(value, enum.Enum):
        yield f"{name}: {', '.join(f'{member.name}={shown(member.value)}' for member in value)}"
        return
    fields = {field.name: field for field in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else {}
    yield f"{name}{parameters(value)}"
    for field in fields.values():
        if field.default_factory is not dataclasses.MISSING:
            yield f"  {field.name} = {field.default_factory()}"
    for method, function in vars(value).items():
        if not method.startswith("_") and inspect.isfunction(function):
            yield f"  .{method}{parameters(function)}"


@pytest.mark.parametrize("module", MODULES)
def test_public_names(module: str, goldens: Goldens) -> None:
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None) or [
        name
        for name, value in vars(loaded).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module
    ]
    lines = [line for name in sorted(names) for line in lines_of(name, getattr(loaded, name))]
    goldens.check("interfaces/names", module, lines)


def test_markers_and_options_of_the_plugin(goldens: Goldens) -> None:
    goldens.check("interfaces/plugin", "markers", [f"{name}: {meaning}" for name, meaning in plugin.MARKERS.items()])
    options = [
        f"{name}: {field} = {shown(value)}" for name, each in plugin.OPTIONS.items() for field, value in each.items()
    ]
    goldens.check("interfaces/plugin", "options", options)


def test_no_golden_file_is_left_over(goldens: Goldens) -> None:
    goldens.has_only("interfaces", {"names": MODULES, "plugin": ["markers", "options"]})
