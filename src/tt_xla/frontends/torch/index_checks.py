"""Positions that a caller gives are compared with the size of what they point into, as torch does on the CPU.

A program reads or writes the nearest place instead, as XLA has it. Before it runs, positions are computed on the host
where a few cheap ops make them of integer inputs or constants: ``embedding(table, ids + 2)``, the targets of a cross
entropy. What the program itself computes (from floats, by argmax, top-k or a cumulative sum) is not checked.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, GraphModule, Node

from tt_xla.errors import IndexOutOfBoundsError
from tt_xla.frontends.torch.aten.registry import describe
from tt_xla.frontends.torch.graph.regions import MARK
from tt_xla.frontends.torch.higher_order import attribute_of
from tt_xla.frontends.torch.private.fake import unset_fake_temporarily

aten = torch.ops.aten

_MOST_STEPS = 12
"""So many ops on the host are cheap beside a run."""

_STEPS = {
    *(aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.flatten.using_ints),
    *(aten.unsqueeze.default, aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.expand.default),
    *(aten.permute.default, aten.transpose.int, aten.t.default, aten.slice.Tensor, aten.select.int),
    *(aten.clone.default, aten.alias.default, aten.detach.default, aten._to_copy.default, aten.lift_fresh_copy.default),
    *(aten.full.default, aten.scalar_tensor.default, aten.where.self, aten.where.ScalarOther),
    MARK,
    *(aten.ne.Scalar, aten.eq.Scalar, aten.add.Tensor, aten.add.Scalar, aten.sub.Tensor, aten.sub.Scalar),
}
"""What may stand between an input and positions."""


class _Use(NamedTuple):
    """Positions, of which each is at least ``low`` and below ``high``, in a dimension."""

    positions: Any
    low: int
    high: int
    dim: int


def _of_rows(table: Node, positions: Node, *rest: Any) -> Iterator[_Use]:
    yield _Use(positions, 0, _shape(table)[0], 0)


def _along(x: Node, dim: int, positions: Node, *rest: Any) -> Iterator[_Use]:
    shape = _shape(x) or (1,)  # a 0-dim tensor is indexed as a vector of one element
    dim %= len(shape)
    yield _Use(positions, 0, shape[dim], dim)


def _points(x: Node, positions: Sequence[Node | None], *rest: Any) -> Iterator[_Use]:
    for dim, (given, size) in enumerate(zip(positions, _shape(x), strict=False)):
        if given is not None:
            yield _Use(given, -size, size, dim)


def _flat(x: Node, positions: Node, *rest: Any) -> Iterator[_Use]:
    size = x.meta["val"].numel()
    yield _Use(positions, -size, size, 0)


_MASKS = (torch.bool, torch.uint8)

_USES: dict[Any, Callable[..., Iterator[_Use]]] = {
    aten.embedding.default: _of_rows,
    aten.take.default: _flat,
    **dict.fromkeys((aten.index.Tensor, aten.index_put.default), _points),
    **dict.fromkeys((aten.index_select.default, aten.gather.default, aten.scatter_reduce.two), _along),
    **dict.fromkeys((aten.scatter.src, aten.scatter.value, aten.scatter_add.default), _along),
}


@dataclass
class IndexCheck:
    """Positions that ops of one program take, made of its inputs.

    Attributes:
        inputs: numbers of the program's arguments that they are made of.
        make: computes them of these.
        low: the least that is allowed.
        high: the first that is not.
        dim: the dimension of this size.
        where: the op with its shapes.
        line: the user's line.
    """

    inputs: list[int]
    make: Callable[..., torch.Tensor]
    low: int
    high: int
    dim: int
    where: str
    line: str
    _seen: list[tuple[weakref.ref[torch.Tensor] | None, int]] | None = None

    def __call__(self, tensors: Sequence[torch.Tensor], versions: Sequence[int | None]) -> None:
        """Looks at the positions if the inputs are not those of the last time.

        Args:
            tensors: arguments of the program, on the host.
            versions: tokens that change with their contents; None where the tensor itself counts its writes.

        Raises:
            IndexOutOfBoundsError: one is out of bounds.
        """
        seen = self._seen
        if seen is not None:
            for at, (reference, version) in zip(self.inputs, seen, strict=True):
                given = versions[at]
                if given is not None:
                    if given != version:
                        break
                elif reference is None or reference() is not tensors[at] or tensors[at]._version != version:
                    break
            else:
                return
        self._seen = None
        positions = self.make(*[tensors[at] for at in self.inputs])
        if positions.numel():
            least, most = (bound.item() for bound in torch.aminmax(positions))
            if least < self.low or most >= self.high:
                self._fail(int(least if least < self.low else most))
        if not any(versions[at] is None and tensors[at].is_inference() for at in self.inputs):
            self._seen = [_identity(tensors[at], versions[at]) for at in self.inputs]

    def _fail(self, position: int) -> None:
        raise IndexOutOfBoundsError(
            f"index {position} is out of bounds for dimension {self.dim} with size {self.high}: {self.where}",
            location=self.line,
            hint=f"Positions here are at least {self.low} and below {self.high}.",
        )


def _identity(tensor: torch.Tensor, version: int | None) -> tuple[weakref.ref[torch.Tensor] | None, int]:
    return (None, version) if version is not None else (weakref.ref(tensor), tensor._version)


def find_index_checks(
    nodes: Sequence[Node], inputs: Sequence[Node], line_of: Callable[[Node], str]
) -> list[IndexCheck]:
    """The checks of a graph: one for each tensor of positions, by the smallest dimension that it points into.

    Args:
        nodes: of the graph, in order.
        inputs: those that are arguments of the program, in order.
    """
    uses: dict[Node, tuple[_Use, Node]] = {}
    for node in nodes:
        for use in _USES[node.target](*node.args) if node.target in _USES else ():
            if not isinstance(use.positions, Node):
                continue
            known, first = uses.get(use.positions, (use, node))
            smaller = use.high < known.high
            narrower = known._replace(low=max(known.low, use.low), high=min(known.high, use.high))
            uses[use.positions] = (narrower._replace(dim=use.dim), node) if smaller else (narrower, first)
    order = {node: number for number, node in enumerate(nodes)}
    places = {node: number for number, node in enumerate(inputs)}
    checks: list[IndexCheck] = []
    for positions, (use, node) in uses.items():
        steps = _steps(positions, places, order)
        if steps is not None:
            taken = [step for step in steps if step in places]
            make = _maker(positions, taken, [step for step in steps if step not in places])
            found = describe(node), line_of(node)
            checks.append(IndexCheck([places[n] for n in taken], make, use.low, use.high, use.dim, *found))
    return checks


def _steps(positions: Node, places: dict[Node, int], order: dict[Node, int]) -> list[Node] | None:
    """The nodes that positions are made by, inputs first; None where cheap ops do not make them of integers that are
    inputs or constants."""
    pending, found = [positions], set[Node]()
    while pending:
        node = pending.pop()
        if node in found:
            continue
        value = attribute_of(node) if node.op == "get_attr" else node.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.is_floating_point() or value.is_complex():
            return None
        if node not in places and node.op != "get_attr" and node.target not in _STEPS:
            return None
        found.add(node)
        pending += [] if node in places else node.all_input_nodes
    steps = sorted(found, key=lambda node: (node not in places, order[node]))
    bounded = any(node in places or node.op == "get_attr" for node in found) and len(found) <= _MOST_STEPS
    value = attribute_of(positions) if positions.op == "get_attr" else positions.meta["val"]
    return steps if bounded and value.dtype not in _MASKS else None


def _maker(positions: Node, inputs: list[Node], steps: list[Node]) -> Callable[..., torch.Tensor]:
    """What computes positions of inputs and constants on the host."""
    if not steps:
        return _itself
    graph, constants = Graph(), torch.nn.Module()
    copies = {node: graph.placeholder(node.name) for node in inputs}
    for step in steps:
        if step.op == "get_attr":
            with unset_fake_temporarily():
                constants.register_buffer(step.name, attribute_of(step).detach().to("cpu"))
            copies[step] = graph.get_attr(step.name)
            continue
        if step.target is MARK:
            copies[step] = copies[step.args[0]]  # type: ignore[index]
            continue
        copies[step] = graph.node_copy(step, copies.__getitem__)
        if step.target is aten.view.default:  # what is given need not lie as the graph was told
            copies[step].target = aten.reshape.default
        if "device" in step.kwargs:
            copies[step].kwargs = {**copies[step].kwargs, "device": torch.device("cpu")}
    graph.output(copies[positions])
    return GraphModule(constants, graph).forward


def _itself(positions: torch.Tensor) -> torch.Tensor:
    return positions


def _shape(node: Node) -> tuple[int, ...]:
    return tuple(int(size) for size in node.meta["val"].shape)


__all__ = ["IndexCheck", "find_index_checks"]
