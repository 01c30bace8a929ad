"""Calls of ``ttnn`` on the emulated card: results, types, memory, predicted time, errors."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tt_xla.cost import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.ir.program import Instruction

pytestmark = pytest.mark.quick


def on(device: Any, ttnn: Any, tensor: torch.Tensor, **options: Any) -> Any:
    options = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT} | options
    return ttnn.from_torch(tensor, device=device, **options)


def test_results_are_rounded_once(ttnn: Any, device: Any) -> None:
    a, b = torch.randn(2, 40, 64), torch.randn(64, 33)
    precise = ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True)
    product = ttnn.matmul(on(device, ttnn, a), on(device, ttnn, b), compute_kernel_config=precise)
    assert (product.shape, product.dtype) == ([2, 40, 33], ttnn.bfloat16)
    expected = (a.bfloat16().float() @ b.bfloat16().float()).bfloat16()
    torch.testing.assert_close(ttnn.to_torch(product), expected)
    total = ttnn.sum(on(device, ttnn, a), dim=-1, keepdim=True)
    assert total.shape == [2, 40, 1]
    torch.testing.assert_close(ttnn.to_torch(total), a.bfloat16().float().sum(-1, keepdim=True).bfloat16())


def test_operators_and_numbers(ttnn: Any, device: Any) -> None:
    x = torch.randn(32, 32).bfloat16()
    t = on(device, ttnn, x)
    assert torch.equal(ttnn.to_torch(2.0 - t * 0.5), (2.0 - (x * 0.5)))
    assert torch.equal(ttnn.to_torch(ttnn.neg(t[0:4, 3])), -x[0:4, 3])
    assert torch.equal(ttnn.to_torch(t > 0.0), (x > 0).bfloat16())


def test_equal_keys_are_not_equal_calls(ttnn: Any, device: Any) -> None:
    """1 and True, and 0.0 and -0.0, are equal in Python; plans are kept for each."""
    x = on(device, ttnn, torch.ones(32, 32), dtype=ttnn.float32)
    signs = [ttnn.to_torch(ttnn.multiply(x, value)).signbit().all().item() for value in (0.0, -0.0)]
    assert signs == [False, True]
    one, other = on(device, ttnn, torch.full((32, 32), 2.0)), on(device, ttnn, torch.full((32, 32), 3.0))
    assert ttnn.to_torch(ttnn.subtract(one, one)).abs().max() == 0
    assert ttnn.to_torch(ttnn.subtract(one, other)).max() == -1


def test_a_tensor_does_not_share_the_callers_memory(ttnn: Any, device: Any) -> None:
    x = torch.zeros(32, 32)
    t = on(device, ttnn, x, dtype=ttnn.float32)
    x += 1
    back = ttnn.to_torch(t)
    back += 1
    assert ttnn.to_torch(t).abs().max() == 0


def test_block_floats_are_quantized(ttnn: Any, device: Any) -> None:
    x = torch.randn(32, 64)
    t = on(device, ttnn, x, dtype=ttnn.bfloat8_b)
    assert 0 < (ttnn.to_torch(t) - x).abs().max() < 0.05
    with pytest.raises(RuntimeError, match=r"TT_FATAL: Only TILE layout is supported for BFLOAT8_B dtype!"):
        ttnn.from_torch(x, dtype=ttnn.bfloat8_b, layout=ttnn.ROW_MAJOR_LAYOUT)


def test_sharded_memory(ttnn: Any, device: Any) -> None:
    cores = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 1))})
    spec = ttnn.ShardSpec(cores, (32, 64), ttnn.ShardOrientation.ROW_MAJOR)
    config = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, spec)
    x = torch.randn(256, 64).bfloat16()
    t = ttnn.to_memory_config(on(device, ttnn, x), config)
    assert (t.memory_config(), t.is_sharded()) == (config, True)
    assert t.type.spec.layout.grid == (8, 1)
    assert torch.equal(ttnn.to_torch(ttnn.relu(t)), x.relu())
    assert ttnn.relu(t).memory_config() == config


def test_memory_is_freed_with_the_last_tensor(ttnn: Any, device: Any) -> None:
    tensors = [on(device, ttnn, torch.zeros(64, 64)) for _ in range(3)]
    addresses = [tensor.buffer_address() for tensor in tensors]
    assert addresses == sorted(set(addresses))
    used = device.memory.dram.used
    view = ttnn.reshape(tensors[1], (2, 32, 64))
    assert (view.buffer_address(), device.memory.dram.used) == (addresses[1], used)
    ttnn.deallocate(tensors[1])
    assert device.memory.dram.used == used
    del view
    gc.collect()
    assert on(device, ttnn, torch.zeros(64, 64)).buffer_address() == addresses[1]
    with pytest.raises(RuntimeError, match=r"Tensor is not allocated. It was deallocated"):
        ttnn.relu(tensors[1])


def test_a_tensor_that_does_not_fit_is_out_of_memory(ttnn: Any, device: Any) -> None:
    x = on(device, ttnn, torch.zeros(32, 32))
    with pytest.raises(RuntimeError, match=r"Out of Memory: Not enough space to allocate \d+ B L1 buffer across"):
        ttnn.repeat(x, [1 << 9, 1 << 9], memory_config=ttnn.L1_MEMORY_CONFIG)


def test_predicted_time_is_that_of_the_instruction(ttnn: Any, device: Any) -> None:
    x = on(device, ttnn, torch.randn(512, 512))
    before = device.predicted_us
    y = ttnn.matmul(x, x)
    spec = x.type.spec
    cost = instruction_cost(
        Instruction("ttnn.matmul", {"a": 0, "b": 1}, (2,), {"transpose_a": False, "transpose_b": False}),
        [spec, spec, y.type.spec],
        device.target,
    )
    assert device.predicted_us - before == pytest.approx(cost.total_us + rates_of(device.target).gap_untraced)


def test_a_trace_is_replayed_on_its_tensors(ttnn: Any, device: Any) -> None:
    slot = on(device, ttnn, torch.ones(32, 32))
    ttnn.add(slot, 1.0)
    number = ttnn.begin_trace_capture(device, cq_id=0)
    result = ttnn.add(ttnn.multiply(slot, 2.0), 1.0)
    ttnn.end_trace_capture(device, number, cq_id=0)
    host = ttnn.from_torch(torch.full((32, 32), 5.0), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
    ttnn.copy_host_to_device_tensor(host, slot)
    assert ttnn.to_torch(result).max() == 3
    ttnn.execute_trace(device, number, cq_id=0, blocking=True)
    assert ttnn.to_torch(result).min() == 11
    ttnn.release_trace(device, number)
    with pytest.raises(RuntimeError, match="must exist on device"):
        ttnn.execute_trace(device, number)


def test_caches_are_written_in_place(ttnn: Any, device: Any) -> None:
    cache = on(device, ttnn, torch.zeros(2, 1, 64, 32))
    copy = ttnn.permute(cache, (0, 1, 3, 2))
    rows = torch.randn(1, 1, 32, 32).bfloat16()
    assert ttnn.fill_cache(cache, on(device, ttnn, rows), 1) is cache
    assert torch.equal(ttnn.to_torch(cache)[1:, :, :32], rows)
    assert ttnn.to_torch(copy).abs().max() == 0


def test_output_tensor(ttnn: Any, device: Any) -> None:
    x, out = on(device, ttnn, torch.ones(32, 32)), on(device, ttnn, torch.zeros(32, 32), dtype=ttnn.float32)
    address = out.buffer_address()
    assert ttnn.add(x, x, output_tensor=out) is out
    assert (out.dtype, out.buffer_address(), ttnn.to_torch(out).min()) == (ttnn.float32, address, 2)


def test_files(ttnn: Any, device: Any, tmp_path: Path) -> None:
    for dtype in (ttnn.bfloat16, ttnn.float32, ttnn.uint32, ttnn.uint16, ttnn.int32):
        x = on(device, ttnn, torch.arange(12).reshape(3, 4), dtype=dtype)
        ttnn.dump_tensor(tmp_path / "x.tensorbin", x)
        read = ttnn.load_tensor(tmp_path / "x.tensorbin")
        assert (read.dtype, read.shape, read.to_list()) == (dtype, x.shape, x.to_list())


def test_bad_calls_say_what_tt_nn_says(ttnn: Any, device: Any) -> None:
    x, y = on(device, ttnn, torch.ones(32, 64)), on(device, ttnn, torch.ones(32, 48))
    with pytest.raises(RuntimeError, match=r"Broadcasting rule violation for rank -1, dim a: 64, dim b: 48"):
        ttnn.add(x, y)
    with pytest.raises(RuntimeError, match=r"must be equal to the height of .* width=64 height=32"):
        ttnn.matmul(x, y)
    heads = on(device, ttnn, torch.ones(1, 1, 32, 64))
    mask = on(device, ttnn, torch.zeros(1, 1, 32, 32), memory_config=ttnn.L1_MEMORY_CONFIG)
    with pytest.raises(RuntimeError, match=r"When mask is provided to SDPA, it must be in DRAM"):
        ttnn.transformer.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask, is_causal=False)
    with pytest.raises(TypeError, match=r"ttnn.relu\(\): incompatible function arguments"):
        ttnn.relu(x, x)
    with pytest.raises(RuntimeError, match=r"need to be on the device! Move the tensor with ttnn.to_device"):
        ttnn.relu(ttnn.from_torch(torch.ones(32, 32)))
    with pytest.raises(RuntimeError, match=r"takes no in0_column_offset, got 3. Leave in0_column_offset out"):
        ttnn.linear(x, y, in0_column_offset=3)
    ttnn.close_device(device)
    with pytest.raises(RuntimeError, match="Device is not open"):
        ttnn.relu(x)


def test_lower_limit_below_zero(ttnn: Any, device: Any) -> None:
    x = torch.arange(-8, 24, dtype=torch.int32).expand(32, 32).contiguous()
    limited = ttnn.relu_min(on(device, ttnn, x, dtype=ttnn.int32), -5)
    assert torch.equal(ttnn.to_torch(limited), x.clamp(min=-5))


def test_bounds_of_a_slice_may_be_tensors(ttnn: Any, device: Any) -> None:
    """Calls with bounds of one type and other numbers are different calls."""
    x = torch.randn(1, 1, 64, 64).bfloat16()
    t = on(device, ttnn, x)
    for start in (0, 32):
        bounds = [ttnn.from_torch(torch.tensor([0, 0, each, 0])) for each in (start, start + 32)]
        part = ttnn.slice(t, bounds[0], ends=bounds[1], slice_dim=2, num_devices=2)
        assert torch.equal(ttnn.to_torch(part), x[:, :, start : start + 32])
    with pytest.raises(RuntimeError, match="slice_dim and num_devices must be provided"):
        ttnn.slice(t, *bounds)


def test_a_kernel_that_is_mirrored_already(ttnn: Any, device: Any) -> None:
    x, weight = torch.randn(1, 5, 6, 4).bfloat16(), torch.randn(4, 8, 3, 3).bfloat16()
    options = {
        "input_tensor": ttnn.from_torch(x, device=device),
        "device": device,
        "in_channels": 4,
        "out_channels": 8,
        "batch_size": 1,
        "input_height": 5,
        "input_width": 6,
        "kernel_size": (3, 3),
        "stride": (2, 2),
        "padding": (1, 1),
    }
    plain = ttnn.conv_transpose2d(weight_tensor=ttnn.from_torch(weight), **options)
    turned = ttnn.from_torch(weight.flip(2, 3))
    mirrored = ttnn.conv_transpose2d(weight_tensor=turned, mirror_kernel=False, **options)
    assert torch.equal(ttnn.to_torch(plain), ttnn.to_torch(mirrored))
    expected = F.conv_transpose2d(x.permute(0, 3, 1, 2).float(), weight.float(), stride=2, padding=1)
    torch.testing.assert_close(
        ttnn.to_torch(plain).float().reshape(-1), expected.permute(0, 2, 3, 1).reshape(-1), atol=0.1, rtol=0.05
    )


@pytest.mark.parametrize(
    ("call", "tiled"),
    [
        ("sum(x, dim=-1)", False),
        ("sum(x, dim=0)", True),
        ("sum(x)", True),
        ("mean(x, dim=[0, 1])", False),
        ("mean(x, dim=[2, 3])", True),
        ("max(x, dim=-1)", True),
        ("var(x, dim=-1)", True),
        ("prod(x, dim=-2)", True),
    ],
)
def test_reduced_rows_are_tiled_as_in_ttnn(ttnn: Any, device: Any, call: str, tiled: bool) -> None:
    rows = torch.rand(2, 3, 64, 32)
    x = ttnn.from_torch(rows, dtype=ttnn.bfloat16, layout=ttnn.ROW_MAJOR_LAYOUT, device=device)
    result = eval(f"ttnn.{call}", {"ttnn": ttnn, "x": x})
    assert (result.layout == ttnn.TILE_LAYOUT) is tiled


def test_an_embedding_has_the_layout_of_its_table(ttnn: Any, device: Any) -> None:
    index = ttnn.from_torch(torch.tensor([[1, 2]]), dtype=ttnn.uint32, device=device)
    for layout in (ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT):
        table = ttnn.from_torch(torch.rand(32, 64), dtype=ttnn.bfloat16, layout=layout, device=device)
        assert ttnn.embedding(index, table).layout == layout


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("upsample(images, 2)", "must be tile-aligned"),
        ('upsample(ttnn.to_layout(images, ttnn.ROW_MAJOR_LAYOUT), 2, mode="bilinear")', "divisible by 32"),
        ("matmul(matrix, shards)", "Input B memory layout must be INTERLEAVED"),
        ("matmul(shards, shards)", "Input tensor B must have INTERLEAVED memory layout"),
        ('matmul(shards, matrix, activation="gelu")', "fused_activation"),
    ],
)
def test_layouts_without_a_program(ttnn: Any, device: Any, call: str, words: str) -> None:
    place = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT, "device": device}
    matrix = ttnn.from_torch(torch.rand(64, 64), **place)
    memory = ttnn.create_sharded_memory_config((64, 64), ttnn.CoreGrid(x=1, y=2), ttnn.ShardStrategy.HEIGHT)
    names = {"matrix": matrix, "shards": ttnn.to_memory_config(matrix, memory)}
    names["images"] = ttnn.from_torch(torch.rand(1, 4, 4, 16), **place)
    with pytest.raises(RuntimeError, match=words):
        eval(f"ttnn.{call}", {"ttnn": ttnn, **names})
