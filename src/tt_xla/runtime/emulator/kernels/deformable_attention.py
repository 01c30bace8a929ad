"""Deformable attention: weighted sums of samples of feature maps at places that the queries name.

The parameters are TT-NN's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


def _samples(maps: Tensor, places: Tensor, align_corners: bool) -> Tensor:
    """Samples maps [N, H, W, D] at places [N, Q, P, 2] between -1 and 1: [N, Q, P, D]."""
    image = maps.float().permute(0, 3, 1, 2)
    return F.grid_sample(image, places.float(), "bilinear", "zeros", align_corners).permute(0, 2, 3, 1)


@kernel("ttnn.experimental.multi_scale_deformable_attn")
def multi_scale_deformable_attn(
    ctx: Any, value: Tensor, grid: Tensor, attn: Tensor, align_corners: bool = False
) -> Tensor:
    """Computes it over one map [N, H, W, D], with places [N, Q * P, 1, 2] and weights [N, Q, P]."""
    count, queries, points = attn.shape
    samples = _samples(value, grid.reshape(count, queries, points, 2), align_corners)
    return (samples * attn.float().unsqueeze(-1)).sum(2)


@kernel("ttnn.experimental.fused_msda")
def fused_msda(
    ctx: Any,
    value: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    spatial_shapes: Sequence[Sequence[int]],
    align_corners: bool = False,
    locations_in_grid_space: bool = False,
) -> Tensor:
    """Computes it over several maps, one behind the other in [B, S, H, D] or [B, S, H * D].

    Places are [B, Q, H, L, P, 2] and weights [B, Q, H, L, P], also with the last dimensions in one.
    """
    levels = len(spatial_shapes)
    batch, queries, heads = sampling_locations.shape[:3]
    places = sampling_locations.float().reshape(batch, queries, heads, levels, -1, 2)
    weights = attention_weights.float().reshape(places.shape[:-1])
    places = places if locations_in_grid_space else 2 * places - 1
    values = value.reshape(batch, value.shape[1], heads, -1).transpose(1, 2).flatten(0, 1)
    total = torch.zeros(batch * heads, queries, values.shape[-1], device=values.device, dtype=torch.float32)
    sizes = [rows * columns for rows, columns in spatial_shapes]
    for level, (part, (rows, columns)) in enumerate(zip(values.split(sizes, 1), spatial_shapes, strict=True)):
        at, share = (each[:, :, :, level].transpose(1, 2).flatten(0, 1) for each in (places, weights))
        samples = _samples(part.unflatten(1, (rows, columns)), at, align_corners)
        total = total + (samples * share.unsqueeze(-1)).sum(2)
    return total.unflatten(0, (batch, heads)).transpose(1, 2).flatten(2)


@kernel("ttnn.experimental.fused_msda_from_offsets")
def fused_msda_from_offsets(
    ctx: Any,
    value: Tensor,
    reference_points: Tensor,
    sampling_offsets: Tensor,
    attention_weights: Tensor,
    spatial_shapes: Sequence[Sequence[int]],
    reference_mode: str = "level",
    align_corners: bool = False,
) -> Tensor:
    """Computes it at reference points [B, Q, R, 2] plus offsets in pixels.

    Args:
        reference_mode: whether the points are those of the levels ("level"), or alternate along the points ("pillar").
    """
    batch, queries, heads = sampling_offsets.shape[:3]
    offsets = sampling_offsets.float().reshape(batch, queries, heads, len(spatial_shapes), -1, 2)
    sizes = [[columns - 1, rows - 1] if align_corners else [columns, rows] for rows, columns in spatial_shapes]
    scale = torch.tensor(
        [[1 / size if size else 0.0 for size in pair] for pair in sizes], device=offsets.device, dtype=torch.float32
    )
    points = reference_points.float()[:, :, None]
    if reference_mode == "pillar":
        repeats = offsets.shape[4] // points.shape[3]
        points = points.repeat(1, 1, 1, repeats, 1).unsqueeze(3)
    else:
        points = points.unsqueeze(4)
    places = points + offsets * scale[:, None]
    return fused_msda(ctx, value, places, attention_weights, spatial_shapes, align_corners)
