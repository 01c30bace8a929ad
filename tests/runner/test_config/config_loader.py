"""Reads the YAML files of this folder, by upstream's name; ``tt_xla.testing.models.config`` does the work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tt_xla.testing.models.config import Entry, config_files, read

__all__ = ["load_all_test_configs"]


def load_all_test_configs() -> Mapping[str, Entry]:
    """Returns the entries of all files by test id.

    Raises:
        ValueError: a file has a problem; the message lists every problem with its line.
    """
    expectations = read(config_files([Path(__file__).parent]))
    if expectations.problems:
        raise ValueError("\n".join(expectations.problems))
    return expectations.entries
