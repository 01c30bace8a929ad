"""Forms in which TT-NN runs an op: the result's layout, the operand layouts that it reads, and its config.

There is one function per family of ops, in a table at the end. Ops outside the table read and write interleaved
tensors. Each rule was tried in TT-NN's mock mode (0.81, p150).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from tt_xla.compiler.ttnn.layouts.matmul_forms import dram_sharded_forms, product_forms
from tt_xla.cost import families
from tt_xla.cost.convolution_buffers import sharded_convolution_buffers
from tt_xla.cost.movement import keeps_tiles
from tt_xla.cost.sharding import (
    BLOCK,
    HEIGHT,
    WIDTH,
    even_blocks,
    even_cuts,
    in_dram,
    interleaved_in_l1,
    least_cut,
    rows_in_shards,
    same_shards,
    sharded,
    shardings,
)
from tt_xla.cost.window_shards import convolution_input
from tt_xla.ir.layout import TILE, BufferType, DataType, TensorLayout, round_up
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.target import Target
from tt_xla.target.sfpu import sfpu_cycles

Accepts = Callable[[TensorLayout], bool]
"""Test whether an operand can be read in a layout."""


def interleaved(layout: TensorLayout) -> bool:
    """Accepts tensors that are not sharded."""
    return not layout.is_sharded


def in_dram_or_on_host(layout: TensorLayout) -> bool:
    """Accepts tensors outside L1."""
    return layout.buffer is not BufferType.L1


def any_layout(layout: TensorLayout) -> bool:
    """Accepts every tensor."""
    return True


class Form(NamedTuple):
    """One way to run an op."""

    result: TensorLayout | None
    """Layout of the result; None for a view, which lies where the operand lies."""
    accepts: tuple[Accepts, ...]
    """For each operand, the test whether it can be read where it lies."""
    moves: tuple[TensorLayout | None, ...]
    """For each operand that cannot be read, its destination; None means L1 interleaved, or DRAM when L1 is full."""
    config: Mapping[str, Any] | None = None
    """Fields of the program config or convolution config that the form needs, as plain values."""


@dataclass(frozen=True)
class Site:
    """An op as the optimiser sees it: its operands and results as they are at level 1."""

    instruction: Instruction
    inputs: tuple[TensorSpec, ...]
    result: TensorSpec | None
    target: Target
    fixed: bool
    """Whether the result must stay where it is."""
    others: tuple[TensorSpec, ...] = ()
    """Results of ops that have no result, or several, to place."""
    weights: tuple[bool, ...] = ()
    """For each operand, whether it is a constant that this op alone uses, so that it may lie anywhere in DRAM."""
    mesh: Mesh | None = None
    """The chips that run the op; None for one chip."""
    prepared: bool = False
    """Whether an op prepares the weights of a convolution for this op alone, so that it may prepare them for shards."""

    wanted: TensorLayout | None = None
    """A sharded layout of the result that an override asks for, beside those that the search tries by itself."""

    def is_weight(self, position: int) -> bool:
        """Returns whether an operand is a constant that this op alone uses."""
        return position < len(self.weights) and self.weights[position]

    @property
    def result_shape(self) -> tuple[int, ...] | None:
        """Shape of the result that is placed, if there is one."""
        return self.result.shape if self.result is not None else None

    @property
    def name(self) -> str:
        """Name of the op without its dialect."""
        return self.instruction.op.rpartition(".")[2]


_KEEP_LAYOUTS = ("while_loop", "case", "paged_update_cache", "fill_cache")
"""Ops that take their operands where level 1 has them: TT-NN wants caches, and positions in them, in DRAM."""


_SHARDED_ONLY = ("convert_to_hwc",)
"""Ops that TT-NN runs on shards alone."""


def forms(site: Site) -> tuple[Form, ...]:
    """Returns the forms that TT-NN runs, starting with that of level 1."""
    plain = Form(
        site.result.layout if site.result else None, (interleaved,) * len(site.inputs), (None,) * len(site.inputs)
    )
    if site.name in _KEEP_LAYOUTS:
        return (_with_layouts_of_level_1(site),)
    if site.result is None:
        return (plain,)
    all_forms = list(_FAMILIES.get(site.name, _interleaved_forms)(site))
    level_1_forms = [form for form in all_forms if form.result == site.result.layout]
    level_1_forms = level_1_forms or ([] if site.name in _SHARDED_ONLY else [plain])
    if site.fixed or not site.result.layout.on_device:
        return tuple(level_1_forms)
    if any(form.result is None for form in all_forms):
        return tuple(all_forms)
    return tuple(level_1_forms + [form for form in all_forms if form.result != site.result.layout])


def _with_layouts_of_level_1(site: Site) -> Form:
    """Returns the form with operands where the functions of a loop or a case have their arguments."""
    accepts = tuple(partial(operator.eq, spec.layout) for spec in site.inputs)
    return Form(None, accepts, tuple(spec.layout for spec in site.inputs))


def _places(site: Site) -> list[TensorLayout]:
    """Returns the result's layouts in DRAM and in L1, both interleaved."""
    assert site.result is not None
    layout, shape = site.result.layout, site.result.shape
    return [in_dram(layout, shape), interleaved_in_l1(layout, shape, site.target)]


