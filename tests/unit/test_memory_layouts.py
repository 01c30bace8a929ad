"""Tests of sharding, of TT-NN's allocator and of circular buffers."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_xla.compiler.ttnn.layouts.forms import Site, forms
from tt_xla.cost.allocation import AddressSpace
from tt_xla.cost.circular_buffers import circular_buffer_bytes, internal_tensor
from tt_xla.cost.memory import bytes_per_bank
from tt_xla.cost.sharding import BLOCK, HEIGHT, WIDTH, interleaved_in_l1, over_dram_banks, same_shards, shardings
from tt_xla.ir.layout import BufferType, DataType, TensorLayout
from tt_xla.ir.program import Instruction, Operand, TensorSpec
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

SYSTEMS = st.sampled_from(["n150", "p150"])
SHAPES = st.lists(st.integers(1, 3000), min_size=1, max_size=4).filter(lambda shape: math.prod(shape) < 2**26)


@given(SYSTEMS, SHAPES, st.sampled_from([DataType.BF16, DataType.F32, DataType.BFP_BF8]))
def test_shards_cover_a_tensor_on_cores_of_the_chip(system, shape, dtype):
    target = load_target(system)
    rows, columns = TensorLayout.of(shape, dtype).shard
    for layout in shardings(tuple(shape), dtype, target):
        high, wide = layout.grid
        assert (high - 1) * layout.shard[0] < rows <= high * layout.shard[0]
        assert (wide - 1) * layout.shard[1] < columns <= wide * layout.shard[1]
        assert sum(core_range.cores for core_range in layout.core_ranges) == high * wide
        for (x0, y0), (x1, y1) in layout.core_ranges:
            assert 0 <= x0 <= x1 < target.grid[1]
            assert 0 <= y0 <= y1 < target.grid[0]
        if layout.memory is HEIGHT:
            assert wide == 1
        if layout.memory is WIDTH:
            assert high == 1
        if layout.memory is BLOCK:
            (_, end), *more = layout.core_ranges
            assert not more
            assert end == (wide - 1, high - 1)


def test_no_core_can_do_less_than_the_busiest_one():
    target = load_target("p150")
    height = shardings((71 * 32, 256), DataType.BF16, target)[0]
    assert (height.memory, height.grid, height.shard) == (HEIGHT, (71, 1), (1, 8))
    height = shardings((221 * 32, 256), DataType.BF16, target)[0]
    assert (height.grid, height.shard) == ((74, 1), (3, 8))


def test_same_shards_is_about_place_and_not_type():
    target = load_target("p150")
    bf16, f32 = (shardings((2048, 512), dtype, target) for dtype in (DataType.BF16, DataType.F32))
    assert all(same_shards(one, other) for one, other in zip(bf16, f32, strict=True))
    assert not same_shards(bf16[0], bf16[2])


ACTIONS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 400)), max_size=40)


@given(ACTIONS, st.booleans())
def test_the_allocator_takes_the_first_gap_and_never_overlaps(actions, top_down):
    space = AddressSpace("L1", 64, 64 + 1600, 16, top_down=top_down)
    for owner, size in actions:
        if owner in space.owners:
            space.free(owner)
            continue
        blocks = sorted(space.owners.values())
        padded = -(-size // 16) * 16
        gaps = zip([64, *(stop for _, stop in blocks)], [*(start for start, _ in blocks), 64 + 1600], strict=True)
        fitting = [(start, stop) for start, stop in gaps if stop - start >= padded]
        expected = None
        if fitting:
            expected = fitting[-1][1] - padded if top_down else fitting[0][0]
        assert space.allocate(owner, size) == expected
        blocks_in_use = sorted(space.owners.values())
        assert all(stop <= start for (_, stop), (start, _) in itertools.pairwise(blocks_in_use))
        assert space.lowest == (blocks_in_use[0][0] if blocks_in_use else space.end)
        assert space.used == sum(stop - start for start, stop in blocks_in_use)


def test_addresses_are_those_that_tt_nn_gives():
    """TT-NN 0.81 in its mock mode: tensors of 4, 3, 8, 2, 5, 2 and 6 tiles a bank, some of them freed, then 5, 2, 4."""
    for top_down in (False, True):
        space = AddressSpace("", 0, 100, 1, top_down=top_down)
        for owner, size in enumerate((4, 3, 8, 2, 5, 2, 6)):
            space.allocate(owner, size)
        for owner in (1, 2, 4):
            space.free(owner)
        addresses = [space.allocate(f"new {size}", size) for size in (5, 2, 4)]
        assert addresses == ([100 - 9, 100 - 11, 100 - 15] if top_down else [4, 9, 11])


MEASURED = [
    ("relu", [(2048, 512)], {}, 8192),
    ("add", [(2048, 512), (2048, 512)], {}, 12288),
    ("add", [(2048, 512), (1, 512)], {}, 16384),
    ("where", [(2048, 512)] * 3, {}, 16384),
    ("softmax", [(2048, 512)], {}, 95685),
    ("softmax", [(2048, 512)], {"numericStable": True}, 129865),
    ("softmax", [(2048, 4096)], {"numericStable": True}, 818927),
    ("layer_norm", [(2048, 512), (1, 512)], {}, 174982),
    ("layer_norm", [(2048, 4096), (1, 4096)], {}, 174982),
    ("sum", [(2048, 512)], {}, 21857),
    ("to_layout", [(2048, 4096)], {}, 32794),
]
"""Bytes of circular buffers that TT-NN 0.81 needs on p150, found in its mock mode by filling L1 until the op fails."""


@pytest.mark.parametrize(("op", "shapes", "attributes", "measured"), MEASURED)
def test_circular_buffers_are_not_below_what_tt_nn_needs(op, shapes, attributes, measured):
    tiled = op != "to_layout"
    values = [TensorSpec(shape, TensorLayout.of(shape, DataType.BF16)) for shape in shapes]
    values.append(TensorSpec(shapes[0], TensorLayout.of(shapes[0], DataType.BF16, tiled=tiled)))
    operands: dict[str, Operand] = {f"operand_{number}": number for number in range(len(shapes))}
    predicted = circular_buffer_bytes(
        Instruction(f"ttnn.{op}", operands, (len(shapes),), attributes), values, load_target("p150")
    )
    assert measured <= predicted <= 20 * measured


@pytest.mark.parametrize(
    ("rows", "sizes", "grid", "depth", "wide", "bias", "dtype", "measured"),
    [
        (12544, (256, 512), (98, 1), 8, False, False, DataType.BFP_BF8, 139264),
        (12544, (256, 512), (98, 1), 8, True, True, DataType.BFP_BF8, 418816),
        (12544, (256, 512), (98, 1), 2, False, False, DataType.BFP_BF8, 235520),
        (12544, (512, 512), (98, 1), 2, False, False, DataType.BF16, 139264),
        (2560, (512, 1024), (10, 8), 2, False, True, DataType.BFP_BF8, 122112),
        (2560, (512, 1024), (10, 8), 1, False, False, DataType.BF16, 26112),
        (2560, (512, 1024), (10, 8), 1, True, True, DataType.BF16, 161536),
    ],
)
def test_circular_buffers_of_products_of_shards(rows, sizes, grid, depth, wide, bias, dtype, measured):
    """Sharded bfloat8_b times bfloat8_b; TT-NN 0.81 on p150 reports the end of the buffers when L1 is full."""
    inner, columns = sizes
    memory = HEIGHT if grid[1] == 1 else BLOCK
    place = {"buffer": BufferType.L1, "memory": memory, "grid": grid}
    shapes = [(1, 1, rows, inner), (inner, columns), *([(1, columns)] if bias else [])]
    values = [TensorSpec(shape, TensorLayout.of(shape, DataType.BFP_BF8)) for shape in shapes]
    values[0] = TensorSpec(shapes[0], TensorLayout.of(shapes[0], DataType.BFP_BF8, **place))
    result = (1, 1, rows, columns)
    values.append(TensorSpec(result, TensorLayout.of(result, dtype, **place)))
    config = {
        "config": "multi_cast_1d" if memory is HEIGHT else "multi_cast",
        "in0_block_w": depth,
        "per_core_m": values[-1].layout.shard[0],
        "per_core_n": values[-1].layout.shard[1],
    }
    attributes = {"matmul_program_config": config, "compute_config": {"fp32_dest_acc_en": wide}}
    operands: dict[str, Operand] = {f"operand_{number}": number for number in range(len(shapes))}
    product = Instruction("ttnn.linear", operands, (len(shapes),), attributes)
    assert circular_buffer_bytes(product, values, load_target("p150")) - 1024 == measured


B8, B16 = DataType.BFP_BF8, DataType.BF16


@pytest.mark.parametrize(
    ("images", "size", "channels", "window", "grid", "block", "wide", "bias", "dtype", "measured", "halo"),
    [
        (4, 56, (64, 64), (3, 1), (98, 1), 0, False, True, B8, 107008, 47104),
        (4, 56, (64, 64), (3, 1), (49, 1), 0, False, True, B8, 198656, 64000),
        (4, 56, (64, 64), (3, 1), (49, 1), 64, False, True, B8, 87360, 64000),
        (4, 56, (64, 64), (3, 1), (49, 1), 0, True, True, B8, 231424, 64000),
        (4, 56, (64, 64), (3, 1), (49, 1), 0, False, False, B16, 209792, 64000),
        (4, 56, (128, 128), (3, 2), (49, 1), 0, False, True, B8, 148352, 138496),
        (8, 14, (256, 256), (3, 1), (7, 8), 0, False, True, B8, 107584, 20480),
        (8, 14, (256, 256), (3, 1), (7, 8), 0, True, True, B16, 119232, 20480),
        (8, 14, (256, 256), (3, 1), (7, 8), 32, False, True, B8, 19264, 20480),
    ],
)
def test_a_convolution_of_shards(images, size, channels, window, grid, block, wide, bias, dtype, measured, halo):
    """Circular buffers and gathered rows of bfloat8_b feature maps, as TT-NN 0.81 reports them on a full p150."""
    target = load_target("p150")
    (inputs, outputs), (kernel, step) = channels, window
    place = {"buffer": BufferType.L1, "memory": HEIGHT if grid[1] == 1 else BLOCK, "grid": grid}
    before, after = ((1, 1, images * (size // each) ** 2, count) for each, count in ((1, inputs), (step, outputs)))
    values = [TensorSpec(before, TensorLayout.of(before, B8, **place))]
    others = [(1, 1, kernel * kernel * inputs, outputs), *([(1, 1, 1, outputs)] if bias else [])]
    values += [TensorSpec(shape, TensorLayout.of(shape, B8)) for shape in others]
    values.append(TensorSpec(after, TensorLayout.of(after, dtype, **place)))
    attributes = {
        "input_height": size,
        "input_width": size,
        "kernel_size": [kernel, kernel],
        "stride": [step, step],
        "padding": [1, 1, 1, 1],
        "conv2d_config": {"act_block_h_override": block},
        "compute_config": {"fp32_dest_acc_en": wide},
    }
    names = ("input", "weight", "bias")[: len(values) - 1]
    operands: dict[str, Operand] = {name: number for number, name in enumerate(names)}
    convolution = Instruction("ttnn.conv2d", operands, (len(values) - 1,), attributes)
    assert measured <= circular_buffer_bytes(convolution, values, target) <= measured + 1024
    gathered = internal_tensor(convolution, values)
    assert gathered is not None
    assert bytes_per_bank(gathered.layout, target) == halo


@pytest.mark.parametrize(("count", "cores"), [(1568, 56), (98, 49), (25, 25), (127, 64)])
def test_full_shards_are_preferred_where_they_use_most_of_the_cores(count: int, cores: int):
    layouts = shardings((1, 1, count * 32, 32), DataType.BF16, load_target("n150"))
    assert next(layout.grid for layout in layouts if layout.memory is HEIGHT) == (cores, 1)


@pytest.mark.parametrize(("columns", "depth", "measured"), [(8192, 1, 306688), (8192, 4, 632320), (16384, 4, 1246720)])
def test_circular_buffers_of_weights_cut_over_banks(columns: int, depth: int, measured: int):
    target = load_target("p150")
    row, weight = ((1, 2048), DataType.BF16), ((2048, columns), DataType.BFP_BF8)
    values = [TensorSpec(shape, TensorLayout.of(shape, dtype)) for shape, dtype in (row, weight)]
    values[1] = TensorSpec(weight[0], over_dram_banks(values[1].layout, weight[0], target))
    values.append(TensorSpec((1, columns), TensorLayout.of((1, columns), DataType.BF16)))
    config = {"config": "dram_sharded", "in0_block_w": depth, "per_core_m": 1, "per_core_n": 4}
    product = Instruction("ttnn.matmul", {"a": 0, "b": 1}, (2,), {"matmul_program_config": config})
    assert measured <= circular_buffer_bytes(product, values, target) <= 1.01 * measured


@pytest.mark.parametrize(
    ("shape", "measured"), [((2, 128, 1024), 262144), ((2, 4096, 256), 131072), ((2, 4096, 1024), 524288)]
)
def test_tilize_and_untilize_into_l1_leave_room_for_whole_rows(shape: tuple[int, ...], measured: int):
    """TT-NN 0.81 reports the end of its circular buffers if they overlap the result; measured for float32 on p150."""
    target = load_target("p150")
    tiles, rows = (TensorLayout.of(shape, DataType.F32, tiled=tiled) for tiled in (True, False))
    step = Instruction("ttnn.to_layout", {"input": 0}, (1,), {})
    for source, result in ((tiles, rows), (rows, tiles)):
        into_l1, into_dram = (
            circular_buffer_bytes(step, [TensorSpec(shape, source), TensorSpec(shape, place)], target)
            for place in (interleaved_in_l1(result, shape, target), result)
        )
        assert measured + 640 <= into_l1 <= 1.1 * measured
        assert into_dram < measured


@pytest.mark.parametrize(("rows", "reads_shards"), [(64, True), (48, False)])
def test_a_reduction_reads_only_shards_of_full_tiles(rows, reads_shards):
    """TT-NN fills the padding of a sharded operand only when it is one slice."""
    target = load_target("p150")
    spec = TensorSpec((4, rows, 64), TensorLayout.of((4, rows, 64), DataType.BF16))
    result = TensorSpec((4, rows, 1), TensorLayout.of((4, rows, 1), DataType.BF16))
    instruction = Instruction("ttnn.sum", {"input": 0}, (1,), {"dim_arg": [2], "keep_dim": True})
    op_forms = forms(Site(instruction, (spec,), result, target, fixed=False))
    sharded = shardings(spec.shape, DataType.BF16, target)[0]
    assert any(form.accepts[0](sharded) for form in op_forms) is reads_shards


def test_attention_reads_its_mask_only_from_dram():
    """TT-NN refuses a mask in L1, so its move to DRAM has a price."""
    target = load_target("p150")
    shapes = ((1, 4, 64, 64), (1, 1, 64, 64))
    heads, mask = (TensorSpec(shape, TensorLayout.of(shape, DataType.BF16)) for shape in shapes)
    operands: dict[str, Operand] = {"query": 0, "key": 1, "value": 2, "attention_mask": 3}
    instruction = Instruction("ttnn.scaled_dot_product_attention", operands, (4,), {"is_causal": False})
    near = interleaved_in_l1(mask.layout, mask.shape, target)
    for form in forms(Site(instruction, (heads, heads, heads, mask), heads, target, fixed=False)):
        assert not form.accepts[3](near)
        assert form.accepts[3](mask.layout)
        assert form.moves[3] == mask.layout
        assert form.accepts[0](interleaved_in_l1(heads.layout, heads.shape, target))


def test_a_tensor_is_sent_from_the_memory_of_the_result():
    target = load_target("p150")
    spec = TensorSpec((64, 64), TensorLayout.of((64, 64), DataType.BF16))
    operands: dict[str, Operand] = {"input": 0, "optional_output_tensor": 1}
    instruction = Instruction("ttnn.point_to_point", operands, (2,), {"sender_coord": (0, 0), "receiver_coord": (0, 1)})
    places = (spec.layout, interleaved_in_l1(spec.layout, spec.shape, target))
    op_forms = forms(Site(instruction, (spec, spec), spec, target, fixed=False))
    assert [form.result for form in op_forms] == [*places]
    for form in op_forms:
        assert all(accepts(place) is (place == form.result) for accepts in form.accepts for place in places)
