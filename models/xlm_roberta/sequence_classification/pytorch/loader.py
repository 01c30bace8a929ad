"""``XLMRobertaForSequenceClassification`` of transformers, of two sizes."""

from ....inputs import padded_text
from ....sizes import TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "XLMRobertaConfig", "XLMRobertaForSequenceClassification", padded_text, TEXT, {"num_labels": 3}
    )
