"""Elementwise kernels lie within about one rounding of float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tt_xla.runtime.emulator import truth as truths
from tt_xla.runtime.emulator.kernels import elementwise

pytestmark = pytest.mark.quick

BF16 = torch.bfloat16


def _erf(x):
    return np.vectorize(math.erf)(x)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


ALL = (-4.0, 4.0)
POSITIVE = (0.01, 4.0)
UNIT = (-0.99, 0.99)

UNARY = {
    "abs": (np.abs, ALL),
    "acos": (np.arccos, UNIT),
    "asin": (np.arcsin, UNIT),
    "asinh": (np.arcsinh, ALL),
    "atan": (np.arctan, ALL),
    "atanh": (np.arctanh, UNIT),
    "cbrt": (np.cbrt, ALL),
    "ceil": (np.ceil, ALL),
    "cos": (np.cos, ALL),
    "erf": (_erf, ALL),
    "erfc": (np.vectorize(math.erfc), ALL),
    "exp": (np.exp, ALL),
    "expm1": (np.expm1, ALL),
    "floor": (np.floor, ALL),
    "gelu": (lambda x: x * 0.5 * (1 + _erf(x / math.sqrt(2))), (-1.0, 4.0)),
    "hardsigmoid": (lambda x: np.clip(x + 3, 0, 6) / 6, ALL),
    "isfinite": (np.isfinite, ALL),
    "log": (np.log, POSITIVE),
    "log1p": (np.log1p, (-0.9, 4.0)),
    "logical_not": (lambda x: x == 0, ALL),
    "mish": (lambda x: x * np.tanh(np.log1p(np.exp(x))), ALL),
    "neg": (np.negative, ALL),
    "reciprocal": (np.reciprocal, POSITIVE),
    "relu": (lambda x: np.maximum(x, 0), ALL),
    "relu6": (lambda x: np.clip(x, 0, 6), (-4.0, 9.0)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE),
    "sigmoid": (_sigmoid, ALL),
    "sign": (np.sign, ALL),
    "silu": (lambda x: x * _sigmoid(x), ALL),
    "sin": (np.sin, ALL),
    "sqrt": (np.sqrt, POSITIVE),
    "tan": (np.tan, (-1.4, 1.4)),
    "tanh": (np.tanh, ALL),
}

ZERO_AT_ZERO = ["asin", "asinh", "atan", "atanh", "cbrt", "erf", "expm1", "log1p", "sin", "tan", "tanh"]

BINARY = {
    "add": np.add,
    "atan2": np.arctan2,
    "divide": np.divide,
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "lt": np.less,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "ne": np.not_equal,
    "remainder": np.fmod,
    "subtract": np.subtract,
}

INTEGER_BINARY = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "add": np.add,
    "multiply": np.multiply,
    "subtract": np.subtract,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "remainder": np.fmod,
    "eq": np.equal,
    "lt": np.less,
}


def samples(low, high, dtype, shape=(7, 40), seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=generator) * (high - low) + low).to(dtype)


def assert_rounded_once(result: torch.Tensor, exact: np.ndarray) -> None:
    """Checks a distance of at most 0.51 ULP for bfloat16 and 8 for float32, the error of torch's vector functions."""
    exact = torch.from_numpy(np.asarray(exact, dtype=np.float64))
    bits, allowed = (8, 0.51) if result.dtype is BF16 else (24, 8.0)
    _, exponent = torch.frexp(exact.abs().clamp(min=2.0**-126))
    unit = torch.ldexp(torch.ones_like(exact), exponent - bits)
    error = ((result.double() - exact).abs() / unit).max().item()
    assert error <= allowed, f"{error} units in the last place"


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("op", sorted(UNARY))
def test_unary(run_op, op, dtype):
    function, (low, high) = UNARY[op]
    x = samples(low, high, BF16 if dtype == "bf16" else torch.float32)
    assert_rounded_once(run_op(f"ttnn.{op}", {"input": x}, x.shape, dtype), function(x.double().numpy()))


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("op", ZERO_AT_ZERO)
def test_functions_that_are_0_at_0_keep_small_numbers(run_op, op, dtype):
    """PyTorch's vectorised erf of bfloat16 makes 0 of 1e-7."""
    function, _ = UNARY[op]
    exponents = torch.arange(-100, -4).repeat(3, 1)
    x = torch.ldexp(samples(1.0, 2.0, torch.float32, (3, 96)), exponents)
    x = x.to(BF16 if dtype == "bf16" else torch.float32)
    assert_rounded_once(run_op(f"ttnn.{op}", {"input": x}, x.shape, dtype), function(x.double().numpy()))


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_the_sign_of_a_nan_is_a_nan(run_op, dtype):
    x = torch.tensor([torch.nan, -2.0, torch.inf, 0.0]).to(BF16 if dtype == "bf16" else torch.float32)
    expected = torch.tensor([torch.nan, -1.0, 1.0, 0.0])
    torch.testing.assert_close(run_op("ttnn.sign", {"input": x}, x.shape, dtype).float(), expected, equal_nan=True)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("op", sorted(BINARY))
