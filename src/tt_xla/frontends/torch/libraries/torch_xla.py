"""Whether libraries take the paths that they have for torch_xla."""

from __future__ import annotations

import functools
import sys
from importlib.util import find_spec
from pathlib import Path

from tt_xla.environment import asks_for_torch_xla, variable
from tt_xla.frontends.torch.xla_api import finder


def is_served() -> bool:
    """Returns whether ``torch_xla`` is the one that tt-xla serves, and not an installed one."""
    spec = find_spec("torch_xla")  # None for the one that tt-xla serves, unless it was imported or asked for
    return spec is None or Path(spec.origin or "").parent == Path(finder.__file__).parent


@functools.cache
def is_asked_for() -> bool:
    """Returns whether libraries take their paths for torch_xla.

    They do if the script has imported torch_xla when the first of them asks, or if ``USE_TORCH_XLA`` or
    ``XLA_USE_SPMD`` says so. All get the same answer, since they call each other.
    """
    return asks_for_torch_xla() or ("torch_xla" in sys.modules and not variable("USE_TORCH_XLA"))


__all__ = ["is_asked_for", "is_served"]
