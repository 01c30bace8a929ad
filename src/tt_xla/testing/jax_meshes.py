"""Tests of JAX programs for several chips, under upstream's names. CPU devices compute the expected results."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from tt_xla.errors import ExecutionError
from tt_xla.testing import artifacts
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
        request: pytest's fixture; ``--serialize`` and filecheck markers need it.

    Raises:
        AssertionError: the results differ.
        ExecutionError: JAX has too few CPU devices.
    """
    inputs = _random_inputs(input_shapes, minval, maxval)
    options = (compiler_config or CompilerConfig()).to_options()
    meshes = cpu_mesh(mesh_shape, axis_names), tt_mesh(mesh_shape, axis_names)
    with enable_shardy(use_shardy), artifacts.recording(request) as compilations:
        expected, actual = (
            run_on_mesh(executable, inputs, mesh, in_specs, out_specs, sharding_mode, own)
            for mesh, own in zip(meshes, ({}, options), strict=True)
        )
    result = compare(actual, expected, comparison_config or ComparisonConfig())
    artifacts.finish(request, compilations)
    return result


run_jax_multichip_graph_test_with_random_inputs = run_jax_multichip_op_test_with_random_inputs


def serialize_jax_multichip_op(
    executable: Callable[..., Any],
    inputs: Sequence[Any],
    output_prefix: str,
    mesh_shape: Sequence[int],
    axis_names: Sequence[str],
    in_specs: Sequence[PartitionSpec],
    out_specs: PartitionSpec,
    sharding_mode: ShardingMode,
    compiler_config: CompilerConfig | None = None,
) -> None:
    """Compiles a function for a mesh of chips and writes its IR and program, without a comparison.

    Other arguments are those of :func:`run_jax_multichip_op_test_with_random_inputs`.

    Args:
        inputs: whole inputs.
        output_prefix: start of the names of the files ``<prefix>_ttir.mlir``, ``<prefix>_ttnn.mlir`` and
            ``<prefix>.ttnn``; all graphs have files in the folder ``<prefix>`` too.

    Raises:
        OutputError: the files cannot be written.
    """
    from tt_xla.compiler.recording import recorded_compilations

    options = (compiler_config or CompilerConfig()).to_options()
    mesh = tt_mesh(mesh_shape, axis_names)
    with recorded_compilations(texts=True) as compilations:
        run_on_mesh(executable, inputs, mesh, in_specs, out_specs, sharding_mode, options)
    prefix = Path(output_prefix)
    artifacts.write(prefix.name, compilations, prefix.parent)


def serialize_jax_multichip_op_with_random_inputs(
    executable: Callable[..., Any],
    input_shapes: Sequence[Sequence[int]],
    test_name: str,
    mesh_shape: Sequence[int],
    axis_names: Sequence[str],
    in_specs: Sequence[PartitionSpec],
    out_specs: PartitionSpec,
    sharding_mode: ShardingMode,
    minval: float = 0.0,
    maxval: float = 1.0,
    compiler_config: CompilerConfig | None = None,
) -> None:
    """Same as :func:`serialize_jax_multichip_op` for random inputs; the files are ``output_artifact/<test name>...``.

    Args:
        input_shapes: global shapes of the inputs.
        test_name: name of the test, such as ``request.node.name``.
        minval: lower bound of the inputs, included.
        maxval: upper bound of the inputs, excluded.
    """
    serialize_jax_multichip_op(
        executable,
        _random_inputs(input_shapes, minval, maxval),
        str(artifacts.ROOT / artifacts.sanitized(test_name)),
        mesh_shape,
        axis_names,
        in_specs,
        out_specs,
        sharding_mode,
        compiler_config,
    )


def _random_inputs(shapes: Sequence[Sequence[int]], minval: float, maxval: float) -> list[Any]:
    """Returns random inputs. JAX, which this may start, gets the CPU devices of the expected results before."""
    _request_cpu_devices(0)
    return [np.asarray(random_tensor(shape, "float32", seed, minval, maxval)) for seed, shape in enumerate(shapes)]


def run_on_mesh(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    mesh: Mesh,
    in_specs: Sequence[Any],
    out_specs: PartitionSpec,
    mode: ShardingMode,
    options: Mapping[str, str] | None = None,
    *,
    check_vma: bool = True,
) -> Any:
    """Returns the result of a function on a mesh, on the host.

    Args:
        function: the function; with ``shard_map`` it sees the shards of one chip.
        inputs: whole inputs, each an array or a tree of arrays.
        mesh: the mesh.
        in_specs: partition spec of each input, or a tree of specs for parts of its tree.
        out_specs: partition spec of the result.
        mode: what is split.
        options: compile options.
        check_vma: whether ``shard_map`` checks that what it returns as replicated is so.
    """
    if mode is not ShardingMode.INPUTS:
        function = jax.shard_map(
            function, mesh=mesh, in_specs=tuple(in_specs), out_specs=out_specs, check_vma=check_vma
        )
    if mode is not ShardingMode.MODULE:
        shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), list(in_specs), is_leaf=is_spec)
        inputs = [jax.device_put(*pair) for pair in zip(inputs, shardings, strict=True)]
    jitted = jax.jit(
        function, out_shardings=NamedSharding(mesh, out_specs), compiler_options=dict(options or {}) or None
    )
    with jax.default_device(mesh.devices.flat[0]):
        return jax.device_get(jitted(*inputs))


def is_spec(value: Any) -> bool:
    """Returns whether a part of a tree is a partition spec, which is a leaf of it."""
    return isinstance(value, PartitionSpec)


def tt_mesh(shape: Sequence[int], axis_names: Sequence[str]) -> Mesh:
    """Returns a mesh of the system's first chips."""
    return _mesh(shape, axis_names, jax.devices("tt"))


def cpu_mesh(shape: Sequence[int], axis_names: Sequence[str]) -> Mesh:
    """Returns a mesh of CPU devices.

    Raises:
        ExecutionError: JAX has too few CPU devices.
    """
    count = math.prod(shape)
    _request_cpu_devices(count)
    devices = jax.devices("cpu")
    if len(devices) < count:
        raise ExecutionError(
            f"JAX has {len(devices)} CPU devices; the expected results of {count} chips need {count}.",
            hint='Call jax.config.update("jax_num_cpu_devices", 8) before JAX is first used, as in a conftest.py.',
        )
    return _mesh(shape, axis_names, devices)


def _mesh(shape: Sequence[int], axis_names: Sequence[str], devices: Sequence[Any]) -> Mesh:
    types = (AxisType.Auto,) * len(shape)
    return jax.make_mesh(tuple(shape), tuple(axis_names), axis_types=types, devices=list(devices)[: math.prod(shape)])


def _request_cpu_devices(count: int) -> None:
    """Lets JAX start with at least ``count`` CPU devices. It has no effect once JAX has started."""
    with suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", max(count, 8))
