"""``torch._prims.rng_prims``: ops that save and restore the state of a random number generator.

Importing the module also sets the metaclass of ``torch.Generator``, on which the device's generators rely.
"""

from __future__ import annotations

from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state

__all__ = ["run_and_save_rng_state", "run_with_rng_state"]
