"""Sorts by the bitonic network of the vector unit, which decides the order among equal elements.

A compare-exchange (SFPSWAP) of two registers exchanges them if the first is less than the second. Lanes of the other
direction invert the decision, so they exchange equal elements too. The network is that of ckernel_sfpu_topk.h; its
callers are sort_single_row_single_core.cpp and topk.cpp of TT-NN. Their stable forms keep equal elements in order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import TILE
from tt_xla.runtime.emulator.bit_exact.registers import repacked
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel, kernels

Tensor = torch.Tensor
Order = Callable[[Tensor], Tensor]
"""Sorts tiles of keys and positions, ``[tiles, 32, key and position, rows]``."""

_PAIR = 2 * TILE
"""Elements that a local sort orders: a column of two transposed tiles."""
_REGISTER = 4
"""Elements of a column that a register holds. Four registers hold a group."""
_GROUP = _REGISTER * _REGISTER
_TILES_OF_ONE_CORE = 64
"""Width in tiles up to which one core sorts a row. Wider sorts are stable."""
_LARGEST_U16 = 0xFFFF
_LEAST_NORMAL, _INFINITY = 1 << 23, 0xFF << 23
"""Keys of numbers."""

Registers = list[list[int]]
"""Positions of the elements that the four registers hold."""
_APART, _ADJACENT = ((0, 2), (1, 3)), ((0, 1), (2, 3))
"""Pairs of registers that the compare-exchanges of a step take."""


class Layer(NamedTuple):
    """Compare-exchanges that do not depend on each other, by position within a pair of tiles."""

    first: list[int]
    second: list[int]
    inverted: list[bool]


def _transposed(registers: Registers) -> Registers:
    return [list(column) for column in zip(*registers, strict=True)]


def _layer(registers: Registers, pairs: Iterable[tuple[int, int]], inverted: Sequence[bool]) -> Layer:
    """Returns compare-exchanges of pairs of registers; ``inverted`` holds a flag for each lane."""
    exchanges = [
        (registers[a][lane], registers[b][lane], turned) for a, b in pairs for lane, turned in enumerate(inverted)
    ]
    first, second, flags = zip(*exchanges, strict=True)
    return Layer(list(first), list(second), list(flags))


def _joined(layers: Iterable[Layer]) -> Layer:
    """Returns layers of different elements as one."""
    result = Layer([], [], [])
    for layer in layers:
        result.first.extend(layer.first)
        result.second.extend(layer.second)
        result.inverted.extend(layer.inverted)
    return result


def _together(groups: Iterable[list[Layer]]) -> list[Layer]:
    """Returns the layers that execute the steps of all groups."""
    return [_joined(layers) for layers in zip(*groups, strict=True)]


def _first_phases(registers: Registers) -> list[Layer]:
    """Returns the phases that sort runs of 2, 4 and 8 in alternating directions."""
    crosswise = _transposed(registers)
    onward, backward = (False,) * _REGISTER, (True,) * _REGISTER
    odd_lanes, last_lanes = (False, True, False, True), (False, False, True, True)
    start_of_8 = _joined([_layer(registers, [(0, 1)], onward), _layer(registers, [(2, 3)], backward)])
    return [
        _layer(crosswise, ((0, 1), (3, 2)), onward),
        *(_layer(crosswise, pairs, odd_lanes) for pairs in (_APART, _ADJACENT)),
        start_of_8,
        *(_layer(crosswise, pairs, last_lanes) for pairs in (_APART, _ADJACENT)),
    ]


def _merge_of_group(registers: Registers, *, ascending: bool) -> list[Layer]:
    """Returns the last four steps of a merge, within a group."""
    inverted = (ascending,) * _REGISTER
    arrangements = (registers, _transposed(registers))
    return [_layer(held, pairs, inverted) for held in arrangements for pairs in (_APART, _ADJACENT)]


def _step(distance: int, length: int, *, ascending: bool) -> Layer:
    """Returns a step of a merge between groups, in runs of ``length`` whose directions alternate.

    The order of the operands gives the direction, and no lane is inverted.
    """
    low = [at for at in range(_PAIR) if not at & distance]
    pairs = [(at + distance, at) if ascending != bool(at & length) else (at, at + distance) for at in low]
    return Layer([first for first, _ in pairs], [second for _, second in pairs], [False] * len(pairs))


@functools.cache
def _network(*, ascending: bool) -> tuple[Layer, ...]:
    """Returns the layers of a local sort of 64 elements."""
    starts = range(0, _PAIR, _GROUP)
    groups = [[[start + _REGISTER * row + lane for lane in range(4)] for row in range(4)] for start in starts]

    def merged(length: int) -> list[Layer]:
        turns = [ascending != bool(start & length) for start in starts]
        return _together(_merge_of_group(held, ascending=turn) for held, turn in zip(groups, turns, strict=True))

    layers = [*_together(_first_phases(held) for held in groups), *merged(_GROUP)]
    layers += [_step(16, 32, ascending=ascending), *merged(32)]
    return (*layers, *(_step(distance, _PAIR, ascending=ascending) for distance in (32, 16)), *merged(_PAIR))


def _exchanged(first: Tensor, second: Tensor, inverted: Tensor) -> tuple[Tensor, Tensor]:
    """Returns both operands of a compare-exchange, ``[..., key and position, rows]``."""
    exchange = ((first.select(-2, 0) < second.select(-2, 0)) ^ inverted).unsqueeze(-2)
    return torch.where(exchange, second, first), torch.where(exchange, first, second)


def _stored(tiles: Tensor) -> Tensor:
    """Returns tiles after a store, which makes a zero of each denormal."""
    denormal = (tiles >= -_LEAST_NORMAL) & (tiles < _LEAST_NORMAL)
    denormal.select(-2, 1).zero_()
    return torch.where(denormal, tiles >> 31, tiles)


def local_sort(pairs: Tensor, *, ascending: bool) -> Tensor:
    """Returns pairs of tiles as the vector unit sorts them, ``[64, ..., key and position, rows]``."""
    place = list(range(_PAIR))
    for number, (first, second, inverted) in enumerate(_network(ascending=ascending)):
        if number == 1:
            pairs = _stored(pairs)
        turned = torch.tensor(inverted, device=pairs.device, dtype=torch.bool).reshape(-1, *(1,) * (pairs.ndim - 2))
        above, below = (pairs[[place[at] for at in side]] for side in (first, second))
        pairs = torch.cat(_exchanged(above, below, turned))
        for index, at in enumerate((*first, *second)):
            place[at] = index
    return pairs[place]


def sorted_row(tiles: Tensor, *, ascending: bool, narrow: bool) -> Tensor:
    """Returns rows as one core sorts them.

    Args:
        tiles: a power of two of tiles.
        ascending: the direction.
        narrow: whether the packer makes an infinity of a NaN, after the first local sort.
    """
    count = len(tiles)
    index = torch.arange(count, device=tiles.device, dtype=torch.int64)
    tiles = _sorted_pairs(tiles, (index[::2] >> 1) & 1 == 0, ascending=ascending)
    if narrow:
        tiles[:, :, 0].clamp_(max=_INFINITY)
    for stage in range(2, count.bit_length()):
        onward = (index >> stage) & 1 == 0
        for distance in (1 << step for step in range(stage - 1, 0, -1)):
            low = index[index & distance == 0]
            first, second = _exchanged(tiles[low], tiles[low + distance], (onward[low] == ascending)[:, None, None])
            tiles = torch.empty_like(tiles)
            tiles[low], tiles[low + distance] = first, second
        tiles = _sorted_pairs(tiles, onward[::2], ascending=ascending)
    return tiles


def _sorted_pairs(tiles: Tensor, onward: Tensor, *, ascending: bool) -> Tensor:
    """Sorts neighbouring tiles in the direction of the whole sort where ``onward`` holds, else in the other one."""
    pairs = tiles.reshape(-1, _PAIR, *tiles.shape[2:]).movedim(1, 0)
    result = torch.empty_like(pairs)
    for chosen, direction in ((onward, ascending), (~onward, not ascending)):
        if bool(chosen.any()):
            result[:, chosen] = local_sort(pairs[:, chosen], ascending=direction)
    return result.movedim(0, 1).reshape(tiles.shape)


def best_tiles(tiles: Tensor, *, count: int, ascending: bool) -> Tensor:
    """Returns the first ``count`` sorted tiles, into which one core inserts a tile after the other."""
    best = [tiles[0]]
    for tile in tiles[1:].unbind():
        for at, held in enumerate(best):
            best[at], tile = local_sort(torch.cat((held, tile)), ascending=ascending).split(TILE)
        if len(best) < count:
            best.append(tile)
    return torch.stack(best)


def _keys(values: Tensor) -> Tensor:
    """Returns integers in the order of the vector unit, which compares sign and magnitude of float32."""
    bits = values.to(torch.float32).view(torch.int32)
    return torch.where(bits < 0, ~(bits & 0x7FFFFFFF), bits)


def _positions(rows: Tensor, order: Order) -> Tensor:
    """Returns the positions that the elements of rows in an order had."""
    keys = _keys(rows.reshape(-1, rows.shape[-1])).T
    places = torch.arange(len(keys), dtype=torch.int32, device=rows.device)[:, None].expand_as(keys)
    tiles = torch.stack((keys, places), 1).reshape(-1, TILE, 2, keys.shape[1])
    return order(tiles).flatten(0, 1)[:, 1].T.to(torch.int64).reshape(*rows.shape[:-1], -1)


def _read(ctx: Context, rows: Tensor) -> Tensor:
    """Returns numbers as the packer writes them; in float32 the vector unit stored them, and denormals are zeros."""
    if not rows.is_floating_point():
        return rows
    if ctx.dtype is DataType.F32:
        return torch.where(rows.abs() < torch.finfo(torch.float32).tiny, rows * 0.0, rows)
    return repacked(rows, ctx.dtype).to(rows.dtype)


def _padded(rows: Tensor, width: int, *, ascending: bool) -> Tensor:
    """Returns rows with the last element of the order behind them."""
    least, greatest = (-torch.inf, torch.inf) if rows.is_floating_point() else (0, _LARGEST_U16)
    return torch.nn.functional.pad(rows, (0, width - rows.shape[-1]), value=greatest if ascending else least)


@kernel("ttnn.sort", bit_exact=True)
def sort(
    ctx: Context, input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False
) -> tuple[Tensor, Tensor]:
    """Sorts rows, which are padded to a power of two."""
    size = input.shape[dim] if input.ndim else 1
    width = max(_PAIR, 1 << (size - 1).bit_length())
    if stable or input.numel() < 2 or width > _TILES_OF_ONE_CORE * TILE:
        values, positions = kernels()[ctx.op].function(ctx, input, dim=dim, descending=descending)
        return values, positions
    rows = _padded(input.movedim(dim, -1), width, ascending=not descending)
    values, narrow = _read(ctx, rows), ctx.dtype is DataType.BF16
    compared = rows
    if narrow:
        packed_before = not ctx.spec("input").layout.tiled or dim % input.ndim != input.ndim - 1
        compared = values if packed_before else torch.where(rows.isnan(), torch.nan, values)
    positions = _positions(compared, functools.partial(sorted_row, ascending=not descending, narrow=narrow))
    results = values.gather(-1, positions), positions
    values, positions = (each[..., :size].movedim(-1, dim) for each in results)
    return values, positions


@kernel("ttnn.topk", bit_exact=True)
def topk(
    ctx: Context,
    input_tensor: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    stable: bool = True,
) -> tuple[Tensor, Tensor]:
    """Selects from rows, which are padded to whole tiles, two at least."""
    if stable or not k or not input_tensor.numel():
        values, positions = kernels()[ctx.op].function(ctx, input_tensor, k, dim=dim, largest=largest, sorted=sorted)
        return values, positions
    width = max(_PAIR, -(-input_tensor.shape[dim] // TILE) * TILE)
    rows = _read(ctx, _padded(input_tensor.movedim(dim, -1), width, ascending=not largest))
    order = functools.partial(best_tiles, count=-(-k // TILE), ascending=not largest)
    positions = _positions(rows, order)
    results = rows.gather(-1, positions), positions
    values, positions = (each[..., :k].movedim(-1, dim) for each in results)
    return values, positions
