"""``jax.pmap``: the results on each device are those of JAX's CPU backend with eight devices.

JAX 0.7 passes a module for eight replicas; newer versions pass partitions, as for every program of several devices.
"""

from __future__ import annotations

import pytest

SCRIPT_HEAD = """
import warnings
from jax import lax
warnings.simplefilter("ignore")  # parts of pmap are deprecated
x = np.arange(24, dtype=np.float32).reshape(8, 3)
is_new = jax.version.__version_info__ >= (0, 8)

def shards(results):
    return [[(shard.device.id, np.asarray(shard.data)) for shard in result.addressable_shards]
            for result in jax.tree.leaves(results)]

def compare(function, *arguments, of=slice(None), **options):
    outcomes = []
    for platform in ("tt", "cpu"):
        chips = jax.devices(platform)[of]
        outcomes.append(shards(jax.pmap(function, axis_name="i", devices=chips, **options)(*arguments)))
    assert len(outcomes[0]) == len(outcomes[1]) > 0
    for results, expected in zip(*outcomes, strict=True):
        for (device, value), (other, expected_value) in zip(results, expected, strict=True):
            assert device == other and value.dtype == expected_value.dtype
            np.testing.assert_allclose(value, expected_value, rtol=1e-5)
"""


def test_collectives(on_chips):
    on_chips("""
cube = np.arange(128, dtype=np.float32).reshape(8, 8, 2)
compare(lambda x: x / lax.psum(x, "i") + lax.axis_index("i"), x + 1)
compare(lambda x: (lax.pmean(x, "i"), lax.pmax(x, "i"), lax.pmin(x, "i"), lax.all_gather(x, "i")), x)
compare(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0), (5, 2)]), x)
compare(lambda x: (lax.all_to_all(x, "i", 0, 0), lax.psum_scatter(x, "i"), lax.pswapaxes(x, "i", 0)), cube)
compare(lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]), x)
compare(lambda x: lax.all_gather(x, "i", axis_index_groups=[[0, 4], [1, 5], [2, 6], [3, 7]]), x)
compare(lambda x: (lax.psum(x, "i"), lax.psum(x > 3, "i")), np.arange(8))
""")


def test_axes_of_arguments_and_results(on_chips):
    on_chips("""
compare(lambda x, y: x + y, x, np.ones(3, np.float32), in_axes=(0, None))
compare(lambda x, y: x * y, x, 3.0, in_axes=(0, None))
compare(lambda x: x.sum(), x.T, in_axes=1)
compare(lambda x: x * 2, x, out_axes=1)
compare(lambda x: {"sum": x["x"].sum(), "ones": jnp.ones(2)}, {"x": x})
compare(lambda x, n: x * n, x, 3, static_broadcasted_argnums=1)
for value in (x, x[:, 0]):
    total = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None, devices=devices)(value)
    np.testing.assert_allclose(total, value.sum(0), rtol=1e-6)
""")


def test_devices(on_chips):
    on_chips("""
compare(lambda x: x + lax.psum(x, "i"), x[:4], of=slice(2, 6))
compare(lambda x: x + lax.axis_index("i"), x, of=slice(None, None, -1))
compare(lambda x: x + lax.psum(x, "i"), x[:1], of=slice(3, 4))
refused(lambda: jax.pmap(lambda x: x, backend="tt")(np.ones((9, 2))), "9", "8")
""")


@pytest.mark.nightly
def test_transformations_and_control_flow(on_chips):
    on_chips("""
compare(jax.vmap(lambda x: x - lax.psum(x, "i")), x)
compare(jax.vmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j"), x)
compare(lambda x: lax.scan(lambda carry, y: (carry + lax.psum(y, "i"), carry), 0.0, x), x)
compare(lambda x: lax.while_loop(lambda c: lax.psum(c.sum(), "i") < 2000, lambda c: c * 2, x), x)
compare(lambda x: lax.while_loop(lambda c: c.sum() < 200, lambda c: c * 2 + 1, x), x)
compare(lambda x: lax.cond(x[0] > 9, lambda x: x * 2, lambda x: -x, x), x)
compare(lambda key: jax.random.normal(key, (3,)), jax.random.split(jax.random.PRNGKey(0), 8))
batch = np.random.default_rng(0).standard_normal((8, 4, 3), dtype=np.float32)
loss = lambda w, x: ((x @ w) ** 2).mean()
compare(lambda w, x: w - 0.1 * lax.pmean(jax.grad(loss)(w, x), "i"), np.ones((3, 2), np.float32), batch,
        in_axes=(None, 0))
step = jax.pmap(lambda x: jnp.sin(x) * lax.psum(x.sum(), "i"), axis_name="i", devices=devices)
on_cpu = jax.pmap(lambda x: jnp.sin(x) * lax.psum(x.sum(), "i"), axis_name="i", devices=jax.devices("cpu"))
gradients = [jax.grad(lambda x: f(x).sum())(x / 24) for f in (step, on_cpu)]
np.testing.assert_allclose(*gradients, rtol=1e-4)
if not is_new:  # newer versions have no pmap within pmap
    inner = lambda y: y + lax.psum(y, "j") + lax.psum(y, ("i", "j")) + lax.axis_index("j")
    nested = [
        jax.pmap(lambda x: jax.pmap(inner, axis_name="j", backend=name)(x), axis_name="i", backend=name)(
            x.reshape(2, 4, 3)) for name in ("tt", "cpu")]
    np.testing.assert_allclose(*nested)
""")


def test_donation_callbacks_and_compiled_programs(on_chips):
    on_chips("""
seen = []
def write(cache, value):
    jax.debug.callback(lambda value: seen.append(float(value[0])), value)
    return lax.dynamic_update_slice(cache, value, (0,))
f = jax.pmap(write, donate_argnums=0, devices=devices)
cache = jax.pmap(lambda x: x, devices=devices)(x)
result = f(cache, np.arange(8, dtype=np.float32)[:, None])
jax.effects_barrier()
assert cache.is_deleted() and sorted(seen) == list(range(8))
assert np.array_equal(result, np.concatenate([np.arange(8)[:, None], x[:, 1:]], 1))
compiled = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=devices).lower(x).compile()
assert np.array_equal(compiled(x)[3], x.sum(0)) and "all-reduce(" in compiled.as_text()
assert np.array_equal(jax.jit(lambda x: x.sum())(result), np.asarray(result).sum())
""")
