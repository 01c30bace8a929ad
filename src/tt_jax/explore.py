"""Shows a JAX function in the explorer, from a notebook or a Python session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt_xla.tools.explorer.notebook import Exploration


def explore(
    function: Callable[..., Any], *args: Any, options: Mapping[str, Any] | None = None, port: int = 0
) -> Exploration:
    """Compiles a function for platform ``tt``, runs it once, and shows its graphs in the browser or in the notebook.

    Args:
        function: the function, jitted or not.
        args: its arguments.
        options: compile options.
        port: port of the explorer's server; 0 for any free one.

    Raises:
        TTXLAError: the function cannot be compiled, or Model Explorer is not installed.
    """
    import jax

    from tt_xla.tools.explorer.notebook import explored

    def fresh(*values: Any) -> Any:  # a function of its own, which JAX has not compiled yet
        return function(*values)

    jitted = jax.jit(fresh, compiler_options=dict(options or {}))
    tt = jax.devices("tt")[0]
    return explored(lambda: jax.block_until_ready(jitted(*jax.device_put(args, tt))), port=port)
