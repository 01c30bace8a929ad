"""``MobileViTV2ForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "MobileViTV2Config",
        "MobileViTV2ForImageClassification",
        images(64, 256),
        {"width_multiplier": 0.25, "image_size": 64},
    )
