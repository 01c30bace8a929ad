"""A convolutional network for digits, flax linen."""

from collections.abc import Sequence
from typing import Any

import jax
from flax import linen as nn
from jax.sharding import PartitionSpec

from ....jax_models import JaxLoader


class Network(nn.Module):
    width: int
    hidden: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for factor in (1, 2):
            x = nn.relu(nn.Conv(factor * self.width, (3, 3))(x))
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = nn.relu(nn.Dense(self.hidden)(x.reshape(x.shape[0], -1)))
        return nn.Dense(10)(x)


class ModelLoader(JaxLoader):
    sizes = {"small": {"width": 8, "hidden": 64}, "full": {"width": 32, "hidden": 256}}
    shapes = {"small": (28, 28, 1), "full": (28, 28, 1)}

    def build(self, **size: int) -> Network:
        return Network(**size)

    def get_mesh_config(self, num_devices: int) -> tuple[Sequence[int], Sequence[str]]:
        """Returns a mesh of all chips in a row."""
        return (1, num_devices), ("batch", "model")

    def load_shard_spec(self, model: Any) -> Any:
        """Returns the partition specs of the parameters: the hidden units of the dense layers are split."""
        specs = jax.tree.map(lambda _: PartitionSpec(), model)
        specs["params"]["Dense_0"] = {"kernel": PartitionSpec(None, "model"), "bias": PartitionSpec("model")}
        specs["params"]["Dense_1"]["kernel"] = PartitionSpec("model", None)
        return specs
