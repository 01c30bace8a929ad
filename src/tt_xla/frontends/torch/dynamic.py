"""Sizes that change from call to call: a program has fixed sizes, so each set of sizes is compiled once.

Torch stops compiling a function after ``recompile_limit`` times and runs it eagerly from there on. That limit, 8, is
meant for compilers of dynamic sizes; here it is :data:`RECOMPILE_LIMIT`, unless the user has set one, and the last
compilation that it allows is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._guards import CompileContext, TracingContext

from tt_xla.log import logger

RECOMPILE_LIMIT = 64
_TORCH_LIMIT = 8


def allow_recompiles(example_inputs: Sequence[Any]) -> None:
    """Raises torch's limit for this process, and says so when the limit is reached.

    Args:
        example_inputs: of the graph being compiled, for the report.
    """
    config = torch._dynamo.config
    if config.recompile_limit == _TORCH_LIMIT:
        config.recompile_limit = RECOMPILE_LIMIT
    compiled = CompileContext.current_compile_id()
    times = (compiled.frame_compile_id or 0) + 1 if compiled else 1
    if times == 1:
        return
    shapes = ", ".join(str(list(value.shape)) for value in example_inputs if _is_input(value))
    logger().info("compiling %s for the %d. time, for inputs of shapes %s", _user_frame(), times, shapes)
    if times == config.recompile_limit:
        logger().warning(
            "%s has been compiled %d times, as often as torch._dynamo.config.recompile_limit allows; the last inputs "
            "have the shapes %s. Further shapes are not compiled: their ops run one by one. Pad inputs to a few "
            "sizes, or raise the limit.",
            _user_frame(),
            times,
            shapes,
        )


def fix_marked_sizes() -> None:
    """Lifts the demand of ``torch._dynamo.mark_dynamic`` that a size stays symbolic: here it costs a program a size."""
    context = TracingContext.try_get()
    shapes = context.fake_mode.shape_env if context and context.fake_mode else None
    for tracked in (shapes.tracked_fakes or ()) if shapes else ():
        constraints = getattr(tracked.symbolic_context, "constraint_sizes", None)
        if constraints is not None:
            constraints[:] = [None] * len(constraints)


def _is_input(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter)


def _user_frame() -> str:
    stack = TracingContext.extract_stack() if TracingContext.try_get() else []
    return f"{stack[0].name} ({stack[0].filename}:{stack[0].lineno})" if stack else "a function"
