"""Tabular regression with the functional API: normalization, batch norm, clipping, early stopping, a plateau schedule."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch

keras.utils.set_random_seed(1)
features = np.random.randn(1200, 9).astype("float32") * np.arange(1, 10, dtype="float32")
labels = (np.sin(features[:, 0]) + features[:, 1] / 2 + 0.1 * np.random.randn(1200)).astype("float32")

normalizer = keras.layers.Normalization(axis=-1)
normalizer.adapt(features[:1000])
inputs = keras.Input(shape=(9,))
h = normalizer(inputs)
h = keras.layers.Dense(64, use_bias=False)(h)
h = keras.layers.BatchNormalization()(h)
h = keras.layers.Activation("relu")(h)
h = keras.layers.Dense(64, activation="relu")(h)
outputs = keras.layers.Dense(1)(h)
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.AdamW(3e-3, global_clipnorm=5.0), loss="mse", metrics=["mae"])
history = model.fit(
    features[:1000],
    labels[:1000],
    validation_data=(features[1000:], labels[1000:]),
    epochs=10,
    batch_size=50,
    verbose=0,
    callbacks=[
        keras.callbacks.EarlyStopping(patience=8, restore_best_weights=True),
        keras.callbacks.ReduceLROnPlateau(patience=4, factor=0.5),
    ],
)
print({name: [round(float(value), 5) for value in values] for name, values in history.history.items()})
torch.save([torch.tensor(w) for w in model.get_weights()], sys.argv[1])
