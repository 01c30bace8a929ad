"""The file format of Programs: what goes in comes out; what is cut, changed or foreign is refused."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_xla.errors import ProgramFormatError
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.program import (
    FORMAT_VERSION,
    MAGIC,
    Argument,
    Cost,
    Function,
    FunctionKind,
    Instruction,
    MemoryPlan,
    Program,
    Result,
    Role,
    TensorSpec,
)

SPECS = (
    TensorSpec((2, 3), TensorLayout.of((2, 3), DataType.BF16)),
    TensorSpec((), TensorLayout.of((), DataType.SI32, tiled=False, buffer=BufferType.SYSTEM_MEMORY)),
    TensorSpec(
        (64, 64),
        TensorLayout.of(
            (64, 64), DataType.BFP_BF8, buffer=BufferType.L1, memory=MemoryLayout.BLOCK_SHARDED, grid=(2, 2)
        ),
    ),
)
BODY = (
    Instruction("ttnn.abs", {"input": 0}, (2,), {}, "model.py:7", Cost(3.0, 1.0, 2.0, 0.5, 0.1, 64)),
    Instruction("ttnn.concat", {"inputs": (0, 2)}, (1,), {"dim": 1, "bytes": b"\x00\xff", "name": "x", "none": None}),
)
PROGRAM = Program(
    name="model",
    target="n150",
    options={"optimization_level": 1, "enable_trace": True},
    arguments=(Argument("x", Role.INPUT, (2, 3), "i64"), Argument("w", Role.PARAMETER, (), "bf16")),
    results=(Result((2, 3), "f32"),),
    functions=(Function("main", FunctionKind.FORWARD, (0,), (1, 1), SPECS, BODY),),
    memory=MemoryPlan(1, 2, 3),
    predicted_device_us=1.5,
    host_ops=("stablehlo.sort at model.py:9",),
)
DATA = PROGRAM.to_bytes()


def test_what_goes_in_comes_out() -> None:
    assert Program.from_bytes(DATA) == PROGRAM
    assert PROGRAM.function("main") is PROGRAM.functions[0]


def test_the_header() -> None:
    assert DATA[:8] == MAGIC
    assert int.from_bytes(DATA[8:12], "little") == FORMAT_VERSION
    assert DATA[12:44] == hashlib.sha256(DATA[44:]).digest()


@given(st.integers(0, len(DATA) - 1))
def test_cut_anywhere(length: int) -> None:
    with pytest.raises(ProgramFormatError):
        Program.from_bytes(DATA[:length])


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_changed_anywhere(position: int, flip: int) -> None:
    changed = bytearray(DATA)
    changed[position] ^= flip
    with pytest.raises(ProgramFormatError):
        Program.from_bytes(bytes(changed))


@given(st.binary(max_size=64))
def test_any_bytes(data: bytes) -> None:
    with pytest.raises(ProgramFormatError):
        Program.from_bytes(data)


def test_something_appended() -> None:
    with pytest.raises(ProgramFormatError, match=r"damaged: the checksum of its .* bytes of payload does not match"):
        Program.from_bytes(DATA + b"\x00")


def test_another_file() -> None:
    with pytest.raises(
        ProgramFormatError, match=r"not a \.ttnn program: it starts with b'PK\\x03\\x04.*Compile it again"
    ):
        Program.from_bytes(b"PK\x03\x04" + DATA)


def test_another_version() -> None:
    other = DATA[:8] + (FORMAT_VERSION + 1).to_bytes(4, "little") + DATA[12:]
    with pytest.raises(ProgramFormatError, match=f"format version {FORMAT_VERSION + 1}; this version of tt-xla reads"):
        Program.from_bytes(other)


def signed(payload: bytes) -> bytes:
    return MAGIC + FORMAT_VERSION.to_bytes(4, "little") + hashlib.sha256(payload).digest() + payload


@given(st.recursive(st.none() | st.integers(0, 9) | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)))
def test_a_payload_of_another_shape(value: object) -> None:
    with pytest.raises(ProgramFormatError, match="does not follow the format"):
        Program.from_bytes(signed(msgspec.msgpack.encode(value)))


@pytest.mark.parametrize("field", Program.__struct_fields__)
def test_a_payload_whose_field_is_of_another_type(field: str) -> None:
    document = msgspec.msgpack.decode(DATA[44:])
    document[field] = 3 if field in ("options", "memory", "name", "target") else "3"
    with pytest.raises(ProgramFormatError, match="does not follow the format"):
        Program.from_bytes(signed(msgspec.msgpack.encode(document)))


def test_the_largest_part_bounds_a_cost() -> None:
    assert Cost(3.0, compute_us=1.0, dram_us=2.0, noc_us=0.5).bound == "dram"
    assert Cost(3.0, compute_us=4.0, dram_us=2.0).bound == "compute"
