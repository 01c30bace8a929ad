"""Programs for several chips in JAX: values and output shardings are those of JAX's CPU backend with eight devices."""

from __future__ import annotations

import itertools

import pytest

from tests.frontends.jax.conftest import JAX, compiles_without_client
from tt_xla.compiler.sharding.axes import Digit, whole_axes
from tt_xla.compiler.sharding.hlo_sharding import parse
from tt_xla.ir.hlo_sharding import hlo_sharding
from tt_xla.ir.mesh import Mesh, Sharding

SCRIPT_HEAD = """
import itertools
from jax import lax
mesh = Mesh(np.array(devices).reshape(2, -1), ("a", "b"))
row = Mesh(np.array(devices), "x")
rng = np.random.default_rng(0)

def random(*shape):
    return rng.standard_normal(shape, dtype=np.float32)

def put(data, spec, on=mesh):
    return jax.device_put(data, NamedSharding(on, spec))

def compare(build, *arguments, out=None):
    outcomes = []
    for platform in ("tt", "cpu"):
        on = Mesh(np.array(jax.devices(platform)).reshape(2, 4), ("a", "b"))
        options = {} if out is None else {"out_shardings": NamedSharding(on, out)}
        outcomes.append(jax.tree.leaves(jax.jit(build(on), **options)(*(put(*pair, on) for pair in arguments))))
    for result, expected in zip(*outcomes, strict=True):
        np.testing.assert_allclose(np.asarray(result), np.asarray(expected), rtol=1e-4, atol=1e-4)
        if isinstance(expected.sharding, NamedSharding):  # before JAX 0.8 some results on the CPU have another kind
            assert result.sharding.spec == expected.sharding.spec, (result.sharding, expected.sharding)
        assert {device.platform for device in result.devices()} == {"tt"}
"""


@pytest.mark.nightly
def test_shardings_are_propagated_as_by_xla(on_chips):
    on_chips("""
x, w, bias = random(8, 16), random(16, 32), random(32)
same = lambda function: lambda on: function
compare(same(jax.nn.relu), (x, P("a", "b")))
compare(same(jnp.dot), (x, P("a", "b")), (w, P("b", None)))
compare(same(jnp.dot), (x, P("a")), (w, P(None, "b")))
compare(same(lambda x, w, b: jax.nn.gelu(x @ w + b) @ w.T), (x, P("a")), (w, P(None, "b")), (bias, P("b")))
compare(same(jax.nn.softmax), (x, P("a", "b")))
compare(same(lambda x: (x.T, x.sum(), x.sum(0), x.reshape(4, 2, 16))), (x, P("a", "b")))
compare(same(lambda x: (x * 2, x)), (x, P(("a", "b"))), out=P("b", "a"))
compare(same(lambda x: x * 2), (x, P("a", "b")), out=P())
compare(same(lambda: jnp.arange(64.0).reshape(8, 8)), out=P("a", "b"))
compare(same(lambda x: ()), (x, P("a", "b")))
compare(lambda on: lambda x: lax.with_sharding_constraint(x + 1, NamedSharding(on, P("b", "a"))), (x, P("a", "b")))
compare(same(lambda x: jnp.concatenate([x, x], 0)), (x, P("a", "b")))
compare(same(lambda x: (x[2:6, 1:9], jnp.cumsum(x, 1))), (x, P("a", "b")))
# What does not divide evenly, or splits a part of an axis, is no sharding of a result in JAX.
compare(same(lambda x: (x[:7], x.reshape(-1)[:13])), (x, P("a", "b")))
compare(same(lambda x: (x.reshape(4, 2, 16), x.reshape(2, 4, 16).sum(1))), (x, P(("b", "a"))))
step = jax.value_and_grad(lambda w, x, b: jnp.tanh(x @ w + b).mean())
compare(same(step), (w, P(None, "b")), (x, P("a")), (bias, P("b")))
loop = lambda x: lax.while_loop(lambda state: state[0] < 3, lambda state: (state[0] + 1, state[1] * 2), (0, x))[1]
compare(same(loop), (x, P("a", "b")))
""")


