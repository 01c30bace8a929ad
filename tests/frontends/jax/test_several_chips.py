"""Systems of several chips in JAX: devices, arrays on each of them, programs of one chip, and topologies."""

from __future__ import annotations

import pytest

from tests.frontends.jax.conftest import compiles_without_client
from tt_xla.frontends.jax.pjrt.errors import PluginError
from tt_xla.frontends.jax.pjrt.wire import read_compile_options, write_assignment


@pytest.mark.parametrize(
    ("system", "coordinates"),
    [
        ("n150", [(0, 0)]),
        ("n300", [(0, 0), (0, 1)]),
        ("n300-llmbox", [(row, column) for row in range(2) for column in range(4)]),
        ("p150x4", [(0, 0), (0, 1), (1, 0), (1, 1)]),
    ],
)
def test_each_chip_is_a_device(on_system, system, coordinates):
    on_system(
        f"""
coordinates = {coordinates}
assert [device.id for device in devices] == [*range(len(coordinates))]
assert [device.local_hardware_id for device in devices] == [*range(len(coordinates))]
assert [tuple(device.coords) for device in devices] == [(row, column, 0) for row, column in coordinates]
assert {{device.core_on_chip for device in devices}} == {{0}}
memories = [memory for device in devices for memory in device.addressable_memories()]
assert [memory.kind for memory in memories] == ["device", "pinned_host"] * len(devices)
assert len(set(memories)) == len(memories)
assert [memory.addressable_by_devices() for memory in memories] == [[d] for d in devices for _ in range(2)]
assert [device.default_memory() for device in devices] == memories[::2]
assert jax.local_device_count("tt") == len(devices)
assert repr(devices[-1]) == f"TTDevice(id={{len(devices) - 1}}, arch={{devices[0].arch}})"
client = devices[0].client
assert client.device_from_local_hardware_id(len(devices) - 1) == devices[-1]
refused(lambda: client.device_from_local_hardware_id(len(devices)), "no device", "{system}")
""",
        system,
    )


def test_visible_chips_are_the_devices(on_system):
    on_system("assert len(devices) == 2 and devices[0].system == 'n300-llmbox:2,3', devices", TT_VISIBLE_DEVICES="2,3")


def test_arrays_on_each_device(on_system):
    on_system("""
for device in devices:
    x = jax.device_put(np.arange(6.0, dtype=np.float32) + device.id, device)
    assert x.devices() == {device} and x.sharding == SingleDeviceSharding(device)
    y = jax.jit(lambda a: a * 2)(x)
    assert y.devices() == {device} and (y + 1).devices() == {device}
    assert np.array_equal(y, 2 * np.arange(6.0) + 2 * device.id)
    z = jax.device_put(y, devices[device.id - 1])
    assert z.devices() == {devices[device.id - 1]} and np.array_equal(z, y)
    host = jax.device_put(z, SingleDeviceSharding(device, memory_kind="pinned_host"))
    assert host.devices() == {device} and host.sharding.memory_kind == "pinned_host" and np.array_equal(host, y)
    back = jax.device_put(host, SingleDeviceSharding(devices[2], memory_kind="device"))
    assert back.devices() == {devices[2]} and back.sharding.memory_kind == "device" and np.array_equal(back, y)
with jax.default_device(devices[5]):
    assert jnp.ones(3).devices() == {devices[5]}
    assert jax.random.normal(jax.random.key(0), (2,)).devices() == {devices[5]}
assert jnp.ones(3).devices() == {devices[0]}
""")


def test_a_copy_on_another_device_is_not_written_by_a_donation(on_system):
    on_system("""
add = jax.jit(lambda cache, x: cache.at[0].set(x), donate_argnums=0)
x = jax.device_put(jnp.zeros(64), devices[1])
copies = [jax.device_put(x, device) for device in devices[2:]]
y = add(x, 7.0)
assert x.is_deleted() and y.devices() == {devices[1]} and y[0] == 7
assert not any(np.asarray(copy).any() for copy in copies)
""")


def test_arrays_of_two_devices_in_one_program(on_system):
    on_system("""
a, b = jax.device_put(jnp.ones(3), devices[0]), jax.device_put(jnp.ones(3), devices[1])
refused(lambda: a + b, "incompatible devices")
mesh, other = Mesh(np.array(devices[:4]), "x"), Mesh(np.array(devices[4:]), "x")
a, b = (jax.device_put(np.arange(8.0), NamedSharding(m, P("x"))) for m in (mesh, other))
refused(lambda: a + b, "incompatible devices")
""")


def test_sharded_arrays(on_system):
    on_system("""
mesh = Mesh(np.array(devices).reshape(2, 4), ("a", "b"))
data = np.arange(64.0, dtype=np.float32).reshape(8, 8)
for spec in (P("a", "b"), P("b", "a"), P(("a", "b")), P(None, "b"), P("a"), P()):
    sharding = NamedSharding(mesh, spec)
    x = jax.device_put(data, sharding)
    assert x.sharding == sharding and np.array_equal(x, data)
    for shard in x.addressable_shards:
        assert shard.data.devices() == {shard.device} and np.array_equal(shard.data, data[shard.index])
    made = jax.make_array_from_callback(data.shape, sharding, lambda index: data[index])
    assert np.array_equal(made, data) and made.sharding == sharding
    put_together = jax.make_array_from_single_device_arrays(
        data.shape, sharding, [shard.data for shard in x.addressable_shards]
    )
    assert np.array_equal(put_together, data)
    assert np.array_equal(jax.device_put(x, devices[3]), data)
    for other in (P("b", "a"), P(None, ("b", "a"))):
        again = jax.device_put(x, NamedSharding(mesh, other))
        assert again.sharding.spec == other and np.array_equal(again, data)
x.delete()
assert x.is_deleted()
refused(lambda: jax.device_put(np.ones(7), NamedSharding(mesh, P("b"))), "'b': 4", "full shape: (7,)")
""")


