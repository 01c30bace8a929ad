"""``XGLMForCausalLM`` of transformers."""

from ....inputs import text
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "XGLMConfig",
        "XGLMForCausalLM",
        text,
        {"vocab_size": 512, "d_model": 64, "num_layers": 2, "attention_heads": 4, "ffn_dim": 128},
    )
