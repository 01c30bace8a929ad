"""Draws what chips exchange, as JAX writes it and in the forms of StableHLO's text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.cases import NotDrawnError
from tests.fuzz.chips import ChipDraft, added, by_groups
from tests.fuzz.draft import Aval, as_text, kind_of, tensor_type

Drawer = Callable[[ChipDraft], list[int]]

EXCHANGES: dict[str, list[Drawer]] = {}
"""Drawers by the name of the op that they reach."""


def exchanges(*names: str) -> Callable[[Drawer], Drawer]:
    """Returns a decorator that registers a drawer for ops of some names."""

    def enter(drawer: Drawer) -> Drawer:
        for name in names:
            EXCHANGES.setdefault(name, []).append(drawer)
        return drawer

    return enter


def some_axes(draft: ChipDraft) -> tuple[str, ...]:
    """Draws one or more manual axes, in any order."""
    count = draft.random.choice((1, 1, 1, 2, len(draft.manual)))
    return tuple(draft.random.sample(draft.manual, min(count, len(draft.manual))))


def groups_of(draft: ChipDraft, axes: Sequence[str]) -> list[list[int]]:
    """Returns the groups of positions along some axes."""
    return draft.mesh.groups([draft.manual.index(axis) for axis in axes])


def without(draft: ChipDraft, operand: int, axes: Sequence[str]) -> frozenset[str]:
    """Returns the axes along which the result of a sum over some axes varies."""
    return draft.varying[operand].difference(axes)


_JAX_REDUCTIONS: dict[str, tuple[Any, Any]] = {
    "psum": (lax.psum, added),
    "pmean": (lax.pmean, lambda x: added(x) / x.shape[0]),
    "pmax": (lax.pmax, lambda x: jnp.max(x, 0)),
    "pmin": (lax.pmin, lambda x: jnp.min(x, 0)),
}


@exchanges("stablehlo.all_reduce")
def reduced(draft: ChipDraft) -> list[int]:
    """Draws a sum, mean, maximum or minimum over axes."""
    name = draft.random.choice(("psum", "psum", "psum", "pmean", "pmax", "pmin"))
    operand = draft.value("f" if name == "pmean" else "fffi", (0, 1, 2, 2, 3))
    axes = some_axes(draft)
    apply, stacked = _JAX_REDUCTIONS[name]
    emulated = by_groups(groups_of(draft, axes), draft.mesh.size, lambda group, place: stacked(group))
    return draft.exchange(lambda x: apply(x, axes), emulated, operand, varying=without(draft, operand, axes))


@exchanges("stablehlo.all_gather")
def gathered(draft: ChipDraft) -> list[int]:
    """Draws a gather along a dimension, or along a new one."""
    operand = draft.value("fffib", (1, 2, 2, 3))
    axes = some_axes(draft)
    axes = axes[0] if len(axes) == 1 else axes
    tiled = draft.random.random() < 0.6
    dim = draft.random.randrange(len(draft.avals[operand].shape) + (not tiled))

    def stacked(group: Any, place: int) -> Any:
        return jnp.concatenate(list(group), dim) if tiled else jnp.stack(list(group), dim)

    names = (axes,) if isinstance(axes, str) else axes
    emulated = by_groups(groups_of(draft, names), draft.mesh.size, stacked)

    def apply(x: Any) -> Any:
        return lax.all_gather(x, axes, axis=dim, tiled=tiled)

    return draft.exchange(apply, emulated, operand, varying=without(draft, operand, names))


@exchanges("stablehlo.reduce_scatter")
def summed_parts(draft: ChipDraft) -> list[int]:
    """Draws a sum of which each chip keeps its part."""
    axes = some_axes(draft)
    count = math.prod(draft.layout.axes[axis] for axis in axes)
    tiled = draft.random.random() < 0.7
    operand, dim = _divisible(draft, count, exactly=not tiled, kinds="fffi")

    def stacked(group: Any, place: int) -> Any:
        total = added(group)
        part = lax.slice_in_dim(total, *_bounds(total.shape[dim], count, place), axis=dim)
        return part if tiled else jnp.squeeze(part, dim)

    emulated = by_groups(groups_of(draft, axes), draft.mesh.size, stacked)
    names = axes[0] if len(axes) == 1 else axes

    def apply(x: Any) -> Any:
        return lax.psum_scatter(x, names, scatter_dimension=dim, tiled=tiled)

    return draft.exchange(apply, emulated, operand, varying=draft.varying[operand].union(axes))


def _bounds(size: int, count: int, place: int) -> tuple[int, int]:
    return place * size // count, (place + 1) * size // count


def _divisible(draft: ChipDraft, count: int, *, exactly: bool = False, kinds: str = "fffi") -> tuple[int, int]:
    """Returns a value with a dimension that divides into so many parts, or has so many elements, and the dimension."""

    def fits(size: int) -> bool:
        return size == count if exactly else size % count == 0 and size > 0

    operand = draft.value(kinds, (1, 2, 2, 3))
    sizes = draft.avals[operand].shape
    dims = [dim for dim, size in enumerate(sizes) if fits(size)]
    if dims:
        return operand, draft.random.choice(dims)
    dim = draft.random.randrange(len(sizes))
    size = count * (1 if exactly else draft.random.choice((1, 1, 2, 3)))
    shape = (*sizes[:dim], size, *sizes[dim + 1 :])
    if math.prod(shape) > 4096:
        raise NotDrawnError("no dimension divides")
    return draft.like(operand, shape), dim


@exchanges("stablehlo.all_to_all")
def transposed(draft: ChipDraft) -> list[int]:
    """Draws parts of a dimension that chips send to each other, joined along another one or the same."""
    axes = some_axes(draft)
    count = math.prod(draft.layout.axes[axis] for axis in axes)
    tiled = draft.random.random() < 0.7
    operand, split = _divisible(draft, count, exactly=not tiled)
    rank = len(draft.avals[operand].shape)
    joined = draft.random.randrange(rank)

    def stacked(group: Any, place: int) -> Any:
        bounds = _bounds(group.shape[split + 1], count, place)
        parts = [lax.slice_in_dim(member, *bounds, axis=split) for member in group]
        if tiled:
            return jnp.concatenate(parts, joined)
        return jnp.stack([jnp.squeeze(part, split) for part in parts], joined)

    emulated = by_groups(groups_of(draft, axes), draft.mesh.size, stacked)
    names = axes[0] if len(axes) == 1 else axes

    def apply(x: Any) -> Any:
        return lax.all_to_all(x, names, split, joined, tiled=tiled)

    return draft.exchange(apply, emulated, operand, varying=draft.varying[operand].union(axes))


@exchanges("stablehlo.collective_permute")
def permuted(draft: ChipDraft) -> list[int]:
    """Draws pairs of chips along an axis: a shift, an exchange, or some pairs alone, where others get zeros."""
    axis = draft.random.choice(draft.manual)
    size = draft.layout.axes[axis]
    operand = draft.value("fffib", (0, 1, 2, 2, 3))
    shift = draft.random.randrange(1, max(size, 2))
    ways = (
        [(index, (index + shift) % size) for index in range(size)],
        list(zip(range(size), draft.random.sample(range(size), size), strict=True)),
        [(index, index + 1) for index in range(size - 1)],
        draft.random.sample([(index, (index + 1) % size) for index in range(size)], draft.random.randint(1, size)),
    )
    pairs = draft.random.choice(ways)
    sources = {target: source for source, target in pairs}

    def stacked(group: Any, place: int) -> Any:
        return group[sources[place]] if place in sources else jnp.zeros_like(group[place])

    emulated = by_groups(groups_of(draft, (axis,)), draft.mesh.size, stacked)
    varying = draft.varying[operand] | {axis}
    return draft.exchange(lambda x: lax.ppermute(x, axis, pairs), emulated, operand, varying=varying)


@exchanges("stablehlo.partition_id")
def numbered(draft: ChipDraft) -> list[int]:
    """Draws a value to which each chip adds its place along axes, or the rows at its place."""
    axes = some_axes(draft)
    operand = draft.value("fi", (1, 2, 3))
    dtype = draft.avals[operand].dtype
    places = np.zeros(draft.mesh.size, np.int32)
    for group in groups_of(draft, axes):
        places[group] = np.arange(len(group))
    dim = draft.random.randrange(len(draft.avals[operand].shape))
    size = draft.avals[operand].shape[dim]
    names = axes[0] if len(axes) == 1 else axes
    sliced = draft.random.random() < 0.5

    def joined(x: Any, place: Any) -> Any:
        if sliced:
            return lax.dynamic_slice_in_dim(x, lax.rem(place, np.int32(size)), 1, axis=dim)
        return x + place.astype(dtype)

    def emulated(stack: Any) -> Any:
        return jnp.stack([joined(stack[chip], jnp.int32(places[chip])) for chip in range(draft.mesh.size)])

    def apply(x: Any) -> Any:
        return joined(x, lax.axis_index(names).astype(np.int32))

    return draft.exchange(apply, emulated, operand, varying=draft.varying[operand].union(axes))


# ---- StableHLO's text


def _groups(draft: ChipDraft) -> list[list[int]]:
    """Draws groups of one size: along axes, along parts of the mesh's order, or of any chips in any order."""
    size = draft.mesh.size
    way = draft.random.choice(("axes", "axes", "parts", "any", "all"))
    if way == "axes":
        return groups_of(draft, some_axes(draft))
    if way == "all":
        return [draft.random.sample(range(size), size)]
    length = draft.random.choice([count for count in range(1, size + 1) if size % count == 0])
    chips = list(range(size)) if way == "parts" else draft.random.sample(range(size), size)
    groups = [chips[start : start + length] for start in range(0, size, length)]
    return draft.random.sample(groups, len(groups))


