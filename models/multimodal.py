"""Models of images with text."""

from __future__ import annotations

from models.inputs import captioned_images, image_and_tokens, images
from models.loader import Loader

_TEXT = {
    "vocab_size": 512,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_VISION = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "image_size": 64,
    "patch_size": 16,
}

MULTIMODAL = [
    Loader(
        "clip",
        "CLIPConfig",
        "CLIPModel",
        captioned_images(64),
        {"text_config": _TEXT, "vision_config": _VISION, "projection_dim": 64},
    ),
    Loader(
        "siglip",
        "SiglipConfig",
        "SiglipModel",
        captioned_images(64),
        {"text_config": _TEXT, "vision_config": _VISION},
    ),
    Loader(
        "clipseg",
        "CLIPSegConfig",
        "CLIPSegForImageSegmentation",
        captioned_images(64, 352, texts=1),
        {
            "text_config": _TEXT,
            "vision_config": _VISION,
            "projection_dim": 64,
            "reduce_dim": 32,
            "extract_layers": [0, 1],
            "decoder_num_attention_heads": 4,
            "decoder_intermediate_size": 64,
        },
    ),
    Loader(
        "llava",
        "LlavaConfig",
        "LlavaForConditionalGeneration",
        image_and_tokens(64, 336, 16, 576),
        {
            "text_config": ("LlamaConfig", _TEXT),
            "vision_config": ("CLIPVisionConfig", _VISION),
            "image_token_id": 5,
        },
        {
            "text_config": ("LlamaConfig", {"hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16}),
            "vision_config": ("CLIPVisionConfig", {"image_size": 336, "patch_size": 14}),
            "image_token_id": 5,
        },
    ),
    Loader(
        "vision-encoder-decoder",
        "VisionEncoderDecoderConfig",
        "VisionEncoderDecoderModel",
        lambda config, size: images(64)(config, size) | {"decoder_input_ids": _decoder_ids(config)},
        {
            "encoder": {"model_type": "vit"} | _VISION,
            "decoder": {"model_type": "bert", "is_decoder": True, "add_cross_attention": True} | _TEXT,
        },
        {
            "encoder": {"model_type": "vit"},
            "decoder": {"model_type": "bert", "is_decoder": True, "add_cross_attention": True},
        },
    ),
    Loader(
        "blip",
        "BlipConfig",
        "BlipForConditionalGeneration",
        captioned_images(64, 384, texts=1),
        {"text_config": _TEXT | {"encoder_hidden_size": 64}, "vision_config": _VISION},
    ),
    Loader(
        "owlvit",
        "OwlViTConfig",
        "OwlViTForObjectDetection",
        captioned_images(64, 768),
        {
            "text_config": _TEXT | {"max_position_embeddings": 16},
            "vision_config": _VISION,
            "projection_dim": 64,
        },
    ),
    Loader(
        "vilt",
        "ViltConfig",
        "ViltForQuestionAnswering",
        lambda config, size: _vilt(config, size),
        _TEXT | {"image_size": 64, "patch_size": 16, "max_image_length": 16, "num_labels": 8},
        {"image_size": 224, "max_image_length": 49, "num_labels": 3129},
    ),
]


def _decoder_ids(config):
    import torch

    return torch.randint(10, config.decoder.vocab_size, (1, 16), generator=torch.Generator().manual_seed(2))


def _vilt(config, size):
    from models.inputs import text

    return {"input_ids": text(config, "small")["input_ids"]} | images(64)(config, size)
