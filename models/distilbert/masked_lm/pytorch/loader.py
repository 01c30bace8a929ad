"""``DistilBertForMaskedLM`` of transformers, of two sizes."""

from ....inputs import padded_text
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        padded_text,
        {"vocab_size": 512, "dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128, "max_position_embeddings": 128},
    )