def test_binary(run_op, op, dtype):
    torch_dtype = BF16 if dtype == "bf16" else torch.float32
    # There are few different values, so that some are equal and some are zero. Both operands are broadcast.
    x = samples(-3, 3, torch_dtype, (7, 1)).round()
    y = samples(-3, 3, torch_dtype, (1, 40), 1).round()
    if op in ("add", "atan2", "multiply", "subtract", "divide", "remainder"):
        x, y = samples(-3, 3, torch_dtype, (7, 1)), samples(0.5, 3, torch_dtype, (1, 40), 1)
    exact = BINARY[op](x.double().numpy(), y.double().numpy())
    assert_rounded_once(run_op(f"ttnn.{op}", {"lhs": x, "rhs": y}, (7, 40), dtype), exact)


@pytest.mark.parametrize("op", sorted(INTEGER_BINARY))
def test_integers_wrap_at_32_bits(run_op, op):
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randint(-(2**31), 2**31, (50,), generator=generator, dtype=torch.int32) for _ in range(2))
    y[:5] = x[:5]
    expected = INTEGER_BINARY[op](x.numpy(), y.numpy()).astype(np.int32)
    assert run_op(f"ttnn.{op}", {"lhs": x, "rhs": y}, (50,), "si32").tolist() == expected.tolist()


def test_unsigned_integers_wrap(run_op):
    x, y = torch.tensor([2**32 - 1, 5, 0]), torch.tensor([1, 7, 1])
    assert run_op("ttnn.add", {"lhs": x, "rhs": y}, (3,), "u32").tolist() == [0, 12, 1]
    assert run_op("ttnn.subtract", {"lhs": x, "rhs": y}, (3,), "u32").tolist() == [2**32 - 2, 2**32 - 2, 2**32 - 1]
    assert run_op("ttnn.bitwise_not", {"input": x}, (3,), "u32").tolist() == [0, 2**32 - 6, 2**32 - 1]


def test_integer_division_as_stablehlo(run_op):
    low = -(2**31)
    x, y = torch.tensor([7, -7, 5, low], dtype=torch.int32), torch.tensor([2, 2, 0, -1], dtype=torch.int32)
    assert run_op("ttnn.divide", {"lhs": x, "rhs": y}, (4,), "si32").tolist() == [3, -3, -1, low]
    assert run_op("ttnn.remainder", {"lhs": x, "rhs": y}, (4,), "si32").tolist() == [1, -1, 5, 0]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_shifts(run_op, dtype):
    label = "si32" if dtype is torch.int32 else "u32"
    x, y = torch.tensor([1, 3, 2**31 - 1, 5, 5], dtype=dtype), torch.tensor([31, 1, 4, 32, 40], dtype=dtype)
    left = run_op("ttnn.logical_left_shift", {"lhs": x, "rhs": y}, (5,), label).tolist()
    assert left == [-(2**31) if label == "si32" else 2**31, 6, (-16 if label == "si32" else 2**32 - 16), 0, 0]
    right = run_op("ttnn.logical_right_shift", {"lhs": x, "rhs": y}, (5,), label).tolist()
    assert right == [0, 1, (2**31 - 1) >> 4, 0, 0]


