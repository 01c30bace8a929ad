"""Runs of saved StableHLO modules on the device."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch

from tt_xla.compiler.stablehlo.symbolic_sizes import specialize
from tt_xla.frontends.torch import settings
from tt_xla.frontends.torch.compilation import compile_and_load
from tt_xla.frontends.torch.device import lift
from tt_xla.frontends.torch.device.chips import current
from tt_xla.frontends.torch.saved_module import SavedModule, saved
from tt_xla.runtime.lifetimes import new_version


class Run:
    """A program on the current chip with the arguments that its model has.

    Args:
        bytecode: StableHLO module as bytecode.
        shapes: shapes of the arguments, for a module with symbolic sizes; else None.
        arguments: value of each argument; None for those that a call gives.
        dtypes: name of each argument's dtype, such as ``bfloat16``.

    Raises:
        CompileError: the module cannot be compiled.
        ResourceExhaustedError: the program does not fit on the device.
    """

    def __init__(
        self,
        bytecode: bytes,
        arguments: Sequence[np.ndarray | None],
        dtypes: Sequence[str],
        shapes: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self._chip = current()
        module = SavedModule(hashlib.sha256(bytecode).hexdigest(), bytecode)
        if shapes is not None:
            module = saved(specialize(module.parsed(), shapes))
        self._run = compile_and_load(module, settings.current().with_own({}), chip=self._chip).run
        self._arguments = [
            None if value is None else from_numpy(value, getattr(torch, dtype))
            for value, dtype in zip(arguments, dtypes, strict=True)
        ]
        self._versions = [None if value is None else new_version() for value in arguments]

    def __call__(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Returns the results as tensors of the device.

        Args:
            inputs: tensors of the CPU or of the device, for the arguments that the model does not have.
        """
        given = iter(inputs)
        arguments = [
            next(given).detach().to("cpu").resolve_conj().resolve_neg().contiguous() if value is None else value
            for value in self._arguments
        ]
        return [lift(result, self._chip) for result in self._run(arguments, self._versions)]


def from_numpy(array: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """Returns an array as a tensor. NumPy's files keep the bytes of bfloat16 and not its name."""
    if dtype is torch.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(dtype)
    return torch.from_numpy(array)


__all__ = ["Run", "from_numpy"]
