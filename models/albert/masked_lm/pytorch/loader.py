"""``AlbertForMaskedLM`` of transformers, of two sizes."""

from ....inputs import padded_text
from ....sizes import TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("AlbertConfig", "AlbertForMaskedLM", padded_text, TEXT | {"embedding_size": 32})
