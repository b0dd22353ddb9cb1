# SPDX-License-Identifier: Apache-2.0
"""The same as step_torch.py in TensorFlow: one tf.function a step, with XLA or without.

    python3 step_tensorflow.py mlp|cnn|lstm|transformer [--threads N] [--xla] [--steps N]
"""
import argparse
import json
import os
import statistics
import time

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
import tensorflow as tf  # noqa: E402
from tensorflow import keras  # noqa: E402

BATCH = 64


def block(x):
    layers = keras.layers
    a = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(4, 32)(a, a)
    a = layers.LayerNormalization()(x)
    return x + layers.Dense(128)(layers.Dense(512, activation='relu')(a))


def make(name):
    layers = keras.layers
    if name == 'mlp':
        return keras.Sequential([keras.Input((784,)), layers.Dense(512, 'relu'), layers.Dense(256, 'relu'), layers.Dense(10)])
    if name == 'cnn':
        return keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation='relu'),
                                 layers.Conv2D(64, 3, activation='relu'), layers.MaxPooling2D(), layers.Flatten(),
                                 layers.Dense(128, 'relu'), layers.Dense(10)])
    if name == 'lstm':
        return keras.Sequential([keras.Input((28, 28)), layers.LSTM(128), layers.Dense(10)])
    x = keras.Input((64, 128))
    return keras.Model(x, layers.Dense(10)(layers.GlobalAveragePooling1D()(block(block(x)))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('network', choices=['mlp', 'cnn', 'lstm', 'transformer'])
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--xla', action='store_true')
    parser.add_argument('--steps', type=int, default=100)
    args = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(1)
    model = make(args.network)
    optimizer = keras.optimizers.Adam(1e-3)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    x, y = tf.random.normal((BATCH, *model.input_shape[1:])), tf.random.uniform((BATCH,), 0, 10, tf.int32)
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=args.xla)
    def step():
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(value, model.trainable_variables), model.trainable_variables))
        return value

    times = []
    for _ in range(args.steps + 10):
        begun = time.perf_counter()
        step().numpy()
        times.append(1e3 * (time.perf_counter() - begun))
    times = times[10:]
    print(json.dumps({'peer': 'tensorflow ' + tf.__version__, 'network': args.network, 'step_ms': statistics.median(times),
                      'step_ms_least': min(times)}))


main()
