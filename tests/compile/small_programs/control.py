"""Functions, loops, branches, and ops that run on the host."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from small_programs.common import cases_of, inside, ints, normal

case = cases_of(__name__)

# Functions and larger graphs.

case("called_function", lambda x: jax.jit(jnp.tanh)(jax.jit(jnp.tanh)(x) + 1), normal(3, 4))
case("checkpointed", jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), normal(3, 4))
case("custom_jvp", lambda x: jax.nn.relu(jax.nn.silu(x)), normal(3, 4))
case("gradient", jax.grad(lambda w, x: jnp.tanh(x @ w).sum()), normal(7, 3), normal(5, 7))
case("gradient_of_relu", jax.grad(lambda w, x: (jax.nn.relu(x @ w) ** 2).mean()), normal(7, 3), normal(5, 7))
case("gradient_of_softmax", jax.grad(lambda x: jax.nn.log_softmax(x)[:, 1].sum()), normal(4, 6))
case(
    "attention",
    lambda q, k, v: jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 2), v),
    normal(2, 6, 2, 4),
    normal(2, 6, 2, 4, seed=1),
    normal(2, 6, 2, 4, seed=2),
)
case(
    "rotary",
    lambda x, c, s: x * c + jnp.concatenate([-x[..., 4:], x[..., :4]], -1) * s,
    normal(2, 3, 5, 8),
    normal(5, 8),
    normal(5, 8, seed=1),
)
case("one_hot", lambda i: jax.nn.one_hot(i, 6), ints(5, low=0, high=6))
case(
    "cross_entropy",
    lambda x, i: -(jax.nn.log_softmax(x) * jax.nn.one_hot(i, 6)).sum(-1).mean(),
    normal(5, 6),
    ints(5, low=0, high=6),
)
case("positional_encoding", lambda x: x + jnp.sin(jnp.arange(6.0)[:, None] / 10 ** (jnp.arange(4.0) / 4)), normal(6, 4))
case(
    "swiglu",
    lambda x, a, b, c: (jax.nn.silu(x @ a) * (x @ b)) @ c,
    normal(5, 7),
    normal(7, 9),
    normal(7, 9, seed=1),
    normal(9, 7),
)

# Ops that run on the host.

case("host_fourier", lambda x: jnp.abs(jnp.fft.fft(x * 2)) + 1, normal(3, 8), correlates=False)
case("host_between_matrix_products", lambda x: jnp.fft.fft(x @ x).real @ x, normal(6, 6), correlates=False)
case("host_twice_with_work_between", lambda x: jnp.sort(jnp.sort(x)[:, ::-1] * 2 + x[:, :1]), normal(3, 8))
case("host_linear_algebra", lambda x: jnp.linalg.cholesky(x @ x.T + 4 * jnp.eye(4)), normal(4, 4), correlates=False)
case("complex_numbers_within", lambda x: jnp.real(lax.complex(x, x) * lax.complex(x, -x)), normal(5), correlates=False)
case("fp8_within", lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32), normal(5, 7), correlates=False)
case("int4_within", lambda x: x.astype(jnp.int4).astype(jnp.int32), ints(5, 7, low=-8, high=8))
case("no_elements", lambda x: x[:0] * 2, normal(3, 4), correlates=False)
case("sum_of_no_elements", lambda x: x[:0].sum(0) + x[0], normal(3, 4))
case("beside_no_elements", lambda x: (jnp.concatenate([x[:0], x]) @ x.T, x[:0] @ x.T), normal(4, 4), correlates=False)
case("product_over_no_elements", lambda x: x[:, :0] @ x[:0], normal(4, 4) * 3, correlates=False)

# Control flow.

case("loop_of_known_steps", lambda x: lax.fori_loop(0, 5, lambda i, c: c * 1.5 + i, x), normal(4, 8))
case("scan", lambda x: lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(8), x), normal(4, 8))
case("map", lambda x: lax.map(lambda row: jnp.tanh(row).sum(), x), normal(4, 8))
case(
    "loop_of_unknown_steps",
    lambda x: lax.while_loop(lambda c: c.sum() < 10, lambda c: c + 1, x),
    normal(4, 8),
    correlates=False,
)
case(
    "loop_within_a_loop",
    lambda x: lax.fori_loop(0, 3, lambda i, c: lax.fori_loop(0, i + 1, lambda j, d: d + j, c), x),
    normal(3),
)
case(
    "kept_loop_with_weights",
    lambda x, w: lax.fori_loop(0, 20, lambda i, c: jnp.tanh(c @ w) + x * i.astype(x.dtype) / 20, x),
    normal(4, 8),
    normal(8, 8, seed=1) / 4,
)
case(
    "kept_scan_with_rows_in_and_out",
    lambda x, w: lax.scan(lambda c, row: (jnp.tanh(c @ w + row), c.sum()), jnp.zeros(8, x.dtype), x),
    normal(12, 8),
    normal(8, 8, seed=1) / 4,
)
case(
    "kept_loops_nested",
    lambda x, w: lax.fori_loop(
        0, 7, lambda i, c: lax.fori_loop(0, 9, lambda j, d: jnp.tanh(d * w[j % 3] + i.astype(d.dtype)), c), x
    ),
    normal(4, 8),
    normal(3, 8, seed=1),
)
case(
    "kept_loop_of_integers_and_truths",
    lambda x: lax.fori_loop(0, 12, lambda i, c: (c[0] * 3 % 101, c[1] ^ (c[0] > 50), c[2].at[i].set(i)), (x, x > 2, x)),
    ints(12, low=0, high=90),
)
case(
    "kept_loop_to_a_given_limit",
    lambda n, x: lax.fori_loop(0, n, lambda i, c: c * 0.9 + i.astype(c.dtype) / 8, x),
    np.array(6, np.int32),
    normal(4, 8),
)
case(
    "kept_loop_of_no_rounds",
    lambda n, x: lax.fori_loop(3, n, lambda i, c: c * 2 + 1, x),
    np.array(2, np.int32),
    normal(4, 8),
)
case(
    "kept_loop_with_states_that_take_turns",
    lambda x: lax.fori_loop(0, 11, lambda i, c: (c[1], c[2], jnp.tanh(c[0] + c[1])), (x, x + 1, x * 2)),
    normal(4, 8),
)
case(
    "kept_loop_gradient",
    lambda x, w: jax.grad(lambda w: lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, length=10)[0].sum())(w),
    normal(4, 8),
    normal(8, 8, seed=1) / 4,
)
case(
    "kept_loop_downwards",
    lambda x: lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 3, jnp.tanh(c[1] * 1.1)), (40, x)),
    normal(4, 8),
)
for _at in (-1, 0, 2, 7):
    case(
        f"kept_branches_{_at}",
        lambda i, x, w: lax.switch(
            i,
            [
                lambda v: jax.nn.softmax(jnp.tanh(v @ w) @ w),
                lambda v: jnp.exp(-jnp.abs(v @ w)) * jnp.sin(v),
                lambda v: jnp.tanh(jax.nn.softmax(v) @ w) + jnp.cos(v),
            ],
            x,
        ),
        np.array(_at, np.int32),
        normal(4, 8),
        normal(8, 8, seed=1) / 4,
    )
case("branch", lambda x: lax.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, normal(4, 8)), normal(4, 8))
case(
    "switch",
    lambda i, x: lax.switch(i, [lambda v: v + 1, lambda v: v - 1, lambda v: v * 2], x),
    np.array(1, np.int32),
    normal(4, 8),
)
case("barrier", lambda x: lax.optimization_barrier((x, x + 1))[1], normal(4))

# Slices at computed positions.

for _at in (-1, 2, 22):
    _start = np.array(_at, np.int32)
    case(f"dynamic_slice_at_{_at}", lambda i, x: lax.dynamic_slice(x, (i, i, 0), (2, 3, 5)), _start, normal(6, 8, 5))
    case(
        f"dynamic_update_at_{_at}",
        lambda i, x, u: lax.dynamic_update_slice(x, u, (i, i, 0)),
        _start,
        normal(6, 8, 5),
        normal(2, 3, 5, seed=1),
    )
    case(
        f"cache_update_at_{_at}",
        lambda i, x, u: lax.dynamic_update_slice(x, u, (0, i, 0)),
        _start,
        normal(6, 8, 5),
        normal(6, 1, 5, seed=1),
    )
case("static_update", lambda x, u: lax.dynamic_update_slice(x, u, (2, 1, 0)), normal(6, 8, 5), normal(2, 3, 5, seed=1))
case(
    "slices_by_row",
    jax.vmap(lambda row, at: lax.dynamic_slice(row, (at, 0), (3, 2))),
    normal(6, 8, 5),
    np.array([0, 3, 9, -2, 5, 1], np.int32),
)
case("indices_of_two_dimensions", lambda x, i: x[:, i], normal(6, 8), np.array([[1, 2], [5, 0]], np.int32))

# CHLO ops that jaxlib expands into simpler ones.

for _name in ("digamma", "lgamma", "erf_inv", "bessel_i1e"):
    case(f"chlo_{_name}", getattr(lax, _name), inside(4, 7) * 0.5 + 0.5, correlates=False, atol=1e-4)
case("chlo_next_after", lax.nextafter, normal(4, 7), normal(4, 7, seed=1), correlates=False)
