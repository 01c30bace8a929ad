"""The verifier remembers valid ops and reports invalid ones each time."""

import pytest
from xdsl.utils.exceptions import VerifyException

from tt_xla.ir.properties import F32
from tt_xla.ir.text import parse_module
from tt_xla.ir.ttir.contraction import MatmulOp

pytestmark = pytest.mark.quick

TEXT = """
func.func @main(%a: tensor<2x3xbf16>, %b: tensor<3x4xbf16>) -> tensor<2x4xbf16> {
  %0 = "ttir.matmul"(%a, %b) <{transpose_a = false, transpose_b = false}>
    : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}
"""


def _matmul():
    module = parse_module(TEXT)
    return module, next(op for op in module.walk() if isinstance(op, MatmulOp))


def test_an_op_that_became_invalid_is_refused_each_time():
    module, matmul = _matmul()
    matmul.transpose_b = True
    with pytest.raises(VerifyException):
        matmul.verify()
    with pytest.raises(VerifyException):
        matmul.verify()
    assert module is not None


def test_an_operand_of_another_type_is_refused():
    _, matmul = _matmul()
    matmul.operands[0], matmul.operands[1] = matmul.operands[1], matmul.operands[0]
    with pytest.raises(VerifyException):
        matmul.verify()


def test_properties_keep_the_sign_of_zero():
    for first, second in ((0.0, -0.0), (-0.0, 0.0)):
        texts = [str(F32.encode(value)) for value in (first, second)]
        assert texts[0] != texts[1]
