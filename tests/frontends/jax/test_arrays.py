"""Arrays: transfers to the device and back, ownership of memory, element types, memories and donation."""

from __future__ import annotations

import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch

from tt_xla.frontends.jax.pjrt.answers import Packed
from tt_xla.frontends.jax.pjrt.buffer import Place
from tt_xla.frontends.jax.pjrt.executable import Executable
from tt_xla.runtime import get_device

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def _on_tt(tt):
    with jax.default_device(tt):
        yield


def test_device_says_what_it_is(tt):
    assert repr(jax.devices("tt")) == "[TTDevice(id=0, arch=Wormhole_b0)]"
    assert (tt.platform, tt.device_kind, tt.arch, tt.system) == ("tt", "Wormhole_b0", "Wormhole_b0", "n150")
    assert [memory.kind for memory in tt.addressable_memories()] == ["device", "pinned_host"]
    assert tt.default_memory().kind == "device"
    assert tt.memory_stats()["bytes_limit"] > 10 * 2**30


def test_arrays_are_counted_and_what_does_not_fit_beside_them_is_refused(tt, monkeypatch):
    device = get_device()
    before = device.resident()
    array = jax.device_put(np.zeros(1 << 16, np.float32), tt)
    assert device.resident() - before == 1 << 18
    created = device.resident_at_most()
    doubled = jax.jit(lambda x: x * 2)
    result = doubled(array)
    assert device.resident_at_most() - created == 1 << 18
    del array, result
    gc.collect()
    assert device.resident_at_most() - created == 1 << 18
    assert device.resident() == device.resident_at_most() == before
    array = jax.device_put(np.zeros(1 << 16, np.float32), tt)
    others = device.target.dram_usable_bytes - device.memory().resident - 100_000
    for name in ("resident", "resident_at_most"):
        monkeypatch.setattr(device, name, lambda: others)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"RESOURCE_EXHAUSTED: A tensor of 200000 bytes does not fit"):
        jax.device_put(np.zeros(50_000, np.float32), tt)
    with pytest.raises(ValueError, match="RESOURCE_EXHAUSTED: Program"):
        doubled(array)
    assert jax.device_put(X, tt).shape == X.shape


@pytest.mark.parametrize("view", [X, X.T, X[::-1], X[:, ::-2], np.asfortranarray(X), X[1:1], X[2, 3]], ids=range(7))
def test_any_strides_come_back_as_they_went(view):
    np.testing.assert_array_equal(np.asarray(jax.device_put(view)), view)


@pytest.mark.parametrize(
    "dtype",
    [
        bool,
        *(np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32),
        *(np.float16, np.float32, np.complex64),
        *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4),
    ],
    ids=lambda dtype: np.dtype(dtype).name,
)
def test_every_element_type_comes_back_as_it_went(dtype):
    values = np.arange(6).astype(dtype).reshape(2, 3)
    array = jax.device_put(values)
    assert array.dtype == values.dtype
    np.testing.assert_array_equal(np.asarray(array), values)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16", "float8_e4m3fn", "int4", "bool", "uint16"])
def test_arrays_without_elements_in_every_type(dtype):
    empty = jax.jit(lambda: jnp.zeros((0, 4), getattr(jnp, dtype)))()
    assert (empty.shape, empty.dtype) == ((0, 4), dtype)
    twice = jax.jit(lambda x: jnp.concatenate([x.T, x.T], axis=0))(empty)
    assert np.asarray(twice).shape == (8, 0)


def test_an_array_does_not_change_with_the_numpy_array_it_came_from():
    values = X.copy()
    array = jax.device_put(values)
    values[:] = -1
    np.testing.assert_array_equal(array, X)


def test_numpy_reads_a_result_where_it_is():
    result = jax.jit(lambda x: x + 1)(X)
    view = np.asarray(result)
    assert view.ctypes.data == result.unsafe_buffer_pointer()
    assert not view.flags.writeable


def test_numpy_view_outlives_the_array():
    result = jax.jit(lambda x: x + 1)(X)
    view = np.asarray(result)
    del result
    gc.collect()
    jax.jit(lambda x: x * 2)(X)  # a call frees cells that were destroyed
    np.testing.assert_array_equal(view, X + 1)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int8, np.uint32, np.bool])
def test_dlpack_to_others_is_without_a_copy(dtype):
    array = jax.jit(lambda x: x.astype(dtype))(X)
    pointer, expected = array.unsafe_buffer_pointer(), np.array(array)
    assert array.__dlpack_device__() == (1, 0)
    tensor = torch.from_dlpack(array)
    assert tensor.data_ptr() == pointer
    if dtype is not ml_dtypes.bfloat16:
        assert np.from_dlpack(array).ctypes.data == pointer
    assert torch.from_dlpack(array, copy=True).data_ptr() != pointer
    del array
    gc.collect()
    jax.jit(lambda x: x * 2)(X)  # a call frees cells that were destroyed
    np.testing.assert_array_equal(tensor.float(), expected.astype(np.float32))


def test_dlpack_from_others(tt):
    values = torch.arange(6.0).reshape(2, 3)
    for source in (values, values.numpy()):
        array = jax.dlpack.from_dlpack(source, device=tt)
        assert array.devices() == {tt}
        np.testing.assert_array_equal(array + 1, values.numpy() + 1)
    assert {device.platform for device in jax.dlpack.from_dlpack(jax.device_put(X)).devices()} == {"cpu"}


