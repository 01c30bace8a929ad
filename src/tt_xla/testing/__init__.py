"""Testers that compare ops, graphs and models on ``tt`` with the CPU, for JAX and PyTorch; see docs/testing.md.

Every pytest run imports this package through the pytest plugin. Therefore each name is imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # type checkers and editors see the public names of each module
    from tt_xla.testing.comparison import *  # noqa: F403
    from tt_xla.testing.compiler_config import *  # noqa: F403
    from tt_xla.testing.frameworks import *  # noqa: F403
    from tt_xla.testing.jax_meshes import *  # noqa: F403
    from tt_xla.testing.jax_model import *  # noqa: F403
    from tt_xla.testing.linen_meshes import *  # noqa: F403
    from tt_xla.testing.model_tester import *  # noqa: F403
    from tt_xla.testing.ops import *  # noqa: F403
    from tt_xla.testing.torch_meshes import *  # noqa: F403
    from tt_xla.testing.torch_model import *  # noqa: F403

_NAMES = {
    "comparison": "AllcloseConfig AtolConfig ComparisonConfig ComparisonResult EqualConfig PccConfig RelL2Config "
    "compare pcc",
    "compiler_config": "CompilerConfig",
    "frameworks": "Framework random_image random_tensor",
    "jax_meshes": "ShardingMode enable_shardy make_partition_spec run_jax_multichip_graph_test_with_random_inputs "
    "run_jax_multichip_op_test_with_random_inputs serialize_jax_multichip_op "
    "serialize_jax_multichip_op_with_random_inputs",
    "jax_model": "JaxModelTester",
    "linen_meshes": "initialize_flax_linen_parameters_on_cpu make_flax_linen_parameters_partition_specs_on_cpu",
    "model_tester": "ModelTester RunMode",
    "ops": "GraphTester OpTester Workload run_graph_test run_graph_test_with_random_inputs run_op_test "
    "run_op_test_with_random_inputs",
    "torch_meshes": "enable_spmd get_mesh",
    "torch_model": "TorchModelTester",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
