"""Bit-exact attention of one position: the keys that it sees, by position, window and causality."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.bit_exact.decode_attention import joins, shared
from tt_xla.runtime.emulator.context import Context, Weighted

BATCH, HEADS, GROUPS, KEYS, WIDTH = 3, 4, 2, 128, 32


def spec(tensor: torch.Tensor) -> TensorSpec:
    shape = tuple(tensor.shape)
    dtype = DataType.SI32 if tensor.dtype == torch.int32 else DataType.BF16
    return TensorSpec(shape, TensorLayout.of(shape, dtype, tiled=tensor.ndim > 1))


def attended(operands: dict[str, torch.Tensor], **attributes: Any) -> torch.Tensor:
    specs = {name: spec(tensor) for name, tensor in operands.items()}
    op = "ttnn.scaled_dot_product_attention_decode"
    call = bind(Context(op, "bit_exact", specs, (specs["query"],), grid=(2, 3)), attributes)
    assert not isinstance(call, Weighted)
    return call(*operands.values()).float()


def drawn(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


def expected(operands: dict[str, torch.Tensor], visible: list[range], scale: float) -> torch.Tensor:
    result = torch.zeros(1, BATCH, HEADS, WIDTH)
    for item, keys in enumerate(visible):
        if keys:
            query = operands["query"][0, item].float().unsqueeze(1)
            key, value = (operands[name][item, :, keys.start : keys.stop].float() for name in ("key", "value"))
            repeated = [each.repeat_interleave(HEADS // GROUPS, 0) for each in (key, value)]
            result[0, item] = F.scaled_dot_product_attention(query, *repeated, scale=scale)[:, 0]
    return result


@pytest.mark.parametrize(
    ("positions", "attributes", "visible"),
    [
        (None, {"is_causal": False}, [range(128), range(128), range(128)]),
        ([40, -1, 127], {}, [range(41), range(0), range(128)]),
        ([40, 0, 127], {"is_causal": False}, [range(128), range(128), range(128)]),  # which has no last position
        ([40, 5, 127], {"sliding_window_size": 16}, [range(25, 41), range(6), range(112, 128)]),
        ([40, 5, 127], {"scale": 0.5}, [range(41), range(6), range(128)]),
    ],
)
def test_the_keys_that_a_position_sees(
    positions: list[int] | None, attributes: dict[str, Any], visible: list[range]
) -> None:
    operands = {"query": drawn(1, BATCH, HEADS, WIDTH, seed=0)}
    operands |= {name: drawn(BATCH, GROUPS, KEYS, WIDTH, seed=seed) for name, seed in (("key", 1), ("value", 2))}
    if positions is not None:
        operands["cur_pos_tensor"] = torch.tensor(positions, dtype=torch.int32)
    result = attended(operands, **attributes)
    reference = expected(operands, visible, attributes.get("scale", WIDTH**-0.5))
    # Scores of up to 16 are rounded to 8 significant bits, by 2^-5 at most, so the weights of values of up to 3 err by
    # that part. Bits tell below which keys count.
    torch.testing.assert_close(result, reference, rtol=0, atol=3 * 2**-5)
    assert [bool(result[0, item].any()) for item in range(BATCH)] == [bool(keys) for keys in visible]
    for name in ("key", "value"):
        assert torch.equal(attended(operands | {name: outside(operands[name], visible)}, **attributes), result)
        for place in (0, -1):
            other = operands[name].clone()
            for item, keys in enumerate(visible):
                if keys:
                    other[item, :, keys[place]] += 4
            changed = attended(operands | {name: other}, **attributes) != result
            assert [bool(changed[0, item].any()) for item in range(BATCH)] == [bool(keys) for keys in visible]


def outside(tensor: torch.Tensor, visible: list[range]) -> torch.Tensor:
    """Returns keys or values with other numbers wherever no position sees them."""
    other = torch.full_like(tensor, 7.0)
    for item, keys in enumerate(visible):
        other[item, :, keys.start : keys.stop] = tensor[item, :, keys.start : keys.stop]
    return other


def test_chunks_of_cores() -> None:
    assert shared(3, 5) == [range(2, 3), range(1, 2), range(0, 1)]
    assert shared(7, 3) == [range(5, 7), range(3, 5), range(0, 3)]


def test_the_tree_joins_every_core_once() -> None:
    for cores in range(1, 14):
        others = [other for _, other in joins(cores)]
        assert sorted(others) == [*range(1, cores)]
