"""Recordings contain JAX programs, including programs that were loaded before the recording."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from tt_xla.profiling.observing import recorded


def test_programs_that_were_loaded_before_are_recorded_and_only_while_it_lasts(tt):
    def step(x, y):
        return jnp.tanh(x @ y)

    with jax.default_device(tt):
        x, y = jnp.full((32, 32), 0.01), jnp.ones((32, 32))
        compiled = jax.jit(step).lower(x, y).compile()
        results = [np.asarray(compiled(x, y))]
        with recorded() as recording:
            results += [np.asarray(compiled(x, y)) for _ in range(2)]
        results.append(np.asarray(compiled(x, y)))
    assert [run.state for run in recording.runs] == ["cold", "warm"]
    assert [op.instruction.op for op in recording.ops].count("ttnn.tanh") == 1
    assert not recording.compilations
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
