"""Functions that JAX exports or compiles ahead of time, in another process."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import jax
import jax.export
import jax.numpy as jnp
from jax.experimental import serialize_executable

LOADING = """
import pickle, sys
import jax, jax.export, jax.numpy as jnp
from jax.experimental import serialize_executable
from tt_xla import stage_times

exported = jax.export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
compiled = serialize_executable.deserialize_and_load(*pickle.load(open(sys.argv[2], "rb")))
x = jnp.arange(12, dtype=jnp.float32).reshape(3, 4)
with stage_times.counted_apart():
    assert compiled(x).tolist() == [[6.0], [22.0], [38.0]]
    assert "compiling" not in stage_times.spent()
for size in (1, 3):
    result = exported.call(x[:size])
    assert {device.platform for device in result.devices()} == {"tt"}
    assert result.tolist() == [[6.0], [22.0], [38.0]][:size]
"""


def total(x):
    return x.sum(1, keepdims=True)


def test_exported_and_compiled_functions_run_where_their_code_is_not(tt, tmp_path):
    with jax.default_device(tt):
        (batch,) = jax.export.symbolic_shape("batch")
        exported = jax.export.export(jax.jit(total), platforms=["tt"])(jax.ShapeDtypeStruct((batch, 4), jnp.float32))
        compiled = jax.jit(total).lower(jax.ShapeDtypeStruct((3, 4), jnp.float32)).compile()
    (tmp_path / "exported").write_bytes(exported.serialize())
    (tmp_path / "compiled").write_bytes(pickle.dumps(serialize_executable.serialize(compiled)))
    command = [sys.executable, "-c", LOADING, tmp_path / "exported", tmp_path / "compiled"]
    environment = os.environ | {"TTXLA_NUMERICS": "exact"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
