"""``MistralForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import GROUPED_TEXT
from ....tensor_parallel import SplitDecoder
from ....transformers_models import Architecture


class ModelLoader(SplitDecoder):
    architecture = Architecture(
        "MistralConfig", "MistralForCausalLM", text, GROUPED_TEXT | {"sliding_window": 16}, {"num_hidden_layers": 2}
    )