def _shards(site: Site) -> tuple[TensorLayout, ...]:
    """Returns the result's sharded layouts; row-major results have none."""
    assert site.result is not None
    layout = site.result.layout
    menu = shardings(site.result.shape, layout.dtype, site.target) if layout.tiled else ()
    return (*menu, site.wanted) if site.wanted is not None and site.wanted not in menu else menu


def _interleaved_forms(site: Site) -> Iterator[Form]:
    """Yields forms that read and write interleaved tensors."""
    count = len(site.inputs)
    for place in _places(site):
        yield Form(place, (interleaved,) * count, (None,) * count)


def _in_dram(site: Site) -> Iterator[Form]:
    """Yields the form that reads interleaved tensors and writes DRAM."""
    count = len(site.inputs)
    yield Form(_places(site)[0], (interleaved,) * count, (None,) * count)


def _copied(site: Site) -> Iterator[Form]:
    """Yields forms of ops that move tiles: they read shards and pages, and write pages."""
    count = len(site.inputs)
    accepts: Accepts = any_layout if all(spec.layout.tiled for spec in site.inputs) else interleaved
    for place in _places(site):
        yield Form(place, (accepts,) * count, (None,) * count)


def _reduced(site: Site) -> Iterator[Form]:
    """Yields forms of reductions.

    Shards are read only where all tiles are full: TT-NN fills padding first, and does so in pages alone.
    """
    full = all(size % TILE == 0 for spec in site.inputs for size in spec.shape[-2:])
    yield from _copied(site) if full else _interleaved_forms(site)


def _elementwise(site: Site) -> Iterator[Form]:
    """Yields forms in which operands of the result's shape may be sharded; broadcast operands are read from pages."""
    assert site.result is not None
    alike = [spec.shape == site.result.shape and spec.layout.tiled for spec in site.inputs]
    unary = sum(alike) == 1
    for place in (*_places(site), *_shards(site)):
        accepts: list[Accepts] = []
        moves: list[TensorLayout | None] = []
        for same in alike:
            if not same:
                accepts.append(interleaved)
                moves.append(None)
            elif unary and place.is_sharded:
                accepts.append(_like(place))
                moves.append(place)
            else:
                accepts.append(any_layout)
                moves.append(None)
        yield Form(place, tuple(accepts), tuple(moves))


def _cast(site: Site) -> Iterator[Form]:
    """Yields forms of casts, whose operand and result lie alike: both in pages, or in the same shards."""
    yield from _interleaved_forms(site)
    for place in _shards(site):
        source = place.retyped(site.inputs[0].layout.dtype)
        yield Form(place, (partial(same_shards, source),), (source,))


