"""What a program gives in float32: its StableHLO, by XLA on the CPU, on what the recorded program was first given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt_xla.errors import TTXLAError

if TYPE_CHECKING:
    from tt_xla.profiling.recording import Recording


def in_float32(recording: Recording, number: int) -> tuple[list[Any] | None, str]:
    """Results of a program whose first run's arguments were kept, 16-bit floats among them as float32.

    Returns:
        the tensors and "", or None and why XLA does not compute them.
    """
    import torch

    from tt_xla.testing.divergence.modules import Source
    from tt_xla.testing.divergence.runs import on_cpu

    program = recording.programs[number].program
    compilation = next((one for one in recording.compilations if one.source and one.program == program), None)
    if compilation is None:
        return None, "it was not compiled in the trial's process"
    arguments = [_array(tensor) for tensor in recording.arguments[number]]
    try:
        results = on_cpu(Source(compilation.source, compilation.name).module, arguments)
    except TTXLAError as error:
        return None, str(error).splitlines()[0]
    return [torch.from_numpy(result.copy()) for result in results], ""


def _array(tensor: Any) -> Any:
    import torch

    return tensor.float().numpy() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor.numpy()
