"""``jax.pure_callback``, ``io_callback``, ``jax.debug.callback`` and ``jax.debug.print`` on platform ``tt``.

JAX's own rules do all but emit the call, for which they know some platforms only. Here the call becomes a custom call
that names the function (:mod:`tt_xla.callbacks`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tt_xla import callbacks


def allow_callbacks(platform: str) -> None:
    """Makes JAX lower calls of Python functions for a platform."""
    from jax._src import callback, debugging
    from jax._src.interpreters import mlir

    callback.emit_python_callback = _emitting(callback.emit_python_callback, platform)
    rules = {"debug_callback_p": "debug_callback_lowering", "debug_print_p": "debug_print_lowering_rule"}
    for primitive, rule in rules.items():  # the second came with JAX 0.8
        if hasattr(debugging, primitive):
            mlir.register_lowering(
                getattr(debugging, primitive), getattr(debugging, rule), platform=platform, cacheable=False
            )


def _emitting(for_others: Callable[..., Any], platform: str) -> Callable[..., Any]:
    @functools.wraps(for_others)
    def emit_python_callback(
        ctx: Any,
        callback: Callable[..., Any],
        token: Any,
        operands: Sequence[Any],
        operand_avals: Sequence[Any],
        result_avals: Sequence[Any],
        *,
        has_side_effect: bool,
        **others: Any,
    ) -> tuple[Sequence[Any], Any, Any]:
        """Results, the new token if there was one, and the function."""
        if tuple(ctx.module_context.platforms) != (platform,):
            return for_others(
                ctx, callback, token, operands, operand_avals, result_avals, has_side_effect=has_side_effect, **others
            )
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir

        registered = callbacks.register(functools.partial(_checked, callback, tuple(result_avals)))
        ctx.module_context.add_keepalive(registered)
        types = [ir.RankedTensorType.get(aval.shape, mlir.dtype_to_ir_type(aval.dtype)) for aval in result_avals]
        call = mlir.custom_call(
            callbacks.TARGET,
            result_types=[*([token.type] if token else []), *types],
            operands=[*([token] if token else []), *operands],
            backend_config=registered.name,
            has_side_effect=has_side_effect,
        )
        results = list(call.results)
        return (results[1:], results[0], registered) if token else (results, None, registered)

    return emit_python_callback


def _checked(function: Callable[..., Any], avals: Sequence[Any], *arrays: Any) -> list[Any]:
    """Calls a function.

    Raises:
        RuntimeError: its results are not of the shapes and types that the program was told.
    """
    import numpy as np
    from jax._src import dtypes

    canonical = getattr(dtypes, "canonicalize_value", None)
    results = [np.asarray(result) for result in function(*arrays)]
    if canonical is not None:
        results = [np.asarray(canonical(result)) for result in results]
    found = [(result.shape, np.dtype(result.dtype)) for result in results]
    expected = [(tuple(aval.shape), np.dtype(aval.dtype)) for aval in avals]
    if found != expected:
        raise RuntimeError(f"A callback returned {found}, expected {expected}.")
    return results