def _attributes(draft: ChipDraft, groups: Sequence[Sequence[int]], *, flat: bool = True) -> str:
    """Returns the attributes that name groups of positions: ids of all devices, of partitions, or of replicas."""
    channel = draft.random.randint(1, 9)
    kind = draft.random.choice((0, 1))
    text = f"replica_groups = dense<{[list(group) for group in groups]}> : tensor<{len(groups)}x{len(groups[0])}xi64>"
    if draft.replicas and (not flat or draft.random.random() < 0.5):
        return text
    flat = flat and not (draft.replicas and draft.random.random() < 0.5)
    text += f", channel_handle = #stablehlo.channel_handle<handle = {channel}, type = {kind}>"
    return text + (", use_global_device_ids" if flat else "")


_JOINS = {
    "add": added,
    "maximum": lambda x: jnp.max(x, 0),
    "minimum": lambda x: jnp.min(x, 0),
    "multiply": lambda x: lax.reduce(x, x.dtype.type(1), lax.mul, (0,)),
    "and": lambda x: jnp.bitwise_and.reduce(x, 0),
    "or": lambda x: jnp.bitwise_or.reduce(x, 0),
}


def _join(draft: ChipDraft, operand: int) -> str:
    kind = kind_of(draft.avals[operand].dtype)
    if kind == "b":
        return draft.random.choice(("and", "or"))
    return draft.random.choice(("add", "add", "maximum", "minimum", "multiply"))


