# SPDX-License-Identifier: Apache-2.0
"""Writes the golden cases of sequences beside this file: numbers from Keras 3 (JAX backend), once.

    KERAS_BACKEND=jax VENV/bin/python make_golden_recurrent.py

The cases have the form that make_golden.py describes. A wrapper's variables carry the inner layer's name.
"""
import json
import os
import pathlib

os.environ.setdefault('KERAS_BACKEND', 'jax')

import jax
import keras
import numpy as np
from keras import layers

HERE = pathlib.Path(__file__).parent
STEPS = 10


def array(values):
    values = np.asarray(values)
    kind = {'f': 'float32', 'i': 'int32', 'u': 'uint8'}[values.dtype.kind]
    flat = [float(f'{v:.9g}') for v in values.ravel()] if kind == 'float32' else [int(v) for v in values.ravel()]
    return {'dtype': kind, 'shape': list(values.shape), 'data': flat}


def variable_name(layer, variable):
    """bidirectional/forward_lstm/lstm_cell/kernel without the cell; all but a Bidirectional's in two parts."""
    if not isinstance(layer, layers.Bidirectional):
        return f'{layer.name}/{variable.name}'
    parts = [p for p in variable.path.split('/') if not p.endswith('_cell')]
    return '/'.join(parts[parts.index(layer.name):])


def variables(model):
    return {variable_name(layer, v): array(v.numpy()) for layer in model.layers for v in layer.weights}


def write(name, model, x, y, loss='mse', optimizer=None, seed=0, tolerance=None):
    rng = np.random.default_rng(seed)
    for v in model.weights:
        v.assign(rng.uniform(-0.5, 0.5, v.shape).astype('float32'))
    optimizer = optimizer or keras.optimizers.SGD(learning_rate=0.05)
    loss_object = keras.losses.get(loss)
    fixed = [v.value for v in model.non_trainable_variables]

    def scalar(values):
        prediction, _ = model.stateless_call(values, fixed, x, training=True)
        return jax.numpy.mean(loss_object(y, prediction))

    gradients = jax.grad(scalar)([v.value for v in model.trainable_variables])
    names = [variable_name(layer, v) for layer in model.layers for v in layer.trainable_weights]
    case = {
        'keras': keras.__version__,
        'model': json.loads(model.to_json()),
        'weights': variables(model),
        'inputs': array(x),
        'targets': array(y),
        'loss': loss,
        'optimizer': {'class_name': type(optimizer).__name__, 'config': {
            k: v for k, v in optimizer.get_config().items() if k in ('learning_rate', 'beta_1', 'beta_2', 'epsilon')}},
        'outputs': array(model(x, training=False)),
        'gradients': dict(zip(names, map(array, gradients))),
    }
    case['model'].pop('compile_config', None)
    if tolerance:
        case['tolerance'] = tolerance
    model.compile(optimizer=optimizer, loss=loss, jit_compile=False)
    case['losses'] = [float(f'{float(model.train_on_batch(x, y)):.9g}') for _ in range(STEPS)]
    case['final_weights'] = variables(model)
    (HERE / f'{name}.json').write_text(json.dumps(case, separators=(',', ':')) + '\n')
    print(name, case['losses'][0], case['losses'][-1])


