"""``Dinov2ForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....sizes import VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("Dinov2Config", "Dinov2ForImageClassification", images(64), VIT)