def test_shard_map(on_chips):
    on_chips("""
x = random(8, 16)
def mapped(function, before, after):
    return lambda on: jax.shard_map(function, mesh=on, in_specs=before, out_specs=after, check_vma=False)
compare(mapped(lambda x: lax.psum(x, "a"), P("a", "b"), P(None, "b")), (x, P("a", "b")))
compare(mapped(lambda x: lax.pmax(x, ("a", "b")), P("a", "b"), P()), (x, P("a", "b")))
compare(mapped(lambda x: lax.all_gather(x, "b", axis=1, tiled=True), P("a", "b"), P("a")), (x, P("a", "b")))
compare(mapped(lambda x: lax.psum_scatter(x, "b", scatter_dimension=1, tiled=True), P("a"), P("a", "b")), (x, P("a")))
compare(mapped(lambda x: lax.all_to_all(x, "b", 1, 0, tiled=True), P("b"), P("b")), (x, P("b")))
for splits, joins, tiled in itertools.product((0, 1), (0, 1), (True, False)):
    exchange = lambda x: lax.all_to_all(x, ("a", "b"), splits, joins, tiled=tiled)
    compare(mapped(exchange, P(("a", "b")), P(("a", "b"))), (random(64, 8), P(("a", "b"))))
    exchange = lambda x: lax.all_to_all(x, ("b", "a"), splits, joins, tiled=tiled)
    compare(mapped(exchange, P(("a", "b")), P(("a", "b"))), (random(64, 8), P(("a", "b"))))
shift = [(chip, (chip + 1) % 4) for chip in range(4)]
def rotated(on):
    cube = Mesh(on.devices.reshape(2, 2, 2), ("x", "y", "z"))
    rotate = lambda x: lax.ppermute(x, ("x", "z"), shift)
    return jax.shard_map(rotate, mesh=cube, in_specs=P(("x", "y", "z")), out_specs=P(("x", "y", "z")))
assert np.array_equal(jax.jit(rotated(mesh))(jnp.arange(8.0)), [5, 0, 7, 2, 1, 4, 3, 6])
compare(mapped(lambda x: lax.ppermute(x, "b", shift) + lax.axis_index("a"), P("a", "b"), P("a", "b")), (x, P("a", "b")))
""")


def test_results_that_chips_do_not_have_in_common(on_chips):
    """JAX believes a function that is not checked; each device keeps its own result, as on the CPU."""
    on_chips("""
for platform in ("tt", "cpu"):
    on = Mesh(np.array(jax.devices(platform)), "x")
    own = jax.shard_map(lambda x: x + 1, mesh=on, in_specs=P("x"), out_specs=P(), check_vma=False)
    y = jax.jit(own)(put(np.arange(16.0, dtype=np.float32), P("x"), on))
    assert y.shape == (2,) and y.is_fully_replicated
    assert [shard.data.tolist() for shard in y.addressable_shards] == [[2 * n + 1, 2 * n + 2] for n in range(8)]
""")


def test_random_numbers_are_those_of_one_chip(on_chips):
    on_chips("""
draw = lambda key: (jax.random.normal(key, (8, 16)), jax.random.bits(key, (4, 8)))
split = jax.jit(draw, out_shardings=NamedSharding(mesh, P("a", "b")))(jax.random.key(3))
for result, expected in zip(split, jax.jit(draw)(jax.random.key(3)), strict=True):
    assert result.sharding.spec == P("a", "b") and np.array_equal(result, expected)
""")


def test_callbacks_see_arrays_of_all_chips(on_chips):
    on_chips("""
seen = []
x = put(np.arange(8.0, dtype=np.float32), P("b"))
jax.jit(lambda x: jax.debug.callback(lambda value: seen.append(value.shape), x))(x)  # a program without results
sines = jax.jit(lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x))(x)
jax.effects_barrier()
assert seen == [(8,)] and np.allclose(sines, np.sin(np.arange(8.0)))
""")


def test_shardings_are_inspected_while_a_program_is_compiled(on_chips):
    on_chips("""
inspect = jax.debug.inspect_array_sharding
outcomes = []
for platform in ("tt", "cpu"):
    seen = {}
    def note(name):
        return lambda sharding: seen.__setitem__(name, getattr(sharding, "spec", str(sharding)))
    def f(x):
        inspect(x, callback=note("argument"))
        inspect(x @ x.T, callback=note("product"))
        inspect(x.sum(), callback=note("sum"))
        loop = lambda _, y: (inspect(y, callback=note("loop")), y * 2)[1]
        return jax.lax.fori_loop(0, 3, loop, x.T)
    on = Mesh(np.array(jax.devices(platform)).reshape(2, 4), ("a", "b"))
    x = put(random(8, 8), P("a", "b"), on)
    text = jax.jit(f).lower(x).compile().as_text()
    jax.jit(jax.grad(lambda x: (inspect(jnp.sin(x), callback=note("gradient")), jnp.sin(x).sum())[1]))(x)
    jax.jit(jax.shard_map(lambda x: (inspect(x, callback=note("shard_map")), x)[1], mesh=on, in_specs=P("a", "b"),
                          out_specs=P("a", "b")))(x)
    jax.jit(lambda x: (inspect(x, callback=note("one chip")), x)[1])(jax.device_put(x, jax.devices(platform)[0]))
    outcomes.append(seen)
assert len(outcomes[0]) == 7 and outcomes[0] == outcomes[1], outcomes
""")


