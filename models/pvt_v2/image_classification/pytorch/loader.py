"""``PvtV2ForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "PvtV2Config",
        "PvtV2ForImageClassification",
        images(64),
        {"hidden_sizes": [16, 32, 80, 128], "depths": [1, 1, 1, 1], "image_size": 64},
    )
