"""Ops that create, move, convert and free tensors. Source: tt-mlir ``TTNNOps.td``.

Only the layout of the result says where a moved tensor goes and in which data type.
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, F32, SCALAR, SI64, STR, UI32, defaulted, opt_prop_def, prop_def
from tt_xla.ir.ttnn.attributes import DeviceType
from tt_xla.ir.ttnn.base import TTNNOp
from tt_xla.ir.ttnn.configs import MESH_OFFSET, MESH_SHAPE, SHAPE
from tt_xla.ir.ttnn.trace import CaptureOrExecuteTraceOp as CaptureOrExecuteTraceOp


@irdl_op_definition
class GetDeviceOp(TTNNOp):
    """Returns the device that the program runs on."""

    name = "ttnn.get_device"
    mesh_shape = opt_prop_def(MESH_SHAPE)
    mesh_offset = opt_prop_def(MESH_OFFSET)
    device = result_def(DeviceType)
    traits = traits_def(Pure())


class _Move(TTNNOp, shared.TensorOp, ABC):
    """An op whose result has the elements of ``input`` in another place or form."""

    input = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        return shape(self.input)


@irdl_op_definition
class ToLayoutOp(_Move):
    """Tilizes or untilizes a tensor and converts it to the result's data type."""

    name = "ttnn.to_layout"


@irdl_op_definition
class ToMemoryConfigOp(_Move):
    """Moves a tensor to other memory of the device."""

    name = "ttnn.to_memory_config"


@irdl_op_definition
class ToTensorSpecOp(_Move):
    """Converts a tensor to the result's memory, tiling and data type, by whatever moves that takes."""

    name = "ttnn.to_tensor_spec"


@irdl_op_definition
class AssignOp(_Move):
    """Copies a tensor."""

    name = "ttnn.assign"


@irdl_op_definition
class TypecastOp(_Move):
    """Converts the data type."""

    name = "ttnn.typecast"


@irdl_op_definition
class ToDeviceOp(_Move):
    """Moves a tensor from the host to the device."""

    name = "ttnn.to_device"
    input = operand_def(TensorType)  # Repeated because inherited operands follow an op's own.
    device = operand_def(DeviceType)


@irdl_op_definition
class FromDeviceOp(_Move):
    """Moves a tensor from the device to the host."""

    name = "ttnn.from_device"


@irdl_op_definition
class FullOp(TTNNOp, shared.TensorOp):
    """Returns a tensor filled with ``fill_value``."""

    name = "ttnn.full"
    device = opt_operand_def(DeviceType)
    shape_ = prop_def(SHAPE, prop_name="shape")
    fill_value = prop_def(SCALAR)

    def result_shape(self) -> shapes.Shape:
        return self.shape_


@irdl_op_definition
class ArangeOp(TTNNOp, shared.TensorOp):
    """Counts start, start + step, ... below end, in one dimension."""

    name = "ttnn.arange"
    device = opt_operand_def(DeviceType)
    start = prop_def(SI64)
    end = prop_def(SI64)
    step = prop_def(SI64)

    def result_shape(self) -> shapes.Shape:
        step = self.step
        if step == 0:
            raise ValueError("step is 0, expected another number")
        return (max(0, -(-(self.end - self.start) // step)),)


@irdl_op_definition
class ConstantOp(TTNNOp, shared.Constant):
    """Returns elements that are given with the program."""

    name = "ttnn.constant"
    device = opt_operand_def(DeviceType)


@irdl_op_definition
class DeallocateOp(TTNNOp):
    """Frees the memory of a tensor."""

    name = "ttnn.deallocate"
    input = operand_def(TensorType)
    force = defaulted(BOOL, False)


class _Filled(TTNNOp, shared.TensorOp, ABC):
    """A tensor of one value."""

    device = opt_operand_def(DeviceType)
    shape_ = prop_def(SHAPE, prop_name="shape")

    def result_shape(self) -> shapes.Shape:
        return self.shape_


@irdl_op_definition
class ZerosOp(_Filled):
    """Returns zeros."""

    name = "ttnn.zeros"


@irdl_op_definition
class OnesOp(_Filled):
    """Returns ones."""

    name = "ttnn.ones"


@irdl_op_definition
class EmptyOp(TTNNOp, shared.TensorOp):
    """Returns a tensor whose elements are not set."""

    name = "ttnn.empty"
    device = operand_def(DeviceType)
    shape_ = prop_def(SHAPE, prop_name="shape")

    def result_shape(self) -> shapes.Shape:
        return self.shape_


@irdl_op_definition
class RandOp(TTNNOp, shared.TensorOp):
    """Draws numbers evenly from ``low`` to ``high``."""

    name = "ttnn.rand"
    device = operand_def(DeviceType)
    size = prop_def(SHAPE)
    low = defaulted(F32, 0.0)
    high = defaulted(F32, 1.0)
    seed = defaulted(UI32, 0)

    def result_shape(self) -> shapes.Shape:
        return self.size


@irdl_op_definition
class DumpTensorOp(TTNNOp):
    """Writes a tensor to a file."""

    name = "ttnn.dump_tensor"
    input = operand_def(TensorType)
    file_path = prop_def(STR)


@irdl_op_definition
class LoadTensorOp(TTNNOp, shared.TensorOp):
    """Reads a tensor from a file."""

    name = "ttnn.load_tensor"
    device = opt_operand_def(DeviceType)
    file_path = prop_def(STR)


OPS = (
    GetDeviceOp,
    ToLayoutOp,
    ToMemoryConfigOp,
    ToTensorSpecOp,
    AssignOp,
    TypecastOp,
    ToDeviceOp,
    FromDeviceOp,
    FullOp,
    ArangeOp,
    ConstantOp,
    DeallocateOp,
    ZerosOp,
    OnesOp,
    EmptyOp,
    RandOp,
    DumpTensorOp,
    LoadTensorOp,
)