def test_each_device_of_a_result_holds_its_shard(on_chips):
    on_chips("""
x = put(np.arange(32.0, dtype=np.float32).reshape(4, 8), P("a", "b"))
y = jax.jit(lambda x: x + 1)(x)
assert [shard.device for shard in y.addressable_shards] == devices
for shard in y.addressable_shards:
    assert shard.data.devices() == {shard.device} and shard.data.shape == (2, 2)
    assert np.array_equal(shard.data, np.asarray(x)[shard.index] + 1)
host = jax.jit(lambda x: x, out_shardings=NamedSharding(mesh, P("a"), memory_kind="pinned_host"))(x)
assert host.sharding.memory_kind == "pinned_host" and np.array_equal(host, x)
assert jax.jit(lambda x: (x * 0).any())(put(np.ones((0, 8)), P())) == False
""")


def test_meshes_of_some_devices_and_in_another_order(on_chips):
    on_chips("""
some = Mesh(np.array(devices[4:6]), "x")
y = jax.jit(lambda x: x + x.sum())(put(np.arange(4.0, dtype=np.float32), P("x"), some))
assert y.devices() == set(devices[4:6]) and np.array_equal(y, [6, 7, 8, 9])
order = [devices[number] for number in (3, 1, 0, 2, 7, 6, 5, 4)]
z = jax.jit(lambda x: x * jnp.arange(8.0))(put(np.arange(8.0, dtype=np.float32), P("x"), Mesh(np.array(order), "x")))
assert np.array_equal(z, np.arange(8.0) ** 2)
assert [shard.device for shard in z.addressable_shards] == order
assert [float(shard.data[0]) for shard in z.addressable_shards] == [number**2 for number in range(8)]
""")


def test_arrays_move_between_meshes_of_any_order(on_chips):
    on_chips("""
x = np.arange(64, dtype=np.float32).reshape(8, 8)
orders = [range(8), range(7, -1, -1), (3, 1, 0, 2, 7, 6, 5, 4), (0, 2, 4, 6, 1, 3, 5, 7)]
specs = [(P("a", "b"), P("b", "a")), (P("a"), P("b")), (P("b"), P(None, "a")), (P(), P(("b", "a")))]
for number, (first, second) in enumerate(itertools.product(orders, repeat=2)):
    before, after = specs[number % len(specs)]
    outcomes = []
    for platform in ("tt", "cpu"):
        chips = np.array(jax.devices(platform))
        source, target = (Mesh(chips[list(order)].reshape(2, 4), ("a", "b")) for order in (first, second))
        moved = jax.device_put(put(x, before, source), NamedSharding(target, after))
        outcomes.append([(shard.device.id, np.asarray(shard.data)) for shard in moved.addressable_shards])
    for (device, data), (other, expected) in zip(*outcomes, strict=True):
        assert device == other and np.array_equal(data, expected), (first, second)
""")


def test_donation_writes_to_no_other_array(on_chips):
    on_chips("""
def write(cache, value):
    return lax.dynamic_update_slice(cache, value, (0,))
f = jax.jit(write, donate_argnums=0)
first = put(np.zeros(64, np.float32), P())
second = f(first, put(np.ones(4, np.float32), P()))
assert first.is_deleted() and np.array_equal(second[:5], [1, 1, 1, 1, 0])
# Chips hold the same result in one tensor. An array made of the shards of some chips is donated alone.
other = second.addressable_shards[5].data
half = Mesh(np.array(devices[:4]), "x")
shards = [shard.data for shard in second.addressable_shards[:4]]
part = jax.make_array_from_single_device_arrays((64,), NamedSharding(half, P()), shards)
third = f(part, put(np.full(4, 5, np.float32), P(), half))
assert np.array_equal(third[:5], [5, 5, 5, 5, 0]) and np.array_equal(other[:5], [1, 1, 1, 1, 0])
fourth = f(other, jax.device_put(np.full(4, 7, np.float32), devices[5]))
assert np.array_equal(fourth[:5], [7, 7, 7, 7, 0]) and np.array_equal(third[:5], [5, 5, 5, 5, 0])
view = np.asarray(fourth)
assert f(fourth, jax.device_put(np.full(4, 9, np.float32), devices[5]))[0] == 9 and view[0] == 7
x = put(np.zeros(8, np.float32), P("x"), row)
twice = jax.jit(lambda a, b: (a + 1, b), donate_argnums=0)
refused(lambda: twice(x, x), "donated", "passed as argument 1 as well")
""")


