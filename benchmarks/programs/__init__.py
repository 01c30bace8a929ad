"""Programs on which compilers are compared, from 20 to 5,000 StableHLO ops.

``python -m programs FOLDER`` writes all of them as text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.programs import language, sequences, training, vision
from benchmarks.programs.parameters import fc

BF16, F32 = jnp.bfloat16, jnp.float32


def _array(*shape: int, dtype: Any = BF16) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def _tokens(batch: int, length: int) -> jax.ShapeDtypeStruct:
    return _array(batch, length, dtype=jnp.int32)


@dataclass(frozen=True)
class Program:
    """A function and the shapes of its arguments, parameters first."""

    function: Callable[..., Any]
    shapes: tuple[Any, ...]

    def stablehlo(self) -> str:
        return jax.jit(self.function).lower(*self.shapes).as_text()


def _mlp(dtype: Any) -> list[Any]:
    return [fc(784, 256, dtype), fc(256, 128, dtype), fc(128, 10, dtype)]


def _adam(forward: Callable[..., Any], params: Any, inputs: Any, labels: Any) -> Program:
    return Program(training.adam_step(forward), (params, params, params, _array(dtype=jnp.int32), inputs, labels))


def _llama_decode(layers: int, length: int = 128) -> Program:
    shapes = (
        language.llama_parameters(BF16, layers),
        language.cache_shapes(BF16, layers, length=length),
        _tokens(1, 1),
        _array(dtype=jnp.int32),
    )
    return Program(language.llama_decode, shapes)


def _labels(batch: int) -> jax.ShapeDtypeStruct:
    return _array(batch, dtype=jnp.int32)


PROGRAMS: dict[str, Callable[[], Program]] = {
    "mlp": lambda: Program(training.mlp, (_mlp(BF16), _array(32, 784))),
    "mlp_f32": lambda: Program(training.mlp, (_mlp(F32), _array(32, 784, dtype=F32))),
    "digits_cnn": lambda: Program(vision.digits_cnn, (vision.digits_cnn_parameters(BF16), _array(64, 28, 28, 1))),
    "resnet": lambda: Program(vision.resnet, (vision.resnet_parameters(BF16), _array(1, 64, 64, 3))),
    "mobilenet": lambda: Program(vision.mobilenet, (vision.mobilenet_parameters(BF16), _array(1, 64, 64, 3))),
    "convnext": lambda: Program(vision.convnext, (vision.convnext_parameters(BF16), _array(1, 64, 64, 3))),
    "mixer": lambda: Program(vision.mixer, (vision.mixer_parameters(BF16), _array(4, 32, 32, 3))),
    "mixer_f32": lambda: Program(vision.mixer, (vision.mixer_parameters(F32), _array(4, 32, 32, 3, dtype=F32))),
    "autoencoder": lambda: Program(vision.autoencoder, (vision.autoencoder_parameters(BF16), _array(1, 32, 32, 3))),
    "bert": lambda: Program(language.bert, (language.bert_parameters(BF16), _tokens(1, 128), _tokens(1, 128))),
    "gpt": lambda: Program(language.gpt, (language.gpt_parameters(BF16), _tokens(1, 128))),
    "encoder_decoder": lambda: Program(
        language.encoder_decoder, (language.encoder_decoder_parameters(BF16), _array(1, 64, 256), _array(1, 32, 256))
    ),
    "llama_prefill": lambda: Program(language.llama_prefill, (language.llama_parameters(BF16), _tokens(1, 128))),
    "llama_decode": lambda: _llama_decode(2),
    "llama_decode_24": lambda: _llama_decode(24),
    "gpt_12": lambda: Program(language.gpt, (language.gpt_parameters(BF16, 12), _tokens(1, 128))),
    "diffusion_block": lambda: Program(
        vision.diffusion_block,
        (vision.diffusion_block_parameters(BF16), _array(2, 16, 16, 32), _array(2, dtype=jnp.int32)),
    ),
    "lstm": lambda: Program(sequences.lstm, (sequences.lstm_parameters(F32), _array(4, 24, 64, dtype=F32))),
    "sample": lambda: Program(sequences.sample, (_array(4, 1000, dtype=F32), _array(dtype=jnp.int32))),
    "beam_step": lambda: Program(
        sequences.beam_step,
        (_array(2, 4, dtype=F32), _array(2, 4, 10, dtype=jnp.int32), _array(2, 4, 200, dtype=F32)),
    ),
    "mlp_train": lambda: Program(training.sgd_step(training.mlp), (_mlp(F32), _array(32, 784, dtype=F32), _labels(32))),
    "cnn_train": lambda: Program(
        training.sgd_step(vision.digits_cnn),
        (vision.digits_cnn_parameters(F32), _array(16, 28, 28, 1, dtype=F32), _labels(16)),
    ),
    "mixer_train": lambda: _adam(
        vision.mixer, vision.mixer_parameters(F32, blocks=2), _array(4, 32, 32, 3, dtype=F32), _labels(4)
    ),
    "gpt_train": lambda: _adam(_last_logits, language.gpt_parameters(F32), _tokens(2, 128), _labels(2)),
    "gpt_6_train": lambda: _adam(_last_logits, language.gpt_parameters(F32, 6), _tokens(2, 128), _labels(2)),
}


def _last_logits(params: Any, tokens: Any) -> Any:
    return language.gpt(params, tokens)[:, -1]
