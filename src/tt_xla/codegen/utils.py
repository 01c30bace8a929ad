"""What a generated program does beside calling TT-NN: reads tensors, shows results, keeps a trace."""

import importlib.metadata
import sys
from pathlib import Path

import numpy
import ttnn

FOLDER = Path(__file__).resolve().parent

CHECKED_WITH = "0.81"
"""The release of ttnn whose calls the program makes."""


def _check_version():
    try:
        version = importlib.metadata.version("ttnn")
    except importlib.metadata.PackageNotFoundError:  # a build of its own
        version = getattr(ttnn, "__version__", CHECKED_WITH)
    if version != CHECKED_WITH and not version.startswith(f"{CHECKED_WITH}."):
        said = f"utils.py: this is ttnn {version}; the program was generated for ttnn {CHECKED_WITH}. A call that fails"
        print(said, "may have other arguments there.", file=sys.stderr)


_check_version()

NUMPY = {
    ttnn.uint32: numpy.uint32,
    ttnn.uint16: numpy.uint16,
    ttnn.uint8: numpy.uint8,
    ttnn.int32: numpy.int32,
}


def file_of(name):
    return FOLDER / "tensors" / f"{name}.tensorbin"


def stored(name):
    """A stored tensor as an array."""
    if not file_of(name).exists():
        raise SystemExit(f"{file_of(name)} is missing: generate the program again with export_tensors on.")
    return array_of(ttnn.load_tensor(str(file_of(name)))).copy()


def tensor(array, dtype, layout, device=None, memory_config=None):
    """An array as a tensor of TT-NN, on the host where there is no device."""
    array = numpy.ascontiguousarray(array, NUMPY.get(dtype, numpy.float32)).reshape(numpy.shape(array))
    made = ttnn.Tensor(array, data_type=dtype, layout=layout)
    return made if device is None else ttnn.to_device(made, device, memory_config=memory_config)


def load(name, dtype, layout, device=None, memory_config=None):
    """A stored tensor."""
    return tensor(stored(name), dtype, layout, device, memory_config)


def load_range(numbers, dtype, layout, device=None, memory_config=None):
    """Stored arguments of the same form, by their names."""
    return {f"arg{number}": load(f"arg{number}", dtype, layout, device, memory_config) for number in numbers}


def full(value, shape, dtype, layout):
    """A tensor of equal elements on the host."""
    return tensor(numpy.full(shape, value), dtype, layout)


def ones(shape, dtype, layout, device=None, memory_config=None):
    """What stands for an argument that was not stored."""
    return ttnn.ones(shape, dtype=dtype, layout=layout, device=device, memory_config=memory_config)


def held(array, dtype):
    """What the host computed as a tensor on the host; the array itself where TT-NN has no data type for it."""
    if dtype is None:
        return array
    return tensor(numpy.asarray(array, None if dtype in NUMPY else numpy.float32), dtype, ttnn.ROW_MAJOR_LAYOUT)


def array_of(tensor):
    """A tensor as a NumPy array, floats as float32."""
    if isinstance(tensor, numpy.ndarray):
        return tensor
    host = ttnn.from_device(tensor) if tensor.storage_type() == ttnn.StorageType.DEVICE else tensor
    if host.dtype not in NUMPY:
        host = ttnn.to_dtype(host, ttnn.float32)
    return numpy.from_dlpack(ttnn.to_layout(host, ttnn.ROW_MAJOR_LAYOUT).to_numpy())


def scalar(tensor):
    """The one element of a tensor as a number."""
    return array_of(tensor).item()


def pick(index, *branches):
    """The branch of a number, which a tensor holds; the last one for a number that is none of theirs."""
    number = int(scalar(index))
    return branches[number if 0 <= number < len(branches) else -1]


def named(weights, *names):
    """Weights by their names, which spaces part."""
    return [weights[name] for line in names for name in line.split()]


