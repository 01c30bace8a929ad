"""Counts what drawn programs reach: converters, lowering rules, sharding rules, kernels, patterns and element types."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

COUNTS: Counter[str] = Counter()
"""How often each entry was reached since :func:`taken`, by ``table:entry``."""


def taken() -> dict[str, int]:
    """Returns the counts, and sets them to zero."""
    counts = dict(COUNTS)
    COUNTS.clear()
    return counts


def entries() -> dict[str, list[str]]:
    """Returns the entries of each table that is counted, and begins to count them."""
    return {name: sorted(dict.fromkeys(count())) for name, count in TABLES.items()}


def _modules(package: str) -> Iterator[Any]:
    """Yields the modules of a package of the product, which are imported."""
    root = importlib.import_module(package)
    yield root
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        yield importlib.import_module(info.name)


def _counting(registry: dict[Any, Any], table: str) -> Iterator[str]:
    """Replaces the functions of a registry by ones that count, and yields the names of its keys."""
    for key, value in list(registry.items()):
        name = key.name if isinstance(key, type) else str(key)
        dict.__setitem__(registry, key, _counted(value, f"{table}:{name}"))
        yield name


def _counted(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(function)
    def count(*args: Any, **kwargs: Any) -> Any:
        COUNTS[name] += 1
        return function(*args, **kwargs)

    return count


def _converters() -> Iterator[str]:
    from tt_xla.compiler.stablehlo import importer  # noqa: F401
    from tt_xla.compiler.stablehlo.composites import COMPOSITES
    from tt_xla.compiler.stablehlo.context import CONVERTERS, EMPTY_OPERAND_CONVERTERS

    for name, converter in list(CONVERTERS.items()):
        dict.__setitem__(CONVERTERS, name, _counting_types(converter))
    yield from _counting(CONVERTERS, "converters")
    for name in _counting(EMPTY_OPERAND_CONVERTERS, "converters:empty"):
        yield f"empty:{name}"
    for name in _counting(COMPOSITES, "converters:composite"):
        yield f"composite:{name}"


def _counting_types(converter: Callable[..., Any]) -> Callable[..., Any]:
    """Counts the element types of the operands and results that a converter gets."""

    @wraps(converter)
    def count(context: Any, op: Any) -> Any:
        for name in {str(getattr(value.type, "element_type", "")) for value in (*op.operands, *op.results)}:
            COUNTS[f"element types:{name}"] += 1
        return converter(context, op)

    return count


def _element_types() -> Iterator[str]:
    """Yields the types that programs declare; the converters count them."""
    from tt_xla.ir.element_types import ElementType

    return (element.value for element in ElementType)


def _sharding_rules() -> Iterator[str]:
    from tt_xla.compiler.sharding import rules  # noqa: F401
    from tt_xla.compiler.sharding.context import RULES

    return _counting(RULES, "sharding rules")


def _lowerings() -> Iterator[str]:
    from tt_xla.compiler import ttir_to_ttnn  # noqa: F401
    from tt_xla.compiler.ttir_to_ttnn.lowering import RULES

    return _counting(RULES, "TTIR lowerings")


def _aten_rules() -> Iterator[str]:
    from tt_xla.frontends.torch import aten  # noqa: F401
    from tt_xla.frontends.torch.aten.registry import LOWERINGS, NAMED

    yield from _counting(LOWERINGS, "aten rules")
    yield from _counting(NAMED, "aten rules")


def _fx_patterns() -> Iterator[str]:
    """Counts what the PyTorch front end replaces in dynamo's graphs: written out functions, and composites.

    A replacement counts when it is called with tensors: for the proof that it computes what it replaces, or in the
    place of what it replaced.
    """
    from tt_xla.frontends.torch import backend  # noqa: F401
    from tt_xla.frontends.torch.graph.composites import replacements
    from tt_xla.frontends.torch.graph.fusion import FusionProvider

    for provider in FusionProvider.get_registered_providers():
        pairs: list[Any] = []
        for pattern, replacement in provider().get_patterns():
            pairs.append((pattern, _counted_with_tensors(replacement, f"fx patterns:fusion:{pattern.__name__}")))
            yield f"fusion:{pattern.__name__}"
        provider.get_patterns = lambda self, pairs=pairs: pairs
    for key, value in list(replacements.items()):
        variants = value if isinstance(value, dict) else {None: value}
        named = {used: f"composite:{key.__name__}:{function.__name__}" for used, function in variants.items()}
        counted = {
            used: _counted_with_tensors(function, f"fx patterns:{named[used]}") for used, function in variants.items()
        }
        replacements[key] = counted if isinstance(value, dict) else counted[None]
        yield from named.values()


def _counted_with_tensors(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Counts calls that are no symbolic traces, which PyTorch makes of replacements before it looks for matches."""
    from torch.fx import Proxy

    @wraps(function)
    def count(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(value, Proxy) for value in args):
            COUNTS[name] += 1
        return function(*args, **kwargs)

    return count


def _patterns() -> Iterator[str]:
    """Counts a pattern each time it changes something."""
    from tt_xla.compiler.rewriting import Pattern

    seen: set[int] = set()
    for module in _modules("tt_xla.compiler"):
        for value in vars(module).values():
            for pattern in value if isinstance(value, tuple | list) else (value,):
                if isinstance(pattern, Pattern) and id(pattern) not in seen:
                    seen.add(id(pattern))
                    name = f"{pattern.apply.__module__.removeprefix('tt_xla.compiler.')}.{pattern.name}"
                    object.__setattr__(pattern, "apply", _counting_changes(pattern.apply, f"patterns:{name}"))
                    yield name


def _counting_changes(apply: Callable[..., None], name: str) -> Callable[..., None]:
    @wraps(apply)
    def count(op: Any, rewriter: Any) -> None:
        apply(op, rewriter)
        if rewriter.has_done_action:
            COUNTS[name] += 1

    return count


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "converters": _converters,
    "aten rules": _aten_rules,
    "sharding rules": _sharding_rules,
    "TTIR lowerings": _lowerings,
    "patterns": _patterns,
    "fx patterns": _fx_patterns,
    "element types": _element_types,
}
