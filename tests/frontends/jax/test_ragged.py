"""Exchanges and products of groups of rows whose sizes are known only when a program runs."""

SCRIPT_HEAD = """
import itertools
from jax import lax
row = Mesh(np.array(devices), "x")
rng = np.random.default_rng(0)

def random(*shape):
    return rng.standard_normal(shape, dtype=np.float32)
"""


def test_ragged_exchanges_and_products(on_chips):
    """Sends parts of sizes that are known only when the program runs, with gradients, and multiplies groups of rows."""
    on_chips("""
rows, places, width = 40, 48, 8
sizes = rng.integers(0, 5, (8, 8))
starts, ends = np.cumsum(sizes, 1) - sizes, np.cumsum(sizes, 0) - sizes

def exchange(x, *told):
    return lax.ragged_all_to_all(x, jnp.full((places, width), -1.0), *told, axis_name="x")

mapped = jax.shard_map(exchange, mesh=row, in_specs=(P("x"),) * 5, out_specs=P("x"), check_vma=False)
told = [jnp.asarray(each.reshape(-1), jnp.int32) for each in (starts, sizes, ends, sizes.T)]
x = random(8 * rows, width)
value, gradient = jax.jit(jax.value_and_grad(lambda x: (jnp.square(mapped(x, *told)).sum())))(x)
parts, expected, slope = x.reshape(8, rows, width), np.full((8, places, width), -1.0, np.float32), np.zeros_like(x)
slope = slope.reshape(8, rows, width)
for sender, receiver in itertools.product(range(8), repeat=2):
    size, first, place = (table[sender, receiver] for table in (sizes, starts, ends))
    expected[receiver, place : place + size] = parts[sender, first : first + size]
    slope[sender, first : first + size] = 2 * parts[sender, first : first + size]
found = np.asarray(jax.jit(mapped)(x, *told)).reshape(8, places, width)
np.testing.assert_allclose(found, expected, rtol=1e-6)
np.testing.assert_allclose(np.asarray(gradient).reshape(8, rows, width), slope, rtol=1e-5, atol=1e-6)
tokens, experts, counts = random(16, 8), random(3, 8, 4), jnp.array([5, 0, 11], jnp.int32)
product = jax.jit(lax.ragged_dot)(tokens, experts, counts)
by_group = np.concatenate([tokens[:5] @ experts[0], tokens[5:] @ experts[2]])
np.testing.assert_allclose(np.asarray(product), by_group, rtol=1e-4, atol=1e-4)
""")