def test_changed_parameters_are_read_again(on_chips):
    """What depends on parameters alone is computed once for the same shards."""
    on_chips("""
import tt_jax
@jax.jit
def f(w, x):
    w = tt_jax.mark_parameters(w)
    return x @ (w * 2).T
x = put(random(4, 8), P())
for _ in range(3):
    data = random(4, 8)
    w = put(data, P("b"))
    for _ in range(3):
        np.testing.assert_allclose(f(w, x), np.asarray(x) @ (data * 2).T, rtol=1e-5, atol=1e-5)
    changed = [shard.data + shard.device.id for shard in w.addressable_shards]
    w = jax.make_array_from_single_device_arrays(w.shape, w.sharding, [*changed[:4], *(
        jax.device_put(shard, device) for shard, device in zip(changed[:4], devices[4:]))])
    np.testing.assert_allclose(f(w, x), np.asarray(x) @ (np.asarray(w) * 2).T, rtol=1e-5, atol=1e-5)
""")


def test_description_of_a_compiled_program(on_chips):
    on_chips("""
x = put(random(4, 8), P("a", "b"))
compiled = jax.jit(lambda x: (x * 2, x.sum())).lower(x).compile()
assert compiled.input_shardings[0][0].spec == P("a", "b")
assert [sharding.spec for sharding in compiled.output_shardings] == [P("a", "b"), P()]
assert "num_partitions=8" in compiled.as_text() and "f32[2,2]" in compiled.as_text()
assert compiled.as_text().count(" all-reduce(") == 1  # what chips exchange can be read there
assert compiled.memory_analysis().argument_size_in_bytes == 16
assert compiled.cost_analysis()["optimal_seconds"] > 0
executable = compiled.runtime_executable()
assert executable.local_devices() == devices
(hlo_module,) = executable.hlo_modules()
assert hlo_module.name.startswith("jit_") and "all-reduce(" in hlo_module.to_string()
""")


def test_text_of_a_compiled_program_shows_its_collectives(on_chips):
    """JAX's CPU backend places the same collectives in these programs."""
    on_chips("""
import re
from collections import Counter
x, w = random(8, 16), random(16, 32)
same = lambda function: lambda on: function
def mapped(function, before, after):
    return lambda on: jax.shard_map(function, mesh=on, in_specs=(before, P()), out_specs=after, check_vma=False)
programs = {
    "all-reduce": (same(lambda x, w: x @ w), P(None, "b"), P("b")),
    "none": (same(lambda x, w: x @ w), P("a"), P(None, "b")),
    "two": (same(lambda x, w: jax.nn.softmax(x @ w)), P("a"), P(None, "b")),
    "gradient": (same(jax.grad(lambda x, w: jnp.tanh(x @ w).mean(), 1)), P("a"), P(None, "b")),
    "all-gather": (
        lambda on: lambda x, w: lax.with_sharding_constraint(x * 2, NamedSharding(on, P())), P("a", "b"), P()),
    "all-to-all": (same(lambda x, w: jnp.sort(x)), P("a", "b"), P()),
    "collective-permute": (mapped(lambda x, w: lax.ppermute(x, "b", [(0, 1), (1, 0)]), P("b"), P("b")), P("b"), P()),
    "reduce-scatter": (mapped(lambda x, w: lax.psum_scatter(x, "b", tiled=True), P(), P("b")), P(), P()),
}
kinds = r" (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?[(]"
for name, (build, *specs) in programs.items():
    seen = []
    for platform in ("tt", "cpu"):
        on = Mesh(np.array(jax.devices(platform)).reshape(2, 4), ("a", "b"))
        text = jax.jit(build(on)).lower(put(x, specs[0], on), put(w, specs[1], on)).compile().as_text()
        seen.append(Counter(re.findall(kinds, text)))
    if name not in ("none", "two", "gradient"):
        assert name in seen[0], (name, seen)
    if jax.version.__version_info__ >= (0, 8):  # in older versions, the two backends split results differently
        assert seen[0] == seen[1], (name, seen)
""")


