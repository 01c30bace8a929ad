"""Libraries that tests can do without: those of extras, and those that no version of fits each JAX."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from types import ModuleType

import pytest


@functools.cache
def misfit(name: str) -> str | None:
    """Returns why a module cannot be imported, as Python says it; None if it can.

    flax 0.12.8, the newest one, does not fit JAX 0.12: ``flax.nnx`` ends with an ``AttributeError``.
    """
    try:
        importlib.import_module(name)
    except (ImportError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def import_or_skip(name: str) -> ModuleType:
    """Returns a module, or skips the test if it is not installed or does not fit the other libraries."""
    reason = misfit(name)
    if reason is not None:
        pytest.skip(f"{name} cannot be imported: {reason}")
    return importlib.import_module(name)


def _version(distribution: str) -> tuple[int, ...]:
    """Returns the numbers of the installed version of a distribution; none if it is not installed."""
    try:
        return tuple(map(int, importlib.metadata.version(distribution).split(".")))
    except importlib.metadata.PackageNotFoundError:
        return ()


needs_perf_report = pytest.mark.skipif(
    _version("tt-perf-report") < (1, 4),
    reason="tt-perf-report 1.4 or newer, which knows all ops of profiles, is not installed",
)
"""Mark of tests that compare with tt-perf-report."""
