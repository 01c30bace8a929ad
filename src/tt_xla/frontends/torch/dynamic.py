"""Sizes that change from call to call: a program has fixed sizes, so each set of sizes is compiled once.

PyTorch stops compiling a function after ``torch._dynamo.config.recompile_limit`` compilations and runs it eagerly from
then on. That limit, 8, is meant for compilers of dynamic sizes; frames compiled for ``tt`` get :data:`RECOMPILE_LIMIT`
unless the user has set another limit (:mod:`.frame_settings`). The last compilation that the limit allows is reported.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.private.dynamo import config
from tt_xla.frontends.torch.private.dynamo_patches import current_compilation
from tt_xla.frontends.torch.private.guards import TracingContext
from tt_xla.log import logger


def report_recompilation(example_inputs: Sequence[Any]) -> None:
    """Logs that a function is compiled again, and warns when the limit allows no further compilation.

    Args:
        example_inputs: inputs of the graph that is being compiled.
    """
    compilation = current_compilation()
    if compilation is None or not compilation.entries:
        return
    times = len(compilation.entries) + 1
    shapes = ", ".join(str(list(value.shape)) for value in example_inputs if _is_user_input(value))
    function = f"{compilation.code.co_qualname} ({compilation.code.co_filename}:{compilation.code.co_firstlineno})"
    if logger().isEnabledFor(logging.INFO):
        guard = compilation.failed_guard()
        cause = f"; this guard of the last compilation does not hold: {guard}" if guard else ""
        logger().info(
            "%s is compiled again (compilation %d), for inputs of shapes %s%s", function, times, shapes, cause
        )
    if times == config.recompile_limit:
        logger().warning(
            "%s has been compiled %d times, as often as torch._dynamo.config.recompile_limit allows; the last inputs "
            "have the shapes %s. Further shapes are not compiled: their ops run one by one. Pad inputs to a few "
            "sizes, or raise the limit.",
            function,
            times,
            shapes,
        )


def fix_marked_sizes() -> None:
    """Drops the constraints of ``torch._dynamo.mark_dynamic``, which demand that a size stays symbolic.

    A program has fixed sizes, so a marked size costs one program per value.
    """
    context = TracingContext.try_get()
    shapes = context.fake_mode.shape_env if context and context.fake_mode else None
    for tracked in (shapes.tracked_fakes or ()) if shapes else ():
        constraints = getattr(tracked.symbolic_context, "constraint_sizes", None)
        if constraints is not None:
            constraints[:] = [None] * len(constraints)


def _is_user_input(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter)


__all__ = ["fix_marked_sizes", "report_recompilation"]
