"""``torch._prims.rng_prims``, ops that save and restore the state of a random number generator, and ``torch.random``.

Importing the module also sets the metaclass of ``torch.Generator``, on which the device's generators rely.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state


def use_for_functions_of_torch_random(generator: Any) -> None:
    """Makes ``torch.manual_seed`` and the other functions of ``torch.random`` use an object as default generator."""
    torch.random.default_generator = generator


__all__ = ["run_and_save_rng_state", "run_with_rng_state", "use_for_functions_of_torch_random"]
