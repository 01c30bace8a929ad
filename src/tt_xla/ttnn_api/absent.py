"""Functions of TT-NN that have no meaning on an emulated card, with the reason."""

from __future__ import annotations

from fnmatch import fnmatchcase

_KERNELS = "the emulated card runs no kernels of a user's own"
_FABRIC = "the emulated links have no routers or packets that a program could address"
_SOCKETS = "a mesh lies in one process, and tensors go from chip to chip by collectives"
_PROFILER = "there is no device whose profiler could be read; device.predicted_us and `tt-xla report` tell times"
_LIGHT_METAL = "there are no binary commands that could be recorded; a trace replays calls"
_PREFETCHER = "there are no cores that read weights ahead; the cost model does not know them"
_REGISTRATION = "ttnn.register_operation and the real package's own loader use it; ours are rules of tt_xla.ttnn_api"
_DEBUGGING = "there is no hardware that could hang, lag behind or be dispatched to in another way"
_PROGRAMS = "the emulated card chooses no programs of kernels for a product"
_REPORTS = "it serves the reports and databases of the real package's own tools; `tt-xla report` and captures tell here"
_TRACER = "PyTorch draws and exports models; ttnn.graph captures calls of ttnn, and `tt-xla codegen` writes Python"
_PROCESSES = "a mesh lies in one process; TTXLA_MESH_WORKERS spreads compiled programs over processes"

REASONS = {
    "ttnn.*program_descriptor*": _KERNELS,
    "ttnn.generic_op": _KERNELS,
    "ttnn.cb_descriptor_from_sharded_tensor": _KERNELS,
    "ttnn.get_cb_address": _KERNELS,
    "ttnn.attach_absent_mcast": _KERNELS,
    "ttnn.experimental.prepare_generic_op": _KERNELS,
    "ttnn.*fabric_*": _FABRIC,
    "ttnn.*_fabric*": _FABRIC,
    "ttnn.FabricRouterConfig": _FABRIC,
    "ttnn.get_eth_forwarding_direction": _FABRIC,
    "ttnn.get_forwarding_link_indices": _FABRIC,
    "ttnn.setup_routing_plane_connection": _FABRIC,
    "ttnn.*socket*": _SOCKETS,
    "ttnn.*Socket*": _SOCKETS,
    "ttnn.experimental.send_*": _SOCKETS,
    "ttnn.experimental.recv_*": _SOCKETS,
    "ttnn.*tracy*": _PROFILER,
    "ttnn.*perf_data": _PROFILER,
    "ttnn.ReadDeviceProfiler": _PROFILER,
    "ttnn.light_metal_*": _LIGHT_METAL,
    "ttnn.*prefetcher*": _PREFETCHER,
    "ttnn.*global_circular_buffer*": _PREFETCHER,
    "ttnn.graph.*": _REPORTS,
    "ttnn.register_*_operation": _REGISTRATION,
    "ttnn.auto_register_*": _REGISTRATION,
    "ttnn.create_module_if_not_exists": _REGISTRATION,
    "ttnn.SetRootDir": _REGISTRATION,
    "ttnn.test_hang_device_operation": _DEBUGGING,
    "ttnn.apply_device_delay": _DEBUGGING,
    "ttnn.dump_stack_trace_on_segfault": _DEBUGGING,
    "ttnn.*able_asynchronous_slow_dispatch": _DEBUGGING,
    "ttnn.create_matmul_attributes": _PROGRAMS,
    "ttnn.matmul_select_program_factory": _PROGRAMS,
    "ttnn.*distributed_context*": _PROCESSES,
    "ttnn.*distributed_env": _PROCESSES,
}
"""Reason by the names that a pattern of ``fnmatch`` matches."""


_OF_KERNELS = """
CBDescriptor CBFormatDescriptor ComputeConfigDescriptor DataMovementConfigDescriptor DataMovementProcessor FaceGeometry
KernelDescriptor MeshProgramDescriptor NOC_MODE OverlappedTensor ProgramDescriptor ReaderConfigDescriptor RuntimeArgs
RuntimeArgsColProxy SemaphoreDescriptor TensorAccessorArgs TileDescriptor UnpackToDestMode WriterConfigDescriptor
Mcast McastCoreOrder McastDataReady McastSenderPlacement
"""
_OF_FABRIC = """
FabricManagerMode FabricNodeId FabricReliabilityMode FabricTensixConfig FabricType FabricUDMMode MeshId
"""
_OF_SOCKETS = """
D2DStageGateDescriptor D2DStageGateMode D2DStreamService D2DStreamServiceReceiver D2DStreamServiceSender D2HSocket
D2HStreamService H2DMode H2DSocket H2DStreamService InterProcessCounterChannel LayerAckService MeshCoreCoord MeshSocket
MMSignalAggregatorMode SocketConnection SocketEndpoint TransferMode
"""
_OF_PROCESSES = "Rank Size SubcontextId"
_OF_PROGRAMS = """
LayerNormDeviceOperation LayerNormInputs LayerNormMultiCoreProgramFactory LayerNormParams LayerNormShardedProgramFactory
MatmulDeviceOperation MatmulInputs MatmulParams SliceDeviceOperation SliceInputs SliceParams SliceTileProgramFactory
"""

CLASSES = {
    f"ttnn.{name}": why
    for names, why in (
        (_OF_KERNELS, _KERNELS),
        (_OF_FABRIC, _FABRIC),
        (_OF_SOCKETS, _SOCKETS),
        (_OF_PROCESSES, _PROCESSES),
        (_OF_PROGRAMS, _PROGRAMS),
        ("LightMetalReplay", _LIGHT_METAL),
        ("torch_tracer tracer", _TRACER),
        ("PagedCacheGeometryOverride RoutedExpertActivation", ""),
    )
    for name in names.split()
}
"""Reason by the full name of a class or a module of TT-NN that is absent."""


def reason(name: str) -> str:
    """Returns the reason for which a name of TT-NN is absent; empty where it is only not there yet."""
    found = (why for pattern, why in REASONS.items() if fnmatchcase(name, pattern))
    return CLASSES.get(name) or next(found, "")
