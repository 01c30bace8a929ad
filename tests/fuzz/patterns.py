"""The rewriting patterns of the compiler, by name, and which of them fire."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tests.fuzz.texts.corpus import Seed
from tt_xla import compiler
from tt_xla.compiler.rewriting import Changes, Pattern


def name_of(op: str, function: str) -> str:
    """Returns the name of a pattern: dialect of the ops that it rewrites, and its function: ``ttir.join_reshapes``."""
    return f"{op.partition('.')[0]}.{function}"


@cache
def patterns() -> dict[str, Pattern[Any]]:
    """Returns every pattern of the compiler by its name.

    Raises:
        ValueError: Two patterns have the same name.
    """
    found: dict[str, Pattern[Any]] = {}
    for info in sorted(pkgutil.walk_packages(compiler.__path__, f"{compiler.__name__}."), key=lambda one: one.name):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, Pattern):
                folder = info.name.removeprefix(f"{compiler.__name__}.")
                name = name_of(folder if folder.startswith(("ttir.", "ttnn.")) else value.roots[0].name, value.name)
                if found.setdefault(name, value) is not value:
                    raise ValueError(f"Two patterns have the name {name}; rename one of their functions.")
    return found


@contextmanager
def counted(fires: Counter[str]) -> Generator[None]:
    """Counts in ``fires``, by names of patterns, the rewritings that are made in this block."""
    changes = Changes()
    try:
        with changes.counting(""):
            yield
    finally:
        fires.update(name_of(change.op, change.pattern) for change in changes.applied)


ALONE = frozenset({"ttir.fill_tiles_of_broadcast"})
"""Patterns that fire in a text when their stage runs alone: a stage before it folds the ops of small programs."""

TEXTS = {
    "ttir.all_reduce": Seed("passes/ttir-decompose-collectives.mlir", "small"),
    "ttir.batch_norm": Seed("dialects/ttir/normalization.mlir", "batch_norm_inference"),
    "ttir.binary_of_gathered": Seed("passes/ttir-move-through-collectives.mlir", "before_the_gather"),
    "ttir.delay_broadcast": Seed("passes/ttir-fold-broadcasts.mlir", "unary_of_repeated"),
    "ttir.drop_for_one_chip": Seed("passes/ttir-join-collectives.mlir", "one_chip"),
    "ttir.elementwise": Seed("passes/ttir-decompose.mlir", "powers_of_two"),
    "ttir.extreme_of_repeated": Seed("passes/ttir-fold-gradients.mlir", "repeated"),
    "ttir.fill_tiles": Seed("passes/ttir-fill-tiles.mlir", "vector"),
    "ttir.fill_tiles_of_broadcast": Seed("passes/ttir-fill-tiles.mlir", "vector"),
    "ttir.fill_tiles_of_reduction": Seed("passes/ttir-fill-tiles.mlir", "update"),
    "ttir.filled": Seed("dialects/ttir/structure_more.mlir", "zeros"),
    "ttir.first_of_sort": Seed("passes/ttir-fuse-sort.mlir", "downwards"),
    "ttir.gather_of_scattered": Seed("passes/ttir-join-collectives-exact.mlir", "sums"),
    "ttir.gather_of_slice": Seed("passes/ttir-join-collectives.mlir", "gather_of_slice"),
    "ttir.gather_of_widened": Seed("passes/ttir-move-through-collectives.mlir", "wide"),
    "ttir.join_reverses": Seed("passes/ttir-fold.mlir", "reverses"),
    "ttir.identity_as_conv": Seed("passes/ttir-fuse-convolution.mlir", "identity"),
    "ttir.mean_of_images": Seed("dialects/ttir/window_more.mlir", "global_avg_pool2d"),
    "ttir.part_of_elementwise": Seed("passes/ttir-move-through-collectives.mlir", "after_the_partition"),
    "ttir.part_of_gathered": Seed("passes/ttir-join-collectives-exact.mlir", "moves"),
    "ttir.part_of_sum": Seed("passes/ttir-join-collectives-exact.mlir", "sums"),
    "ttir.patch_convolution": Seed("passes/ttir-decompose-patches.mlir", "embedding_of_patches"),
    "ttir.permute": Seed("dialects/ttir/structure_more.mlir", "transpose"),
    "ttir.product_by_channel": Seed("passes/ttir-rows-of-images.mlir", "squeeze_and_excitation"),
    "ttir.reduce_scatter": Seed("passes/ttir-decompose-collectives.mlir", "integers"),
    "ttir.reduce_truth": Seed("dialects/ttir/structure_more.mlir", "reduce_and"),
    "ttir.repeat": Seed("dialects/ttir/structure_more.mlir", "repeat"),
    "ttir.repeat_in_a_row": Seed("dialects/ttir/structure_more.mlir", "repeat_interleave"),
    "ttir.reshape": Seed("dialects/ttir/structure_more.mlir", "squeeze"),
    "ttir.slice_of_one_dimension": Seed("dialects/ttir/structure_more.mlir", "index"),
    "ttir.slice_of_runs": Seed("dialects/ttir/structure_more.mlir", "index_select"),
    "ttir.split_heads": Seed("passes/ttir-fuse-heads.mlir", "three_projections"),
    "ttir.sum_of_convs": Seed("passes/ttir-fuse-convolution.mlir", "sum_of_convs"),
    "ttir.sum_of_repeated": Seed("passes/ttir-fold-gradients.mlir", "repeated"),
    "ttir.unary_of_gathered": Seed("passes/ttir-move-through-collectives.mlir", "before_the_gather"),
    "ttnn.bias_as_weights": Seed("passes/ttir-rows-of-images.mlir", "pointwise_convolutions"),
    "ttnn.converted_after_preparation": Seed("passes/ttir-fuse-convolution.mlir", "rounded_scale"),
    "ttnn.rotary_by_halves": Seed("passes/ttnn-fuse-rotary.mlir", "by_halves"),
}
"""A function of the file checks for each pattern that few idioms, or none, are made for."""
