"""Tests that compile check TTIR after the import too, which a compilation leaves to the check of its result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.golden import Goldens
from tt_xla.compiler import importing, pipeline
from tt_xla.compiler.recording import recorded_compilations
from tt_xla.frontends.jax.pjrt import executable
from tt_xla.ir.program_text import program_lines


@pytest.fixture(autouse=True)
def imports_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    run = importing.run

    def checked(*arguments: Any) -> importing.Imported:
        imported = run(*arguments)
        pipeline.verify_module(imported.module, "import")
        return imported

    monkeypatch.setattr(importing, "run", checked)


def _text_name(test: pytest.Item | pytest.Collector) -> str:
    """Returns a test's name with single backslashes: pytest doubles those of an id each time it collects the test."""
    return re.sub(r"\\+", r"\\", test.name)


@pytest.fixture(scope="module")
def no_stale_programs(request: pytest.FixtureRequest, goldens: Goldens) -> None:
    """Refuses golden programs of tests that the module does not have."""
    module = request.node
    goldens.has_texts(f"compiled/{module.path.stem}", [_text_name(item) for item in module.collect()])


@pytest.fixture
def golden_programs(
    request: pytest.FixtureRequest, goldens: Goldens, no_stale_programs: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Compares the programs that a test compiles with golden texts, in the order of their compilation.

    Programs that JAX compiles are left out: it keeps those of its own functions from one test to the next.
    """
    compile_bytes = executable.compile_bytes

    def unrecorded(*arguments: Any) -> Any:
        before = len(compilations)
        try:
            return compile_bytes(*arguments)
        finally:
            del compilations[before:]

    monkeypatch.setattr(executable, "compile_bytes", unrecorded)
    with recorded_compilations(texts=False) as compilations:
        yield
    programs = [compilation.program for compilation in compilations if compilation.program is not None]
    lines = [line for program in programs for line in (*program_lines(program, locations=False), "")]
    goldens.check(f"compiled/{request.node.path.stem}", _text_name(request.node), lines)
