# SPDX-License-Identifier: Apache-2.0
"""Writes losses.json, metrics.json and three-heads.json beside this file: numbers from Keras 3 (JAX backend), once.

    python3 -m venv VENV && VENV/bin/pip install keras jax numpy
    KERAS_BACKEND=jax VENV/bin/python make_heads.py
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
RNG = np.random.default_rng(5)


def array(values):
    values = np.asarray(values)
    kind = {'f': 'float32', 'i': 'int32'}[values.dtype.kind]
    flat = [float(f'{v:.9g}') for v in values.ravel()] if kind == 'float32' else [int(v) for v in values.ravel()]
    return {'dtype': kind, 'shape': list(values.shape), 'data': flat}


def uniform(*shape, low=-1.5, high=1.5):
    return RNG.uniform(low, high, shape).astype('float32')


def simplex(*shape):
    values = uniform(*shape, low=0.05, high=1)
    return values / values.sum(-1, keepdims=True)


def classes(n, *shape):
    return RNG.integers(0, n, shape).astype('int32')


def one_hot(labels, n):
    return np.eye(n, dtype='float32')[labels]


def config(thing, keys):
    # Huber's delta is not in its config.
    arguments = {**getattr(thing, '_fn_kwargs', {}), **thing.get_config()}
    return {k: v for k, v in arguments.items() if k in keys and v is not None}


def write(name, value):
    (HERE / f'{name}.json').write_text(json.dumps(value, separators=(',', ':')) + '\n')


def losses():
    L = keras.losses
    real, wide = uniform(4, 5), uniform(4, 3, 6)
    prob, near = simplex(4, 5), uniform(4, 5, low=0.02, high=0.98)
    bits = classes(2, 4, 5).astype('float32')
    hot = one_hot(classes(5, 4), 5)
    labels = classes(5, 4)
    cases = [
        (L.MeanSquaredError(), real, uniform(4, 5)), (L.MeanSquaredError(), wide, uniform(4, 3, 6)),
        (L.MeanAbsoluteError(), real, uniform(4, 5)),
        (L.MeanAbsolutePercentageError(), real, uniform(4, 5)),
        (L.MeanSquaredLogarithmicError(), np.abs(real), uniform(4, 5, low=0, high=2)),
        (L.Huber(), real, uniform(4, 5)), (L.Huber(delta=0.4), real, uniform(4, 5)),
        (L.LogCosh(), 5 * real, uniform(4, 5)), (L.KLDivergence(), prob, simplex(4, 5)),
        (L.Poisson(), np.abs(real) + 0.1, uniform(4, 5, low=0, high=4)),
        (L.Hinge(), real, bits), (L.SquaredHinge(), real, bits), (L.Hinge(), real, 2 * bits - 1),
        (L.CategoricalHinge(), real, hot), (L.CosineSimilarity(), real, uniform(4, 5)),
        (L.BinaryCrossentropy(), near, bits), (L.BinaryCrossentropy(label_smoothing=0.2), near, bits),
        (L.BinaryCrossentropy(from_logits=True, label_smoothing=0.1), 4 * real, bits),
        (L.BinaryFocalCrossentropy(), near, bits),
        (L.BinaryFocalCrossentropy(gamma=1.5, alpha=0.3, apply_class_balancing=True, label_smoothing=0.1), near, bits),
        (L.BinaryFocalCrossentropy(from_logits=True), real, bits),
        (L.CategoricalCrossentropy(label_smoothing=0.1), prob, hot),
        (L.CategoricalCrossentropy(from_logits=True, label_smoothing=0.3), real, hot),
        (L.CategoricalFocalCrossentropy(), prob, hot),
        (L.CategoricalFocalCrossentropy(alpha=0.4, gamma=1.5, from_logits=True, label_smoothing=0.1), real, hot),
        (L.SparseCategoricalCrossentropy(), prob, labels),
        (L.SparseCategoricalCrossentropy(from_logits=True), wide, classes(6, 4, 3)),
        (L.CTC(), uniform(3, 8, 5), np.array([[1, 2, 2, 0], [4, 1, 0, 0], [3, 3, 3, 1]], 'int32')),
    ]
    keys = ('from_logits', 'label_smoothing', 'delta', 'gamma', 'alpha', 'apply_class_balancing')
    out = []
    for loss, p, t in cases:
        out.append({'loss': {'class_name': type(loss).__name__, 'config': config(loss, keys)},
                    'output': array(p), 'targets': array(t), 'losses': array(loss.call(t, p)),
                    'gradient': array(jax.grad(lambda x: loss.call(t, x).sum())(p))})
    write('losses', out)


def metrics():
    M = keras.metrics
    p, hot = [simplex(7, 4), simplex(5, 4)], [one_hot(classes(4, 7), 4), one_hot(classes(4, 5), 4)]
    sparse = [h.argmax(-1).astype('int32') for h in hot]
    near = [uniform(9, 1, low=0, high=1), uniform(6, 1, low=0, high=1)]
    bits = [classes(2, 9, 1).astype('float32'), classes(2, 6, 1).astype('float32')]
    multi, multi_bits = [uniform(6, 3, low=0, high=1)], [classes(2, 6, 3).astype('float32')]
    real, goal = [uniform(7, 2), uniform(4, 2)], [uniform(7, 2), uniform(4, 2)]
    above, counts = [np.abs(x) + 0.1 for x in real], [np.abs(x) for x in goal]
    cases = [
        (M.CategoricalAccuracy(), p, hot), (M.SparseCategoricalAccuracy(), p, sparse),
        (M.BinaryAccuracy(), near, bits), (M.BinaryAccuracy(threshold=0.3), multi, multi_bits),
        (M.TopKCategoricalAccuracy(k=2), p, hot), (M.SparseTopKCategoricalAccuracy(k=3), p, sparse),
        (M.Precision(), near, bits), (M.Recall(thresholds=0.3), near, bits),
        (M.Precision(class_id=2, thresholds=0.2), p, hot), (M.Recall(top_k=2), p, hot),
        (M.Precision(top_k=2, class_id=1), p, hot),
        (M.AUC(), near, bits), (M.AUC(num_thresholds=20, curve='PR'), near, bits),
        (M.AUC(num_thresholds=50, summation_method='minoring'), near, bits),
        (M.AUC(num_thresholds=50, curve='PR', summation_method='majoring'), multi, multi_bits),
        (M.AUC(from_logits=True), [4 * x - 2 for x in near], bits),
        (M.F1Score(average='macro'), p, hot), (M.F1Score(average='micro'), p, hot),
        (M.F1Score(average='weighted', threshold=0.4), multi, multi_bits),
        (M.MeanSquaredError(), real, goal), (M.MeanAbsoluteError(), real, goal), (M.RootMeanSquaredError(), real, goal),
        (M.MeanAbsolutePercentageError(), real, goal), (M.MeanSquaredLogarithmicError(), above, counts),
        (M.R2Score(), real, goal), (M.LogCoshError(), real, goal), (M.CosineSimilarity(), real, goal),
        (M.KLDivergence(), p, [simplex(7, 4), simplex(5, 4)]), (M.Poisson(), above, counts),
        (M.Hinge(), real, [np.sign(x) for x in goal]), (M.SquaredHinge(), real, [np.sign(x) for x in goal]),
        (M.CategoricalHinge(), p, hot), (M.BinaryCrossentropy(), near, bits),
        (M.CategoricalCrossentropy(), p, hot), (M.SparseCategoricalCrossentropy(), p, sparse),
    ]
    keys = ('k', 'threshold', 'thresholds', 'class_id', 'top_k', 'num_thresholds', 'curve', 'summation_method',
            'from_logits', 'average')
    out = []
    for metric, predictions, targets in cases:
        for a, b in zip(predictions, targets):
            metric.update_state(b, a)
        kept = config(metric, keys)
        if isinstance(metric, (M.Precision, M.Recall)) and metric.top_k and not metric.init_thresholds:
            kept.pop('thresholds', None)
        if isinstance(metric, M.AUC):
            kept.pop('thresholds', None)
        out.append({'metric': {'class_name': type(metric).__name__, 'config': kept}, 'value': float(metric.result()),
                    'batches': [{'output': array(a), 'targets': array(b)} for a, b in zip(predictions, targets)]})
    iou = M.MeanIoU(num_classes=4)
    for a, b in zip(p, sparse):
        iou.update_state(b, a.argmax(-1))
    out.append({'metric': {'class_name': 'MeanIoU', 'config': {'num_classes': 4}}, 'value': float(iou.result()),
                'batches': [{'output': array(a), 'targets': array(b)} for a, b in zip(p, sparse)]})
    write('metrics', out)


def three_heads():
    """A shared trunk, two classifiers (one leaves a class out) and a regression, with weights of losses and samples."""
    inputs = keras.Input((6,), name='input')
    trunk = layers.Dense(8, activation='tanh', name='trunk')(inputs)
    outputs = {'digit': layers.Dense(5, activation='softmax', name='digit')(trunk),
               'kind': layers.Dense(3, name='kind')(trunk),
               'size': layers.Dense(2, name='size')(trunk)}
    model = keras.Model(inputs, list(outputs.values()), name='three_heads')
    for v in model.weights:
        v.assign(uniform(*v.shape, low=-0.4, high=0.4))
    names = {f'{layer.name}/{v.name}': v for layer in model.layers for v in layer.weights}
    x, weight = uniform(9, 6), uniform(9, low=0.2, high=2)
    kind = classes(3, 9)
    kind[2] = kind[5] = -1
    y = [classes(5, 9), kind, uniform(9, 2)]
    case = {'model': json.loads(model.to_json()), 'weights': {k: array(v.numpy()) for k, v in names.items()},
            'inputs': array(x), 'sample_weight': array(weight), 'targets': {k: array(t) for k, t in zip(outputs, y)},
            'compile': {'optimizer': {'class_name': 'SGD', 'config': {'learning_rate': 0.1}},
                        'loss': {'digit': 'sparse_categorical_crossentropy',
                                 'kind': {'class_name': 'SparseCategoricalCrossentropy',
                                          'config': {'from_logits': True, 'ignore_class': -1}},
                                 'size': 'mse'},
                        'loss_weights': {'digit': 1.0, 'kind': 0.5, 'size': 2.0}, 'sample_weight': 'weight',
                        'metrics': {'digit': ['accuracy', 'confusion_matrix'], 'size': ['mae']}}}
    case['model'].pop('compile_config', None)
    model.compile(optimizer=keras.optimizers.SGD(0.1), jit_compile=False, loss_weights=[1.0, 0.5, 2.0],
                  loss=['sparse_categorical_crossentropy',
                        keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1), 'mse'])
    case['curve'] = []
    for _ in range(10):
        logs = model.train_on_batch(x, y, sample_weight=[weight, weight, weight], return_dict=True)
        case['curve'].append({k.replace('_loss', ''): float(v) for k, v in logs.items()})
    case['final_weights'] = {k: array(v.numpy()) for k, v in names.items()}
    write('three-heads', case)
    print(case['curve'][0], case['curve'][-1])


losses()
metrics()
three_heads()
