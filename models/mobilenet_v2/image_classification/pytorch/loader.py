"""``MobileNetV2ForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "MobileNetV2Config", "MobileNetV2ForImageClassification", images(64), {"depth_multiplier": 0.35}
    )
