"""``SegformerForSemanticSegmentation`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "SegformerConfig",
        "SegformerForSemanticSegmentation",
        images(64),
        {"hidden_sizes": [16, 32, 80, 96], "depths": [1, 1, 1, 1], "decoder_hidden_size": 32},
        records=True,
    )
