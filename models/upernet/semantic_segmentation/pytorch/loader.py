"""``UperNetForSemanticSegmentation`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "UperNetConfig",
        "UperNetForSemanticSegmentation",
        images(64),
        {
            "backbone_config": (
                "ConvNextConfig",
                {
                    "hidden_sizes": [16, 32, 48, 64],
                    "depths": [1, 1, 1, 1],
                    "out_features": ["stage1", "stage2", "stage3", "stage4"],
                },
            ),
            "hidden_size": 32,
            "auxiliary_in_channels": 48,
            "auxiliary_channels": 32,
        },
        {
            "backbone_config": ("ConvNextConfig", {"out_features": ["stage1", "stage2", "stage3", "stage4"]}),
            "hidden_size": 256,
            "auxiliary_in_channels": 384,
        },
    )
