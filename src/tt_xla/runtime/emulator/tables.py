"""Tables of numbers that kernels look up.

They are NumPy's: a tensor that is made while a module is imported is a fake one where a fake mode is active then, as in
a compilation that runs a first program.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

Table = npt.NDArray[np.float32]


def in_halves(*values: float) -> Table:
    """Returns numbers as 16-bit floats hold them."""
    return np.array(values, np.float32).astype(np.float16).astype(np.float32)


def table(values: Table, like: torch.Tensor) -> torch.Tensor:
    """Returns a table as a tensor of float32 on the device of another tensor."""
    return torch.from_numpy(values).to(like.device)
