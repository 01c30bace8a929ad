"""Prints a Program as text with one line for each instruction, without torch or xDSL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt_xla.ir.container import constant_name
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import HOST_CALL, Argument, Cost, Function, Instruction, Program, Result, TensorSpec

_ELEMENTS = 8
"""Largest number of elements of a constant that are all printed."""


def program_lines(program: Program, *, locations: bool = True) -> Iterator[str]:
    """Yields the lines of a program: what it predicts, what it takes and returns, and its functions.

    Args:
        program: the program. Large constants are bytes, or names as in a stored document.
        locations: whether to print the user's source line of each instruction.
    """
    memory = program.memory
    yield f"predicted device time {number(program.predicted_device_us)} us"
    yield (
        f"memory: DRAM {memory.dram_peak_bytes:,} B, L1 {memory.l1_peak_bytes_per_core:,} B a core, "
        f"trace {memory.trace_bytes:,} B"
    )
    if program.mesh is not None:
        yield f"mesh: {_shape(program.mesh.shape)} ({', '.join(program.mesh.axes)})"
    for argument in program.arguments:
        written = ", written" if argument.written else ""
        becomes = "" if argument.becomes is None else f", becomes result {argument.becomes}"
        yield f"argument {argument.name}: {argument.role.value} {_declared(argument, program.mesh)}{written}{becomes}"
    for index, result in enumerate(program.results):
        yield f"result {index}: {_declared(result, program.mesh)}"
    for op in program.host_ops:
        yield f"on the host: {_host_op(op, locations)}"
    for function in program.functions:
        yield ""
        yield from _function(function, locations)


def number(value: float) -> str:
    """Returns a number with six significant digits."""
    return f"{value:.6g}"


def cost_text(cost: Cost) -> str:
    """Returns the predicted time, what bounds it, the parts that are not zero, and the number of cores."""
    parts = {name: getattr(cost, f"{name}_us") for name in ("compute", "dram", "noc", "launch", "link")}
    shown = ", ".join(f"{name} {number(part)}" for name, part in parts.items() if part)
    return f"{number(cost.total_us)} us, {cost.bound} ({shown}), {cost.cores} cores"


def _declared(value: Argument | Result, mesh: Mesh | None) -> str:
    """Returns shape and element type of an argument or a result, and how it is split over a mesh."""
    text = f"{_shape(value.shape)} {value.dtype}"
    if mesh is None or value.sharding is None or value.global_shape is None:
        return text
    return f"{text} of {_shape(value.global_shape)} {_sharding(value.sharding, mesh)}"


def _sharding(sharding: Sharding, mesh: Mesh) -> str:
    dims = ", ".join("{" + ", ".join(mesh.axes[axis] for axis in axes) + "}" for axes in sharding.dims)
    unreduced = "".join(f" unreduced {mesh.axes[axis]}" for axis in sharding.unreduced)
    return f"[{dims}]{unreduced}"


def _function(function: Function, locations: bool) -> Iterator[str]:
    yield f"{function.kind.value} {function.name}"
    for argument in function.arguments:
        yield f"  %{argument}: {_spec(function.values[argument])}"
    for instruction in function.body:
        yield "  " + _instruction(instruction, function, locations)
    yield "  return " + ", ".join(f"%{result}" for result in function.results)


def _instruction(instruction: Instruction, function: Function, locations: bool) -> str:
    """Returns the line of an instruction, without the flags that are false."""
    specs = [function.values[result] for result in instruction.results]
    spec = specs[0] if specs else None
    results = ", ".join(f"%{result}" for result in instruction.results)
    operands = ", ".join(f"{name}={_operand(operand)}" for name, operand in instruction.operands.items())
    values = dict(instruction.attributes)
    if instruction.op == HOST_CALL:
        values["ops"] = [_host_op(op, locations) for op in values.get("ops", ())]
    named = (f"{name}={attribute_text(value, spec)}" for name, value in values.items() if value is not False)
    attributes = ", ".join(named)
    types = ", ".join(map(_spec, specs))
    text = f"{results} = " if results else ""
    text += f"{instruction.op}({operands})" + (f" {{{attributes}}}" if attributes else "")
    text += f" : {types}" if types else ""
    text += f"  # {cost_text(instruction.cost)}" if instruction.cost.total_us else ""
    return f"{text}  # {instruction.location}" if locations and instruction.location else text


def _host_op(op: str, locations: bool) -> str:
    """Returns the name of an op that the host runs, with the user's source line or without."""
    return op if locations else op.partition(" at ")[0]


def _operand(operand: int | tuple[int, ...]) -> str:
    return f"%{operand}" if isinstance(operand, int) else "[" + ", ".join(f"%{each}" for each in operand) + "]"


def attribute_text(value: Any, spec: TensorSpec | None = None) -> str:
    """Returns the text of an attribute's value; bytes are the elements of a tensor like the instruction's result."""
    name = constant_name(value)
    if name is not None:
        return name
    if isinstance(value, bytes):
        return _elements(value, spec)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(attribute_text(each, spec) for each in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {attribute_text(each, spec)}" for key, each in value.items()) + "}"
    return str(value)


def _elements(value: bytes, spec: TensorSpec | None) -> str:
    """Returns the elements of a constant: all, or those at both ends and the sum of all magnitudes."""
    import numpy as np

    dtype = None if spec is None else spec.layout.dtype.numpy_dtype()
    if dtype is None or len(value) % dtype.itemsize:
        return f"{len(value)} bytes"
    elements = np.frombuffer(value, dtype)
    if dtype.kind not in "biufc":  # a type of ml_dtypes
        elements = elements.astype(np.float32)
    shown = [_element(each) for each in (elements if elements.size <= _ELEMENTS else elements[[0, 1, 2, -2, -1]])]
    if elements.size <= _ELEMENTS:
        return f"[{', '.join(shown)}]"
    wide = np.abs(elements.astype(np.complex128 if dtype.kind == "c" else np.float64))
    ends = f"{', '.join(shown[:3])}, ..., {', '.join(shown[3:])}"
    return f"[{ends}] ({elements.size} elements, magnitudes {number(float(wide.sum()))})"


def _element(value: Any) -> str:
    plain = value.item()
    if isinstance(plain, complex):
        return f"({number(plain.real)}, {number(plain.imag)})"
    return number(plain) if isinstance(plain, float) else str(plain)


def _spec(spec: TensorSpec) -> str:
    """Returns the shape, the element type, the size of a shard in tiles or elements, and the place of a tensor."""
    layout = spec.layout
    place = layout.buffer.value if layout.memory is None else f"{layout.buffer.value} {layout.memory.value}"
    if layout.is_sharded:
        place += f" on {_shape(layout.grid)}"
    ranges = ", ".join(f"{_core(start)}-{_core(end)}" for start, end in layout.core_ranges)
    place += f" at {ranges}" if ranges else ""
    place += " without a place" if layout.ignore_physical else ""
    form = "tiles" if layout.tiled else "row_major"
    return f"{_shape(spec.shape)} {layout.dtype.value} {form} {_shape(layout.shard)} {place}"


def _core(core: tuple[int, int]) -> str:
    return f"({core[0]},{core[1]})"


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
