"""A replacement for TT-NN in tests: a few ops on NumPy arrays, traces, and failures on demand.

Each call appends a line to the file that ``STAND_IN_LOG`` names. ``STAND_IN_TAN`` makes ``ttnn.tan`` ``crash``,
``hang``, ``refuse`` or ``refuse once``, or ``compile SECONDS`` before it computes; with any other value it computes.
"""

import enum
import functools
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import time
from types import SimpleNamespace

import numpy

__version__ = "0.81.1"


class DataType(enum.Enum):
    FLOAT32, BFLOAT16, BFLOAT8_B, BFLOAT4_B, UINT32, UINT16, UINT8, INT32 = range(8)


float32, bfloat16, bfloat8_b, bfloat4_b, uint32, uint16, uint8, int32 = DataType

_NUMPY = {uint32: numpy.uint32, uint16: numpy.uint16, uint8: numpy.uint8, int32: numpy.int32}


class Layout(enum.Enum):
    ROW_MAJOR, TILE = range(2)


ROW_MAJOR_LAYOUT, TILE_LAYOUT = Layout
DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG = "DRAM", "L1"


class StorageType(enum.Enum):
    HOST, DEVICE = range(2)


class MathFidelity(enum.Enum):
    LoFi, HiFi2, HiFi3, HiFi4 = range(4)


def WormholeComputeKernelConfig(**fields):
    return fields


class Tensor:
    """An array, or the array of each chip of a mesh device; ``array`` is then that of the first chip."""

    def __init__(self, array, data_type, layout, place=StorageType.HOST, shards=None, config=None):
        _say("Tensor")
        if not array.flags.writeable:
            raise TypeError("__init__(): incompatible function arguments")  # as the real one says
        self.array, self.dtype, self.layout, self.place = array, data_type, layout, place
        self.shards, self.config = shards, config
        self.number = next(_numbers)

    def buffer_address(self):
        return self.array.__array_interface__["data"][0]

    shape = property(lambda self: self.array.shape)

    def storage_type(self):
        return self.place

    def memory_config(self):
        return self.config

    def to_numpy(self):
        """Returns an array that is read-only, as NumPy makes of DLPack's tensors before release 2."""
        array = self.array.view()
        array.flags.writeable = False
        return array


_numbers = itertools.count()
_recorded = None
_traces = {}
_programs_us = []


def _say(name):
    path = os.environ.get("STAND_IN_LOG")
    if path:
        with open(path, "a") as file:
            file.write(name + "\n")


def _array(tensor, chip=0):
    if not isinstance(tensor, Tensor):
        return tensor
    return tensor.array if tensor.shards is None else tensor.shards[chip]


def _op(compute):
    """Turns a function of arrays into an op on tensors; a recorded call computes again into the same tensors."""
    name = compute.__name__.strip("_")

    @functools.wraps(compute)
    def run(*tensors, **keywords):
        _say(name)
        config = keywords.get("memory_config", DRAM_MEMORY_CONFIG)
        keywords = {
            key: value for key, value in keywords.items() if key not in ("memory_config", "compute_kernel_config")
        }
        first = next(operand for operand in tensors if isinstance(operand, Tensor))

        def on_chip(chip):
            arrays = [_array(tensor, chip) for tensor in tensors]
            return compute(*arrays, **{key: _array(value, chip) for key, value in keywords.items()})

        def again():
            return on_chip(0)

        shards = None if first.shards is None else [on_chip(chip) for chip in range(len(first.shards))]
        result = Tensor(again(), first.dtype, first.layout, first.place, shards, config)
        for operand in (*tensors, *keywords.values()):
            if isinstance(operand, Tensor):
                _say(f"read {operand.number}")
        _programs_us.append(2.0)
        if _recorded is not None:
            _recorded.append((result, again))
        return result

    return run


@_op
def add(a, b):
    return a + b


@_op
def multiply(a, b):
    return a * b


@_op
def exp(x):
    return numpy.exp(x)


@_op
def tanh(x):
    return numpy.tanh(x)


def _half(x):
    """Returns ``x`` with half of the values in every other column."""
    return x * (1 - 0.5 * (numpy.arange(x.shape[-1]) % 2))


@_op
def tan(x):
    path = pathlib.Path(os.environ.get("STAND_IN_TAN", "/nowhere"))
    does = path.read_text() if path.exists() else ""
    if does == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if does == "hang":
        time.sleep(600)
    if does.startswith("compile"):
        path.write_text("")
        compiler = path.with_name("riscv-tt-elf-g++")
        compiler.symlink_to(shutil.which("sleep"))
        subprocess.run([compiler, does.split()[1]], check=True)
        compiler.unlink()
    if does == "refuse once":
        path.write_text("")
    if does.startswith("refuse"):
        raise RuntimeError("TT_FATAL @ tan.cpp:1: angle < pi\ninfo:\nThe angle is too wide\nbacktrace:\n --- a.so")
    if does == "half":
        return _half(numpy.tan(x))
    return numpy.tan(x)


@_op
def matmul(a, b, transpose_a=False, transpose_b=False, dtype=None):
    product = numpy.matmul(a.T if transpose_a else a, b.T if transpose_b else b)
    return _half(product) if os.environ.get("STAND_IN_MATMUL") == "half" else product


@_op
def linear(a, b, bias=None, transpose_a=False, transpose_b=False, dtype=None):
    return numpy.matmul(a.T if transpose_a else a, b.T if transpose_b else b) + (0 if bias is None else bias)


@_op
def reshape(x, shape):
    return x.reshape(shape)


@_op
def permute(x, permutation):
    return x.transpose(permutation)


