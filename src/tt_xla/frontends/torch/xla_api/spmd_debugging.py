"""``torch_xla.distributed.spmd.debugging``: tables that show which chips have which part of a tensor."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import torch
import torch_xla.distributed.spmd as _spmd
import torch_xla.runtime as _runtime

_REPLICATED = re.compile(r"\{replicated\}|")
_TILED = re.compile(r"\{devices=\[([\d,]+)\]([\d,]+)( last_tile_dim_replicate)?\}")


def visualize_sharding(
    sharding: str, use_color: bool = True, scale: float = 1.0, min_width: int = 9, max_width: int = 80
) -> Any:
    """Prints the parts of a tensor along its first two dimensions, each with the chips that have it.

    Args:
        sharding: the sharding in XLA's notation, such as ``{devices=[2,4]0,1,2,3,4,5,6,7}``.
        use_color: whether to leave out the lines between parts on a terminal that has colours.
        scale: changes nothing, as in ``torch_xla``.
        min_width: changes nothing, as in ``torch_xla``.
        max_width: columns of the table.

    Returns:
        The ``rich.table.Table``.

    Raises:
        ValueError: the text is no such sharding.
    """
    from rich import align, box, console, padding, table

    print(f"Visualizing {sharding} (showing up to the first two dimensions)")
    screen = console.Console(width=max_width)
    lines = not use_color or screen.color_system is None
    shown = table.Table(
        show_header=False,
        show_lines=lines,
        padding=0,
        highlight=lines,
        pad_edge=False,
        box=box.SQUARE if lines else None,
    )
    has_copies = "replicate" in sharding or not sharding  # a list of one chip if there is only one
    for row in _parts(sharding):
        entries = [f"{_runtime.device_type()} {chips if has_copies or len(chips) > 1 else chips[0]}" for chips in row]
        centred = [align.Align(entry, "center", vertical="middle") for entry in entries]
        shown.add_row(*[padding.Padding(entry, 1) for entry in centred])
    screen.print(shown, end="\n\n")
    return shown


def _parts(sharding: str) -> list[list[list[int]]]:
    """Returns the chips that have each part along the first two dimensions."""
    if _REPLICATED.fullmatch(sharding):
        return [[list(range(_runtime.global_runtime_device_count()))]]
    tiled = _TILED.fullmatch(sharding)
    if tiled is None:
        raise ValueError(f"The sharding is {sharding}, expected one such as {{devices=[2,4]0,1,2,3,4,5,6,7}}.")
    tiles, chips = ([int(number) for number in tiled[group].split(",")] for group in (1, 2))
    if len(chips) != math.prod(tiles):
        raise ValueError(f"The sharding {sharding} names {len(chips)} chips for {math.prod(tiles)} tiles.")
    rows, columns, *_ = *(tiles[:-1] if tiled[3] else tiles), 1, 1
    return np.array(chips).reshape(rows, columns, -1).tolist()


def construct_v1_sharding_str(t: torch.Tensor) -> str:
    """Returns the sharding of a tensor in XLA's notation with a list of chips."""
    return _spmd.sharding_of(t)


def visualize_tensor_sharding(t: torch.Tensor, **kwargs: Any) -> Any:
    """Prints the parts of a tensor with the chips that have them.

    Args:
        t: the tensor.
        kwargs: further arguments of :func:`visualize_sharding`.

    Returns:
        The ``rich.table.Table``.
    """
    return visualize_sharding(construct_v1_sharding_str(t), **kwargs)


__all__ = ["construct_v1_sharding_str", "visualize_sharding", "visualize_tensor_sharding"]
