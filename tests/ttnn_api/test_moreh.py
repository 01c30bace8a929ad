"""Every optional argument of the moreh functions, with values that change the result, beside torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from tests.ttnn_api.conftest import Card, close, drawn

pytestmark = pytest.mark.quick


@torch.no_grad()
def sgd_steps(steps: int, **options: Any) -> torch.Tensor:
    """Returns the parameters after steps of torch's SGD, all with the same gradient."""
    parameter, buffers = drawn(32, 64), [None]
    defaults = {"momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False, "maximize": False}
    for _ in range(steps):
        sgd([parameter], [drawn(32, 64, seed=1)], buffers, **defaults | options)
    return parameter


@torch.no_grad()
def adam_steps(steps: int, *, decoupled: bool, **options: Any) -> torch.Tensor:
    """Returns the parameters after steps of torch's Adam, or of AdamW (``decoupled``), all with the same gradient."""
    parameter, count = drawn(32, 64), torch.tensor(0.0)
    first, second, greatest = torch.zeros(3, 32, 64)
    for _ in range(steps):
        lists = [[each] for each in (parameter, drawn(32, 64, seed=1), first, second, greatest, count)]
        adam(*lists, maximize=False, decoupled_weight_decay=decoupled, **options)
    return parameter


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight_decay": 0.25},
        {"momentum": 0.75, "dampening": 0.5},
        {"momentum": 0.75, "weight_decay": 0.25},
        {"momentum": 0.75, "weight_decay": 0.25, "nesterov": True},
    ],
)
def test_two_steps_of_sgd(card: Card, options: dict[str, Any]) -> None:
    grad = drawn(32, 64, seed=1)
    first, buffer = card("moreh_sgd", drawn(32, 64), grad, lr=0.5, momentum_initialized=False, **options)
    close(first, sgd_steps(1, lr=0.5, **options))
    second, _ = card("moreh_sgd", first, grad, buffer, lr=0.5, momentum_initialized=True, **options)
    close(second, sgd_steps(2, lr=0.5, **options))


@pytest.mark.parametrize("name", ["moreh_adam", "moreh_adamw"])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_two_steps_of_adam(card: Card, name: str, amsgrad: bool) -> None:
    zero, grad = torch.zeros(32, 64), drawn(32, 64, seed=1)
    options = {"lr": 0.1, "beta1": 0.5, "beta2": 0.75, "eps": 0.25, "weight_decay": 0.5, "amsgrad": amsgrad}
    state = [drawn(32, 64), zero, zero, zero if amsgrad else None]
    for step in (1, 2):
        more = {"max_exp_avg_sq_in": state[3]} if amsgrad else {}
        state = card(name, state[0], grad, *state[1:3], step=step, **options, **more)
        close(state[0], adam_steps(step, decoupled=name == "moreh_adamw", **options))
        assert (state[3] is not None) == amsgrad


def test_the_greatest_second_moment_of_adam_does_not_fall(card: Card) -> None:
    zero, large = torch.zeros(32, 64), torch.full((32, 64), 9.0)
    options = {"lr": 1.0, "beta1": 0.0, "beta2": 0.5, "eps": 0.0, "step": 1, "amsgrad": True}
    result, _, second, greatest = card(
        "moreh_adam", zero, torch.ones(32, 64), zero, zero, max_exp_avg_sq_in=large, **options
    )
    close(second, torch.full_like(zero, 0.5))
    close(greatest, large)
    close(result, torch.full_like(zero, -1 / (9.0 / (1 - 0.5)) ** 0.5))


def test_gradients_are_clipped_by_any_norm(card: Card) -> None:
    gradients = [drawn(32, 64), drawn(64, 32, seed=1)]
    inputs = card.put(gradients)
    total = card.ttnn.moreh_clip_grad_norm(inputs, 3.0, 4.0, False)
    expected = torch.linalg.vector_norm(torch.cat([each.flatten() for each in gradients]), 4)
    close(card.back(total), expected.reshape(1))
    for result, gradient in zip(inputs, gradients, strict=True):
        close(card.back(result), gradient * 3.0 / expected)
    card.ttnn.moreh_clip_grad_norm(inputs, 100.0, 4.0, False)  # already smaller, so nothing changes
    close(card.back(inputs[0]), gradients[0] * 3.0 / expected)
    endless = card.put([torch.full((32, 32), torch.inf)])
    card.ttnn.moreh_clip_grad_norm(endless, 1.0)
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        card.ttnn.moreh_clip_grad_norm(endless, 1.0, 2.0, True)


