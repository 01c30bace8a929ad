"""Helpers of a generated program: they load tensors, print results, run host ops and replay traces."""

import argparse
import importlib.metadata
import sys
import time
from pathlib import Path

import numpy
import ttnn

FOLDER = Path(__file__).resolve().parent

CHECKED_WITH = "0.81"
"""Release of ttnn that the program was generated for."""


def _check_version():
    """Warns when this is another release of ttnn."""
    try:
        version = importlib.metadata.version("ttnn")
    except importlib.metadata.PackageNotFoundError:  # a build from source
        version = getattr(ttnn, "__version__", CHECKED_WITH)
    if version != CHECKED_WITH and not version.startswith(f"{CHECKED_WITH}."):
        print(
            f"utils.py: the program was generated for ttnn {CHECKED_WITH}; this is ttnn {version}, whose functions may "
            "take other arguments.",
            file=sys.stderr,
        )


_check_version()

NUMPY = {
    ttnn.uint32: numpy.uint32,
    ttnn.uint16: numpy.uint16,
    ttnn.uint8: numpy.uint8,
    ttnn.int32: numpy.int32,
}
"""NumPy dtype of each integer data type; all others are float32 in NumPy."""


def file_of(name):
    """Returns the path of a stored tensor."""
    return FOLDER / "tensors" / f"{name}.tensorbin"


def stored(name):
    """Returns a stored tensor as an array."""
    if not file_of(name).exists():
        raise SystemExit(f"{file_of(name)} is missing: generate the program again with export_tensors on.")
    return array_of(ttnn.load_tensor(str(file_of(name)))).copy()


def tensor(array, dtype, layout, device=None, memory_config=None, mapper=None, padded=None):
    """Returns an array as a tensor of TT-NN, on the host if no memory config is passed.

    Args:
        array: the elements.
        dtype: data type of the tensor.
        layout: layout of the tensor.
        device: device or mesh device of the tensor.
        memory_config: where the tensor lies on the device.
        mapper: config of the mapper that splits the array over the chips; without one, every chip gets all of it.
        padded: shape that the array is filled up to with zeros, so that it divides evenly over the chips.
    """
    array = numpy.require(array, NUMPY.get(dtype, numpy.float32), ("C", "W"))  # TT-NN takes no array that is read-only
    if padded is not None:
        array = numpy.pad(array, [(0, end - size) for size, end in zip(array.shape, padded, strict=True)])
    host_tensor = ttnn.Tensor(array, data_type=dtype, layout=layout)
    if mapper is not None:
        host_tensor = ttnn.distribute_tensor(host_tensor, ttnn.create_mesh_mapper(device, mapper))
    return host_tensor if memory_config is None else ttnn.to_device(host_tensor, device, memory_config=memory_config)


def load(name, dtype, layout, device=None, memory_config=None, mapper=None, padded=None):
    """Returns a stored tensor as a tensor of TT-NN."""
    return tensor(stored(name), dtype, layout, device, memory_config, mapper, padded)


def load_range(numbers, dtype, layout, device=None, memory_config=None, mapper=None, padded=None):
    """Returns stored arguments of the same data type and layout, by name."""
    form = (dtype, layout, device, memory_config, mapper, padded)
    return {f"arg{number}": load(f"arg{number}", *form) for number in numbers}


def full(value, shape, dtype, layout):
    """Returns a host tensor of equal elements."""
    return tensor(numpy.full(shape, value), dtype, layout)


def ones(name, shape, dtype, layout, device=None, memory_config=None):
    """Returns ones in place of the argument ``name``, which was not stored."""
    return ttnn.ones(shape, dtype=dtype, layout=layout, device=device, memory_config=memory_config)


def held(array, dtype):
    """Returns an array that the host computed as a host tensor, or as it is when TT-NN has no data type for it."""
    if dtype is None:
        return array
    return tensor(numpy.asarray(array, None if dtype in NUMPY else numpy.float32), dtype, ttnn.ROW_MAJOR_LAYOUT)


def on_host(tensor):
    """Returns a tensor on the host, row-major, floats as float32."""
    host = ttnn.from_device(tensor) if tensor.storage_type() == ttnn.StorageType.DEVICE else tensor
    if host.dtype not in NUMPY:
        host = ttnn.to_dtype(host, ttnn.float32)
    return ttnn.to_layout(host, ttnn.ROW_MAJOR_LAYOUT)


def array_of(tensor):
    """Returns a tensor as a NumPy array, floats as float32; of several chips, the tensor of the first one."""
    if isinstance(tensor, list):
        return tensor[0]
    if isinstance(tensor, numpy.ndarray):
        return tensor
    host = on_host(tensor)
    shards = ttnn.get_device_tensors(host)
    return numpy.from_dlpack((shards[0] if len(shards) > 1 else host).to_numpy())


def shards_of(tensor, chips):
    """Returns the tensor of each chip on the host: of a tensor, of a list of arrays, or of one array for all chips."""
    if isinstance(tensor, list):
        return tensor
    shards = [tensor] if isinstance(tensor, numpy.ndarray) else ttnn.get_device_tensors(on_host(tensor))
    return shards if len(shards) == chips else shards * chips


