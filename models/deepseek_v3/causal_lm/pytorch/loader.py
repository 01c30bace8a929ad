"""``DeepseekV3ForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "DeepseekV3Config",
        "DeepseekV3ForCausalLM",
        text,
        TEXT
        | {
            "moe_intermediate_size": 32,
            "num_key_value_heads": 4,
            "n_routed_experts": 8,
            "n_shared_experts": 1,
            "num_experts_per_tok": 2,
            "n_group": 2,
            "topk_group": 1,
            "first_k_dense_replace": 1,
            "kv_lora_rank": 32,
            "q_lora_rank": 32,
            "qk_rope_head_dim": 16,
            "qk_nope_head_dim": 32,
            "v_head_dim": 32,
        },
        {
            "hidden_size": 1024,
            "num_hidden_layers": 3,
            "intermediate_size": 2048,
            "moe_intermediate_size": 512,
            "n_routed_experts": 16,
            "n_group": 4,
            "topk_group": 2,
            "num_experts_per_tok": 4,
            "num_attention_heads": 16,
            "num_key_value_heads": 16,
            "first_k_dense_replace": 1,
        },
    )
