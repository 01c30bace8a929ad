"""``Mamba2ForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "Mamba2Config",
        "Mamba2ForCausalLM",
        text,
        {
            "vocab_size": 512,
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "state_size": 16,
            "num_heads": 4,
            "head_dim": 32,
            "n_groups": 2,
            "chunk_size": 16,
        },
        {"hidden_size": 768, "num_hidden_layers": 24, "num_heads": 24, "n_groups": 1, "vocab_size": 50288},
    )
