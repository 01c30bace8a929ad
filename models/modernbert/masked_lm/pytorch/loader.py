"""``ModernBertForMaskedLM`` of transformers, of two sizes."""

from ....inputs import padded_text
from ....sizes import TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "ModernBertConfig",
        "ModernBertForMaskedLM",
        padded_text,
        TEXT | {"num_hidden_layers": 4, "local_attention": 8, "cls_token_id": 1, "sep_token_id": 2},
    )
