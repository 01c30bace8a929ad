"""Traces whose sizes change from run to run, such as those that append a token to a sequence.

Each length would compile a program that runs once. When a trace comes back with other sizes, ops on small integer
tensors therefore run on the host, where PyTorch's kernels compute the same bits, and the other ops run as programs.
From the third size on, ops whose sizes have changed have programs of their own: in a language model with a growing
cache, those of attention are compiled once for all layers, and the ops between them are not compiled again. The
lowering of an op on small integer tensors is checked for its first sizes alone, and when a program is compiled
(:func:`~.kinds.make_kind`): a check takes longer than everything else that the host does for a token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from tt_xla.frontends.torch import session, settings
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.kinds import fill, results_of, runs_on_host
from tt_xla.frontends.torch.device.values import Node, Value
from tt_xla.frontends.torch.private.dispatcher import storage_identity

_MAX_FORMS = 4096

_APART_FROM = 3
"""Number of sizes of a trace from which ops whose sizes have changed have programs of their own. With two, such as
those of two batches, each has one program."""

_REACH = 256
"""Ops in a row that wait for others, after which a program takes no further ones."""


@dataclass
class _Form:
    """A record of the traces that differ in nothing but sizes.

    Attributes:
        settings: the settings that these were compiled with. With others all compile anew.
        count: number of structures of this form that were compiled or run in parts.
        kinds: numbers of the kinds of the last one's ops.
    """

    settings: Any
    count: int = 0
    kinds: list[int] = field(default_factory=lambda: [])


class _Forms(dict[tuple[Any, ...], _Form]):
    """The session's forms by their ops and how these are connected."""


def changed_ops(nodes: Sequence[Node]) -> set[Node] | None:
    """Returns the ops of a new structure that have programs of their own; None if its form has not run before.

    Args:
        nodes: recorded ops of a structure that has no program, in the order of recording.
    """
    numbers = {node: number for number, node in enumerate(nodes)}
    key: list[Any] = []
    for node in nodes:
        key.append(node.kind.op)
        for value in node.inputs:
            key.append(numbers[value.node] if value.node is not None else value.dtype)
    forms = session.current.part(_Forms)
    if len(forms) >= _MAX_FORMS:
        forms.clear()
    current = settings.current()
    form = forms.get(tuple(key))
    if form is None or form.settings is not current:
        form = forms[tuple(key)] = _Form(current)
    former, form.kinds = form.kinds, [node.kind.serial for node in nodes]
    form.count += 1
    if form.count == 1:
        return None
    if form.count < _APART_FROM:
        return set()
    return {node for node, kind in zip(nodes, former, strict=True) if node.kind.serial != kind}


def _compute(node: Node, results: Iterable[Value]) -> None:
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


class Parts:
    """The programs of a trace that runs in parts.

    Args:
        nodes: the trace's ops, in the order of recording.
        outputs: the values that are needed in the end.
        changed: ops whose programs have no other ops.
    """

    def __init__(self, nodes: Sequence[Node], outputs: Sequence[Value], changed: Collection[Node]) -> None:
        self._on_host = [node for node in nodes if runs_on_host(node.kind)]
        host_ops = {*self._on_host}
        self._others = [node for node in nodes if node not in host_ops]
        self._changed = changed
        self._readers = Counter(value for node in nodes for value in node.inputs if not value.is_computed)
        self._readers.update(outputs)
        self._results: dict[Node, list[Value]] = {node: [] for node in nodes}
        for value in self._readers:
            if value.node is not None:
                self._results[value.node].append(value)

    def compute_on_host(self) -> None:
        """Runs the ops on few integers whose operands have bytes."""
        waiting: list[Node] = []
        for node in self._on_host:
            if any(not value.is_computed for value in node.inputs):
                waiting.append(node)
            else:
                _compute(node, self._results[node])
        self._on_host = waiting

    def next_program(self) -> list[Value]:
        """Returns the values that the next program computes: those of its ops' results that others read."""
        ready: set[Node] = set()
        has_changed: bool | None = None
        last = 0
        for position, node in enumerate(self._others):
            if ready and position - last > _REACH:
                break
            if has_changed not in (None, node in self._changed):
                continue
            if all(value.is_computed or value.node in ready for value in node.inputs):
                ready.add(node)
                has_changed, last = node in self._changed, position
        self._others = [node for node in self._others if node not in ready]
        inside = Counter(value for node in ready for value in node.inputs)
        results = (value for node in ready for value in self._results[node])
        return [value for value in results if self._readers[value] > inside[value]]


__all__ = ["Parts", "changed_ops"]
