"""Marks of tensors (``xs.mark_sharding``) in the graph that dynamo captured."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from tt_xla.frontends.torch.device import placements
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.placements import Placement
from tt_xla.frontends.torch.private.dispatcher import storage_identity
from tt_xla.frontends.torch.private.ops import OpOverload
from tt_xla.ir.mesh import Mesh, Sharding, spec_axes
from tt_xla.log import logger


@dataclass(frozen=True)
class ArgumentMark:
    """A mark of an input or attribute of a graph.

    Attributes:
        read: returns the tensor from the arguments of a call.
        mesh: the mesh.
        chips: number of the chip at each position of the mesh.
        sharding: the mesh axes that split each dimension.
    """

    read: Callable[[tuple[Any, ...]], torch.Tensor]
    mesh: Mesh
    chips: tuple[int, ...]
    sharding: Sharding

    def place(self, arguments: tuple[Any, ...]) -> None:
        """Gives the tensor its placement."""
        tensor = self.read(arguments)
        placements.place(tensor, Placement(self.mesh, self.chips, self.sharding, tuple(tensor.shape)))


def take_argument_marks(graph_module: GraphModule) -> list[ArgumentMark]:
    """Removes the marks of inputs and attributes from a graph, and makes later ops use marked intermediate tensors.

    The op that marks a tensor returns it, but a model calls ``mark_sharding`` without looking at the result.

    Returns:
        The marks of inputs and attributes, in the order of the graph. Each call has to set them before it runs.
    """
    argument_marks: list[ArgumentMark] = []
    found = False
    for module in [module for module in graph_module.modules() if isinstance(module, GraphModule)]:
        marks = _marks(module)
        for mark in marks:
            tensor = mark.args[0]
            assert isinstance(tensor, Node)
            if module is graph_module and tensor.op in ("placeholder", "get_attr"):
                argument_marks.append(_argument_mark(graph_module, tensor, mark))
                _remove(mark, tensor)
            elif _shows_copy(tensor, mark):
                logger().warning(
                    "mark_sharding has no effect on %s: a view of it, or a tensor that it is a view of, shares "
                    "elements that are written or returned after the mark. Mark it before taking views of it, or mark "
                    "a copy.",
                    tensor,
                )
                _remove(mark, tensor)
            else:
                later = set(_after(mark))
                tensor.replace_all_uses_with(mark, delete_user_cb=later.__contains__)
        if marks:
            module.recompile()
        found |= bool(marks)
    if found:
        placements.announce()
    return argument_marks


def marking(call: Callable[..., Any], marks: Iterable[ArgumentMark]) -> Callable[..., Any]:
    """Returns a function that marks its arguments and then calls ``call``."""

    def run(*arguments: Any) -> Any:
        for mark in marks:
            mark.place(arguments)
        return call(*arguments)

    return run


def _marks(module: GraphModule) -> list[Node]:
    """Returns the nodes that mark a tensor in place. Those of ``torch_xla``'s op are replaced by nodes of ours."""
    marks: list[Node] = []
    for node in list(module.graph.nodes):
        if node.op != "call_function":
            continue
        if str(node.target) in ("xla.dynamo_mark_sharding", "xla.dynamo_mark_sharding.default"):
            node = _own_mark(module, node)
            if node is None:
                continue
        is_mark = str(node.target) in ("tt.mark_sharding", "tt.mark_sharding.default")
        if is_mark and not node.args[-1]:
            marks.append(node)
    return marks


def _own_mark(module: GraphModule, node: Node) -> Node | None:
    """Replaces ``torch.ops.xla.dynamo_mark_sharding`` by ``torch.ops.tt.mark_sharding``.

    Returns:
        The new node; None after removing a mark that splits nothing: of a tensor elsewhere, or over a single chip.
    """
    parameters = ("input", "device_ids", "mesh_shape", "axis_names", "partition_spec")
    arguments: list[Any] = [*node.args, *(node.kwargs[name] for name in parameters[len(node.args) :])]
    tensor, chips, shape, axis_names, spec = arguments
    value = tensor.meta.get("example_value")
    if math.prod(shape) == 1 or (isinstance(value, torch.Tensor) and value.device.type != DEVICE_TYPE):
        _remove(node, tensor)
        return None
    axes = ast.literal_eval(axis_names) or ()
    names = list(axes) or [f"axis_{index}" for index in range(len(shape))]
    dims = [" ".join(map(str, dim)) for dim in spec_axes(ast.literal_eval(spec), axes, len(shape))]
    with module.graph.inserting_after(node):
        arguments = [tensor, chips, shape, names, dims, False]
        own = module.graph.call_function(torch.ops.tt.mark_sharding.default, tuple(arguments))
    own.meta = dict(node.meta)
    node.replace_all_uses_with(own)
    module.graph.erase_node(node)
    return own


