"""Lowers an aten FX graph to a StableHLO module: JAX traces the lowering rule of each op."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.export
import numpy as np
import torch
from jaxlib import xla_client
from jaxlib.mlir import ir

from tt_xla.compiler.mlir_context import context
from tt_xla.compiler.stablehlo.symbolic_sizes import drop_assertions
from tt_xla.errors import UnsupportedOpError
from tt_xla.frontends.torch import symbolic
from tt_xla.frontends.torch.aten import Context
from tt_xla.frontends.torch.aten.registry import DTYPES, InvalidUseError, apply, describe, rule_of, shape_of
from tt_xla.frontends.torch.composites import composite_attribute, name_decompositions
from tt_xla.frontends.torch.drawn import RANDOM
from tt_xla.frontends.torch.extras import Constant, sampler
from tt_xla.frontends.torch.graph.regions import Region, find_regions, outermost
from tt_xla.frontends.torch.graph_chips import chips_of
from tt_xla.frontends.torch.higher_order import HIGHER_ORDER, attribute_of, graphs_of
from tt_xla.frontends.torch.index_checks import IndexCheck, find_index_checks
from tt_xla.frontends.torch.module_arguments import annotate_arguments
from tt_xla.frontends.torch.numbers import number, open_numbers, reader
from tt_xla.frontends.torch.outputs import memory_permutation, views_of_bases
from tt_xla.frontends.torch.private.functions import without_dispatch_modes
from tt_xla.frontends.torch.private.ops import HigherOrderOperator, OpOverload
from tt_xla.frontends.torch.trees import tree_map_only
from tt_xla.frontends.torch.weight_dtypes import with_weight_dtypes
from tt_xla.host import wide
from tt_xla.ir.program import Role
from tt_xla.stage_times import LOWERING, stage

aten = torch.ops.aten

EMBEDDED_ELEMENTS = 32
"""Number of elements up to which a tensor constant is embedded in the module. Larger constants become arguments."""

NAME = "tt_xla_name"
"""Key of a node's metadata: the name of its operations, in place of its own."""

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_SCOPE = re.compile(r"(?:^|/)n(\d+)(?:/|$)")
_TORCH_FILES = re.compile(r"[/\\](?:site|dist)-packages[/\\]torch[/\\]")


@dataclass(frozen=True)
class Argument:
    """Description of a graph input.

    Attributes:
        name: name in the user's program, such as ``fc.weight``.
        role: whether it is a parameter, a constant or an input.
        written: whether the caller writes to it after the program has run.
        donated: whether the program may write to it, because nothing later reads its old contents.
        weight_dtype: element type in which the device stores it as a weight; empty for the model's own.
    """

    name: str
    role: Role = Role.INPUT
    written: bool = False
    donated: bool = False
    weight_dtype: str = ""


class RefusedError(UnsupportedOpError):
    """Lowering rules do not cover some uses of their ops. The message is about the first one.

    Attributes:
        nodes: names of the FX nodes.
    """

    def __init__(self, nodes: Collection[torch.fx.Node], error: UnsupportedOpError) -> None:
        super().__init__(error.message, hint=error.hint, location=error.location)
        self.nodes = {node.name for node in nodes}


@dataclass
class Lowered:
    """A StableHLO module and how to call it.

    Attributes:
        module: StableHLO module. Its ``main`` takes the graph's tensor inputs, the results of ``extras`` and then of
            ``numbers``, and returns the tensors of ``outputs``.
        tensors: positions, among the graph's inputs, of those that ``main`` takes.
        extras: functions that compute further arguments: constants too large to embed, and random numbers, which are
            drawn on the host at each call so that ``torch.manual_seed`` acts as in eager mode.
        constant: for each of ``extras``, whether it is a constant.
        outputs: for each output of the graph: ``("result", index)``, ``("input", index)``, ``("view", OutputView)``,
            ``("value", number or None)``, or ``("number", function of the graph's inputs)``.
        results: fake tensor of each result of ``main``.
        orders: for each result, the permutation that ``main`` applies so that the strides are eager mode's, or None.
        input_orders: for each of ``tensors``, the permutation to apply before the call (channels last), or None.
        views: indices into ``tensors`` of conjugate and negative views, which have to be resolved before the call.
        checks: checks of index arguments, to be called with tensors and versions before each run.
        numbers: functions that compute further arguments, 0-dim integers, from the graph's inputs.
        chip: number of the chip that has the graph's tensors; 0 for tensors of the host.
    """

    module: ir.Module
    tensors: list[int]
    extras: list[Callable[[], torch.Tensor]]
    constant: list[bool]
    outputs: list[tuple[str, Any]]
    results: list[torch.Tensor] = field(default_factory=list)
    orders: list[list[int] | None] = field(default_factory=list)
    input_orders: list[list[int] | None] = field(default_factory=list)
    views: list[int] = field(default_factory=list)
    checks: list[IndexCheck] = field(default_factory=list)
    numbers: list[Callable[[Sequence[Any]], int]] = field(default_factory=list)
    chip: int = 0


