"""Golden outputs of stages, imports and compilations belong to files here."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.filecheck.conftest import golden_file
from tests.golden import Goldens

pytestmark = pytest.mark.quick


def test_every_golden_output_has_an_input(goldens: Goldens) -> None:
    names: dict[str, list[str]] = defaultdict(list)
    for path in Path(__file__).parent.glob("*/*.mlir"):
        if file := golden_file(path):
            names[Path(file).name].append(path.stem)
    goldens.has_only("stages", names)
