"""``BeitForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....sizes import VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "BeitConfig", "BeitForImageClassification", images(64), VIT | {"use_relative_position_bias": True}
    )