@pytest.mark.nightly
def test_programs_are_serialized_and_cached(on_chips, tmp_path):
    script = """
from jax.experimental import serialize_executable
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
from tt_xla.compiler.recording import recorded_compilations
x = put(np.arange(32.0, dtype=np.float32).reshape(4, 8), P("a", "b"))
with recorded_compilations(texts=False) as compilations:
    compiled = jax.jit(lambda x: (x - 1, x.sum())).lower(x).compile()
assert len(compilations) == COUNT, compilations
y, total = compiled(x)
assert np.array_equal(y, np.asarray(x) - 1) and total == 496 and y.sharding.spec == P("a", "b")
loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled), execution_devices=devices)
y, total = loaded(x)
assert np.array_equal(y, np.asarray(x) - 1) and total == 496
assert [sharding.spec for sharding in loaded.output_shardings] == [P("a", "b"), P()]
"""
    folder = str(tmp_path)
    on_chips(script.replace("COUNT", "1"), JAX_COMPILATION_CACHE_DIR=folder)
    on_chips(script.replace("COUNT", "0"), JAX_COMPILATION_CACHE_DIR=folder)


@compiles_without_client
def test_compiling_for_a_mesh_that_is_not_there(on_chips):
    on_chips(
        """
from jax.experimental import topologies
topology = topologies.get_topology_desc("n300-llmbox", "tt")
away = topologies.make_mesh(topology, (8,), ("x",))
shape = jax.ShapeDtypeStruct((64,), np.float32, sharding=NamedSharding(away, P("x")))
compiled = jax.jit(lambda x: x / x.sum()).lower(shape).compile()
assert compiled.output_shardings.spec == P("x")
assert compiled.memory_analysis().argument_size_in_bytes == 32
assert np.array_equal(jax.jit(lambda x: x - x.sum())(put(np.ones(2, np.float32), P("x"), row)), [-1, -1])
""",
        "n300",
    )


def test_a_function_whose_name_has_an_accent(on_chips):
    """JAX reads the sharding of the result from a module that has the function's name."""
    on_chips("""
def carré(x):
    return x * x
y = jax.jit(carré)(put(np.arange(8.0, dtype=np.float32), P("x"), row))
assert len(y.addressable_shards) == 8 and np.array_equal(y, np.arange(8.0) ** 2)
assert jax.jit(carré).lower(y).compile().output_shardings.num_devices == 8
""")


def test_source_is_generated_for_the_mesh(on_chips, tmp_path):
    on_chips(f"""
from pathlib import Path
folder = Path({str(tmp_path)!r})
x, w = random(16, 64), random(64, 32)
options = {{"backend": "codegen_py", "export_path": str(folder / "out")}}
function = jax.jit(lambda x, w: jnp.tanh(x @ w), compiler_options=options)
y = function(put(x, P("a", "b")), put(w, P("b")))
np.testing.assert_allclose(y, np.tanh(x @ w), rtol=1e-5, atol=1e-5)
main = (folder / "out/main.py").read_text()
assert "ttnn.open_mesh_device(ttnn.MeshShape(2, 4)" in main and "ttnn.all_reduce(" in main
assert sorted(file.name for file in (folder / "out/tensors").iterdir()) == [
    "arg0.tensorbin", "arg1.tensorbin", "expected0.tensorbin"
]
""")


