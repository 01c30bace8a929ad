"""``Swin2SRForImageSuperResolution`` of transformers, of two sizes."""

from ....inputs import images
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "Swin2SRConfig",
        "Swin2SRForImageSuperResolution",
        images(32, 64),
        {"image_size": 32, "embed_dim": 32, "depths": [2, 2], "num_heads": [2, 2]},
    )
