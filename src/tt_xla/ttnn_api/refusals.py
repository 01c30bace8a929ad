"""Refuses calls as TT-NN does: the table ``refusals.txt`` has the kinds of tensors that each function refuses.

``conformance/dump_ttnn_refusals.py`` makes it from the real package. A line has TT-NN's words, kinds of tensors, and
functions with the parameter that must not have such a tensor::

    Cos must be tilized | row_major small_shards | experimental.rotary_embedding_hf:cos_cache
    Mixed dtype is not supported | int32*uint32 | bitwise_or:input_tensor_a*input_b

A kind is one of these:

- a data type, such as ``bfloat16``, or a layout, ``tile`` or ``row_major``;
- a memory: ``host``, ``l1``, or a way of sharding, ``height``, ``width`` or ``block``;
- ``small_shards``: shards of rows that do not fill tiles;
- data types of several parameters in their order, joined by ``*`` as the parameters are.

A mark after a kind is a further condition. ``l1!``: refused only where another tensor of the call has another kind.
``l1&``: refused only where all tensors of the call have the kind, and none is sharded.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla.ttnn_api.enums import BufferType, DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import TILE_SIZE, MemoryConfig

if TYPE_CHECKING:
    from tt_xla.ttnn_api.layouts import Type

FILE = Path(__file__).with_name("refusals.txt")

_CONFIGURED = ("program_config", "conv_config")
"""Parameters with which a function may take memories that it refuses without."""

_SMALL = "small_shards"
"""Row-major shards that do not consist of whole tiles."""

_OF_RESHAPES = "Can only work with bfloat16/float32"
"""Beginning of the words with which a reshape that moves elements refuses a data type."""

_MEMORIES = ("l1", "height", "width", "block", _SMALL)


@dataclass
class Refusals:
    """The refusals of one function: words by kind, for each parameter or combination of parameters."""

    single: dict[str, dict[str, str]]
    combined: dict[tuple[str, ...], dict[str, str]]


@functools.cache
def table() -> Mapping[str, Refusals]:
    """Returns the refusals by the full name of the function."""
    functions: dict[str, Refusals] = {}
    for line in FILE.read_text().splitlines():
        words, kinds, names = line.split(" | ")
        if "{SHARD}" in words:  # the drawn shards of these memories were refused for their size alone
            kinds = f"{_SMALL}!" if f"{_SMALL}!" in kinds else _SMALL
        for name in names.split():
            function, _, parameters = name.partition(":")
            refusals = functions.setdefault(f"ttnn.{function}", Refusals({}, {}))
            places = tuple(parameters.split("*"))
            by_kind = refusals.single.setdefault(parameters, {}) if len(places) == 1 else None
            by_kind = refusals.combined.setdefault(places, {}) if by_kind is None else by_kind
            by_kind.update(dict.fromkeys(kinds.split(), words))
    return functions


def check(name: str, values: Mapping[str, Any]) -> None:
    """Refuses a call if TT-NN does.

    Args:
        name: full name of the function.
        values: its arguments by parameter; tensors are objects with a ``type``.

    Raises:
        TTFatal: TT-NN refuses a data type, a layout or a memory.
    """
    refusals = table().get(name)
    if refusals is None:
        return
    chosen = [values.get(each) for each in ("true_value", "false_value")]
    by_number = name == "ttnn.where" and not all(map(_types, chosen))  # tensors beside numbers may lie in rows
    unmoved = _UNMOVED.get(name)
    if unmoved is not None and unmoved(name, values):
        return
    stacks_whole = name == "ttnn.stack" and _moves_nothing(name, values)
    configured = any(values.get(each) is not None for each in _CONFIGURED)
    for parameter, by_kind in refusals.single.items():
        for type_ in _types(values.get(parameter)):
            for kind in _kinds(type_):
                words = by_kind.get(kind)
                if words is None and f"{kind}!" in by_kind and not _shared(kind, values):
                    words = by_kind[f"{kind}!"]
                if words is None and f"{kind}&" in by_kind and _shared(kind, values) and not type_.memory.is_sharded():
                    words = by_kind[f"{kind}&"]
                if stacks_whole and words is not None and words.startswith(_OF_RESHAPES):
                    continue
                in_tiles = words is not None and "with TILE layout" in words
                if (in_tiles or (by_number and kind == "row_major")) and type_.layout is Layout.ROW_MAJOR:
                    continue
                if words is not None and not (configured and kind in _MEMORIES):
                    raise _refused(name, words, [type_], kind, parameter)
    if name == "ttnn.where":
        _check_choice(values)
    for parameters, by_kind in refusals.combined.items():
        given = [values.get(each) for each in parameters]
        kind = "*".join(filter(None, map(_data_type, given)))
        if kind in by_kind:
            types = [type_ for each in given for type_ in _types(each)]
            raise _refused(name, by_kind[kind], types, kind, " and ".join(parameters))


def _moves_nothing(name: str, values: Mapping[str, Any]) -> bool:
    """Returns whether a reshape leaves all elements where they are, whatever their type."""
    source = values["input_tensors"] if name == "ttnn.stack" else values["input_tensor"]
    types = _types(source)
    if not types:
        return False
    type_ = types[0]
    sizes = [*type_.shape]
    if name in ("ttnn.stack", "ttnn.unsqueeze"):
        place = values["dim"] % (len(sizes) + 1)
        made = [*sizes[:place], 1, *sizes[place:]]
    else:
        made = [*(values.get("shape") or values.get("logical_shape") or ())]
    (rows, columns), (rows_made, columns_made) = ([1, 1, *each][-2:] for each in (sizes, made))
    if columns != columns_made or type_.layout is Layout.ROW_MAJOR:
        return columns == columns_made
    return rows == rows_made or not (rows % TILE_SIZE or rows_made % TILE_SIZE)


def _keeps_layout(name: str, values: Mapping[str, Any]) -> bool:
    """Returns whether ``to_layout`` has nothing to turn on the device."""
    return any(type_.layout is values["layout"] or not type_.on_device for type_ in _types(values["tensor"]))


_UNMOVED = {"ttnn.reshape": _moves_nothing, "ttnn.unsqueeze": _moves_nothing, "ttnn.to_layout": _keeps_layout}
"""Tells, by function, whether a call leaves all elements where they are, so that TT-NN executes no kernel."""


def _check_choice(values: Mapping[str, Any]) -> None:
    """Refuses a choice between a tensor and a number by a tensor of another data type."""
    predicate, *chosen = ([*_types(values.get(name)), None][0] for name in ("predicate", "true_value", "false_value"))
    given = [each for each in chosen if each is not None]
    if predicate is None or len(given) != 1 or predicate.dtype in (DataType.INT32, given[0].dtype):
        return
    raise TTFatal(
        f"Mixed dtype is not supported for binary operation BinaryOpType::WHERE_{'TTS' if chosen[0] else 'TST'}, "
        f"dtype A: DataType::{predicate.dtype.name}, dtype B: DataType::{given[0].dtype.name}",
        hint="Convert one of the tensors with ttnn.typecast.",
    )


def _types(value: Any) -> Sequence[Type]:
    """Returns the types of the tensors of an argument."""
    type_ = getattr(value, "type", None)
    if type_ is not None and hasattr(type_, "dtype"):
        return [type_]
    return [each.type for each in value if hasattr(each, "type")] if isinstance(value, (list, tuple)) else []


def _kinds(type_: Type) -> Iterator[str]:
    """Yields the names that the table has for a type."""
    yield type_.dtype.name.lower()
    yield type_.layout.name.lower()
    if not type_.on_device:
        yield "host"
        return
    yield from _memory_kinds(type_.memory, type_.layout)


def _memory_kinds(memory: MemoryConfig, layout: Layout) -> Iterator[str]:
    if not memory.is_sharded():
        if memory.buffer_type is BufferType.L1:
            yield "l1"
        return
    yield memory.memory_layout.name.partition("_")[0].lower()
    shards = memory.shard_spec
    if layout is Layout.ROW_MAJOR and shards is not None and any(size % TILE_SIZE for size in shards.shape):
        yield _SMALL


def _data_type(value: Any) -> str:
    """Returns the data type of a tensor, or the kind of a number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "integer" if float(value).is_integer() else "number"
    types = _types(value)
    return types[0].dtype.name.lower() if types else ""


