"""JAX's public functions: which ones templates call, and why others are not drawn."""

from __future__ import annotations

import functools
import importlib
import inspect

from tests.fuzz.jaxes.program import PRELUDE, WAYS
from tests.fuzz.jaxes.templates import TEMPLATES, functions_in

MODULES = {"jnp": "jax.numpy", "lax": "jax.lax", "jax.nn": "jax.nn", "jax.scipy.special": "jax.scipy.special"}
"""Modules whose functions are drawn, by their names in programs."""


def public(module: str) -> list[str]:
    """Returns the names of the functions of a module that JAX itself defines."""
    scope = importlib.import_module(MODULES[module])
    return [name for name in sorted(dir(scope)) if not name.startswith("_") and _is_function(getattr(scope, name))]


def _is_function(value: object) -> bool:
    if not callable(value) or inspect.isclass(value) or inspect.ismodule(value):
        return False
    return not str(getattr(value, "__module__", "")).startswith("numpy")


@functools.cache
def named() -> frozenset[str]:
    """Returns the functions that drawn programs call, such as ``jnp.tanh``."""
    text = "\n".join([PRELUDE, *WAYS.values(), *(call for calls in TEMPLATES.values() for call in calls)])
    return frozenset(functions_in(text))


_REASONS: dict[str, dict[str, str]] = {
    "their arrays have no operands": {
        "jnp": "bartlett blackman hamming hanning kaiser full identity indices ones empty diag_indices tril_indices "
        "triu_indices triu_indices_from diag_indices_from mask_indices geomspace logspace",
        "lax": "empty full iota",
    },
    "their results are types, shapes or text": {
        "jnp": "broadcast_shapes einsum_path get_printoptions set_printoptions printoptions iscomplexobj isdtype "
        "isrealobj "
        "isscalar ndim shape size promote_types result_type",
        "lax": "ConvGeneralDilatedDimensionNumbers DotDimensionNumbers PrecisionLike broadcast_shapes "
        "conv_dimension_numbers "
        "conv_general_permutations conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple "
        "dtype padtype_to_pads "
        "reduce_window_shape_tuple shape_as_value create_token after_all",
        "jax.nn": "get_scaled_dot_general_config",
    },
    "they read files or call functions of Python": {
        "jnp": "from_dlpack frombuffer fromfile fromfunction fromiter frompyfunc fromstring load vectorize "
        "apply_along_axis "
        "apply_over_axes",
        "lax": "custom_linear_solve custom_root platform_dependent composite stage dce_sink",
    },
    "their shapes depend on elements, or they write to an operand": {
        "jnp": "delete insert intersect1d setdiff1d setxor1d trim_zeros union1d unique_all unique_counts "
        "unique_inverse "
        "unique_values roots poly polyfit polydiv place put ravel_multi_index ix_ histogram2d histogramdd",
    },
    "they work on several devices": {
        "lax": "all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin ppermute precv psend "
        "pshuffle psum "
        "psum_scatter psum_scatter_start pswapaxes pvary ragged_all_to_all with_sharding_constraint "
        "all_gather_invariant",
    },
    "they draw random numbers": {"lax": "rng_bit_generator rng_uniform"},
    "other calls lower to them": {
        "lax": "broadcast_like broadcast_to_rank dynamic_slice dynamic_update_slice gather index_take scatter "
        "scatter_add "
        "scatter_apply scatter_max scatter_min scatter_mul scatter_sub stack unstack conv_general_dilated_local",
    },
    "their loops do not end in XLA's CPU client for some numbers of bfloat16": {"jax.scipy.special": "exp1 expn"},
    "they choose any of several near elements": {"lax": "approx_max_k approx_min_k"},
    "they have formats of scales, or ragged groups, that XLA's CPU client lacks": {
        "lax": "ragged_dot ragged_dot_general scaled_dot",
        "jax.nn": "scaled_dot_general scaled_matmul",
    },
    "their series take too many steps to compile": {
        "jax.scipy.special": "bernoulli bessel_jn hyp1f1 hyp2f1 sph_harm_y wofz",
    },
}
UNUSED: dict[str, str] = {
    f"{module}.{name}": reason
    for reason, modules in _REASONS.items()
    for module, names in modules.items()
    for name in names.split()
}
"""Why functions are not drawn, by their names in programs."""

NOT_IN_EVERY_VERSION = {
    *("jax.scipy.special.wofz", "lax.ConvGeneralDilatedDimensionNumbers", "lax.PrecisionLike"),
    *("lax.all_gather_invariant", "lax.broadcast_like", "lax.empty", "lax.pcast", "lax.precv", "lax.psend"),
    *("lax.psum_scatter_start", "lax.pvary", "lax.scaled_dot", "lax.stack", "lax.stage", "lax.unstack"),
}
"""Functions among those that are not drawn that JAX 0.7.1, 0.10.2 or 0.12 lacks."""
