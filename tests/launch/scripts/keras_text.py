"""Text classification with an embedding and an LSTM; trained a second time with another optimizer."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras import layers

keras.utils.set_random_seed(2)
max_features, maxlen = 200, 16
x = np.random.randint(1, max_features, size=(1000, maxlen))
y = ((x < 100).sum(1) > maxlen // 2).astype("int32")
x_val, y_val, x, y = x[800:], y[800:], x[:800], y[:800]

inputs = keras.Input(shape=(None,), dtype="int32")
h = layers.Embedding(max_features, 32)(inputs)
h = layers.Bidirectional(layers.LSTM(16))(h)
outputs = layers.Dense(1, activation="sigmoid")(h)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=40, epochs=4, validation_data=(x_val, y_val), verbose=0)
model.compile(optimizer=keras.optimizers.SGD(1e-2), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=40, epochs=1, validation_data=(x_val, y_val), verbose=0)
print(model.evaluate(x_val, y_val, verbose=0))
torch.save([torch.tensor(w) for w in model.get_weights()], sys.argv[1])