def test_dlpack_of_a_shard(on_system):
    on_system("""
mesh = Mesh(np.array(devices), "x")
x = jax.device_put(np.arange(16.0, dtype=np.float32), NamedSharding(mesh, P("x")))
assert np.array_equal(np.from_dlpack(x.addressable_shards[5].data), [10, 11])
refused(lambda: np.from_dlpack(x), "8 devices")
""")


def test_memory_statistics_of_each_device(on_system):
    on_system("""
for device in devices:
    assert device.memory_stats()["bytes_limit"] == devices[0].memory_stats()["bytes_limit"] > 12e9
def in_use():
    stats = [device.memory_stats() for device in devices]
    assert all(each["peak_bytes_in_use"] >= each["bytes_in_use"] for each in stats)
    return [each["bytes_in_use"] for each in stats]
assert in_use() == [0] * 8
one = jax.device_put(np.ones(1000, np.float32), devices[3])
assert in_use() == [0, 0, 0, 4000, 0, 0, 0, 0]
row = Mesh(np.array(devices), "x")
split = jax.device_put(np.ones(800, np.float32), NamedSharding(row, P("x")))
everywhere = jax.device_put(np.ones(100, np.float32), NamedSharding(row, P()))
assert in_use() == [800, 800, 800, 4800, 800, 800, 800, 800]
host = jax.device_put(np.ones(100, np.float32), SingleDeviceSharding(devices[2], memory_kind="pinned_host"))
one.delete()
assert in_use() == [800] * 8
f = jax.jit(lambda x: x.sum())
total = f(split)
assert all(device.memory_stats()["peak_bytes_in_use"] > 804 for device in devices)
""")


def test_programs_of_one_chip_are_cached_and_serialized_for_their_device(on_system):
    on_system("""
from jax.experimental import serialize_executable
x = jax.device_put(jnp.arange(4.0), devices[6])
compiled = jax.jit(lambda a: a - 1).lower(x).compile()
assert compiled.runtime_executable().local_devices() == [devices[6]]
assert np.array_equal(compiled(x), [-1, 0, 1, 2]) and compiled(x).devices() == {devices[6]}
data, inputs, outputs = serialize_executable.serialize(compiled)
loaded = serialize_executable.deserialize_and_load(data, inputs, outputs, execution_devices=[devices[6]])
assert loaded(x).devices() == {devices[6]} and np.array_equal(loaded(x), [-1, 0, 1, 2])
""")


@compiles_without_client
def test_topology_of_a_system_that_is_not_there(on_system):
    on_system(
        """
from jax.experimental import topologies
topology = topologies.get_topology_desc("n300-llmbox", "tt")
assert [device.id for device in topology.devices] == [*range(8)]
assert [tuple(device.coords) for device in topology.devices[3:5]] == [(0, 3, 0), (1, 0, 0)]
assert topologies.make_mesh(topology, (2, 4), ("a", "b")).devices.shape == (2, 4)
x = jax.ShapeDtypeStruct((4,), np.float32, sharding=SingleDeviceSharding(topology.devices[7]))
assert jax.jit(lambda a: a + 1).lower(x).compile().memory_analysis().argument_size_in_bytes == 16
refused(lambda: topologies.get_topology_desc("n301", "tt"), "n301", "unknown")
""",
        "n150",
    )


@compiles_without_client
def test_more_partitions_than_chips(on_system):
    on_system(
        """
from jax.experimental import topologies
from jax._src.lib import xla_client
topology = topologies.get_topology_desc("n300-llmbox", "tt")
mesh = topologies.make_mesh(topology, (8,), ("x",))
options = xla_client.CompileOptions()
options.num_partitions = 8
options.executable_build_options.num_partitions = 8
text = "module { func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> } }"
client = devices[0].client
from jax._src.interpreters import mlir
with mlir.make_ir_context():
    module = mlir.ir.Module.parse(text)
    refused(
        lambda: client.compile_and_load(module, xla_client.DeviceList(tuple(devices)), options),
        "for 8 devices", "system n300 has 2 chips", "TTXLA_SYSTEM",
    )
""",
        "n300",
    )


@pytest.mark.parametrize("assignment", [((0,),), ((5,), (3,)), tuple((number,) for number in range(300))])
def test_device_assignments_are_read_as_written(assignment):
    message = write_assignment(assignment)
    options = b"\x20\x01\x28" + _varint(len(assignment)) + b"\x4a" + _varint(len(message)) + message
    request = read_compile_options(b"\x1a" + _varint(len(options)) + options)
    assert (request.partitions, request.assignment) == (len(assignment), assignment)


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])


def test_damaged_device_assignment():
    options = bytes.fromhex("200128024a0b1a030a01001a040a020102")
    with pytest.raises(PluginError, match="different numbers of replicas"):
        read_compile_options(b"\x1a" + _varint(len(options)) + options)
