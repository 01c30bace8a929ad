"""``Qwen2MoeForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import EXPERTS, GROUPED_TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "Qwen2MoeConfig",
        "Qwen2MoeForCausalLM",
        text,
        GROUPED_TEXT | EXPERTS | {"shared_expert_intermediate_size": 64},
        {"num_hidden_layers": 2, "num_experts": 16},
    )
