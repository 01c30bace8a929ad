"""The moreh functions and their gradients are those of PyTorch, for each optional argument."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.registry import find

pytestmark = pytest.mark.quick

Tensor = torch.Tensor


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def call(op: str, *operands: Any, **attributes: Any) -> Any:
    return find(f"ttnn.{op}").function(None, *operands, **attributes)


def close(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


X = numbers(2, 3, 4, 5)
Y = numbers(2, 3, 4, 5, seed=1)
VECTOR = numbers(1, 1, 1, 6, seed=2)
LEFT, RIGHT = numbers(2, 3, 4, seed=3), numbers(2, 4, 5, seed=4)


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "expected"),
    [
        ("moreh_sum", [X], {}, X.sum().reshape(1, 1)),
        ("moreh_sum", [X], {"dim": [1, -1]}, X.sum((1, 3)).unsqueeze(-1)),
        ("moreh_sum", [X], {"dim": 1, "keepdim": True}, X.sum(1, keepdim=True)),
        ("moreh_sum", [X], {"dim": 2}, X.sum(2, keepdim=True)),
        ("moreh_sum", [torch.tensor([[2**24, 1]])], {"dim": 1}, torch.tensor([[2**24 + 1]])),
        ("moreh_mean", [X], {"dim": (0, 2)}, X.mean((0, 2), keepdim=True)[0]),
        ("moreh_mean", [X], {"dim": 0, "keepdim": True, "divisor": 7}, X.sum(0, keepdim=True) / 7),
        ("moreh_norm", [X, 3.0], {"dim": [1, 2]}, torch.linalg.vector_norm(X, 3, (1, 2), keepdim=True)[:, 0]),
        ("moreh_norm", [X, 1.0], {"dim": 0, "keepdim": True}, X.abs().sum(0, keepdim=True)),
        ("moreh_abs_pow", [X, 3.0], {}, X.abs() ** 3),
        ("moreh_arange", [9], {"start": 2, "step": 3}, torch.tensor([2.0, 5.0, 8.0])),
        ("moreh_arange", [3], {}, torch.tensor([0.0, 1.0, 2.0])),
        ("moreh_full", [[2, 3], 1.5], {}, torch.full((2, 3), 1.5)),
        ("moreh_full_like", [X, -2.5], {}, torch.full((2, 3, 4, 5), -2.5)),
        ("moreh_full_like", [torch.zeros(2, dtype=torch.int32), 3], {}, torch.full((2,), 3, dtype=torch.int32)),
        ("moreh_dot", [VECTOR, VECTOR + 1], {}, (VECTOR * (VECTOR + 1)).sum().reshape(1, 1, 1, 1)),
        ("moreh_matmul", [LEFT, RIGHT], {}, LEFT @ RIGHT),
        (
            "moreh_matmul",
            [LEFT.mT, RIGHT.mT],
            {"transpose_input": True, "transpose_other": True, "bias": VECTOR[0, 0, :, :5]},
            LEFT @ RIGHT + VECTOR[0, 0, :, :5],
        ),
        ("moreh_bmm", [LEFT, RIGHT], {}, LEFT @ RIGHT),
        ("moreh_linear", [LEFT, RIGHT[0].mT], {}, LEFT @ RIGHT[0]),
        ("moreh_linear", [LEFT, RIGHT[0].mT], {"bias": VECTOR[0, 0, :, :5]}, LEFT @ RIGHT[0] + VECTOR[0, 0, :, :5]),
        (
            "moreh_getitem",
            [X, [torch.tensor([[2, 0]]), torch.tensor([[1, 3]])], [1, 2]],
            {},
            X[:, [2, 0], [1, 3]],
        ),
        ("moreh_fold", [numbers(2, 12, 20), [5, 6], [2, 2]], {}, F.fold(numbers(2, 12, 20), (5, 6), (2, 2))),
        (
            "moreh_fold",
            [numbers(1, 6, 12), [6, 5], [2, 3]],
            {"dilation": [2, 1], "padding": [0, 1], "stride": [1, 2]},
            F.fold(numbers(1, 6, 12), (6, 5), (2, 3), (2, 1), (0, 1), (1, 2)),
        ),
        ("moreh_softmax", [X, 1, "SOFTMAX"], {}, X.softmax(1)),
        ("moreh_softmin", [X, 2, "SOFTMIN"], {}, F.softmin(X, 2)),
        ("moreh_logsoftmax", [X, 3, "LOGSOFTMAX"], {}, X.log_softmax(3)),
        ("moreh_softmax_backward", [X.softmax(1), Y, 1, "SOFTMAX"], {}, 0),
        ("moreh_softmin_backward", [F.softmin(X, 2), Y, 2, "SOFTMIN"], {}, 0),
        ("moreh_logsoftmax_backward", [X.log_softmax(3), Y, 3, "LOGSOFTMAX"], {}, 0),
    ],
)
def test_reductions_products_and_shapes(
    op: str, operands: list[Any], attributes: dict[str, Any], expected: Any
) -> None:
    if op.endswith("_backward"):
        function = {"SOFTMAX": torch.softmax, "SOFTMIN": F.softmin, "LOGSOFTMAX": torch.log_softmax}[operands[3]]
        (expected,) = gradients(lambda x: function(x, operands[2]), Y, X)
    close(call(op, *operands, **attributes), expected)


def gradients(function: Any, grad: Tensor, *operands: Tensor) -> tuple[Tensor, ...]:
    """Returns the gradients of PyTorch."""
    leaves = [operand.clone().requires_grad_() for operand in operands]
    return torch.autograd.grad(function(*leaves), leaves, grad)


@pytest.mark.parametrize("dims", [None, 1, (0, -1)])
def test_gradients_of_reductions(dims: Any) -> None:
    axes = list(range(4)) if dims is None else dims
    grad = numbers(*X.sum(axes, keepdim=True).shape, seed=5)
    (of_sum,) = gradients(lambda x: x.sum(axes, keepdim=True), grad, X)
    (of_mean,) = gradients(lambda x: x.mean(axes, keepdim=True), grad, X)
    close(call("moreh_sum_backward", grad, X, dim=dims), of_sum)
    close(call("moreh_mean_backward", grad, dim=dims, input_grad_shape=[2, 3, 4, 5]), of_mean)
    close(call("moreh_mean_backward", grad, dim=dims, input_grad=X), of_mean)
    for p in (0.0, 1.0, 2.5, math.inf):
        norm = torch.linalg.vector_norm(X, p, axes, keepdim=True)
        if p:
            (expected,) = gradients(lambda x, p=p: torch.linalg.vector_norm(x, p, axes, keepdim=True), grad, X)
        else:
            expected = torch.zeros_like(X)
        close(call("moreh_norm_backward", X, norm, grad, p, dim=dims), expected)


def test_gradients_of_reductions_without_a_shape() -> None:
    row = X[:, :1]
    close(call("moreh_sum_backward", row, dim=1), row)
    close(call("moreh_mean_backward", row, dim=1), row)
    zeros = torch.zeros(1, 2)
    close(call("moreh_norm_backward", zeros, zeros[:, :1], torch.ones(1, 1), 2.0, dim=1), zeros)


def test_gradients_of_products() -> None:
    grad = numbers(2, 3, 5, seed=6)
    assert [each.shape for each in call("moreh_matmul_backward", grad, LEFT, RIGHT[:1])] == [(2, 3, 4), (1, 4, 5)]
    close(call("moreh_matmul_backward", grad, LEFT, RIGHT[:1]), gradients(torch.matmul, grad, LEFT, RIGHT[:1]))
    close(call("moreh_matmul_backward", grad, LEFT[:1], RIGHT), gradients(torch.matmul, grad, LEFT[:1], RIGHT))
    close(call("moreh_bmm_backward", grad, LEFT, RIGHT), gradients(torch.bmm, grad, LEFT, RIGHT))
    one = torch.full((1, 1, 1, 1), 3.0)
    close(call("moreh_dot_backward", one, VECTOR, VECTOR + 1), (3 * (VECTOR + 1), 3 * VECTOR))
    weight, bias = RIGHT[0].mT.contiguous(), numbers(1, 5)
    close(call("moreh_linear_backward", grad, LEFT, weight), gradients(F.linear, grad, LEFT, weight))
    for each in (bias, bias[:, :1]):
        expected = gradients(lambda x, w, b: x @ w.mT + b, grad, LEFT, weight, each)
        close(call("moreh_linear_backward", grad, LEFT, weight, each), expected)


SCALE, SHIFT = numbers(1, 1, 4, 5, seed=7), numbers(1, 1, 4, 5, seed=8)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("parameters", [(), ("gamma",), ("gamma", "beta")])
def test_layer_norm(count: int, parameters: tuple[str, ...]) -> None:
    sizes = X.shape[4 - count :]
    weights = {"gamma": numbers(*sizes, seed=7), "beta": numbers(*sizes, seed=8)}
    chosen = {name: weights[name] for name in parameters}
    result, mean, rstd = call("moreh_layer_norm", X, count, 0.25, **chosen)
    close(result, F.layer_norm(X, sizes, weights.get("gamma") if chosen else None, chosen.get("beta"), 0.25))
    axes = tuple(range(4 - count, 4))
    shape = {1: (2, 3, 4), 2: (2, 3), 4: (1, 1)}[count]
    close(mean, X.mean(axes).reshape(shape))
    close(rstd, (X.var(axes, correction=0) + 0.25).rsqrt().reshape(shape))
    scale = chosen.get("gamma", torch.ones(sizes))
    expected = gradients(lambda x, w, b: F.layer_norm(x, sizes, w, b, 0.25), Y, X, scale, torch.zeros(sizes))
    gamma = chosen.get("gamma")
    close(call("moreh_layer_norm_backward", Y, X, mean, rstd, count, gamma), expected)


def test_layer_norm_of_vectors() -> None:
    """Statistics of one remaining dimension are a row; the small number is 1e-5 unless given."""
    result, mean, _ = call("moreh_layer_norm", X[0, 0] * 1e-3, 1)
    close(result, F.layer_norm(X[0, 0] * 1e-3, (5,), eps=1e-5))
    assert mean.shape == (1, 4)


@pytest.mark.parametrize("scaled", [False, True])
def test_group_norm(scaled: bool) -> None:
    x, grad = numbers(2, 6, 2, 5), numbers(2, 6, 2, 5, seed=1)
    gamma, beta = (numbers(1, 1, 1, 6, seed=7), numbers(1, 1, 1, 6, seed=8)) if scaled else (None, None)
    result, mean, rstd = call("moreh_group_norm", x, 3, 0.25, gamma, beta)
    weight = torch.ones(6) if gamma is None else gamma.flatten()
    bias = torch.zeros(6) if beta is None else beta.flatten()
    close(result, F.group_norm(x, 3, weight, bias, 0.25))
    groups = x.reshape(1, 1, 2, 3, -1)
    close((mean, rstd), (groups.mean(-1), (groups.var(-1, correction=0) + 0.25).rsqrt()))
    first, *sums = gradients(lambda *each: F.group_norm(each[0], 3, each[1], each[2], 0.25), grad, x, weight, bias)
    expected = (first, *(each.reshape(1, 1, 1, 6) for each in sums))
    close(call("moreh_group_norm_backward", grad, x, mean, rstd, 3, gamma), expected)
    close(call("moreh_group_norm", x * 1e-3, 3)[0], F.group_norm(x * 1e-3, 3))


TARGETS = torch.tensor([1, 3, 0, 2, 3], dtype=torch.int32)
LOGITS = numbers(5, 4).log_softmax(1)
WEIGHTS = torch.tensor([0.5, 2.0, 1.0, 3.0])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(("weight", "ignored", "divisor"), [(None, -100, 5.0), (None, 3, 3.0), (WEIGHTS, 3, 3.5)])
def test_losses(reduction: str, weight: Tensor | None, ignored: int, divisor: float) -> None:
    loss, count = call("moreh_nll_loss", LOGITS, TARGETS, reduction, weight, ignored)
    long = TARGETS.long()
    exact = F.nll_loss(LOGITS, long, weight, ignore_index=ignored, reduction=reduction)
    close(loss, exact.reshape(1, -1))
    close(count, torch.tensor([divisor]))
    grad = numbers(5, seed=4) if reduction == "none" else torch.tensor(3.0)
    (expected,) = gradients(
        lambda x: F.nll_loss(x, long, weight, ignore_index=ignored, reduction=reduction), grad, LOGITS
    )
    mean = reduction == "mean"
    more = [weight, None, ignored]
    close(call("moreh_nll_loss_backward", TARGETS, grad, LOGITS, mean, *more), expected)
    more[1] = torch.tensor([2 * divisor])
    halved = expected / 2 if mean else expected
    close(call("moreh_nll_loss_backward", TARGETS, grad, LOGITS, mean, *more), halved)


def test_losses_of_images_and_of_shapes() -> None:
    logits, targets = numbers(2, 3, 4).log_softmax(1), torch.tensor([[0, 1, 2, -100], [2, 2, 1, 0]])
    loss, count = call("moreh_nll_loss", logits, targets, "none", torch.tensor([[1.0, 2.0, 4.0]]))
    close(loss, F.nll_loss(logits, targets, torch.tensor([1.0, 2.0, 4.0]), reduction="none"))
    close(count, torch.tensor([18.0]))
    beyond = torch.tensor([[0, 3, -1, -100], [2, 2, 1, 0]])
    gradient = call("moreh_nll_loss_backward", beyond, torch.ones(1), logits)
    assert gradient[0].tolist() == [[-1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    meta = logits.to("meta")
    specs = [(each.shape, each.dtype) for each in call("moreh_nll_loss", meta, targets.to("meta"), "mean")]
    assert specs == [((1, 1), torch.float32), ((1,), torch.float32)]
    assert call("moreh_nll_loss_backward", targets.to("meta"), meta, meta).shape == (2, 3, 4)


def test_clipped_gradients() -> None:
    pair = [torch.tensor([3.0, 0.0]), torch.tensor([[-4.0]])]
    total, first, second = call("moreh_clip_grad_norm", pair, 2.5)
    close([total, first, second], [torch.tensor([5.0]), torch.tensor([1.5, 0.0]), torch.tensor([[-2.0]])])
    total, first, _ = call("moreh_clip_grad_norm", pair, 8.0, 1.0)
    close([total, first], [torch.tensor([7.0]), pair[0]])
    infinite = [torch.tensor([math.inf])]
    with pytest.raises(RuntimeError, match=r"order 2.0 for gradients .* is non-finite"):
        call("moreh_clip_grad_norm", infinite, 1.0, error_if_nonfinite=True)
    assert call("moreh_clip_grad_norm", infinite, 1.0)[0].tolist() == [math.inf]


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("decoupled", [False, True])
def test_adam(amsgrad: bool, decoupled: bool) -> None:
    """Three steps are those of PyTorch's optimizer."""
    make = torch.optim.AdamW if decoupled else torch.optim.Adam
    leaf = X.clone().requires_grad_()
    optimizer = make([leaf], 0.3, (0.7, 0.9), 0.01, 0.25, amsgrad)
    param, first, second, greatest = X, *(torch.zeros_like(X) for _ in range(3))
    for step in (1, 2, 3):
        leaf.grad = numbers(*X.shape, seed=step) / step
        optimizer.step()
        numerals = (0.3, 0.7, 0.9, 0.01, 0.25, step, amsgrad)
        maximum = greatest if amsgrad else None
        results = call("moreh_adam", param, leaf.grad, first, second, *numerals, maximum, decoupled)
        param, first, second = results[:3]
        assert len(results) == 3 + amsgrad
        greatest = results[-1]
    close(param, leaf.detach())


@pytest.mark.parametrize("momentum", [0.0, 0.6])
@pytest.mark.parametrize(("nesterov", "dampening"), [(False, 0.25), (True, 0.0)])
def test_sgd(momentum: float, nesterov: bool, dampening: float) -> None:
    """Three steps are those of PyTorch's optimizer."""
    leaf, nesterov = X.clone().requires_grad_(), nesterov and momentum > 0
    optimizer = torch.optim.SGD([leaf], 0.3, momentum, dampening, 0.25, nesterov)
    param, buffer = X, None
    for step in (1, 2, 3):
        leaf.grad = numbers(*X.shape, seed=step)
        optimizer.step()
        settings = (0.3, momentum, dampening, 0.25, nesterov, step > 1)
        result = call("moreh_sgd", param, leaf.grad, buffer, *settings)
        param, buffer = result if momentum else (result, None)
    close(param, leaf.detach())


def test_defaults_of_sgd() -> None:
    close(call("moreh_sgd", X, Y), X - 1e-3 * Y)
