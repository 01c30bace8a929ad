"""``ViltForQuestionAnswering`` of transformers, of two sizes."""

from ....inputs import image_and_text
from ....sizes import CAPTION
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "ViltConfig",
        "ViltForQuestionAnswering",
        image_and_text,
        CAPTION | {"image_size": 64, "patch_size": 16, "max_image_length": 16, "num_labels": 8},
        {"image_size": 224, "max_image_length": 49, "num_labels": 3129},
    )
