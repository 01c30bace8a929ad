"""Pass of level 2: gives each result the memory layout, and each op the program config, that the search chose.

Results of the function and values that const-eval functions return stay in DRAM. The plan is never slower than that of
level 1, which takes part in the search and is used when nothing is faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constness import constant_values
from tt_xla.compiler.analysis.op_names import op_names
from tt_xla.compiler.instructions import plain_instruction
from tt_xla.compiler.locations import describe
from tt_xla.compiler.meshes import mesh_of
from tt_xla.compiler.rewriting import body, functions, is_forward
from tt_xla.compiler.ttnn.layouts.explain import Choice, explained
from tt_xla.compiler.ttnn.layouts.forms import Site
from tt_xla.compiler.ttnn.layouts.overridden import chosen_forms, menu, wanted_layout
from tt_xla.compiler.ttnn.layouts.refusals import refused
from tt_xla.compiler.ttnn.layouts.search import Node, Search, Step
from tt_xla.compiler.ttnn.liveness import last_uses
from tt_xla.compiler.ttnn.preparations import Preparation, preparation_of
from tt_xla.cost.rates import rates_of
from tt_xla.ir.abstract.cache import CacheOp
from tt_xla.ir.base import TTOp, shape
from tt_xla.ir.layout import TILE, BufferType, MemoryLayout, TensorLayout
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import TensorSpec
from tt_xla.ir.ttcore import LoadCachedOp
from tt_xla.ir.ttnn.attributes import DeviceType, laid_out, layout_of
from tt_xla.ir.ttnn.configs import (
    MATMUL_CONFIGS,
    Conv2dConfigAttr,
    CoreCoordAttr,
    CoreRangeSetAttr,
    Layout,
    MemoryConfigAttr,
    Orientation,
    ShardSpecAttr,
    UnaryAttr,
)
from tt_xla.ir.ttnn.memory import GetDeviceOp, ToDeviceOp, ToMemoryConfigOp
from tt_xla.ir.ttnn.window import Conv2dOp, PrepareConv2dWeightsOp
from tt_xla.target import Target

if TYPE_CHECKING:
    from tt_xla.overrides import OpOverride

USAGE_CAP = 0.95
"""Share of the usable L1 that tensors and circular buffers may take; tt-mlir's tensor-l1-usage-cap."""


@dataclass(frozen=True)
class Request:
    """A request to the pass: overrides, and the lists that it is to fill.

    Attributes:
        overrides: Choices for ops by name.
        searched: Whether the ops without an override are laid out too; else they stay as level 1 has them.
        choices: Receives the choice for each op and its alternatives.
        menus: Receives, by name of an op, the layouts and configs that an override may choose.
    """

    overrides: Mapping[str, OpOverride] = field(default_factory=lambda: {})
    searched: bool = True
    choices: list[Choice] | None = None
    menus: dict[str, list[dict[str, Any]]] | None = None


def run(module: ModuleOp, target: Target, *, traced: bool = False, request: Request | None = None) -> None:
    """Lays out every function except those of const-eval.

    Args:
        module: TTNN module that is changed in place.
        target: Chip that the module is compiled for.
        traced: Whether ops will be replayed from a trace, with a shorter gap between them.
        request: Overrides, and what else is to be told.

    Raises:
        OptionError: TT-NN runs an op in no such form as an override asks for.
    """
    request = request or Request()
    names = op_names(module) if request.overrides or request.menus is not None else {}
    by_name = {function.sym_name.data: function for function in functions(module)}
    mesh = mesh_of(module)
    for function in functions(module):
        if is_forward(function):
            line = _Line(function, target, mesh, by_name, request, names)
            if not line.ops:
                continue
            search = line.search(traced)
            steps = search.run()
            usual = search.baseline()
            if _total(usual, search.gap_us) < _total(steps, search.gap_us):
                steps = usual
            if request.choices is not None:
                request.choices.extend(explained(search, steps, [op.location for op in line.ops]))
            line.apply(steps)


def _total(steps: Iterable[Step], gap_us: float) -> float:
    """Returns the predicted time of steps in us, with the gaps between ops."""
    return sum(step.time_us + step.moves_us + (gap_us if step.time_us else 0.0) for step in steps)


class _Kind(NamedTuple):
    """Properties and types that ops with the same site share."""

    cls: type[Operation]
    properties: tuple[tuple[str, Attribute], ...]
    operands: tuple[Attribute, ...]
    results: tuple[Attribute, ...]
    fixed: bool
    weights: tuple[bool, ...]
    prepared: bool
    override: str
    """The override as text, so that ops with different ones have sites of their own; empty for none."""