def source_line(node: torch.fx.Node) -> str:
    """Returns ``file:line`` of the user's code that created a node: the innermost frame outside PyTorch."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if not _TORCH_FILES.search(frame[0])] or frames
    return f"{own[-1][0]}:{own[-1][1]}" if own else ""


def module_path(node: torch.fx.Node) -> str:
    """Returns the dotted path of the user's module that a node came from, such as ``layers.0.attention``."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return ""
    path = str(next(reversed(stack.values()))[0])
    path = re.sub(r"^L\[['\"]\w+['\"]\]\.?", "", path)
    path = re.sub(r"_modules\[['\"]([^'\"]*)['\"]\]", r"\1", path)
    return re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", path).strip(".")


def is_lowered(node: torch.fx.Node) -> bool:
    """Returns whether a call has a lowering rule or needs none."""
    if isinstance(node.target, HigherOrderOperator):
        inner = [call for graph in graphs_of(node) for call in graph.graph.nodes if call.op == "call_function"]
        return node.target in HIGHER_ORDER and all(is_lowered(call) and call.target not in RANDOM for call in inner)
    if not isinstance(node.target, OpOverload):
        return True
    known = rule_of(node.target) is not None or node.target in RANDOM
    return known or isinstance(node.meta.get("val"), bool | int | float | torch.SymInt | torch.SymFloat | torch.SymBool)


@stage(LOWERING)
def lower_to_stablehlo(graph_module: torch.fx.GraphModule, arguments: Sequence[Argument] | None = None) -> Lowered:
    """Lowers a functional aten graph whose nodes carry fake tensors in ``meta["val"]``.

    Args:
        graph_module: the graph.
        arguments: description of each placeholder. By default all are inputs named after the placeholder.

    Raises:
        UnsupportedOpError: an op has no lowering rule, or its rule does not cover this use of it.
    """
    return Lowering(graph_module, arguments).run()


_CHECKS = {torch.ops.aten._assert_async.default, torch.ops.aten._assert_async.msg}
"""Assertions about values. A program on the device cannot raise errors, so these ops are left out."""


def check_rules(graph_module: torch.fx.GraphModule) -> bool:
    """Returns whether every op of a graph has a lowering rule that takes its arguments, without lowering the graph.

    Raises:
        UnsupportedOpError: PyTorch itself refuses the arguments of an op.
    """
    lowering = Lowering(graph_module, None)
    try:
        lowering.check()
    except UnsupportedOpError as error:
        if isinstance(error, InvalidUseError) or isinstance(error.__cause__, InvalidUseError):
            raise
        return False
    return True


