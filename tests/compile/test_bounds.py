"""Golden ranges: the interval that each rule of the range analysis computes from intervals with four different ends."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, bf16, f32
from xdsl.ir import Attribute, Block, SSAValue

from tt_xla.compiler.analysis import ranges
from tt_xla.compiler.analysis.ranges import BINARY, UNARY, bounds
from tt_xla.ir.base import tensor
from tt_xla.ir.properties import si32, ui8, ui32
from tt_xla.ir.ttir.creation import ArangeOp, ConstantOp
from tt_xla.ir.ttir.reduction import ArgmaxOp
from tt_xla.ir.ttir.structure import ClampScalarOp, ConcatOp, TypecastOp, WhereOp

pytestmark = pytest.mark.quick

SI32, UI32 = (-(2**31), 2**31 - 1), (0, 2**32 - 1)
SHAPE = (6,)


def argument(element: Attribute = si32, shape: Sequence[int] = SHAPE) -> SSAValue:
    return Block(arg_types=[tensor(shape, element)]).args[0]


def constant(*numbers: float, element: Attribute = si32) -> SSAValue:
    type_ = tensor((len(numbers),) if len(numbers) > 1 else SHAPE, element)
    data = DenseIntOrFPElementsAttr.from_list(type_, list(numbers))
    return ConstantOp.create(properties={"value": data}, result_types=[type_]).results[0]


def within(low: float, high: float, value: SSAValue | None = None, element: Attribute = si32) -> SSAValue:
    """Returns a value with a range: an argument that is clamped."""
    source = argument(element) if value is None else value
    return ClampScalarOp.make([source], [source.type], min=low, max=high).results[0]


def apply(name: str, *operands: SSAValue, element: Attribute = si32) -> SSAValue:
    kind = (BINARY if len(operands) == 2 else UNARY)[name]
    return kind.make(list(operands), [tensor(SHAPE, element)]).results[0]


def cast(value: SSAValue, element: Attribute) -> SSAValue:
    return TypecastOp.make([value], [tensor(SHAPE, element)]).results[0]


@pytest.mark.parametrize(
    ("name", "first", "second", "expected"),
    [
        ("add", (-3, 5), (10, 40), (7, 45)),
        ("add", (0, 2**31 - 1), (0, 1), SI32),  # wraps around
        ("subtract", (-3, 5), (10, 40), (-43, -5)),
        ("multiply", (-3, 5), (-10, 40), (-120, 200)),
        ("multiply", (-2, 2**20), (0, 2**12), SI32),
        ("maximum", (-3, 5), (1, 40), (1, 40)),
        ("maximum", (-3, 50), (1, 40), (1, 50)),
        ("minimum", (-3, 5), (1, 40), (-3, 5)),
        ("minimum", (-3, 50), (1, 40), (-3, 40)),
        ("remainder", (-30, 50), (2, 8), (-7, 7)),
        ("remainder", (-3, 5), (2, 8), (-3, 5)),
        ("remainder", (0, 50), (2, 8), (0, 7)),
        ("remainder", (-50, 0), (2, 8), (-7, 0)),
        ("remainder", (-30, 50), (0, 8), SI32),
        ("div", (7, 45), (2, 3), (2, 22)),
        ("div", (-7, 45), (2, 3), SI32),
        ("div", (7, 45), (0, 3), SI32),
        ("bitwise_and", (3, 45), (-8, 1000), (0, 45)),
        ("bitwise_and", (3, 45), (0, 12), (0, 12)),
        ("bitwise_and", (-3, 45), (-8, 1000), SI32),
        ("logical_right_shift", (0, 45), (2, 5), (0, 11)),
        ("logical_right_shift", (0, 45), (-1, 5), SI32),
        ("logical_right_shift", (0, 45), (32, 40), (0, 0)),
        ("logical_right_shift", (-45, 45), (1, 5), (0, 2**31 - 1)),
        ("logical_left_shift", (1, 45), (32, 40), (0, 0)),
        ("logical_left_shift", (1, 45), (31, 40), SI32),
    ],
)
def test_ranges_of_two_operands(
    name: str, first: tuple[int, int], second: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert bounds(apply(name, within(*first), within(*second))) == expected


def test_ranges_of_types_constants_and_positions() -> None:
    assert bounds(argument()) == SI32
    assert bounds(argument(ui32)) == UI32
    assert bounds(argument(ui8)) == (0, 255)
    assert bounds(argument(f32)) == (-math.inf, math.inf)
    assert bounds(constant(7)) == (7, 7)
    assert bounds(constant(7, -2, 9)) == (-2, 9)
    assert bounds(within(-3, 5)) == (-3, 5)
    assert bounds(within(3, 5, within(-9, 1))) == (3, 3)
    counted = ArangeOp.make([], [tensor((2, 6), si32)], start=20, end=2, step=-3, arange_dimension=1)
    assert bounds(counted.results[0]) == (5, 20)
    greatest = ArgmaxOp.make([argument(f32, (4, 5, 6))], [tensor((4,), si32)], dim_arg=(1, -1), keep_dim=False)
    assert bounds(greatest.results[0]) == (0, 29)
    joined = ConcatOp.make([[within(-3, 5), within(1, 40)]], [tensor((12,), si32)], dim=0)
    assert bounds(joined.results[0]) == (-3, 40)
    assert bounds(apply("sign", within(-3, 0))) == (-1, 0)
    assert bounds(apply("sign", within(2, 5))) == (1, 1)
    assert bounds(apply("lt", argument(), argument())) == (0, 1)


def test_ranges_of_casts() -> None:
    fraction, whole = within(-3.75, 5.75, element=f32), cast(within(-3, 5), f32)
    assert bounds(cast(fraction, si32)) == (-3, 5)
    assert bounds(cast(within(3.75, 5.75, element=f32), si32)) == (0, 5)  # a NaN becomes 0
    assert bounds(cast(cast(within(3, 5), f32), si32)) == (3, 5)  # and an integer is none
    assert bounds(cast(argument(f32), si32)) == SI32
    assert bounds(whole) == (-3, 5)
    assert bounds(cast(within(-3, 256), bf16)) == (-3, 256)
    low, high = bounds(cast(within(-3, 257), bf16))  # 257 is rounded, to 256 or to 258
    assert (low, 258 <= high < 260) == (-3, True)


def test_bounds_that_a_float_type_has_not_are_rounded_outwards() -> None:
    """A sum of 256 and 3 is 260 in bfloat16, and 0.1 in bfloat16 is more than 0.1."""
    total = apply("add", cast(within(0, 256), bf16), cast(within(3, 3), bf16), element=bf16)
    assert bounds(total).low == 3
    assert bounds(total).high >= 260
    tenth = bounds(cast(within(-0.1, 0.1, element=f32), bf16))
    assert tenth.low <= -0.10009765625
    assert tenth.high >= 0.10009765625
    assert bounds(apply("add", cast(within(0, 100), bf16), cast(within(3, 3), bf16), element=bf16)) == (3, 103)


def chosen(name: str, limit: int, first: SSAValue, second: SSAValue, subject: SSAValue) -> ranges.Range:
    predicate = apply(name, subject, constant(limit))
    return bounds(WhereOp.make([predicate, first, second], [tensor(SHAPE, si32)]).results[0])


def test_a_predicate_narrows_the_branches_that_are_its_subject() -> None:
    x, zero = within(-10, 20), constant(0)
    assert chosen("lt", 4, x, zero, x) == (-10, 3)
    assert chosen("lt", 4, zero, x, x) == (0, 20)
    assert chosen("ge", 4, x, constant(4), x) == (4, 20)
    assert chosen("ge", 4, zero, x, x) == (-10, 3)
    assert chosen("gt", 4, x, zero, x) == (-10, 20)  # not one of both tests
    assert chosen("lt", 4, x, zero, within(-10, 20)) == (-10, 20)  # of another value
    assert chosen("lt", -10, x, zero, x) == (-10, 20)  # never true


def test_a_predicate_narrows_its_subject_plus_a_constant() -> None:
    x, four = within(-10, 20), constant(4)
    wrapped = apply("add", x, constant(100))
    assert chosen("lt", 4, wrapped, constant(95), x) == (90, 103)
    assert chosen("ge", 4, apply("add", constant(100), x), constant(110), x) == (104, 120)
    assert chosen("lt", 0, apply("add", x, constant(10)), x, x) == (0, 20)  # an index from the end
    both = apply("add", x, x)
    assert chosen("lt", 4, both, four, x) == (-20, 40)  # no constant
    far = argument()
    moved = apply("add", far, constant(2**31 - 1))
    assert chosen("lt", 4, moved, four, far) == SI32  # wraps around
    assert chosen("lt", 0, moved, constant(-5), far) == (-5, 2**31 - 2)


def test_a_predicate_on_floats_narrows_nothing() -> None:
    """A float below -4 may be -4.5, which becomes the integer -4."""
    x = within(-10, 20, element=f32)
    predicate = apply("lt", x, constant(-4.0, element=f32))
    branch = WhereOp.make([predicate, x, constant(-20.0, element=f32)], [tensor(SHAPE, f32)]).results[0]
    assert bounds(branch) == (-20, 20)


def test_floats_that_are_integers() -> None:
    whole, fraction = cast(argument(), f32), argument(f32)
    assert ranges.is_integral(apply("add", whole, constant(2.0, element=f32), element=f32))
    assert not ranges.is_integral(apply("add", whole, constant(2.5, element=f32), element=f32))
    assert not ranges.is_integral(apply("div", whole, constant(2.0, element=f32), element=f32))
    assert not ranges.is_integral(apply("maximum", whole, fraction, element=f32))
    assert ranges.is_integral(apply("abs", whole, element=f32))
    assert not ranges.is_integral(cast(fraction, bf16))