def test_reductions_keep_the_last_two_dimensions(card: Card) -> None:
    x = drawn(2, 3, 32, 64)
    close(card("moreh_sum", x, 1), x.sum(1))
    close(card("moreh_mean", x, dim=[0, 3]), x.mean((0, 3)).unsqueeze(-1))
    close(card("moreh_norm", x, 3.0, dim=2), torch.linalg.vector_norm(x, 3, 2, keepdim=True))
    close(card("moreh_cumsum", x, 1), x.cumsum(1))


def test_reductions_of_chosen_dimensions(card: Card) -> None:
    x = drawn(2, 3, 32, 64)
    for dims in (None, 0, 1, [0, 2], [1, 3]):
        axes = dims if dims is not None else (0, 1, 2, 3)
        for name, reduce in (("moreh_sum", torch.sum), ("moreh_mean", torch.mean)):
            close(card(name, x, dim=dims, keepdim=True), reduce(x, axes, keepdim=True))
        for order in (0.0, 1.0, 2.5, torch.inf, -torch.inf):
            norm = torch.linalg.vector_norm(x, order, axes, keepdim=True)
            close(card("moreh_norm", x, order, dim=dims, keepdim=True), norm)
    close(card("moreh_abs_pow", x, 1.5), x.abs() ** 1.5)
    close(card("moreh_cumsum_backward", x, 1), x.flip(1).cumsum(1).flip(1))
    for refused, words in (({"dim": 4}, "must be smaller than input tensor rank 4"), ({"divisor": 3}, "divisor not")):
        with pytest.raises(RuntimeError, match=words):
            card("moreh_mean", x, **refused)


@pytest.mark.parametrize("dims", [1, [0, 3], None])
def test_gradients_of_reductions(card: Card, dims: Any) -> None:
    x = (drawn(2, 3, 32, 64) + 3).requires_grad_()
    axes = dims if dims is not None else (0, 1, 2, 3)
    like = {"dim": dims, "keepdim": True}
    for name, reduce in (("sum", torch.sum), ("mean", torch.mean)):
        result = reduce(x, axes, keepdim=True)
        grad = drawn(*result.shape, seed=1)
        shape = {"input": x.detach()} if name == "sum" else {"input_grad_shape": [2, 3, 32, 64]}
        close(card(f"moreh_{name}_backward", grad, **shape, **like), torch.autograd.grad(result, x, grad)[0])
    for order in (1.0, 2.5, torch.inf, 0.0):
        result = torch.linalg.vector_norm(x, order, axes, keepdim=True)
        grad = drawn(*result.shape, seed=1)
        expected = torch.autograd.grad(result, x, grad, allow_unused=True)[0] if order else torch.zeros_like(x)
        close(card("moreh_norm_backward", x.detach(), result.detach(), grad, order, **like), expected)


def test_products_of_transposed_matrices(card: Card) -> None:
    a, b, bias = drawn(32, 64), drawn(96, 32, seed=1), drawn(1, 96, seed=2)
    transposed = {"transpose_input": True, "transpose_other": True}
    close(card("moreh_matmul", a, b, bias=bias, **transposed), a.mT @ b.mT + bias)
    close(card("moreh_matmul", a, b.mT.contiguous(), transpose_input=True), a.mT @ b.mT)
    close(card("moreh_matmul", a.mT.contiguous(), b, transpose_other=True), a.mT @ b.mT)
    close(card("moreh_linear", a.mT.contiguous(), b, bias=bias), a.mT @ b.mT + bias)
    close(card("moreh_bmm", drawn(3, 32, 64), drawn(3, 64, 96)), drawn(3, 32, 64) @ drawn(3, 64, 96))
    row, other = drawn(1, 1, 1, 64), drawn(1, 1, 1, 64, seed=1)
    close(card("moreh_dot", row, other), (row * other).sum().reshape(1, 1, 1, 1))


def gradients(result: torch.Tensor, grad: torch.Tensor, *leaves: torch.Tensor) -> list[torch.Tensor]:
    return list(torch.autograd.grad(result, leaves, grad))


