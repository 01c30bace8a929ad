"""Products of torch_xla over any dimensions, and with quantized weights."""

from __future__ import annotations

import pytest
import torch
from torch_xla import _XLAC
from torch_xla.experimental.xla_quantized_matmul import XlaQuantizedLinear


def numbers(*shape: int, dtype: torch.dtype = torch.int8) -> torch.Tensor:
    return torch.randint(-9, 9, shape, dtype=dtype)


@pytest.mark.parametrize(
    ("shapes", "dims", "subscripts"),
    [
        (((2, 3, 4), (2, 4, 5)), (([2], [1]), ([0], [0])), "bij,bjk->bik"),
        (((2, 3, 4), (4, 2, 5)), (([-1], [0]), ([0], [-2])), "bij,jbk->bik"),
        (((2, 3), (4, 3)), (([1], [1]), ()), "ij,kj->ik"),
        (((2, 3), (4,)), ((), ()), "ij,k->ijk"),
    ],
)
def test_dot_general(shapes, dims, subscripts):
    left, right = (numbers(*shape) for shape in shapes)
    got = _XLAC._xla_dot_general(left.to("tt"), right.to("tt"), dims, preferred_element_type=torch.int32)
    expected = torch.einsum(subscripts, left.to(torch.int32), right.to(torch.int32))
    assert torch.equal(got.cpu(), expected)
    assert got.dtype == torch.int32


def test_dot_general_refuses_precisions_and_tensors_of_the_cpu():
    x = torch.ones(2, 2, device="tt")
    with pytest.raises(ValueError, match="precision_config is 'highest', expected None"):
        _XLAC._xla_dot_general(x, x, (([1], [0]), ()), "highest")
    with pytest.raises(RuntimeError, match=r"\(second argument\) to be an actual XLA tensor. Got: CPUBFloat16Type"):
        _XLAC._xla_dot_general(x, torch.ones(2, 2, dtype=torch.bfloat16), (([1], [0]), ()))


def quantized(block_size: int, symmetric: bool) -> tuple[XlaQuantizedLinear, torch.Tensor]:
    """Returns a layer of 6 input and 4 output features, and the weight that its numbers stand for, [6, 4]."""
    layer = XlaQuantizedLinear(6, 4, is_symmetric=symmetric, block_size=block_size)
    shape, scales = ((4, 6), (4,)) if block_size == -1 else ((3, 2, 4), (3, 4))
    weight, scale = numbers(*shape), torch.rand(scales)
    zero_point = None if symmetric else torch.rand(scales)
    layer.load_quantized_weight(weight, scale, zero_point)
    offset = 0 if zero_point is None else zero_point
    if block_size == -1:
        return layer, (weight.T * scale) - offset
    whole = weight * scale[:, None] - (offset if symmetric else offset[:, None])
    return layer, whole.reshape(6, 4)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("block_size", [-1, 2])
@pytest.mark.parametrize("device", ["cpu", "tt", "openxla"])
def test_a_quantized_layer_multiplies_by_the_weight_it_stands_for(exact, block_size, symmetric, device):
    layer, weight = quantized(block_size, symmetric)
    x = torch.rand(2, 3, 6)
    call = torch.compile(layer, backend="openxla") if device == "openxla" else layer
    place = "cpu" if device == "cpu" else "tt"
    layer.to(place)
    with torch.no_grad():
        torch.testing.assert_close(call(x.to(place)).cpu(), x @ weight)


def test_rounded_inputs_have_a_scale_for_each_row(exact):
    layer, weight = quantized(-1, True)
    layer.quantize_activation = True
    rows = torch.tensor([[127, 3, -5, 0, 1, 2], [0, -127, 9, 4, 4, 4]])
    x = rows * torch.tensor([[0.5], [2.0]])  # 8 bits hold these without a rounding
    torch.testing.assert_close(layer.to("tt")(x.to("tt")).cpu(), x @ weight)


def test_weights_that_do_not_fit_are_refused():
    layer = XlaQuantizedLinear(6, 4, is_symmetric=True, block_size=4)
    with pytest.raises(AssertionError, match="6 input features do not divide into blocks of 4"):
        layer.load_quantized_weight(numbers(4, 6), torch.ones(4))
    layer.block_size = -1
    with pytest.raises(AssertionError, match="dtype is expected to be"):
        layer.load_quantized_weight(torch.ones(4, 6), torch.ones(4))
    with pytest.raises(AssertionError, match=r"The weight has shape \[4, 5\], expected \[4, 6\]"):
        layer.load_quantized_weight(numbers(4, 5), torch.ones(4))
    with pytest.raises(AssertionError, match=r"The zero point has shape \[3\], expected \[4\]"):
        layer.load_quantized_weight(numbers(4, 6), torch.ones(4), torch.ones(3))
    with pytest.raises(AssertionError, match="The weight has 3 output features, the layer has 4"):
        layer.load_quantized_weight(numbers(3, 6), torch.ones(3))
    blocks, _ = quantized(2, True)
    blocks.quantize_activation = True
    with pytest.raises(AssertionError, match="without block_size"):
        blocks(torch.ones(2, 6))