class Lowering:
    """Lowers one graph.

    Attributes:
        tensors: positions, among the placeholders, of the tensors.
        traced: nodes that are arguments of ``main``, in order.
        numbers: symbolic numbers that ops take; they are the next arguments of ``main``.
        results: nodes that are results of ``main``.
        outputs: how each output of the graph is obtained (:class:`Lowered`).
    """

    def __init__(self, graph_module: torch.fx.GraphModule, arguments: Sequence[Argument] | None) -> None:
        self.graph_module = graph_module
        self.nodes = list(graph_module.graph.nodes)
        self.placeholders = [node for node in self.nodes if node.op == "placeholder"]
        self.arguments = list(arguments or [Argument(str(node.target)) for node in self.placeholders])
        self.constants: dict[torch.fx.Node, Any] = {}  # numbers and embedded constants
        self.tensors: list[int] = []
        self.traced: list[torch.fx.Node] = []
        self.extras: list[Callable[[], torch.Tensor]] = []
        self.is_constant: list[bool] = []
        self.open = open_numbers(self.nodes)
        self.numbers: list[torch.fx.Node] = []
        self.outputs: list[tuple[str, Any]] = []
        self.results: list[torch.fx.Node] = []
        self.orders: list[list[int] | None] = []
        self.refused: dict[torch.fx.Node, UnsupportedOpError] = {}
        self._located = list(_with_inner(self.nodes))
        self._numbers = {node: index for index, node in enumerate(self._located)}

    def run(self) -> Lowered:
        """Lowers the graph."""
        self.prepare(has_views=not symbolic.is_active())
        return self.lowered(self._trace(), [node.meta["val"] for node in self.results])

    def prepare(self, *, has_views: bool) -> None:
        """Finds the arguments of ``main`` and the outputs of the graph, which may be views if ``has_views`` says so."""
        self._check_supported()
        for position, node in enumerate(self.placeholders):
            value = node.meta["val"]
            if isinstance(value, torch.Tensor):
                self.tensors.append(position)
                self.traced.append(node)
            elif node not in self.open:
                self.constants[node] = number(value)
        pairs = [(self.placeholders[position].meta["val"], self.arguments[position]) for position in self.tensors]
        self.input_orders = [None if symbolic.is_active() else _channels_last(*pair) for pair in pairs]
        self._collect_extras()
        self.numbers = [node for node in self.nodes if node in self.open and _is_op_argument(node)]
        self.outputs, self.results = self._outputs(has_views)
        # The results of a program with symbolic sizes are contiguous.
        self.orders = [None if symbolic.is_active() else _permutation(node.meta["val"]) for node in self.results]

    def lowered(self, module: ir.Module, results: Sequence[Any], lengths: Sequence[Any] = ()) -> Lowered:
        """Returns a module of the graph together with how to call it.

        Args:
            module: the module.
            results: what has dtype, shape and device of each result of ``main``.
            lengths: functions of the graph's inputs that compute the last arguments of ``main``.
        """
        tensors = self.tensors
        arguments = [self.arguments[position] for position in tensors]
        arguments += [
            Argument(str(node.target) if is_constant else node.name, Role.CONSTANT if is_constant else Role.INPUT)
            for node, is_constant in zip(self.traced[len(tensors) :], self.is_constant, strict=True)
        ]
        arguments = with_weight_dtypes(arguments, self.traced) + [Argument(node.name) for node in self.numbers]
        arguments += [Argument(f"length_{index}") for index in range(len(lengths))]
        annotate_arguments(module, arguments, self.outputs)
        name_decompositions(module)
        self._locate(module)
        values = [self.placeholders[position].meta["val"] for position in tensors]
        return Lowered(
            module,
            tensors,
            self.extras,
            self.is_constant,
            self.outputs,
            list(results),
            self.orders,
            self.input_orders,
            [index for index, value in enumerate(values) if value.is_conj() or value.is_neg()],
            []
            if symbolic.is_active()
            else find_index_checks(self.nodes, self.traced[: len(tensors)], source_line, keeps_symbols=bool(lengths)),
            [*(reader(node, self.placeholders) for node in self.numbers), *lengths],
            max(chips_of(self.nodes), default=0),
        )

    def check(self) -> None:
        """Runs every rule on shapes and types alone.

        Raises:
            UnsupportedOpError: an op has no rule, or its rule does not cover this use of it.
        """
        self._check_supported()
        if any(node.target in RANDOM for node in self.nodes):
            raise UnsupportedOpError(
                "The graph draws random numbers, which are drawn on the host when an op is recorded."
            )
        self._collect_extras()

        def forward(*arrays: Any) -> None:
            values = dict(self.constants) | dict(zip(traced, arrays, strict=True))
            self._evaluate(self.nodes, values, [])
            self._raise_refusals()

        traced = [*self.placeholders, *self.traced]
        with tracing():
            specs = [jax.ShapeDtypeStruct(shape_of(n.meta["val"]), DTYPES[n.meta["val"].dtype]) for n in traced]
            jax.eval_shape(forward, *specs)

    def _check_supported(self) -> None:
        missing: dict[str, torch.fx.Node] = {}
        for node in self.nodes:
            if node.op == "call_function" and not is_lowered(node):
                missing.setdefault(str(node.target), node)
        if not missing:
            return
        first, *others = missing.values()
        also = f" Other ops without one: {', '.join(str(node.target) for node in others)}." if others else ""
        raise UnsupportedOpError(
            f"The op {first.target} has no lowering to StableHLO: {describe(first)}.{also}",
            location=source_line(first),
            hint="Keep that part out of the compiled model with torch.compiler.disable, or write it with other ops.",
        )

    def _collect_extras(self) -> None:
        """Finds constants and random ops; constants are embedded or become arguments."""
        for node in self.nodes:
            if node.op == "get_attr":
                value = attribute_of(node)
                if isinstance(value, torch.fx.GraphModule):
                    self.constants[node] = functools.partial(self._branch, value)
                if not isinstance(value, torch.Tensor):
                    continue
                if value.numel() > EMBEDDED_ELEMENTS:
                    with without_dispatch_modes():
                        host = value.detach().to("cpu")
                    self._add_extra(node, Constant(host), constant=True)
                else:
                    self.constants[node] = to_numpy(value)
            elif node.op == "call_function" and node.target in RANDOM:
                self._add_extra(node, sampler(node), constant=False)

    def _add_extra(self, node: torch.fx.Node, make: Callable[[], torch.Tensor], *, constant: bool) -> None:
        if constant and "val" not in node.meta:
            node.meta["val"] = make()
        self.traced.append(node)
        self.extras.append(make)
        self.is_constant.append(constant)

    def _outputs(self, has_views: bool) -> tuple[list[tuple[str, Any]], list[torch.fx.Node]]:
        """Returns how each output of the graph is obtained, and the nodes that are results of ``main``."""
        (output,) = [node for node in self.nodes if node.op == "output"]
        outputs: list[tuple[str, Any]] = []
        results: list[torch.fx.Node] = []
        returned = [value for value in output.args[0] if isinstance(value, torch.fx.Node)]
        written = {node for node, argument in zip(self.placeholders, self.arguments, strict=True) if argument.written}
        views = views_of_bases(self.nodes, returned, written) if has_views else {}
        for value in output.args[0]:
            if not isinstance(value, torch.fx.Node):
                outputs.append(("value", value))
            elif value.op == "placeholder":
                outputs.append(("input", self.placeholders.index(value)))
            elif value in self.open:
                outputs.append(("number", reader(value, self.placeholders)))
            elif value in views:
                base, view = views[value]
                if not view.of_input and base not in results:
                    results.append(base)
                index = (self.placeholders if view.of_input else results).index(base)
                outputs.append(("view", replace(view, index=index)))
            elif not isinstance(value.meta.get("val"), torch.Tensor) and value.op != "get_attr":
                size = number(value.meta["val"])
                outputs.append(("size" if jax.export.is_symbolic_dim(size) else "value", size))
            else:
                if "val" not in value.meta:
                    value.meta["val"] = attribute_of(value)
                if value not in results:
                    results.append(value)
                outputs.append(("result", results.index(value)))
        return outputs, results

    def traceable(self) -> tuple[Callable[..., tuple[Any, ...]], list[jax.ShapeDtypeStruct]]:
        """Returns a function of JAX that computes the graph, and its arguments. Call it in :func:`tracing`."""
        regions = find_regions(self.nodes, set(self.constants), set(self.traced))
        input_orders = [*self.input_orders, *(None for _ in self.extras), *(None for _ in self.numbers)]
        traced = [*self.traced, *self.numbers]

        def forward(*arrays: Any) -> tuple[Any, ...]:
            values = dict(self.constants)
            for node, array, order in zip(traced, arrays, input_orders, strict=True):
                values[node] = array if order is None else array.transpose(_inverse(order))
            self._evaluate(self.nodes, values, regions)
            self._raise_refusals()
            arrays_out = [jax.numpy.asarray(values[node]) for node in self.results]
            return tuple(
                array if order is None else array.transpose(order)
                for array, order in zip(arrays_out, self.orders, strict=True)
            )

        return forward, [_spec(node.meta["val"], order) for node, order in zip(traced, input_orders, strict=True)]

    def _trace(self) -> ir.Module:
        """Traces the graph with JAX."""
        with tracing():
            forward, specs = self.traceable()
            traced_function = jax.jit(forward, keep_unused=True)
            if symbolic.is_active():
                exported = jax.export.export(traced_function, platforms=["cpu"])(*specs)
                with context(len(exported.mlir_module_serialized)):
                    module = ir.Module.parse(exported.mlir_module())
                drop_assertions(module)
                return module
            module = traced_function.lower(*specs).compiler_ir("stablehlo")
        assert isinstance(module, ir.Module)
        return module

    def _evaluate(
        self, nodes: Sequence[torch.fx.Node], values: dict[torch.fx.Node, Any], regions: list[Region]
    ) -> None:
        """Computes nodes in order, into ``values``. The nodes of a marked region become one composite."""
        top = outermost(regions)
        composed = {node for region in top for node in (*region.body, *region.outputs)}
        last = {region.last: region for region in top}
        for node in nodes:
            if node in values or node.op != "call_function" or (node in composed and node not in last):
                continue
            if node.target in _CHECKS or node in self.open:
                continue
            with jax.named_scope(f"n{self._numbers[node]}"):
                if node in last:
                    self._compose(last[node], values, [region for region in regions if region is not last[node]])
                else:
                    values[node] = self._compute(node, values)

    def _compose(self, region: Region, values: dict[torch.fx.Node, Any], others: list[Region]) -> None:
        """Computes a region as one composite. Regions inside it become composites of its decomposition."""
        operands = [values[mark.args[0]] for mark in region.inputs] + [values[node] for node in region.captured]
        inner = [other for other in others if other.last in region.body]

        def decomposition(*arrays: Any, **_: Any) -> tuple[Any, ...]:
            local = dict(self.constants) | dict(zip([*region.inputs, *region.captured], arrays, strict=True))
            self._evaluate(region.body, local, inner)
            return tuple(jax.numpy.asarray(local[mark.args[0]]) for mark in region.outputs)

        attributes = {name: composite_attribute(value) for name, value in region.attributes.items()}
        results = jax.lax.composite(decomposition, region.name)(*operands, **attributes)
        values.update(zip(region.outputs, results, strict=True))

    def _compute(self, node: torch.fx.Node, values: dict[torch.fx.Node, Any]) -> Any:
        """Computes one node by its lowering rule."""
        out = node.meta.get("val")
        if isinstance(out, bool | int | float | torch.SymInt | torch.SymFloat | torch.SymBool):
            return number(out)
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda arg: values[arg])
        if node.target in HIGHER_ORDER:
            try:
                return HIGHER_ORDER[node.target](*args, **kwargs)
            except UnsupportedOpError as error:
                return self._refused(node, error)
        if not isinstance(node.target, OpOverload):
            if "getitem" in node.name or getattr(node.target, "__name__", "") == "getitem":
                return args[0][args[1]]
            raise UnsupportedOpError(
                f"The function {node.target} cannot be compiled: only aten ops have lowering rules.",
                location=source_line(node),
                hint="Keep that part out of the compiled model with torch.compiler.disable, or write it with aten ops.",
            )
        args, kwargs = _concrete((args, kwargs))
        context = Context(node, out, source_line(node))
        try:
            rule = rule_of(node.target)
            assert rule is not None, node.target
            return apply(context, rule, args, kwargs)
        except UnsupportedOpError as error:
            return self._refused(node, error)

    def _refused(self, node: torch.fx.Node, error: UnsupportedOpError) -> Any:
        """Notes a use of an op that its rule does not cover, and returns zeros, so that one trace finds all of them.

        Raises:
            RefusedError: the node is in the graph of a higher order op, which is refused as a whole.
        """
        if node.graph is not self.graph_module.graph:
            raise RefusedError([node], error) from error
        self.refused.setdefault(node, error)
        return tree_map_only(
            torch.Tensor, lambda out: jax.numpy.zeros(shape_of(out), DTYPES[out.dtype]), node.meta["val"]
        )

    def _raise_refusals(self) -> None:
        if self.refused:
            first = next(iter(self.refused.values()))
            raise RefusedError(self.refused.keys(), first) from first

    def _branch(self, graph_module: torch.fx.GraphModule, arrays: Sequence[Any]) -> list[Any]:
        """Computes a graph that is an argument of a higher order op, such as a branch of ``torch.cond``."""
        nodes = list(graph_module.graph.nodes)
        values: dict[torch.fx.Node, Any] = dict(
            zip(graph_module.graph.find_nodes(op="placeholder"), arrays, strict=True)
        )
        for node in graph_module.graph.find_nodes(op="get_attr"):
            value = attribute_of(node)
            inner = isinstance(value, torch.fx.GraphModule)
            values[node] = functools.partial(self._branch, value) if inner else to_numpy(value)
        self._evaluate(nodes, values, [])
        (results,) = graph_module.graph.output_node().args
        results = results if isinstance(results, list | tuple) else [results]
        return [jax.numpy.asarray(values[node] if isinstance(node, torch.fx.Node) else node) for node in results]

    def _locate(self, module: ir.Module) -> None:
        """Sets the location of each operation to the user's source line and the node's path in the model.

        jaxlib 0.7.1 cannot change the location of an operation; operations then keep the names that JAX gave them.
        """
        if not hasattr(ir, "NameLoc"):
            return
        locations: dict[int, ir.Location] = {}

        def visit(op: ir.Operation) -> ir.WalkResult:
            location = op.location
            match = _SCOPE.search(location.name_str) if isinstance(location, ir.NameLoc) else None
            if match:
                index = int(match[1])
                if index not in locations:
                    locations[index] = _location_of(self._located[index])
                op.location = locations[index]
            elif not isinstance(location, ir.UnknownLoc):
                op.location = ir.Location.unknown()
            return ir.WalkResult.ADVANCE

        with module.context:
            module.operation.walk(visit)