def test_numpy_copies_when_asked():
    array = jax.jit(lambda x: x + 1)(X)
    assert np.asarray(array, copy=False).ctypes.data == array.unsafe_buffer_pointer()
    copied = np.array(array)
    copied[:] = 0
    np.testing.assert_array_equal(array, X + 1)


def test_delete_and_donation():
    array = jax.device_put(X)
    result = jax.jit(lambda x: x + 1, donate_argnums=0)(array)
    assert array.is_deleted()
    np.testing.assert_array_equal(result, X + 1)
    result.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        result + 1


def test_an_array_that_is_donated_and_passed_again_is_refused():
    array = jnp.arange(10.0)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"INVALID_ARGUMENT: Argument 0 .* argument 1 as"):
        jax.jit(lambda x, y: x + y, donate_argnums=0)(array, array)
    np.testing.assert_array_equal(jax.jit(lambda x, y: x + y)(array, array), 2 * np.arange(10.0))


def test_what_is_donated_but_not_reusable_is_kept(recwarn):
    array = jax.device_put(X)
    jax.jit(lambda x: x.sum(), donate_argnums=0)(array)
    assert not array.is_deleted()
    assert "donated" in str(recwarn.pop(UserWarning).message)


def test_memories(tt):
    on_host = jax.sharding.SingleDeviceSharding(tt, memory_kind="pinned_host")
    on_device = jax.sharding.SingleDeviceSharding(tt, memory_kind="device")
    array = jax.device_put(X, on_host)
    assert array.sharding.memory_kind == "pinned_host"
    assert jax.device_put(array, on_device).sharding.memory_kind == "device"
    assert jax.jit(lambda x: x + 1)(jax.device_put(array, on_device)).sharding.memory_kind == "device"
    offloaded = jax.jit(lambda x: x + 1, out_shardings=on_host)(X)
    assert offloaded.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(offloaded, X + 1)


def test_cpu_and_tt_in_one_process(tt):
    cpu = jax.devices("cpu")[0]
    there = jax.device_put(jax.device_put(X, tt), cpu)
    assert there.devices() == {cpu}
    back = jax.device_put(there * 2, tt) + 1
    assert back.devices() == {tt}
    np.testing.assert_array_equal(back, X * 2 + 1)


def test_events_have_happened():
    array = jax.jit(lambda x: x + 1)(X)
    assert array.is_ready()
    array.copy_to_host_async()
    assert array.block_until_ready() is array


def test_named_sharding_over_the_one_device(tt):
    mesh = jax.sharding.Mesh(np.array([tt]), ("x",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    result = jax.jit(lambda x: jax.lax.with_sharding_constraint(x * 2, sharding))(jax.device_put(X, sharding))
    np.testing.assert_array_equal(result, X * 2)


@pytest.mark.usefixtures("all_objects")
def test_handles_and_memory_do_not_grow():
    step = jax.jit(lambda x: x + 1)
    array = step(jnp.zeros(8))
    before = len(gc.get_objects()), len(jax.live_arrays())
    for _ in range(200):
        array = step(array)
    gc.collect()
    step(array)
    assert len(jax.live_arrays()) == before[1]
    assert len(gc.get_objects()) < before[0] + 200


def live(kind):
    jax.device_put(X)  # cells that were destroyed are freed at the next call
    gc.collect()
    return sum(type(o) is kind for o in gc.get_objects())


@pytest.mark.usefixtures("all_objects")
@pytest.mark.nightly
def test_what_a_handle_answers_lives_as_long_as_the_handle():
    """Arrays of one shape share their answers, which a bounded cache keeps."""

    def forget():
        for place in [o for o in gc.get_objects() if type(o) is Place]:
            assert place.answers.cache_info().maxsize is not None
            place.answers.cache_clear()

    forget()
    before = live(Packed)
    arrays = [jax.device_put(np.zeros((size, 5), np.float32)) for size in range(50)]
    forget()
    assert live(Packed) >= before + 50
    assert [array.on_device_size_in_bytes() for array in arrays] == [20 * size for size in range(50)]
    del arrays
    live(Packed)
    forget()
    assert live(Packed) <= before + 1


@pytest.mark.usefixtures("all_objects")
def test_executables_end_with_their_functions():
    jax.clear_caches()
    before = live(Executable)
    functions = [jax.jit(lambda x, k=k: x * k) for k in range(5)]
    for function in functions:
        function(X)
    assert live(Executable) >= before + 5
    del functions, function
    jax.clear_caches()
    assert live(Executable) == before


def test_memory_statistics_leave_other_threads_alone(tt):
    """A list of all objects of the process would hold the tuples that other threads are filling, which breaks them."""
    stop = threading.Event()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(1) as pool:
            filled = pool.submit(fill_tuples, stop)
            for _ in range(20):
                tt.memory_stats()
            stop.set()
            assert filled.result() > 0
    finally:
        stop.set()
        sys.setswitchinterval(interval)


def fill_tuples(stop):
    count = 0
    while not stop.is_set():
        count += len(tuple(number for number in range(30)))
    return count
