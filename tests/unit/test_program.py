"""Tests of the file format of Programs: files read back as written; cut, changed and foreign ones are refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from tt_xla.errors import ProgramFormatError
from tt_xla.ir.container import sections
from tt_xla.ir.layout import BufferType, CoreRange, DataType, MemoryLayout, TensorLayout
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
from tt_xla.tools.show import show_file

pytestmark = pytest.mark.quick

SPECS = (
    TensorSpec((2, 3), TensorLayout.of((2, 3), DataType.BF16)),
    TensorSpec((), TensorLayout.of((), DataType.SI32, tiled=False, buffer=BufferType.SYSTEM_MEMORY)),
    TensorSpec(
        (64, 64),
        TensorLayout.of(
            (64, 64),
            DataType.BFP_BF8,
            buffer=BufferType.L1,
            memory=MemoryLayout.BLOCK_SHARDED,
            grid=(2, 2),
            core_ranges=(CoreRange((0, 0), (1, 1)),),
        ),
    ),
    TensorSpec((16, 8), TensorLayout.of((16, 8), DataType.F32)),
)
BIG = bytes(range(256)) * 2
BODY = (
    Instruction("ttnn.abs", {"input": 0}, (2,), {}, "model.py:7", Cost(3.0, 1.0, 2.0, 0.5, 0.1, 64)),
    Instruction("ttnn.concat", {"inputs": (0, 2)}, (1,), {"dim": 1, "bytes": b"\x00\xff", "name": "x", "none": None}),
    Instruction("ttnn.constant", {}, (3,), {"value": BIG}),
    Instruction("ttnn.constant", {}, (3,), {"value": BIG}),
    Instruction("ttnn.constant", {}, (0,), {"value": BIG[:100]}),
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
    document, tensors = sections(DATA)
    assert [int.from_bytes(DATA[offset : offset + 8], "little") for offset in (16, 24)] == [len(document), len(tensors)]
    assert DATA[32:64] == hashlib.sha256(DATA[:32] + DATA[64:]).digest()
    assert (len(DATA) - len(tensors)) % 64 == 0


def test_the_parts_are_messagepack_and_safetensors() -> None:
    """A reader without this package gets the program by following the page on the format."""
    length = int.from_bytes(DATA[16:24], "little")
    start = -(-(64 + length) // 64) * 64
    document = msgspec.msgpack.decode(DATA[64 : 64 + length])
    tensors = safetensors.numpy.load(DATA[start:])
    ops = document["functions"][0]["body"]
    assert [op["op"] for op in ops] == [instruction.op for instruction in BODY]
    assert ops[2]["attributes"] == ops[3]["attributes"] == {"value": {"$constant": "constant_0"}}
    assert (tensors["constant_0"].dtype, tensors["constant_0"].shape) == (np.float32, (16, 8))
    assert tensors["constant_0"].tobytes() == BIG
    assert tensors["constant_1"].tobytes() == BIG[:100]
    assert len(tensors) == 2


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
    with pytest.raises(ProgramFormatError, match=r"damaged: it has \d+ bytes, its header says \d+"):
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


def signed(document: bytes, tensors: bytes = b"") -> bytes:
    head = MAGIC + FORMAT_VERSION.to_bytes(4, "little") + bytes(4)
    head += len(document).to_bytes(8, "little") + len(tensors).to_bytes(8, "little")
    body = document + (bytes(-len(document) % 64) + tensors if tensors else b"")
    return head + hashlib.sha256(head + body).digest() + body


@given(st.recursive(st.none() | st.integers(0, 9) | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)))
def test_a_payload_of_another_shape(value: object) -> None:
    with pytest.raises(ProgramFormatError, match="does not follow the format"):
        Program.from_bytes(signed(msgspec.msgpack.encode(value)))


@pytest.mark.parametrize("field", Program.__struct_fields__)
def test_a_payload_whose_field_is_of_another_type(field: str) -> None:
    document = msgspec.msgpack.decode(sections(DATA)[0])
    document[field] = 3 if field in ("options", "memory", "name", "target") else "3"
    with pytest.raises(ProgramFormatError, match="does not follow the format"):
        Program.from_bytes(signed(msgspec.msgpack.encode(document)))


def test_constants_that_are_missing_or_no_safetensors() -> None:
    document, _ = sections(DATA)
    with pytest.raises(ProgramFormatError, match="its constants are not safetensors"):
        Program.from_bytes(signed(document, b"nonsense"))
    with pytest.raises(ProgramFormatError, match="constant_0"):
        Program.from_bytes(signed(document, safetensors.numpy.save({"other": np.zeros(1)})))


def test_values_that_are_not_there() -> None:
    document = msgspec.msgpack.decode(sections(DATA)[0])
    document["functions"][0]["body"][0]["operands"]["input"] = 99
    with pytest.raises(ProgramFormatError, match="function 'main' refers to a value that it does not have"):
        Program.from_bytes(signed(msgspec.msgpack.encode(document), sections(DATA)[1]))
    document = msgspec.msgpack.decode(sections(DATA)[0])
    document["arguments"][0]["becomes"] = len(document["results"])
    with pytest.raises(ProgramFormatError, match="becomes a result that the program does not have"):
        Program.from_bytes(signed(msgspec.msgpack.encode(document), sections(DATA)[1]))
    document["functions"] = []
    with pytest.raises(ProgramFormatError, match="it has no function"):
        Program.from_bytes(signed(msgspec.msgpack.encode(document), sections(DATA)[1]))


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.ttnn"
    path.write_bytes(DATA)
    show_file(path, as_json=False)
    text = capsys.readouterr().out
    assert f"program model for n150, format {FORMAT_VERSION}" in text
    assert "forward_device main\n  %0: 2x3 bf16 tiles 1x1 dram interleaved" in text
    assert (
        "%2 = ttnn.abs(input=%0) : 64x64 bfp_bf8 tiles 1x1 l1 block_sharded on 2x2 at (0,0)-(1,1)"
        "  # 3 us, dram (compute 1, dram 2, noc 0.5, launch 0.1), 64 cores  # model.py:7\n" in text
    )
    assert "ttnn.concat(inputs=[%0, %2]) {dim=1, bytes=2 bytes, name=x, none=None}" in text
    assert "ttnn.constant() {value=constant_0} : 16x8 f32" in text
    assert "constant constant_0: 512 B" in text
    assert "on the host: stablehlo.sort at model.py:9" in text
    show_file(path, as_json=True)
    record = json.loads(capsys.readouterr().out)
    assert record["format_version"] == FORMAT_VERSION
    assert record["constants"] == {"constant_0": 512, "constant_1": 100}
    assert record["functions"][0]["body"][0]["cost"]["total_us"] == 3.0


def test_the_largest_part_bounds_a_cost() -> None:
    assert Cost(3.0, compute_us=1.0, dram_us=2.0, noc_us=0.5).bound == "dram"
    assert Cost(3.0, compute_us=4.0, dram_us=2.0).bound == "compute"
