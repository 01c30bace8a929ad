"""A model of keras. Usage: keras_fit.py MODE FOLDER, where MODE is auto, or replicas for all chips under JAX.

KERAS_BACKEND, KERAS_TORCH_DEVICE and JAX_PLATFORMS choose what it runs on.
"""

import json
import sys

import keras
import numpy as np

MODE, FOLDER = sys.argv[1:3]
if MODE == "replicas":
    keras.distribution.set_distribution(keras.distribution.DataParallel())
keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        keras.layers.Input((8, 8, 1)),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(3, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
random = np.random.default_rng(0)
x, y = random.normal(size=(32, 8, 8, 1)).astype("float32"), random.integers(0, 3, 32)


def fit(model, epochs):
    return model.fit(x, y, batch_size=8, epochs=epochs, verbose=0, shuffle=False).history["loss"]


first = fit(model, 2)
model.save(f"{FOLDER}/model.keras")
loaded = keras.models.load_model(f"{FOLDER}/model.keras")
before, after = (saved.evaluate(x, y, batch_size=8, verbose=0)[0] for saved in (model, loaded))
value = model.weights[0].value
devices = sorted(value.devices(), key=str) if keras.backend.backend() == "jax" else [value.device]
report = {"device": getattr(devices[0], "platform", str(devices[0])), "processes": len(devices)}
losses = {"losses": first + fit(model, 1), "resumed": fit(loaded, 1)}
print(json.dumps(report | losses | {"difference": abs(before - after)}))
