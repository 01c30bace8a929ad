"""``LlamaForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import GROUPED_TEXT
from ....tensor_parallel import SplitDecoder
from ....transformers_models import Architecture


class ModelLoader(SplitDecoder):
    architecture = Architecture(
        "LlamaConfig",
        "LlamaForCausalLM",
        text,
        GROUPED_TEXT,
        {
            "vocab_size": 128256,
            "hidden_size": 2048,
            "num_hidden_layers": 16,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "intermediate_size": 8192,
            "tie_word_embeddings": True,
        },
    )
