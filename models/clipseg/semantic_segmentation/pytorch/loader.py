"""``CLIPSegForImageSegmentation`` of transformers, of two sizes."""

from ....inputs import captioned_images
from ....sizes import CAPTION, VIT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "CLIPSegConfig",
        "CLIPSegForImageSegmentation",
        captioned_images(64, 352, texts=1),
        {
            "text_config": CAPTION,
            "vision_config": VIT,
            "projection_dim": 64,
            "reduce_dim": 32,
            "extract_layers": [0, 1],
            "decoder_num_attention_heads": 4,
            "decoder_intermediate_size": 64,
        },
        records=True,
    )