def test_logical_right_shift_of_a_negative_brings_in_zeros(run_op):
    x, y = torch.tensor([-1, -8], dtype=torch.int32), torch.tensor([28, 1], dtype=torch.int32)
    assert run_op("ttnn.logical_right_shift", {"lhs": x, "rhs": y}, (2,), "si32").tolist() == [15, 2**31 - 4]


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_powers(run_op, dtype):
    torch_dtype = BF16 if dtype == "bf16" else torch.float32
    x, y = samples(0.1, 3, torch_dtype), samples(-2, 2, torch_dtype, seed=1)
    exact = np.power(x.double().numpy(), y.double().numpy())
    assert_rounded_once(run_op("ttnn.pow_tensor", {"lhs": x, "rhs": y}, x.shape, dtype), exact)
    assert_rounded_once(run_op("ttnn.pow_scalar", {"lhs": x}, x.shape, dtype, rhs=2.5), x.double().numpy() ** 2.5)
    assert_rounded_once(run_op("ttnn.pow_scalar", {"lhs": -x}, x.shape, dtype, rhs=3), -(x.double().numpy() ** 3))


def test_comparisons_give_one_and_zero(run_op):
    x, y = torch.tensor([1.0, 2.0, float("nan")], dtype=BF16), torch.tensor([1.0, 3.0, 0.0], dtype=BF16)
    for op, expected in {"eq": [1, 0, 0], "ne": [0, 1, 1], "lt": [0, 1, 0], "ge": [1, 0, 0]}.items():
        result = run_op(f"ttnn.{op}", {"lhs": x, "rhs": y}, (3,))
        assert result.dtype is BF16
        assert result.tolist() == expected


def test_where_takes_any_nonzero_predicate(run_op):
    p = torch.tensor([1.0, 0.0, -2.0, -0.0], dtype=BF16)
    x, y = torch.arange(4.0), -torch.ones(1)
    assert run_op("ttnn.where", {"first": p, "second": x, "third": y}, (4,), "f32").tolist() == [0, -1, 2, -1]


def test_clamps(run_op):
    x = torch.tensor([-5.0, 0.5, 5.0])
    assert run_op("ttnn.clamp_scalar", {"input": x}, (3,), "f32", min=-1.0, max=2.0).tolist() == [-1, 0.5, 2]
    low, high = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])
    assert run_op("ttnn.clamp_tensor", {"input": x, "min": low, "max": high}, (3,), "f32").tolist() == [0, 1, 3]
    integers = torch.tensor([-5, 1, 5], dtype=torch.int32)
    assert run_op("ttnn.clamp_scalar", {"input": integers}, (3,), "si32", min=-1, max=2).tolist() == [-1, 1, 2]


def test_leaky_relu(run_op):
    x = torch.tensor([-4.0, 4.0])
    assert run_op("ttnn.leaky_relu", {"input": x}, (2,), "f32", parameter=0.25).tolist() == [-1, 4]


GELU_APPROX = {
    -4.0: (0.0, 0.0),
    -2.5: (-0.019287109375, -0.019287109375),
    -1.75: (-0.0711669921875, -0.07080078125),
    -1.25: (-0.1312255859375, -0.130859375),
    -0.75: (-0.16497802734375, -0.1640625),
    -0.25: (-0.07691717147827148, -0.07666015625),
    0.0: (-0.00010442733764648438, -0.00010442733764648438),
    0.75: (0.58502197265625, 0.58203125),
    1.25: (1.1187744140625, 1.1171875),
    1.75: (1.6788330078125, 1.671875),
    2.5: (2.480712890625, 2.46875),
    3.5: (3.5, 3.5),
}
"""Results of ``ttnn.gelu(x, fast_and_approximate_mode=True)`` on Tenstorrent's simulator, in float32 and bfloat16."""


