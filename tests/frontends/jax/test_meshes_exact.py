"""Programs that upstream's compiler refuses, or compiles to wrong results or to replicated work, in exact numerics.

Results on eight chips are compared with those of one chip of the same system. What only moves or compares elements is
equal; sums may differ in float32's last bits, as chips add in another order.
"""

from __future__ import annotations

import pytest

SCRIPT = """
from jax import lax
jax.config.update("jax_use_shardy_partitioner", {use_shardy})
mesh = Mesh(np.array(devices).reshape(2, 4), ("x", "y"))
rng = np.random.default_rng(0)

def random(*shape):
    return rng.standard_normal(shape, dtype=np.float32)

def put(data, spec):
    return jax.device_put(data, NamedSharding(mesh, spec))

def on_one_chip(function, *arrays):
    return jax.tree.leaves(jax.jit(function)(*(jax.device_put(array, devices[0]) for array in arrays)))

def check(function, *pairs, out=None, terms=0, alone=None):
    "terms: number of products that an element is the sum of; 0 for a function that adds nothing."
    options = {{}} if out is None else {{"out_shardings": NamedSharding(mesh, out)}}
    results = jax.tree.leaves(jax.jit(function, **options)(*(put(*pair) for pair in pairs)))
    expected = on_one_chip(alone or function, *(array for array, _ in pairs))
    for result, one in zip(results, expected, strict=True):
        assert len(result.sharding.device_set) == 8
        if out is not None:
            assert result.sharding.spec == out
        difference = np.abs(np.asarray(result) - np.asarray(one)).max()
        assert difference <= terms * 2.0**-24 * np.abs(np.asarray(one)).max(), difference
    return results

def mapped(function, before, after):
    return jax.shard_map(function, mesh=mesh, in_specs=before, out_specs=after, check_vma=False)
"""


SHARDY = pytest.param(True, id="shardy")


@pytest.fixture(params=[SHARDY, pytest.param(False, id="gspmd", marks=pytest.mark.nightly)])
def check(request, on_system):
    """Runs a script with one of JAX's partitioners."""

    def run(script: str) -> None:
        on_system(SCRIPT.format(use_shardy=request.param) + script, "n300-llmbox", TTXLA_NUMERICS="exact")

    return run


@pytest.mark.parametrize("check", [SHARDY, pytest.param(False, id="gspmd")], indirect=True)
def test_sums_over_two_axes(check):
    check("""
x = random(16, 32)
total = lambda x: x.reshape(2, 8, 4, 8).sum((0, 2))
check(mapped(lambda x: lax.psum(x, ("x", "y")), P("x", "y"), P()), (x, P("x", "y")), terms=8, alone=total)
mean = lambda x: x.reshape(2, 8, 4, 8).mean((0, 2))
check(mapped(lambda x: lax.pmean(x, ("x", "y")), P("x", "y"), P()), (x, P("x", "y")), terms=8, alone=mean)
check(lambda a, b: a @ b, (x, P(None, ("x", "y"))), (random(32, 8), P(("x", "y"), None)), out=P(), terms=32)
""")


def test_axes_that_change_places(check):
    check("""
x = random(16, 32)
swap = lambda x: lax.with_sharding_constraint(x * 2, NamedSharding(mesh, P("y", "x")))
(y,) = check(swap, (x, P("x", "y")), out=P("y", "x"), alone=lambda x: x * 2)
assert all(shard.data.shape == (4, 16) for shard in y.addressable_shards)
check(lambda x: x, (x, P(("x", "y"))), out=P(None, ("y", "x")))
""")


def test_convolutions_with_split_space(check):
    check("""
def conv(strides, padding, dilation):
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, rhs_dilation=dilation)
x, w = random(2, 3, 16, 24), random(5, 3, 3, 3)
for spec in (P(None, None, "y"), P(None, None, "x", "y"), P("x", None, None, "y")):
    for strides, padding, dilation in (((1, 1), "SAME", (1, 1)), ((2, 2), "SAME", (1, 1)), ((1, 1), "VALID", (2, 2))):
        check(conv(strides, padding, dilation), (x, spec), (w, P()), terms=27)
""")


def test_shardings_of_arguments_alone(check):
    check("""
x, w, b, v = random(16, 32), random(32, 64), random(64), random(64, 32)
layer = lambda x, w, b, v: jax.nn.relu(x @ w + b) @ v
check(layer, (x, P("x")), (w, P(None, "y")), (b, P("y")), (v, P("y")), out=P("x"), terms=96)
check(lambda x: x.sum(), (x, P("x", "y")), terms=512)
""")


def test_loops_with_a_split_carry(check):
    check("""
x = random(16, 32)
body = lambda i, s: jnp.sin(s) * 2 + i
(y,) = check(lambda x: lax.fori_loop(0, 5, body, x), (x, P("x", "y")), out=P("x", "y"))
until = lambda x: lax.while_loop(lambda s: jnp.abs(s).max() < 100, lambda s: s * 2, x)
check(until, (x, P("x", "y")), out=P("x", "y"))
scan = lambda x: lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(32), x)
check(scan, (x, P(None, "y")))
""")


def test_sorts_and_top_k_of_a_split_dimension(check):
    check("""
x = random(8, 64)
check(lambda x: jnp.sort(x, 1), (x, P(None, "y")))
check(lambda x: jnp.sort(x, 0), (x, P("x", "y")))
check(lambda x: lax.sort_key_val(x, jnp.broadcast_to(jnp.arange(64), (8, 64))), (x, P("x", "y")))
check(lambda x: lax.top_k(x, 5), (x, P(None, ("x", "y"))))
check(lambda x: lax.top_k(jnp.round(x), 5), (x, P("x", "y")))  # ties: the first ones win
""")


def test_concatenated_and_sliced_split_dimensions(check):
    check("""
x, y = random(16, 32), random(8, 32)
check(lambda x, y: jnp.concatenate([x, y], 0), (x, P("y")), (y, P("y")))
check(lambda x: x[3:13, 5:29:2], (x, P("x", "y")))
check(lambda x: jnp.roll(x, 5, 1), (x, P("x", "y")))
check(lambda x: lax.dynamic_slice(x, (3, 9), (10, 20)), (x, P("x", "y")))
""")


def test_all_to_all_of_four(check):
    check("""
x = random(16, 32)
exchange = mapped(lambda x: lax.all_to_all(x, "y", 1, 0, tiled=True), P("y"), P("y"))
blocks = lambda x: x.reshape(4, 4, 4, 8).transpose(2, 0, 1, 3).reshape(64, 8)
check(exchange, (x, P("y")), alone=blocks)
""")


def test_random_numbers(check):
    check("""
draw = lambda key: (jax.random.normal(key, (16, 32)), jax.random.bits(key, (8, 8)), jax.random.permutation(key, 64))
split = jax.jit(draw, out_shardings=(NamedSharding(mesh, P("x", "y")),) * 2 + (NamedSharding(mesh, P("y")),))
with jax.default_device(devices[0]):
    expected = jax.jit(draw)(jax.random.key(7))
    results = split(jax.random.key(7))
for result, one in zip(results, expected, strict=True):
    assert not result.sharding.is_fully_replicated and np.array_equal(result, one)
""")