def under(weights, module):
    """The weights of one module, by their names within it, and constants, which belong to no module."""
    constants = {name: weight for name, weight in weights.items() if name.isidentifier()}
    return constants | {name[len(module) :]: weight for name, weight in weights.items() if name.startswith(module)}


def pcc(found, expected):
    """Pearson correlation of two arrays; 1 where both are constant and equal, 0 where only one is constant."""
    found, expected = (numpy.asarray(array, numpy.float64).ravel() for array in (found, expected))
    if numpy.array_equal(found, expected):
        return 1.0
    if found.size < 2 or not found.std() or not expected.std():
        return 0.0
    return float(numpy.corrcoef(found, expected)[0, 1])


def show(results):
    """Prints each result, and its correlation with the stored expectation where there is one."""
    for index, result in enumerate(results):
        array = array_of(result)
        print(f"result {index}: {list(array.shape)} {result.dtype}")
        with numpy.printoptions(threshold=64):
            print(array)
        if file_of(f"expected{index}").exists():
            expected = stored(f"expected{index}")
            print(f"PCC against tensors/expected{index}: {pcc(array, expected):.6f}")


def host_call(module, inputs, input_dtypes, output_dtypes):
    """Runs a part of the model that the chip has no ops for: a StableHLO program, on the CPU.

    Args:
        module: file of the program, relative to this one.
        inputs: tensors on the host, row-major.
        input_dtypes: element types that the program itself takes, in StableHLO's words.
        output_dtypes: data types of its results as the rest of the model takes them; None leaves an array.
    """
    try:
        from tt_xla.host import load as load_host_program
        from tt_xla.ir.element_types import ElementType
    except ImportError as error:
        raise SystemExit(f"{module} runs on the host and needs tt_xla in this environment: {error}.") from error
    program = load_host_program((FOLDER / module).read_text())
    arrays = [
        array_of(given).astype(ElementType(kind).numpy_dtype())
        for given, kind in zip(inputs, input_dtypes, strict=True)
    ]
    return [held(result, dtype) for result, dtype in zip(program(arrays), output_dtypes, strict=True)]


def host_callback(function, inputs, input_dtypes, output_dtypes):
    """Runs a Python function on arrays of what tensors on the host hold; its results as such tensors."""
    arrays = [array_of(given).astype(_declared(kind)) for given, kind in zip(inputs, input_dtypes, strict=True)]
    results = function(*arrays) or ()
    return [held(numpy.asarray(result), dtype) for result, dtype in zip(results, output_dtypes, strict=True)]


def _declared(kind):
    """The NumPy dtype of a StableHLO element type, float32 for those that NumPy itself lacks."""
    if kind == "i1":
        return numpy.dtype(bool)
    name = kind.replace("ui", "uint") if kind.startswith("ui") else kind.replace("i", "int").replace("f", "float")
    try:
        return numpy.dtype(name)
    except TypeError:
        return numpy.dtype(numpy.float32)


class Trace:
    """Records the calls of a function at its first run and replays them later.

    Of the inputs, the first ``resident`` ones lie on the device and are read where they lie, so other tensors in their
    place mean another recording; the rest are copied from the host into slots.
    """

    def __init__(self, allocate_slots, run_and_capture, execute, resident):
        self.allocate_slots, self.run_and_capture, self.execute = allocate_slots, run_and_capture, execute
        self.resident = resident
        self.slots, self.number, self.recorded = None, None, ()

    def __call__(self, device, inputs, results):
        kept, given = inputs[: self.resident], inputs[self.resident :]
        if self.number is not None and any(new is not old for new, old in zip(kept, self.recorded, strict=True)):
            ttnn.release_trace(device, self.number)
            self.number = None
        if self.slots is None:
            self.slots = self.allocate_slots(device, [])
        if self.number is None:
            (self.number,) = self.run_and_capture(device, [*inputs, *self.slots])
            self.recorded = kept
        else:
            for tensor, slot in zip(given, self.slots, strict=False):
                ttnn.copy_host_to_device_tensor(tensor, slot)
            self.execute(device, [self.number])
        return self.slots[len(self.slots) - results :]
