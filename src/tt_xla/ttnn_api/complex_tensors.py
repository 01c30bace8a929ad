"""``ComplexTensor``: a complex tensor as two tensors, its real and its imaginary part."""

from __future__ import annotations

from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.tensor import Tensor


class ComplexTensor:
    """A complex tensor.

    Args:
        parts: the real and the imaginary part.

    Raises:
        TTFatal: the parts have different shapes.
    """

    def __init__(self, parts: tuple[Tensor, Tensor]) -> None:
        self.real, self.imag = parts
        if self.real.shape != self.imag.shape:
            raise TTFatal(
                "Tensor shapes of real and imag should be identical",
                hint=f"They are {self.real.shape} and {self.imag.shape}.",
            )

    def __getitem__(self, index: int) -> Tensor:
        return (self.real, self.imag)[index]

    def deallocate(self) -> None:
        """Frees the memory of both parts."""
        self.real.deallocate()
        self.imag.deallocate()
