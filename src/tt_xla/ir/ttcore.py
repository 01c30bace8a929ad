"""The ``ttcore`` dialect, which TTIR and TTNN share. Source: tt-mlir ``TTCoreOps.td``, ``TTCoreOpsTypes.td``."""

from __future__ import annotations

import enum
from abc import ABC

from xdsl import irdl
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Data, Dialect, ParametrizedAttribute, Region, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    param_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, Pure, SymbolOpInterface, SymbolTable

from tt_xla.ir.attributes import LabelAttr, RawAttr, parse_label
from tt_xla.ir.base import TTOp
from tt_xla.ir.control import CaseOp, LoopBoundAttr, WhileLoopOp
from tt_xla.ir.layout import TILE, DataType
from tt_xla.ir.program import Role
from tt_xla.ir.properties import I32, SI32, STR, SYMBOL, PropertyKind, enumeration, opt_prop_def, prop_def


class ReduceType(enum.StrEnum):
    """The function that a reduction applies."""

    SUM = "sum"
    MEAN = "mean"
    MAX = "max"
    MIN = "min"
    STD = "std"
    VAR = "var"
    PROD = "prod"
    INVALID = "invalid"
    """No reduction; the value is assigned."""


class MeshShardDirection(enum.StrEnum):
    """The direction of a ``mesh_shard`` op: splitting a tensor, or joining its shards."""

    FULL_TO_SHARD = "full_to_shard"
    SHARD_TO_FULL = "shard_to_full"


class MeshShardType(enum.StrEnum):
    """The way in which a ``mesh_shard`` op distributes a tensor."""

    REPLICATE = "replicate"
    MAXIMAL = "maximal"
    DEVICES = "devices"


class ShardStatus(enum.StrEnum):
    """The form in which an argument arrives."""

    PRESHARDED = "presharded"
    UNSHARDED = "unsharded"


class Topology(enum.StrEnum):
    """The topology of the links between chips."""

    RING = "ring"
    LINEAR = "linear"
    MESH = "mesh"
    TORUS = "torus"
    DISABLED = "disabled"


class AttentionMask(enum.StrEnum):
    """The mask of an attention op for training."""

    NONE = "none"
    CAUSAL = "causal"
    ARBITRARY = "arbitrary"


class MoEActivation(enum.StrEnum):
    """The activation between an expert's projections."""

    SILU = "silu"
    SWIGLU = "swiglu"


@irdl_attr_definition
class TileType(Data[DataType], TypeAttribute):
    """Type of a 32 x 32 tile of one data type, ``!ttcore.tile<32x32, bf16>``."""

    name = "ttcore.tile"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DataType:
        with parser.in_angle_brackets():
            position = parser.pos
            if tuple(parser.parse_dimension_list()) != (TILE, TILE):
                parser.raise_error(f"expected a tile of {TILE}x{TILE}", position, parser.pos)
            parser.parse_punctuation(",")
            return parse_label(parser, DataType)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{TILE}x{TILE}, {self.data.value}>")


@irdl_attr_definition
class ArgumentTypeAttr(LabelAttr[Role]):
    """The role of a function argument: ``input``, ``parameter`` or ``constant``."""

    name = "ttcore.argument_type"
    LABELS = Role


@irdl_attr_definition
class DataTypeAttr(LabelAttr[DataType]):
    """A data type as an attribute, ``#ttcore.supportedDataTypes<bf16>``."""

    name = "ttcore.supportedDataTypes"
    LABELS = DataType


@irdl_attr_definition
class ReduceTypeAttr(LabelAttr[ReduceType]):
    """A :class:`ReduceType` as an attribute."""

    name = "ttcore.reduce_type"
    LABELS = ReduceType


@irdl_attr_definition
class MeshShardDirectionAttr(LabelAttr[MeshShardDirection]):
    """A :class:`MeshShardDirection` as an attribute."""

    name = "ttcore.shard_direction"
    LABELS = MeshShardDirection