@pytest.mark.parametrize(("column", "dtype"), [(0, torch.float32), (1, BF16)])
def test_gelu_approx_has_the_bits_of_the_simulator(run_op, column, dtype):
    x = torch.tensor(list(GELU_APPROX), dtype=dtype)
    result = run_op("ttnn.gelu_approx", {"input": x}, x.shape, "bf16" if dtype is BF16 else "f32")
    assert result.tolist() == [values[column] for values in GELU_APPROX.values()]


def test_gelu_bw_is_the_derivative(run_op):
    x, gradient = samples(-3, 3, torch.float32), samples(-1, 1, torch.float32, seed=1)
    cdf = 0.5 * (1 + _erf(x.double().numpy() / math.sqrt(2)))
    pdf = np.exp(-(x.double().numpy() ** 2) / 2) / math.sqrt(2 * math.pi)
    expected = gradient.double().numpy() * (cdf + x.double().numpy() * pdf)
    result = run_op("ttnn.gelu_bw", {"lhs": gradient, "rhs": x}, x.shape, "f32")
    np.testing.assert_allclose(result.double().numpy(), expected, atol=1e-6)


def test_typecast_truncates_toward_zero_and_saturates(run_op):
    x = torch.tensor([1.9, -1.9, 3e9, -3e9, float("nan"), float("inf")])
    result = run_op("ttnn.typecast", {"input": x}, (6,), "si32").tolist()
    assert result == [1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1]
    assert run_op("ttnn.typecast", {"input": x}, (6,), "u32").tolist() == [1, 0, 3 * 10**9, 0, 0, 2**32 - 1]
    assert run_op("ttnn.typecast", {"input": torch.tensor([-1], dtype=torch.int32)}, (1,), "u32").tolist() == [
        2**32 - 1
    ]


def test_typecast_to_block_float_packs(run_op):
    from tt_xla.runtime.emulator.formats import quantize

    x = samples(-4, 4, BF16)
    result = run_op("ttnn.typecast", {"input": x}, x.shape, "bfp_bf8")
    assert result.dtype is BF16
    assert torch.equal(result.float(), quantize(x.float(), "bfp_bf8"))
    assert not torch.equal(result, x)
    moved = run_op("ttnn.to_device", {"input": result}, x.shape, "bfp_bf8", dtypes={"input": "bfp_bf8"})
    assert moved is result


def test_bitcast_keeps_bits(run_op):
    x = torch.tensor([1.0, -2.5])
    bits = run_op("ttnn.bitcast_convert", {"input": x}, (2,), "u32")
    assert bits.tolist() == [0x3F800000, 0xC0200000]
    assert run_op("ttnn.bitcast_convert", {"input": bits}, (2,), "f32").tolist() == [1.0, -2.5]


STEPS = {
    "add_unary_sfpu": lambda x: x + 0.75,
    "div_unary_sfpu": lambda x: x / 0.75,
    "mul_unary_sfpu": lambda x: x * 0.75,
    "power": lambda x: x**0.75,
    "rsub": lambda x: 0.75 - x,
    "sub_unary_sfpu": lambda x: x - 0.75,
}
PLAIN_STEPS = {"recip": np.reciprocal, "square": np.square, "sqrt": np.sqrt}


@pytest.mark.parametrize("step", sorted(STEPS | PLAIN_STEPS))
def test_functions_in_a_binary_op(run_op, step):
    function = (STEPS | PLAIN_STEPS)[step]
    field = {"op_type": step} | ({"params": (0.75,)} if step in STEPS else {})
    x, y = samples(*POSITIVE, BF16), samples(*POSITIVE, BF16, seed=1)
    exact_x, exact_y = x.double().numpy(), y.double().numpy()
    for side, exact in {
        "activations": function(exact_x + exact_y),
        "input_tensor_a_activations": function(exact_x) + exact_y,
        "input_tensor_b_activations": exact_x + function(exact_y),
    }.items():
        got = run_op("ttnn.add", {"lhs": x, "rhs": y}, x.shape, "bf16", **{side: (tuple(field.items()),)})
        assert_rounded_once(got, exact)


