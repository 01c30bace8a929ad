"""``SiglipModel`` of transformers, of two sizes."""

from ....inputs import captioned_images
from ....sizes import CAPTION, VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "SiglipConfig", "SiglipModel", captioned_images(64), {"text_config": CAPTION, "vision_config": VIT}
    )