@irdl_attr_definition
class MeshShardTypeAttr(LabelAttr[MeshShardType]):
    """A :class:`MeshShardType` as an attribute."""

    name = "ttcore.shard_type"
    LABELS = MeshShardType


@irdl_attr_definition
class ShardStatusAttr(LabelAttr[ShardStatus]):
    """Whether an argument arrives as one tensor or already split over the mesh."""

    name = "ttcore.shard_status"
    LABELS = ShardStatus


@irdl_attr_definition
class TopologyAttr(LabelAttr[Topology]):
    """A :class:`Topology` as an attribute."""

    name = "ttcore.topology"
    LABELS = Topology


@irdl_attr_definition
class AttentionMaskAttr(LabelAttr[AttentionMask]):
    """An :class:`AttentionMask` as an attribute."""

    name = "ttcore.attention_mask_type"
    LABELS = AttentionMask


@irdl_attr_definition
class MoEActivationAttr(LabelAttr[MoEActivation]):
    """A :class:`MoEActivation` as an attribute."""

    name = "ttcore.moe_activation_function"
    LABELS = MoEActivation


@irdl_attr_definition
class TensorMeshAttr(Data[str]):
    """The mesh that a tensor is spread over, ``#ttcore.tensor_mesh<"mesh">``."""

    name = "ttcore.tensor_mesh"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            return parser.parse_str_literal()

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f'<"{self.data}">')


Meshes = tuple[tuple[str, tuple[int, ...]], ...]


@irdl_attr_definition
class MeshesAttr(Data[Meshes]):
    """The meshes of a module by name, ``#ttcore.meshes<[<"mesh" = 1x2>]>``."""

    name = "ttcore.meshes"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Meshes:
        def mesh() -> tuple[str, tuple[int, ...]]:
            with parser.in_angle_brackets():
                name = parser.parse_str_literal()
                parser.parse_punctuation("=")
                return name, tuple(parser.parse_dimension_list())

        with parser.in_angle_brackets():
            return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, mesh))

    def print_parameter(self, printer: Printer) -> None:
        texts = (f'<"{name}" = {"x".join(map(str, sizes))}>' for name, sizes in self.data)
        printer.print_string(f"<[{', '.join(texts)}]>")


@irdl_attr_definition
class SystemDescAttr(RawAttr):
    """The hosts and chips that a module is compiled for, in upstream's text."""

    name = "ttcore.system_desc"


@irdl_attr_definition
class DeviceAttr(RawAttr):
    """Grids, address maps, mesh and chips of a device, in upstream's text."""

    name = "ttcore.device"


@irdl_attr_definition
class TupleType(ParametrizedAttribute, TypeAttribute):
    """Type of several tensors as one value, ``!ttcore.tuple<tensor<2xf32>, tensor<3xf32>>``."""

    name = "ttcore.tuple"
    types: ArrayAttr[Attribute] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return [ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_type))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.types.data, printer.print_attribute)


REDUCE_TYPE = enumeration("#ttcore.reduce_type<...>", ReduceTypeAttr)
SHARD_DIRECTION = enumeration("#ttcore.shard_direction<...>", MeshShardDirectionAttr)
SHARD_TYPE = enumeration("#ttcore.shard_type<...>", MeshShardTypeAttr)
TOPOLOGY = enumeration("#ttcore.topology<...>", TopologyAttr)
MASK_TYPE = enumeration("#ttcore.attention_mask_type<...>", AttentionMaskAttr)
MOE_ACTIVATION = enumeration("#ttcore.moe_activation_function<...>", MoEActivationAttr)
DTYPE = enumeration("#ttcore.supportedDataTypes<...>", DataTypeAttr)
DICTIONARY: PropertyKind[DictionaryAttr] = PropertyKind(
    "a dictionary", lambda value: value, lambda attr: attr, DictionaryAttr
)
DEVICE: PropertyKind[str] = PropertyKind(
    "#ttcore.device<...>", lambda value: DeviceAttr(value), lambda attr: attr.data, DeviceAttr
)