def _like(place: TensorLayout) -> Accepts:
    """Accepts interleaved tensors and those that are sharded as ``place`` is."""
    return lambda layout: not layout.is_sharded or same_shards(layout, place)


def _tilized(site: Site) -> Iterator[Form]:
    """Yields forms of conversions between tiles and row-major.

    Pages become pages. Row-major pages also become shards of tiles, and shards of tiles become row-major pages. Shards
    of rows that fill tiles become the same shards of tiles.
    """
    assert site.result is not None
    tilize = site.result.layout.tiled and not site.inputs[0].layout.tiled and site.inputs[0].layout.on_device
    for place in _places(site):
        yield Form(place, (any_layout if not site.result.layout.tiled else interleaved,), (None,))
    if tilize and site.inputs[0].layout.dtype == site.result.layout.dtype:
        for place in _shards(site):
            yield Form(place, (_in_pages_or_rows_of(place, site),), (None,))


def _in_pages_or_rows_of(place: TensorLayout, site: Site) -> Accepts:
    """Accepts interleaved tensors, and if the rows of a shard fill its tiles, the same rows."""
    sizes = site.inputs[0].shape
    rows = rows_in_shards(sizes, place.dtype, HEIGHT, place.grid[0], site.target)
    if place.memory is HEIGHT and rows.shard[0] == place.shard[0] * TILE:
        return _exactly_or_pages(rows)
    return interleaved


def _product(site: Site) -> Iterator[Form]:
    """Yields forms of matrix products.

    Without a config TT-NN chooses the blocks for interleaved tensors; with one, the result is sharded over its grid.
    """
    count = len(site.inputs)
    attributes = site.instruction.attributes
    if count > 2 and (attributes.get("transpose_a") or attributes.get("transpose_b")):
        # For a product with bias, TT-NN computes the room in L1 as if no operand were transposed.
        accepts: Accepts = in_dram_or_on_host
        yield Form(
            _places(site)[0], (accepts,) * count, tuple(in_dram(spec.layout, spec.shape) for spec in site.inputs)
        )
        return
    for place in _places(site):
        yield Form(place, (interleaved,) * count, (None,) * count)
    places = _shards(site)
    for result, operand, config in product_forms(site.instruction, site.inputs, site.result, site.target, places):
        accepts = interleaved
        if operand is not None:
            accepts = _exactly(operand) if not result.is_sharded else _exactly_or_pages(operand)
        goal = operand if not result.is_sharded else None
        yield Form(result, (accepts, *(interleaved,) * (count - 1)), (goal, *(None,) * (count - 1)), config)
    yield from _from_banks(site)


def _from_banks(site: Site) -> Iterator[Form]:
    """Yields forms of products of one row of tiles by weights that are cut over the DRAM banks."""
    if site.weights and all(site.weights[1:]):
        for result, operands, config in dram_sharded_forms(site.instruction, site.inputs, site.result, site.target):
            yield Form(result, tuple(_exactly(place) for place in operands), operands, config)


def _exactly(place: TensorLayout) -> Accepts:
    """Accepts one layout."""
    return lambda layout: layout == place


def _exactly_or_pages(place: TensorLayout) -> Accepts:
    """Accepts one layout and interleaved tensors."""
    return lambda layout: not layout.is_sharded or layout == place


def _attention(site: Site) -> Iterator[Form]:
    """Yields forms of attention of whole sequences, whose mask TT-NN reads only from DRAM."""
    accepts: list[Accepts] = [interleaved] * len(site.inputs)
    moves: list[TensorLayout | None] = [None] * len(site.inputs)
    if "attention_mask" in site.instruction.operands:
        position = list(site.instruction.operands).index("attention_mask")
        mask = site.inputs[position]
        accepts[position], moves[position] = in_dram_or_on_host, in_dram(mask.layout, mask.shape)
    for place in _places(site):
        yield Form(place, tuple(accepts), tuple(moves))