class _Line:
    """The ops of a function as the search sees them, and the way to apply its result."""

    def __init__(
        self,
        function: FuncOp,
        target: Target,
        mesh: Mesh | None,
        by_name: Mapping[str, FuncOp],
        request: Request,
        names: Mapping[Operation, str],
    ) -> None:
        self.request = request
        self.names = names
        self.overridden: dict[int, tuple[OpOverride, str, str]] = {}
        """Override, name and source line of an op of each kind that has an override."""
        self.function = function
        self.target = target
        self.mesh = mesh
        self.by_name = by_name
        self.block = body(function)
        self.constants = constant_values(function)
        self.numbers: dict[SSAValue, int] = {}
        self.current: list[SSAValue] = []
        self.specs: list[TensorSpec] = []
        self.ops: list[TTOp] = []
        self.sites: list[Site] = []
        self.nodes: list[Node] = []
        self.uses: list[list[int]] = []
        self.kinds: dict[_Kind, int] = {}
        for argument in self.block.args:
            self._define(argument)
        dying = last_uses(self.block)
        returned = set(self.block.last_op.operands) if isinstance(self.block.last_op, ReturnOp) else set[SSAValue]()
        for op in self.block.ops:
            if isinstance(op, TTOp) and not isinstance(op, GetDeviceOp):
                self._add(op, [*dying.get(op, ())], returned)

    def search(self, traced: bool) -> Search:
        """Returns the search over the function's ops."""
        rates = rates_of(self.target)
        gap = rates.gap_traced if traced else rates.gap_untraced
        base = self.target.l1_unreserved_base
        spare = int(self.target.l1_usable_bytes * (1 - USAGE_CAP))
        capacity = (base + spare, self.target.l1_end)
        search = Search(self.nodes, self.sites, self.specs, self.uses, self.target, gap, capacity)
        for kind, site in enumerate(self.sites):
            if kind in self.overridden:
                override, what, location = self.overridden[kind]
                search.forms[kind] = chosen_forms(site, override, what, location)
                search.overridden[kind] = what, location
            elif not self.request.searched:
                search.forms[kind] = search.forms[kind][:1]
        return search

    def _define(self, value: SSAValue) -> int:
        """Numbers a value and returns the number."""
        number = self.numbers[value] = len(self.specs)
        self.specs.append(TensorSpec(shape(value), layout_of(value)))
        self.current.append(value)
        self.uses.append([])
        return number

    def _add(self, op: TTOp, dying: list[SSAValue], returned: set[SSAValue]) -> None:
        """Adds an op and, if it is the first of its kind, its site."""
        tensors = [operand for operand in op.operands if not isinstance(operand.type, DeviceType)]
        operands = tuple(self.numbers[value] for value in tensors)
        for number in operands:
            self.uses[number].append(len(self.nodes))
        results = [self._define(value) for value in op.results if not isinstance(value.type, DeviceType)]
        placed = len(results) == 1 and op.name.startswith("ttnn.") and not isinstance(op, CacheOp)
        fixed = not placed or any(value in self.constants or value in returned for value in op.results)
        what = self.names.get(op, "")
        override = self.request.overrides.get(what)
        key = _Kind(
            type(op),
            tuple(op.properties.items()),
            tuple(value.type for value in tensors),
            tuple(value.type for value in op.results),
            fixed,
            tuple(self._can_be_laid_out(value) for value in tensors),
            any(isinstance(each, PrepareConv2dWeightsOp) for each in self._preparations(op)),
            override.model_dump_json() if override is not None and override.places else "",
        )
        kind = self.kinds.get(key)
        if kind is None:
            kind = self.kinds[key] = len(self.sites)
            specs = [self.specs[number] for number in (*operands, *results)]
            wanted = None
            if override is not None and override.places:
                location = describe(op.location)
                if not placed:
                    raise refused(what, location, "the search for layouts does not place its result")
                wanted = wanted_layout(override, specs[-1].shape, specs[-1].layout, self.target, what, location)
                self.overridden[kind] = override, what, location
            self.sites.append(
                Site(
                    plain_instruction(op),
                    tuple(specs[: len(operands)]),
                    specs[-1] if placed else None,
                    self.target,
                    fixed,
                    () if placed else tuple(specs[len(operands) :]),
                    key.weights,
                    self.mesh,
                    key.prepared,
                    wanted,
                )
            )
        if self.request.menus is not None and what:
            self.request.menus[what] = menu(self.sites[kind]) if placed else []
        dying_numbers = tuple(self.numbers[value] for value in dying if value in self.numbers)
        self.ops.append(op)
        self.nodes.append(Node(kind, operands, results[0] if placed else -1, dying_numbers))

    def _can_be_laid_out(self, value: SSAValue) -> bool:
        """Returns whether a value is a constant of one use, which may be produced in the layout of that use."""
        is_movable = isinstance(value, BlockArgument) or isinstance(value.owner, LoadCachedOp)
        return (
            is_movable
            and value in self.constants
            and value.has_one_use()
            and layout_of(value).buffer is BufferType.DRAM
        )

    def _laid_out_once(self, value: SSAValue, layout: TensorLayout) -> SSAValue:
        """Returns a constant with another layout, which const-eval or the caller now gives it."""
        type_ = laid_out(shape(value), layout)
        if isinstance(value, OpResult) and isinstance(value.op, LoadCachedOp):
            _return_as(self.by_name[value.op.callee], value.index, type_)
        return Rewriter.replace_value_with_new_type(value, type_)

    def _preparations(self, op: Operation) -> list[Preparation]:
        """Returns the ops that prepare weights and bias for a convolution alone, here or in const-eval functions."""
        if not isinstance(op, Conv2dOp):
            return []
        prepared = [preparation_of(value, self.by_name) for value in (op.weight, op.bias) if value is not None]
        return [each for each in prepared if each is not None]

    def apply(self, steps: list[Step]) -> None:
        """Writes the chosen layouts, moves and configs into the module."""
        for op, node, step in zip(self.ops, self.nodes, steps, strict=True):
            for move in step.moves:
                source = self.current[move.value]
                if move.reason == "weight":
                    self.current[move.value] = self._laid_out_once(source, move.layout)
                    continue
                type_ = laid_out(shape(source), move.layout)
                copy = ToMemoryConfigOp.make([source], [type_], op.location)
                Rewriter.insert_op(copy, InsertPoint.before(op))
                self.current[move.value] = copy.results[0]
            numbers = iter(node.operands)
            for index, operand in enumerate(op.operands):
                if not isinstance(operand.type, DeviceType):
                    op.operands[index] = self.current[next(numbers)]
            if node.result >= 0 and step.result is not None:
                value = op.results[0]
                if step.result != layout_of(value):
                    value = Rewriter.replace_value_with_new_type(value, laid_out(shape(value), step.result))
                self.current[node.result] = value
            if step.form.config is not None:
                _configure(op, dict(step.form.config))
            for prepared in self._preparations(op):
                _prepare_for(prepared, layout_of(op.operands[0]), step.form.config or {})
        self.function.update_function_type()


