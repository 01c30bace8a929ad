"""Executes calls of ``ttnn``, the real one or ours, and prints what each returns or how it is refused.

    python ttnn_run_calls.py calls.json results.jsonl

``calls.json`` is a list of texts in which ``ttnn_tensor`` makes a tensor and ``device`` is the device.
"""

import json
import sys

import numpy
import ttnn

_KINDS = {"int32": numpy.int32, "uint32": numpy.uint32, "uint16": numpy.uint16, "uint8": numpy.uint8}
_SHARDED = {"height": "HEIGHT_SHARDED", "width": "WIDTH_SHARDED", "block": "BLOCK_SHARDED"}


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


def elements(shape, dtype, high=None):
    """Returns an array of a shape, the same for each call: floats between -2 and 2, or integers below a limit."""
    draws = numpy.random.default_rng(7)
    if dtype in _KINDS:
        return draws.integers(0, high or 100, shape).astype(_KINDS[dtype])
    if high is not None:
        return draws.integers(0, high, shape).astype(numpy.float32)  # indices
    return draws.uniform(-2, 2, shape).astype(numpy.float32)


def tensor_on(device):
    """Returns the function ``ttnn_tensor`` of the calls."""

    def ttnn_tensor(shape, dtype, layout, memory, high=None):
        data_type, kind = getattr(ttnn, dtype), ttnn.TILE_LAYOUT if layout == "tile" else ttnn.ROW_MAJOR_LAYOUT
        host = ttnn.Tensor(elements(shape, dtype, high), data_type=data_type, layout=kind)
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


def outcome(call, names):
    """Returns the type of what a call returns, and why it was refused."""
    try:
        result = eval(call, {"ttnn": ttnn, **names})
    except Exception as error:
        refused = "arguments" if isinstance(error, TypeError) else "refused"
        return {"call": call, "result": refused, "words": str(error)[:1500]}
    return {"call": call, "result": shown(result), "words": ""}


def main(source, target):
    device = ttnn.open_device(device_id=0, l1_small_size=65536)
    names = {"device": device, "ttnn_tensor": tensor_on(device)}
    with open(source) as file:
        calls = json.load(file)
    with open(target, "a") as file:
        for call in calls:
            file.write(json.dumps(outcome(call, names)) + "\n")
            file.flush()
            device.disable_and_clear_program_cache()  # programs keep tables of convolutions in L1_SMALL


if __name__ == "__main__":
    main(*sys.argv[1:])