def _argument_mark(graph_module: GraphModule, tensor: Node, mark: Node) -> ArgumentMark:
    _, chips, shape, names, dims, _ = mark.args
    mesh = Mesh(tuple(shape), tuple(names))  # type: ignore[arg-type]
    sharding = Sharding(tuple(tuple(map(int, dim.split())) for dim in dims))  # type: ignore[union-attr]
    if tensor.op == "get_attr":
        attribute = operator.attrgetter(str(tensor.target))
        return ArgumentMark(lambda _: attribute(graph_module), mesh, tuple(chips), sharding)  # type: ignore[arg-type]
    position = graph_module.graph.find_nodes(op="placeholder").index(tensor)
    return ArgumentMark(operator.itemgetter(position), mesh, tuple(chips), sharding)  # type: ignore[arg-type]


def _remove(mark: Node, tensor: Node) -> None:
    mark.replace_all_uses_with(tensor)
    mark.graph.erase_node(mark)


def _after(node: Node) -> list[Node]:
    nodes = list(node.graph.nodes)
    return nodes[nodes.index(node) + 1 :]


def _is_written(tensor: Node, mark: Node) -> bool:
    """Returns whether an op may write to the tensor, its mark or a view of it after the mark.

    Dynamo's tensors count the writes, also those of functions that no name tells, such as ``relu(x, inplace=True)``.
    """
    storages = {_storage(tensor), _storage(mark)}
    if any(node.meta["example_value"]._version > 0 for node in (tensor, mark) if _storage(node) is not None):
        return True
    for node in _after(mark):
        written = [node.kwargs.get("out"), *(node.args[:1] if _is_in_place(node) else ())]
        if any(isinstance(target, Node) and _storage(target) in storages for target in written):
            return True
    return False


def _shows_copy(tensor: Node, mark: Node) -> bool:
    """Returns whether anyone could tell that ops after a mark use a copy of the tensor.

    The copy has the same elements. So its other names, which are views from before the mark or the caller's tensors,
    differ from it only if something writes to the elements after the mark, or if the caller receives both.
    """
    storage, later = _storage(tensor), {*_after(mark)}
    if storage is None:
        return _is_written(tensor, mark)
    earlier = [node for node in mark.graph.nodes if node not in later and node is not tensor and node is not mark]
    aliases = [node for node in earlier if _storage(node) == storage]
    given = any(alias.op in ("placeholder", "get_attr") for alias in aliases)
    if not given and all(later.isdisjoint(alias.users) for alias in aliases):
        return False
    returned = {
        node for node in mark.graph.output_node().all_input_nodes if _storage(node) in (storage, _storage(mark))
    }
    return _is_written(tensor, mark) or len(returned) > (0 if given else 1)


def _storage(node: Node) -> int | None:
    value = node.meta.get("example_value")
    return storage_identity(value) if isinstance(value, torch.Tensor) else None


_IN_PLACE_OPERATORS = {operator.setitem, *(getattr(operator, name) for name in dir(operator) if name.startswith("__i"))}


def _is_in_place(node: Node) -> bool:
    """Returns whether a node writes to its first argument."""
    if node.op == "call_method":
        name = str(node.target)
        return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
    if isinstance(node.target, OpOverload):
        return node.target._schema.is_mutable  # pyright: ignore[reportPrivateUsage]
    name = getattr(node.target, "__name__", "")
    return node.target in _IN_PLACE_OPERATORS or (name.endswith("_") and not name.endswith("__"))


__all__ = ["ArgumentMark", "marking", "take_argument_marks"]
