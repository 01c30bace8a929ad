"""Integers that change from call to call: one program serves all values unless a size depends on them."""

from __future__ import annotations

import operator

import pytest
import torch

from tt_xla.errors import ExecutionError

X = torch.arange(8.0)


def ran(on_jax, function, *, x=X, grad=False):
    """Returns the number of programs that calls with six numbers compile, after comparing results with eager mode."""
    compiled = torch.compile(function, backend="tt")
    for number in range(1, 7):
        expected, got = function(x, number), compiled(x.to("tt").requires_grad_(grad), number)
        for one, other in zip(got, expected, strict=True):
            if isinstance(other, torch.Tensor):
                assert one.dtype is other.dtype
                torch.testing.assert_close(one.cpu(), other)
            else:
                assert one == other
    return len(on_jax)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: (x + n, n - x, x == n, x.add(x, alpha=n), x.sub(1, alpha=n)),
        lambda x, n: (x * (n // 2 + n * 3), n + 1, n % 3),
        lambda x, n: (torch.arange(n, n + 4, device=x.device) + x[:4].long(), 2 * x.select(0, n)),
        lambda x, n: (torch.full((3,), n, device=x.device), x.masked_fill(x > 2, n)),
        lambda x, n: (torch.select_scatter(x, x[0] * 7, 0, n),),
    ],
    ids=["operands", "arithmetic", "places", "contents", "written"],
)
def test_one_program_for_all_numbers(on_jax, function):
    assert ran(on_jax, function) == 2  # the first number is compiled as a constant


def test_numbers_of_a_backward_pass(on_jax):
    function = torch.compile(lambda x, n: (x * n * n).sum(), backend="tt")
    counts = []
    for number in (2, 3, 4, 5):
        x = X.to("tt").requires_grad_()
        function(x, number).backward()
        assert x.grad.tolist() == [number * number] * 8
        counts.append(len(on_jax))
    assert counts[1] == counts[3]


def test_a_counter_that_only_counts(on_jax):
    """Holds a number beside its tensors, as the caches of transformers do."""

    class Counter:
        def __init__(self):
            self.value = 2  # PyTorch keeps 0 and 1 constant

    def function(x, counter):
        counter.value = operator.add(counter.value, 1)
        return (x + 1,)

    counter = Counter()
    compiled = torch.compile(function, backend="tt")
    for _ in range(5):
        compiled(X, counter)
    assert counter.value == 7
    assert len(on_jax) == 2


def test_a_number_that_decides_a_size_has_a_program_for_all_sizes_up_to_a_capacity(on_jax):
    assert ran(on_jax, lambda x, n: (x[:n] * n,)) == 2


@pytest.mark.usefixtures("exact")
def test_a_number_beyond_32_bits_is_refused():
    torch.compiler.reset()
    function = torch.compile(lambda x, n: x + n, backend="tt")
    x = torch.arange(3, device="tt")
    assert [function(x, number).tolist()[0] for number in (1, 2, 3)] == [1, 2, 3]
    with pytest.raises(ExecutionError, match="4294967296, which does not fit si32"):
        function(x, 2**32)
    assert function(x, 4).tolist() == [4, 5, 6]
