"""``MobileNetV1ForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "MobileNetV1Config", "MobileNetV1ForImageClassification", images(64), {"depth_multiplier": 0.25}
    )
