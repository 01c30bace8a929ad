"""``torch_xla.backends``: precision of matrix products."""

from __future__ import annotations

import logging

from tt_xla.frontends.torch import settings as _settings

logger = logging.getLogger(__name__)

_FIDELITIES = {"default": "", "high": "hifi3", "highest": "hifi4"}
"""Compile option ``math_fidelity`` of each precision."""

_WARNING_MESSAGE = (
    "Setting mat mul precision multiple times is not recommended. If you need to do so, please empirically verify that "
    "the precision setting is behaving as expected."
)


def set_mat_mul_precision(precision: str) -> None:
    """Sets the compile option ``math_fidelity`` of the process.

    Args:
        precision: ``default``, which leaves it to the compiler, ``high`` for hifi3 or ``highest`` for hifi4.

    Raises:
        ValueError: there is no such precision.
    """
    if precision not in _FIDELITIES:
        raise ValueError(f"set_mat_mul_precision({precision!r}): expected one of {', '.join(_FIDELITIES)}.")
    logger.warning(_WARNING_MESSAGE)
    _settings.set_compile_options(_settings.current().options | {"math_fidelity": _FIDELITIES[precision]})


def get_mat_mul_precision() -> str:
    """Returns the precision that the compile option ``math_fidelity`` stands for."""
    fidelity = _settings.current().options.get("math_fidelity", "")
    return next((name for name, value in _FIDELITIES.items() if value == fidelity), "default")
