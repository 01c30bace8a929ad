"""A model of keras. Usage: keras_fit.py MODE FOLDER. KERAS_BACKEND and KERAS_TORCH_DEVICE choose what it runs on."""

import json
import sys

import keras
import numpy as np

FOLDER = sys.argv[2]
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
device = str(model.weights[0].value.device)
print(json.dumps({"device": device, "losses": first + fit(model, 1), "resumed": fit(loaded, 1), "processes": 1}))
