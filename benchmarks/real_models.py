"""Thirty models of torchvision, timm, transformers and diffusers beside eager and inductor: ``make bench-models``.

Each model has its published sizes, or fewer layers where the name says so, with random weights, in float32 inference.
Each way has a process of its own, and the processes take turns. A figure is the median over the rounds of the ratio
within a round; above 1 the emulated card is faster. Models of a library that is not installed are left out:
``pip install --no-deps torchvision timm diffusers`` installs all of them.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import click
import torch

from benchmarks.turns import Call, in_turns
from docs.tables import write_between_marks

ModelAndInputs = tuple[torch.nn.Module, dict[str, Any]]


_TORCHVISION_OPS = (
    "nms",
    "qnms",
    "roi_align",
    "ps_roi_align",
    "roi_pool",
    "ps_roi_pool",
    "qroi_align",
    "deform_conv2d",
)


@functools.cache
def _declare_torchvision_ops() -> torch.library.Library:
    """Declares the compiled ops of torchvision, which its import needs: beside a torch for the CPU there are none."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    backward = [f"_{name}_backward" for name in _TORCHVISION_OPS]
    for name in (*_TORCHVISION_OPS, *backward):
        library.define(f"{name}(Tensor x) -> Tensor")
    return library


def _vision(name: str, batch: int = 1) -> Callable[[], ModelAndInputs]:
    def make() -> ModelAndInputs:
        import torchvision

        return torchvision.models.get_model(name, weights=None), {"x": torch.randn(batch, 3, 224, 224)}

    return make


def _timm(name: str) -> Callable[[], ModelAndInputs]:
    def make() -> ModelAndInputs:
        import timm

        return timm.create_model(name, pretrained=False), {"x": torch.randn(1, 3, 224, 224)}

    return make


def _transformers(
    config: str, model: str, inputs: Callable[[], dict[str, Any]], **sizes: Any
) -> Callable[[], ModelAndInputs]:
    def make() -> ModelAndInputs:
        import transformers

        configuration = getattr(transformers, config)(**sizes)
        return getattr(transformers, model)(configuration), inputs()

    return make


def _diffusers(name: str, inputs: Callable[[], dict[str, Any]], **sizes: Any) -> Callable[[], ModelAndInputs]:
    def make() -> ModelAndInputs:
        import diffusers

        return getattr(diffusers, name)(**sizes), inputs() | {"return_dict": False}

    return make


