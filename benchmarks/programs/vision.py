"""Convolutional networks and mixers."""

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.programs.layers import batch_norm, conv, conv_transpose, dense, layer_norm, max_pool
from benchmarks.programs.parameters import bn, fc, kernel, norm


def digits_cnn(params, x):
    x = jax.nn.relu(conv(params["conv1"], x, padding="VALID"))
    x = max_pool(jax.nn.relu(conv(params["conv2"], x, padding="VALID")))
    x = x.reshape(x.shape[0], -1)
    return jax.nn.log_softmax(dense(params["fc2"], jax.nn.relu(dense(params["fc1"], x))))


def digits_cnn_parameters(dtype):
    return {
        "conv1": kernel((3, 3, 1, 32), dtype, bias=True),
        "conv2": kernel((3, 3, 32, 64), dtype, bias=True),
        "fc1": fc(9216, 128, dtype),
        "fc2": fc(128, 10, dtype),
    }


def _basic_block(params, x, strides):
    y = jax.nn.relu(batch_norm(params["bn1"], conv(params["conv1"], x, strides)))
    y = batch_norm(params["bn2"], conv(params["conv2"], y))
    if "short" in params:
        x = batch_norm(params["short_bn"], conv(params["short"], x, strides))
    return jax.nn.relu(x + y)


def resnet(params, x):
    """Runs a ResNet of basic blocks for small images."""
    x = jax.nn.relu(batch_norm(params["bn"], conv(params["stem"], x, (2, 2))))
    x = max_pool(x, (3, 3), (2, 2), "SAME")
    for index, block in enumerate(params["blocks"]):
        x = _basic_block(block, x, (2, 2) if "short" in block and index else (1, 1))
    return dense(params["head"], jnp.mean(x, axis=(1, 2)))


def resnet_parameters(dtype, widths=(64, 64, 128, 128, 256, 256, 512, 512)):
    blocks, before = [], widths[0]
    for width in widths:
        block = {
            "conv1": kernel((3, 3, before, width), dtype),
            "bn1": bn(width, dtype),
            "conv2": kernel((3, 3, width, width), dtype),
            "bn2": bn(width, dtype),
        }
        if width != before:
            block |= {"short": kernel((1, 1, before, width), dtype), "short_bn": bn(width, dtype)}
        blocks.append(block)
        before = width
    return {
        "stem": kernel((7, 7, 3, widths[0]), dtype),
        "bn": bn(widths[0], dtype),
        "blocks": blocks,
        "head": fc(widths[-1], 100, dtype),
    }


def mobilenet(params, x):
    """Runs inverted residual blocks: pointwise, depthwise, pointwise."""
    x = jnp.clip(batch_norm(params["bn"], conv(params["stem"], x, (2, 2))), 0, 6)
    for block in params["blocks"]:
        y = jnp.clip(batch_norm(block["bn1"], conv(block["expand"], x)), 0, 6)
        y = jnp.clip(batch_norm(block["bn2"], conv(block["depthwise"], y, groups=y.shape[-1])), 0, 6)
        x = x + batch_norm(block["bn3"], conv(block["project"], y))
    return dense(params["head"], jnp.mean(x, axis=(1, 2)))


def mobilenet_parameters(dtype, width=32, blocks=4):
    wide = 6 * width
    return {
        "stem": kernel((3, 3, 3, width), dtype),
        "bn": bn(width, dtype),
        "blocks": [
            {
                "expand": kernel((1, 1, width, wide), dtype),
                "bn1": bn(wide, dtype),
                "depthwise": kernel((3, 3, 1, wide), dtype),
                "bn2": bn(wide, dtype),
                "project": kernel((1, 1, wide, width), dtype),
                "bn3": bn(width, dtype),
            }
            for _ in range(blocks)
        ],
        "head": fc(width, 100, dtype),
    }


def convnext(params, x):
    x = layer_norm(params["norm"], conv(params["stem"], x, (4, 4), "VALID"))
    for block in params["blocks"]:
        y = layer_norm(block["norm"], conv(block["depthwise"], x, groups=x.shape[-1]))
        y = dense(block["down"], jax.nn.gelu(dense(block["up"], y)))
        x = x + y * block["gamma"]
    return dense(params["head"], jnp.mean(x, axis=(1, 2)))


