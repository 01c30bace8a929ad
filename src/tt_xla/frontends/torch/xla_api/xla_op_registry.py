"""``torch_xla.core.xla_op_registry``: ops of the user, which are built by ``xla_builder``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch_xla
import torch_xla.core.xla_builder as _xb


class Op:
    """An op on tensors of the device. It is built once for each kind of arguments.

    Args:
        name: name of the op.
        opfn: makes its result of ``xla_builder.Op``, and of keyword arguments, which are plain values.
    """

    def __init__(self, name: str, opfn: Callable[..., _xb.Op]) -> None:
        self._name, self._opfn = name, opfn
        self._computations: dict[Any, _xb.Computation] = {}

    def __call__(self, *args: torch.Tensor, **kwargs: Any) -> Any:
        """Records the op.

        Args:
            args: tensors of the device.
            kwargs: keyword arguments of the function.

        Returns:
            The result, or the list of several results.
        """
        key = repr(([(tuple(each.shape), each.dtype) for each in args], sorted(kwargs.items())))
        if key not in self._computations:
            shapes = _xb.tensor_shape(args)
            self._computations[key] = _xb.create_computation(self._name, self._opfn, shapes, **kwargs)
        results = torch_xla._XLAC._xla_user_computation(self._name, args, self._computations[key])
        return results[0] if len(results) == 1 else results


def register(name: str, opfn: Callable[..., _xb.Op]) -> Op:
    """Returns an op; see :class:`Op`."""
    return Op(name, opfn)