def _ids(batch: int, length: int, **more: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {"input_ids": torch.randint(0, 1000, (batch, length)), **more}


def _pixels() -> dict[str, Any]:
    return {"pixel_values": torch.randn(1, 3, 224, 224)}


def _pictures(size: int, channels: int = 4) -> dict[str, Any]:
    return {"sample": torch.randn(1, channels, size, size)}


_PREFILL = {"use_cache": False}
_DECODER = {"vocab_size": 32000, "hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 4}

LIBRARIES: dict[str, dict[str, Callable[[], ModelAndInputs]]] = {
    "torchvision": {
        "ResNet-18": _vision("resnet18"),
        "ResNet-50, 8": _vision("resnet50", 8),
        "VGG-11": _vision("vgg11"),
        "DenseNet-121": _vision("densenet121"),
        "MobileNetV3-L": _vision("mobilenet_v3_large"),
        "EfficientNet-B0": _vision("efficientnet_b0"),
        "RegNetY-400MF": _vision("regnet_y_400mf"),
        "ShuffleNetV2": _vision("shufflenet_v2_x1_0"),
        "SqueezeNet": _vision("squeezenet1_1"),
        "ConvNeXt-T": _vision("convnext_tiny"),
        "Swin-T": _vision("swin_t"),
    },
    "timm": {
        "ViT-S/16": _timm("vit_small_patch16_224"),
        "Mixer-S/16": _timm("mixer_s16_224"),
        "MobileViT-S": _timm("mobilevit_s"),
        "PoolFormer-S12": _timm("poolformer_s12"),
    },
    "transformers": {
        "BERT-base, 128": _transformers("BertConfig", "BertModel", _ids(1, 128)),
        "DistilBERT, 128": _transformers("DistilBertConfig", "DistilBertModel", _ids(1, 128)),
        "ALBERT-base, 128": _transformers(
            "AlbertConfig", "AlbertModel", _ids(1, 128), hidden_size=768, num_attention_heads=12, intermediate_size=3072
        ),
        "GPT-2, 64": _transformers("GPT2Config", "GPT2LMHeadModel", _ids(1, 64, **_PREFILL)),
        "Llama, 4 layers, 64": _transformers("LlamaConfig", "LlamaForCausalLM", _ids(1, 64, **_PREFILL), **_DECODER),
        "Gemma, 4 layers, 64": _transformers(
            "GemmaConfig",
            "GemmaForCausalLM",
            _ids(1, 64, **_PREFILL),
            **_DECODER,
            num_attention_heads=8,
            num_key_value_heads=8,
            head_dim=64,
        ),
        "Mixtral, 4 layers, 32": _transformers(
            "MixtralConfig", "MixtralForCausalLM", _ids(1, 32, **_PREFILL), **_DECODER, num_local_experts=4
        ),
        "Mamba, 4 layers, 32": _transformers(
            "MambaConfig", "MambaForCausalLM", _ids(1, 32, **_PREFILL), hidden_size=512, num_hidden_layers=4
        ),
        "T5-small, 64": _transformers(
            "T5Config",
            "T5Model",
            lambda: {key: torch.randint(0, 1000, (1, 64)) for key in ("input_ids", "decoder_input_ids")},
        ),
        "Whisper-tiny encoder": _transformers(
            "WhisperConfig",
            "WhisperForAudioClassification",
            lambda: {"input_features": torch.randn(1, 80, 3000)},
            d_model=384,
            encoder_layers=4,
            encoder_attention_heads=6,
            encoder_ffn_dim=1536,
        ),
        "wav2vec2-base, 1 s": _transformers(
            "Wav2Vec2Config", "Wav2Vec2Model", lambda: {"input_values": torch.randn(1, 16000)}
        ),
        "SegFormer-B0": _transformers("SegformerConfig", "SegformerForSemanticSegmentation", _pixels),
        "CLIP ViT-B/32": _transformers("CLIPVisionConfig", "CLIPVisionModel", _pixels),
    },
    "diffusers": {
        "U-Net, 32": _diffusers(
            "UNet2DConditionModel",
            lambda: _pictures(32) | {"timestep": torch.tensor(5), "encoder_hidden_states": torch.randn(1, 16, 256)},
            block_out_channels=(64, 128, 256, 256),
            cross_attention_dim=256,
        ),
        "DiT-S/2, 32": _diffusers(
            "DiTTransformer2DModel",
            lambda: {
                "hidden_states": torch.randn(1, 4, 32, 32),
                "timestep": torch.tensor([5]),
                "class_labels": torch.tensor([7]),
            },
            num_attention_heads=6,
            attention_head_dim=64,
            num_layers=12,
            sample_size=32,
        ),
    },
}
"""Makes each model and its keyword arguments, by library and name."""

MODELS = {name: make for models in LIBRARIES.values() for name, make in models.items()}


def _call(model: torch.nn.Module, inputs: Mapping[str, Any]) -> Call:
    if "x" in inputs:
        return lambda: model(inputs["x"])
    return lambda: model(**inputs)


def timed_call(way: str, name: str, threads: int) -> Call:
    """Creates the timed call of one implementation in a fresh process."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    if importlib.util.find_spec("torchvision"):  # the other libraries import it too
        _declare_torchvision_ops()
    torch.set_grad_enabled(False)
    model, inputs = MODELS[name]()
    model = model.eval()
    if way == "inductor":
        import torch._inductor.config as inductor_config

        inductor_config.freezing = True
        model = torch.compile(model)
    elif way == "tt":
        import tt_torch  # noqa: F401

        os.environ.setdefault("TTXLA_EMULATOR_CHAINS", "now")  # compile fused kernels before timing starts
        model = torch.compile(model.to("tt"), backend="tt")
        inputs = {key: value.to("tt") if isinstance(value, torch.Tensor) else value for key, value in inputs.items()}
    return _call(model, inputs)


def ratios(durations: Mapping[str, list[float]]) -> list[float]:
    """Returns the median ratio of each other way's time to that of ``tt``."""
    return [
        statistics.median(theirs / our for theirs, our in zip(times, durations["tt"], strict=True))
        for way, times in durations.items()
        if way != "tt"
    ]


@click.command(help=__doc__)
@click.option("--rounds", default=7, show_default=True, help="Rounds; each times every way once.")
@click.option("--model", default="", help="Only models whose name contains this.")
@click.option("--ways", default="eager inductor", show_default=True, help="What the card is compared with.")
@click.option("--threads", default=0, help="Threads of torch; 0 for as many as there are cores.")
@click.option("--document", type=Path, help="Write the table into this document.")
def main(rounds: int, model: str, ways: str, threads: int, document: Path | None) -> None:
    threads = threads or len(os.sched_getaffinity(0))
    others = ways.split()
    lines = [
        f"| model | tt, ms | {' | '.join(f'{way} / tt' for way in others)} |",
        "|---" + "|--:" * (1 + len(others)) + "|",
    ]
    print(*lines, sep="\n")
    found: list[list[float]] = []
    for library, models in LIBRARIES.items():
        if importlib.util.find_spec(library) is None:
            print(f"Left out: models of {library}, which is not installed.")
            continue
        for name in (name for name in models if model in name):
            makers = {way: functools.partial(timed_call, way, name, threads) for way in (*others, "tt")}
            durations = in_turns(makers, rounds, seconds=0.3)
            found.append(ratios(durations))
            cells = [f"{statistics.median(durations['tt']) * 1e3:.1f}", *(f"{ratio:.2f}" for ratio in found[-1])]
            lines.append(f"| {name} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    medians = [statistics.median(column) for column in zip(*found, strict=True)]
    lines.append(f"| median | | {' | '.join(f'{ratio:.2f}' for ratio in medians)} |")
    print(lines[-1])
    if document:
        write_between_marks(document, "models", "\n".join(lines))


if __name__ == "__main__":
    main()