def convnext_parameters(dtype, width=96, blocks=4):
    return {
        "stem": kernel((4, 4, 3, width), dtype, bias=True),
        "norm": norm(width),
        "blocks": [
            {
                "depthwise": kernel((7, 7, 1, width), dtype, bias=True),
                "norm": norm(width),
                "up": fc(width, 4 * width, dtype),
                "down": fc(4 * width, width, dtype),
                "gamma": jax.ShapeDtypeStruct((width,), dtype),
            }
            for _ in range(blocks)
        ],
        "head": fc(width, 100, dtype),
    }


def mixer(params, x):
    """Runs an MLP-Mixer: patches, then blocks that mix tokens and channels."""
    x = conv(params["stem"], x, (4, 4), "VALID")
    x = x.reshape(x.shape[0], -1, x.shape[-1])
    for block in params["blocks"]:
        y = jnp.swapaxes(layer_norm(block["norm1"], x), 1, 2)
        y = dense(block["token2"], jax.nn.gelu(dense(block["token1"], y)))
        x = x + jnp.swapaxes(y, 1, 2)
        y = layer_norm(block["norm2"], x)
        x = x + dense(block["channel2"], jax.nn.gelu(dense(block["channel1"], y)))
    return dense(params["head"], jnp.mean(layer_norm(params["norm"], x), axis=1))


def mixer_parameters(dtype, tokens=64, width=128, blocks=4):
    return {
        "stem": kernel((4, 4, 3, width), dtype, bias=True),
        "blocks": [
            {
                "norm1": norm(width),
                "token1": fc(tokens, 2 * tokens, dtype),
                "token2": fc(2 * tokens, tokens, dtype),
                "norm2": norm(width),
                "channel1": fc(width, 4 * width, dtype),
                "channel2": fc(4 * width, width, dtype),
            }
            for _ in range(blocks)
        ],
        "norm": norm(width),
        "head": fc(width, 10, dtype),
    }


def autoencoder(params, x):
    for layer in params["down"]:
        x = jax.nn.silu(conv(layer, x, (2, 2)))
    for layer in params["up"]:
        x = jax.nn.silu(conv_transpose(layer, x))
    return jax.nn.sigmoid(conv(params["out"], x))


def autoencoder_parameters(dtype, widths=(32, 64, 128)):
    pairs = list(zip((3, *widths), widths, strict=False))
    return {
        "down": [kernel((3, 3, before, after), dtype, bias=True) for before, after in pairs],
        "up": [kernel((3, 3, after, max(before, 32)), dtype, bias=True) for before, after in reversed(pairs)],
        "out": kernel((3, 3, 32, 3), dtype, bias=True),
    }


def group_norm(params, x, groups=8, epsilon=1e-5):
    """Normalises each group of channels over all positions."""
    batch, height, width, channels = x.shape
    grouped = x.astype(jnp.float32).reshape(batch, height, width, groups, channels // groups)
    mean = grouped.mean((1, 2, 4), keepdims=True)
    variance = grouped.var((1, 2, 4), keepdims=True)
    normal = ((grouped - mean) * lax.rsqrt(variance + epsilon)).reshape(x.shape)
    return (normal * params["scale"] + params["bias"]).astype(x.dtype)


def diffusion_block(params, x, time):
    """Runs a residual block of a denoiser on images, [batch, height, width, channels], and time steps, [batch]."""
    frequencies = jnp.exp(-jnp.log(1e4) * jnp.arange(16, dtype=jnp.float32) / 16)
    angles = time[:, None].astype(jnp.float32) * frequencies
    embedding = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1).astype(x.dtype)
    hidden = conv(params["conv1"], jax.nn.silu(group_norm(params["norm1"], x)))
    hidden = hidden + dense(params["time"], jax.nn.silu(embedding))[:, None, None]
    return x + conv(params["conv2"], jax.nn.silu(group_norm(params["norm2"], hidden)))


def diffusion_block_parameters(dtype, width=32):
    return {
        "norm1": norm(width),
        "conv1": kernel((3, 3, width, width), dtype, bias=True),
        "time": fc(32, width, dtype),
        "norm2": norm(width),
        "conv2": kernel((3, 3, width, width), dtype, bias=True),
    }
