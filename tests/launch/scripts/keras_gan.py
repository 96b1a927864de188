"""A GAN whose train_step is overridden, with an optimizer for each of the two."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras import layers

keras.utils.set_random_seed(3)
LATENT = 4


class GAN(keras.Model):
    def __init__(self, discriminator, generator):
        super().__init__()
        self.discriminator = discriminator
        self.generator = generator
        self.d_loss_tracker = keras.metrics.Mean(name="d_loss")
        self.g_loss_tracker = keras.metrics.Mean(name="g_loss")
        self.seed_generator = keras.random.SeedGenerator(3)
        self.built = True

    @property
    def metrics(self):
        return [self.d_loss_tracker, self.g_loss_tracker]

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss_fn

    def train_step(self, real):
        real = real[0] if isinstance(real, tuple) else real
        n = real.shape[0]
        noise = keras.random.normal((n, LATENT), seed=self.seed_generator)
        both = torch.cat([self.generator(noise).detach(), real])
        labels = torch.cat([torch.ones((n, 1)), torch.zeros((n, 1))])

        self.zero_grad()
        d_loss = self.loss_fn(labels, self.discriminator(both))
        d_loss.backward()
        weights = self.discriminator.trainable_weights
        with torch.no_grad():
            self.d_optimizer.apply([v.value.grad for v in weights], weights)

        noise = keras.random.normal((n, LATENT), seed=self.seed_generator)
        self.zero_grad()
        g_loss = self.loss_fn(torch.zeros((n, 1)), self.discriminator(self.generator(noise)))
        g_loss.backward()
        weights = self.generator.trainable_weights
        with torch.no_grad():
            self.g_optimizer.apply([v.value.grad for v in weights], weights)

        self.d_loss_tracker.update_state(d_loss)
        self.g_loss_tracker.update_state(g_loss)
        return {"d_loss": self.d_loss_tracker.result(), "g_loss": self.g_loss_tracker.result()}


discriminator = keras.Sequential([keras.Input((2,)), layers.Dense(32), layers.LeakyReLU(), layers.Dense(1)], name="discriminator")
generator = keras.Sequential([keras.Input((LATENT,)), layers.Dense(32, activation="relu"), layers.Dense(2)], name="generator")
points = (np.random.randn(640, 2) * 0.3 + np.array([1.0, -1.0])).astype("float32")
gan = GAN(discriminator, generator)
gan.compile(
    d_optimizer=keras.optimizers.Adam(2e-3, beta_1=0.5),
    g_optimizer=keras.optimizers.Adam(1e-3, beta_1=0.5),
    loss_fn=keras.losses.BinaryCrossentropy(from_logits=True),
)
gan.fit(points, batch_size=32, epochs=6, verbose=0)
weights = [torch.tensor(w) for each in (discriminator, generator) for w in each.get_weights()]
print(sum(float(w.abs().sum()) for w in weights))
torch.save(weights, sys.argv[1])
