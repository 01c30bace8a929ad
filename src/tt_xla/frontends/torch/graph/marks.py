"""Marks around a group of torch ops that is to become one ``stablehlo.composite``.

A mark is an op that returns its tensor; it says to which group the tensor belongs, as input or as output, and where
among them it stands. ``regions.py`` finds the groups again after autograd and decomposition.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import guard_scalar

_IDS = itertools.count()


@torch.library.custom_op("tt_xla::mark_tensor", mutates_args=())
def mark_tensor(x: torch.Tensor, name: str, position: int, group: str, is_input: bool, attributes: str) -> torch.Tensor:
    """The tensor itself.

    Args:
        name: of the composite.
        position: among the inputs, or outputs, of its group.
        group: tells apart groups of one name.
        attributes: of the composite, as a JSON object; the outputs carry them.
    """
    return x.clone()


@mark_tensor.register_fake
def _mark_fake(x: torch.Tensor, name: str, position: int, group: str, is_input: bool, attributes: str) -> torch.Tensor:
    return torch.empty_like(x)


def _backward(context: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    return (gradient, None, None, None, None, None)


mark_tensor.register_autograd(_backward)


class StableHLOCompositeBuilder:
    """Makes a composite of the ops between :meth:`mark_inputs` and :meth:`mark_outputs`.

    The API of ``torch_xla.experimental.mark_pattern_utils``. What lies between the marks must depend on nothing but the
    marked inputs and constants, and nothing but the marked outputs may leave it; else the compiler sees the plain ops.
    """

    def __init__(self, name: str, attr: Mapping[str, Any] | None = None) -> None:
        """Args:
        name: of the composite, such as ``tenstorrent.gelu``.
        attr: its attributes: numbers, booleans, strings, or lists of integers.

        Raises:
            TypeError: an attribute is something else.
        """
        self.name = name
        self.attr = dict(attr or {})
        for key, value in self.attr.items():
            _check_attribute(name, key, value)
        self.id = str(next(_IDS))

    def mark_inputs(self, *tensors: torch.Tensor) -> Any:
        """The tensors marked as inputs: one as it is, several as a tuple."""
        return self._mark(tensors, is_input=True)

    def mark_outputs(self, *tensors: torch.Tensor) -> Any:
        """The tensors marked as outputs: one as it is, several as a tuple."""
        return self._mark(tensors, is_input=False)

    def _mark(self, tensors: tuple[torch.Tensor, ...], *, is_input: bool) -> Any:
        attributes = "" if is_input else _json(self.attr)
        marked = tuple(
            mark_tensor(tensor, self.name, position, self.id, is_input, attributes)
            for position, tensor in enumerate(tensors)
        )
        return marked[0] if len(marked) == 1 else marked


def _json(attributes: Mapping[str, Any]) -> str:
    """A JSON object. Dynamo follows builders in a model's own code, but :func:`json.dumps` of constants alone."""
    return "{" + ", ".join([f"{_dumped(key)}: {_json_value(value)}" for key, value in attributes.items()]) + "}"


def _json_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join([_json_value(item) for item in value]) + "]"
    if isinstance(value, str | bool):
        return _dumped(value)
    return _dumped(guard_scalar(value))  # a number that was another one in an earlier graph is symbolic to dynamo


@torch.compiler.assume_constant_result
def _dumped(constant: str | bool | float) -> str:
    return json.dumps(constant)


def _check_attribute(name: str, key: str, value: Any) -> None:
    numbers = isinstance(value, list | tuple) and all(type(item) in (int, torch.SymInt) for item in value)
    if not numbers and not isinstance(value, bool | int | float | str | torch.SymInt | torch.SymFloat):
        raise TypeError(
            f"attribute '{key}' of composite '{name}' is {value!r}; expected a number, a bool, a string or a list of "
            "integers"
        )
