"""Reference results in float32: XLA on the CPU runs a recorded program's StableHLO on its first run's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt_xla.errors import TTXLAError

if TYPE_CHECKING:
    from tt_xla.profiling.recording import Recording


def in_float32(recording: Recording, number: int) -> tuple[list[Any] | None, str]:
    """Computes a recorded program in float32.

    Args:
        recording: A recording that kept the arguments of first runs; 16-bit floats are converted to float32.
        number: Number of the program.

    Returns:
        The result tensors and an empty text, or None and the reason why XLA cannot compute them.
    """
    import torch

    from tt_xla.testing.divergence.modules import Source
    from tt_xla.testing.divergence.runs import on_cpu

    program = recording.programs[number].program
    compilation = next((item for item in recording.compilations if item.source and item.program == program), None)
    if compilation is None:
        return None, "the program was not compiled in the trial's process"
    arguments = [as_array(tensor) for tensor in recording.arguments[number]]
    try:
        results = on_cpu(Source(compilation.source, compilation.name).module, arguments)
    except TTXLAError as error:
        return None, str(error).splitlines()[0]
    return [torch.from_numpy(result.copy()) for result in results], ""


def as_array(tensor: Any) -> Any:
    """Returns a tensor as a NumPy array, with floats as float32."""
    return tensor.float().numpy() if tensor.is_floating_point() else tensor.numpy()
