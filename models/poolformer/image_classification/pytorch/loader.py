"""``PoolFormerForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "PoolFormerConfig",
        "PoolFormerForImageClassification",
        images(64),
        {"hidden_sizes": [32, 64, 96, 128], "depths": [1, 1, 1, 1]},
    )
