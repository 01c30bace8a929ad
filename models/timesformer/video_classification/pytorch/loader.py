"""``TimesformerForVideoClassification`` of transformers, of two sizes."""

from ....inputs import video
from ....sizes import VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "TimesformerConfig", "TimesformerForVideoClassification", video(32), VIT | {"image_size": 32, "num_frames": 4}
    )
