"""``ResNetForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....sizes import RESNET
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("ResNetConfig", "ResNetForImageClassification", images(64), RESNET)
