"""Drawn programs as tests, so that ``python -m tests.mutants`` can say which faults they notice.

FUZZ_SEED and FUZZ_COUNT say which; each kind has its share. ``make fuzz`` judges programs in processes of their own.
"""

from __future__ import annotations

import itertools
import os

import pytest

from tests.fuzz import kinds, reference, worker
from tests.fuzz.cases import Case

pytestmark = [pytest.mark.nightly, pytest.mark.drawn, pytest.mark.filterwarnings("ignore")]
reference.set_flags()


@pytest.mark.parametrize(
    "case",
    [*itertools.islice(kinds.cases(os.environ.get("FUZZ_SEED", "0")), int(os.environ.get("FUZZ_COUNT", "1000")))],
    ids=str,
)
def test_drawn(case: Case) -> None:
    verdict = worker.judged(case)
    if verdict["verdict"] == "undrawn":
        pytest.skip(verdict["details"])
    assert verdict["verdict"] in ("passed", "refused"), verdict["details"]
