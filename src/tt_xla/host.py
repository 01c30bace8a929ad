"""Runs StableHLO programs on the host with XLA's CPU compiler, in their own element types.

The CPU client belongs to this module: it neither initialises JAX's default backend nor selects a platform. So it also
works below a JAX plugin, and in a process that does not import JAX otherwise.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from tt_xla.errors import UnsupportedOpError

Array = Any


class HostProgram:
    """A compiled StableHLO module."""

    def __init__(self, executable: Any) -> None:
        self._executable = executable

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """Runs the program.

        Args:
            arrays: NumPy arrays of the declared types.

        Returns:
            The results as NumPy arrays.

        Raises:
            RuntimeError: XLA failed; the message is XLA's.
        """
        import numpy as np
        from jax.core import ShapedArray
        from jaxlib import xla_client

        device = client().local_devices()[0]
        sharding = xla_client.SingleDeviceSharding(device)
        with wide():
            buffers = [
                xla_client.batched_device_put(ShapedArray(array.shape, array.dtype), sharding, [array], [device])
                for array in arrays
            ]
            return [np.asarray(result) for result in self.run(buffers)]

    def run(self, buffers: Sequence[Any]) -> list[Any]:
        """Runs the program on JAX buffers, of which it consumes those that it writes to. Returns buffers."""
        results = self._executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
        return [result[0] for result in results]


def wide() -> Any:
    """Returns a context manager that enables 64-bit types of JAX in this thread; JAX before 0.8 keeps it elsewhere."""
    import jax
    import jax.experimental

    experimental: Any = jax.experimental
    return jax.enable_x64(True) if hasattr(jax, "enable_x64") else experimental.enable_x64()


_PLAIN_OPS = frozenset(
    re.findall(
        r"\w+",
        """
        abs add and atan2 broadcast_in_dim cbrt ceil clamp compare complex concatenate constant convert cosine
        count_leading_zeros divide dot_general dynamic_slice dynamic_update_slice exponential exponential_minus_one
        fft floor gather imag iota is_finite log log_plus_one logistic maximum minimum multiply negate not or pad
        popcnt power real reduce remainder reshape return reverse round_nearest_afz round_nearest_even rsqrt scatter
        select shift_left shift_right_arithmetic shift_right_logical sign sine slice sort sqrt subtract tan tanh
        transpose while xor
        """,
    )
)
_ODD_TYPE = re.compile(r"tensor<[^>]*(?:\?|f4E|f6E|f8E|\bu?i[24]\b|xu?i[24]\b|quant)")


def check(module: str) -> None:
    """Checks that XLA's CPU compiler accepts a StableHLO module, by compiling it.

    A plain module (:func:`is_plain`) is always accepted, so it is only compiled when it first runs.

    Raises:
        UnsupportedOpError: XLA's CPU compiler refuses the module.
    """
    if not is_plain(module):
        load(module)


def is_plain(module: str) -> bool:
    """Whether the text of a StableHLO module has only ops and types that XLA's CPU compiler always accepts."""
    ops = set(re.findall(r"(?:stablehlo|chlo|vhlo|mhlo)\.\w+", module))
    if _FOREIGN_OP.search(module) or _ODD_TYPE.search(module):
        return False
    return all(op.removeprefix("stablehlo.") in _PLAIN_OPS for op in ops)


_FOREIGN_OP = re.compile(r'^\s*(?:%[^=\n]*=\s*)?"?(?!(?:stablehlo|func)\.)[a-z_]\w*\.\w', re.MULTILINE)
"""Start of an op of another dialect, such as ``arith.addi``. StableHLO's interpreter ends the process on some."""


_DIVISION = re.compile(
    r"^( *)%(\w+) = stablehlo\.(divide|remainder) (%[\w#]+), (%[\w#]+) : (tensor<(?:\d+x)*u?i\d+>)", re.MULTILINE
)
_GUARDED = r"\1%divisor_\2 = stablehlo.optimization_barrier \5 : \6\n\1%\2 = stablehlo.\3 \4, %divisor_\2 : \6"
"""Replaces an integer division by one whose divisor XLA does not know: where XLA's CPU compiler folds a division of
constants by zero, the processor ends the process."""


_PACKED_TYPE = re.compile(r"[x<](?:f4E\w+|u?i[24])>")


@lru_cache(maxsize=256)
def load(module: str) -> HostProgram:
    """Compiles the text of a StableHLO module, once in a process.

    Raises:
        UnsupportedOpError: XLA's CPU compiler refuses the module.
    """
    from jaxlib import lapack, xla_client

    if re.search(r"[x<]f6E", module):
        raise UnsupportedOpError("XLA has no 6-bit floats.", hint="Convert the tensor before it reaches this program.")
    xla = client()
    if "@lapack_" in module:
        # LAPACK comes from SciPy; JAX also loads it when a program first needs it.
        lapack._lapack.initialize()  # pyright: ignore[reportPrivateUsage]
    devices = xla_client.DeviceList(tuple(xla.local_devices()[:1]))
    options = xla_client.CompileOptions()
    if _PACKED_TYPE.search(module):  # XLA folds such constants to several in a byte, and reads one from each
        options.executable_build_options.debug_options.xla_disable_hlo_passes = "constant_folding"
    try:
        guarded = _DIVISION.sub(_GUARDED, module)
        return HostProgram(xla.compile_and_load(guarded.encode(), devices, options))
    except RuntimeError as error:
        raise UnsupportedOpError(
            f"XLA's CPU compiler refuses this part of the program: {_first_line(error)}.",
            hint="Rewrite this part of the model with other ops.",
        ) from error


def new_mlir_context() -> Any:
    """Returns an MLIR context of its own with all of JAX's dialects, including CHLO, that accepts unregistered ones.

    ``make_ir_context`` of JAX 0.12 returns the context that JAX lowers in, up to ten times a thread. It would outlive
    our modules with all their constants, and JAX's own modules could have unregistered dialects.
    """
    from jax._src.interpreters import mlir

    make = getattr(mlir, "_create_ir_context", mlir.make_ir_context)
    context: Any = make()
    context.allow_unregistered_dialects = True
    return context


@contextlib.contextmanager
def unregistered_dialects(context: Any) -> Iterator[None]:
    """Context manager in which an MLIR context, which may be the one that JAX lowers in, accepts any dialect."""
    before = context.allow_unregistered_dialects
    context.allow_unregistered_dialects = True
    try:
        with context:
            yield
    finally:
        context.allow_unregistered_dialects = before


@cache
def client() -> Any:
    """Returns XLA's CPU client, which the first call opens."""
    # JAX is imported before jaxlib: it quietens XLA's log and registers the custom calls of its programs.
    import jax  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from jaxlib import xla_client

    return xla_client.make_cpu_client()


def opened_client() -> Any | None:
    """Returns XLA's CPU client, or None if no program has needed it."""
    return client() if client.cache_info().currsize else None


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