def _decode_attention(site: Site) -> Iterator[Form]:
    """Yields forms of attention of one position for each sequence, which reads DRAM and writes pages."""
    count = len(site.inputs)
    moves = tuple(in_dram(spec.layout, spec.shape) for spec in site.inputs)
    for place in _places(site):
        yield Form(place, (in_dram_or_on_host,) * count, moves)


def _sent(site: Site) -> Iterator[Form]:
    """Yields forms of sending a tensor to another chip, whose operands lie in the memory of the result."""
    for place in _places(site):
        accepts: Accepts = partial(_in_memory_of, place)
        yield Form(place, (accepts,) * len(site.inputs), (place,) * len(site.inputs))


def _in_memory_of(place: TensorLayout, layout: TensorLayout) -> bool:
    """Accepts tensors in pages of the same memory."""
    return not layout.is_sharded and layout.buffer is place.buffer


def _normalised(site: Site) -> Iterator[Form]:
    """Yields forms of normalisations.

    A sharded input needs the same shards in the result. Rows may be cut over cores.
    """
    count = len(site.inputs)
    for place in _places(site):
        yield Form(place, (interleaved,) * count, (None,) * count)
    for place in _shards(site):
        if place.memory in (BLOCK, WIDTH):
            yield Form(place, (_like(place), *(interleaved,) * (count - 1)), (place, *(None,) * (count - 1)))


def _softmax(site: Site) -> Iterator[Form]:
    """Yields forms of softmax; along the last dimension, whole rows may lie on different cores."""
    assert site.result is not None
    dimension = int(site.instruction.attributes.get("dimension", -1))
    last = dimension in (-1, len(site.result.shape) - 1)
    for place in _places(site):
        yield Form(place, (interleaved,), (None,))
    for place in _shards(site):
        if last and place.memory is HEIGHT:
            yield Form(place, (_like(place),), (place,))


def _reshape(site: Site) -> Iterator[Form]:
    """Yields forms of reshapes: a view where tiles stay as they are, else a copy from pages to pages.

    A vector that ends within a tile is no view of shards: TT-NN compares its length with that of padded rows.
    """
    assert site.result is not None
    source, result_sizes = site.inputs[0], site.result.shape
    if keeps_tiles(source, site.result):
        to_vector = len(result_sizes) == 1 < len(source.shape) and result_sizes[0] % TILE
        yield Form(None, (interleaved if to_vector else any_layout,), (None,))
        return
    yield from _interleaved_forms(site)


def _convolution(site: Site) -> Iterator[Form]:
    """Yields forms of convolutions.

    From DRAM, TT-NN cuts the input into slices and writes DRAM. From L1 it keeps the shards, or distributes pages.
    """
    assert site.result is not None
    count = len(site.inputs)
    others: tuple[Accepts, ...] = (interleaved,) * (count - 1)
    for place in _places(site):
        first = _exactly_or_l1_pages(None) if place.buffer is BufferType.L1 else interleaved
        yield Form(place, (first, *others), (None,) * count)
    if not site.prepared:
        return
    if not site.inputs[0].layout.tiled:
        for source, place in _shards_of_rows(site):
            config = _sharded_config(site, source, place)
            if config is not None:
                yield Form(place, (_exactly(source), *others), (source, *(None,) * (count - 1)), config)
        return
    found = False
    for place in _shards_of_convolution(site, site.result):
        for source in _shards_of_convolution(site, site.inputs[0]):
            config = _sharded_config(site, source, place)
            if config is not None:
                found |= place.memory is HEIGHT
                accepts = _exactly_or_l1_pages(source) if _is_own_choice(site, source) else _exactly(source)
                yield Form(place, (accepts, *others), (source, *(None,) * (count - 1)), config)
    cores = least_cut(TensorLayout.of(site.result.shape, site.result.layout.dtype).shard[0], site.target.cores)
    if not found and cores > 1:  # no shards of the input go with shards of the result: TT-NN distributes pages itself
        place = sharded(site.result.shape, site.result.layout.dtype, HEIGHT, (cores, 1), site.target)
        accepts = _exactly_or_l1_pages(None)
        yield Form(place, (accepts, *others), (None,) * count, {"shard_layout": str(HEIGHT)})


