"""``DebertaV2ForMaskedLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "DebertaV2Config",
        "DebertaV2ForMaskedLM",
        text,
        TEXT | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 16},
        {
            "hidden_size": 768,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "intermediate_size": 3072,
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_buckets": 256,
        },
    )
