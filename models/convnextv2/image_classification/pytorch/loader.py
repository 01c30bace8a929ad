"""``ConvNextV2ForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "ConvNextV2Config",
        "ConvNextV2ForImageClassification",
        images(64),
        {"hidden_sizes": [32, 64, 96, 128], "depths": [1, 1, 2, 1]},
    )
