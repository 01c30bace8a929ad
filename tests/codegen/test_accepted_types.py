"""Programs pass only element types to TT-NN's ops that the table of accepted types lists."""

from __future__ import annotations

import pytest

from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.ttir_to_ttnn.lowering import nearest_accepted
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

pytestmark = pytest.mark.quick


def compiled(text: str, **options: object) -> Program:
    return compile_module(parse_module(text), CompileOptions.parse(options), load_target("p150"))


def operand_types(program: Program, op: str, operand: str) -> list[DataType]:
    entry = program.functions[0]
    numbers = [item.operands[operand] for item in entry.body if item.op == op]
    return [entry.values[number].layout.dtype for number in numbers if isinstance(number, int)]


def unary(op: str, dtype: str) -> str:
    return f"""func.func public @main(%x: tensor<4x6x{dtype}>) -> tensor<4x6x{dtype}> {{
      %0 = stablehlo.{op} %x : tensor<4x6x{dtype}>
      return %0 : tensor<4x6x{dtype}>
    }}"""


@pytest.mark.parametrize(
    ("op", "dtype", "accepted"),
    [
        ("ttnn.sign", DataType.SI32, DataType.F32),
        ("ttnn.gather", DataType.U8, DataType.U16),
        ("ttnn.neg", DataType.U32, DataType.SI32),
        ("ttnn.slice_static", DataType.BFP_BF4, DataType.BF16),
        ("ttnn.add", DataType.SI32, DataType.SI32),
        ("ttnn.unheard_of", DataType.U8, DataType.U8),
    ],
)
def test_the_nearest_type_that_an_op_takes(op: str, dtype: DataType, accepted: DataType) -> None:
    assert nearest_accepted(op, dtype) is accepted


def test_signs_of_integers_are_taken_in_float32_and_come_back() -> None:
    program = compiled(unary("sign", "i32"))
    assert operand_types(program, "ttnn.sign", "input") == [DataType.F32]
    entry = program.functions[0]
    assert entry.values[entry.results[0]].layout.dtype is DataType.SI32


def test_exact_numerics_keep_the_type() -> None:
    assert operand_types(compiled(unary("sign", "i32"), numerics="exact"), "ttnn.sign", "input") == [DataType.SI32]


def test_one_operand_keeps_its_type_and_the_result_is_converted() -> None:
    """TT-NN returns a comparison of float32 in float32; booleans are bfloat16 here."""
    program = compiled("""func.func public @main(%x: tensor<4x6xf32>) -> tensor<4x6xi1> {
      %0 = stablehlo.is_finite %x : (tensor<4x6xf32>) -> tensor<4x6xi1>
      return %0 : tensor<4x6xi1>
    }""")
    entry = program.functions[0]
    [asked] = [item for item in entry.body if item.op == "ttnn.isfinite"]
    assert entry.values[asked.results[0]].layout.dtype is DataType.F32
    assert entry.values[entry.results[0]].layout.dtype is DataType.BF16
