"""Finds the files of this folder that serve as modules of ``torch_xla``."""

from __future__ import annotations

import importlib
import importlib.util
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

_FILES = {
    "torch_xla": "root.py",
    "torch_xla._XLAC": "extension.py",
    "torch_xla._dynamo.dynamo_backend2": "dynamo_backend2.py",
    "torch_xla._dynamo.config": "dynamo_config.py",
    "torch_xla._dynamo.dynamo_bridge": "dynamo_bridge.py",
    "torch_xla._internal.jax_workarounds": "jax_workarounds.py",
    "torch_xla._internal.pjrt": "pjrt.py",
    "torch_xla._internal.tpu": "tpu.py",
    "torch_xla.amp": "amp.py",
    "torch_xla.amp.syncfree": "syncfree.py",
    "torch_xla.backends": "backends.py",
    "torch_xla.core.dynamo_bridge": "dynamo_bridge.py",
    "torch_xla.core.functions": "functions.py",
    "torch_xla.core.xla_builder": "xla_builder.py",
    "torch_xla.core.xla_env_vars": "xla_env_vars.py",
    "torch_xla.core.xla_model": "xla_model.py",
    "torch_xla.core.xla_op_registry": "xla_op_registry.py",
    "torch_xla.debug.metrics": "metrics.py",
    "torch_xla.debug.metrics_compare_utils": "metrics_compare_utils.py",
    "torch_xla.debug.model_comparator": "model_comparator.py",
    "torch_xla.debug.profiler": "profiler.py",
    "torch_xla.distributed.data_parallel": "data_parallel.py",
    "torch_xla.distributed.fsdp": "fsdp.py",
    "torch_xla.distributed.fsdp.state_dict_utils": "fsdp_checkpoints.py",
    "torch_xla.distributed.fsdp.utils": "fsdp_utils.py",
    "torch_xla.distributed.fsdp.wrap": "fsdp_wrap.py",
    "torch_xla.distributed.fsdp.xla_fully_sharded_data_parallel": "fsdp_module.py",
    "torch_xla.distributed.parallel_loader": "parallel_loader.py",
    "torch_xla.distributed.spmd": "spmd.py",
    "torch_xla.distributed.spmd.api": "spmd_api.py",
    "torch_xla.distributed.spmd.debugging": "spmd_debugging.py",
    "torch_xla.distributed.spmd.xla_sharded_tensor": "xla_sharded_tensor.py",
    "torch_xla.distributed.spmd.xla_sharding": "xla_sharding.py",
    "torch_xla.distributed.xla_backend": "xla_backend.py",
    "torch_xla.distributed.xla_multiprocessing": "xla_multiprocessing.py",
    "torch_xla.distributed.zero_redundancy_optimizer": "zero_redundancy_optimizer.py",
    "torch_xla.experimental": "experimental.py",
    "torch_xla.experimental.assume_pure": "assume_pure.py",
    "torch_xla.experimental.callback": "callback.py",
    "torch_xla.experimental.custom_kernel": "custom_kernel.py",
    "torch_xla.experimental.deprecation": "deprecation.py",
    "torch_xla.experimental.distributed_checkpoint": "distributed_checkpoint.py",
    "torch_xla.experimental.distributed_checkpoint._helpers": "checkpoint_helpers.py",
    "torch_xla.experimental.eager": "eager.py",
    "torch_xla.experimental.fori_loop": "fori_loop.py",
    "torch_xla.experimental.gradient_accumulation": "gradient_accumulation.py",
    "torch_xla.experimental.gru": "gru.py",
    "torch_xla.experimental.mark_pattern_utils": "mark_pattern_utils.py",
    "torch_xla.experimental.pjrt": "pjrt.py",
    "torch_xla.experimental.pjrt_backend": "xla_backend.py",
    "torch_xla.experimental.plugins": "plugins.py",
    "torch_xla.experimental.scan": "scan.py",
    "torch_xla.experimental.scan_layers": "scan_layers.py",
    "torch_xla.experimental.spmd_fully_sharded_data_parallel": "spmd_fsdp.py",
    "torch_xla.experimental.stablehlo_custom_call": "host_offloading.py",
    "torch_xla.experimental.xla_marker": "xla_marker.py",
    "torch_xla.experimental.xla_mlir_debuginfo": "xla_mlir_debuginfo.py",
    "torch_xla.experimental.xla_quantized_matmul": "xla_quantized_matmul.py",
    "torch_xla.experimental.xla_sharding": "xla_sharding.py",
    "torch_xla.runtime": "runtime.py",
    "torch_xla.stablehlo": "stablehlo.py",
    "torch_xla.test.test_utils": "test_utils.py",
    "torch_xla.utils.buffer_donor_context": "buffer_donor_context.py",
    "torch_xla.utils.checkpoint": "checkpoint.py",
    "torch_xla.utils.closures": "closures.py",
    "torch_xla.utils.dlpack": "dlpack.py",
    "torch_xla.utils.serialization": "serialization.py",
    "torch_xla.utils.stablehlo_test_utils": "stablehlo_test_utils.py",
    "torch_xla.utils.utils": "utils.py",
}
"""The file that serves each module."""