def _region(join: str, aval: Aval) -> str:
    scalar = tensor_type(Aval((), aval.dtype))
    return (
        f"({{{{\n^bb0(%x: {scalar}, %y: {scalar}):\n%z = stablehlo.{join} %x, %y : {scalar}\n"
        f"stablehlo.return %z : {scalar}\n}}}})"
    )


def _all_vary(draft: ChipDraft) -> frozenset[str]:
    return frozenset(draft.manual)


def _need_all_axes(draft: ChipDraft) -> None:
    """Text names positions of the whole mesh.

    Raises:
        NotDrawnError: some axes are left to propagation.
    """
    if len(draft.manual) != len(draft.layout.axes):
        raise NotDrawnError("text names chips of the whole mesh")


@exchanges("stablehlo.all_reduce")
def text_all_reduce(draft: ChipDraft) -> list[int]:
    """Draws an all_reduce of one or two tensors; without global ids, one with the one replica's group."""
    _need_all_axes(draft)
    operands = [draft.value("fffib", (0, 1, 2, 2))]
    if draft.random.random() < 0.2:
        operands.append(draft.like(operands[0], draft.shape((1, 2), 500)))
    aval, join = draft.avals[operands[0]], _join(draft, operands[0])
    way = draft.random.choice(("flat", "flat", "flat", "both", "alone", "empty"))
    way = "flat" if draft.replicas else way
    groups = _groups(draft)
    attributes = _attributes(draft, groups)
    if way == "both":
        groups = [list(range(draft.mesh.size))]
        attributes = _attributes(draft, [[0]], flat=False)
    if way == "alone":
        groups = [[chip] for chip in range(draft.mesh.size)]
        attributes = "replica_groups = dense<0> : tensor<1x1xi64>"
    if way == "empty":
        groups = [list(range(draft.mesh.size))] if (flat := draft.random.random() < 0.5) else groups[:0]
        attributes = "replica_groups = dense<> : tensor<0x0xi64>"
        if flat:
            attributes += ", channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>"
    count = len(operands)
    names, types = ", ".join(f"%a{i}" for i in range(count)), ", ".join(f"{{a{i}}}" for i in range(count))
    heads = "%r0" if count == 1 else "%r:2"
    text = f'{heads} = "stablehlo.all_reduce"({names}) <{{{{{attributes}}}}}> {_region(join, aval)} : ({types}) -> '
    text += "{r0}" if count == 1 else "({r0}, {r1})"
    if count > 1:
        text += "".join(f"\n%r{i} = stablehlo.optimization_barrier %r#{i} : {{r{i}}}" for i in range(count))
    avals = [draft.avals[index] for index in operands]
    emulated = by_groups(groups, draft.mesh.size, lambda group, place: _JOINS[join](group))

    def stacked(*stacks: Any) -> Any:
        return [emulated(stack) for stack in stacks]

    return draft.exchange(lambda *xs: as_text(text, xs, avals), stacked, *operands, varying=_all_vary(draft))