def data(shape, seed, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype('float32')


def words(samples, steps, vocabulary, seed):
    """Texts of different lengths, padded with zeros; one begins with padding and one has a hole."""
    rng = np.random.default_rng(seed)
    x = rng.integers(1, vocabulary, (samples, steps)).astype('int32')
    for i in range(samples):
        x[i, rng.integers(1, steps + 1):] = 0
    x[0, 0] = 0
    x[1] = rng.integers(1, vocabulary, steps)
    x[1, steps // 2] = 0
    return x


def sequential(name, shape, *stack):
    return keras.Sequential([keras.Input(shape, name='input'), *stack], name=name)


def plain():
    cases = {
        'simple-rnn': layers.SimpleRNN(5, name='rnn'),
        'simple-rnn-relu-backwards': layers.SimpleRNN(5, activation='relu', go_backwards=True, use_bias=False, name='rnn'),
        'lstm': layers.LSTM(5, name='rnn'),
        'lstm-sequences': layers.LSTM(5, return_sequences=True, go_backwards=True, name='rnn'),
        'lstm-hard': layers.LSTM(5, recurrent_activation='hard_sigmoid', activation='softsign', use_bias=False, name='rnn'),
        'gru': layers.GRU(5, name='rnn'),
        'gru-sequences': layers.GRU(5, return_sequences=True, go_backwards=True, name='rnn'),
        'gru-before': layers.GRU(5, reset_after=False, name='rnn'),
        'bidirectional-lstm': layers.Bidirectional(layers.LSTM(4, return_sequences=True, name='lstm'), name='both'),
        'bidirectional-gru-sum': layers.Bidirectional(layers.GRU(4, name='gru'), merge_mode='sum', name='both'),
        'bidirectional-rnn-average': layers.Bidirectional(layers.SimpleRNN(4, return_sequences=True, name='rnn'),
                                                          merge_mode='ave', name='both'),
        'time-distributed': layers.TimeDistributed(layers.Dense(4, activation='tanh', name='dense'), name='each'),
    }
    for i, (name, layer) in enumerate(cases.items()):
        model = sequential(name.replace('-', '_'), (6, 3), layer, layers.Flatten(name='flatten'),
                           layers.Dense(2, name='head'))
        write(name, model, data((5, 6, 3), 100 + i), data((5, 2), 200 + i), seed=i, tolerance=5e-5)


def masked():
    cases = {
        'masked-simple-rnn': [layers.SimpleRNN(4, name='rnn')],
        'masked-lstm': [layers.LSTM(4, name='rnn')],
        'masked-lstm-stacked': [layers.LSTM(4, return_sequences=True, name='rnn'), layers.LSTM(3, name='rnn_1')],
        'masked-gru': [layers.GRU(4, name='rnn')],
        'masked-gru-before': [layers.GRU(4, reset_after=False, go_backwards=True, name='rnn')],
        'masked-bidirectional': [layers.Bidirectional(layers.LSTM(3, name='lstm'), name='both')],
    }
    for i, (name, stack) in enumerate(cases.items()):
        model = sequential(name.replace('-', '_'), (7,), layers.Embedding(11, 3, mask_zero=True, name='embedding'), *stack,
                           layers.Dense(2, name='head'))
        write(name, model, words(5, 7, 11, 300 + i), data((5, 2), 400 + i), seed=50 + i, tolerance=5e-5)
    x = data((4, 5, 3), 500)
    x[0, 3:] = 0
    x[2, 1] = 0
    model = sequential('masking', (5, 3), layers.Masking(name='masking'), layers.GRU(4, name='rnn'), layers.Dense(2, name='head'))
    write('masking', model, x, data((4, 2), 501), tolerance=5e-5)
    model = sequential('embedding', (6,), layers.Embedding(9, 4, name='embedding'), layers.Flatten(name='flatten'),
                       layers.Dense(2, name='head'))
    write('embedding', model, words(5, 6, 9, 502), data((5, 2), 503))


def states():
    x = keras.Input((5, 3), name='input')
    y, h, c = layers.LSTM(4, return_sequences=True, return_state=True, name='rnn')(x)
    flat = layers.Flatten(name='flatten')(y)
    out = layers.Dense(2, name='head')(layers.Concatenate(name='concatenate')([flat, h, c]))
    write('lstm-state', keras.Model(x, out, name='states'), data((4, 5, 3), 600), data((4, 2), 601), tolerance=5e-5)


def classifiers():
    for i, (name, layer) in enumerate({'lstm': layers.LSTM(8, name='rnn'), 'gru': layers.GRU(8, name='rnn')}.items()):
        model = sequential(f'{name}_texts', (None,), layers.Embedding(30, 6, mask_zero=True, name='embedding'), layer,
                           layers.Dense(3, activation='softmax', name='head'))
        labels = np.random.default_rng(700 + i).integers(0, 3, 8).astype('int32')
        write(f'model-{name}-texts', model, words(8, 12, 30, 710 + i), labels, 'sparse_categorical_crossentropy',
              keras.optimizers.Adam(learning_rate=0.01), tolerance=1e-4)


for make in (plain, masked, states, classifiers):
    make()
