"""What calls take and return that drawn calls and tt-metal's unit tests found: conditions of TT-NN's mock mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.ttnn_api.conftest import Card, drawn

pytestmark = pytest.mark.quick


@pytest.fixture
def put(ttnn: Any, device: Any) -> Any:
    """Returns a function that puts a torch tensor, or zeros of a shape, onto the device, in tiles by default."""

    def made(value: Any, dtype: str = "bfloat16", layout: str = "TILE", **options: Any) -> Any:
        source = value if isinstance(value, torch.Tensor) else torch.zeros(value)
        where = getattr(ttnn, f"{layout}_LAYOUT")
        return ttnn.from_torch(source, getattr(ttnn, dtype), layout=where, device=device, **options)

    return made


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("ttnn.softmax(put((32, 64), layout='ROW_MAJOR'), -1)", "Inputs to softmax must be tilized"),
        ("ttnn.where(put((32, 32), 'float32'), put((32, 32)), 2.5)", "WHERE_TTS, dtype A: DataType::FLOAT32"),
        ("ttnn.where(put((32, 32)), 2.5, put((32, 32), 'float32'))", "WHERE_TST, dtype A: DataType::BFLOAT16"),
        ("ttnn.argmax(put((8, 65), 'int32'), -1)", "Only BFLOAT16, FLOAT32 are supported for inputs with TILE"),
        ("ttnn.cumsum(put((1, 64)), 10)", "requested accumulation axis is 10, while the input tensor has rank 2"),
        ("ttnn.cumprod(put((1, 64)), 1, out=put((1, 32)))", "Shape mismatch"),
        ("ttnn.gather(put((8, 8)), 5, put((8, 8), 'uint32'))", "gather: dim 5 is out of range for tensor rank 2"),
        ("ttnn.topk(put((1, 1, 32, 64)), 32, 10)", r"expected to be in range of \[-4, 3\]"),
        ("ttnn.sort(put((1, 64)), out=(put((1, 64), 'uint16'), put((1, 64), 'uint16')))", "values tensor dtype must"),
        ("ttnn.roll(put((1, 2, 32, 64), 'bfloat8_b'), 40, -1)", "All Tensors should have same dtypes"),
        ("ttnn.group_norm(put((1, 1, 64, 64), layout='ROW_MAJOR'), num_groups=2, inplace=False)", "TILE layout"),
        ("ttnn.transformer.scaled_dot_product_attention(*[put((1, 1, 96, 48))] * 3)", "head_dim dimension"),
        ("ttnn.addmm(put((1, 64)), put((32, 32)), put((32, 64)))", "input_tensor must have shape matching"),
        ("ttnn.concat_bw(*[put((32, 64))] * 3)", "concat_bw expects rank-4 tensors, got grad rank 2"),
        ("ttnn.exp_bw(*[put((32, 64), layout='ROW_MAJOR')] * 2)", "Optional output tensor with Row Major input"),
        ("ttnn.moreh_sum(put((33, 32)), dim=-1)", "Invalid dimension value: -1"),
        ("ttnn.triu(ttnn.from_device(put((32, 32))))", "must be on device"),
        ("ttnn.permute(ttnn.from_device(put((2, 3))), [1, 0])", "Tensor must already be on device"),
        ("ttnn.scatter(put((8, 8), 'int32'), 0, put((8, 8), 'int32'), put((8, 8), 'uint32'))", "input_dtype differs"),
        ("ttnn.scatter(put((8, 8), 'float32'), 0, put((8, 8), 'int32'), put((8, 8), 'float32'))", "fp32 tiled tensors"),
        ("ttnn.layer_norm(put((1, 1, 64, 33), layout='ROW_MAJOR'))", "to be a multiple of tile width"),
        ("ttnn.upsample(put((1, 4, 4, 32), 'float32', 'ROW_MAJOR'), 2, mode='bilinear')", "requires BFLOAT16 input"),
        ("ttnn.pad(put((3,)), [(0, 32)], 0.0)", "MeshBuffer must be large enough"),
        ("ttnn.transpose(put((64, 64)), 0, 5)", "should be between 0 and 1 however is 5.* choose one of its"),
        ("ttnn.concat([put((64, 64))] * 2, -5)", "should be between 0 and 1 however is -5"),
        ("ttnn.split(put((64, 64)), 7, 3)", "should be between 0 and 1 however is 3"),
        ("ttnn.softmax(put((64, 64)), 7)", r"in range of \[-2, 1\], but got 7.* choose one of its dimensions"),
        ("ttnn.slice(put((64, 64)), [0], [10])", "Input rank 2 and begins 1 must have the same size"),
        ("ttnn.slice(put((64, 64)), [0, 0], [10])", "Start 2 and end 1 must have the same size"),
        ("ttnn.slice(put((64, 64)), [0, 0], [10, 10], [1])", "Step 1 must have the same size as start 2 and end"),
        ("ttnn.slice(put((64, 64)), [0, 0], [100, 64])", "Ends 128 must be less than or equal to the shape .* 64"),
        ("ttnn.slice(put((64, 64)), [0, 0], [100, 64], [2, 1])", "Ends 100 must be .* end dimension 0 at 64 at most"),
        ("ttnn.layer_norm(put((64, 64)), weight=put((1, 96)))", "multiplied by gamma padding.*Give it 64 columns"),
        ("ttnn.layer_norm(put((64, 64)), bias=put((1, 96)))", "offset by beta padding.*Give it 64 columns"),
        ("ttnn.linear(put((64, 64)), put((64, 64)), bias=put((1, 96)))", "Unsupported bias shape: .* 96, .* 64"),
        (
            "ttnn.transformer.split_query_key_value_and_split_heads(put((64, 96)), num_heads=1)",
            "expected 3 dimensions, but found 2",
        ),
        (
            "ttnn.max_pool2d(put((1, 1, 64, 32)), 1, 8, 8, 32, [9, 9], [1, 1], [0, 0], [1, 1])",
            r"ttnn.max_pool2d: invalid arguments: .* called with Shape\(\[1, 1, 64, 32\]\).*Compare ranks, sizes",
        ),
        (
            "ttnn.linear(put((3, 96, 33)), put((3, 96, 64)), transpose_a=True, bias=put((1, 64)))",
            "MeshBuffer must be large enough",
        ),
    ],
)
def test_calls_are_refused_in_tt_nns_words(ttnn: Any, put: Any, call: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        eval(call, {"ttnn": ttnn, "put": put})


def test_an_index_lies_within_its_dimension(ttnn: Any, put: Any) -> None:
    x = put((64, 32))
    with pytest.raises(IndexError, match=r"Index 64 .* out of bounds for dimension 0 of size 64. Choose one from -64"):
        x[64]
    with pytest.raises(IndexError, match=r"Index -33 \(converted to -1\) is out of bounds for dimension 1 of size 32"):
        x[0, -33]
    with pytest.raises(IndexError, match=r"Too many indices for tensor of dimension 2: got 3"):
        x[0, 0, 0]
    assert torch.equal(ttnn.to_torch(x[-64, -32:]), ttnn.to_torch(x)[-64, -32:])


def test_a_missing_or_unknown_argument_is_named(ttnn: Any, put: Any) -> None:
    x = put((32, 32))
    with pytest.raises(TypeError, match=r"types: ttnn.Tensor, foo: int\nttnn.relu got an unexpected .* 'foo'"):
        ttnn.relu(x, foo=1)
    with pytest.raises(TypeError, match=r"ttnn.relu missing 1 required positional argument: 'input_tensor'"):
        ttnn.relu()
    with pytest.raises(TypeError, match=r"input_tensor_b: int \| float, [^$]*types: ttnn.Tensor, NoneType"):
        ttnn.add(x, None)


def test_arrays_and_words_are_refused_where_a_tensor_or_a_type_is_needed(ttnn: Any, put: Any) -> None:
    x, array = put((2, 2)), torch.ones(2, 2)
    with pytest.raises(TypeError, match=r"types: ttnn.Tensor, ndarray"):
        ttnn.add(x, array.numpy())
    with pytest.raises(TypeError, match=r"ttnn.to_torch\(\): incompatible function arguments"):
        ttnn.to_torch(array)
    with pytest.raises(TypeError, match=r"dtype must be a ttnn.DataType such as ttnn.bfloat16, got 'bf16'"):
        ttnn.from_torch(array, dtype="bf16")
    with pytest.raises(TypeError, match=r"ttnn.from_torch\(\): incompatible function arguments"):
        ttnn.from_torch(array, layout="tile")


def test_a_call_is_refused_alike_after_one_of_the_same_types(ttnn: Any, put: Any) -> None:
    table, options = put((4, 32)), {"dtype": "uint32", "layout": "ROW_MAJOR"}
    ttnn.embedding(put(torch.zeros(1, 32), **options), table)
    with pytest.raises(
        RuntimeError, match=r"ttnn.embedding: invalid arguments: .*outside the table of 4 rows.*called with"
    ):
        ttnn.embedding(put(torch.full((1, 32), 9), **options), table)


def test_nothing_is_created_on_a_closed_device(ttnn: Any) -> None:
    device = ttnn.open_device(device_id=0)
    ttnn.close_device(device)
    with pytest.raises(RuntimeError, match=r"Device is not open. Create tensors on it before ttnn.close_device"):
        ttnn.zeros((32, 32), device=device)


def test_a_device_is_no_tensor_and_no_number(ttnn: Any, put: Any, device: Any) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        ttnn.moreh_full([2, 3], 1.0, put((32, 32)))
    for call in (lambda: ttnn.exp(torch.zeros(3)), lambda: ttnn.to_device(torch.zeros(3), device), lambda: ttnn.exp(2)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call()
    with pytest.raises(TypeError, match="shape must not be negative"):
        ttnn.rand([2, -1], device)
    for name, word in (("layout", "ROW_MAJOR"), ("memory_config", "DRAM"), ("dtype", "bfloat16")):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            ttnn.rand([2, 2], device, **{name: word})


_ROWS = "put((1, 1, 64, 64), layout='ROW_MAJOR')"


@pytest.mark.parametrize(
    ("call", "dtype", "layout"),
    [
        ("ttnn.softmax(put((1, 1, 31, 33), layout='ROW_MAJOR'), -1)", "BFLOAT16", "TILE"),
        ("ttnn.where(put((32, 32), 'float32'), 15.5, 2.5)", "FLOAT32", "TILE"),
        ("ttnn.argmax(put((8, 65), 'int32', 'ROW_MAJOR'), -1)", "UINT32", "ROW_MAJOR"),
        ("ttnn.roll(put((1, 2, 32, 64), 'bfloat8_b'), 1, 1)", "BFLOAT8_B", "TILE"),
        ("ttnn.roll(put((64, 64), 'bfloat8_b'), 1, 0)", "BFLOAT16", "TILE"),
        ("ttnn.sort(put(()))[1]", "UINT16", "TILE"),
        ("ttnn.adaptive_avg_pool2d(put((1, 1, 256, 32), 'bfloat8_b'), 1, 16, 16, 32, [4, 4])", "BFLOAT16", "ROW_MAJOR"),
        ("ttnn.silu_bw(put((32, 64), 'bfloat8_b'), put((32, 64)))[0]", "BFLOAT16", "TILE"),
        ("ttnn.triu(put((96,)))", "BFLOAT16", "TILE"),
        ("ttnn.silu_bw(put((32, 64)), put((32, 64), layout='ROW_MAJOR'))[0]", "BFLOAT16", "ROW_MAJOR"),
        ("ttnn.where(put((32, 32)), put((32, 32), layout='ROW_MAJOR'), 2.0)", "BFLOAT16", "TILE"),
        ("ttnn.add_(put((64, 64)), put((64, 1), layout='ROW_MAJOR'))", "BFLOAT16", "TILE"),
        ("ttnn.scatter(put((8, 8), 'uint16'), 0, put((8, 8), 'int32'), put((8, 8), 'uint16'))", "UINT16", "TILE"),
        ("ttnn.addalpha_bw(put((32, 1)), put((32, 1)), put((32, 1), 'float32'), 2.0)[1]", "FLOAT32", "TILE"),
        (f"ttnn.experimental.rotary_embedding(*[{_ROWS}] * 3)", "BFLOAT16", "TILE"),
    ],
)
def test_types_of_results(ttnn: Any, put: Any, call: str, dtype: str, layout: str) -> None:
    made = eval(call, {"ttnn": ttnn, "put": put})
    assert (made.dtype.name, made.layout.name) == (dtype, layout)


def test_memories_of_results(ttnn: Any, put: Any) -> None:
    x = put((1, 1, 64, 64), memory_config=ttnn.L1_MEMORY_CONFIG)
    assert ttnn.transformer.scaled_dot_product_attention(x, x, x).memory_config() == ttnn.DRAM_MEMORY_CONFIG
    assert ttnn.concat([x, x], 0).memory_config() == ttnn.DRAM_MEMORY_CONFIG
    index = put((1, 1, 64, 64), "uint32")
    assert [ttnn.gather(x, dim, index).memory_config().buffer_type.name for dim in (-1, -2)] == ["L1", "DRAM"]
    rows = ttnn.create_sharded_memory_config((1, 1, 64, 64), ttnn.CoreGrid(y=1, x=2), ttnn.ShardStrategy.HEIGHT)
    assert ttnn.add(x, ttnn.to_memory_config(x, rows)).memory_config() == ttnn.L1_MEMORY_CONFIG
    assert ttnn.repeat(ttnn.to_memory_config(x, rows), [1, 2, 1, 1]).memory_config().shard_spec.num_cores() == 4


def test_parts_are_joined_in_groups(ttnn: Any, put: Any) -> None:
    a, b = drawn(1, 1, 32, 64).bfloat16(), drawn(1, 1, 32, 128, seed=1).bfloat16()
    parts = [part for pair in zip(a.chunk(2, 3), b.chunk(2, 3), strict=True) for part in pair]
    assert torch.equal(ttnn.to_torch(ttnn.concat([put(a), put(b)], 3, groups=2)), torch.cat(parts, 3))


def test_the_greatest_elements_have_the_indices_that_are_given(ttnn: Any, put: Any) -> None:
    x, indices = drawn(1, 1, 32, 64).bfloat16(), torch.arange(100, 164).expand(1, 1, 32, 64)
    values, chosen = ttnn.topk(put(x), 32, -1, indices_tensor=put(indices.contiguous(), "uint32"))
    positions = ttnn.to_torch(chosen).long() - 100
    assert torch.equal(x.gather(-1, positions), ttnn.to_torch(values))


def test_tensors_of_equal_elements_are_written(ttnn: Any, put: Any) -> None:
    target = put((32, 64))
    ttnn.full_like(put((32, 64)), 3.0, optional_tensor=target)
    assert torch.equal(ttnn.to_torch(target), torch.full((32, 64), 3.0).bfloat16())


def test_a_scan_keeps_its_last_state(ttnn: Any, put: Any) -> None:
    a, bx, state = drawn(1, 1, 32, 64), drawn(1, 1, 32, 64, seed=1), torch.zeros(1, 1, 1, 64)
    kept = put(state)
    states = ttnn.experimental.prefix_scan(put(a), put(bx), kept)
    assert torch.equal(ttnn.to_torch(kept), ttnn.to_torch(states)[..., -1:, :])


def test_a_loss_tells_its_divisor_and_a_norm_that_it_is_not_finite(ttnn: Any, put: Any, card: Card) -> None:
    targets, weight = torch.tensor([0, 2, 1, 2], dtype=torch.int32), torch.tensor([1.0, 2.0, 4.0])
    divisor = put((1,))
    options = {"weight_tensor": put(weight), "divisor_tensor": divisor}
    ttnn.moreh_nll_loss(put(drawn(4, 3)), put(targets, "int32"), "mean", **options)
    assert ttnn.to_torch(divisor).item() == 11
    with pytest.raises(RuntimeError, match="total norm of order nan for gradients"):
        ttnn.moreh_clip_grad_norm([put((32, 32))], 1.0, float("nan"), True)


def test_functions_around_an_operation_have_a_time(ttnn: Any, put: Any, device: Any) -> None:
    before = device.predicted_us
    ttnn.add(put((32, 32)), put((32, 32)), activations=[ttnn.UnaryWithParam(ttnn.UnaryOpType.GTZ)])
    assert device.predicted_us > before


def test_a_grid_stands_for_all_of_its_cores(ttnn: Any, put: Any) -> None:
    kinds = (ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.ShardOrientation.ROW_MAJOR)
    made = ttnn.interleaved_to_sharded(put((1, 1, 64, 64)), (2, 1), [32, 64], *kinds).memory_config()
    assert (made.buffer_type, made.shard_spec.num_cores()) == (ttnn.BufferType.L1, 2)


def test_new_programs_are_forbidden(ttnn: Any, put: Any, device: Any) -> None:
    x = put((32, 32))
    ttnn.exp(x)
    device.set_program_cache_misses_allowed(False)
    ttnn.exp(x)
    with pytest.raises(RuntimeError, match="program cache miss occurred"):
        ttnn.sin(x)


@pytest.mark.parametrize(
    ("shape", "order", "kind", "size"),
    [
        ((2, 3, 64, 96), [0, 2, 1, 3], "BLOCK", [416, 32]),
        ((2, 3, 64, 96), [0, 1, 3, 2], "BLOCK", [64, 32]),
        ((2, 31, 64), [1, 0, 2], "HEIGHT", None),
    ],
)
def test_uneven_shards_of_reordered_dimensions(
    ttnn: Any, put: Any, shape: tuple[int, ...], order: list[int], kind: str, size: list[int] | None
) -> None:
    across, down, block = (3, 6, (64, 32)) if kind == "BLOCK" else (2, 1, (32, 64))
    grid = ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (across - 1, down - 1))])
    spec = ttnn.ShardSpec(grid, block, ttnn.ShardOrientation.ROW_MAJOR)
    memory = ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, f"{kind}_SHARDED"), ttnn.BufferType.L1, spec)
    made = ttnn.permute(put(shape, memory_config=memory), order).memory_config()
    assert (made.shard_spec and list(made.shard_spec.shape)) == size


def test_padding_of_tiles_is_remembered(ttnn: Any, put: Any) -> None:
    filled = ttnn.from_device(ttnn.fill_implicit_tile_padding(put(torch.ones(3, 5)), 2.0))
    padded = filled.to_torch_with_padded_shape()
    assert (padded.shape, (padded == 2).sum().item()) == ((32, 32), 1024 - 15)
    moved = ttnn.fill_implicit_tile_padding(put(torch.ones(3, 5)), 2.0, memory_config=ttnn.L1_MEMORY_CONFIG)
    assert moved.memory_config() == ttnn.DRAM_MEMORY_CONFIG  # TT-NN ignores it


def test_weights_of_groups_on_several_cores(card: Card) -> None:
    x, weight = drawn(1, 1, 64, 960), drawn(960, seed=1)
    rows = card.ttnn.create_group_norm_weight_bias_rm(weight, 960, 8)
    made = card("group_norm", x, num_groups=32, weight=rows, epsilon=1e-5, inplace=False)
    by_channel = torch.nn.functional.group_norm(x[0].transpose(1, 2), 32, weight, eps=1e-5)
    torch.testing.assert_close(made, by_channel.transpose(1, 2)[None], rtol=2e-2, atol=5e-2)


@pytest.mark.parametrize("kind", ["", "MultiCast", "MultiCast1D"])
def test_blocks_of_a_product_divide_its_inner_dimension(ttnn: Any, put: Any, kind: str) -> None:
    options = {"compute_with_storage_grid_size": (2, 2), "out_subblock_h": 1, "out_subblock_w": 1, "per_core_M": 1}
    options |= {"per_core_N": 1}
    options |= {"MultiCast": {"transpose_mcast": False}, "MultiCast1D": {"fuse_batch": True, "mcast_in0": True}}.get(
        kind, {}
    )
    made = getattr(ttnn, f"MatmulMultiCoreReuse{kind}ProgramConfig")
    x = put((64, 64))
    assert list(ttnn.matmul(x, x, program_config=made(in0_block_w=2, **options)).shape) == [64, 64]
    with pytest.raises(
        RuntimeError, match=rf"Reuse{kind}ProgramConfig: Kt \(2\) must be divisible by in0_block_w \(3\)"
    ):
        ttnn.matmul(x, x, program_config=made(in0_block_w=3, **options))
