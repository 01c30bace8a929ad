"""``jax.lax.ragged_all_to_all`` on chips whose exchanges have parts of equal sizes, as TT-NN's have."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def gathered_all_to_all(
    operand: jax.Array,
    output: jax.Array,
    input_offsets: jax.Array,
    send_sizes: jax.Array,
    output_offsets: jax.Array,
    recv_sizes: jax.Array,
    *,
    axis_name: Any,
    axis_index_groups: Any = None,
) -> jax.Array:
    """Returns what ``jax.lax.ragged_all_to_all`` returns: each chip gathers all rows, and takes those sent to it.

    Sizes are known only when the program runs, and buffers of the chip are as large as the largest exchange could be.

    Args:
        operand: the rows that this chip has, [rows, ...].
        output: what the result is where no chip sends a row, [rows of the result, ...].
        input_offsets: the first row for each chip; with several parts a chip, those of a chip follow each other.
        send_sizes: the number of rows for each chip.
        output_offsets: the row of the receiver's result at which the part begins.
        recv_sizes: the number of rows from each chip, which the senders' sizes say already.
        axis_name: the mesh axis, or several.
        axis_index_groups: groups of places along the axis that exchange with each other; None for one group of all.
    """
    del recv_sizes
    gather = functools.partial(lax.all_gather, axis_name=axis_name, axis_index_groups=axis_index_groups)
    parts = gather(operand)
    chips, rows = parts.shape[:2]
    index = lax.axis_index(axis_name)
    own = index if axis_index_groups is None else jnp.argmax(gather(index) == index)

    def of_own(values: jax.Array) -> jax.Array:
        """Returns what each sender says of its parts for this chip, in one row."""
        table = gather(values.astype(jnp.int32)).reshape(chips, chips, -1)
        return lax.dynamic_index_in_dim(table, own, 1, keepdims=False).reshape(1, -1)

    first, sizes, places = (of_own(each) for each in (input_offsets, send_sizes, output_offsets))
    senders = jnp.repeat(jnp.arange(chips, dtype=jnp.int32), sizes.size // chips).reshape(1, -1)
    row = jnp.arange(output.shape[0], dtype=jnp.int32).reshape(-1, 1)
    is_sent = (row >= places) & (row < places + sizes)
    sources = jnp.sum(jnp.where(is_sent, senders * rows + first - places + row, 0), 1)
    taken = jnp.take(parts.reshape(chips * rows, *operand.shape[1:]), sources, axis=0)
    found = jnp.any(is_sent, 1).reshape(-1, *[1] * (operand.ndim - 1))
    return jnp.where(found, taken, output)


__all__ = ["gathered_all_to_all"]
