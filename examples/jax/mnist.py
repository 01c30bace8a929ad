"""Trains a small Flax network on handwritten digits on the emulated card, then classifies held-out ones.

Forward pass, gradients and the optimizer's update are one jitted function on platform tt.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class MNISTMLPModel(nn.Module):
    """Returns logits, (batch, 10), of images (batch, 8, 8)."""

    hidden_sizes: tuple[int, ...] = (128, 64)

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        x = images.reshape((images.shape[0], -1))
        for size in self.hidden_sizes:
            x = nn.relu(nn.Dense(size)(x))
        return nn.Dense(10)(x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8, help="passes over the training images (default 8)")
    parser.add_argument("--batch", type=int, default=64, help="images in a batch (default 64)")
    arguments = parser.parse_args()

    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 8, 8)
    train_images, test_images, train_labels, test_labels = train_test_split(
        images, labels.astype(np.int32), test_size=0.2, random_state=1, stratify=labels
    )
    model, optimizer = MNISTMLPModel(), optax.adamw(3e-3)

    def loss_of(parameters, images, labels):
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(parameters, images), labels).mean()

    @jax.jit
    def step(parameters, state, images, labels):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, images, labels)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, loss

    classify = jax.jit(lambda parameters, images: model.apply(parameters, images).argmax(-1))
    with jax.default_device(jax.devices("tt")[0]):
        parameters = model.init(jax.random.key(0), jnp.zeros((1, 8, 8)))
        state = optimizer.init(parameters)
        order = np.random.default_rng(0)
        for epoch in range(arguments.epochs):
            batches = order.permutation(len(train_images))[: len(train_images) // arguments.batch * arguments.batch]
            losses = []
            for batch in batches.reshape(-1, arguments.batch):
                parameters, state, loss = step(parameters, state, train_images[batch], train_labels[batch])
                losses.append(loss)
            print(f"epoch {epoch}: loss {float(np.mean(losses)):.4f}")
        right = np.mean(np.asarray(classify(parameters, test_images)) == test_labels)
    print(f"{len(test_labels)} held-out digits: {right:.1%} right")


if __name__ == "__main__":
    main()