@exchanges("stablehlo.all_gather")
def text_all_gather(draft: ChipDraft) -> list[int]:
    _need_all_axes(draft)
    operand = draft.value("fffib", (1, 2, 2))
    aval, groups = draft.avals[operand], _groups(draft)
    dim = draft.random.randrange(len(aval.shape))
    sizes = [size * len(groups[0]) if d == dim else size for d, size in enumerate(aval.shape)]
    text = f'%r0 = "stablehlo.all_gather"(%a0) <{{{{all_gather_dim = {dim} : i64, {_attributes(draft, groups)}}}}}> : '
    text += "({a0}) -> {r0}"
    result = Aval(tuple(sizes), aval.dtype)
    emulated = by_groups(groups, draft.mesh.size, lambda group, place: jnp.concatenate(list(group), dim))
    return draft.exchange(lambda x: as_text(text, [x], [result])[0], emulated, operand, varying=_all_vary(draft))


@exchanges("stablehlo.reduce_scatter")
def text_reduce_scatter(draft: ChipDraft) -> list[int]:
    _need_all_axes(draft)
    groups = _groups(draft)
    count = len(groups[0])
    operand, dim = _divisible(draft, count, kinds="fffi")
    aval, join = draft.avals[operand], _join(draft, operand)
    sizes = [size // count if d == dim else size for d, size in enumerate(aval.shape)]
    attributes = f"scatter_dimension = {dim} : i64, {_attributes(draft, groups)}"
    text = f'%r0 = "stablehlo.reduce_scatter"(%a0) <{{{{{attributes}}}}}> {_region(join, aval)} : ({{a0}}) -> {{r0}}'
    result = Aval(tuple(sizes), aval.dtype)

    def stacked(group: Any, place: int) -> Any:
        return lax.slice_in_dim(_JOINS[join](group), *_bounds(aval.shape[dim], count, place), axis=dim)

    emulated = by_groups(groups, draft.mesh.size, stacked)
    return draft.exchange(lambda x: as_text(text, [x], [result])[0], emulated, operand, varying=_all_vary(draft))


@exchanges("stablehlo.all_to_all")
def text_all_to_all(draft: ChipDraft) -> list[int]:
    _need_all_axes(draft)
    groups = _groups(draft)
    count = len(groups[0])
    operand, split = _divisible(draft, count)
    aval = draft.avals[operand]
    joined = draft.random.randrange(len(aval.shape))
    sizes = list(aval.shape)
    sizes[split] //= count
    sizes[joined] *= count
    attributes = f"split_dimension = {split} : i64, concat_dimension = {joined} : i64, split_count = {count} : i64"
    attributes += f", {_attributes(draft, groups, flat=False)}"
    text = f'%r0 = "stablehlo.all_to_all"(%a0) <{{{{{attributes}}}}}> : ({{a0}}) -> {{r0}}'
    result = Aval(tuple(sizes), aval.dtype)

    def stacked(group: Any, place: int) -> Any:
        bounds = _bounds(aval.shape[split], count, place)
        return jnp.concatenate([lax.slice_in_dim(member, *bounds, axis=split) for member in group], joined)

    emulated = by_groups(groups, draft.mesh.size, stacked)
    return draft.exchange(lambda x: as_text(text, [x], [result])[0], emulated, operand, varying=_all_vary(draft))


@exchanges("stablehlo.collective_permute")
def text_collective_permute(draft: ChipDraft) -> list[int]:
    _need_all_axes(draft)
    operand = draft.value("fffib", (0, 1, 2, 2))
    aval, size = draft.avals[operand], draft.mesh.size
    sources, targets = draft.random.sample(range(size), size), draft.random.sample(range(size), size)
    pairs = list(zip(sources, targets, strict=True))[: draft.random.choice((1, size // 2, size, size))]
    attributes = f"source_target_pairs = dense<{[list(pair) for pair in pairs]}> : tensor<{len(pairs)}x2xi64>, "
    attributes += "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>" if not draft.replicas else ""
    attributes = attributes.removesuffix(", ")
    text = f'%r0 = "stablehlo.collective_permute"(%a0) <{{{{{attributes}}}}}> : ({{a0}}) -> {{r0}}'
    known = {target: source for source, target in pairs}

    def emulated(stack: Any) -> Any:
        zeros = jnp.zeros_like(stack[0])
        return jnp.stack([stack[known[chip]] if chip in known else zeros for chip in range(size)])

    return draft.exchange(lambda x: as_text(text, [x], [aval])[0], emulated, operand, varying=_all_vary(draft))


@exchanges("stablehlo.collective_broadcast")
def text_collective_broadcast(draft: ChipDraft) -> list[int]:
    """Draws the first chip of each group sending its tensor; chips in no group get zeros."""
    _need_all_axes(draft)
    operand = draft.value("fffib", (1, 2, 2))
    aval, groups = draft.avals[operand], _groups(draft)
    groups = groups[: draft.random.randint(1, len(groups))]
    attributes = _attributes(draft, groups, flat=False)
    text = f'%r0 = "stablehlo.collective_broadcast"(%a0) <{{{{{attributes}}}}}> : ({{a0}}) -> {{r0}}'
    senders = {chip: group[0] for group in groups for chip in group}

    def emulated(stack: Any) -> Any:
        zeros = jnp.zeros_like(stack[0])
        return jnp.stack([stack[senders[chip]] if chip in senders else zeros for chip in range(draft.mesh.size)])

    return draft.exchange(lambda x: as_text(text, [x], [aval])[0], emulated, operand, varying=_all_vary(draft))


@exchanges("stablehlo.partition_id", "stablehlo.replica_id")
def text_numbers(draft: ChipDraft) -> list[int]:
    """Draws the number of a partition or of a replica, of one of which there is one."""
    _need_all_axes(draft)
    operand = draft.value("i", (1, 2), lambda aval: aval.dtype == np.int32)
    aval = draft.avals[operand]
    name = draft.random.choice(("partition_id", "replica_id"))
    shape = "x".join([*map(str, aval.shape), ""])
    text = (
        f"%n = stablehlo.{name} : tensor<ui32>\n%c = stablehlo.convert %n : (tensor<ui32>) -> tensor<i32>\n"
        f"%b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<{shape}i32>\n"
        "%r0 = stablehlo.add %a0, %b : {r0}"
    )
    ones = (1,) * len(aval.shape)
    places = np.arange(draft.mesh.size, dtype=np.int32) * (name == ("replica_id" if draft.replicas else "partition_id"))

    def emulated(stack: Any) -> Any:
        return stack + places.reshape(-1, *ones)

    return draft.exchange(lambda x: as_text(text, [x], [aval])[0], emulated, operand, varying=_all_vary(draft))


TEXTS = tuple(drawer for drawers in EXCHANGES.values() for drawer in drawers if drawer.__name__.startswith("text_"))
"""Drawers of exchanges that are text, which replicas can have."""
