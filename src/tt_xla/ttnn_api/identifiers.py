"""Numbers that name what calls make, and the classes that programs of TT-NN name in their annotations."""

from __future__ import annotations

from dataclasses import dataclass

from tt_xla.ttnn_api.configs import Config, WormholeComputeKernelConfig
from tt_xla.ttnn_api.topology import MeshCoordinateRange

__all__ = ["DeviceComputeKernelConfig", "MeshEvent", "MeshTraceId", "QueueId", "SoftmaxProgramConfig"]


class _Number(int):
    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"


class QueueId(_Number):
    """The number of a command queue."""


class MeshTraceId(_Number):
    """The number of a trace."""


@dataclass(frozen=True)
class MeshEvent:
    """The end of the calls so far. On the emulated card they have ended when the event is recorded."""

    id: int
    device_id: int
    mesh_cq_id: int
    device_range: MeshCoordinateRange

    def __repr__(self) -> str:
        fields = f"id={self.id}, device_id={self.device_id}, mesh_cq_id={self.mesh_cq_id}"
        return f"MeshEvent({fields}, device_range={self.device_range})"


DeviceComputeKernelConfig = WormholeComputeKernelConfig
SoftmaxProgramConfig = Config
