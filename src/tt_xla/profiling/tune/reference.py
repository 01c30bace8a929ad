"""Reference results in float32: XLA on the CPU runs a recorded program's StableHLO on its first run's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def float32_results(source: str, name: str, arguments: Sequence[Any]) -> list[Any]:
    """Returns the result tensors of a StableHLO module; 16-bit floats of its arguments are converted to float32.

    Raises:
        TTXLAError: XLA cannot run the module.
    """
    import torch

    from tt_xla.testing.divergence.modules import Source
    from tt_xla.testing.divergence.runs import on_cpu

    results = on_cpu(Source(source, name).module, [as_array(tensor) for tensor in arguments])
    return [torch.from_numpy(result.copy()) for result in results]


def as_array(tensor: Any) -> Any:
    """Returns a tensor as a NumPy array, with floats as float32."""
    return tensor.float().numpy() if tensor.is_floating_point() else tensor.numpy()
