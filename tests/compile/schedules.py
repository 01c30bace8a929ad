"""Which cases of a matrix run for each change."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def nightly_but(kept: Container[str], names: Iterable[str]) -> list[Any]:
    """Returns the parameters of a matrix: those kept run for each change, the others are marked ``nightly``."""
    return [name if name in kept else pytest.param(name, marks=pytest.mark.nightly) for name in names]
