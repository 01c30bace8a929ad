"""``BlipForConditionalGeneration`` of transformers, of two sizes."""

from ....inputs import captioned_images
from ....sizes import CAPTION, VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "BlipConfig",
        "BlipForConditionalGeneration",
        captioned_images(64, 384, texts=1),
        {"text_config": CAPTION | {"encoder_hidden_size": 64}, "vision_config": VIT},
    )
