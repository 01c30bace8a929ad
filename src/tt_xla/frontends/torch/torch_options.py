"""Modes and options of ``torch.compile(backend="tt")``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tt_xla.errors import OptionError
from tt_xla.options import COMPILE_OPTIONS

TORCH_OPTIONS = {
    "tt_enable_composite_ops": True,
    "tt_enable_torch_fx_fusion_pass": True,
    "tt_lazy_execution": False,
    "tt_legacy_compile": False,
    "tt_use_aot_autograd": True,
}
"""Options of upstream's PyTorch backend, with their defaults. The first two switch passes off. The others select among
upstream's ways of compiling. There is one way here, so they are accepted and change nothing."""

MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "reduce-overhead": {"enable_trace": True},
    "max-autotune-no-cudagraphs": {"optimization_level": 2},
    "max-autotune": {"optimization_level": 2, "enable_trace": True},
}
"""Compile options by mode of ``torch.compile``. A captured trace corresponds to a CUDA graph."""


def mode_options(mode: str) -> dict[str, Any]:
    """Returns the compile options of a mode.

    Raises:
        OptionError: there is no such mode.
    """
    if mode not in MODES:
        raise OptionError(f"torch.compile mode '{mode}' is unknown.", hint=f"Known modes: {', '.join(MODES)}.")
    return MODES[mode]


def compile_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the compile options among the options of one ``torch.compile`` call.

    Raises:
        OptionError: an option of :data:`TORCH_OPTIONS` is not a boolean, or a name that begins with ``tt_`` is unknown.
    """
    selected = {}
    for name, value in options.items():
        if name in TORCH_OPTIONS:
            if not isinstance(value, bool):
                raise OptionError(f"torch.compile option '{name}' was given {value!r}; it takes True or False.")
        elif name.startswith("tt_") and name not in COMPILE_OPTIONS:
            raise OptionError(
                f"torch.compile option '{name}' is unknown.", hint=f"Known options: {', '.join(sorted(TORCH_OPTIONS))}."
            )
        else:
            selected[name] = value
    return selected


def graph_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of one ``torch.compile`` call that decide what is lowered; the compiler reads the others."""
    return {name: value for name, value in options.items() if name in TORCH_OPTIONS}


__all__ = ["MODES", "TORCH_OPTIONS", "compile_options", "graph_options", "mode_options"]
