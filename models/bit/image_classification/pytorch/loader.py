"""``BitForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "BitConfig",
        "BitForImageClassification",
        images(64),
        {"embedding_size": 32, "hidden_sizes": [128, 256], "depths": [1, 2]},
    )
