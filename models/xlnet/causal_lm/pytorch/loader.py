"""``XLNetLMHeadModel`` of transformers."""

from ....inputs import text
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "XLNetConfig",
        "XLNetLMHeadModel",
        text,
        {"vocab_size": 512, "d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 128},
    )
