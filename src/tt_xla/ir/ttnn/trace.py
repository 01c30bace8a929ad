"""Ops that record device work once and replay it. Source: tt-mlir ``TTNNOps.td``."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, I32, SYMBOL, UI32, defaulted, prop_def, ui32
from tt_xla.ir.ttnn.attributes import DeviceType, TraceIdAttr
from tt_xla.ir.ttnn.base import TTNNOp

TRACE_ID = TensorType(ui32, [], TraceIdAttr())
"""Type of the number of a trace."""


class _Queued(TTNNOp, ABC):
    """An op that acts on a trace of a device, through the command queue ``cq_id``."""

    device = operand_def(DeviceType)
    cq_id = defaulted(UI32, 0)

    def verify_(self) -> None:
        super().verify_()
        for value in (*self.operands, *self.results):
            if not isinstance(value.type, DeviceType) and value.type != TRACE_ID:
                self.fail(f"expected {TRACE_ID}, got {value.type}")


@irdl_op_definition
class BeginTraceCaptureOp(_Queued):
    """Starts to record device work."""

    name = "ttnn.begin_trace_capture"
    trace_id = result_def()


@irdl_op_definition
class EndTraceCaptureOp(_Queued):
    """Ends the record."""

    name = "ttnn.end_trace_capture"
    device = operand_def(DeviceType)
    trace_id = operand_def()


@irdl_op_definition
class ExecuteTraceOp(_Queued):
    """Replays a record."""

    name = "ttnn.execute_trace"
    device = operand_def(DeviceType)
    trace_id = operand_def()
    blocking = defaulted(BOOL, False)


@irdl_op_definition
class CaptureOrExecuteTraceOp(TTNNOp):
    """Runs a traced function.

    The first run calls ``allocate_slots_callee``, which creates the slots, the tensors that receive inputs and hold
    outputs, and ``capture_callee``, which runs the function and records it. Later runs call ``execute_callee``, which
    replays the record. The first ``device_resident_input_count`` inputs already lie where the record expects them; the
    others are written to slots.
    """

    name = "ttnn.capture_or_execute_trace"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    device = operand_def(DeviceType)
    inputs = var_operand_def(TensorType)
    semaphore_inputs = var_operand_def()
    allocate_slots_callee = prop_def(SYMBOL)
    capture_callee = prop_def(SYMBOL)
    execute_callee = prop_def(SYMBOL)
    device_resident_input_count = defaulted(I32, 0)
    outputs = var_result_def(TensorType)

    def verify_(self) -> None:
        super().verify_()
        count = self.device_resident_input_count
        if not 0 <= count <= len(self.inputs):
            self.fail(f"device_resident_input_count is {count}, expected 0 to {len(self.inputs)}, the number of inputs")


@irdl_op_definition
class WriteTensorOp(TTNNOp):
    """Writes a host tensor into the memory of a device tensor."""

    name = "ttnn.write_tensor"
    host_tensor = operand_def(TensorType)
    device_tensor = operand_def(TensorType)
    blocking = defaulted(BOOL, False)
    cq_id = defaulted(UI32, 0)

    def verify_(self) -> None:
        super().verify_()
        if shape(self.host_tensor) != shape(self.device_tensor):
            self.fail(
                f"host_tensor has shape {shape(self.host_tensor)}, expected device_tensor's {shape(self.device_tensor)}"
            )


@irdl_op_definition
class CopyOp(TTNNOp):
    """Writes the elements of ``src`` into the memory of ``dst``."""

    name = "ttnn.copy"
    src = operand_def(TensorType)
    dst = operand_def(TensorType)

    def verify_(self) -> None:
        super().verify_()
        if shape(self.src) != shape(self.dst):
            self.fail(f"src has shape {shape(self.src)}, expected dst's {shape(self.dst)}")


OPS = (
    BeginTraceCaptureOp,
    EndTraceCaptureOp,
    ExecuteTraceOp,
    CaptureOrExecuteTraceOp,
    WriteTensorOp,
    CopyOp,
)