def _with_inner(nodes: Iterable[torch.fx.Node]) -> Iterator[torch.fx.Node]:
    """Yields the nodes and those of the graphs that they call."""
    for node in nodes:
        yield node
        if isinstance(node.target, HigherOrderOperator):
            for graph_module in graphs_of(node):
                yield from _with_inner(graph_module.graph.nodes)


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Context manager in which JAX traces graphs."""
    with without_dispatch_modes(), wide(), jax.default_device(_tracing_device()):
        yield


@functools.cache
def _tracing_device() -> Any:
    """Returns a CPU device to trace for, so that JAX initialises no backend, least of all 'tt' itself."""
    return xla_client.make_cpu_client().local_devices()[0]


def _permutation(value: torch.Tensor) -> list[int] | None:
    """Returns the order of a tensor's dimensions in memory, or None when it is contiguous or not dense."""
    order = memory_permutation(value)
    return None if order is None or order == sorted(order) else order


def _channels_last(value: torch.Tensor, argument: Argument) -> list[int] | None:
    """Returns the memory order of an input that is channels last and only read; otherwise None."""
    order = _permutation(value) if value.dim() == 4 and not value.is_contiguous() else None
    is_only_read = argument.role is Role.INPUT and not argument.written
    return order if is_only_read and order == [0, 2, 3, 1] else None


