"""How tensors print, as TT-NN prints them, and functions that fill or copy parts of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def default_options(ttnn: Any) -> Iterator[None]:
    yield
    ttnn.set_printoptions(profile="short", sci_mode="default", precision=4)


def elements(ttnn: Any, values: Any) -> str:
    dtype = torch.float32 if "." in str(values) else torch.int32
    return repr(ttnn.from_torch(torch.tensor(values, dtype=dtype))).partition(", shape=")[0]


def test_ends_of_dimensions(ttnn: Any) -> None:
    assert elements(ttnn, [0.0, 1, 2, 3, -4]) == "ttnn.Tensor([ 0.0000,  1.0000,  ...,  3.0000, -4.0000]"
    assert elements(ttnn, [[-200, 0], [100, 300]]) == "ttnn.Tensor([[ -200,     0],\n             [  100,   300]]"
    deep = elements(ttnn, [[[1.0, 2.0]], [[3.0, 4.0]]])
    assert deep == "ttnn.Tensor([[[ 1.0000,  2.0000]],\n\n             [[ 3.0000,  4.0000]]]"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"profile": "short"}, "[ 1.2346e+04,  1.0000e-06]"),
        ({"profile": "short", "sci_mode": False, "precision": 2}, "[12345.68,  0.00]"),
        ({"profile": "short", "sci_mode": True, "precision": 2}, "[ 1.23e+04,  1.00e-06]"),
        ({"profile": "empty"}, "..."),
    ],
)
def test_options(ttnn: Any, options: dict[str, Any], text: str) -> None:
    ttnn.set_printoptions(**options)
    assert elements(ttnn, [12345.678, 1e-6]) == f"ttnn.Tensor({text}"


def test_all_elements(ttnn: Any) -> None:
    ttnn.set_printoptions(profile="full")
    assert elements(ttnn, list(range(6))) == "ttnn.Tensor([    0,     1,     2,     3,     4,     5]"
    with pytest.raises(RuntimeError, match="short, full, empty"):
        ttnn.set_printoptions(profile="long")


def test_tensors_of_lists(ttnn: Any, device: Any) -> None:
    made = ttnn.from_buffer([1.5, 2, 3, 4], ttnn.Shape([2, 2]), ttnn.bfloat16, device, ttnn.TILE_LAYOUT)
    assert ttnn.to_torch(made).tolist() == [[1.5, 2], [3, 4]]
    with pytest.raises(RuntimeError, match="Buffer size 3 differs from shape volume 4"):
        ttnn.from_buffer([1, 2, 3], ttnn.Shape([2, 2]), ttnn.int32, device)


def test_shards_are_copied_by_core(ttnn: Any, device: Any) -> None:
    config = ttnn.create_sharded_memory_config([64, 64], ttnn.CoreGrid(x=2, y=2), ttnn.ShardStrategy.BLOCK)
    target = ttnn.to_memory_config(ttnn.zeros([64, 64], layout=ttnn.TILE_LAYOUT, device=device), config)
    source = ttnn.ones([64, 64], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
    chosen = ttnn.CoreRangeSet([ttnn.CoreRange((1, 0), (1, 0))])
    ttnn.copy_host_to_device_tensor_partial(source, target, chosen)
    expected = torch.zeros(64, 64)
    expected[:32, 32:] = 1
    assert torch.equal(ttnn.to_torch(target).float(), expected)
    assert ttnn.get_optimal_worker_cores_for_sharded_tensor(target)[1] == ttnn.CoreCoord(1, 0)


def test_examples_of_operations(ttnn: Any, device: Any) -> None:
    x = ttnn.ones([32, 32], layout=ttnn.TILE_LAYOUT, device=device)
    assert torch.equal(ttnn.to_torch(ttnn.composite_example(x)), torch.ones(32, 32).bfloat16())
    first, second = ttnn.composite_example_multiple_return(x, return_output2=False)
    assert (first.shape, second) == ([32, 32], None)
