"""GSPMD's shardings: the strings of ``mhlo.sharding``, such as ``{devices=[2,4]<=[8]}``.

Source of the grammar: ``HloSharding::ToString`` and ``hlo_parser.cc`` of openxla/xla.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from tt_xla.compiler.sharding.axes import Digit, Digits, Positions, digits_of
from tt_xla.errors import CompileError, MalformedModuleError

_NUMBERS = r"\d{1,18}(?:,\d{1,18})*"
"""Numbers of up to 64 bits with commas between them."""
_TILES = re.compile(
    rf"devices=\[(?P<tiles>{_NUMBERS})\]"
    rf"(?:<=\[(?P<shape>{_NUMBERS})\](?:T\((?P<order>{_NUMBERS})\))?|(?P<listed>{_NUMBERS}))"
    r"(?P<last>\s+last_tile_dim_replicate|\s+last_tile_dims=\{(?P<kinds>[a-z, ]+)\})?$"
)
_METADATA = re.compile(r"\s*metadata=\{.*\}")
_SHARD_ALIKE = re.compile(r"\s*shard_(?:as|like)\s+-?\d+")


@dataclass(frozen=True)
class HloSharding:
    """A sharding of one tensor."""

    dims: tuple[Digits, ...] | None
    """Digits that split each dimension; None if the sharding splits no dimension and holds for tensors of any rank."""
    manual: Digits = ()
    """Digits along which the program itself says what each chip does."""
    all_manual: bool = False
    """Whether all digits are manual."""
    unreduced: Digits = ()
    """Digits along which chips hold partial sums."""
    maximal: bool = False
    """Whether one device alone has the tensor."""


def parse(text: str, chips: int) -> list[HloSharding]:
    """Parses the text of ``mhlo.sharding``.

    Args:
        text: the sharding of a tensor, or of each tensor of a tuple.
        chips: number of chips that the program is for.

    Raises:
        MalformedModuleError: the text is not a sharding.
        CompileError: the sharding is for another number of chips, or orders them in a way that no mesh has.
    """
    text = _METADATA.sub("", text.strip())
    if text.startswith("{{") or text == "{}":
        parts = re.findall(r"\{(?:[^{}]|\{[^{}]*\})*\}", text[1:-1])
        return [_parse_one(part, chips) for part in parts]
    return [_parse_one(text, chips)]


def _parse_one(text: str, chips: int) -> HloSharding:
    if not (text.startswith("{") and text.endswith("}")):
        raise _not_a_sharding(text)
    inner = _SHARD_ALIKE.sub("", text[1:-1]).strip()
    if inner in ("replicated", "unknown", ""):
        return HloSharding(None)
    if inner == "unreduced":
        return HloSharding(None, unreduced=(Digit(1, chips),) if chips > 1 else ())
    if inner == "manual":
        return HloSharding(None, all_manual=True)
    if re.fullmatch(r"maximal device=\d+", inner):
        return HloSharding(None, maximal=True)
    match = _TILES.fullmatch(inner)
    if match is None:
        raise _not_a_sharding(text)
    tiles = _numbers(match["tiles"])
    digits = digits_of(_positions(match, tiles, text, chips))
    if digits is None:
        raise CompileError(
            f"The sharding {text} orders its devices in a way that no mesh has.",
            hint="Give the mesh its devices in row-major order, or transposed.",
        )
    kinds = [kind.strip() for kind in (match["kinds"] or "").split(",") if kind.strip()]
    if match["last"] and not kinds:
        kinds = ["replicated"]
    if len(kinds) > len(tiles) or not {*kinds} <= {"replicated", "manual", "unreduced"}:
        raise _not_a_sharding(text)
    rank = len(tiles) - len(kinds)

    def of_kind(wanted: str) -> Digits:
        pairs = zip(kinds, digits[rank:], strict=True)
        return tuple(digit for kind, group in pairs if kind == wanted for digit in group)

    return HloSharding(tuple(digits[:rank]), manual=of_kind("manual"), unreduced=of_kind("unreduced"))


def _positions(match: re.Match[str], tiles: list[int], text: str, chips: int) -> Positions:
    count = math.prod(tiles)
    if count != chips:
        raise CompileError(
            f"The sharding {text} is for {count} devices, but the module is for {chips}.",
            hint="Use meshes of all the devices that the program runs on.",
        )
    if match["listed"]:
        listed = np.array(_numbers(match["listed"]), np.int64)
    else:
        shape = _numbers(match["shape"])
        order = _numbers(match["order"]) if match["order"] else [*range(len(shape))]
        if math.prod(shape) != count or sorted(order) != [*range(len(shape))]:
            raise _not_a_sharding(text)
        listed = np.arange(count, dtype=np.int64).reshape(shape).transpose(order).reshape(-1)
    if sorted(listed.tolist()) != [*range(count)]:
        raise _not_a_sharding(text)
    return listed.reshape(tiles)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _not_a_sharding(text: str) -> MalformedModuleError:
    return MalformedModuleError(
        f"'{text}' is not a sharding.",
        hint="Expected {replicated}, {manual}, {maximal device=N} or {devices=[...]<=[...]}, as XLA writes them.",
    )
