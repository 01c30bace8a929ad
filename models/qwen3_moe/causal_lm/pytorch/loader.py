"""``Qwen3MoeForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import EXPERTS, GROUPED_TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "Qwen3MoeConfig",
        "Qwen3MoeForCausalLM",
        text,
        GROUPED_TEXT | EXPERTS,
        {"num_hidden_layers": 2, "num_experts": 16},
    )
