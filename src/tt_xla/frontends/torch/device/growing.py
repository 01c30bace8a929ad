"""Traces whose sizes change from run to run, such as those that append a token to a sequence.

Each size would be a program for a single run. In a trace that has run before with other sizes, ops on few integers
therefore run on the host, where PyTorch's kernels compute the same bits, and the other ops run as programs. The sizes
of those are often the same in all runs. The lowering of such an op is checked for its first sizes alone, and when a
program is compiled (:func:`~.kinds.make_kind`): a check takes longer than all else that the host does for a token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.kinds import fill, results_of, runs_on_host
from tt_xla.frontends.torch.device.values import Node, Value
from tt_xla.frontends.torch.private.dispatcher import storage_identity

_MAX_FORMS = 4096

_FORMS: dict[tuple[Any, ...], int] = {}
"""For each form of a trace, the number of structures of that form that were compiled or run in parts."""


def has_other_sizes(nodes: Sequence[Node]) -> bool:
    """Returns whether the ops of a new structure have run before on tensors of other sizes.

    Args:
        nodes: recorded ops of a structure that has no program, in the order of recording.
    """
    numbers = {node: number for number, node in enumerate(nodes)}
    form: list[Any] = []
    for node in nodes:
        form.append(node.kind.op)
        for value in node.inputs:
            form.append(numbers[value.node] if value.data is None and value.node is not None else value.dtype)
    key = tuple(form)
    if len(_FORMS) >= _MAX_FORMS:
        _FORMS.clear()
    _FORMS[key] = _FORMS.get(key, 0) + 1
    return _FORMS[key] > 1


def compute(node: Node, results: Iterable[Value]) -> None:
    """Computes an op on the host.

    Args:
        node: the op, whose operands have bytes.
        results: those of its results that somebody reads.
    """
    operands = [value.data for value in node.inputs]
    args, kwargs = fill(node.kind.template, operands, node.scalars)
    args, kwargs = [_on_cpu(arg) for arg in args], {name: _on_cpu(value) for name, value in kwargs.items()}
    computed = results_of(node.kind.op(*args, **kwargs))
    memory = {storage_identity(operand) for operand in operands if operand is not None}
    for value in results:
        data = computed[value.index].contiguous()
        value.set_computed(data.clone() if storage_identity(data) in memory else data)


def _on_cpu(argument: Any) -> Any:
    is_device = isinstance(argument, torch.device) and argument.type == DEVICE_TYPE
    return torch.device("cpu") if is_device else argument


def next_program(nodes: Sequence[Node], outputs: Sequence[Value]) -> list[Value]:
    """Returns the values that one program computes before further ops can run on the host.

    Args:
        nodes: the ops without results, in the order of recording. Those that run on the host wait for others.
        outputs: the values that are needed in the end.
    """
    ready: set[Node] = set()
    for node in nodes:
        if not runs_on_host(node.kind) and all(value.data is not None or value.node in ready for value in node.inputs):
            ready.add(node)
    read = [value for node in nodes if node not in ready for value in node.inputs]
    return [value for value in dict.fromkeys([*read, *outputs]) if value.data is None and value.node in ready]


__all__ = ["compute", "has_other_sizes", "next_program"]
