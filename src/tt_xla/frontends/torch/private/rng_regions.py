"""Random numbers of DTensors on the device: the shards of a tensor differ, and its replicas are equal.

PyTorch's tracker moves an offset within the state of a Philox generator. The device draws the CPU's numbers, whose
generator has no offset, so the state of each shard is made from the state that all ranks share and the shard's number.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Iterator
from typing import Any

import torch

from tt_xla.frontends.torch.private.names import names_of

_TRACKER = "torch.distributed.tensor._random.OffsetBasedRNGTracker"

REPLACED = ((_TRACKER, "_distribute_region"),)
"""Owner and name of the attribute that :func:`install` replaces: a class by its name."""


@functools.cache
def install(device_type: str) -> None:
    """Makes DTensors on the device draw random numbers. The module is imported with the first mesh of ranks.

    Args:
        device_type: name of the device, ``tt``.
    """
    with names_of("rng_regions"):
        from torch.distributed.tensor._random import OffsetBasedRNGTracker

    distribute = OffsetBasedRNGTracker._distribute_region

    @functools.wraps(distribute)
    def region(self: Any, spec: Any, generator: torch.Generator | None = None) -> Any:
        if self._device.type != device_type:
            return distribute(self, spec, generator)
        split = [axis for axis, placement in enumerate(spec.placements) if not placement.is_replicate()]
        is_whole = not self.distribute_region_enabled or all(spec.mesh.size(axis) == 1 for axis in split)
        if is_whole and generator is None:
            return contextlib.nullcontext()
        purpose = "whole" if is_whole else f"shard {[(axis, spec.mesh.get_local_rank(axis)) for axis in split]}"
        return _drawing(self._device_handle, generator, purpose)

    OffsetBasedRNGTracker._distribute_region = region


@contextlib.contextmanager
def _drawing(device: Any, generator: torch.Generator | None, purpose: str) -> Iterator[None]:
    """Draws the numbers of a shard in the block. Afterwards all ranks have one state again.

    The op in the block draws from the device's own generator, also where the user passed another one.

    Args:
        device: ``torch.tt``.
        generator: the user's generator, if there is one.
        purpose: what makes the numbers differ from those of others with the same state.
    """
    own = device.get_rng_state()
    shared = own if generator is None else generator.get_state()
    device.set_rng_state(_state_of(shared, purpose))
    try:
        yield
    finally:
        after = _state_of(shared, "after")
        device.set_rng_state(after if generator is None else own)
        if generator is not None:
            generator.set_state(after)


def _state_of(state: torch.Tensor, purpose: str) -> torch.Tensor:
    """Returns the state of a generator whose seed is a digest of a state and a purpose."""
    digest = hashlib.sha256(state.cpu().numpy().tobytes() + purpose.encode()).digest()
    generator = torch.Generator(device="cpu")
    generator.manual_seed(int.from_bytes(digest[:8], "little"))
    return generator.get_state()


__all__ = ["REPLACED", "install"]
