"""``EfficientNetForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "EfficientNetConfig",
        "EfficientNetForImageClassification",
        images(64),
        {"width_coefficient": 0.5, "depth_coefficient": 0.5, "hidden_dim": 640, "image_size": 64},
        {"width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280, "image_size": 224},
    )
