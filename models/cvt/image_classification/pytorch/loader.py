"""``CvtForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "CvtConfig",
        "CvtForImageClassification",
        images(64),
        {"embed_dim": [32, 64, 96], "num_heads": [1, 2, 3], "depth": [1, 2, 3]},
    )
