"""``YolosForObjectDetection`` of transformers, of two sizes."""

from ....inputs import images
from ....sizes import VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "YolosConfig",
        "YolosForObjectDetection",
        images(64, 224),
        VIT | {"image_size": [64, 64], "num_detection_tokens": 16},
        {"hidden_size": 192, "num_attention_heads": 3, "intermediate_size": 768, "image_size": [224, 224]},
    )
