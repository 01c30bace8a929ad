"""``VisionEncoderDecoderModel`` of transformers, of two sizes."""

from ....inputs import image_and_decoder_text
from ....sizes import CAPTION, VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "VisionEncoderDecoderConfig",
        "VisionEncoderDecoderModel",
        image_and_decoder_text,
        {
            "encoder": {"model_type": "vit"} | VIT,
            "decoder": {"model_type": "bert", "is_decoder": True, "add_cross_attention": True} | CAPTION,
        },
        {
            "encoder": {"model_type": "vit"},
            "decoder": {"model_type": "bert", "is_decoder": True, "add_cross_attention": True},
        },
    )
