"""Where the emulated card computes: the one place that says on which torch device its kernels' tensors lie.

``TTXLA_EMULATOR_DEVICE=cuda`` has the same kernels run on a GPU: arguments are copied there when a program reads them,
parameters once, and results are copied back. This has not been tried on a GPU; products are torch's own there, not
oneDNN's, so that sums are made in another order than on the CPU.
"""

from __future__ import annotations

import functools

import torch

from tt_xla import options
from tt_xla.errors import OptionError


@functools.cache
def device() -> torch.device:
    """The device that ``TTXLA_EMULATOR_DEVICE`` names, from the first call on.

    Raises:
        OptionError: it names none, or one that torch does not find here.
    """
    name = options.emulator_device()
    found = torch.device(name)
    if found.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (found.index or 0) >= count:
            there = (
                f"torch {torch.__version__} finds {count} CUDA devices here"
                if count
                else (f"torch {torch.__version__} finds no CUDA device here")
            )
            raise OptionError(
                f"TTXLA_EMULATOR_DEVICE is {name!r}, and {there}.",
                hint="Unset it to compute on the CPU, or install a torch built for CUDA beside a driver that it takes.",
            )
    return found


def brought(tensor: torch.Tensor) -> torch.Tensor:
    """``tensor`` where the card computes; itself where it is there."""
    return tensor.to(device())
