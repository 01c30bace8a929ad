"""Layouts of arrays: JAX shows what it is asked for, and values do not depend on it, as on JAX's CPU backend."""

from __future__ import annotations

SCRIPT_HEAD = """
import pickle
from jax import lax
from jax.experimental.layout import Format, Layout, with_layout_constraint
mesh = Mesh(np.array(devices).reshape(2, -1), ("a", "b"))
rows, columns = Layout((0, 1)), Layout((1, 0))
x = np.arange(24, dtype=np.float32).reshape(4, 6)

def at(chip):
    return SingleDeviceSharding(devices[chip])

def order(array_or_format):
    return getattr(array_or_format, "format", array_or_format).layout.major_to_minor
"""


def test_arrays_are_in_the_layout_that_was_asked_for(on_chips):
    on_chips("""
array = jax.device_put(x, Format(columns, at(0)))
assert order(array) == (1, 0) and np.array_equal(array, x)
assert np.asarray(array).strides == (4, 16)
assert order(jax.device_put(array, Format(rows, at(0)))) == (0, 1)
assert order(jax.device_put(jnp.asarray(x), Format(columns, at(3)))) == (1, 0)
split = jax.device_put(x, Format(columns, NamedSharding(mesh, P("a"))))
assert order(split) == (1, 0) and np.array_equal(split, x)
assert {order(shard.data) for shard in split.addressable_shards} == {(1, 0)}
cube = jax.device_put(np.arange(24).reshape(2, 3, 4), Format(Layout((1, 2, 0)), at(0)))
assert order(cube) == (1, 2, 0) and np.array_equal(cube, np.arange(24).reshape(2, 3, 4))
called = jax.make_array_from_callback(x.shape, Format(columns, NamedSharding(mesh, P("a"))), lambda index: x[index])
assert order(called) == (1, 0) and np.array_equal(called, x)
""")


def test_bytes_in_memory_are_in_the_layout(on_chips):
    on_chips("""
import ctypes
array = jax.device_put(x, Format(columns, at(0)))
memory = (ctypes.c_float * x.size).from_address(array.unsafe_buffer_pointer())
assert list(memory) == list(x.T.ravel())
exported = np.from_dlpack(array)
assert np.array_equal(exported, x) and exported.strides == (4, 16)
""")


def test_copies_keep_the_layout(on_chips):
    on_chips("""
array = jax.device_put(x, Format(columns, at(0)))
moved = jax.device_put(array, devices[5])
assert order(moved) == (1, 0) and np.array_equal(moved, x) and np.array_equal(moved + 1, x + 1)
everywhere = jax.device_put(array, NamedSharding(mesh, P()))
assert all(np.array_equal(shard.data, x) for shard in everywhere.addressable_shards)
host = jax.device_put(array, SingleDeviceSharding(devices[0], memory_kind="pinned_host"))
assert np.array_equal(host, x)
assert np.array_equal(pickle.loads(pickle.dumps(array)), x)
on_cpu = jax.device_put(array, jax.devices("cpu")[0])
assert np.array_equal(on_cpu, x)
assert np.array_equal(jax.device_put(jax.device_put(x, Format(columns, SingleDeviceSharding(jax.devices("cpu")[0]))),
                                     devices[1]), x)
""")


def test_programs_take_and_return_layouts(on_chips):
    on_chips("""
array = jax.device_put(x, Format(columns, at(0)))
f = jax.jit(lambda x: x @ x.T + 1, out_shardings=Format(columns, at(0)))
for argument in (x, jnp.asarray(x), array):
    result = f(argument)
    assert order(result) == (1, 0) and np.array_equal(result, x @ x.T + 1)
compiled = jax.jit(lambda x, y: (x + y, y.T)).lower(array, jnp.asarray(x)).compile()
assert [order(each) for each in compiled.input_formats[0]] == [(1, 0), (0, 1)]
assert [order(each) for each in compiled.output_formats] == [(0, 1), (0, 1)]
assert np.array_equal(compiled(array, jnp.asarray(x))[0], x + x)
assert np.array_equal(compiled(x, x)[0], x + x)
refused(lambda: compiled(jax.device_put(x, devices[0]), x), "layouts that disagree")
refused(lambda: jax.jit(lambda x: x, in_shardings=Format(rows, at(0)))(array), "does not match the layout")
on_mesh = NamedSharding(mesh, P("a"))
split = jax.device_put(x, Format(columns, on_mesh))
doubled = jax.jit(lambda x: x * 2, out_shardings=Format(columns, on_mesh))(split)
assert order(doubled) == (1, 0) and np.array_equal(doubled, x * 2)
assert "{0,1})->f32[2,6]{0,1}" in jax.jit(lambda x: x * 2, out_shardings=Format(columns, on_mesh)).lower(
    split).compile().as_text()
""")


