"""Measures of accuracy: correlation, agreement of the most likely class, and a user's own function."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tt_xla.errors import OptionError

Measure = Callable[[Sequence[Any], Sequence[Any]], float]
"""Returns how well the results of a program agree with the expected ones, two lists of NumPy arrays; more is better."""


def correlation(results: Sequence[Any], expected: Sequence[Any]) -> float:
    """Returns the least correlation (PCC) of a result with more than one float; of any float if there is none."""
    from tt_xla.testing import pcc

    pairs = [(x, y) for x, y in zip(results, expected, strict=True) if y.dtype.kind == "f"]
    large = [(x, y) for x, y in pairs if y.size > 1] or pairs
    return min((float(pcc(x, y, rtol=0, atol=0)) for x, y in large), default=math.nan)


def top1(results: Sequence[Any], expected: Sequence[Any]) -> float:
    """Returns the fraction of positions at which the largest element along the last axis has the same index.

    The first result with floats and two axes or more counts, as logits of classes or tokens.

    Raises:
        OptionError: There is no such result.
    """
    for x, y in zip(results, expected, strict=True):
        if y.dtype.kind == "f" and y.ndim > 1 and y.shape[-1] > 1:
            return float((x.argmax(-1) == y.argmax(-1)).mean())
    raise OptionError(
        "The program has no result with classes along its last axis, of which top1 could compare the largest.",
        hint="Measure by --measure pcc, or by a function of yours, --measure module:function.",
    )


def measure_of(name: str, folder: Path) -> Measure:
    """Returns a measure by name.

    Args:
        name: ``pcc``, ``top1``, or ``module:function`` for a user's own function.
        folder: Folder in which the user's module is looked for, besides Python's path and the current folder.

    Raises:
        OptionError: The name is none of these, or there is no such module or function.
    """
    if name in _MEASURES:
        return _MEASURES[name]
    module, _, function = name.partition(":")
    if not module or not function:
        raise OptionError(f"--measure was given '{name}'; it takes pcc, top1 or module:function.")
    for path in (str(Path.cwd()), str(folder.resolve())):
        if path not in sys.path:
            sys.path.append(path)
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        raise OptionError(f"--measure '{name}': {error}.", hint=f"Put {module}.py into the current folder.") from error
    if not callable(found):
        raise OptionError(f"--measure '{name}': module '{module}' has no function '{function}'.")
    return lambda results, expected: _number(name, found(list(results), list(expected)))


def _number(name: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise OptionError(f"--measure '{name}' returned {value!r}; it must return a number.") from None


_MEASURES: dict[str, Measure] = {"pcc": correlation, "top1": top1}
