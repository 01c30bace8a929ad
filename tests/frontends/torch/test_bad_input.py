"""Arguments that PyTorch refuses raise its errors, eagerly and compiled. Earlier tensors stay usable."""

from __future__ import annotations

import pytest
import torch
import torch.nn as nn


@pytest.fixture(autouse=True)
def _others_stay_usable():
    other = torch.arange(3.0).to("tt") + 1
    yield
    assert (other * 2).tolist() == [2, 4, 6]
    torch.compiler.reset()


def ones(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype, device="tt")


BF16 = torch.bfloat16
REFUSED = {
    "product": (lambda x, y: x @ y, [(2, 3), (3, 2)], "same dtype"),
    "batched_product": (lambda x, y: x @ y, [(4, 2, 3), (4, 3, 2)], "expected scalar type"),
    "sum_of_product": (lambda x, y: torch.addmm(x[:, :2], x, y), [(2, 3), (3, 2)], "same dtype"),
    "linear": (nn.functional.linear, [(2, 3), (4, 3)], "same dtype"),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_products_of_two_types(name, compiled):
    function, shapes, message = REFUSED[name]
    call = torch.compile(function, backend="tt") if compiled else function
    x, y = ones(*shapes[0]), ones(*shapes[1], dtype=BF16)
    with pytest.raises(RuntimeError, match=message):
        call(x, y)
    assert call(x, y.float()).cpu().flatten()[0] >= 3


NOT_OF_BOOLEANS = {
    "topk": lambda x: torch.topk(x, 2),
    "kthvalue": lambda x: torch.kthvalue(x, 2),
    "argmax": torch.argmax,
    "argmin": lambda x: torch.argmin(x, 0),
    "searchsorted": lambda x: torch.searchsorted(x, x),
    "bucketize": lambda x: torch.bucketize(x, x),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", NOT_OF_BOOLEANS)
def test_ops_that_are_not_defined_on_booleans(name, compiled):
    function = NOT_OF_BOOLEANS[name]
    x = torch.tensor([False, True, True])
    with pytest.raises(RuntimeError) as expected:
        function(x)
    with pytest.raises(RuntimeError) as caught:
        (torch.compile(function, backend="tt") if compiled else function)(x.to("tt"))
    assert str(expected.value) in str(caught.value)
    function(x.to("tt").int())


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", ["max", "min", "amax", "argmin"])
def test_the_largest_of_nothing(name, compiled):
    function = getattr(torch, name)
    call = torch.compile(function, backend="tt") if compiled else function
    with pytest.raises((RuntimeError, IndexError), match=r"Expected reduction dim|reducing over zero-size"):
        call(ones(0))
    assert call(ones(2)).item() in (0, 1)


def test_the_largest_of_rows_without_elements():
    with pytest.raises(IndexError, match="non-zero size"):
        ones(2, 0).max(1)
    assert ones(0, 2).max(1).values.shape == (0,)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(3, device="tt:1"),
        lambda: torch.empty(3, device="tt:1"),
        lambda: torch.randn(3, device="tt:1"),
        lambda: torch.ones(3).to("tt:1"),
        lambda: nn.Linear(2, 2).to("tt:1"),
    ],
)
def test_a_device_that_is_not_there(make):
    with pytest.raises(RuntimeError, match="tt:1: invalid device ordinal"):
        make()
    assert torch.ones(3, device="tt:0").tolist() == [1, 1, 1]


def test_weights_that_are_no_floats_have_no_block_float_type():
    weight = ones(4, 4, dtype=torch.int32)

    def call(x):
        return torch.ops.tt.weight_dtype_override(x, "bfp_bf8") * 2

    with pytest.raises(TypeError, match=r"int32\[4, 4\] cannot be stored as 'bfp_bf8'"):
        call(weight)
    with pytest.raises(RuntimeError, match="weight_dtype_override"):
        torch.compile(call, backend="tt")(weight)


@pytest.mark.parametrize("compiled", [False, True])
def test_integers_that_need_more_than_32_bits(compiled):
    """Such numbers keep their values, also where another number was before. A program refuses a tensor of them."""

    def f(x, number):
        return x + number, torch.full((2,), number, device="tt")

    call = torch.compile(f, backend="tt", dynamic=False) if compiled else f
    for number in (3, 2**40, 4, -(2**50)):
        results = call(torch.arange(3, device="tt"), number)
        assert [x.tolist() for x in results] == [[number, number + 1, number + 2], [number] * 2]
    wide = torch.tensor([2**40]).to("tt")
    assert wide.tolist() == [2**40]
    if not compiled:
        assert call(wide, 1)[0].tolist() == [2**40 + 1]
        return
    with pytest.raises(RuntimeError, match="1099511627776, which does not fit si32"):
        call(wide, 1)[0].tolist()


@pytest.mark.parametrize("call", [lambda: ones(2, 3) + ones(4), lambda: ones(3) << 2, lambda: ones(3).topk(5)])
def test_an_op_that_is_refused_is_told_once(call, caplog):
    with caplog.at_level("DEBUG", logger="torch._subclasses.fake_tensor"):
        with pytest.raises(RuntimeError):
            call()
        assert "torch._subclasses.fake_tensor" not in {record.name for record in caplog.records}


@pytest.mark.parametrize("compiled", [False, True])
def test_bits_of_floats(compiled):
    """The error has PyTorch's text, as on the CPU."""

    def f(x):
        return x & x

    call = torch.compile(f, backend="tt") if compiled else f
    with pytest.raises(NotImplementedError, match=r"bitwise_and.* not implemented for 'Float'"):
        call(ones(3)).cpu()
    assert call(ones(3).int()).tolist() == [1, 1, 1]
