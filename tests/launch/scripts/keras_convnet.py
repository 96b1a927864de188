"""Keras' first example: a small convnet, compile, fit, evaluate."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras import layers

keras.utils.set_random_seed(0)
prototypes = np.random.randn(10, 8, 8, 1)
y = np.random.randint(10, size=1600)
x = (prototypes[y] + 0.9 * np.random.randn(1600, 8, 8, 1)).astype("float32")
x_train, y_train, x_test, y_test = x[:1280], y[:1280], x[1280:], y[1280:]
y_train, y_test = keras.utils.to_categorical(y_train, 10), keras.utils.to_categorical(y_test, 10)

model = keras.Sequential(
    [
        keras.Input(shape=(8, 8, 1)),
        layers.Conv2D(16, kernel_size=(3, 3), activation="relu"),
        layers.MaxPooling2D(pool_size=(2, 2)),
        layers.Flatten(),
        layers.Dropout(0.1),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=5, validation_split=0.1, verbose=0)
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])
torch.save([torch.tensor(w) for w in model.get_weights()], sys.argv[1])
