"""``MixtralForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import GROUPED_TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "MixtralConfig",
        "MixtralForCausalLM",
        text,
        GROUPED_TEXT | {"num_local_experts": 4, "num_experts_per_tok": 2},
        {"hidden_size": 1024, "intermediate_size": 3584, "num_hidden_layers": 4, "num_attention_heads": 16},
    )
