"""``LevitForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "LevitConfig",
        "LevitForImageClassification",
        images(64),
        {"image_size": 64, "hidden_sizes": [32, 64, 96], "num_attention_heads": [2, 4, 6], "depths": [1, 1, 1]},
    )
