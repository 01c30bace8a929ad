"""``RobertaForMaskedLM`` of transformers, of two sizes."""

from ....inputs import padded_text
from ....sizes import TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("RobertaConfig", "RobertaForMaskedLM", padded_text, TEXT)
