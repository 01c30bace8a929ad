"""``ConditionalDetrForObjectDetection`` of transformers, of two sizes."""

from ....inputs import images
from ....sizes import BACKBONE, DETR, STAGES
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "ConditionalDetrConfig",
        "ConditionalDetrForObjectDetection",
        images(96, 320),
        DETR,
        BACKBONE | {"backbone_config": ("ResNetConfig", STAGES), "init_std": 0.1},
    )