class _ModuleOfModule(TTOp, ABC):
    """An op that holds one builtin module in its region."""

    body = region_def("single_block")
    traits = traits_def(NoTerminator(), IsolatedFromAbove(), SymbolTable())

    @property
    def module(self) -> ModuleOp:
        """The module inside."""
        module = self.body.block.first_op
        assert isinstance(module, ModuleOp)
        return module

    def verify_(self) -> None:
        ops = list(self.body.block.ops)
        if len(ops) != 1 or not isinstance(ops[0], ModuleOp):
            self.fail(f"expected one builtin.module, got {', '.join(op.name for op in ops) or 'nothing'}")

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> _ModuleOfModule:
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        return cls.create(regions=[region], attributes=attributes.data if attributes else {})


@irdl_op_definition
class DeviceModuleOp(_ModuleOfModule):
    """Holds the functions that run on the device."""

    name = "ttcore.device_module"


@irdl_op_definition
class CPUModuleOp(_ModuleOfModule):
    """Holds the functions that run on the host."""

    name = "ttcore.cpu_module"


@irdl_op_definition
class DeviceOp(TTOp):
    """Declares a device by name, ``ttcore.device @default_device = <...>``."""

    name = "ttcore.device"
    sym_name = prop_def(STR)
    device_attr = prop_def(DEVICE)
    traits = traits_def(SymbolOpInterface())

    def verify_(self) -> None:
        if "workerGrid" not in self.device_attr:
            self.fail("device_attr has no workerGrid")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" @{self.sym_name} = <{self.device_attr}>")

    @classmethod
    def parse(cls, parser: Parser) -> DeviceOp:
        name = parser.parse_symbol_name()
        parser.parse_punctuation("=")
        device = DeviceAttr(DeviceAttr.parse_parameter(parser))
        return cls.create(properties={"sym_name": StringAttr(name.data), "device_attr": device})


@irdl_op_definition
class LoadCachedOp(TTOp):
    """Returns the results of a const-eval function, which runs only when an input has changed."""

    name = "ttcore.load_cached"
    inputs = var_operand_def()
    callee = prop_def(SYMBOL)
    outputs = var_result_def()
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_attribute(self.properties["callee"])
        printer.print_string(", [")
        printer.print_list(self.inputs, printer.print_ssa_value)
        printer.print_string("]) : ")
        printer.print_attribute(
            FunctionType.from_lists([value.type for value in self.inputs], [value.type for value in self.outputs])
        )

    @classmethod
    def parse(cls, parser: Parser) -> LoadCachedOp:
        parser.parse_punctuation("(")
        callee = parser.parse_symbol_name()
        parser.parse_punctuation(",")
        names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        parser.parse_punctuation(")")
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        if not isinstance(type_, FunctionType):
            parser.raise_error("expected a function type")
        operands = parser.resolve_operands(names, type_.inputs.data, parser.pos)
        return cls.create(
            operands=operands,
            result_types=type_.outputs.data,
            properties={"callee": SymbolRefAttr(callee, ArrayAttr([]))},
        )


@irdl_op_definition
class OptimizationBarrierOp(TTOp):
    """Returns its operands; no pass may look through it."""

    name = "ttcore.optimization_barrier"
    inputs = var_operand_def()
    outputs = var_result_def()

    def verify_(self) -> None:
        if [value.type for value in self.operands] != [value.type for value in self.results]:
            self.fail(
                f"results have types {', '.join(str(value.type) for value in self.results)}, "
                f"expected {', '.join(str(value.type) for value in self.operands)}, the operands' types"
            )


