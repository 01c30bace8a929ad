"""Tests that need TT-NN run if ``TTXLA_TTNN_PYTHON`` names an interpreter that has it."""

from __future__ import annotations

import pytest

from tt_xla.codegen.mock import Mock, mock, ttnn_python
from tt_xla.environment import variable


@pytest.fixture(scope="session")
def ttnn_mock() -> Mock:
    """Returns the mock mode of a p150 with prebuilt kernels."""
    if not variable("TTXLA_TTNN_PYTHON"):
        pytest.skip("TTXLA_TTNN_PYTHON does not name an interpreter with ttnn")
    return mock(ttnn_python(), "p150")
