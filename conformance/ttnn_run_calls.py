"""Executes calls of ``ttnn``, the real one or ours, and prints what each returns or how it is refused.

    python ttnn_run_calls.py calls.json results.jsonl [folder]

``calls.json`` is a list of texts in which ``ttnn_tensor`` makes a tensor and ``device`` is the device. With a folder,
the elements of each result are saved there, in a file that ``file_of`` names.
"""

import hashlib
import json
import pathlib
import sys
import zlib

import numpy
import ttnn

_KINDS = {"int32": numpy.int32, "uint32": numpy.uint32, "uint16": numpy.uint16, "uint8": numpy.uint8}
_SHARDED = {"height": "HEIGHT_SHARDED", "width": "WIDTH_SHARDED", "block": "BLOCK_SHARDED"}
_RANGES = ((-2.0, 2.0), (0.01, 4.0), (-30.0, 30.0))
"""Ranges of floats; a call draws all its operands from one of them."""
_SPECIAL = (numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1e-40, 3e38)
"""Elements that operands with special elements have among the others."""


def cores_for(count):
    """Returns the largest number of cores up to eight that divides a count."""
    return next(number for number in (8, 7, 6, 5, 4, 3, 2, 1) if count % number == 0)


def memory_config(name, shape, layout):
    """Returns a memory config: shards divide the tensor evenly over at most eight cores along each side."""
    if name not in _SHARDED:
        return ttnn.L1_MEMORY_CONFIG if name == "l1" else ttnn.DRAM_MEMORY_CONFIG
    unit = 32 if layout == "tile" else 1
    sizes = [1, *shape] if len(shape) == 1 else list(shape)
    rows, columns = -(-sizes[-2] // unit), -(-sizes[-1] // unit)
    for size in sizes[:-2]:
        rows *= size
    down = 1 if name == "width" else cores_for(rows)
    across = 1 if name == "height" else cores_for(columns)
    if name == "block":
        grid = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(across - 1, down - 1))})
    else:
        grid = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(down * across - 1, 0))})
    spec = ttnn.ShardSpec(grid, [rows // down * unit, columns // across * unit], ttnn.ShardOrientation.ROW_MAJOR)
    return ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, _SHARDED[name]), ttnn.BufferType.L1, spec)


def elements(shape, dtype, high=None, seed=(7,), span=(-2.0, 2.0), special=False):
    """Returns an array of a shape: floats within a span, or integers below a limit.

    Args:
        seed: integers that decide the draws.
        special: whether one element of ten is NaN, infinite, a zero, a denormal number or near the largest one.
    """
    draws = numpy.random.default_rng(seed)
    if dtype in _KINDS:
        return draws.integers(0, high or 100, shape).astype(_KINDS[dtype])
    if high is not None:
        return draws.integers(0, high, shape).astype(numpy.float32)  # indices
    drawn = draws.uniform(*span, shape)
    if special:
        drawn = numpy.where(draws.random(shape) < 0.1, draws.choice(_SPECIAL, shape), drawn)
    return drawn.astype(numpy.float32)


def draws(call=""):
    """Returns a function that draws the elements of a call's tensors one after another; the call decides them."""
    seed, made = zlib.crc32(call.encode()), iter(range(100))

    def drawn(shape, dtype, high=None, special=False):
        return elements(shape, dtype, high, (seed, next(made)), _RANGES[seed % len(_RANGES)], special)

    return drawn


def tensor_on(device, call=""):
    """Returns the function ``ttnn_tensor`` of a call."""
    drawn = draws(call)

    def ttnn_tensor(shape, dtype, layout, memory, high=None, special=False):
        data_type, kind = getattr(ttnn, dtype), ttnn.TILE_LAYOUT if layout == "tile" else ttnn.ROW_MAJOR_LAYOUT
        host = ttnn.Tensor(drawn(shape, dtype, high, special), data_type=data_type, layout=kind)
        if memory == "host":
            return host
        return ttnn.to_device(host, device, memory_config=memory_config(memory, shape, layout))

    return ttnn_tensor


def cores(grid):
    """Returns the cores of a set of ranges as text."""
    corners = sorted((each.start.y, each.start.x, each.end.y, each.end.x) for each in grid.ranges())
    return " ".join(f"({left}, {top})-({right}, {bottom})" for top, left, bottom, right in corners)


def shown(value):
    """Returns the type of a result as text."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(shown, value)) + "]"
    if not isinstance(value, ttnn.Tensor):
        return "None" if value is None else type(value).__name__.lower()
    if value.storage_type() != ttnn.StorageType.DEVICE:
        return f"{list(value.shape)} {value.dtype} {value.layout} HOST"
    config = value.memory_config()
    memory = f"{config.buffer_type}" if not config.is_sharded() else f"{config.buffer_type} {config.memory_layout}"
    if config.is_sharded() and config.shard_spec is not None:
        memory += f" {list(config.shard_spec.shape)} on {cores(config.shard_spec.grid)}"
    return f"{list(value.shape)} {value.dtype} {value.layout} {memory}".replace("BufferType.", "")


def outcome(call, device, folder=None):
    """Returns the type of what a call returns, and why it was refused; saves the elements in a folder."""
    try:
        result = eval(call, {"ttnn": ttnn, "device": device, "ttnn_tensor": tensor_on(device, call)})
        if folder is not None:
            arrays = [array(each) for each in flat(result)]
            numpy.savez(pathlib.Path(folder, file_of(call)), *arrays)
    except Exception as error:
        refused = "arguments" if isinstance(error, TypeError) else "refused"
        return {"call": call, "result": refused, "words": str(error)[:1500]}
    return {"call": call, "result": shown(result), "words": ""}


def file_of(call):
    """Returns the name of the file that has the elements of a call's result."""
    return hashlib.sha256(call.encode()).hexdigest()[:24] + ".npz"


def flat(value):
    """Returns the tensors of a result."""
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in flat(each)]
    return [value] if isinstance(value, ttnn.Tensor) else []


def array(tensor):
    """Returns a tensor's elements; those of floats are float32, which has every value of the other types."""
    if tensor.storage_type() == ttnn.StorageType.DEVICE:
        if tensor.memory_config().is_sharded():
            tensor = ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG)
        tensor = ttnn.from_device(tensor)
    if tensor.dtype in (ttnn.bfloat16, ttnn.bfloat8_b, ttnn.bfloat4_b):
        tensor = ttnn.to_dtype(tensor, ttnn.float32)
    return numpy.array(numpy.from_dlpack(ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT).to_numpy()))


def main(source, target, folder=None):
    device = ttnn.open_device(device_id=0, l1_small_size=65536)
    with open(source) as file:
        calls = json.load(file)
    with open(target, "a") as file:
        for call in calls:
            file.write(json.dumps(outcome(call, device, folder)) + "\n")
            file.flush()
            device.disable_and_clear_program_cache()  # programs keep tables of convolutions in L1_SMALL


if __name__ == "__main__":
    main(*sys.argv[1:])
