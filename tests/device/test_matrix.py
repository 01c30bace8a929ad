"""The matrix unit: the bits its sources keep, its fidelity phases and accumulator, and matmul and linear on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tt_xla.errors import ExecutionError
from tt_xla.runtime.emulator.matrix_unit import mark_cut, significant

pytestmark = pytest.mark.quick

BF16 = torch.bfloat16
RunOp = Callable[..., torch.Tensor]
Activation = Callable[[torch.Tensor], torch.Tensor]


def samples(*shape: int, dtype: torch.dtype = BF16, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def cut(x: torch.Tensor, bits: int) -> np.ndarray:
    """Drops all but ``bits`` significant bits of float64, by arithmetic on fractions."""
    fraction, exponent = np.frexp(x.double().numpy())
    return np.ldexp(np.trunc(np.ldexp(fraction, bits)), exponent - bits)


def rounded(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(x).to(torch.float32).to(BF16)


@pytest.mark.parametrize("dtype", [BF16, torch.float32])
@pytest.mark.parametrize("bits", [5, 7, 10, 11])
def test_significant_bits(dtype: Any, bits: int) -> None:
    x = samples(1000, dtype=dtype)
    assert np.array_equal(significant(x, bits).double().numpy(), cut(x, bits))


def test_what_was_cut_before_is_not_cut_again():
    x = significant(torch.randn(40), 11)
    mark_cut(x, 11)
    assert significant(x, 11) is x
    assert np.array_equal(significant(x, 7).double().numpy(), cut(x, 7))
    assert significant(x.view(5, 8), 11) is not x


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("level", ["lofi", "hifi2", "hifi3", "hifi4"])
def test_math_fidelity(run_op: RunOp, level: str, dtype: Any) -> None:
    torch_dtype = BF16 if dtype == "bf16" else torch.float32
    a, b = samples(9, 20, dtype=torch_dtype), samples(20, 11, dtype=torch_dtype, seed=1)
    a_full, b_full, a_high, b_high = cut(a, 11), cut(b, 10), cut(a, 7), cut(b, 5)
    exact = {
        "lofi": a_high @ b_high,
        "hifi2": a_high @ b_full,
        "hifi3": a_full @ b_full - (a_full - a_high) @ (b_full - b_high),
        "hifi4": a_full @ b_full,
    }
    config = {"math_fidelity": level, "fp32_dest_acc_en": True}
    result = run_op("ttnn.matmul", {"a": a, "b": b}, (9, 11), dtype, compute_config=config)
    tolerance: dict[str, Any] = {"rtol": 2**-8, "atol": 1e-6} if dtype == "bf16" else {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(result.double().numpy(), exact[level], **tolerance)
    errors = {name: np.abs(result.double().numpy() - value).max() for name, value in exact.items()}
    # The last phase adds less than a bfloat16 can show.
    equivalent = {"hifi3", "hifi4"} if dtype == "bf16" and level in ("hifi3", "hifi4") else {level}
    assert min(errors, key=lambda name: errors[name]) in equivalent


@pytest.mark.parametrize("op", ["ttnn.matmul", "ttnn.linear"])
def test_an_activation_in_the_program_config_is_applied(run_op: RunOp, op: str) -> None:
    a, b = samples(9, 20), samples(20, 11, seed=1)
    config = {"config": "multi_cast", "fused_activation": {"op_type": "relu"}}
    result = run_op(op, {"a": a, "b": b}, (9, 11), "bf16", numerics="exact", matmul_program_config=config)
    torch.testing.assert_close(result, torch.relu(a @ b))


def test_exact_numerics_drops_nothing(run_op: RunOp) -> None:
    a, b = samples(9, 20, dtype=torch.float32), samples(20, 11, dtype=torch.float32, seed=1)
    config = {"math_fidelity": "lofi", "fp32_dest_acc_en": False}
    result = run_op("ttnn.matmul", {"a": a, "b": b}, (9, 11), "f32", numerics="exact", compute_config=config)
    np.testing.assert_allclose(result.double().numpy(), a.double().numpy() @ b.double().numpy(), rtol=1e-5, atol=1e-5)


def test_mixed_types_keep_what_each_operand_has(run_op: RunOp) -> None:
    a, b = samples(9, 20, dtype=torch.float32), samples(20, 11, seed=1)
    result = run_op("ttnn.matmul", {"a": a, "b": b}, (9, 11), "f32")
    np.testing.assert_allclose(result.double().numpy(), cut(a, 11) @ b.double().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_a_float32_result_of_bfloat16_operands_is_not_rounded_to_bfloat16(
    run_op: RunOp, batch: tuple[int, ...]
) -> None:
    a, b = samples(*batch, 9, 20), samples(*batch, 20, 11, seed=1)
    result = run_op("ttnn.matmul", {"a": a, "b": b}, (*batch, 9, 11), "f32")
    np.testing.assert_allclose(result.double().numpy(), a.double().numpy() @ b.double().numpy(), rtol=1e-5, atol=1e-5)


def test_a_16_bit_accumulator_rounds_after_each_tile(run_op: RunOp) -> None:
    a, b = samples(5, 100), samples(100, 6, seed=1)
    total = np.zeros((5, 6))
    for start in range(0, 100, 32):
        part = slice(start, start + 32)
        step = a[:, part].double().numpy() @ b[part].double().numpy()
        total = rounded(total + step).double().numpy()
    config = {"math_fidelity": "hifi4", "fp32_dest_acc_en": False}
    result = run_op("ttnn.matmul", {"a": a, "b": b}, (5, 6), compute_config=config)
    assert np.array_equal(result.double().numpy(), total)
    assert not torch.equal(result, run_op("ttnn.matmul", {"a": a, "b": b}, (5, 6)))


@pytest.mark.parametrize("acc", [True, False])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_batches_broadcast_and_operands_transpose(
    run_op: RunOp, transpose_a: bool, transpose_b: bool, acc: bool
) -> None:
    a, b = samples(2, 1, 4, 5), samples(3, 5, 6, seed=1)
    exact = rounded(np.matmul(a.double().numpy(), b.double().numpy()))
    a = a.transpose(-2, -1).contiguous() if transpose_a else a
    b = b.transpose(-2, -1).contiguous() if transpose_b else b
    config = {"fp32_dest_acc_en": acc}
    transposed = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    result = run_op("ttnn.matmul", {"a": a, "b": b}, (2, 3, 4, 6), **transposed, compute_config=config)
    torch.testing.assert_close(result, exact, rtol=2**-7, atol=1e-3)


@pytest.mark.parametrize("level", ["hifi3", "hifi4"])
@pytest.mark.parametrize("bias_shape", [(6,), (1, 6), (1, 1, 1, 6), (4, 6)])
@pytest.mark.parametrize("acc", [True, False])
def test_linear_adds_the_bias(run_op: RunOp, bias_shape: tuple[int, ...], acc: bool, level: str) -> None:
    a, b, bias = samples(3, 4, 5, dtype=torch.float32), samples(5, 6, dtype=torch.float32), samples(*bias_shape) * 8
    bias = bias.float()
    exact = cut(a, 11) @ cut(b, 10) + bias.double().numpy()
    shape = np.broadcast_shapes(exact.shape, (3, 4, 6))
    config = {"math_fidelity": level, "fp32_dest_acc_en": acc}
    shape = exact.shape
    result = run_op("ttnn.linear", {"a": a, "b": b, "bias": bias}, shape, "f32", compute_config=config)
    np.testing.assert_allclose(result.double().numpy(), exact, rtol=2**-7, atol=0.05)


def test_linear_in_bfloat16_rounds_once(run_op: RunOp) -> None:
    a, b, bias = samples(40, 64), samples(64, 24, seed=1), samples(24, seed=2)
    exact = rounded(a.double().numpy() @ b.double().numpy() + bias.double().numpy())
    result = run_op("ttnn.linear", {"a": a, "b": b, "bias": bias}, (40, 24))
    assert (result != exact).float().mean() < 0.01
    torch.testing.assert_close(result, exact, rtol=2**-7, atol=1e-3)


@pytest.mark.parametrize("op", ["ttnn.matmul", "ttnn.linear"])
@pytest.mark.parametrize(
    ("activation", "function"),
    [("relu", torch.relu), ("gelu", torch.nn.functional.gelu), ("silu", torch.nn.functional.silu)],
)
def test_fused_activations(run_op: RunOp, op: str, activation: str, function: Activation) -> None:
    a, b = samples(4, 5), samples(5, 6, seed=1)
    plain = run_op(op, {"a": a, "b": b}, (4, 6))
    torch.testing.assert_close(run_op(op, {"a": a, "b": b}, (4, 6), activation=activation), function(plain))


def test_an_unknown_activation_is_named(run_op: RunOp) -> None:
    with pytest.raises(ValueError, match="'rulu' is unknown"):
        run_op("ttnn.matmul", {"a": samples(4, 5), "b": samples(5, 6)}, (4, 6), activation="rulu")


def test_an_unknown_fidelity_is_named(run_op: RunOp) -> None:
    with pytest.raises(ExecutionError, match="'hifi5'"):
        run_op(
            "ttnn.matmul", {"a": samples(4, 5), "b": samples(5, 6)}, (4, 6), compute_config={"math_fidelity": "hifi5"}
        )
