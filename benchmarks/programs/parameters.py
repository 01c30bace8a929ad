"""Shapes of parameters, without values."""

import jax
import jax.numpy as jnp


def fc(inputs, outputs, dtype):
    return {
        "kernel": jax.ShapeDtypeStruct((inputs, outputs), dtype),
        "bias": jax.ShapeDtypeStruct((outputs,), dtype),
    }


def norm(width, dtype=jnp.float32):
    return {"scale": jax.ShapeDtypeStruct((width,), dtype), "bias": jax.ShapeDtypeStruct((width,), dtype)}


def bn(width, dtype):
    return {name: jax.ShapeDtypeStruct((width,), dtype) for name in ("scale", "bias", "mean", "variance")}


def kernel(shape, dtype, *, bias=False):
    """Returns the shapes of a convolution: an HWIO kernel and an optional bias."""
    shapes = {"kernel": jax.ShapeDtypeStruct(shape, dtype)}
    return shapes | {"bias": jax.ShapeDtypeStruct(shape[-1:], dtype)} if bias else shapes