def on_chips(device, holders, run, function, inputs, *types):
    """Runs a host op on the shards of each chip, once for chips that hold the same shards.

    Args:
        device: the mesh device.
        holders: for each chip, the first chip that holds the same shards of the inputs.
        run: runs the op on tensors of one chip, given the function, the inputs and their types.
        function: the function or file that ``run`` takes.
        inputs: tensors of all chips.
        types: further arguments of ``run``.

    Returns:
        For each result, the tensor of all chips; a list of arrays where TT-NN has no data type for it.
    """
    shards = [shards_of(tensor, len(holders)) for tensor in inputs]
    results = {chip: run(function, [of_input[chip] for of_input in shards], *types) for chip in sorted({*holders})}
    of_chips = [results[chip] for chip in holders]
    return [
        list(result)
        if isinstance(result[0], numpy.ndarray)
        else ttnn.from_host_shards(list(result), ttnn.MeshShape(*device.shape))
        for result in zip(*of_chips, strict=True)
    ]


def split(array, counts, places):
    """Splits an array that TT-NN has no data type for, padded at the end with zeros.

    Args:
        array: the elements.
        counts: number of shards of each dimension.
        places: for each chip, the number of its shard in each dimension.
    """
    sizes = [-(-size // count) for size, count in zip(array.shape, counts, strict=True)]
    ends = [size * count for size, count in zip(sizes, counts, strict=True)]
    padded = numpy.pad(array, [(0, end - size) for size, end in zip(array.shape, ends, strict=True)])
    return [padded[_region(place, sizes)] for place in places]


def joined(tensor, counts, places, shape):
    """Returns the array whose shards chips hold as a list of arrays; the inverse of :func:`split`."""
    shards = shards_of(tensor, len(places))
    array = numpy.zeros([size * count for size, count in zip(shards[0].shape, counts, strict=True)], shards[0].dtype)
    for shard, place in zip(shards, places, strict=True):
        array[_region(place, shard.shape)] = shard
    return array[tuple(slice(size) for size in shape)]


def _region(place, sizes):
    """Returns the slices of a shard in the array."""
    return tuple(slice(index * size, (index + 1) * size) for index, size in zip(place, sizes, strict=True))


def composed(tensor, device=None, composer=None, replicas=0, shape=None):
    """Returns the tensor that chips hold in shards, as an array.

    Args:
        tensor: the tensor of all chips.
        device: their mesh device.
        composer: config of the composer that joins the shards, and stacks replicas along new first dimensions; without
            one, every chip holds all of the tensor.
        replicas: number of the new first dimensions.
        shape: shape of the tensor, without the padding of shards.
    """
    if composer is None:
        return array_of(tensor)
    chips = device.shape[0] * device.shape[1]
    host = ttnn.from_host_shards(shards_of(tensor, chips), ttnn.MeshShape(*device.shape))
    host = ttnn.reshape(host, [1] * replicas + list(host.shape))
    stacked = ttnn.aggregate_tensor(host, ttnn.create_mesh_composer(device, composer))
    array = numpy.from_dlpack(stacked.to_numpy())[(0,) * replicas]
    return array[tuple(slice(size) for size in shape)]


def scalar(tensor):
    """Returns the only element of a tensor as a number."""
    return array_of(tensor).item()


def pick(index, *branches):
    """Returns the branch whose number a tensor holds; the last branch for numbers out of range."""
    number = int(scalar(index))
    return branches[number if 0 <= number < len(branches) else -1]


def named(weights, *names):
    """Returns weights by their names; each argument holds names separated by spaces."""
    return [weights[name] for line in names for name in line.split()]


def under(weights, module):
    """Returns the weights of one module by their names in the module, and constants, which belong to no module."""
    constants = {name: weight for name, weight in weights.items() if name.isidentifier()}
    return constants | {name[len(module) :]: weight for name, weight in weights.items() if name.startswith(module)}


def pcc(actual, expected):
    """Returns the Pearson correlation of two arrays; 1 if they are equal, 0 if one of them is constant."""
    actual, expected = (numpy.asarray(array, numpy.float64).ravel() for array in (actual, expected))
    if numpy.array_equal(actual, expected):
        return 1.0
    if actual.size < 2 or not actual.std() or not expected.std():
        return 0.0
    return float(numpy.corrcoef(actual, expected)[0, 1])


def step_count():
    """Returns the number of calls that the command line asks for by ``--steps N``."""
    parser = argparse.ArgumentParser("run", description="Runs the model and prints its results.")
    parser.add_argument("--steps", metavar="N", type=int, default=1, help="number of calls, one after another (1)")
    count = parser.parse_args().steps
    if count < 1:
        parser.error(f"--steps was given {count}; it takes a number from 1 on")
    return count


def steps(count, forward, device, w, inputs, updates=None):
    """Calls ``forward`` several times, and returns the results of the last call.

    Prints the predicted device time of a call where ``ttnn`` predicts it: that of tt_xla, which computes on an emulated
    card. Prints the time of a later call on this machine.

    Args:
        count: number of calls.
        forward: the model.
        device: the device.
        w: weights by name.
        inputs: inputs of the first call.
        updates: result that takes the place of an input in the next call, such as a cache, by the input's position or
            its name in ``w``; None for no input. It stays on the device.
    """
    before = getattr(device, "predicted_us", None)
    start = 0.0
    for number in range(count):
        results = forward(device, w, *inputs)
        for key, index in (updates or {}).items():
            (w if isinstance(key, str) else inputs)[key] = results[index]
        if number == 0:
            if before is not None:
                print(f"predicted device time: {device.predicted_us - before:.1f} us")
            if count > 1:
                ttnn.synchronize_device(device)
                start = time.perf_counter()
    if count > 1:
        ttnn.synchronize_device(device)
        print(f"time of a call after the first: {1e3 * (time.perf_counter() - start) / (count - 1):.3f} ms")
    return results


def show(results, is_expected=True):
    """Prints each result, and its correlation with the expected result if that is of this call and stored."""
    for index, result in enumerate(results):
        array = array_of(result)
        print(f"result {index}: {list(array.shape)} {result.dtype}")
        with numpy.printoptions(threshold=64):
            print(array)
        if is_expected and file_of(f"expected{index}").exists():
            expected = stored(f"expected{index}")
            print(f"PCC against tensors/expected{index}: {pcc(array, expected):.6f}")
            if array.shape == expected.shape and numpy.array_equal(array, expected, equal_nan=array.dtype.kind == "f"):
                print(f"result {index} has all bits of tensors/expected{index}")


def host_call(module, inputs, input_dtypes, output_dtypes):
    """Runs a part of the model that the chip has no ops for: a StableHLO program, on the CPU.

    Args:
        module: file of the program, relative to this file.
        inputs: row-major tensors on the host.
        input_dtypes: StableHLO element types of the program's arguments.
        output_dtypes: TT-NN data types of the returned tensors; None for a result that stays an array.
    """
    try:
        from tt_xla.host import load as load_host_program
        from tt_xla.ir.element_types import ElementType
    except ImportError as error:
        raise SystemExit(f"{module} runs on the host and needs tt_xla in this environment: {error}.") from error
    program = load_host_program((FOLDER / module).read_text())
    arrays = [
        array_of(tensor).astype(ElementType(kind).numpy_dtype())
        for tensor, kind in zip(inputs, input_dtypes, strict=True)
    ]
    return [held(result, dtype) for result, dtype in zip(program(arrays), output_dtypes, strict=True)]


def host_callback(function, inputs, input_dtypes, output_dtypes):
    """Runs a Python function on the contents of host tensors, as arrays, and returns its results as host tensors."""
    arrays = [array_of(tensor).astype(_declared(kind)) for tensor, kind in zip(inputs, input_dtypes, strict=True)]
    results = function(*arrays) or ()
    return [held(numpy.asarray(result), dtype) for result, dtype in zip(results, output_dtypes, strict=True)]


def _declared(kind):
    """Returns the NumPy dtype of a StableHLO element type, float32 for types that NumPy lacks."""
    if kind == "i1":
        return numpy.dtype(bool)
    name = kind.replace("ui", "uint") if kind.startswith("ui") else kind.replace("i", "int").replace("f", "float")
    try:
        return numpy.dtype(name)
    except TypeError:
        return numpy.dtype(numpy.float32)


def _is_on_device(tensor):
    return tensor.storage_type() == ttnn.StorageType.DEVICE


class Trace:
    """Records the calls of a function at its first run and replays them in later runs.

    The first ``resident`` inputs are on the device, and the trace reads them in place; passing other tensors requires
    another recording. The other inputs, which are on the host or on the device, are copied into slots.
    """

    def __init__(self, allocate_slots, run_and_capture, execute, resident):
        self.allocate_slots, self.run_and_capture, self.execute = allocate_slots, run_and_capture, execute
        self.resident = resident
        self.slots, self.number, self.recorded = None, None, ()

    def __call__(self, device, inputs, results):
        on_device, others = inputs[: self.resident], inputs[self.resident :]
        if self.number is not None and any(new is not old for new, old in zip(on_device, self.recorded, strict=True)):
            ttnn.release_trace(device, self.number)
            self.number = None
        if self.slots is None:
            self.slots = self.allocate_slots(device, [])
        if self.number is None:
            on_host = [ttnn.from_device(tensor) if _is_on_device(tensor) else tensor for tensor in others]
            (self.number,) = self.run_and_capture(device, [*on_device, *on_host, *self.slots])
            self.recorded = on_device
        else:
            for tensor, slot in zip(others, self.slots, strict=False):
                if _is_on_device(tensor):
                    ttnn.copy(tensor, slot)
                else:
                    ttnn.copy_host_to_device_tensor(tensor, slot)
            self.execute(device, [self.number])
        return self.slots[len(self.slots) - results :]
