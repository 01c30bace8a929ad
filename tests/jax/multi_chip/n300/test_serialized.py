"""Files with the IR of programs for several chips."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from tt_xla.ir.program import Program
from tt_xla.testing import ShardingMode, make_partition_spec, serialize_jax_multichip_op_with_random_inputs


@pytest.mark.parametrize("mode", ShardingMode)
def test_serialize(monkeypatch, tmp_path, mode):
    monkeypatch.chdir(tmp_path)
    spec = make_partition_spec(("x", "y"))
    serialize_jax_multichip_op_with_random_inputs(
        lambda x: jnp.negative(x),
        [(64, 64)],
        f"test_negative[{mode.name}]",
        (1, 2),
        ("x", "y"),
        (spec,),
        spec,
        sharding_mode=mode,
    )
    folder = tmp_path / "output_artifact"
    name = f"test_negative_{mode.name}"
    assert "ttir.neg" in (folder / f"{name}_ttir.mlir").read_text()
    assert "ttnn.neg" in (folder / f"{name}_ttnn.mlir").read_text()
    program = Program.from_bytes((folder / f"{name}.ttnn").read_bytes())
    assert program.mesh is not None
    assert program.mesh.shape == (1, 2)
    assert len(list((folder / name).iterdir())) == 3
