"""Calls of Python functions from programs on platform ``tt``.

JAX's lowering rules for ``jax.pure_callback``, ``io_callback``, ``jax.debug.callback`` and ``jax.debug.print`` prepare
the call. Here the call becomes a custom call that names the function (:mod:`tt_xla.callbacks`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt_xla import callbacks
from tt_xla.frontends.jax.custom_calls import custom_call


def emit(
    ctx: Any,
    function: Callable[..., Any],
    token: Any,
    operands: Sequence[Any],
    result_avals: Sequence[Any],
    *,
    has_side_effect: bool,
) -> tuple[Sequence[Any], Any, Any]:
    """Emits the call of a Python function, in the place of JAX's ``emit_python_callback``.

    Args:
        ctx: JAX's ``LoweringRuleContext``. Its module keeps ``function`` alive.
        function: takes NumPy arrays and returns a sequence of NumPy arrays.
        token: the token that orders the call, or None.
        operands: MLIR values.
        result_avals: shapes and element types of the results.
        has_side_effect: whether the call must run even if nothing reads its results.

    Returns:
        The results, the next token (None without ``token``), and the registered function.
    """
    from jax.interpreters import mlir
    from jaxlib.mlir import ir

    registered = callbacks.register(function)
    ctx.module_context.add_keepalive(registered)
    types = [ir.RankedTensorType.get(aval.shape, mlir.dtype_to_ir_type(aval.dtype)) for aval in result_avals]
    results = custom_call(
        callbacks.TARGET,
        [*([token.type] if token else []), *types],
        [*([token] if token else []), *operands],
        backend_config=registered.name,
        has_side_effect=has_side_effect,
    )
    return (results[1:], results[0], registered) if token else (results, None, registered)


def check_results(
    function: Callable[..., Any], avals: Sequence[Any], canonicalize: Callable[[Any], Any]
) -> Callable[..., list[Any]]:
    """Wraps a function so that its results are checked against the shapes and types that the program expects.

    Args:
        function: the user's function.
        avals: expected shape and element type of each result.
        canonicalize: JAX's conversion of values to the enabled widths, such as float64 to float32.

    Returns:
        A function that raises ``RuntimeError`` when a result has another shape or type.
    """
    import numpy as np

    def checked(*arrays: Any) -> list[Any]:
        results = [np.asarray(canonicalize(np.asarray(result))) for result in function(*arrays)]
        actual = [(result.shape, np.dtype(result.dtype)) for result in results]
        expected = [(tuple(aval.shape), np.dtype(aval.dtype)) for aval in avals]
        if actual != expected:
            raise RuntimeError(f"A callback returned results of {actual}; expected {expected}.")
        return results

    return checked