def _changed(tensor, **changes):
    fields = {
        "data_type": tensor.dtype,
        "layout": tensor.layout,
        "place": tensor.place,
        "shards": tensor.shards,
        "config": tensor.config,
    } | changes
    copy = Tensor(tensor.array, **fields)
    if _recorded is not None:
        _recorded.append((copy, lambda: tensor.array))
    return copy


def to_layout(tensor, layout, dtype=None, memory_config=None):
    return _changed(tensor, layout=layout, data_type=dtype or tensor.dtype)


def to_memory_config(tensor, memory_config, dtype=None):
    return _changed(tensor, config=memory_config)


def clone(tensor):
    _say("clone")
    copied = _changed(tensor)
    copied.shards = None if tensor.shards is None else [shard.copy() for shard in tensor.shards]
    copied.array = tensor.array.copy() if copied.shards is None else copied.shards[0]
    return copied


def to_dtype(tensor, dtype):
    return _changed(tensor, data_type=dtype)


def typecast(tensor, dtype, memory_config=None):
    converted = _changed(tensor, data_type=dtype)
    converted.array = converted.array.astype(_NUMPY.get(dtype, numpy.float32))
    return converted


def to_device(tensor, device, memory_config=None):
    _say("to_device")
    chips = getattr(device, "chips", 1)  # tests of single functions pass a text as the device
    shards = [tensor.array] * chips if tensor.shards is None and chips > 1 else tensor.shards
    result = _changed(tensor, place=StorageType.DEVICE, shards=shards, config=memory_config)
    _say(f"write {result.number} 0")
    return result


def from_device(tensor):
    _say("from_device")
    return _changed(tensor, place=StorageType.HOST)


def full(shape, value, dtype, layout, device, memory_config=None):
    return Tensor(numpy.full(shape, value, _NUMPY.get(dtype, numpy.float32)), dtype, layout, StorageType.DEVICE)


def empty(shape, dtype, layout, device, memory_config):
    array = numpy.zeros(shape, _NUMPY.get(dtype, numpy.float32))
    return Tensor(array, dtype, layout, StorageType.DEVICE, config=memory_config)


def fill_cache(cache, tensor, batch):
    _say("fill_cache")
    for chip, array in enumerate([cache.array] if cache.shards is None else cache.shards):
        array[batch, :, : tensor.shape[2]] = _array(tensor, chip)[0]


def copy(source, target):
    _recorded.append((target, lambda: source.array)) if _recorded is not None else None
    target.array = source.array


def copy_host_to_device_tensor(source, target, cq_id=0):
    _say(f"write {target.number} {cq_id}")
    numpy.copyto(target.array, source.array)


def record_event(device, cq_id=0):
    _say(f"record {(event := next(_numbers))} {cq_id}")
    return event


def wait_for_event(cq_id, event):
    _say(f"wait {event} {cq_id}")


def deallocate(tensor, force=False):
    _say("deallocate")


def begin_trace_capture(device, cq_id=0):
    global _recorded
    _say("begin_trace_capture")
    _recorded = []
    return len(_traces)


def end_trace_capture(device, trace, cq_id=0):
    global _recorded
    _traces[trace], _recorded = _recorded, None


def execute_trace(device, trace, cq_id=0, blocking=True):
    _say("execute_trace")
    for tensor, again in _traces[trace]:
        tensor.array = again()


def release_trace(device, trace):
    _say("release_trace")
    _traces[trace] = []


def open_device(device_id, l1_small_size=0, trace_region_size=0, num_command_queues=1):
    _say(f"open_device {trace_region_size}")
    if os.environ.get("STAND_IN_NO_DEVICE"):
        raise RuntimeError("no device")
    return _device((1, 1))


def _device(shape):
    grid = SimpleNamespace(y=10, x=int(os.environ.get("STAND_IN_COLUMNS", "11")))
    return SimpleNamespace(
        compute_with_storage_grid_size=lambda: grid,
        arch=lambda: "Arch.BLACKHOLE",
        shape=shape,
        chips=shape[0] * shape[1],
        create_submesh=_device,
    )


def close_device(device):
    _say("close_device")


class FabricConfig(enum.Enum):
    DISABLED, FABRIC_1D, FABRIC_1D_RING = range(3)


def MeshShape(rows, columns):
    return rows, columns


def set_fabric_config(config):
    _say(f"set_fabric_config {config.name}")


def open_mesh_device(shape, l1_small_size=0, trace_region_size=0, physical_device_ids=()):
    _say(f"open_mesh_device {shape} {physical_device_ids}")
    return _device(shape)


def close_mesh_device(device):
    _say("close_mesh_device")


def from_host_shards(tensors, shape):
    _say("from_host_shards")
    first = tensors[0]
    return Tensor(first.array, first.dtype, first.layout, first.place, [tensor.array for tensor in tensors])


def get_device_tensors(tensor):
    shards = [tensor.array] if tensor.shards is None else tensor.shards
    return [Tensor(shard, tensor.dtype, tensor.layout, tensor.place) for shard in shards]


def _exchanged(tensor, shards):
    return Tensor(shards[0], tensor.dtype, tensor.layout, tensor.place, shards)


def all_reduce(tensor, cluster_axis, memory_config=None):
    return _exchanged(tensor, [sum(tensor.shards)] * len(tensor.shards))


def all_gather(tensor, dim, cluster_axis, memory_config=None):
    return _exchanged(tensor, [numpy.concatenate(tensor.shards, dim)] * len(tensor.shards))


def synchronize_device(device):
    pass


def ReadDeviceProfiler(device):
    _say("ReadDeviceProfiler")


def get_latest_programs_perf_data():
    durations, _programs_us[:] = list(_programs_us), []
    result = "DEVICE KERNEL DURATION [ns]"
    return {
        0: [SimpleNamespace(program_analyses_results={result: SimpleNamespace(duration=us * 1000)}) for us in durations]
    }
