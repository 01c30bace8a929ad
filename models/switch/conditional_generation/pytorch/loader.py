"""``SwitchTransformersForConditionalGeneration`` of transformers, of two sizes."""

from ....inputs import text_pair
from ....sizes import T5
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "SwitchTransformersConfig",
        "SwitchTransformersForConditionalGeneration",
        text_pair,
        T5 | {"num_experts": 4, "expert_capacity": 64, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
    )
