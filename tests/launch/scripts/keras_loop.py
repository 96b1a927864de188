"""Keras layers in a training loop written from scratch, as its guide for torch has it."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch

keras.utils.set_random_seed(4)
x = np.random.randn(1200, 20).astype("float32")
y = (x @ np.random.randn(20, 5)).argmax(1)
train_dataset = torch.utils.data.TensorDataset(torch.from_numpy(x[:1000]), torch.from_numpy(y[:1000]))
train_dataloader = torch.utils.data.DataLoader(train_dataset, batch_size=50, shuffle=True)


def get_model():
    inputs = keras.Input(shape=(20,), name="digits")
    x1 = keras.layers.Dense(64, activation="relu")(inputs)
    outputs = keras.layers.Dense(5, name="predictions")(x1)
    return keras.Model(inputs=inputs, outputs=outputs)


model = get_model()
optimizer = keras.optimizers.Adam(learning_rate=3e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
acc_metric = keras.metrics.SparseCategoricalAccuracy()

for epoch in range(5):
    for inputs, targets in train_dataloader:
        logits = model(inputs)
        loss = loss_fn(targets, logits)
        model.zero_grad()
        trainable_weights = [v for v in model.trainable_weights]
        loss.backward()
        gradients = [v.value.grad for v in trainable_weights]
        with torch.no_grad():
            optimizer.apply(gradients, trainable_weights)
        acc_metric.update_state(targets, logits)
    print(f"epoch {epoch}: loss {float(loss.detach()):.4f}, accuracy {float(acc_metric.result()):.4f}")
    acc_metric.reset_state()
torch.save([torch.tensor(w) for w in model.get_weights()], sys.argv[1])
