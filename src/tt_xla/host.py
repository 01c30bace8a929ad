"""StableHLO programs on the host: compiled once and run by XLA's CPU client, in their own element types.

The client is one of our own. JAX's default backend is not initialised and no platform needs to be chosen, so this also
works below a JAX plugin and in a process that never imports JAX otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from tt_xla.errors import UnsupportedOpError

Array = Any


class HostProgram:
    """A compiled StableHLO module."""

    def __init__(self, executable: Any) -> None:
        self._executable = executable

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """NumPy arrays of the declared types in, NumPy arrays out.

        Raises:
            RuntimeError: XLA failed at it; the message is XLA's.
        """
        import numpy as np
        from jax.core import ShapedArray
        from jaxlib import xla_client

        device = _client().local_devices()[0]
        sharding = xla_client.SingleDeviceSharding(device)
        with wide():
            buffers = [
                xla_client.batched_device_put(ShapedArray(array.shape, array.dtype), sharding, [array], [device])
                for array in arrays
            ]
            results = self._executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
            return [np.asarray(result[0]) for result in results]


def wide() -> Any:
    """JAX with 64-bit types, in this thread; where that stood before JAX 0.8, too."""
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
    """That XLA's CPU compiler takes a StableHLO module: it is compiled now, unless it is plain. Those it always takes,
    and they are compiled when they first run.

    Raises:
        UnsupportedOpError: XLA's CPU compiler does not take it.
    """
    if not is_plain(module):
        load(module)


def is_plain(module: str) -> bool:
    """Whether a StableHLO module, given as text, has nothing but plain ops on plain types."""
    ops = set(re.findall(r"(?:stablehlo|chlo|vhlo|mhlo)\.\w+", module))
    return all(op.removeprefix("stablehlo.") in _PLAIN_OPS for op in ops) and not _ODD_TYPE.search(module)


@lru_cache(maxsize=256)
def load(module: str) -> HostProgram:
    """Compiles a StableHLO module, given as text, once in a process.

    Raises:
        UnsupportedOpError: XLA's CPU compiler does not take it.
    """
    from jaxlib import lapack, xla_client

    if re.search(r"[x<]f6E", module):
        raise UnsupportedOpError("XLA has no 6-bit floats.", hint="Convert the tensor before it reaches this program.")
    client = _client()
    if "@lapack_" in module:
        # LAPACK itself is SciPy's; JAX too loads it when a program first needs it.
        lapack._lapack.initialize()  # pyright: ignore[reportPrivateUsage]
    devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
    try:
        return HostProgram(client.compile_and_load(module.encode(), devices, xla_client.CompileOptions()))
    except RuntimeError as error:
        raise UnsupportedOpError(
            f"XLA's CPU compiler does not take this part of the program: {_first_line(error)}.",
            hint="Rewrite this part of the model with other ops.",
        ) from error


@cache
def _client() -> Any:
    # jax before jaxlib: it quietens XLA's log and registers the custom calls that its programs make.
    import jax  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from jaxlib import xla_client

    return xla_client.make_cpu_client()


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
