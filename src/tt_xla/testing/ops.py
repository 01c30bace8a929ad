"""Testers of single ops and of graphs, which run on the CPU and on ``tt`` and are compared."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from tt_xla.errors import TTXLAError
from tt_xla.testing import artifacts, frameworks
from tt_xla.testing.comparison import ComparisonConfig, ComparisonResult, compare
from tt_xla.testing.compiler_config import CompilerConfig
from tt_xla.testing.frameworks import Framework, random_tensor


@dataclass
class Workload:
    """A function or model with arguments to call it with.

    Attributes:
        framework: the framework of the call.
        executable: function to call, unless one of the next two is set.
        compiled_executable: function to call before all others.
        model: model to call, unless ``compiled_executable`` is set.
        args: positional arguments.
        kwargs: keyword arguments.
        static_argnames: names of the keyword arguments that JAX treats as constants.
    """

    framework: Framework
    executable: Callable[..., Any] | None = None
    compiled_executable: Callable[..., Any] | None = None
    model: Any = None
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    static_argnames: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.executable is None and self.model is None and self.compiled_executable is None:
            raise ValueError("A Workload needs an executable or a model; it has neither.")

    @property
    def callee(self) -> Callable[..., Any]:
        """The function or model to call."""
        callee = self.compiled_executable or self.model or self.executable
        assert callee is not None
        return callee

    def execute(self) -> Any:
        """Makes the call and returns its result."""
        return self.callee(*self.args, **self.kwargs)


class Settings(TypedDict, total=False):
    """Keyword arguments of :class:`OpTester` and of the functions that test ops and graphs.

    Attributes:
        compiler_config: compile options.
        torch_options: further compile options, by name.
        custom_comparator: called instead of the comparison, with the device's result, the expected result, and the
            workload's ``args`` and ``kwargs``.
        mesh: the chips that a torch test runs on, as :func:`tt_xla.testing.get_mesh` returns them; by default one.
        shard_spec_fn: returns how the tensors of a torch test are split over the mesh, by tensor. Its parameters are
            ``model``, or ``args`` and ``kwargs``, or all three. Nothing is split without a mesh.
    """

    compiler_config: CompilerConfig | None
    torch_options: Mapping[str, Any] | None
    custom_comparator: Callable[..., None] | None
    mesh: Any
    shard_spec_fn: Callable[..., Any] | None


class OpTester:
    """Runs workloads on both devices and compares the results.

    Args:
        comparison_config: metrics and thresholds.
        framework: the framework of the workloads.
        compiler_config: see :class:`Settings`, as for the following.

    Raises:
        TTXLAError: a JAX test has a mesh or a shard_spec_fn.
    """

    def __init__(
        self,
        comparison_config: ComparisonConfig | None = None,
        framework: Framework = Framework.JAX,
        compiler_config: CompilerConfig | None = None,
        torch_options: Mapping[str, Any] | None = None,
        custom_comparator: Callable[..., None] | None = None,
        mesh: Any = None,
        shard_spec_fn: Callable[..., Any] | None = None,
    ) -> None:
        if framework is Framework.JAX and (mesh is not None or shard_spec_fn is not None):
            raise TTXLAError(
                "mesh and shard_spec_fn are for tests of PyTorch; this test is of JAX.",
                hint="Call run_jax_multichip_op_test_with_random_inputs.",
            )
        self._mesh = mesh
        self._shard_spec_fn = shard_spec_fn
        self._comparison_config = comparison_config or ComparisonConfig()
        self._framework = framework
        self._options = (compiler_config or CompilerConfig()).to_options() | dict(torch_options or {})
        self._custom_comparator = custom_comparator

    def test(self, workload: Workload, request: Any = None) -> ComparisonResult | None:
        """Runs a workload on the CPU and on ``tt``, compares, and writes the IR if the test asks for it.

        Args:
            workload: the call to test.
            request: pytest's fixture; ``--serialize`` and filecheck markers need it.

        Returns:
            The metrics, or None with a custom comparator.

        Raises:
            AssertionError: the results differ, or a filecheck pattern does not match.
        """
        expected = self.run_on_cpu(workload)
        with artifacts.recording(request) as compilations:
            actual = self.run_on_tt_device(workload)
        result = None
        if self._custom_comparator is not None:
            self._custom_comparator(actual, expected, workload.args, workload.kwargs)
        else:
            result = compare(actual, expected, self._comparison_config)
        artifacts.finish(request, compilations)
        return result

    def run_on_cpu(self, workload: Workload) -> Any:
        """Returns the result of a workload on the CPU."""
        if self._framework is Framework.TORCH:
            import torch

            with torch.no_grad():
                return workload.execute()
        with frameworks.on_jax_cpu() as device:
            return self._run_jax(workload, device, None)

    def run_on_tt_device(self, workload: Workload) -> Any:
        """Returns the result of a workload on ``tt``, in host memory."""
        if self._framework is Framework.TORCH:
            from tt_xla.testing.torch_meshes import mark_shardings

            split = functools.partial(mark_shardings, self._mesh, self._shard_spec_fn)
            return frameworks.run_torch_on_tt(workload.callee, workload.args, workload.kwargs, self._options, split)
        return self._run_jax(workload, frameworks.jax_device(), self._options)

    def _run_jax(self, workload: Workload, device: Any, options: Mapping[str, Any] | None) -> Any:
        static = workload.static_argnames
        call = workload.callee, workload.args, workload.kwargs
        return frameworks.run_jax(*call, device=device, static=static, options=options)

    def test_with_random_inputs(
        self,
        function: Callable[..., Any],
        input_shapes: Sequence[Sequence[int]],
        minval: float = 0.0,
        maxval: float = 1.0,
        dtype: Any = "float32",
        request: Any = None,
    ) -> ComparisonResult | None:
        """Same as :meth:`test` on uniform random numbers; input ``i`` has seed ``i``."""
        inputs = [
            random_tensor(shape, dtype, seed, minval, maxval, self._framework)
            for seed, shape in enumerate(input_shapes)
        ]
        return self.test(Workload(self._framework, executable=function, args=inputs), request)


class GraphTester(OpTester):
    """Same as :class:`OpTester`; a graph is a function of several ops."""


def run_op_test(
    op: Callable[..., Any],
    inputs: Sequence[Any],
    comparison_config: ComparisonConfig | None = None,
    framework: Framework | None = None,
    *,
    request: Any = None,
    **settings: Unpack[Settings],
) -> ComparisonResult | None:
    """Tests an op on given inputs.

    Args:
        op: a function or torch module.
        inputs: positional arguments.
        comparison_config: metrics and thresholds.
        framework: derived from the op and its inputs by default.
        request: pytest's fixture; ``--serialize`` and filecheck markers need it.
        settings: see :class:`Settings`.

    Returns:
        The metrics, or None with a custom comparator.

    Raises:
        AssertionError: results differ by more than ``comparison_config`` allows.
    """
    framework = framework or Framework.of(op, list(inputs))
    workload = Workload(framework, executable=op, args=list(inputs))
    return OpTester(comparison_config, framework, **settings).test(workload, request)


def run_op_test_with_random_inputs(
    op: Callable[..., Any],
    input_shapes: Sequence[Sequence[int]],
    minval: float = 0.0,
    maxval: float = 1.0,
    dtype: Any = "float32",
    comparison_config: ComparisonConfig | None = None,
    framework: Framework | None = None,
    *,
    request: Any = None,
    **settings: Unpack[Settings],
) -> ComparisonResult | None:
    """Tests an op on uniform numbers in [minval, maxval), one array for each shape; see :func:`run_op_test`."""
    tester = OpTester(comparison_config, framework or Framework.of(op, dtype), **settings)
    return tester.test_with_random_inputs(op, input_shapes, minval, maxval, dtype, request)


def run_graph_test(
    graph: Callable[..., Any],
    inputs: Sequence[Any],
    comparison_config: ComparisonConfig | None = None,
    framework: Framework | None = None,
    *,
    request: Any = None,
    **settings: Unpack[Settings],
) -> ComparisonResult | None:
    """Tests a graph; see :func:`run_op_test`."""
    return run_op_test(graph, inputs, comparison_config, framework, request=request, **settings)


def run_graph_test_with_random_inputs(
    graph: Callable[..., Any],
    input_shapes: Sequence[Sequence[int]],
    comparison_config: ComparisonConfig | None = None,
    framework: Framework | None = None,
    dtype: Any = "float32",
    *,
    request: Any = None,
    **settings: Unpack[Settings],
) -> ComparisonResult | None:
    """Tests a graph on uniform numbers in [0, 1), one array for each shape; see :func:`run_op_test`."""
    return run_op_test_with_random_inputs(
        graph, input_shapes, 0.0, 1.0, dtype, comparison_config, framework, request=request, **settings
    )
