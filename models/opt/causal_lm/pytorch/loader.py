"""``OPTForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "OPTConfig",
        "OPTForCausalLM",
        text,
        {
            "vocab_size": 512,
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_dim": 128,
            "max_position_embeddings": 128,
            "word_embed_proj_dim": 64,
        },
    )
