"""Arrays on meshes of chips: creating, moving, donating, exporting and saving them, as on JAX's CPU backend."""

from __future__ import annotations

import pytest

from tests.frontends.jax.conftest import compiles_without_client
from tt_xla.target import system_names

SCRIPT_HEAD = """
from jax import export, lax
x = np.arange(64, dtype=np.float32).reshape(8, 8)

def on(chips, *spec, shape=(2, 4)):
    names = ("a", "b")[: len(shape)]
    return NamedSharding(Mesh(np.array(chips).reshape(shape), names), P(*spec))

def shards(results):
    return [[(shard.device.id, str(shard.index), np.asarray(shard.data).tolist())
             for shard in result.addressable_shards] for result in jax.tree.leaves(results)]

def compare(function):
    results, expected = (shards(function(jax.devices(platform))) for platform in ("tt", "cpu"))
    assert results == expected and results
"""


def test_arrays_are_created_and_moved(on_chips):
    on_chips("""
put = jax.device_put
def parts(chips):
    sharding = on(chips, "a", "b")
    indices = sharding.addressable_devices_indices_map(x.shape)
    return jax.make_array_from_single_device_arrays(
        x.shape, sharding, [put(x[index], device) for device, index in indices.items()])
compare(parts)
compare(lambda chips: jax.make_array_from_process_local_data(on(chips, "a", "b"), x))
compare(lambda chips: jax.make_array_from_callback(x.shape, on(chips, "b"), lambda index: x[index]))
compare(lambda chips: put(put(x, on(chips, "a", "b")), chips[3]))
compare(lambda chips: put(put(x, chips[3]), on(chips, "b", "a")))
compare(lambda chips: put(put(x, on(chips, "a", "b")), on(chips[2:6], "a", shape=(4,))))
compare(lambda chips: put(put(x, on(chips, "a", "b")), on(jax.devices("cpu"), "b", "a")))
compare(lambda chips: put(put(x, on(jax.devices("cpu"), "a", "b")), on(chips, "b", "a")))
compare(lambda chips: put(x, on(chips, "a"))[1:3].at[0].set(7))
for spec in ((), ("a",), (None, "b")):
    array = put(x, on(devices, *spec))
    assert array.is_fully_replicated == (not spec) and array.is_fully_addressable
    assert any(each is array for each in jax.live_arrays("tt"))
deleted = []
for chips in (devices, jax.devices("cpu")):
    donated = put(x, on(chips, "a", "b"))
    assert np.array_equal(put(donated, on(chips, "b"), donate=True), x)
    deleted.append(donated.is_deleted())
assert deleted[0] == deleted[1]
array = put(x, on(devices, "a", "b"))
refused(lambda: jax.make_array_from_single_device_arrays(x.shape, on(devices, "a"), [put(x, devices[0])]), "8", "1")
""")


def test_utilities_for_several_hosts_work_in_one_process(on_chips):
    on_chips("""
from jax.experimental import multihost_utils
array = jax.device_put(x, on(devices, "a", "b"))
assert np.array_equal(multihost_utils.broadcast_one_to_all(x), x)
assert np.array_equal(multihost_utils.process_allgather(array, tiled=True), x)
multihost_utils.sync_global_devices("a name")
multihost_utils.assert_equal(x)
compare(lambda chips: multihost_utils.host_local_array_to_global_array(x, on(chips).mesh, P("a")))
compare(lambda chips: multihost_utils.global_array_to_host_local_array(
    jax.device_put(x, on(chips, "a", "b")), on(chips).mesh, P("a")))
""")


def test_exported_programs_for_eight_devices(on_chips):
    on_chips("""
def loaded(chips, function, *specs):
    arguments = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=on(chips, *spec)) for spec in specs]
    exported = export.export(jax.jit(function), platforms=[chips[0].platform])(*arguments)
    return export.deserialize(exported.serialize(vjp_order=1))
def called(chips, function, *specs):
    exported = loaded(chips, function, *specs)
    assert exported.nr_devices == 8
    return jax.jit(exported.call)(*(jax.device_put(x, on(chips, *spec)) for spec in specs))
compare(lambda chips: called(chips, lambda x, y: x @ y, ("a", "b"), ("b",)))
compare(lambda chips: called(chips, lambda x: lax.with_sharding_constraint(x.T, on(chips, "b")), ("a", "b")))
compare(lambda chips: called(chips, jax.shard_map(
    lambda x: lax.psum(x, "a"), mesh=on(chips).mesh, in_specs=P("a", "b"), out_specs=P(None, "b")), ("a", "b")))
compare(lambda chips: called(chips[::-1], lambda x: jnp.cumsum(x, 1), ("a", "b")))
compare(lambda chips: jax.jit(jax.grad(lambda x: loaded(chips, lambda x: x @ x, ("a", "b")).call(x).sum()))(
    jax.device_put(x, on(chips, "a", "b"))))
exported = loaded(devices, lambda x: x + 1, ("a",))
refused(lambda: jax.jit(exported.call)(jax.device_put(x, on(devices[:4], "a", shape=(4,)))), "8 devices", "4 devices")
""")


def test_checkpoints(on_chips, tmp_path):
    """Orbax saves the shards of each chip, and restores them in other shardings."""
    pytest.importorskip("orbax.checkpoint", reason="orbax-checkpoint is not installed")
    on_chips(f"""
import orbax.checkpoint
tree = {{
    "w": jax.device_put(x, on(devices, "a", "b")),
    "b": jax.device_put(jnp.asarray(x[0], jnp.bfloat16), on(devices)),
}}
checkpointer = orbax.checkpoint.StandardCheckpointer()
checkpointer.save({str(tmp_path / "checkpoint")!r}, tree)
checkpointer.wait_until_finished()
for chips in (devices, devices[::-1], jax.devices("cpu")):
    sharding = on(chips, "b")
    shapes = jax.tree.map(lambda array: jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding), tree)
    restored = checkpointer.restore({str(tmp_path / "checkpoint")!r}, shapes)
    assert restored["w"].sharding == sharding and np.array_equal(restored["w"], x)
    assert restored["b"].dtype == jnp.bfloat16 and np.array_equal(restored["b"], tree["b"])
""")


@compiles_without_client
def test_topologies_of_all_systems(on_chips):
    on_chips(f"""
from jax.experimental import topologies
for system in {system_names()!r}:
    topology = topologies.get_topology_desc(system, "tt")
    count = len(topology.devices)
    assert len({{tuple(device.coords) for device in topology.devices}}) == count
    assert all(device.core_on_chip == 0 for device in topology.devices)
    row = NamedSharding(topologies.make_mesh(topology, (count,), ("x",)), P("x"))
    compiled = jax.jit(lambda x: x / x.sum()).lower(jax.ShapeDtypeStruct((64, 4), np.float32, sharding=row)).compile()
    assert ("all-reduce(" in compiled.as_text()) == (count > 1), system
    assert compiled.memory_analysis().argument_size_in_bytes == 64 * 4 * 4 // count
refused(lambda: topologies.get_topology_desc("n3000", "tt"), "'n3000' is unknown", "n300")
refused(lambda: topologies.make_mesh(topologies.get_topology_desc("n300", "tt"), (8,), ("x",)), "2", "8")
""")