def test_gradients_of_products(card: Card) -> None:
    def leaf(*shape: int, seed: int = 0) -> torch.Tensor:
        return drawn(*shape, seed=seed).requires_grad_()

    def compare(name: str, result: torch.Tensor, *leaves: torch.Tensor, **options: Any) -> None:
        grad = drawn(*result.shape, seed=5)
        results = card(f"moreh_{name}", grad, *(each.detach() for each in leaves), **options)
        for one, other in zip(results, gradients(result, grad, *leaves), strict=True):
            close(one, other)

    a, b = leaf(2, 3, 32, 64), leaf(64, 96, seed=1)  # the second is repeated
    compare("matmul_backward", a @ b, a, b)
    a, b = leaf(3, 32, 64), leaf(3, 64, 96, seed=1)
    compare("bmm_backward", a @ b, a, b)
    row, other = leaf(1, 1, 1, 64), leaf(1, 1, 1, 64, seed=1)
    product, zero = (row * other).sum().reshape(1, 1, 1, 1), torch.zeros(1, 1, 1, 64)
    compare("dot_backward", product, row, other, input_grad=zero, other_grad=zero)
    x, weight = leaf(2, 32, 64), leaf(96, 64, seed=1)
    for shape in ((1, 96), (1, 1)):
        bias = leaf(*shape, seed=2)
        grad = drawn(2, 32, 96, seed=5)
        results = card("moreh_linear_backward", grad, x.detach(), weight.detach(), bias=bias.detach())
        for one, expected in zip(results, gradients(x @ weight.mT + bias, grad, x, weight, bias), strict=True):
            close(one, expected)
    wanted = {"are_required_outputs": [False, True, False]}
    results = card("moreh_linear_backward", drawn(2, 32, 96), x.detach(), weight.detach(), **wanted)
    assert [each is None for each in results] == [True, False, True]


def test_elements_at_positions_of_some_dimensions(card: Card) -> None:
    ttnn, x = card.ttnn, drawn(4, 5, 6, 7)
    source = card.put(x, ttnn.ROW_MAJOR_LAYOUT)
    places = [torch.tensor([3, 0, 2], dtype=torch.int32), torch.tensor([1, 5, 5], dtype=torch.int32)]
    index = card.put(places, ttnn.ROW_MAJOR_LAYOUT)
    for dims in ([0], [1]):
        expected = x.index_select(dims[0], places[0].long())
        close(card.back(ttnn.moreh_getitem(source, index[:1], dims)), expected)
    close(card.back(ttnn.moreh_getitem(source, index, [1, 2])), x[:, places[0].long(), places[1].long()])


