"""``FocalNetForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "FocalNetConfig",
        "FocalNetForImageClassification",
        images(64),
        {
            "image_size": 64,
            "embed_dim": 32,
            "hidden_sizes": [32, 64],
            "depths": [1, 1],
            "focal_levels": [2, 2],
            "focal_windows": [3, 3],
        },
    )
