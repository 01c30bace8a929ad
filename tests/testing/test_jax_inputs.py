"""How the tester of JAX models places parameters and inputs on a mesh."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

from tt_xla.testing.jax_model import JaxModelTester


class SplitModel(JaxModelTester):
    axis: str | None = "x"

    def _get_model(self) -> Any:
        return {"weight": np.ones((4, 2), np.float32)}

    def _get_input_activations(self) -> Any:
        return []

    def _get_parameter_specs(self, parameters: Any) -> Any:
        return {"weight": PartitionSpec(None, "x")}

    def _get_input_axis(self) -> str | None:
        return self.axis


@pytest.fixture
def mesh() -> Mesh:
    return Mesh(np.array(jax.devices("cpu")[:1]), ("x",))


@pytest.mark.parametrize("axis", ["x", None])
def test_arrays_are_placed_and_other_values_stay(mesh: Mesh, axis: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SplitModel, "axis", axis)
    parameters, batch = {"weight": np.ones((4, 2), np.float32)}, np.ones((8, 4), np.float32)
    args = (np.float32([1.0]), parameters, batch, "text")
    named = {"scale": np.float32(2.0), "rows": batch, "count": 3, "shape_only": (8, 4)}
    (before, placed, rows, text), kwargs = SplitModel().split_arguments(mesh, 1, args, named)
    first = PartitionSpec() if axis is None else PartitionSpec("x")
    assert before.sharding.spec == PartitionSpec()
    assert placed["weight"].sharding.spec == PartitionSpec(None, "x")
    assert rows.sharding.spec == kwargs["rows"].sharding.spec == first
    assert kwargs["scale"].sharding.spec == PartitionSpec()  # it has no dimension to split
    assert (text, kwargs["count"], kwargs["shape_only"]) == ("text", 3, (8, 4))
    assert [type(kwargs["count"]), *map(type, kwargs["shape_only"])] == [int] * 3
