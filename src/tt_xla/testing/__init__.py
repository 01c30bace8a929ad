"""Testers that compare ops, graphs and models on ``tt`` with the CPU, for JAX and PyTorch; see docs/testing.md.

Every pytest run imports this package through the pytest plugin. Therefore each name is imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt_xla.testing.comparison import (
        AllcloseConfig as AllcloseConfig,
    )
    from tt_xla.testing.comparison import (
        AtolConfig as AtolConfig,
    )
    from tt_xla.testing.comparison import (
        ComparisonConfig as ComparisonConfig,
    )
    from tt_xla.testing.comparison import (
        ComparisonResult as ComparisonResult,
    )
    from tt_xla.testing.comparison import (
        EqualConfig as EqualConfig,
    )
    from tt_xla.testing.comparison import (
        PccConfig as PccConfig,
    )
    from tt_xla.testing.comparison import (
        RelL2Config as RelL2Config,
    )
    from tt_xla.testing.comparison import (
        compare as compare,
    )
    from tt_xla.testing.comparison import (
        pcc as pcc,
    )
    from tt_xla.testing.compiler_config import CompilerConfig as CompilerConfig
    from tt_xla.testing.frameworks import Framework as Framework
    from tt_xla.testing.frameworks import random_image as random_image
    from tt_xla.testing.frameworks import random_tensor as random_tensor
    from tt_xla.testing.jax_meshes import ShardingMode as ShardingMode
    from tt_xla.testing.jax_meshes import enable_shardy as enable_shardy
    from tt_xla.testing.jax_meshes import make_partition_spec as make_partition_spec
    from tt_xla.testing.jax_meshes import (
        run_jax_multichip_graph_test_with_random_inputs as run_jax_multichip_graph_test_with_random_inputs,
    )
    from tt_xla.testing.jax_meshes import (
        run_jax_multichip_op_test_with_random_inputs as run_jax_multichip_op_test_with_random_inputs,
    )
    from tt_xla.testing.jax_meshes import serialize_jax_multichip_op as serialize_jax_multichip_op
    from tt_xla.testing.jax_meshes import (
        serialize_jax_multichip_op_with_random_inputs as serialize_jax_multichip_op_with_random_inputs,
    )
    from tt_xla.testing.jax_model import JaxModelTester as JaxModelTester
    from tt_xla.testing.linen_meshes import (
        initialize_flax_linen_parameters_on_cpu as initialize_flax_linen_parameters_on_cpu,
    )
    from tt_xla.testing.linen_meshes import (
        make_flax_linen_parameters_partition_specs_on_cpu as make_flax_linen_parameters_partition_specs_on_cpu,
    )
    from tt_xla.testing.model_tester import ModelTester as ModelTester
    from tt_xla.testing.model_tester import RunMode as RunMode
    from tt_xla.testing.ops import (
        GraphTester as GraphTester,
    )
    from tt_xla.testing.ops import (
        OpTester as OpTester,
    )
    from tt_xla.testing.ops import (
        run_graph_test as run_graph_test,
    )
    from tt_xla.testing.ops import (
        run_graph_test_with_random_inputs as run_graph_test_with_random_inputs,
    )
    from tt_xla.testing.ops import (
        run_op_test as run_op_test,
    )
    from tt_xla.testing.ops import (
        run_op_test_with_random_inputs as run_op_test_with_random_inputs,
    )
    from tt_xla.testing.torch_meshes import enable_spmd as enable_spmd
    from tt_xla.testing.torch_meshes import get_mesh as get_mesh
    from tt_xla.testing.torch_model import TorchModelTester as TorchModelTester
    from tt_xla.testing.workload import Workload as Workload

_NAMES_BY_MODULE = {
    "comparison": (
        "AllcloseConfig",
        "AtolConfig",
        "ComparisonConfig",
        "ComparisonResult",
        "EqualConfig",
        "PccConfig",
        "RelL2Config",
        "compare",
        "pcc",
    ),
    "compiler_config": ("CompilerConfig",),
    "frameworks": ("Framework", "random_image", "random_tensor"),
    "jax_meshes": (
        "ShardingMode",
        "enable_shardy",
        "make_partition_spec",
        "run_jax_multichip_graph_test_with_random_inputs",
        "run_jax_multichip_op_test_with_random_inputs",
        "serialize_jax_multichip_op",
        "serialize_jax_multichip_op_with_random_inputs",
    ),
    "jax_model": ("JaxModelTester",),
    "linen_meshes": (
        "initialize_flax_linen_parameters_on_cpu",
        "make_flax_linen_parameters_partition_specs_on_cpu",
    ),
    "model_tester": ("ModelTester", "RunMode"),
    "ops": (
        "GraphTester",
        "OpTester",
        "run_graph_test",
        "run_graph_test_with_random_inputs",
        "run_op_test",
        "run_op_test_with_random_inputs",
    ),
    "torch_meshes": ("enable_spmd", "get_mesh"),
    "torch_model": ("TorchModelTester",),
    "workload": ("Workload",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