def test_layouts_that_jax_leaves_open_make_transpositions_free(on_chips):
    """JAX's CPU backend chooses the same layouts."""
    on_chips("""
functions = {
    "transposed": lambda x: x.T,
    "elementwise": lambda x: jnp.tanh(x.T * 2) + 1,
    "cubic": lambda x: jnp.exp(x.reshape(2, 2, 6)),
    "product": lambda x: x.T @ x,
    "twice": lambda x: -x.T.T,
}
for name, function in functions.items():
    formats = []
    for device in (devices[0], jax.devices("cpu")[0]):
        chosen = Format(Layout.AUTO, SingleDeviceSharding(device))
        compiled = jax.jit(function, in_shardings=chosen, out_shardings=chosen).lower(x).compile()
        formats.append((order(compiled.input_formats[0][0]), order(compiled.output_formats)))
    assert formats[0] == formats[1], (name, formats)
    argument = jax.device_put(x, devices[0])
    chosen = Format(Layout.AUTO, at(0))
    result = jax.jit(function, in_shardings=chosen, out_shardings=chosen).lower(x).compile()(argument)
    np.testing.assert_allclose(result, jax.jit(function)(x), rtol=1e-5)
    assert order(result) == formats[0][1]

constrained = jax.jit(lambda x: with_layout_constraint(x + 1, columns), out_shardings=Format(Layout.AUTO, at(0)))
assert order(constrained(x)) == (1, 0)
turned = jax.jit(lambda x: lax.transpose(x, (2, 0, 1)), out_shardings=Format(Layout.AUTO, at(0)))
assert order(turned(np.zeros((2, 3, 4), np.float32))) == (1, 2, 0)
""")


def test_layouts_of_donated_arrays(on_chips):
    on_chips("""
def write(cache, value):
    return lax.dynamic_update_slice(cache, value, (0, 0))
for sharding in (at(0), NamedSharding(mesh, P())):
    for before, after in ((columns, columns), (columns, rows), (rows, columns)):
        cache = jax.device_put(x, Format(before, sharding))
        value = jax.device_put(np.full((1, 6), 7, np.float32), sharding)
        f = jax.jit(write, donate_argnums=0, out_shardings=Format(after, sharding))
        result = f(cache, value)
        assert order(result) == after.major_to_minor
        assert np.array_equal(result, np.concatenate([np.full((1, 6), 7), x[1:]]))
""")


def test_layouts_that_are_refused(on_chips):
    on_chips("""
tiled = Format(Layout((0, 1), tiling=((8, 128),)), at(0))
refused(lambda: jax.device_put(x, tiled), "{1,0:T(8,128)}", "without tiles", "major_to_minor")
refused(lambda: jax.jit(lambda x: x, out_shardings=tiled)(x), "Result 0", "{1,0:T(8,128)}")
refused(lambda: jax.jit(lambda x: x, in_shardings=tiled)(x), "without tiles")
refused(lambda: jax.device_put(x, Format(Layout((0, 0)), at(0))), "{0,0}", "each dimension from 0 to 1 once")
refused(lambda: jax.device_put(x, Format(Layout((0, 2)), at(0))), "{2,0}", "each dimension from 0 to 1 once")
""")


def test_layouts_are_serialized_with_a_program(on_chips):
    on_chips("""
from jax.experimental import serialize_executable
on_mesh = NamedSharding(mesh, P("a"))
array = jax.device_put(x, Format(columns, on_mesh))
compiled = jax.jit(lambda x: x + 1, out_shardings=Format(columns, on_mesh)).lower(array).compile()
loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled), execution_devices=devices)
result = loaded(array)
assert order(result) == (1, 0) and np.array_equal(result, x + 1)
""")
