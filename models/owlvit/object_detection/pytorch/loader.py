"""``OwlViTForObjectDetection`` of transformers, of two sizes."""

from ....inputs import captioned_images
from ....sizes import CAPTION, VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "OwlViTConfig",
        "OwlViTForObjectDetection",
        captioned_images(64, 768),
        {
            "text_config": CAPTION | {"max_position_embeddings": 16},
            "vision_config": VIT,
            "projection_dim": 64,
        },
    )
