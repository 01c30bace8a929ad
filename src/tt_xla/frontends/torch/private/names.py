"""The private names of PyTorch that this package uses: what each part needs them for, and what is off without them.

A private name may go with any release. Each module of this folder takes its names while it is imported, within
:func:`names_of`, so that a name which is gone is noticed before anything is computed and becomes a
:class:`~tt_xla.errors.PyTorchVersionError` that says what is off. A part that only makes things faster is loaded by
:func:`optional`: one line of the log says that it is off, and everything else goes on.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType

import torch

from tt_xla.errors import PyTorchVersionError
from tt_xla.log import logger


@dataclass(frozen=True)
class Part:
    """The work of one module of this folder.

    Attributes:
        off: what does not work without it, as the subject of a sentence.
        names: purpose of each private name, by its full name. Members of a class count with the class. PyTorch has had
            them since 2.13 or longer, unless the purpose says otherwise.
    """

    off: str
    names: Mapping[str, str]


_DEVICE = "The device tt"
_COMPILER = "torch.compile(backend='tt')"

PARTS: Mapping[str, Part] = {
    "dispatcher": Part(
        _DEVICE,
        {
            "torch._C.DispatchKey": "autocast of the device in operators that take functions; storages of its tensors",
            "torch._C.DispatchKeySet": "calls the CPU's kernels of ops that change sizes and strides alone",
            "torch._C._current_graph_task_id": "tells DistributedDataParallel that its own memory is pinned",
            "torch._C._PreserveDispatchKeyGuard": "computes shapes where PyTorch has its modes off",
            "torch._C._dispatch_tls_set_dispatch_key_excluded": "computes shapes where PyTorch has its modes off",
            "torch._C._dispatch_get_registrations_for_dispatch_key": "finds ops, and kernels that allocate results",
            "torch._C._dynamo.eval_frame.set_eval_frame": "keeps dynamo from tracing our kernels",
            "torch._ops._higher_order_ops": "lets torch.cond pass autocast of the device",
            "torch.autograd._engine_run_backward": "runs backward passes of several chips in the calling thread",
        },
    ),
    "device_guard": Part(
        _DEVICE,
        {
            "torch.utils.backend_registration._DummyDeviceGuard": "guard of a device written in Python",
            "torch.utils.backend_registration._DummyPrivateUse1Hook": "hooks of a device written in Python",
        },
    ),
    "functions": Part(
        _DEVICE,
        {
            "torch._decomp.decomposition_table": "PyTorch's decompositions of ops",
            "torch._higher_order_ops.flex_attention.math_attention": "flex attention in plain ops",
            "torch.profiler._ExperimentalConfig": "profiles of all threads",
            "torch.utils._python_dispatch._disable_current_modes": "computes with real tensors while PyTorch traces",
            "torch.utils._pytree.tree_flatten": "leaves of nested containers",
            "torch.utils._pytree.treespec_dumps": "the form of exported programs' inputs as text",
            "torch.utils._pytree.treespec_loads": "the form of exported programs' inputs from text",
            "torch.utils.backend_registration._setup_privateuseone_for_python_backend": "registers the device",
        },
    ),
    "fake": Part(
        _DEVICE,
        {
            "torch._subclasses.fake_tensor.FakeTensor": "shapes and dtypes of the results of recorded ops",
            "torch._subclasses.fake_tensor.FakeTensorMode": "shapes and dtypes of the results of recorded ops",
        },
    ),
    "patches": Part(
        _DEVICE,
        {
            "torch._tensor_str._tensor_str": "copies a tensor to the host before it is printed",
            "torch.distributed.device_mesh.DeviceMesh._get_mesh_tensor_from_full_mesh": "slices of a mesh of chips",
            "torch.distributed.tensor._api._dtensor_init_helper": "makes tensors that chips of one process share",
            "torch.nn.attention.flex_attention._validate_device": "lets flex_attention take tensors of the device",
            "torch._C.DispatchKey": "corrects multilabel_margin_loss",
        },
    ),
    "storages": Part(
        _DEVICE,
        {
            "torch.TypedStorage._new_wrapped_storage": "makes deep copies of tensors",
            "torch.UntypedStorage._swap_data_ptr_": "resizes a storage of the device",
        },
    ),
    "function_modes": Part(
        "torch.tt.set_device and torch_xla's replicas",
        {
            "torch.overrides._get_current_function_mode_stack": "finds the default device of a thread",
            "torch.utils._device.DeviceContext": "finds the default device of a thread",
            "torch.utils._device._device_constructors": "finds functions that take the default device",
        },
    ),
    "guards": Part(
        _COMPILER,
        {
            "torch._guards.TracingContext": "what AOTAutograd knows about aliases and writes of a graph",
        },
    ),
    "functorch": Part(
        _COMPILER,
        {"torch._functorch._aot_autograd.schemas.PlainTensorMeta": "finds graphs that need no wrappers of AOTAutograd"},
    ),
    "dynamo": Part(
        _COMPILER,
        {
            "torch._dynamo.config": "settings of dynamo",
            "torch._dynamo.convert_frame.compile_lock": "one thread at a time traces",
            "torch._dynamo.guards.GuardBuilder": "compiles again for other shapes of tensors that chips share",
            "torch._dynamo.trace_rules.add": "keeps dynamo from tracing modules of this package",
            "torch._dynamo.utils.counters": "compiles models in DistributedDataParallel with several buckets",
            "torch._dynamo.variables.builder.VariableBuilder": "breaks graphs at generators of the device",
        },
    ),
    "dynamo_patches": Part(
        _COMPILER,
        {
            "torch._dynamo.config": "the recompile limit of frames of tt",
            "torch._dynamo.convert_frame": "hooks that want to see a trace",
            "torch._dynamo.convert_frame._compile": "settings for frames of tt, and a stored trace in place of tracing",
            "torch._dynamo.symbolic_convert.InstructionTranslator": "the trace whose graph is compiled",
        },
    ),
    "aot_cache": Part(
        _COMPILER,
        {
            "torch._functorch._aot_autograd.autograd_cache.AOTAutogradCache": "keeps traced graphs across processes",
            "torch._functorch._aot_autograd.autograd_cache.AOTAutogradCacheDetails": "keys of traced graphs",
            "torch._functorch.config": "turns the cache on for graphs of tt",
            "torch._inductor.config": "functions that a kept graph may call",
            "torch._inductor.output_code.OutputCode": "class of compiled graphs that can be kept",
        },
    ),
    "frames": Part(
        "The cache of functions that dynamo traced",
        {
            "torch._dynamo.config": "settings that a stored trace depends on",
            "torch._dynamo.convert_frame.orig_code_map": "lets PyTorch log why it compiles a stored trace again",
            "torch._dynamo.guards.CheckFunctionManager": "makes the guards of a stored trace",
            "torch._dynamo.output_graph.OutputGraphCommon": "what guards are made from",
            "torch._dynamo.source.is_from_skip_guard_source": "finds variables that no guard covers",
            "torch._dynamo.types.GuardedCode": "gives dynamo a stored trace",
            "torch._dynamo.types.wrap_guarded_code": "gives dynamo a stored trace",
            "torch._dynamo.variables.functions.PolyfilledFunctionVariable": "finds functions that dynamo calls itself",
            "torch._functorch.config": "settings that a stored trace depends on",
        },
    ),
    "stamping": Part(
        "Tracing one of several equal layers",
        {
            "torch._functorch._aot_autograd.graph_capture_wrappers": "the interpreter that AOTAutograd traces with",
            "torch._subclasses.functional_tensor.FunctionalTensor": "results of the layers that are copied",
        },
    ),
    "artifacts": Part(
        "torch.compiler.save_cache_artifacts for programs of tt",
        {
            "torch.compiler._cache.CacheArtifact": "a program as an artifact",
            "torch.compiler._cache.CacheArtifactFactory": "registers the kind of artifact",
            "torch.compiler._cache.CacheArtifactManager": "records an artifact",
        },
    ),
    "dtensor": Part(
        "torch_xla's XLAShardedTensor",
        {
            "torch.Tensor._make_subclass": "a tensor of the class over another one's memory, no view for autograd",
        },
    ),
    "process_groups": Part(
        "torch_xla's process group",
        {
            "torch._C._distributed_c10d._set_thread_isolation_mode": "process groups of the replicas in one process",
            "torch.nn.parallel.DistributedDataParallel._active_ddp_module": "ends forward passes of replicas",
            "torch.testing._internal.distributed.multi_threaded_pg._install_threaded_pg": "groups of the replicas",
        },
    ),
    "rng_regions": Part(
        "random numbers of DTensors on tt",
        {
            "torch.distributed.tensor._random.OffsetBasedRNGTracker": "numbers of a shard",
        },
    ),
    "checkpoints": Part(
        "torch_xla's distributed checkpoints",
        {
            "torch.distributed.checkpoint._fsspec_filesystem.FsspecReader": "reads any file system; public since 2.15",
            "torch.distributed.checkpoint._fsspec_filesystem.FsspecWriter": "writes any file system; public since 2.15",
        },
    ),
}
"""Parts by the names of the modules of this folder."""


@contextlib.contextmanager
def names_of(module: str) -> Iterator[None]:
    """Context manager in which a module of this folder takes its private names.

    Args:
        module: name of the module, a key of :data:`PARTS`.

    Raises:
        PyTorchVersionError: PyTorch lacks one.
    """
    try:
        yield
    except (ImportError, AttributeError) as error:
        raise PyTorchVersionError(
            f"{PARTS[module].off} is off: PyTorch {torch.__version__} lacks {_name_in(error)}, a private name that "
            "this version of tt-xla uses.",
            hint="Install a version of tt-xla for this PyTorch, or one of the PyTorchs in docs/install.md.",
        ) from error


def _name_in(error: ImportError | AttributeError) -> str:
    """Returns the full name of what an error says is missing."""
    if isinstance(error, AttributeError):
        owner = error.obj
        is_class = isinstance(owner, type)
        return f"{f'{owner.__module__}.{owner.__qualname__}' if is_class else owner.__name__}.{error.name}"
    imported = re.search(r"cannot import name '(\w+)'", str(error))
    return f"{error.name}.{imported[1]}" if imported else str(error.name)


@functools.cache
def optional(module: str) -> ModuleType | None:
    """Returns a module of this folder; None, which the log says once, if PyTorch lacks a name that it needs."""
    try:
        return importlib.import_module(f"{__package__}.{module}")
    except PyTorchVersionError as error:
        logger().warning("%s", error)
        return None


__all__ = ["PARTS", "Part", "names_of", "optional"]