def _prepare_for(op: Preparation, source: TensorLayout, config: Mapping[str, Any]) -> None:
    """Prepares weights or a bias for the input as it lies.

    Block shards need the channels of each core together, and TT-NN may choose them itself for pages in L1.
    """
    unit = TILE if source.tiled else 1
    sizes = (source.shard[0] * unit, source.shard[1] * unit)
    spec = ShardSpecAttr((source.core_ranges, sizes, Orientation.ROW_MAJOR)) if source.is_sharded else None
    op.properties["input_memory_config"] = MemoryConfigAttr((source.buffer, source.memory, spec))
    op.input_tensor_layout = Layout.TILE if source.tiled else Layout.ROW_MAJOR
    op.properties["conv2d_config"] = _convolution_config(op.conv2d_config, config)


def _return_as(function: FuncOp, index: int, type_: Attribute) -> None:
    """Makes a const-eval function return a result in another layout."""
    returned = body(function).last_op
    assert isinstance(returned, ReturnOp)
    result = returned.operands[index]
    if isinstance(result.owner, ToDeviceOp) and result.has_one_use():
        Rewriter.replace_value_with_new_type(result, type_)
    else:
        copy = ToMemoryConfigOp.make([result], [type_])
        owner = result.owner  # right after it, so that of several results one at a time has both copies
        Rewriter.insert_op(
            copy, InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)
        )
        returned.operands[index] = copy.results[0]
    function.update_function_type()


def _convolution_config(known: Iterable[tuple[str, Any]] | None, config: Mapping[str, Any]) -> Conv2dConfigAttr:
    """Returns the config of a convolution with the fields that a form adds."""
    fields: dict[str, Any] = {**dict(known or ()), **config}
    if "shard_layout" in config:
        fields["shard_layout"] = MemoryLayout(config["shard_layout"])
    if "core_grid" in config:
        fields["core_grid"] = CoreRangeSetAttr(config["core_grid"])
    return Conv2dConfigAttr.of(**fields)


def _configure(op: TTOp, config: dict[str, Any]) -> None:
    """Puts a form's config into an op. A fused activation is part of the config alone."""
    if isinstance(op, Conv2dOp):
        op.properties["conv2d_config"] = _convolution_config(op.conv2d_config, config)
        return
    if "compute_with_storage_grid_size" in config:
        config["compute_with_storage_grid_size"] = CoreCoordAttr(config["compute_with_storage_grid_size"])
    if "hop_cores" in config:
        config["hop_cores"] = CoreRangeSetAttr(config["hop_cores"])
    kind = next(kind for kind in MATMUL_CONFIGS if config["config"] == kind.TAG)
    config.pop("config")
    activation = config.pop("fused_activation", None)
    if activation:
        config["fused_activation"] = UnaryAttr.of(activation["op_type"])
        op.properties.pop("activation", None)
    op.properties["matmul_program_config"] = kind.of(**config)
