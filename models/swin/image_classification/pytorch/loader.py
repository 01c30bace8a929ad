"""``SwinForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....sizes import SWIN
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("SwinConfig", "SwinForImageClassification", images(64), SWIN)