def _shared(kind: str, values: Mapping[str, Any]) -> bool:
    """Returns whether all tensors of a call have a kind."""
    return all(kind in _kinds(type_) for value in values.values() for type_ in _types(value))


def _refused(name: str, words: str, types: Sequence[Type], kind: str, parameter: str) -> TTFatal:
    text = words.replace("{OP}", name.rpartition(".")[2].strip("_").upper())
    for mark, type_ in zip("ABC", types, strict=False):
        text = text.replace(f"{{{mark}}}", f"DataType::{type_.dtype.name}")
    shards = types[0].memory.shard_spec
    if shards is not None:
        text = text.replace("{SHARD}", str(tuple(shards.shape)))
    if any(kind == each.name.lower() for each in DataType) or "*" in kind:
        hint = f"Convert {parameter} with ttnn.typecast."
    elif kind in ("tile", "row_major"):
        wanted = "ttnn.ROW_MAJOR_LAYOUT" if kind == "tile" else "ttnn.TILE_LAYOUT"
        hint = f"Convert {parameter} with ttnn.to_layout(tensor, {wanted})."
    elif kind == "host":
        hint = f"Move {parameter} with ttnn.to_device."
    else:
        hint = f"Move {parameter} with ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG)."
    return TTFatal(text, hint=hint)