@pytest.mark.parametrize("shape", [(8,), (2, 4), (2, 2, 2)])
def test_notation_of_shardings_is_that_of_xla(shape):
    """XLA reads the text back as a tile for each chip at the place that the sharding says."""
    from jax._src.lib import xla_client

    mesh = Mesh(shape, tuple(f"axis{number}" for number in range(len(shape))))
    axes = range(len(shape))
    chosen = [order for count in range(len(shape) + 1) for order in itertools.permutations(axes, count)]
    for order in chosen:
        for cut in range(len(order) + 1):
            sharding = Sharding((order[:cut], (), order[cut:]))
            read = xla_client.HloSharding.from_string(hlo_sharding(sharding, mesh))
            if sharding.is_replicated:
                assert read.is_replicated()
                continue
            counts = sharding.counts(mesh)
            tiles = read.tile_assignment_dimensions()
            assert tuple(tiles[:3]) == counts
            for place, chip in enumerate(read.tile_assignment_devices()):
                index = place // (mesh.size // (counts[0] * counts[1] * counts[2]))
                expected = sharding.shard_index(mesh, chip)
                assert (index // counts[2] // counts[1], index // counts[2] % counts[1], index % counts[2]) == expected


has_partial_sums = pytest.mark.skipif(JAX < (0, 10), reason="shardings with partial sums are complete since JAX 0.10")

PARTIAL_SUMS = """
from jax.sharding import AxisType, reshard

def shards(x):
    return [np.asarray(shard.data).tolist() for shard in x.addressable_shards]

def on(platform):
    return Mesh(np.array(jax.devices(platform)).reshape(2, 4), ("a", "b"), axis_types=(AxisType.Explicit,) * 2)

def compare(build, *arguments, out):
    outcomes = []
    for platform in ("tt", "cpu"):
        with jax.set_mesh(on(platform)):
            inputs = [reshard(jax.device_put(data, P()), spec) for data, spec in arguments]
            outcomes.append(jax.jit(build)(*inputs))
    result, expected = outcomes
    assert shards(result) == shards(expected), (shards(result), shards(expected))
    assert result.sharding.spec == expected.sharding.spec == out, (result.sharding, expected.sharding)

x, w = (np.arange(size, dtype=np.float32).reshape(shape) for size, shape in ((32, (4, 8)), (64, (8, 8))))
left = P("a", None, unreduced={"b"})
"""


@has_partial_sums
def test_partial_sums(on_chips):
    """Chips hold the terms that JAX's CPU devices hold."""
    on_chips(
        PARTIAL_SUMS
        + """
product = lambda x, w: jnp.einsum("ij,jk->ik", x, w, out_sharding=left)
for build, out in (
    (product, left),
    (lambda x, w: reshard(product(x, w), P("a", None)), P("a", None)),
    (lambda x, w: reshard(product(x, w), P("a", "b")), P("a", "b")),
    (lambda x, w: product(x, w) + product(x, w), left),
):
    compare(build, (x, P("a", "b")), (w, P("b", None)), out=out)
for spec in (P("a", None), P("a", "b"), P(None, None), P(("a", "b"), None)):
    compare(lambda x: reshard(x, left), (w, spec), out=left)
compare(lambda x: reshard(reshard(x, left), P()), (w, P(None, ("a", "b"))), out=P(None, None))
compare(lambda x: x, (x, P(None, None, unreduced={"a", "b"})), out=P(None, None, unreduced={"a", "b"}))
compare(lambda x: reshard(x, P()), (x, P(None, None, unreduced={"a", "b"})), out=P(None, None))
"""
    )


@has_partial_sums
def test_partial_sums_in_loops_and_shard_map(on_chips):
    on_chips(
        PARTIAL_SUMS
        + """
jax.set_mesh(on("tt"))
terms = jax.jit(lambda x: reshard(x, left))(jax.device_put(w, P("a", "b")))
total, _ = jax.jit(lambda x: jax.lax.scan(lambda c, _: (c + x, None), x, None, length=3))(terms)
assert shards(total) == [(4 * np.array(shard)).tolist() for shard in shards(terms)]
assert np.array_equal(jax.jit(lambda x: reshard(x, P()))(total), 4 * w)

def local(x):
    return jax.lax.pcast(x, "b", to="unreduced")

summed = jax.jit(jax.shard_map(local, in_specs=P("a", "b"), out_specs=P("a", None, unreduced={"b"})))
y = summed(jax.device_put(w, P("a", "b")))
assert shards(y) == shards(jax.device_put(w, P("a", "b"))) and y.shape == (8, 2)
assert np.array_equal(jax.jit(lambda y: reshard(y, P()))(y), w.reshape(8, 4, 2).sum(1))
"""
    )


@pytest.mark.parametrize(
    ("sharding", "notation"),
    [
        (Sharding(((), ()), (0, 1)), "{unreduced}"),
        (Sharding(((0,), ()), (1,)), "{devices=[2,1,4]<=[8] last_tile_dims={unreduced}}"),
        (Sharding(((1,), ()), (0,)), "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dims={unreduced}}"),
        (Sharding(((), ()), (1,)), "{devices=[1,1,2,4]<=[8] last_tile_dims={replicated, unreduced}}"),
        (Sharding(((), ()), (0,)), "{devices=[1,1,4,2]<=[2,4]T(1,0) last_tile_dims={replicated, unreduced}}"),
    ],
)
def test_notation_of_partial_sums_is_that_of_xla(sharding, notation):
    from jax._src.lib import xla_client

    mesh = Mesh((2, 4), ("a", "b"))
    assert hlo_sharding(sharding, mesh) == notation
    read = xla_client.HloSharding.from_string(notation)
    if hasattr(read, "is_unreduced"):  # older versions of jaxlib read the notation and do not tell
        assert read.is_unreduced() == (notation == "{unreduced}")
    (parsed,) = parse(notation, mesh.size)
    axes = [Digit(4, 2), Digit(1, 4)]
    assert whole_axes(parsed.unreduced, axes) == sharding.unreduced
    dims = ((), ()) if parsed.dims is None else parsed.dims
    assert [whole_axes(digits, axes) for digits in dims] == list(sharding.dims)


@pytest.mark.nightly
def test_shardings_that_the_compiler_chooses(on_system):
    on_system("""
import tt_jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(devices).reshape(2, 4), ("x", "y"))
rng = np.random.default_rng(0)
w1, w2 = (rng.standard_normal(shape, np.float32) / 32 for shape in ((1024, 4096), (4096, 1024)))


def f(w1, w2, x):
    return jax.nn.relu(x @ w1) @ w2


for rows in (1, 4096):
    x = rng.standard_normal((rows, 1024), np.float32)
    g = jax.jit(f, compiler_options={"auto_sharding": "2x4"})
    with jax.set_mesh(mesh):
        compiled = g.lower(w1, w2, x).compile()
        specs = [sharding.spec for sharding in tt_jax.input_shardings(compiled, mesh)[0]]
        y = g(w1, w2, x)
        placed = jax.device_put((w1, w2, x), tt_jax.input_shardings(compiled, mesh)[0])
    assert np.array_equal(compiled(*placed), y)
    np.testing.assert_allclose(y, np.maximum(x @ w1, 0) @ w2, rtol=0.01, atol=0.02)
    if rows == 1:
        assert specs[0][1] == specs[1][0] is not None and set(specs[2]) <= {None}, specs
    else:
        assert specs[2] == P(("x", "y"), None) and set(specs[0]) == set(specs[1]) == {None}, specs

with jax.set_mesh(mesh):
    own = jax.device_put(x, NamedSharding(mesh, P("y")))
    g = jax.jit(f, compiler_options={"auto_sharding": True})
    assert tt_jax.input_shardings(g.lower(w1, w2, own).compile(), mesh)[0][2].spec == P("y", None)
    unused = jax.jit(lambda w1, w2, x, rest: f(w1, w2, x), compiler_options={"auto_sharding": True})
    last = tt_jax.input_shardings(unused.lower(w1, w2, own, {"rest": x}).compile(), mesh)[0][3]
    assert last["rest"].spec == P()
    refused(lambda: jax.jit(f, compiler_options={"auto_sharding": "3x3"}).lower(w1, w2, x).compile(), "9 chips")
    refused(lambda: jax.jit(f, compiler_options={"auto_sharding": "often"}).lower(w1, w2, x).compile(), "such as '2x4'")
refused(lambda: jax.jit(f, compiler_options={"auto_sharding": True})(w1, w2, x), "one of the 8 devices", "jax.set_mesh")
""")


@compiles_without_client
def test_auto_shardings_are_chosen_by_the_search(on_system):
    """JAX before 0.8 has ``AUTO`` shardings, which set this option and leave all dimensions of an argument open."""
    on_system("""
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
options = xla_client.CompileOptions()
options.num_partitions = 8
build = options.executable_build_options
build.num_partitions = 8
build.use_spmd_partitioning = build.use_auto_spmd_partitioning = True
open_dims = "sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>"
text = '''
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func public @main(%a: tensor<4096x4096xf32> {OPEN}, %b: tensor<4096x8192xf32> {OPEN})
    -> (tensor<4096x8192xf32> {OPEN}) {
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<4096x4096xf32>, tensor<4096x8192xf32>) -> tensor<4096x8192xf32>
  return %c : tensor<4096x8192xf32>
}'''.replace("OPEN", open_dims)
with mlir.make_ir_context():
    module = mlir.ir.Module.parse(text)
    executable = devices[0].client.compile_and_load(module, xla_client.DeviceList(tuple(devices)), options)
shapes = [tuple(sharding.tile_assignment_dimensions) for sharding in executable.get_parameter_shardings()]
assert shapes[0][:2] == (2, 1) and shapes[1][:2] == (1, 4), shapes
""")


def test_programs_of_one_device_ignore_the_environments_auto_sharding(on_system):
    on_system("assert jax.jit(lambda x: x + 1)(1.0) == 2", TTXLA_COMPILE_OPTIONS='{"auto_sharding": true}')


def test_chosen_devices_are_priced_by_the_links_between_them(on_chips):
    on_chips("""
from tt_xla.compiler.recording import recorded_compilations

def summed(*ids):
    on = Mesh(np.array([devices[number] for number in ids]), "x")
    x = put(random(2, 256, 256), P("x"), on)
    with recorded_compilations(texts=True) as compilations:
        result = jax.jit(lambda a: a.sum(0), out_shardings=NamedSharding(on, P()))(x)
    np.testing.assert_allclose(np.asarray(result), np.asarray(x).sum(0), rtol=1e-5, atol=1e-5)
    return compilations[-1]

first, linked, over_others = summed(0, 1), summed(1, 2), summed(0, 3)
assert first.program.mesh.devices == ()
assert linked.program.mesh.devices == (1, 2)
assert "chipIds = [3, 0]" in linked.modules["ttnn"]
assert "tt.devices = array<i64: 1, 2>" in linked.modules["ttnn"]
figures = [compilation.program.predicted_device_us for compilation in (first, linked, over_others)]
assert figures[0] == figures[1] < figures[2], figures
""")


def test_devices_in_order_whose_links_are_a_star(on_chips):
    on_chips(
        """
from tt_xla.compiler.recording import recorded_compilations

for order in ([0, 1, 2, 3], [1, 0, 2, 3]):
    on = Mesh(np.array([devices[number] for number in order]).reshape(2, 2), ("a", "b"))
    x = put(random(8, 16), P("a", "b"), on)
    with recorded_compilations(texts=False) as compilations:
        result = jax.jit(lambda a: a @ a.T)(x)
    np.testing.assert_allclose(np.asarray(result), np.asarray(x) @ np.asarray(x).T, rtol=1e-4, atol=1e-4)
    assert compilations[-1].program.mesh.devices == tuple(order)
""",
        TT_VISIBLE_DEVICES="0,1,3,6",
    )


def test_chosen_devices_without_a_way_between_them(on_chips):
    on_chips(
        """
split = Mesh(np.array([devices[0], devices[2]]), "x")
linked = put(random(4, 8), P("x"), Mesh(np.array([devices[0], devices[1]]), "x"))
assert np.isfinite(jax.jit(lambda a: a.sum(0))(linked)).all()
lone = put(random(4, 8), P("x"), split)
refused(
    lambda: jax.jit(lambda a: a.sum(0))(lone),
    "A mesh of 1x2 has chips 0 and 2 of n300-llmbox:0,1,4,6 as neighbours, and no links lead from one to the other",
    "Links are: 0-1, 0-3.",
)
""",
        TT_VISIBLE_DEVICES="0,1,4,6",
    )


def test_chips_exchange_complex_tensors_as_their_parts(on_chips):
    on_chips("""
c = (random(8, 16) + 1j * random(8, 16)).astype(np.complex64)
pairs = [(number, (number + 3) % 8) for number in range(7)]
halves = [[0, 1, 2, 3], [4, 5, 6, 7]]
for function in (
    lambda a: lax.psum(a, "x"),
    lambda a: lax.pmean(jnp.fft.fft(a), "x"),
    lambda a: lax.psum(a * 2, "x", axis_index_groups=halves) * a,
    lambda a: lax.all_gather(a, "x", tiled=True, axis=1),
    lambda a: lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True),
    lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True),
    lambda a: lax.ppermute(a, "x", pairs),
):
    def build(on):
        return jax.shard_map(function, mesh=on, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    tt, cpu = (Mesh(np.array(jax.devices(platform)), "x") for platform in ("tt", "cpu"))
    result, expected = (jax.jit(build(on))(put(c, P("x"), on)) for on in (tt, cpu))
    np.testing.assert_allclose(np.asarray(result), np.asarray(expected), rtol=1e-5, atol=1e-5)
compare(lambda on: lambda a: a.sum(0), (c, P("a", "b")))
compare(lambda on: lambda a, b: a @ b, (c, P("a", "b")), (c.T.copy(), P("b", None)))
""")


def test_chips_count_their_own_part_of_random_numbers(on_chips):
    on_chips("""
def uniform(key):
    return jax.random.uniform(key, (24, 40))

key = jax.random.key(3)
for spec in (P("a", "b"), P(None, "b"), P(("b", "a"), None)):
    compiled = jax.jit(uniform, out_shardings=NamedSharding(mesh, spec)).lower(key).compile()
    assert "[24,40]" not in compiled.as_text() and "collective" not in compiled.as_text(), spec
    assert np.array_equal(np.asarray(compiled(key)), np.asarray(jax.jit(uniform)(key)))
""")


def test_groups_that_no_axes_make(on_chips):
    on_chips("""
def grouped(groups):
    f = jax.shard_map(
        lambda a: lax.psum(a, "x", axis_index_groups=groups), mesh=row, in_specs=P("x"), out_specs=P("x"),
        check_vma=False,
    )
    return jax.jit(f)(put(np.arange(8, dtype=np.float32), P("x"), row))

assert np.asarray(grouped([[0, 2], [1, 3], [4, 6], [5, 7]])).tolist() == [2, 4, 2, 4, 10, 12, 10, 12]
assert np.asarray(grouped([[0, 3], [1, 2], [4, 7], [5, 6]])).tolist() == [3, 3, 3, 3, 11, 11, 11, 11]
refused(lambda: grouped([[0, 1, 2], [3, 4, 5], [6, 7]]), "expected groups of one size")
""")
