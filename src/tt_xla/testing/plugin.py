"""The pytest plugin (entry point group ``pytest11``). Every pytest run imports it, so it imports nothing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

MARKERS = {
    "filecheck(patterns)": "hold the IR of the test against these pattern files of tests/filecheck",
    "push": "runs on every change",
    "nightly": "runs every night",
    "weekly": "runs every week",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tt-xla", "tests of programs for Tenstorrent chips")
    group.addoption(
        "--serialize", action="store_true", help="write the IR that each test compiles under output_artifact/"
    )


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
