"""Cycles of the vector unit (SFPU) for one 32x32 tile, by op.

Figures come from pull requests and issues of tenstorrent/tt-metal, whose number stands beside; "sweep" is the slope of
the exp sweep on n150 in tenstorrent/ttnn-op-runtime-predictor. The vector units of both chips differ only in clock, so
a figure of one chip is used for the other where only one is published. "like" marks an op that has no figure and is
assumed to cost as much as a measured op that uses the same method.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_COMMON: dict[str, float] = {
    "abs": 285,  # like relu; 57292 has 146 for the unit alone
    "acos": 1672,  # like atan
    "acosh": 1672,  # like atan
    "asin": 1672,  # like atan
    "asinh": 1672,  # like atan
    "atan": 1672,  # 57292
    "atan2": 1672,  # like atan
    "atanh": 1672,  # like atan
    "bitwise_and": 285,  # like relu
    "bitwise_not": 285,  # like relu
    "bitwise_or": 285,  # like relu
    "bitwise_xor": 285,  # like relu
    "cbrt": 1830,  # like exp
    "ceil": 568,  # 48925
    "clamp_scalar": 298,  # like relu_max
    "clamp_tensor": 346,  # like addcmul
    "cos": 1022,  # 48925
    "div": 1475,  # 48925, the vector unit's division; of floats it is a reciprocal and an FPU product
    "elu": 1830,  # like exp
    "eqz": 285,  # like relu
    "erf": 2847,  # like gelu
    "erfc": 2847,  # like gelu
    "erfinv": 3164,  # 48925
    "exp": 1830,  # sweep
    "exp2": 860,  # 48925
    "expm1": 1830,  # like exp
    "floor": 568,  # 48925
    "frac": 504,  # 48925
    "gelu": 2847,  # 49926
    "gelu_approx": 223,  # 52407
    "gelu_bw": 3425,  # 52407
    "gelu_tanh": 2012,  # 49926
    "gez": 285,  # like relu
    "hardsigmoid": 289,  # 54938
    "hardswish": 289,  # like hardsigmoid
    "i0": 1081,  # 54938
    "isfinite": 285,  # like relu
    "leaky_relu": 298,  # like relu_max
    "log": 1475,  # like div
    "log10": 1475,  # like div
    "log1p": 1475,  # like div
    "log2": 1475,  # like div
    "logical_not": 285,  # like relu
    "maximum": 298,  # like relu_max
    "minimum": 298,  # like relu_max
    "mish": 2847,  # like gelu
    "neg": 285,  # like relu
    "pow": 3300,  # log and exp
    "pow_scalar": 3300,  # log and exp
    "pow_tensor": 3300,  # log and exp
    "reciprocal": 1059,  # 54938
    "relu": 285,  # profiler files, sharded relu on blackhole: 211 ns a tile
    "relu6": 298,  # 54938, as relu_max
    "remainder": 1475,  # like div
    "round": 568,  # like floor
    "rsqrt": 1059,  # like reciprocal
    "sigmoid": 1394,  # 26946
    "sign": 285,  # like relu
    "signbit": 285,  # like relu; 49926 has 180 for the unit alone
    "silu": 1432,  # 48925
    "sin": 894,  # 48925
    "softplus": 1450,  # 54938
    "softsign": 1059,  # like reciprocal
    "sqrt": 1059,  # like reciprocal
    "tan": 1475,  # like div
    "tanh": 792,  # 48925
    "tanhshrink": 1375,  # 48925
    "trunc": 440,  # 48925
    "typecast": 124,  # 54317, as a copy
    "where": 346,  # like addcmul
}

_OWN: dict[str, dict[str, float]] = {
    "wormhole_b0": {},
    "blackhole": {
        "ceil": 476,
        "floor": 476,
        "round": 476,
        "sigmoid": 1247,
        "tanh": 764,
    },  # 49926; exp: profiler, 40 tiles a core in 44.8 us
}


def sfpu_cycles(arch: str) -> Mapping[str, float]:
    """Returns the cycles of each op on an architecture, ``wormhole_b0`` or ``blackhole``."""
    return MappingProxyType(_COMMON | _OWN[arch])
