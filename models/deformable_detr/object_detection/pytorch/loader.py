"""``DeformableDetrForObjectDetection`` of transformers, of two sizes."""

from ....inputs import images
from ....sizes import BACKBONE, DETR, RESNET
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "DeformableDetrConfig",
        "DeformableDetrForObjectDetection",
        images(96, 320),
        DETR | {"backbone_config": ("ResNetConfig", RESNET | {"out_features": ["stage2", "stage3", "stage4"]})},
        BACKBONE | {"backbone_config": ("ResNetConfig", {"out_features": ["stage2", "stage3", "stage4"]})},
    )
