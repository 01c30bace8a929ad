"""Implements ``tt-xla show``: prints a ``.ttnn`` file as text, without torch or xDSL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from tt_xla.ir.container import constant_name, read_constants, sections
from tt_xla.ir.program import FORMAT_VERSION, Function, Instruction, Program, TensorSpec
from tt_xla.tools.inputs import read_input


def show_file(path: Path, as_json: bool) -> None:
    """Prints the content of a ``.ttnn`` file.

    Args:
        path: the file.
        as_json: whether to print JSON.

    Raises:
        ProgramFormatError: the file is damaged, or has another format or version.
    """
    data = read_input(path)
    Program.from_bytes(data)  # makes all checks; the stored form, read below, has names of constants instead of bytes
    document, tensors = sections(data)
    stored = msgspec.msgpack.decode(document, type=Program)
    constants = {name: len(value) for name, value in read_constants(tensors).items()} if tensors else {}
    if as_json:
        click.echo(json.dumps(_record(stored, constants)))
        return
    for line in _lines(path, stored, constants, len(data)):
        click.echo(line)


def _record(program: Program, constants: dict[str, int]) -> dict[str, Any]:
    record: dict[str, Any] = msgspec.to_builtins(program)
    return {"format_version": FORMAT_VERSION} | record | {"constants": constants}


def _lines(path: Path, program: Program, constants: dict[str, int], size: int) -> Iterator[str]:
    memory = program.memory
    yield f"{path}: program {program.name} for {program.target}, format {FORMAT_VERSION}, {size:,} bytes"
    yield f"predicted device time {program.predicted_device_us:.1f} us"
    yield (
        f"memory: DRAM {memory.dram_peak_bytes:,} B, L1 {memory.l1_peak_bytes_per_core:,} B a core, "
        f"trace {memory.trace_bytes:,} B"
    )
    yield "options: " + ", ".join(f"{name}={value}" for name, value in program.options.items() if value != "")
    for argument in program.arguments:
        yield f"argument {argument.name}: {argument.role.value} {_shape(argument.shape)} {argument.dtype}"
    for index, result in enumerate(program.results):
        yield f"result {index}: {_shape(result.shape)} {result.dtype}"
    for name, length in constants.items():
        yield f"constant {name}: {length:,} B"
    for op in program.host_ops:
        yield f"on the host: {op}"
    for function in program.functions:
        yield ""
        yield from _function(function)


def _function(function: Function) -> Iterator[str]:
    arguments = ", ".join(f"%{number}: {_spec(function.values[number])}" for number in function.arguments)
    yield f"{function.kind.value} {function.name}({arguments})"
    for instruction in function.body:
        yield "  " + _instruction(instruction, function)
    yield "  return " + ", ".join(f"%{number}" for number in function.results)


def _instruction(instruction: Instruction, function: Function) -> str:
    results = ", ".join(f"%{number}" for number in instruction.results)
    operands = ", ".join(f"{name}={_operand(operand)}" for name, operand in instruction.operands.items())
    attributes = ", ".join(f"{name}={_value(value)}" for name, value in instruction.attributes.items())
    types = ", ".join(_spec(function.values[number]) for number in instruction.results)
    text = f"{results} = " if results else ""
    text += f"{instruction.op}({operands})" + (f" {{{attributes}}}" if attributes else "")
    text += f" : {types}" if types else ""
    cost = instruction.cost
    if cost.total_us:
        text += f"  # {cost.total_us:.2f} us, {cost.bound}, {cost.cores} cores"
    return text + (f"  # {instruction.location}" if instruction.location else "")


def _operand(operand: int | tuple[int, ...]) -> str:
    return f"%{operand}" if isinstance(operand, int) else "[" + ", ".join(f"%{each}" for each in operand) + "]"


def _value(value: Any) -> str:
    name = constant_name(value)
    if name is not None:
        return name
    return f"{len(value)} bytes" if isinstance(value, bytes) else str(value)


def _spec(spec: TensorSpec) -> str:
    layout = spec.layout
    place = layout.buffer.value if layout.memory is None else f"{layout.buffer.value} {layout.memory.value}"
    grid = f" {layout.grid[0]}x{layout.grid[1]}" if layout.is_sharded else ""
    return f"{_shape(spec.shape)} {layout.dtype.value} {'tile' if layout.tiled else 'row_major'} {place}{grid}"


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