def test_blocks_are_added_up(card: Card) -> None:
    sizes = {"output_size": (7, 9), "kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 0), "stride": (1, 2)}
    columns = F.unfold(drawn(2, 3, 7, 9), **{key: size for key, size in sizes.items() if key != "output_size"})
    x = card.put(columns, card.ttnn.ROW_MAJOR_LAYOUT)
    result = card.back(card.ttnn.moreh_fold(x, **{key: list(size) for key, size in sizes.items()}))
    close(result, F.fold(columns, **sizes))


def test_layer_norms_of_two_dimensions(card: Card) -> None:
    x, gamma, beta = drawn(2, 3, 32, 64), drawn(32, 64, seed=1), drawn(32, 64, seed=2)
    statistics = {"mean": torch.zeros(2, 3), "rstd": torch.zeros(2, 3)}
    result, mean, rstd = card("moreh_layer_norm", x, 2, 0.25, gamma, beta, **statistics)
    close(result, F.layer_norm(x, [32, 64], gamma, beta, 0.25))
    close(mean, x.mean((2, 3)))
    close(rstd, (x.var((2, 3), correction=0) + 0.25).rsqrt())
    assert card("moreh_layer_norm", x, 2, 0.25, gamma, beta)[1:] == [None, None]
    leaf, weight, shift = (each.clone().requires_grad_() for each in (x, gamma, beta))
    grad = drawn(2, 3, 32, 64, seed=3)
    targets = {"gamma_grad": torch.zeros(32, 64), "beta_grad": torch.zeros(32, 64), "input_grad": torch.zeros_like(x)}
    results = card("moreh_layer_norm_backward", grad, x, mean, rstd, 2, gamma=gamma, **targets)
    expected = gradients(F.layer_norm(leaf, [32, 64], weight, shift, 0.25), grad, leaf, weight, shift)
    for one, other in zip(results, expected, strict=True):
        close(one, other)
    assert card("moreh_layer_norm_backward", grad, x, mean, rstd, 2, gamma=gamma)[1:] == [None, None]


def test_group_norms(card: Card) -> None:
    x, gamma, beta = drawn(2, 6, 32, 64), drawn(6, seed=1), drawn(6, seed=2)
    rows = {"gamma": gamma.reshape(1, 1, 1, 6), "beta": beta.reshape(1, 1, 1, 6)}
    all_three = {"are_required_outputs": [True, True, True]}
    result, mean, rstd = card("moreh_group_norm", x, 3, 0.25, **rows, **all_three)
    leaf, weight, shift = (each.clone().requires_grad_() for each in (x, gamma, beta))
    expected = F.group_norm(leaf, 3, weight, shift, 0.25)
    close(result, expected.detach())
    groups = x.reshape(2, 3, -1)
    close(mean, groups.mean(-1).reshape(1, 1, 2, 3))
    close(rstd, (groups.var(-1, correction=0) + 0.25).rsqrt().reshape(1, 1, 2, 3))
    grad = drawn(2, 6, 32, 64, seed=3)
    results = card("moreh_group_norm_backward", grad, x, mean, rstd, 3, gamma=rows["gamma"], **all_three)
    for one, other in zip(results, gradients(expected, grad, leaf, weight, shift), strict=True):
        close(one, other.reshape(one.shape))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_softmax_and_its_gradients(card: Card, dim: int) -> None:
    x, grad = drawn(2, 32, 64).requires_grad_(), drawn(2, 32, 64, seed=1)
    functions = {
        "softmax": lambda: x.softmax(dim),
        "softmin": lambda: (-x).softmax(dim),
        "logsoftmax": lambda: x.log_softmax(dim),
    }
    for name, function in functions.items():
        result = function()
        close(card(f"moreh_{name}", x.detach(), dim), result.detach())
        slope = gradients(result, grad, x)[0]
        close(card(f"moreh_{name}_backward", result.detach(), grad, dim), slope)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_losses_with_weights_and_targets_to_ignore(card: Card, reduction: str) -> None:
    scores, weight = drawn(32, 7).log_softmax(1).requires_grad_(), torch.rand(7) + 0.5
    targets = torch.arange(32) % 7
    row = card.put(targets.int(), card.ttnn.ROW_MAJOR_LAYOUT)
    given = {"weight_tensor": weight.reshape(1, 7), "ignore_index": 3}
    expected = F.nll_loss(scores, targets, weight, ignore_index=3, reduction=reduction)
    loss = card("moreh_nll_loss", scores.detach(), row, reduction, **given)
    close(loss.flatten(), expected.detach().flatten())
    grad = drawn(*expected.shape, seed=1)
    slope = gradients(expected, grad, scores)[0]
    given |= {"input_grad_tensor": torch.zeros(32, 7)}
    if reduction == "none":
        close(card("moreh_nll_loss_unreduced_backward", row, grad, **given), slope)
    else:
        given |= {"divisor_tensor": weight[targets[targets != 3]].sum().reshape(1)} if reduction == "mean" else {}
        close(card("moreh_nll_loss_backward", row, grad.reshape(1, 1), reduction == "mean", **given), slope)


def test_tensors_of_equal_and_of_growing_numbers(card: Card) -> None:
    ttnn = card.ttnn
    close(card.back(ttnn.moreh_full([3, 5], 2.5, card.device)).float(), torch.full((3, 5), 2.5))
    close(card("moreh_full_like", drawn(32, 64), -1.5), torch.full((32, 64), -1.5))
    numbers = torch.arange(2, 23, 3).float()
    options = {"dtype": ttnn.float32}
    close(card.back(ttnn.moreh_arange(2, 23, 3, card.device, **options)), numbers.reshape(1, -1))
    close(card.back(ttnn.moreh_arange(2, 23, 3, card.device, untilize_out=True, **options)), numbers)
