"""Tests of JAX programs for several chips, under upstream's names. CPU devices compute the expected results."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from tt_xla.errors import ExecutionError
from tt_xla.testing.comparison import ComparisonConfig, ComparisonResult, compare
from tt_xla.testing.compiler_config import CompilerConfig
from tt_xla.testing.frameworks import random_tensor


class ShardingMode(Enum):
    """Whether a test splits its inputs (``jax.device_put``), its function (``jax.shard_map``), or both."""

    INPUTS_AND_MODULE = 1
    MODULE = 2
    INPUTS = 3


def make_partition_spec(axis_names: Sequence[Any]) -> PartitionSpec:
    """Returns a partition spec with these axes."""
    return PartitionSpec(*axis_names)


@contextmanager
def enable_shardy(use_shardy: bool) -> Generator[None]:
    """Selects JAX's partitioner inside the ``with`` block: Shardy or GSPMD."""
    before = jax.config.jax_use_shardy_partitioner  # pyright: ignore[reportAttributeAccessIssue]
    jax.config.update("jax_use_shardy_partitioner", use_shardy)
    try:
        yield
    finally:
        jax.config.update("jax_use_shardy_partitioner", before)


def run_jax_multichip_op_test_with_random_inputs(
    executable: Callable[..., Any],
    input_shapes: Sequence[Sequence[int]],
    mesh_shape: Sequence[int],
    axis_names: Sequence[str],
    in_specs: Sequence[PartitionSpec],
    out_specs: PartitionSpec,
    use_shardy: bool,
    sharding_mode: ShardingMode,
    minval: float = 0.0,
    maxval: float = 1.0,
    comparison_config: ComparisonConfig | None = None,
    compiler_config: CompilerConfig | None = None,
    request: Any = None,
) -> ComparisonResult:
    """Runs a function on a mesh of chips and on a mesh of CPU devices, and compares.

    Args:
        executable: the function; with ``shard_map`` it sees the shards of one chip.
        input_shapes: global shapes of the inputs.
        mesh_shape: number of chips along each axis of the mesh.
        axis_names: names of the axes.
        in_specs: partition spec of each input.
        out_specs: partition spec of the result.
        use_shardy: whether JAX uses Shardy or GSPMD.
        sharding_mode: what the test splits.
        minval: lower bound of the inputs, included.
        maxval: upper bound of the inputs, excluded.
        comparison_config: metrics and thresholds.
        compiler_config: compile options.
        request: accepted for upstream's tests.

    Raises:
        AssertionError: the results differ.
        ExecutionError: JAX has too few CPU devices.
    """
    count = int(np.prod(mesh_shape))
    cpu_devices = _cpu_devices(count)
    inputs = [
        np.asarray(random_tensor(shape, "float32", seed, minval, maxval)) for seed, shape in enumerate(input_shapes)
    ]
    options = (compiler_config or CompilerConfig()).to_options()

    def result_on(devices: Sequence[Any], options: dict[str, str]) -> Any:
        mesh = jax.make_mesh(
            tuple(mesh_shape),
            tuple(axis_names),
            axis_types=(AxisType.Auto,) * len(mesh_shape),
            devices=list(devices)[:count],
        )
        return _run(executable, inputs, mesh, tuple(in_specs), out_specs, sharding_mode, options)

    with enable_shardy(use_shardy):
        expected = result_on(cpu_devices, {})
        actual = result_on(jax.devices("tt"), options)
    return compare(actual, expected, comparison_config or ComparisonConfig())


run_jax_multichip_graph_test_with_random_inputs = run_jax_multichip_op_test_with_random_inputs


def _run(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    mesh: Mesh,
    in_specs: tuple[PartitionSpec, ...],
    out_specs: PartitionSpec,
    mode: ShardingMode,
    options: dict[str, str],
) -> Any:
    """Returns the result of a function on a mesh, on the host."""
    if mode is not ShardingMode.INPUTS:
        function = jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
    if mode is not ShardingMode.MODULE:
        inputs = [jax.device_put(x, NamedSharding(mesh, spec)) for x, spec in zip(inputs, in_specs, strict=True)]
    jitted = jax.jit(function, out_shardings=NamedSharding(mesh, out_specs), compiler_options=options or None)
    with jax.default_device(mesh.devices.flat[0]):
        return jax.device_get(jitted(*inputs))


def _cpu_devices(count: int) -> Sequence[Any]:
    """Returns JAX's CPU devices, at least ``count``.

    Raises:
        ExecutionError: JAX was started with fewer.
    """
    with suppress(RuntimeError):  # JAX has started, perhaps with enough devices
        jax.config.update("jax_num_cpu_devices", max(count, 8))
    devices = jax.devices("cpu")
    if len(devices) < count:
        raise ExecutionError(
            f"JAX has {len(devices)} CPU devices; the expected results of {count} chips need {count}.",
            hint='Call jax.config.update("jax_num_cpu_devices", 8) before JAX is first used, as in a conftest.py.',
        )
    return devices
