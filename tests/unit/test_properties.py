"""Tests of properties of ops, which are read and written as typed fields."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerAttr, f32, i1
from xdsl.ir import SSAValue

from tt_xla.ir import ttir, ttnn
from tt_xla.ir.base import TTOp, property_kinds, tensor
from tt_xla.ir.ttir.contraction import MatmulOp
from tt_xla.ir.ttir.creation import FullOp
from tt_xla.ir.ttir.reduction import SumOp
from tt_xla.ir.ttir.structure import PadOp, PermuteOp

pytestmark = pytest.mark.quick

SQUARE = tensor((4, 4), f32)


@pytest.fixture
def operand() -> SSAValue:
    return test.TestOp(result_types=[SQUARE]).results[0]


def test_fields_are_python_values(operand: SSAValue) -> None:
    permute = PermuteOp.make([operand], [SQUARE], permutation=(1, 0))
    assert permute.permutation == (1, 0)
    assert permute.value("permutation") == permute.permutation
    pad = PadOp.make([operand], [SQUARE], padding=(0, 0, 0, 0), value=-0.0)
    assert str(pad.value_) == "-0.0"
    assert FullOp.make([], [SQUARE], shape=(4, 4), fill_value=2).shape_ == (4, 4)


def test_absent_properties_have_their_default_or_none(operand: SSAValue) -> None:
    matmul = MatmulOp.make([operand, operand], [SQUARE])
    assert "transpose_a" not in matmul.properties
    assert matmul.transpose_a is False
    total = SumOp.make([operand], [SQUARE], keep_dim=True)
    assert total.dim_arg is None
    total.keep_dim = None  # type: ignore[assignment]
    with pytest.raises(KeyError, match="keep_dim"):
        _ = total.keep_dim


def test_writing_a_field_encodes_the_value(operand: SSAValue) -> None:
    matmul = MatmulOp.make([operand, operand], [SQUARE])
    matmul.transpose_a = True
    assert matmul.properties["transpose_a"] == IntegerAttr.from_bool(True)
    matmul.transpose_a = IntegerAttr(0, i1)
    assert matmul.transpose_a is False
    matmul.transpose_a = None
    assert "transpose_a" not in matmul.properties


OPS: list[Any] = [op for dialect in (ttir.dialect(), ttnn.dialect()) for op in dialect.operations]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_property_has_a_field(op: type[TTOp]) -> None:
    """No method of the base class hides a field, so ``op.<field>`` is always the property."""
    fields = {
        name: field for field, (name, kind) in op.get_irdl_definition().accessor_names.items() if kind == "property"
    }
    for name in property_kinds(op):
        assert isinstance(getattr(op, fields[name]), property)
        assert not hasattr(TTOp, fields[name])
