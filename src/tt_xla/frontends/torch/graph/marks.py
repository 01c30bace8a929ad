"""Marks the inputs and outputs of a group of ops that becomes one ``stablehlo.composite``.

A mark is an op that returns its tensor. It names the group, and says whether the tensor is an input or an output of it
and at which position. ``regions.py`` finds the groups again after autograd and decomposition.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import guard_scalar

_GROUPS = itertools.count()


@torch.library.custom_op("tt_xla::mark_tensor", mutates_args=())
def mark_tensor(x: torch.Tensor, name: str, position: int, group: str, is_input: bool, attributes: str) -> torch.Tensor:
    """Returns the tensor itself, marked.

    Args:
        x: the tensor.
        name: name of the composite.
        position: position among the inputs or the outputs of the group.
        group: identifier of the group.
        is_input: whether the tensor is an input of the group.
        attributes: attributes of the composite as a JSON object, on outputs; empty on inputs.
    """
    return x.clone()


@mark_tensor.register_fake
def _mark_fake(x: torch.Tensor, name: str, position: int, group: str, is_input: bool, attributes: str) -> torch.Tensor:
    return torch.empty_like(x)


def _backward(context: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    return (gradient, None, None, None, None, None)


mark_tensor.register_autograd(_backward)


@torch.compiler.assume_constant_result
def _new_group() -> str:
    """Returns an identifier that no other group has.

    Dynamo calls this as it traces. It would copy the counter itself, which Python 3.12 warns of and 3.14 cannot do.
    """
    return str(next(_GROUPS))


def renamed_groups() -> Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]:
    """Returns a function that makes arguments of an op for a copy of a part of a graph: marks get groups of their own.

    The function takes the op and its arguments.
    """
    groups: dict[str, str] = {}

    def renamed(op: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        if op is not mark_tensor._opoverload:
            return arguments
        x, name, position, group, *rest = arguments
        if group not in groups:
            groups[group] = _new_group()
        return (x, name, position, groups[group], *rest)

    return renamed


class StableHLOCompositeBuilder:
    """Makes a composite of the ops between :meth:`mark_inputs` and :meth:`mark_outputs`.

    This is the API of ``torch_xla.experimental.mark_pattern_utils``. The ops between the marks may depend on the marked
    inputs and on constants alone, and only the marked outputs may be used outside; otherwise the ops stay plain.
    """

    def __init__(self, name: str, attr: Mapping[str, Any] | None = None) -> None:
        """Starts a composite.

        Args:
            name: name of the composite, such as ``tenstorrent.gelu``.
            attr: attributes of the composite: numbers, booleans, strings, or lists of numbers or of booleans.

        Raises:
            TypeError: an attribute has another type.
        """
        self.name = name
        self.attr = dict(attr or {})
        for key, value in self.attr.items():
            check_attribute(name, key, value)
        self.id = _new_group()

    def mark_inputs(self, *tensors: torch.Tensor) -> Any:
        """Returns the tensors marked as inputs: a single tensor as such, several as a tuple."""
        return self._mark(tensors, is_input=True)

    def mark_outputs(self, *tensors: torch.Tensor) -> Any:
        """Returns the tensors marked as outputs: a single tensor as such, several as a tuple."""
        return self._mark(tensors, is_input=False)

    def _mark(self, tensors: tuple[torch.Tensor, ...], *, is_input: bool) -> Any:
        attributes = "" if is_input else _json(self.attr)
        marked = tuple(
            mark_tensor(tensor, self.name, position, self.id, is_input, attributes)
            for position, tensor in enumerate(tensors)
        )
        return marked[0] if len(marked) == 1 else marked


def _json(attributes: Mapping[str, Any]) -> str:
    """Returns attributes as a JSON object.

    Dynamo traces builders in a model's own code, and runs :func:`json.dumps` for constants alone.
    """
    return "{" + ", ".join([f"{_dumped(key)}: {_json_value(value)}" for key, value in attributes.items()]) + "}"


def _json_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join([_json_value(item) for item in value]) + "]"
    if isinstance(value, str | bool):
        return _dumped(value)
    return _dumped(guard_scalar(value))  # dynamo makes a number symbolic when an earlier graph had another one


@torch.compiler.assume_constant_result
def _dumped(constant: str | bool | float) -> str:
    return json.dumps(constant)


def check_attribute(name: str, key: str, value: Any) -> None:
    """Checks an attribute of the composite ``name``.

    Raises:
        TypeError: it is neither a number, a bool, a string nor a list of numbers or of booleans.
    """
    numbers = bool | int | float | torch.SymInt | torch.SymFloat
    is_list = isinstance(value, list | tuple)
    if is_list:
        fits = all(isinstance(item, numbers) for item in value) and len({type(item) is bool for item in value}) < 2
    else:
        fits = isinstance(value, numbers | str)
    if not fits:
        raise TypeError(
            f"attribute '{key}' of composite '{name}' is {value!r}; expected a number, a bool, a string or a list of "
            "numbers or of booleans"
        )
