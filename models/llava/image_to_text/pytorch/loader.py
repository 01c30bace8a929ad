"""``LlavaForConditionalGeneration`` of transformers, of two sizes."""

from ....inputs import image_and_tokens
from ....sizes import CAPTION, VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "LlavaConfig",
        "LlavaForConditionalGeneration",
        image_and_tokens(64, 336, 16, 576),
        {
            "text_config": ("LlamaConfig", CAPTION),
            "vision_config": ("CLIPVisionConfig", VIT),
            "image_token_id": 5,
        },
        {
            "text_config": ("LlamaConfig", {"hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16}),
            "vision_config": ("CLIPVisionConfig", {"image_size": 336, "patch_size": 14}),
            "image_token_id": 5,
        },
    )
