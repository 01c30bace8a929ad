"""The files of a part of a program: a StableHLO module, its inputs, and a test that runs it."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tt_xla.testing.divergence.runs import Array

_TEST = '''"""{title}"""

from pathlib import Path

from tt_xla.testing import ComparisonConfig, PccConfig
from tt_xla.testing.divergence import check_module

HERE = Path(__file__).parent
OPTIONS = {options!r}


def test_part():
    """Compares the emulated card with float32 on the CPU."""
    config = ComparisonConfig(pcc=PccConfig(required_pcc={required}))
    print(check_module(HERE / "part.mlir", HERE / "inputs.npz", OPTIONS, config))


if __name__ == "__main__":
    test_part()
'''


TEST_NAME = "test_part.py"


def files(
    title: str, module: Any, inputs: Sequence[Array], options: Mapping[str, Any], required: float
) -> dict[str, bytes]:
    """The contents of ``part.mlir``, ``inputs.npz`` and ``test_part.py`` by name.

    Args:
        title: one line about the part.
        module: the StableHLO module.
        inputs: its arguments.
        options: compile options that differ from the defaults.
        required: the least correlation that counts as agreement.
    """
    test = _TEST.format(title=in_docstring(title), options=dict(options), required=required)
    text = module.operation.get_asm(enable_debug_info=True)
    return {"part.mlir": text.encode(), "inputs.npz": archive_of(inputs), TEST_NAME: test.encode()}


def archive_of(inputs: Sequence[Array]) -> bytes:
    """Returns a ``.npz`` file with the arguments of a module in order."""
    archive = io.BytesIO()
    np.savez(archive, **{f"argument_{index}": array for index, array in enumerate(inputs)})
    return archive.getvalue()


def in_docstring(text: str) -> str:
    """Returns a text without characters that end a docstring."""
    return text.replace("\\", "/").replace('"', "'")
