"""What the table of `make differential` says of a case."""

from __future__ import annotations

import pytest

from conformance import differential


@pytest.mark.parametrize(
    ("largest", "beyond_one", "verdict"), [(0, 0.0, "same bits"), (1, 0.0, "within 1 ULP"), (2, 0.1, "other bits")]
)
def test_a_verdict_follows_from_the_largest_distance(largest: int, beyond_one: float, verdict: str) -> None:
    assert differential.verdict(differential.Deviation(largest, 0.2, beyond_one, 1.0)) == verdict


def test_an_instruction_that_the_simulator_lacks_is_named() -> None:
    message = "TT-NN's process ended. Its last output: ERROR: UnsupportedFunctionality: tensix_sfpgt: lreg_dest=9"
    assert differential.stopped(message) == "the simulator stops: tensix_sfpgt: lreg_dest=9"
    assert differential.stopped("TT-NN refused program 'tan'.") == "refused: TT-NN refused program 'tan'."
