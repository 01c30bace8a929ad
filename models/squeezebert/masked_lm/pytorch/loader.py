"""``SqueezeBertForMaskedLM`` of transformers, of two sizes."""

from ....inputs import padded_text
from ....sizes import TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "SqueezeBertConfig", "SqueezeBertForMaskedLM", padded_text, TEXT | {"embedding_size": 64}
    )
