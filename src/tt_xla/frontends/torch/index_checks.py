"""Checks indices against the size of the indexed dimension before a program runs, as PyTorch does on the CPU.

A program itself clamps an index that is out of bounds, as XLA does. The host computes and checks indices that a few
cheap ops compute from integer inputs or constants: ``embedding(table, ids + 2)``, the targets of a cross entropy.
Indices that the program computes from floats, by argmax, top-k or a cumulative sum are not checked.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, GraphModule, Node

from tt_xla.errors import IndexOutOfBoundsError
from tt_xla.frontends.torch.aten.registry import describe
from tt_xla.frontends.torch.graph.regions import MARK
from tt_xla.frontends.torch.higher_order import attribute_of
from tt_xla.frontends.torch.private.functions import without_dispatch_modes
from tt_xla.frontends.torch.trees import tree_leaves

aten = torch.ops.aten

_MAX_STEPS = 12
"""Number of ops that the host may run per check, which is cheap compared with running the program."""

_STEPS = {
    *(aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.flatten.using_ints),
    *(aten.unsqueeze.default, aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.expand.default),
    *(aten.permute.default, aten.transpose.int, aten.t.default, aten.slice.Tensor, aten.select.int),
    *(aten.clone.default, aten.alias.default, aten.detach.default, aten._to_copy.default, aten.lift_fresh_copy.default),
    *(aten.full.default, aten.scalar_tensor.default, aten.where.self, aten.where.ScalarOther),
    MARK,
    *(aten.ne.Scalar, aten.eq.Scalar, aten.add.Tensor, aten.add.Scalar, aten.sub.Tensor, aten.sub.Scalar),
}
"""Ops that the host runs to compute indices from an input."""


class _Use(NamedTuple):
    """A use of indices.

    Attributes:
        indices: node of the indices.
        low: smallest index that is allowed.
        high: first index that is too large.
        dim: the indexed dimension.
    """

    indices: Any
    low: int
    high: int
    dim: int


def _of_embedding(table: Node, indices: Node, *rest: Any) -> Iterator[_Use]:
    yield _Use(indices, 0, _shape(table)[0], 0)


def _of_gather(x: Node, dim: int, indices: Node, *rest: Any) -> Iterator[_Use]:
    shape = _shape(x) or (1,)  # a 0-dim tensor is indexed as a vector of one element
    dim %= len(shape)
    yield _Use(indices, 0, shape[dim], dim)


def _of_index(x: Node, indices: Sequence[Node | None], *rest: Any) -> Iterator[_Use]:
    for dim, (dim_indices, size) in enumerate(zip(indices, _shape(x), strict=False)):
        if dim_indices is not None:
            yield _Use(dim_indices, -size, size, dim)


def _of_take(x: Node, indices: Node, *rest: Any) -> Iterator[_Use]:
    size = x.meta["val"].numel()
    yield _Use(indices, -size, size, 0)


_MASKS = (torch.bool, torch.uint8)
"""Dtypes of masks, which select elements instead of naming indices."""

_USES: dict[Any, Callable[..., Iterator[_Use]]] = {
    aten.embedding.default: _of_embedding,
    aten.take.default: _of_take,
    **dict.fromkeys((aten.index.Tensor, aten.index_put.default), _of_index),
    **dict.fromkeys((aten.index_select.default, aten.gather.default, aten.scatter_reduce.two), _of_gather),
    **dict.fromkeys((aten.scatter.src, aten.scatter.value, aten.scatter_add.default), _of_gather),
}


@dataclass
class IndexCheck:
    """A check of indices that ops of one program take.

    Attributes:
        inputs: positions of the program's arguments from which the indices are computed.
        make: computes the indices from these arguments.
        low: smallest index that is allowed.
        high: first index that is too large.
        dim: the indexed dimension.
        where: the op with its shapes, for the error.
        line: ``file:line`` of the user's code.
    """

    inputs: list[int]
    make: Callable[..., torch.Tensor]
    low: int
    high: int
    dim: int
    where: str
    line: str
    _seen: list[int | None] | None = None
    """Content versions of the arguments of the last check, which found nothing."""

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_seen": None}

    def __call__(self, tensors: Sequence[torch.Tensor], versions: Sequence[int | None]) -> None:
        """Checks the indices, unless the arguments are the same as in the last check.

        Args:
            tensors: arguments of the program, on the CPU.
            versions: content versions of the arguments; None for a tensor of the user's, which NumPy may have changed.

        Raises:
            IndexOutOfBoundsError: an index is out of bounds.
        """
        present = [versions[position] for position in self.inputs]
        if present == self._seen and None not in present:
            return
        self._seen = None
        indices = self.make(*[tensors[position] for position in self.inputs])
        if indices.numel():
            one = indices.numel() == 1  # such as a position
            bounds = (indices, indices) if one else torch.aminmax(indices)
            smallest, largest = (bound.item() for bound in bounds)
            if smallest < self.low or largest >= self.high:
                self._fail(int(smallest if smallest < self.low else largest))
        self._seen = present

    def _fail(self, index: int) -> None:
        raise IndexOutOfBoundsError(
            f"index {index} is out of bounds for dimension {self.dim} with size {self.high}: {self.where}",
            location=self.line,
            hint=f"Indices of this dimension are at least {self.low} and below {self.high}.",
        )


def find_index_checks(
    nodes: Sequence[Node], inputs: Sequence[Node], line_of: Callable[[Node], str], *, keeps_symbols: bool = False
) -> list[IndexCheck]:
    """Returns the checks of a graph: one per tensor of indices, against the smallest dimension that it indexes.

    Args:
        nodes: nodes of the graph, in order.
        inputs: nodes that are arguments of the program, in order.
        line_of: returns ``file:line`` of the user's code that created a node.
        keeps_symbols: whether the program serves all values of its symbolic sizes, against which nothing is checked.
            Otherwise a size has the value that it had in the traced call, and the graph a guard on it.
    """
    uses: dict[Node, tuple[_Use, Node]] = {}
    for node in nodes:
        value = node.meta.get("val")
        # PyTorch checks no index where nothing is read.
        reads_nothing = isinstance(value, torch.Tensor) and any(type(size) is int and not size for size in value.shape)
        for use in _USES[node.target](*node.args) if node.target in _USES and not reads_nothing else ():
            if not isinstance(use.indices, Node) or (keeps_symbols and isinstance(use.high, torch.SymInt)):
                continue
            use = use._replace(low=int(use.low), high=int(use.high))
            earlier, first = uses.get(use.indices, (use, node))
            smaller = use.high < earlier.high
            narrower = earlier._replace(low=max(earlier.low, use.low), high=min(earlier.high, use.high))
            uses[use.indices] = (narrower._replace(dim=use.dim), node) if smaller else (narrower, first)
    order = {node: position for position, node in enumerate(nodes)}
    input_positions = {node: position for position, node in enumerate(inputs)}
    checks: list[IndexCheck] = []
    for indices, (use, node) in uses.items():
        steps = _steps(indices, input_positions, order)
        if steps is not None:
            used_inputs = [step for step in steps if step in input_positions]
            make = _maker(indices, used_inputs, [step for step in steps if step not in input_positions])
            bounds = use.low, use.high, use.dim
            checks.append(
                IndexCheck([input_positions[n] for n in used_inputs], make, *bounds, describe(node), line_of(node))
            )
    return checks


def _steps(indices: Node, input_positions: dict[Node, int], order: dict[Node, int]) -> list[Node] | None:
    """Returns the nodes that compute indices, inputs first.

    The result is None unless a few cheap ops compute the indices from integers that are inputs or constants.
    """
    pending, visited = [indices], set[Node]()
    while pending:
        node = pending.pop()
        if node in visited:
            continue
        value = attribute_of(node) if node.op == "get_attr" else node.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.is_floating_point() or value.is_complex():
            return None
        if node not in input_positions and node.op != "get_attr" and node.target not in _STEPS:
            return None
        if any(isinstance(leaf, torch.SymInt) for leaf in tree_leaves((node.args, node.kwargs))):
            return None
        visited.add(node)
        pending += [] if node in input_positions else node.all_input_nodes
    steps = sorted(visited, key=lambda node: (node not in input_positions, order[node]))
    has_source = any(node in input_positions or node.op == "get_attr" for node in visited)
    is_cheap = len(visited) <= _MAX_STEPS
    value = attribute_of(indices) if indices.op == "get_attr" else indices.meta["val"]
    return steps if has_source and is_cheap and value.dtype not in _MASKS else None


def _maker(indices: Node, inputs: list[Node], steps: list[Node]) -> Callable[..., torch.Tensor]:
    """Returns a function that computes indices on the host.

    Args:
        indices: node of the indices.
        inputs: nodes that are arguments of the function.
        steps: nodes to compute, in order; constants among them.
    """
    if not steps:
        return _itself
    graph, constants = Graph(), torch.nn.Module()
    copies = {node: graph.placeholder(node.name) for node in inputs}
    for step in steps:
        if step.op == "get_attr":
            with without_dispatch_modes():
                constants.register_buffer(step.name, attribute_of(step).detach().to("cpu"))
            copies[step] = graph.get_attr(step.name)
            continue
        if step.target is MARK:
            copies[step] = copies[step.args[0]]  # type: ignore[index]
            continue
        copies[step] = graph.node_copy(step, copies.__getitem__)
        if step.target is aten.view.default:  # arguments may have other strides than the graph was traced with
            copies[step].target = aten.reshape.default
        if "device" in step.kwargs:
            copies[step].kwargs = {**copies[step].kwargs, "device": torch.device("cpu")}
    graph.output(copies[indices])
    return HostGraph(GraphModule(constants, graph))


class HostGraph:
    """A small graph that the host runs. Its pickled form is read at the first call, which no fake mode sees.

    Args:
        graph_module: the graph.
    """

    def __init__(self, graph_module: GraphModule) -> None:
        self._call: Callable[..., torch.Tensor] | None = graph_module.forward
        self._pickled = b""
        self._graph_module: GraphModule | None = graph_module

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        if self._call is None:
            self._graph_module = pickle.loads(self._pickled)
            self._call = self._graph_module.forward
        return self._call(*inputs)

    def __getstate__(self) -> bytes:
        return self._pickled if self._graph_module is None else pickle.dumps(self._graph_module)

    def __setstate__(self, state: bytes) -> None:
        self._call, self._graph_module, self._pickled = None, None, state


def _itself(indices: torch.Tensor) -> torch.Tensor:
    return indices


def _shape(node: Node) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)


__all__ = ["IndexCheck", "find_index_checks"]
