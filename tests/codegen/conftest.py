"""Tests that lay programs before TT-NN run where ``TTXLA_TTNN_PYTHON`` names an interpreter that has it."""

from __future__ import annotations

import pytest

from tt_xla.codegen.mock import Mock, mock, ttnn_python
from tt_xla.options import environment


@pytest.fixture(scope="session")
def ttnn_mock() -> Mock:
    """TT-NN's mock p150 with ready-made kernels."""
    if not environment("TTXLA_TTNN_PYTHON"):
        pytest.skip("TTXLA_TTNN_PYTHON names no interpreter with ttnn")
    return mock(ttnn_python(), "p150")
