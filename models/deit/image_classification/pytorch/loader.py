"""``DeiTForImageClassificationWithTeacher`` of transformers, of two sizes."""

from ....inputs import images
from ....sizes import VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("DeiTConfig", "DeiTForImageClassificationWithTeacher", images(64), VIT)
