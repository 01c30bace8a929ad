"""``GPTJForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "GPTJConfig",
        "GPTJForCausalLM",
        text,
        {
            "vocab_size": 512,
            "n_embd": 64,
            "n_layer": 2,
            "n_head": 4,
            "n_positions": 128,
            "rotary_dim": 8,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
        {"n_layer": 2},
    )
