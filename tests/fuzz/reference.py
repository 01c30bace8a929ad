"""Runs StableHLO modules with XLA's CPU client, which shares no code with the compiler that is judged."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from tests.fuzz.cases import NotDrawnError
from tt_xla.compiler import parse_module
from tt_xla.compiler.mlir_context import module_text
from tt_xla.errors import MalformedModuleError

FLAGS = "--xla_allow_excess_precision=false --xla_cpu_max_isa=AVX --xla_force_host_platform_device_count=8"
"""Flags of XLA: no 16-bit sums in float32, no fused multiply-add, and eight devices for programs on meshes."""

TREES = "tree_reduction_rewriter"
"""The pass of XLA that makes several sums of one, and begins each with the initial value, which need not be 0."""
PASSES = f"algsimp,constant_folding,{TREES}"
"""Passes of XLA that change results: a quotient becomes a product with a reciprocal, and -2 has -32 leading zeros.
Without the first two, the process ends at tensors without elements, and at some convolutions of convolutions."""


def is_simplified(text: str) -> bool:
    """Whether XLA computes a module with the passes that change results: it has convolutions or tensors without
    elements."""
    return bool(re.search(r"tensor<(?:\d+x)*0x|stablehlo\.convolution", text))


def set_flags() -> None:
    """Sets the flags, before the process uses JAX."""
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}".strip()


class Stage:
    """Says in a file, whose first byte a parent process reads, whether XLA computes the reference right now."""

    def __init__(self) -> None:
        self._file: int | None = None
        self.is_running = False

    def write_to(self, path: str) -> None:
        """Begins to write to a file."""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT)
        self.set(False)

    @contextmanager
    def running(self) -> Generator[None]:
        """Says that XLA computes, until the block ends or raises. After an interruption it stays said."""
        self.set(True)
        try:
            yield
        except Exception:
            self.set(False)
            raise
        self.set(False)

    def set(self, is_running: bool) -> None:
        """Says whether XLA computes."""
        self.is_running = is_running
        if self._file is not None:
            os.pwrite(self._file, b"R" if is_running else b".", 0)


STAGE = Stage()


@cache
def _client() -> Any:
    from jax.extend import backend

    return backend.get_backend("cpu")


class Program:
    """A module that XLA compiled without optimisations.

    Args:
        text: the module's text.

    Raises:
        NotDrawnError: XLA refuses the module.
    """

    def __init__(self, text: str) -> None:
        import jaxlib

        self._device = _client().local_devices()[0]
        options = jaxlib._jax.CompileOptions()
        debug = options.executable_build_options.debug_options
        debug.xla_backend_optimization_level = 0
        debug.xla_llvm_disable_expensive_passes = True
        debug.xla_disable_hlo_passes = TREES if is_simplified(text) else PASSES
        devices = jaxlib._jax.DeviceList((self._device,))
        try:
            with STAGE.running():
                self._executable = _client().compile_and_load(_guarded(text), devices, options)
        except (RuntimeError, MalformedModuleError) as error:  # the base class of XLA's errors; a copy in other types
            raise NotDrawnError(f"XLA refuses the program: {error}") from error

    def __call__(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the results; XLA treats denormals as zeros.

        Raises:
            NotDrawnError: XLA refuses to run the program, such as a call of LAPACK with other types.
        """
        import jax

        with jax.enable_x64(True):
            arrays = [jax.device_put(value, self._device) for value in inputs]
            try:
                with STAGE.running():
                    return [np.asarray(value) for value in self._executable.execute(arrays)]
            except RuntimeError as error:
                raise NotDrawnError(f"XLA fails: {error}") from error


def interpreted(module: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns the results of StableHLO's interpreter, which computes element by element."""
    with module.context:
        arguments = [ir.DenseElementsAttr.get(np.ascontiguousarray(value)) for value in inputs]
        return [np.array(ir.DenseElementsAttr(value)) for value in hlo.eval_module(module, arguments)]


def _guarded(text: str) -> str:
    """Returns a module that XLA computes as StableHLO says.

    It does not know integer divisors, since it ends the process where it folds constants that are divided by zero. A
    sum of booleans is their or: without its pass of simplifications, XLA takes the low bit.
    """
    if not re.search(r"divide|remainder|\.add|_add|reduc|scatter", text):
        return text
    module = parse_module(text)
    with module.context, ir.Location.unknown():
        for op in list(operations(module.operation, into_sums=True)):
            if op.name.endswith(("divide", "remainder")) and isinstance(_element(op.operands[1]), ir.IntegerType):
                with ir.InsertionPoint(op):
                    op.operands[1] = hlo.OptimizationBarrierOp([op.operands[1]]).results[0]
            if op.name == "stablehlo.add" and str(_element(op.operands[0])) == "i1":
                with ir.InsertionPoint(op):
                    op.results[0].replace_all_uses_with(hlo.or_(op.operands[0], op.operands[1]))
                op.erase()
            if op.name == "stablehlo.scatter":
                updates = [_origin(value) for value in op.operands[len(op.results) + 1 :]]
                if len(set(updates)) < len(updates):
                    raise NotDrawnError("XLA takes scatters of the same updates into equal arrays for one")
        return module_text(module)


_SAME = ("reshape", "optimization_barrier", "transpose", "broadcast_in_dim", "reverse")


def _origin(value: Any) -> str:
    """Names the constant, argument or result whose elements a value has."""
    if isinstance(value, ir.BlockArgument):
        return value.get_name()
    op = value.owner
    if op.name.removeprefix("stablehlo.") in _SAME:
        return _origin(op.operands[value.result_number if hasattr(value, "result_number") else 0])
    return str(op.attributes["value"]) if op.name == "stablehlo.constant" else value.get_name()


def _element(value: Any) -> Any:
    return value.type.element_type


BODIES = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("all_reduce", "map", "reduce", "reduce_scatter", "reduce_window", "scatter", "select_and_scatter", "sort"),
    )
)
"""Ops whose regions say how two elements are joined or compared."""


def operations(root: Any, *, into_sums: bool) -> Iterator[Any]:
    """Yields the operations inside of an operation, itself included.

    Args:
        root: the operation.
        into_sums: whether those in the bodies of reductions, scatters and sorts are among them.
    """
    yield root
    if root.name in BODIES and not into_sums:
        return
    for region in root.regions:
        for block in region.blocks:
            for op in list(block.operations):
                yield from operations(op.operation, into_sums=into_sums)
