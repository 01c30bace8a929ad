"""A session owns what the plugin remembers, so that a test can begin without a past."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from tt_xla.frontends.jax import inspections, session, trust
from tt_xla.profiling.observing import recorded


def test_a_new_session_knows_no_program_of_the_one_before(tt):
    def runs(function, x):
        with recorded() as recording:
            results.append(np.asarray(function(x)))
        return len(recording.runs)

    results = []
    with jax.default_device(tt), session.fresh():
        x = jnp.arange(16.0)
        earlier = jax.jit(lambda x: x * 2).lower(x).compile()
        results.append(np.asarray(earlier(x)))
        with session.fresh():
            assert runs(earlier, x) == 0  # it keeps working, and nobody asks it to load its program again
            assert runs(jax.jit(lambda x: x * 2), x) == 1
        assert runs(earlier, x) == 1
    assert [list(result) for result in results] == 4 * [[2.0 * n for n in range(16)]]


def test_a_new_session_has_no_callbacks_and_trusts_no_program():
    def shown(sharding):
        seen.append(str(sharding))

    seen = []
    with session.fresh(), trust.own_compilation():
        inspections.remember(b"key", shown)
        with session.fresh():
            inspections.report(b"key", "{replicated}")
            assert not trust.is_own()
        assert seen == []
        assert trust.is_own()
        inspections.report(b"key", "{replicated}")
    assert len(seen) == 1
    assert not trust.is_own()
