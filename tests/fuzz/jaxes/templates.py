"""Calls of JAX's public functions as text, with places for drawn operands.

Places: ``{f}`` an array of floats, ``{g}`` another one of the same shape, ``{i}`` and ``{j}`` integers, ``{b}`` and
``{p}`` booleans, ``{n}`` any numbers, ``{v}`` and ``{w}`` vectors of floats, ``{m}`` a matrix of floats; ``{axis}`` a
dimension of the first operand, ``{perm}`` an order of its dimensions, ``{shape}`` another shape of as many elements,
``{k}`` a small positive integer, ``{c}`` a Python number.
"""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
from jax import lax


def _calls(form: str, names: str) -> list[str]:
    """Returns a call for each of some names; a dot in ``form`` stands before the name."""
    return [form.replace("NAME", name) for name in names.split()]


_OF_ALL_VERSIONS: dict[str, list[str]] = {
    "functions": [
        *_calls(
            "jnp.NAME({n})",
            "abs absolute ceil conj conjugate fabs fix floor isfinite isinf isnan isneginf isposinf logical_not "
            "negative positive rint round around sign signbit square trunc real imag isreal iscomplex nan_to_num "
            "ones_like zeros_like copy array asarray empty_like frexp modf",
        ),
        *_calls(
            "jnp.NAME({f})",
            "acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh cbrt cos cosh deg2rad "
            "degrees "
            "exp exp2 expm1 i0 log log10 log1p log2 rad2deg radians reciprocal sin sinc sinh spacing sqrt tan tanh "
            "angle sort_complex",
        ),
        *_calls("jnp.NAME({i})", "bitwise_count bitwise_invert bitwise_not invert"),
        *_calls(
            "jax.nn.NAME({f})",
            "celu elu leaky_relu squareplus gelu hard_sigmoid hard_silu hard_swish hard_tanh identity mish relu relu6 "
            "selu soft_sign softplus sparse_plus sparse_sigmoid tanh sigmoid silu swish log1mexp log_sigmoid glu",
        ),
        *_calls(
            "jax.scipy.special.NAME({f})",
            "dawsn digamma entr erf erfc erfcinv erfcx erfinv expi expit factorial gamma gammaln gammasgn i0 i0e i1 "
            "i1e loggamma logit log_ndtr ndtr ndtri spence fresnel sici",
        ),
        *_calls(
            "lax.NAME({f})",
            "abs neg sign square acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh digamma erf "
            "erf_inv erfc exp exp2 expm1 floor is_finite lgamma log log1p logistic reciprocal round rsqrt sin "
            "sinh sqrt "
            "tan tanh stop_gradient optimization_barrier log2 one_minus_square",
        ),
        *_calls("lax.NAME({i})", "abs neg sign square bitwise_not clz population_count"),
        "lax.integer_pow({n}, {k})",
        "lax.polynomial({f}, ({c}, {c}, {c}))",
        "{n} ** {k}",
        "lax.reduce_precision({f}, 5, 10)",
        "jax.nn.gelu({f}, approximate=False)",
        "jax.scipy.special.polygamma({k}, abs({f}) + 0.5)",
        "jax.scipy.special.multigammaln(abs({f}) + 3.0, 2)",
    ],
    "arithmetic": [
        *_calls(
            "jnp.NAME({n}, {o})",
            "add subtract multiply divide true_divide maximum minimum fmax fmin mod remainder floor_divide equal "
            "not_equal "
            "greater greater_equal less less_equal logical_and logical_or logical_xor array_equal array_equiv divmod "
            "isclose allclose full_like heaviside",
        ),
        *_calls("jnp.NAME({n}, {c})", "add subtract multiply divide maximum minimum power mod greater less equal"),
        *_calls(
            "jnp.NAME({f}, {g})",
            "arctan2 atan2 copysign float_power fmod hypot logaddexp logaddexp2 nextafter",
        ),
        *_calls("jnp.NAME(abs({f}) + 0.5, {g})", "power pow"),
        *_calls(
            "jnp.NAME({i}, {j})",
            "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift left_shift right_shift gcd lcm",
        ),
        "jnp.ldexp({f}, {i})",
        *_calls("lax.NAME({n}, {o})", "add sub mul max min eq ne lt le gt ge"),
        *_calls("lax.NAME({f}, {g})", "div rem atan2 nextafter pow"),
        *_calls("lax.NAME({i}, {j})", "div rem bitwise_and bitwise_or bitwise_xor mulhi"),
        *_calls("lax.NAME({i}, abs({j}) % 33)", "shift_left shift_right_arithmetic shift_right_logical"),
        *_calls("jax.scipy.special.NAME({f}, {g})", "xlog1py xlogy rel_entr kl_div boxcox1p"),
        *_calls(
            "jax.scipy.special.NAME(abs({f}) + 0.5, abs({g}) + 0.5)", "beta betaln gammainc gammaincc boxcox poch comb"
        ),
        *_calls("lax.NAME(abs({f}) + 0.5, abs({g}) + 0.5)", "igamma igammac polygamma random_gamma_grad igamma_grad_a"),
        *_calls("NAME(abs({f}) + 1.5, abs({g}) + 0.5)", "lax.zeta jax.scipy.special.zeta jax.scipy.special.owens_t"),
        *_calls("NAME(abs({f}) + 0.5, abs({g}) + 0.5, jax.nn.sigmoid({f}))", "lax.betainc jax.scipy.special.betainc"),
        "{n} + {c}",
        "{c} * {n}",
        "{c} - {n}",
        "{n} / {c}",
        "{n} % 3",
        "{n} // 2",
        "-{n}",
    ],
    "choices": [
        "jnp.where({b}, {n}, {o})",
        "jnp.where({n} > {c}, {n}, 0)",
        "jnp.clip({n}, -1, 1)",
        "jnp.clip({n}, 0, None)",
        "lax.clamp(jnp.zeros_like({n}), {n}, jnp.ones_like({n}) + 1)",
        "lax.select({b}, {f}, {g})",
        "lax.select_n({b}, {f}, {g})",
        "jnp.select([{b}, {p}], [{f}, {g}], 0.5)",
        "jnp.piecewise({f}, [{f} < 0, {f} > 1], [lambda t: -t, lambda t: t * t, 0.25])",
        "jnp.choose(abs({i}) % 2, [{f}, {g}])",
        "jnp.where({b}, {c}, {n})",
    ],
    "reductions": [
        *_calls(
            "jnp.NAME({n})",
            "all any amax amin argmax argmin average count_nonzero cumprod cumsum max mean median min nanargmax "
            "nanargmin "
            "nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar prod std sum var minmax",
        ),
        *_calls(
            "jnp.NAME({n}, axis={axis})",
            "all any max min argmax argmin mean sum prod cumsum cumprod var std median average cumulative_sum "
            "cumulative_prod "
            "nansum nanmax nanmin ptp",
        ),
        *_calls("jnp.NAME({n}, axis={axis}, keepdims=True)", "max min mean sum argmax all"),
        *_calls("jax.nn.NAME({f}, axis={axis})", "softmax log_softmax logsumexp logmeanexp standardize"),
        *_calls("jax.scipy.special.NAME({f}, axis={axis})", "softmax log_softmax logsumexp"),
        *_calls("lax.NAME({f}, axis={axis})", "cumlogsumexp cummax cummin cumprod cumsum"),
        *_calls("lax.NAME({i}, axis={axis})", "cummax cummin cumsum"),
        *_calls("lax.NAME({n}, axis={axis}, index_dtype=jnp.int32)", "argmax argmin"),
        *_calls("lax.NAME({n}, axes=({axis},))", "reduce_max reduce_min reduce_sum reduce_prod"),
        *_calls("lax.NAME({i}, axes=({axis},))", "reduce_and reduce_or reduce_xor"),
        "lax.reduce({f}, jnp.float32(0).astype({f}.dtype), lax.add, ({axis},))",
        "lax.reduce_window({f}, -jnp.inf, lax.max, (2,) * {f}.ndim, (1,) * {f}.ndim, 'SAME')",
        "lax.reduce_window({f}, 0.0, lax.add, (2,) * {f}.ndim, (2,) * {f}.ndim, 'VALID')",
        "lax.associative_scan(jnp.add, {f}, axis={axis})",
        "jnp.nanquantile({f}, 0.25)",
        "jnp.quantile({f}, 0.5, axis={axis})",
        "jnp.percentile({f}, 30)",
        "jnp.nanpercentile({f}, 60)",
        "jnp.trace({m})",
        "jnp.cov({m})",
        "jnp.corrcoef({m})",
        "jnp.histogram({v}, bins=4)",
        "jnp.histogram_bin_edges({v}, bins=3)",
        "jnp.bincount(abs({i}).ravel() % 5, length=5)",
        "jnp.trapezoid({f})",
        "jnp.diff({n}, axis={axis})",
        "jnp.ediff1d({n})",
        "jnp.gradient({v})",
        "jnp.unwrap({f})",
    ],
    "moves": [
        *_calls("jnp.NAME({n})", "ravel transpose squeeze flip atleast_1d atleast_2d atleast_3d unstack"),
        *_calls("jnp.NAME({m})", "diag diagonal tril triu rot90 fliplr flipud matrix_transpose"),
        *_calls("jnp.NAME([{n}, {o}], axis={axis})", "concatenate concat stack"),
        *_calls("jnp.NAME([{n}, {o}])", "hstack vstack dstack column_stack"),
        "jnp.block([{m}, {m}])",
        "jnp.append({n}, {o})",
        "jnp.reshape({n}, {shape})",
        "{n}.reshape(-1)",
        "jnp.transpose({n}, {perm})",
        "jnp.permute_dims({n}, {perm})",
        "lax.transpose({n}, {perm})",
        "jnp.moveaxis({n}, {axis}, 0)",
        "jnp.rollaxis({n}, {axis})",
        "jnp.swapaxes({n}, {axis}, 0)",
        "jnp.expand_dims({n}, {axis})",
        "lax.expand_dims({n}, ({axis},))",
        "jnp.broadcast_to({n}, (2, *{n}.shape))",
        "lax.broadcast({n}, (2,))",
        "lax.broadcast_in_dim({v}, (3, {v}.shape[0]), (1,))",
        "jnp.broadcast_arrays({n}, {n}[..., :1])",
        "jnp.flip({n}, axis={axis})",
        "lax.rev({n}, ({axis},))",
        "jnp.roll({n}, {k}, axis={axis})",
        "jnp.repeat({n}, {k}, axis={axis})",
        "jnp.tile({n}, {k})",
        "lax.tile({n}, (2,) * {n}.ndim)",
        "jnp.pad({n}, {k}, mode='edge')",
        "jnp.pad({n}, {k}, mode='wrap')",
        "jnp.pad({n}, {k}, mode='reflect')",
        "jnp.pad({n}, {k}, constant_values={k})",
        "lax.pad({f}, jnp.zeros((), {f}.dtype), [(1, -1, 1)] * {f}.ndim)",
        "jnp.split({n}, {n}.shape[{axis}], axis={axis})",
        "jnp.array_split({n}, 2, axis={axis})",
        "{n}[..., ::-1]",
        "{n}[..., ::2]",
        "{n}[..., 1:]",
        "{n}[..., -1]",
        "{n}[None]",
        "lax.slice_in_dim({n}, 0, {n}.shape[{axis}], 2, {axis})",
        "lax.collapse({n}, 0)",
        "jnp.resize({n}, (3, 5))",
        "jnp.diagflat({v})",
        "jnp.astype({n}, jnp.float32)",
        "jnp.fill_diagonal({m}, {c}, inplace=False)",
        "jnp.hsplit({m}, {m}.shape[1])",
        "jnp.vsplit({m}, {m}.shape[0])",
        "jnp.dsplit({m}[:, :, None], 1)",
        "jnp.cross({m}[:, :3], {m}[:, -3:])",
        "lax.slice({v}, (0,), ({v}.shape[0],), (2,))",
        "lax.split({v}, (1, {v}.shape[0] - 1))",
        "lax.squeeze({n}[None], (0,))",
        "lax.reshape({n}, ({n}.size,))",
        "lax.concatenate([{f}, {g}], {axis} % max({f}.ndim, 1))",
        "lax.full_like({n}, 3)",
        "lax.real(lax.complex({f}.astype(jnp.float32), {f}.astype(jnp.float32)))",
        "lax.imag(lax.conj(lax.complex({f}.astype(jnp.float32), {g}.astype(jnp.float32))))",
        "abs(lax.fft({v}.astype(jnp.complex64), 'FFT', {v}.shape))",
        "jnp.vander({v})",
        "jnp.meshgrid({v}, {w})",
        "jnp.unstack({n}, axis={axis})",
        "{n}.astype(jnp.bfloat16)",
        "{n}.astype(jnp.int8)",
        "{n}.astype(jnp.int32)",
        "{n}.astype(jnp.float32)",
        "{n}.astype(bool)",
        "lax.convert_element_type({n}, jnp.float16)",
        "lax.bitcast_convert_type({i}, jnp.dtype('u' + str({i}.dtype).lstrip('u')))",
        "lax.broadcasted_iota(jnp.int32, {n}.shape, {axis}) + {i}",
        "jnp.arange({n}.size).reshape({n}.shape) + {n}",
        "jnp.linspace(0.0, 1.0, {n}.size).reshape({n}.shape) * {f}",
        "jnp.eye({m}.shape[0], {m}.shape[1]) + {m}",
        "jnp.tri({m}.shape[0], {m}.shape[1]) * {m}",
        "jnp.packbits({b})",
        "jnp.unpackbits({n}.astype(jnp.uint8))",
    ],
    "indexing": [
        "jnp.take({n}, {i}, axis={axis}, mode='clip')",
        "jnp.take({n}, {i}, mode='wrap')",
        "jnp.take_along_axis({n}, abs({i}) % {n}.shape[{axis}], axis={axis})",
        "jnp.take_along_axis({n}, jnp.argsort({n}, axis={axis}), axis={axis})",
        "jnp.compress(jnp.arange({n}.shape[{axis}]) % 2 == 0, {n}, axis={axis}, size=1)",
        "{v}[{i}]",
        "{n}[{i} % {n}.shape[0]]",
        "{n}.at[{i}].add(1)",
        "{f}.at[{i}].set(0.5, mode='drop')",
        "{n}.at[0].set(2)",
        "{f}.at[..., 0].multiply({c})",
        "{f}.at[{i}].max({c})",
        "{f}.at[{i}].min(0.0)",
        "jnp.searchsorted(jnp.sort({v}), {f})",
        "jnp.digitize({f}, jnp.sort({v}))",
        "jnp.interp({f}, jnp.sort({v}), {w})",
        "lax.dynamic_slice_in_dim({n}, jnp.sum({i}), 1, {axis})",
        "lax.dynamic_index_in_dim({n}, jnp.max({i}), {axis})",
        "lax.dynamic_update_slice_in_dim({n}, {n}[:1], jnp.min({i}), 0)",
        "lax.dynamic_update_index_in_dim({f}, {f}[0], jnp.max({i}), 0)",
        "lax.index_in_dim({n}, 0, {axis})",
        "jnp.sort({n}, axis={axis})",
        "jnp.argsort({n}, axis={axis})",
        "jnp.argsort({n}, axis={axis}, descending=True)",
        "jnp.lexsort(({v}, {w}))",
        "jnp.partition({v}, 1)",
        "jnp.take({v}, jnp.argpartition({v}, 1), mode='clip')",
        "lax.sort({n}, dimension={axis})",
        "lax.sort_key_val({n}, {o}, dimension={axis})",
        "lax.top_k({n}, {k})",
        "jnp.top_k({n}, {k})",
        "jnp.argwhere({b}, size=3)",
        "jnp.nonzero({n}, size=4)",
        "jnp.flatnonzero({n}, size=4)",
        "jnp.unique({i}, size=4)",
        "jnp.isin({i}, {j})",
        "jnp.tril_indices_from({m})",
        "jax.nn.one_hot({i}, 4)",
        "jax.nn.one_hot({i}, 5, axis=0)",
        "jax.ops.segment_sum({v}, jnp.arange({v}.shape[0]) % 3, num_segments=3)",
        "jax.ops.segment_max({v}, jnp.arange({v}.shape[0]) % 2, num_segments=3)",
        "jnp.unravel_index(abs({i}), (3, 4))",
        "jnp.extract({b}, {n}, size=2)",
        "jnp.put_along_axis({f}, jnp.argmax({f}, axis={axis}, keepdims=True), 9.0, axis={axis}, inplace=False)",
    ],
    "products": [
        *_calls("jnp.NAME({f}, {g})", "dot matmul inner outer kron vdot vecdot tensordot"),
        *_calls("jnp.NAME({m}, {m}.T)", "dot matmul inner"),
        *_calls(
            "jnp.NAME({v}, {w})",
            "convolve correlate dot inner outer polymul polyadd polysub",
        ),
        "jnp.polyval({v}, {f})",
        "jnp.polyder({v})",
        "jnp.polyint({v})",
        "jnp.matvec({m}, {m}[0])",
        "jnp.vecmat({m}[:, 0], {m})",
        "jnp.einsum('ij,kj->ik', {m}, {m})",
        "jnp.einsum('ij,ij->i', {m}, {m})",
        "jnp.einsum('...i,...i', {f}, {g})",
        "jnp.tensordot({m}, {m}, axes=((0,), (0,)))",
        "lax.dot({m}, {m}.T)",
        "lax.dot_general({m}, {m}, (((0,), (0,)), ((), ())), preferred_element_type=jnp.float32)",
        "lax.batch_matmul({m}[None], {m}.T[None])",
        "jnp.dot({i}, {j}.T)",
        "jax.nn.dot_product_attention({m}[None, :, None], {m}[None, :, None], {m}[None, :, None])",
        "lax.conv({m}[None, None], {m}[None, None, :2, :2], (1, 1), 'SAME')",
        "lax.conv_transpose({m}[None, :, :, None], {m}[:2, :2, None, None], (2, 2), 'SAME')",
        "lax.conv_general_dilated({m}[None, None], {m}[None, None, :1, :2], (2, 1), ((1, 0), (0, 1)), "
        "rhs_dilation=(1, 2))",
        "lax.conv_with_general_padding({m}[None, None], {m}[None, None, :2, :1], (1, 1), ((0, 1), (1, 0)), "
        "(2, 1), (1, 1))",
        "lax.conv_general_dilated_patches({m}[None, None], (2, 2), (1, 1), 'VALID')",
        "jnp.linalg.norm({f})",
        "jax.nn.standardize({f}) @ {f}.T",
    ],
}
"""Calls by family, also of functions that only some versions of JAX have."""


def functions_in(text: str) -> set[str]:
    """Returns the functions that a text calls, such as ``jnp.tanh``."""
    return set(re.findall(r"\b(?:jnp|lax|jax\.nn|jax\.scipy\.special)\.\w+", text))


def _is_in_jax(call: str) -> bool:
    modules = {"jnp": jnp, "lax": lax, "jax.nn": jax.nn, "jax.scipy.special": jax.scipy.special}
    split = (function.rsplit(".", 1) for function in functions_in(call))
    return all(hasattr(modules[module], name) for module, name in split)


TEMPLATES: dict[str, list[str]] = {
    family: [call for call in calls if _is_in_jax(call)] for family, calls in _OF_ALL_VERSIONS.items()
}
"""Calls by family, each with places for operands, of functions that this version of JAX has."""
