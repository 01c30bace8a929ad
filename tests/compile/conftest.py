"""Tests that compile check TTIR after the import too, which a compilation leaves to the check of its result."""

from __future__ import annotations

from typing import Any

import pytest

from tt_xla.compiler import importing, pipeline


@pytest.fixture(autouse=True)
def imports_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    run = importing.run

    def checked(*arguments: Any) -> importing.Imported:
        imported = run(*arguments)
        pipeline.verify_module(imported.module, "import")
        return imported

    monkeypatch.setattr(importing, "run", checked)