@irdl_op_definition
class CompositeOp(TTOp):
    """Calls an op by name, ``composite "name"(%a) decomposition(@f)``; the function ``f`` defines its meaning."""

    name = "ttcore.composite"
    inputs = var_operand_def()
    composite_name = prop_def(STR)
    decomposition = prop_def(SYMBOL)
    composite_attributes = opt_prop_def(DICTIONARY)
    outputs = var_result_def()

    def verify_(self) -> None:
        if not self.composite_name:
            self.fail("composite_name is empty, expected a name")


@irdl_op_definition
class TupleOp(TTOp):
    """Joins several tensors in one value."""

    name = "ttcore.tuple"
    inputs = var_operand_def()
    result = result_def(TupleType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        members = self.result.type
        if list(members.types) != [value.type for value in self.operands]:
            self.fail(f"result has type {members}, expected a tuple of the operands' types")


@irdl_op_definition
class GetTupleElementOp(TTOp):
    """Returns one tensor of a tuple."""

    name = "ttcore.get_tuple_element"
    operand = operand_def(TupleType)
    index = prop_def(I32)
    result = result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        members, index = self.operand.type, self.index
        types = members.types.data if isinstance(members, TupleType) else ()
        if not 0 <= index < len(types):
            self.fail(f"index is {index}, expected 0 to {len(types) - 1}, a member of {members}")
        if self.result.type != types[index]:
            self.fail(f"result has type {self.result.type}, expected {types[index]}")


@irdl_op_definition
class GlobalOp(TTOp):
    """Declares a value that functions share by name."""

    name = "ttcore.global"
    sym_name = prop_def(STR)
    type_ = irdl.prop_def(prop_name="type")
    index = opt_prop_def(SI32)
    traits = traits_def(SymbolOpInterface())

    def verify_(self) -> None:
        if not self.sym_name:
            self.fail("sym_name is empty, expected a name")


@irdl_op_definition
class GetGlobalOp(TTOp):
    """Returns the value of a global."""

    name = "ttcore.get_global"
    sym_name = prop_def(STR)
    result = result_def()


@irdl_op_definition
class SetKeyValueOp(TTOp):
    """Stores tensors under a key of a dictionary."""

    name = "ttcore.set_key_value"
    dict_ = operand_def()
    values_ = var_operand_def()
    key = prop_def(STR)


@irdl_op_definition
class GetKeyValueOp(TTOp):
    """Returns the tensors under a key of a dictionary."""

    name = "ttcore.get_key_value"
    dict_ = operand_def()
    key = prop_def(STR)
    outputs = var_result_def()


def device_module(module: ModuleOp) -> ModuleOp:
    """Returns the module of the functions for the device: the one inside ``ttcore.device_module``, or ``module``."""
    for op in module.body.block.ops:
        if isinstance(op, DeviceModuleOp):
            return op.module
    return module


def in_device_module(module: ModuleOp) -> tuple[ModuleOp, ModuleOp]:
    """Returns a module that holds a copy of ``module`` inside ``ttcore.device_module``, and the copy."""
    inner = module.clone()
    return ModuleOp([DeviceModuleOp.create(regions=[Region(Block([inner]))])], dict(module.attributes)), inner


TTCore = Dialect(
    "ttcore",
    [
        LoadCachedOp,
        DeviceModuleOp,
        CPUModuleOp,
        DeviceOp,
        OptimizationBarrierOp,
        CompositeOp,
        TupleOp,
        GetTupleElementOp,
        GlobalOp,
        GetGlobalOp,
        SetKeyValueOp,
        GetKeyValueOp,
        WhileLoopOp,
        CaseOp,
    ],
    [
        LoopBoundAttr,
        TileType,
        TupleType,
        ArgumentTypeAttr,
        DataTypeAttr,
        ReduceTypeAttr,
        MeshShardDirectionAttr,
        MeshShardTypeAttr,
        ShardStatusAttr,
        TopologyAttr,
        AttentionMaskAttr,
        MoEActivationAttr,
        TensorMeshAttr,
        MeshesAttr,
        SystemDescAttr,
        DeviceAttr,
    ],
)