LARGE = (64, 80)
"""Shape with more elements than one call of torch chooses between."""


@pytest.mark.parametrize("dtype", [BF16, torch.float32, torch.int32], ids=str)
@pytest.mark.parametrize("condition", [BF16, torch.float32, torch.int32, torch.bool, torch.uint8], ids=str)
@pytest.mark.parametrize(
    "sizes", [(LARGE, LARGE), (LARGE, (1,)), ((1,), LARGE), ((80,), (64, 1)), (LARGE, (80,))], ids=str
)
def test_choices_by_bits_are_those_by_values(dtype, condition, sizes):
    generator = torch.Generator().manual_seed(0)
    truth = torch.randint(0, 3, LARGE, generator=generator).to(condition)
    if condition is BF16:
        truth[0, :2] = torch.tensor([-0.0, torch.nan])
    for zero in (False, True):
        values = [torch.randint(-9, 9, size, generator=generator).to(dtype) for size in sizes]
        if zero:
            values = [torch.zeros_like(value) if value.numel() == 1 else value for value in values]
        if dtype.is_floating_point:
            for value in values:
                value.view(-1)[:3] = torch.tensor([-0.0, torch.nan, -torch.inf])[: value.numel()] * (not zero)
        before = [value.clone() for value in (truth, *values)]
        got = truths.select(truth, *values)
        expected = torch.where(truth != 0, *values)
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
        if dtype.is_floating_point:
            assert torch.equal(torch.signbit(got), torch.signbit(expected))
        for value, original in zip((truth, *values), before, strict=True):
            torch.testing.assert_close(value, original, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("condition", [BF16, torch.int32, torch.bool], ids=str)
def test_rows_are_chosen_or_one_number(condition):
    rows = torch.tensor([0, 1, 2, 0] * 16).reshape(64, 1).to(condition)
    if condition is BF16:
        rows[:2, 0] = torch.tensor([torch.nan, -0.0])
    values = torch.linspace(-4, 4, 5120).reshape(LARGE).to(BF16)
    for other in (torch.zeros(1, dtype=BF16), torch.full((1, 1), torch.nan, dtype=BF16)):
        got = truths.select(rows, values, other)
        torch.testing.assert_close(got, torch.where(rows != 0, values, other), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [BF16, torch.float32])
def test_what_is_true_is_one(dtype):
    x = torch.linspace(-1, 1, 5120).reshape(LARGE).to(dtype)
    x[0, 0] = torch.nan
    for function in (torch.lt, torch.ne, torch.logical_or):
        got = truths.compare(function, x, x.flip(0))
        assert got.dtype is dtype
        assert torch.equal(got, function(x, x.flip(0)).to(dtype))
        assert torch.equal(truths.as_float(function(x, x.flip(0)), dtype), got)


def test_steps_in_float32_of_a_large_tensor_are_those_of_a_small_one(run_op):
    x, y = samples(*POSITIVE, BF16), samples(*POSITIVE, BF16, seed=1)
    scale = {"input_tensor_a_activations": ((("op_type", "mul_unary_sfpu"), ("params", (0.7,))),)}
    small = run_op("ttnn.add", {"lhs": x, "rhs": y}, x.shape, "bf16", **scale)
    times = 2 * elementwise.PIECE // x.numel() + 1
    many = [tensor.repeat(times, *(1,) * (x.ndim - 1)) for tensor in (x, y)]
    large = run_op("ttnn.add", dict(zip(("lhs", "rhs"), many, strict=True)), many[0].shape, "bf16", **scale)
    assert torch.equal(large, small.repeat(times, *(1,) * (x.ndim - 1)))
