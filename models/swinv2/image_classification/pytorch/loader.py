"""``Swinv2ForImageClassification`` of transformers, of two sizes."""

from ....inputs import images
from ....sizes import SWIN
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "Swinv2Config", "Swinv2ForImageClassification", images(64, 256), SWIN, {"image_size": 256, "window_size": 8}
    )
