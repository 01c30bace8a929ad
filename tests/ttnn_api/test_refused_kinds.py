"""Refusals that depend on where tensors lie, on numbers, or on all tensors of a call; and calls that such rules leave
alone. What is expected is what TT-NN's mock mode does."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.ttnn_api.test_conditions import put

pytestmark = pytest.mark.quick

__all__ = ["put"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            "ttnn.slice(host, [0, 0], [32, 32])",
            "expect device tensors as inputs. Move input_tensor with ttnn.to_device",
        ),
        ("ttnn.concat([host, host], 0)", "Device Operations expect device tensors"),
        ("ttnn.topk(host, 5)", "Device Operations expect device tensors"),
        ("ttnn.reallocate(host)", "Device Operations expect device tensors"),
        ("ttnn.softcap(put((32, 32)), 0.0)", "SOFTCAP requires a non-zero beta"),
        ("ttnn.clamp(put((32, 32), 'int32'), min=-1.5, max=1)", "wrong index for variant. Pass two whole numbers"),
        (
            "ttnn.div(*[put((32, 32), 'int32')] * 2, dtype=ttnn.bfloat16)",
            "Incorrect output_dtype value for Integer Div",
        ),
        ("ttnn.addcdiv(*[put((32, 32), 'int32')] * 3)", "Addcdiv TTT does not support INT32 inputs"),
        (
            "ttnn.addcmul(put((32, 32)), put((1, 32), 'float32'), put((32, 32)))",
            "Got input_a=DataType::BFLOAT16, input_b=DataType::FLOAT32, input_c=DataType::BFLOAT16",
        ),
        ("ttnn.floor_div(*[put((32, 32), layout='ROW_MAJOR')] * 2)", "Ternary operation requires tensor to be in Tile"),
        ("ttnn.where(*[put((32, 32), layout='ROW_MAJOR')] * 3)", "Ternary operation requires tensor to be in Tile"),
        ("ttnn.moreh_sum(put((3, 1, 32, 32)), dim=4)", "dim must be smaller than input tensor rank 4"),
        ("ttnn.sort(put(()), dim=1)", "Sort dim 1 is out of range for rank-0 tensor"),
        ("ttnn.rand([4], device=device, low=1, high=1)", r"lower bound must be less than upper bound, got \[1, 1\)"),
        ("ttnn.reshape(put((64, 32), 'uint16'), [4, 16, 32])", "Can only work with bfloat16/float32 or int32/uint32"),
        ("ttnn.unsqueeze(put((64, 32), 'uint16', 'ROW_MAJOR'), 2)", "Can only work with bfloat16/float32"),
    ],
)
def test_calls_are_refused_by_more_than_a_shape(ttnn: Any, put: Any, device: Any, call: str, words: str) -> None:
    host = ttnn.from_device(put((64, 64)))
    with pytest.raises(RuntimeError, match=words):
        eval(call, {"ttnn": ttnn, "put": put, "device": device, "host": host})


@pytest.mark.parametrize("arguments", ["5, device=device", "'a', device=device", "[2, -1], device=device", "[2], None"])
def test_random_numbers_need_a_shape_and_a_device(ttnn: Any, device: Any, arguments: str) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        eval(f"ttnn.rand({arguments})", {"ttnn": ttnn, "device": device})


@pytest.mark.parametrize(
    ("call", "shape", "dtype"),
    [
        ("ttnn.reshape(put((64, 32), 'uint16'), [2, 32, 32])", [2, 32, 32], "UINT16"),
        ("ttnn.reshape(put((64, 32), 'uint16', 'ROW_MAJOR'), [4, 16, 32])", [4, 16, 32], "UINT16"),
        ("ttnn.unsqueeze(put((2, 33, 32), 'uint16'), 0)", [1, 2, 33, 32], "UINT16"),
        ("ttnn.clamp(put((32, 32), 'int32'), min=-1.0, max=1.0)", [32, 32], "FLOAT32"),
        ("ttnn.topk(put((1, 65536)), 32)[1]", [1, 32], "UINT16"),
        ("ttnn.sort(put((1, 65536)))[1]", [1, 65536], "UINT32"),
        (
            "ttnn.embedding(put((2, 8), 'uint32'), put((4, 32)), layout=ttnn.ROW_MAJOR_LAYOUT, dtype=ttnn.float32)",
            [2, 8, 32],
            "BFLOAT16",
        ),
    ],
)
def test_types_of_calls_that_are_taken(ttnn: Any, put: Any, call: str, shape: list[int], dtype: str) -> None:
    made = eval(call, {"ttnn": ttnn, "put": put})
    assert (made.shape, made.dtype.name) == (shape, dtype)


def test_a_choice_by_numbers_takes_rows(ttnn: Any, put: Any) -> None:
    chosen = ttnn.where(put(torch.tensor([[1.0, 0.0]]), layout="ROW_MAJOR"), 3.0, 4.0)
    assert chosen.layout is ttnn.ROW_MAJOR_LAYOUT
    assert ttnn.to_torch(chosen).tolist() == [[3.0, 4.0]]


@pytest.mark.parametrize("memory", ["DRAM_MEMORY_CONFIG", "L1_MEMORY_CONFIG"])
def test_a_moved_tensor_takes_the_memory_that_it_leaves(ttnn: Any, put: Any, memory: str) -> None:
    first, last = (put(torch.full((32, 32), value), memory_config=getattr(ttnn, memory)) for value in (1.0, 2.0))
    places = first.buffer_address(), last.buffer_address()
    first = ttnn.reallocate(first)
    assert first.buffer_address() == places[0]
    first.deallocate()
    moved = ttnn.reallocate(last)
    assert not last.is_allocated()
    assert moved.buffer_address() == places[0]
    assert torch.equal(ttnn.to_torch(moved).float(), torch.full((32, 32), 2.0))


@pytest.mark.parametrize(
    ("functions", "places"),
    [("hypot ldexp logaddexp2", ["DRAM", "DRAM"]), ("add sub mul div", ["DRAM", "L1"]), ("logaddexp", ["L1", "L1"])],
)
def test_gradients_lie_where_a_tensor_of_the_call_does(ttnn: Any, put: Any, functions: str, places: list[str]) -> None:
    grad, a, b = (put((32, 32), memory_config=each) for each in (ttnn.L1_MEMORY_CONFIG, None, ttnn.L1_MEMORY_CONFIG))
    for name in functions.split():
        made = getattr(ttnn, f"{name}_bw")(grad, a, b)
        assert [each.memory_config().buffer_type.name for each in made] == places, name


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("ttnn.min_bw(put((32, 32), 'int32'), put((32, 32), 'float32'), put((32, 32), 'int32'))", "Mixed dtype"),
        ("ttnn.ldexp_bw(put((32, 32)), put((32, 32)), put((32, 32), 'int32'))", "RPOW does not support integer"),
        ("ttnn.subalpha_bw(*[put((32, 32), 'uint32')] * 3)", "NEG does not support integer"),
    ],
)
def test_gradients_refuse_what_their_parts_refuse(ttnn: Any, put: Any, call: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        eval(call, {"ttnn": ttnn, "put": put})


def test_gradients_of_extremes_and_limits_take_infinite_gradients(ttnn: Any, put: Any) -> None:
    grad, a, b = (put(torch.tensor([values])) for values in ([torch.inf] * 2, [1.0, 2.0], [2.0, 1.0]))
    first, second = ttnn.max_bw(grad, a, b)
    assert ttnn.to_torch(first).tolist() == [[0.0, torch.inf]]
    assert ttnn.to_torch(second).tolist() == [[torch.inf, 0.0]]
    assert ttnn.to_torch(ttnn.clamp_bw(grad, a, min=1.5)[0]).tolist() == [[0.0, torch.inf]]
    relu = ttnn.relu_bw(grad, put(torch.tensor([[-1.0, 1.0]])))
    assert ttnn.to_torch(relu[0]).tolist() == [[0.0, torch.inf]]
