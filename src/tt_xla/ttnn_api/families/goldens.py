"""Golden functions: what an operation computes, as a function of torch tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.ttnn_api.operation import GOLDENS, Operation, operation

_ALIASES = {"ttnn.mul": "ttnn.multiply", "ttnn.sub": "ttnn.subtract", "ttnn.div": "ttnn.divide"}
"""Operations that are one in TT-NN."""


def _name(of: object) -> str:
    name = of.__name__ if isinstance(of, Operation) else str(getattr(of, "__name__", of))
    return _ALIASES.get(name, name)


@operation("ttnn.attach_golden_function", composite=True)
def attach_golden_function(
    operation: object,
    golden_function: Callable[..., Any],
    preprocess_golden_function_inputs: Callable[..., Any] | None,
    postprocess_golden_function_outputs: Callable[..., Any] | None,
    output_tensor_kwarg_names: Sequence[str],
) -> None:
    """Gives an operation a golden function."""
    GOLDENS[_name(operation)] = golden_function


@operation("ttnn.get_golden_function", composite=True)
def get_golden_function(operation: object) -> Callable[..., Any]:
    """Returns the golden function of an operation.

    Raises:
        RuntimeError: none was attached.
    """
    name = _name(operation)
    if name not in GOLDENS:
        raise RuntimeError(
            f"{name} does not have a golden function. Attach one with ttnn.attach_golden_function: those of the real "
            "package are not part of the emulated card."
        )
    return GOLDENS[name]
