"""Recurrent networks, and the steps around a language model: sampling a token and beam search."""

import jax
import jax.numpy as jnp
from jax import lax


def lstm(params, x):
    """Maps [batch, length, width] to states of the same shape with ``lax.scan``; one kernel holds all gates."""

    def cell(carry, inputs):
        state, memory = carry
        gates = inputs @ params["input"] + state @ params["hidden"] + params["bias"]
        enter, forget, candidate, leave = jnp.split(gates, 4, axis=-1)
        memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(enter) * jnp.tanh(candidate)
        state = jax.nn.sigmoid(leave) * jnp.tanh(memory)
        return (state, memory), state

    start = jnp.zeros((x.shape[0], params["hidden"].shape[0]), x.dtype)
    _, states = lax.scan(cell, (start, start), x.swapaxes(0, 1))
    return states.swapaxes(0, 1)


def lstm_parameters(dtype, width=64):
    shapes = {"input": (width, 4 * width), "hidden": (width, 4 * width), "bias": (4 * width,)}
    return {name: jax.ShapeDtypeStruct(shape, dtype) for name, shape in shapes.items()}


def sample(logits, seed, candidates=50, mass=0.9):
    """Samples a token per row of logits with top-k (``candidates``) and nucleus (``mass``) sampling."""
    likely, tokens = lax.top_k(logits, candidates)
    likely = jnp.where(jnp.cumsum(jax.nn.softmax(likely), axis=-1) < mass, likely, -1e9)
    chosen = jax.random.categorical(jax.random.key(seed), likely)
    return jnp.take_along_axis(tokens, chosen[:, None], axis=1)


def beam_step(scores, sequences, logits):
    """Returns the best continuations: scores, [batch, beams], and sequences, [batch, beams, length + 1]."""
    beams, vocabulary = logits.shape[-2:]
    totals = scores[..., None] + jax.nn.log_softmax(logits)
    best, places = lax.top_k(totals.reshape(-1, beams * vocabulary), beams)
    prefixes = jnp.take_along_axis(sequences, (places // vocabulary)[..., None], axis=1)
    return best, jnp.concatenate([prefixes, (places % vocabulary)[..., None]], axis=-1)
