"""The ``.ttnn`` file: a header, the Program as MessagePack, its large constants as safetensors.

``docs/program-format.md`` describes it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tt_xla.errors import ProgramFormatError
from tt_xla.ir.element_types import numpy_dtype
from tt_xla.ir.program import FORMAT_VERSION, MAGIC, Function, Instruction, Program

CONSTANT = "$constant"
"""An attribute ``{"$constant": name}`` stands for the bytes of a constant."""

HEADER_BYTES = 64
_INLINE_BYTES = 64
"""Constants up to this size stay in the instruction."""
_ALIGNMENT = 64


def pack(program: Program) -> bytes:
    """The bytes of a ``.ttnn`` file."""
    constants = _Constants()
    functions = tuple(constants.taken_out(function) for function in program.functions)
    document = msgspec.msgpack.encode(msgspec.structs.replace(program, functions=functions))
    tensors = constants.to_bytes()
    padding = bytes(_start_of_constants(len(document)) - HEADER_BYTES - len(document)) if tensors else b""
    head = MAGIC + FORMAT_VERSION.to_bytes(4, "little") + bytes(4)
    head += len(document).to_bytes(8, "little") + len(tensors).to_bytes(8, "little")
    return b"".join((head, _digest(head, document, padding, tensors), document, padding, tensors))


def unpack(data: bytes) -> Program:
    """The Program of a ``.ttnn`` file.

    Raises:
        ProgramFormatError: the bytes are cut, changed, of another format or of another version.
    """
    document, tensors = sections(data)
    try:
        program = msgspec.msgpack.decode(document, type=Program)
        if CONSTANT.encode() in document:
            constants = read_constants(tensors)
            functions = tuple(_put_back(function, constants) for function in program.functions)
            program = msgspec.structs.replace(program, functions=functions)
        _check(program)
    except (msgspec.MsgspecError, ValueError, KeyError) as error:
        raise ProgramFormatError(f"This .ttnn program does not follow the format: {error}.") from error
    return program


def sections(data: bytes) -> tuple[bytes, bytes]:
    """The two parts of a file, checked: MessagePack, and safetensors, empty without constants.

    Raises:
        ProgramFormatError: the bytes are cut, changed, of another format or of another version.
    """
    if data[:8] != MAGIC:
        raise ProgramFormatError(
            f"This is not a .ttnn program: it starts with {bytes(data[:8])!r}, expected {MAGIC!r}.",
            hint="Compile it again with `tt-xla compile`.",
        )
    version = int.from_bytes(data[8:12], "little")
    if version != FORMAT_VERSION:
        raise ProgramFormatError(
            f"This .ttnn program has format version {version}; this version of tt-xla reads {FORMAT_VERSION}.",
            hint="Compile it again with `tt-xla compile`.",
        )
    head, digest = data[:32], data[32:HEADER_BYTES]
    length, count = (int.from_bytes(head[at : at + 8], "little") for at in (16, 24))
    start = _start_of_constants(length) if count else HEADER_BYTES + length
    expected = start + count
    if len(data) != expected:
        raise ProgramFormatError(
            f"This .ttnn program is damaged: it has {len(data)} bytes, its header says {expected}.",
            hint="Copy the file again, or compile it again with `tt-xla compile`.",
        )
    if _digest(head, memoryview(data)[HEADER_BYTES:]) != digest:
        raise ProgramFormatError(
            f"This .ttnn program is damaged: the checksum of its {len(data)} bytes does not match.",
            hint="Copy the file again, or compile it again with `tt-xla compile`.",
        )
    return data[HEADER_BYTES : HEADER_BYTES + length], data[start:]


def _start_of_constants(length: int) -> int:
    """Where the constants begin after a document of ``length`` bytes."""
    return -(-(HEADER_BYTES + length) // _ALIGNMENT) * _ALIGNMENT


def read_constants(tensors: bytes) -> dict[str, bytes]:
    """The bytes of constants by name.

    Raises:
        ValueError: they are not safetensors.
    """
    from safetensors import SafetensorError, deserialize

    try:
        return {name: bytes(found["data"]) for name, found in deserialize(tensors)}
    except SafetensorError as error:
        raise ValueError(f"its constants are not safetensors: {error}") from error


def constant_name(value: Any) -> str | None:
    """The name that an attribute of a stored Program refers to, if it refers to a constant."""
    return value.get(CONSTANT) if isinstance(value, dict) else None  # pyright: ignore


def _digest(*parts: bytes | memoryview) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


@dataclass
class _Constants:
    """What is taken out of the instructions: equal bytes once."""

    names: dict[bytes, str] = field(default_factory=lambda: {})
    types: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=lambda: {})
    """NumPy type and shape of each constant, by name; bytes where the tensor's type has no place in safetensors."""

    def taken_out(self, function: Function) -> Function:
        if not any(_is_large(value) for each in function.body for value in each.attributes.values()):
            return function
        body = tuple(self._without(each, function) for each in function.body)
        return msgspec.structs.replace(function, body=body)

    def _without(self, instruction: Instruction, function: Function) -> Instruction:
        large = {name: value for name, value in instruction.attributes.items() if _is_large(value)}
        if not large:
            return instruction
        named = {name: {CONSTANT: self._named(value, instruction, function)} for name, value in large.items()}
        return msgspec.structs.replace(instruction, attributes=instruction.attributes | named)

    def _named(self, value: bytes, instruction: Instruction, function: Function) -> str:
        name = self.names.setdefault(value, f"constant_{len(self.names)}")
        if name not in self.types:
            spec = function.values[instruction.results[0]] if instruction.results else None
            self.types[name] = ("uint8", (len(value),))
            if spec is not None and not spec.layout.dtype.is_host_only:
                element = spec.layout.dtype.numpy
                if math.prod(spec.shape) * numpy_dtype(element).itemsize == len(value):
                    self.types[name] = (element, spec.shape)
        return name

    def to_bytes(self) -> bytes:
        if not self.names:
            return b""
        import numpy as np
        from safetensors.numpy import save

        arrays: dict[str, Any] = {}
        for value, name in self.names.items():
            element, shape = self.types[name]
            arrays[name] = np.frombuffer(value, numpy_dtype(element)).reshape(shape)
        return save(arrays)


def _is_large(value: object) -> bool:
    return isinstance(value, bytes) and len(value) > _INLINE_BYTES


def _put_back(function: Function, constants: dict[str, bytes]) -> Function:
    def filled(instruction: Instruction) -> Instruction:
        named = {name: constant_name(value) for name, value in instruction.attributes.items()}
        found = {name: constants[constant] for name, constant in named.items() if constant is not None}
        return msgspec.structs.replace(instruction, attributes=instruction.attributes | found) if found else instruction

    return msgspec.structs.replace(function, body=tuple(filled(each) for each in function.body))


def _check(program: Program) -> None:
    """That there is an entry, and that instructions refer to values that are there.

    Raises:
        ValueError: they do not.
    """
    if not program.functions:
        raise ValueError("it has no function")
    for function in program.functions:
        numbers = [*function.arguments, *function.results, *_numbers(function)]
        if numbers and not 0 <= min(numbers) <= max(numbers) < len(function.values):
            raise ValueError(f"function '{function.name}' refers to a value that it does not have")


def _numbers(function: Function) -> Iterator[int]:
    for instruction in function.body:
        yield from instruction.results
        for operand in instruction.operands.values():
            if isinstance(operand, int):
                yield operand
            else:
                yield from operand