def _shards_of_convolution(site: Site, spec: TensorSpec) -> Iterator[TensorLayout]:
    """Yields shards of a convolution's input or result, also blocks that need fewer columns of cores to be even."""
    if not spec.layout.tiled:
        return
    layouts = shardings(spec.shape, spec.layout.dtype, site.target)
    yield from layouts
    even = even_blocks(spec.shape, spec.layout.dtype, site.target)
    if even is not None and even not in layouts:
        yield even


def _shards_of_rows(site: Site) -> Iterator[tuple[TensorLayout, TensorLayout]]:
    """Yields shards of rows of the input, and those of the result's tiles on the same cores."""
    assert site.result is not None
    source, result = site.inputs[0], site.result
    rows, positions = math.prod(source.shape[:-1]), math.prod(result.shape[:-1])
    for cores in even_cuts(positions // TILE, site.target.cores) if positions % TILE == 0 else ():
        if rows % cores == 0:
            shards = rows_in_shards(source.shape, source.layout.dtype, HEIGHT, cores, site.target)
            yield shards, sharded(result.shape, result.layout.dtype, HEIGHT, (cores, 1), site.target)


GATHERED = (DataType.BF16, DataType.BFP_BF8)
"""Element types of the tiles that a halo exchange untilizes to rows of bfloat16."""


def _pooling(site: Site) -> Iterator[Form]:
    """Yields forms of pooling: interleaved tensors, or shards of rows that have the windows of the result's shards."""
    assert site.result is not None
    yield from _interleaved_forms(site)
    source, result = site.inputs[0], site.result
    layout, rows, positions = source.layout, math.prod(source.shape[:-1]), math.prod(result.shape[:-1])
    if result.layout.tiled or positions % TILE or (layout.tiled and layout.dtype not in GATHERED):
        return
    unit = TILE if layout.tiled else 1
    for cores in even_cuts(positions // TILE, site.target.cores):
        if rows % (cores * unit) == 0:
            if layout.tiled:
                shards = sharded(source.shape, layout.dtype, HEIGHT, (cores, 1), site.target)
            else:
                shards = rows_in_shards(source.shape, layout.dtype, HEIGHT, cores, site.target)
            place = rows_in_shards(result.shape, result.layout.dtype, HEIGHT, cores, site.target)
            yield Form(place, (_exactly(shards),), (shards,))


class ShardsOfImages(NamedTuple):
    """Layouts of ``convert_to_hwc``."""

    images: TensorLayout
    """Shards that cut the positions of the images [1, N, C, H * W]."""
    results: tuple[TensorLayout, ...]
    """Shards that cut the rows of channels."""


def shards_of_images(sizes: tuple[int, ...], dtype: DataType, target: Target) -> ShardsOfImages | None:
    """Returns the layouts in which images [1, N, C, H * W] become rows of channels, or None if cores divide none."""
    _, images, channels, positions = sizes
    cuts = even_cuts(positions // TILE, target.cores) if positions % TILE == 0 else []
    if not cuts:
        return None
    rows = (1, 1, images * positions, channels)
    results = (rows_in_shards(rows, dtype, HEIGHT, cores, target) for cores in even_cuts(rows[2] // TILE, target.cores))
    return ShardsOfImages(rows_in_shards(sizes, dtype, WIDTH, cuts[0], target), tuple(results))


def _to_hwc(site: Site) -> Iterator[Form]:
    """Yields forms of ``convert_to_hwc``."""
    source = site.inputs[0]
    shards = shards_of_images(source.shape, source.layout.dtype, site.target)
    for place in shards.results if shards else ():
        assert shards is not None
        yield Form(place, (_exactly(shards.images),), (shards.images,))


_BLOCK_SHARE = 0.4
"""Share of L1 that the circular buffers of a convolution may take if smaller blocks of windows need less."""


def _sharded_config(site: Site, source: TensorLayout, place: TensorLayout) -> Mapping[str, Any] | None:
    """Returns the config of a convolution between shards, with the largest block of windows whose buffers fit, or None.

    Both have as many shards of rows. TT-NN itself cuts the channels of a block-sharded result over as many columns of
    cores as it can, and pads them where they are not equal; ``core_grid`` names other columns.
    """
    assert site.result is not None
    if place.memory not in (HEIGHT, BLOCK) or source.memory is not place.memory or source.grid[0] != place.grid[0]:
        return None
    columns = TensorLayout.of(site.result.shape, place.dtype).shard[1]
    even = source.shard[1] * source.grid[1] * TILE == round_up(site.inputs[0].shape[-1], TILE)
    config: dict[str, Any] = {"shard_layout": str(place.memory), "reallocate_halo_output": False}
    if place.memory is BLOCK:
        if not even or columns % place.grid[1]:
            return None
        if place.grid[1] != least_cut(columns, site.target.grid[1]):
            config |= {"override_output_sharding_config": True, "core_grid": place.core_ranges}
    rows = place.shard[0]
    specs = [TensorSpec(spec.shape, spec.layout) for spec in site.inputs]
    specs[0] = TensorSpec(specs[0].shape, source)
    result = TensorSpec(site.result.shape, place)
    for block in (height for height in range(rows, 0, -1) if rows % height == 0):
        needed = sharded_convolution_buffers(site.instruction, specs, result, block)
        if needed <= _BLOCK_SHARE * site.target.l1_usable_bytes:
            return config | ({"act_block_h_override": block * TILE} if block < rows else {})
    return None


def _is_own_choice(site: Site, source: TensorLayout) -> bool:
    """Returns whether TT-NN distributes an interleaved input as ``source``."""
    assert site.result is not None
    *rows, out_channels = site.result.shape
    sizes = (math.prod(rows), site.inputs[0].shape[-1], out_channels)
    own = convolution_input(source.memory or HEIGHT, sizes, site.target.grid)
    return source.grid == (own.rows, own.columns) and not (source.memory is BLOCK and _is_pointwise(site))


def _is_pointwise(site: Site) -> bool:
    """Returns whether a convolution is one of single positions, which TT-NN runs as a product."""
    attributes = site.instruction.attributes
    sizes = (*attributes["kernel_size"], *attributes["stride"], *(padding + 1 for padding in attributes["padding"]))
    return math.prod(sizes) == 1


def _exactly_or_l1_pages(place: TensorLayout | None) -> Accepts:
    """Accepts one layout and interleaved tensors in L1."""
    return lambda layout: layout == place or (layout.buffer is BufferType.L1 and not layout.is_sharded)


Family = Callable[[Site], Iterator[Form]]
"""Function that yields the forms of a site."""


def _table() -> dict[str, Family]:
    """Returns the function for each op name."""
    table: dict[str, Family] = dict.fromkeys((*sfpu_cycles("wormhole_b0"), *families.BINARY), _elementwise)
    table |= dict.fromkeys(("matmul", "linear"), _product)
    table["to_layout"] = _tilized
    table["scaled_dot_product_attention"] = _attention
    table["scaled_dot_product_attention_decode"] = _decode_attention
    table["point_to_point"] = _sent
    table |= dict.fromkeys(("layer_norm", "rms_norm"), _normalised)
    table |= dict.fromkeys(("sum", "mean", "max", "min"), _reduced)
    table |= dict.fromkeys(("permute", "transpose", "slice_static"), _copied)
    prepared = [f"prepare_{name}_{part}" for name in ("conv2d", "conv_transpose2d") for part in ("weights", "bias")]
    table |= dict.fromkeys((*prepared, "conv_transpose2d"), _in_dram)
    table |= dict.fromkeys(("max_pool2d", "avg_pool2d"), _pooling) | {"convert_to_hwc": _to_hwc}
    return table | {"typecast": _cast, "softmax": _softmax, "reshape": _reshape, "conv2d": _convolution}


_FAMILIES = _table()