def _inverse(order: Sequence[int]) -> list[int]:
    return [order.index(axis) for axis in range(len(order))]


def _is_op_argument(number: torch.fx.Node) -> bool:
    """Returns whether an op on tensors takes a number as an argument."""
    return any(isinstance(user.target, OpOverload) for user in number.users)


def _spec(value: torch.Tensor | torch.SymInt, order: Sequence[int] | None) -> jax.ShapeDtypeStruct:
    if isinstance(value, torch.SymInt):
        return jax.ShapeDtypeStruct((), np.dtype("int64"))
    sizes = shape_of(value)
    return jax.ShapeDtypeStruct(sizes if order is None else [sizes[axis] for axis in order], DTYPES[value.dtype])


def _location_of(node: torch.fx.Node) -> ir.Location:
    line = source_line(node)
    path = module_path(node)
    name = node.meta.get(NAME) or (f"{path}/{node.name}" if path else node.name)
    if not line:
        return ir.Location.name(name)
    file, _, number = line.rpartition(":")
    return ir.Location.name(name, ir.Location.file(file, int(number), 0))


def _concrete(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_concrete(item) for item in value)
    if isinstance(value, dict):
        return {name: _concrete(item) for name, item in value.items()}
    return number(value)


def to_numpy(value: torch.Tensor) -> np.ndarray:
    """Returns a tensor as an array of its own dtype, which ml_dtypes has where NumPy lacks it."""
    with without_dispatch_modes():
        value = value.detach().to("cpu").contiguous()
        if value.dtype is torch.bfloat16:
            return value.view(torch.int16).numpy().view(DTYPES[value.dtype])
        return value.numpy()