_PACKAGES = {
    "torch_xla._dynamo",
    "torch_xla._internal",
    "torch_xla.core",
    "torch_xla.debug",
    "torch_xla.distributed",
    "torch_xla.test",
    "torch_xla.utils",
}
"""Packages that have modules and no names of their own."""

_PALLAS = (
    "Its kernels are for TPUs. torch.nn.functional.scaled_dot_product_attention runs as one op of the chip, and "
    "torch.ops.tt has its attention over paged caches and its other fused ops."
)
_REFUSED = {
    "torch_xla.experimental.custom_kernel": _PALLAS,
    "torch_xla.experimental.pallas_kernels": _PALLAS,
    "torch_xla.experimental.splash_attention": _PALLAS,
    "torch_xla.experimental.unbounded_dynamism_export": (
        "Its passes prepare graphs with symbolic sizes for XLA. exported_program_to_stablehlo takes them as they are."
    ),
    "torch_xla.tf_saved_model_integration": (
        "It writes files for TensorFlow. torch_xla.save_as_stablehlo writes StableHLO, which 'tt-xla compile' takes."
    ),
}
"""Modules that are there, so that scripts can import them, and whose names have no meaning here; and what to use."""

_WITH_SUBMODULES = _PACKAGES | {
    "torch_xla",
    "torch_xla.amp",
    "torch_xla.distributed.fsdp",
    "torch_xla.distributed.spmd",
    "torch_xla.experimental",
    "torch_xla.experimental.distributed_checkpoint",
}

_PROVIDED = "this torch_xla is the part of its API that tt-xla provides."


class _Loader(SourceFileLoader):
    """Loads a module from a file, or an empty one, and gives it an error for each name that it lacks."""

    def exec_module(self, module: ModuleType) -> None:
        if self.path:
            super().exec_module(module)
        vars(module).setdefault("__getattr__", partial(attribute, module.__name__))

    def is_package(self, fullname: str) -> bool:
        return fullname in _WITH_SUBMODULES


def find(name: str) -> ModuleSpec | None:
    """Returns the import spec of a module.

    Args:
        name: full name of the module, such as ``torch_xla.runtime``.

    Raises:
        ModuleNotFoundError: this package lacks the module. The real package may have it.
    """
    if name in _FILES:
        path = str(Path(__file__).with_name(_FILES[name]))
        spec = importlib.util.spec_from_file_location(name, path, loader=_Loader(name, path))
        if spec is not None and name in _WITH_SUBMODULES:
            spec.submodule_search_locations = []  # marks a package; its modules come from the tables, not from a folder
        return spec
    if name in _PACKAGES or name in _REFUSED:
        return ModuleSpec(name, _Loader(name, ""), is_package=name in _PACKAGES)
    raise ModuleNotFoundError(_reason(name), name=name)


def attribute(module: str, name: str) -> Any:
    """Imports and returns the submodule ``module.name``.

    Raises:
        AttributeError: there is no such submodule.
    """
    full = f"{module}.{name}"
    if full in _FILES or full in _PACKAGES or full in _REFUSED:
        return importlib.import_module(full)
    raise missing(module, name)


def missing(module: str, name: str) -> AttributeError:
    """Returns the error for a name that the real package may have and this one lacks."""
    return AttributeError(_reason(f"{module}.{name}"))


def _reason(name: str) -> str:
    """Returns the message about a module or name that is not there."""
    for module, instead in _REFUSED.items():
        if name.startswith(f"{module}."):
            return f"{name} has no meaning on this device. {instead}"
    return f"{name} is not available: {_PROVIDED} Installing the real torch_xla package replaces it."
