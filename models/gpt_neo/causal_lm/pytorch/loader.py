"""``GPTNeoForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "GPTNeoConfig",
        "GPTNeoForCausalLM",
        text,
        {
            "vocab_size": 512,
            "hidden_size": 64,
            "num_layers": 2,
            "num_heads": 4,
            "window_size": 16,
            "max_position_embeddings": 128,
            "attention_types": [[["global", "local"], 1]],
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
        {"hidden_size": 768, "num_layers": 12, "num_heads": 12, "attention_types": [[["global", "local"], 6]]},
    )
