"""Writes a part of a program to files: a StableHLO module, its inputs, and a test that runs it."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tt_xla.publish import publish
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


def write(
    folder: Path, title: str, module: Any, inputs: Sequence[Array], options: Mapping[str, Any], required: float
) -> Path:
    """Writes ``part.mlir``, ``inputs.npz`` and ``test_part.py``.

    Args:
        folder: folder to write to.
        title: one line about the part.
        module: the StableHLO module.
        inputs: its arguments.
        options: compile options that differ from the defaults.
        required: the least correlation that counts as agreement.

    Returns:
        The path of the test.

    Raises:
        OSError: the folder cannot be written.
    """
    test = _TEST.format(title=in_docstring(title), options=dict(options), required=required)
    text = module.operation.get_asm(enable_debug_info=True)
    publish(folder, {"part.mlir": text.encode(), "inputs.npz": archive_of(inputs), "test_part.py": test.encode()})
    return folder / "test_part.py"


def archive_of(inputs: Sequence[Array]) -> bytes:
    """Returns a ``.npz`` file with the arguments of a module in order."""
    archive = io.BytesIO()
    np.savez(archive, **{f"argument_{index}": array for index, array in enumerate(inputs)})
    return archive.getvalue()


def in_docstring(text: str) -> str:
    """Returns a text without characters that end a docstring."""
    return text.replace("\\", "/").replace('"', "'")
