"""``DPTForDepthEstimation`` of transformers, of two sizes."""

from ....inputs import images
from ....sizes import VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "DPTConfig",
        "DPTForDepthEstimation",
        images(64, 384),
        VIT
        | {
            "num_hidden_layers": 4,
            "backbone_out_indices": [0, 1, 2, 3],
            "neck_hidden_sizes": [16, 32, 48, 64],
            "fusion_hidden_size": 32,
            "is_hybrid": False,
        },
        {"is_hybrid": False},
        records=True,
    )
