"""``GptOssForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import GROUPED_TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "GptOssConfig",
        "GptOssForCausalLM",
        text,
        GROUPED_TEXT | {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 16},
        {"num_hidden_layers": 2, "num_local_experts": 4, "hidden_size": 1440, "intermediate_size": 1440},
    )
