"""``WavLMForCTC`` of transformers, of two sizes."""

from ....inputs import waveform
from ....sizes import WAVE
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("WavLMConfig", "WavLMForCTC", waveform, WAVE)
