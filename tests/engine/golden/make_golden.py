# SPDX-License-Identifier: Apache-2.0
"""Writes the golden cases beside this file: numbers from Keras 3 (JAX backend), once.

    python3 -m venv VENV && VENV/bin/pip install keras jax numpy
    KERAS_BACKEND=jax VENV/bin/python make_golden.py [FUNCTION...]

A case is one JSON file: the model as to_json() writes it, its weights, inputs and targets, loss and
optimizer, and what Keras makes of them: outputs in inference mode, gradients of the loss at the first step in
training mode, the losses of ten steps on the same batch, and the weights after them.
"""
import json
import os
import pathlib
import sys

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


def path(layer, v):
    """The name below the layer's, as in mha/query/kernel."""
    return f'{layer.name}/' + v.path.rsplit(f'{layer.name}/', 1)[1]


def variables(model):
    return {path(layer, v): array(v.numpy()) for layer in model.layers for v in layer.weights}


def first_gradients(model, loss, x, y):
    trainable = [v.value for v in model.trainable_variables]
    fixed = [v.value for v in model.non_trainable_variables]

    def scalar(values):
        prediction, _, losses = model.stateless_call(values, fixed, x, training=True, return_losses=True)
        return jax.numpy.mean(loss(y, prediction)) + sum(losses)

    names = [path(layer, v) for layer in model.layers for v in layer.trainable_weights]
    return dict(zip(names, map(array, jax.grad(scalar)(trainable))))


def randomize(model, rng):
    """Away from zeros and ones, so that a swapped bias or gamma is seen."""
    for layer in model.layers:
        for v in layer.weights:
            if v.name == 'count':
                continue
            low, high = (0.5, 1.5) if v.name in ('gamma', 'scale', 'variance', 'moving_variance') else (-0.3, 0.3)
            v.assign(rng.uniform(low, high, v.shape).astype('float32'))
        if isinstance(layer, layers.Normalization):
            layer.finalize_state()


def write(name, model, x, y, loss='mse', optimizer=None, seed=0, fit=None, tolerance=None, more=None):
    rng = np.random.default_rng(seed)
    randomize(model, rng)
    optimizer = optimizer or keras.optimizers.SGD(learning_rate=0.05)
    loss_object = keras.losses.get(loss)
    case = {
        'keras': keras.__version__,
        'model': json.loads(model.to_json()),
        'weights': variables(model),
        'inputs': array(x),
        'targets': array(y),
        'loss': loss if isinstance(loss, str) else {'class_name': type(loss).__name__, 'config': {
            k: v for k, v in loss.get_config().items() if k in ('from_logits',)}},
        'optimizer': {'class_name': type(optimizer).__name__, 'config': {**{
            k: v for k, v in optimizer.get_config().items()
            if k not in ('name', 'loss_scale_factor', 'gradient_accumulation_steps') and v is not None}, **(more or {})}},
        'outputs': array(model(x, training=False)),
        'gradients': first_gradients(model, loss_object, x, y),
    }
    case['model'].pop('compile_config', None)
    if fit:
        case['fit'] = fit
    if tolerance:
        case['tolerance'] = tolerance
    model.compile(optimizer=optimizer, loss=loss, jit_compile=False)
    case['losses'] = [float(f'{float(model.train_on_batch(x, y)):.9g}') for _ in range(STEPS)]
    case['final_weights'] = variables(model)
    (HERE / f'{name}.json').write_text(json.dumps(case, separators=(',', ':')) + '\n')
    print(name, case['losses'][0], case['losses'][-1])


def data(shape, seed, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype('float32')


def labels(n, classes, seed):
    return np.random.default_rng(seed).integers(0, classes, n).astype('int32')


def one_hot(values, classes):
    return np.eye(classes, dtype='float32')[values]


def sequential(name, shape, *stack):
    return keras.Sequential([keras.Input(shape, name='input'), *stack], name=name)


def activations():
    names = ['linear', 'relu', 'sigmoid', 'tanh', 'elu', 'selu', 'softplus', 'softsign', 'silu', 'gelu', 'exponential',
             'leaky_relu', 'hard_sigmoid', 'relu6', 'softmax']
    for i, name in enumerate(names):
        model = sequential(f'activation_{name}', (5,), layers.Dense(6, activation=name, name='dense'),
                           layers.Dense(3, name='head'))
        write(f'activation-{name}', model, data((7, 5), 10 + i, -2, 2), data((7, 3), 50 + i), seed=i)
    model = sequential('activation_layer', (5,), layers.Dense(6, name='dense'), layers.Activation('tanh', name='act'),
                       layers.Dense(2, use_bias=False, name='head'))
    write('activation-layer', model, data((4, 5), 3), data((4, 2), 4))


def convolutions():
    grid = [('valid', 1, 3, 7), ('same', 1, 3, 6), ('same', 2, 3, 7), ('valid', 2, 2, 6), ('same', (2, 1), (2, 3), 5)]
    for i, (padding, strides, size, side) in enumerate(grid):
        model = sequential(f'conv_{i}', (side, side + 1, 3),
                           layers.Conv2D(4, size, strides=strides, padding=padding, activation='relu' if i % 2 else None,
                                         name='conv2d'), layers.Flatten(name='flatten'), layers.Dense(2, name='dense'))
        write(f'conv2d-{i}-{padding}', model, data((3, side, side + 1, 3), 20 + i), data((3, 2), 30 + i), seed=40 + i)
    model = sequential('dilated', (8, 8, 2), layers.Conv2D(3, 3, dilation_rate=2, use_bias=False, name='conv2d'),
                       layers.GlobalAveragePooling2D(name='pool'))
    write('conv2d-dilated', model, data((2, 8, 8, 2), 5), data((2, 3), 6))


def pooling():
    for i, (padding, size, strides) in enumerate([('valid', 2, None), ('same', 3, 2), ('same', 2, 2), ('valid', (3, 2), 1)]):
        model = sequential(f'pool_{i}', (7, 6, 2), layers.Conv2D(3, 3, padding='same', name='conv2d'),
                           layers.MaxPooling2D(size, strides=strides, padding=padding, name='pool'),
                           layers.Flatten(name='flatten'), layers.Dense(2, name='dense'))
        write(f'max-pool-{i}-{padding}', model, data((3, 7, 6, 2), 60 + i), data((3, 2), 70 + i), seed=80 + i)
    model = sequential('global', (5, 4, 3), layers.Conv2D(4, 3, name='conv2d'),
                       layers.GlobalAveragePooling2D(keepdims=True, name='pool'), layers.Flatten(name='flatten'),
                       layers.Dense(2, name='dense'))
    write('global-average-pool', model, data((3, 5, 4, 3), 1), data((3, 2), 2))


def wide_convolutions():
    """One to three axes, groups, depthwise, separable and transposed; a layer before each, so that the gradient of
    its input is seen, and one behind it."""
    cases = {
        'conv1d-valid': ((9, 2), layers.Conv1D(4, 3, strides=2, activation='relu', name='layer')),
        'conv1d-same': ((8, 2), layers.Conv1D(3, 4, padding='same', name='layer')),
        'conv1d-causal': ((8, 2), layers.Conv1D(3, 3, padding='causal', dilation_rate=2, name='layer')),
        'conv1d-causal-strided': ((9, 2), layers.Conv1D(3, 3, padding='causal', strides=2, name='layer')),
        'conv1d-groups': ((8, 2), layers.Conv1D(6, 3, groups=2, dilation_rate=2, name='layer')),
        'conv2d-groups': ((5, 6, 2), layers.Conv2D(4, (3, 2), groups=2, padding='same', activation='tanh', name='layer')),
        'conv3d-valid': ((4, 4, 3, 2), layers.Conv3D(3, 2, name='layer')),
        'conv3d-same': ((4, 3, 5, 2), layers.Conv3D(3, (3, 2, 3), strides=(2, 1, 2), padding='same', name='layer')),
        'depthwise-conv1d': ((8, 2), layers.DepthwiseConv1D(3, strides=2, padding='same', name='layer')),
        'depthwise-conv2d': ((6, 5, 2), layers.DepthwiseConv2D(3, padding='same', activation='relu', name='layer')),
        'depthwise-conv2d-multiplier': ((6, 7, 2), layers.DepthwiseConv2D((3, 2), strides=2, depth_multiplier=3,
                                                                         name='layer')),
        'depthwise-conv2d-dilated': ((7, 7, 2), layers.DepthwiseConv2D(3, dilation_rate=2, use_bias=False, name='layer')),
        'separable-conv1d': ((8, 2), layers.SeparableConv1D(3, 3, depth_multiplier=2, padding='same', name='layer')),
        'separable-conv2d': ((6, 6, 2), layers.SeparableConv2D(5, 3, depth_multiplier=2, activation='relu', name='layer')),
        'separable-conv2d-strided': ((6, 7, 2), layers.SeparableConv2D(3, (3, 2), strides=2, padding='same',
                                                                      use_bias=False, name='layer')),
        'conv1d-transpose-valid': ((5, 2), layers.Conv1DTranspose(3, 3, strides=2, name='layer')),
        'conv1d-transpose-same': ((5, 2), layers.Conv1DTranspose(3, 4, strides=3, padding='same', name='layer')),
        'conv2d-transpose-valid': ((3, 4, 2), layers.Conv2DTranspose(4, (3, 2), strides=2, activation='relu', name='layer')),
        'conv2d-transpose-same': ((3, 4, 2), layers.Conv2DTranspose(3, 3, strides=2, padding='same', name='layer')),
        'conv2d-transpose-gap': ((3, 3, 2), layers.Conv2DTranspose(3, 2, strides=3, use_bias=False, name='layer')),
        'conv2d-transpose-output-padding': ((3, 4, 2), layers.Conv2DTranspose(
            3, (3, 4), strides=(2, 3), padding='same', output_padding=(1, 2), name='layer')),
        'conv2d-transpose-output-padding-valid': ((3, 3, 2), layers.Conv2DTranspose(
            3, 3, strides=2, output_padding=1, name='layer')),
        'conv2d-transpose-dilated': ((4, 4, 2), layers.Conv2DTranspose(3, 3, dilation_rate=2, padding='same', name='layer')),
    }
    wide_cases(cases, 100)


def wide_pooling():
    cases = {
        'max-pool1d': ((9, 2), layers.MaxPooling1D(3, strides=2, padding='same', name='layer')),
        'max-pool3d': ((4, 5, 4, 2), layers.MaxPooling3D((2, 3, 2), strides=(2, 1, 2), padding='same', name='layer')),
        'average-pool1d': ((9, 2), layers.AveragePooling1D(2, name='layer')),
        'average-pool2d-valid': ((6, 7, 2), layers.AveragePooling2D((2, 3), strides=(2, 1), name='layer')),
        'average-pool2d-same': ((7, 6, 2), layers.AveragePooling2D(3, strides=2, padding='same', name='layer')),
        'average-pool3d': ((4, 5, 4, 2), layers.AveragePooling3D((2, 3, 2), strides=1, padding='same', name='layer')),
        'global-max-pool1d': ((7, 2), layers.GlobalMaxPooling1D(name='layer')),
        'global-max-pool2d': ((5, 4, 2), layers.GlobalMaxPooling2D(keepdims=True, name='layer')),
        'global-max-pool3d': ((3, 4, 2, 2), layers.GlobalMaxPooling3D(name='layer')),
        'global-average-pool1d': ((7, 2), layers.GlobalAveragePooling1D(keepdims=True, name='layer')),
        'global-average-pool3d': ((3, 4, 2, 2), layers.GlobalAveragePooling3D(name='layer')),
    }
    wide_cases(cases, 200)


def resampling():
    cases = {
        'up-sampling1d': ((4, 2), layers.UpSampling1D(3, name='layer')),
        'up-sampling2d-nearest': ((3, 4, 2), layers.UpSampling2D((2, 3), name='layer')),
        'up-sampling2d-bilinear': ((3, 4, 2), layers.UpSampling2D((2, 3), interpolation='bilinear', name='layer')),
        'up-sampling3d': ((2, 3, 2, 2), layers.UpSampling3D((2, 1, 3), name='layer')),
        'zero-padding1d': ((4, 2), layers.ZeroPadding1D((2, 1), name='layer')),
        'zero-padding2d': ((3, 4, 2), layers.ZeroPadding2D(((1, 0), (2, 3)), name='layer')),
        'zero-padding3d': ((2, 3, 2, 2), layers.ZeroPadding3D((1, 0, 2), name='layer')),
        'cropping1d': ((6, 2), layers.Cropping1D((2, 1), name='layer')),
        'cropping2d': ((6, 5, 2), layers.Cropping2D(((1, 2), (0, 1)), name='layer')),
        'cropping3d': ((4, 4, 4, 2), layers.Cropping3D(((1, 1), (0, 1), (2, 0)), name='layer')),
    }
    wide_cases(cases, 300)


def wide_cases(cases, seed):
    before = [None, layers.Conv1D, layers.Conv2D, layers.Conv3D]
    for i, (name, (shape, layer)) in enumerate(cases.items()):
        model = sequential(name.replace('-', '_'), shape, before[len(shape) - 1](2, 1, name='before'), layer,
                           layers.Flatten(name='flatten'), layers.Dense(2, name='dense'))
        write(name, model, data((3, *shape), seed + i), data((3, 2), seed + 50 + i), seed=i)


def shapes_and_merges():
    model = sequential('reshape', (12,), layers.Dense(12, activation='tanh', name='dense'),
                       layers.Reshape((2, -1, 3), name='reshape'), layers.Rescaling(0.5, 0.25, name='rescaling'),
                       layers.Conv2D(2, (2, 2), name='conv2d'), layers.Flatten(name='flatten'))
    write('reshape-rescaling', model, data((3, 12), 7), data((3, 2), 8))

    x = keras.Input((6, 6, 3), name='input')
    a = layers.Conv2D(4, 3, padding='same', name='a')(x)
    b = layers.Conv2D(4, 1, activation='relu', name='b')(x)
    total = layers.Add(name='add')([a, b, a])
    both = layers.Concatenate(name='concatenate')([total, x])
    out = layers.Dense(3, name='dense')(layers.GlobalAveragePooling2D(name='pool')(both))
    write('add-concatenate', keras.Model(x, out, name='merge'), data((3, 6, 6, 3), 9), data((3, 3), 11))

    x = keras.Input((4,), name='input')
    shared = layers.Dense(4, activation='tanh', name='shared')
    out = layers.Dense(2, name='dense')(layers.Concatenate(axis=1, name='concatenate')([shared(x), shared(shared(x))]))
    write('shared-layer', keras.Model(x, out, name='shared_model'), data((5, 4), 12), data((5, 2), 13))


def merges():
    x = keras.Input((5, 4), name='input')
    a, b, c = (layers.Dense(4, activation='tanh', name=n)(x) for n in 'abc')
    for name in ('Subtract', 'Multiply', 'Average', 'Maximum', 'Minimum'):
        inputs = [a, b] if name == 'Subtract' else [a, b, c]
        out = layers.Dense(2, name='dense')(layers.Flatten(name='flatten')(getattr(layers, name)(name='merge')(inputs)))
        write(f'merge-{name.lower()}', keras.Model(x, out, name=name.lower()), data((4, 5, 4), 300), data((4, 2), 301))


def activation_layers():
    for name, layer in {'relu': layers.ReLU(name='f'),
                        'relu-all': layers.ReLU(max_value=0.9, negative_slope=0.2, threshold=0.1, name='f'),
                        'relu-most': layers.ReLU(max_value=0.5, name='f'),
                        'leaky': layers.LeakyReLU(name='f'), 'leaky-slope': layers.LeakyReLU(negative_slope=0.05, name='f'),
                        'elu': layers.ELU(alpha=0.7, name='f'), 'prelu': layers.PReLU(name='f'),
                        'prelu-shared': layers.PReLU(shared_axes=[1, 2], name='f')}.items():
        model = sequential(name.replace('-', '_'), (4, 4, 3), layers.Conv2D(3, 2, name='conv2d'), layer, layers.Flatten(name='flatten'),
                           layers.Dense(2, name='dense'))
        write(f'layer-{name}', model, data((5, 4, 4, 3), 310), data((5, 2), 311))


def arrangements():
    model = sequential('permute', (4, 3, 2), layers.Permute((3, 1, 2), name='permute'), layers.Dense(4, activation='tanh', name='a'),
                       layers.Flatten(name='flatten'), layers.Dense(2, name='dense'))
    write('permute', model, data((5, 4, 3, 2), 320), data((5, 2), 321))
    model = sequential('repeat', (4,), layers.Dense(3, name='a'), layers.RepeatVector(6, name='repeat'),
                       layers.Dense(2, activation='tanh', name='b'), layers.Flatten(name='flatten'), layers.Dense(2, name='dense'))
    write('repeat-vector', model, data((5, 4), 322), data((5, 2), 323))


def normalization():
    for i, config in enumerate([{}, {'momentum': 0.8, 'epsilon': 0.01}, {'center': False}, {'scale': False}]):
        model = sequential(f'bn_{i}', (4, 3, 2), layers.Conv2D(3, 2, name='conv2d'),
                           layers.BatchNormalization(name='bn', **config), layers.Activation('relu', name='relu'),
                           layers.Flatten(name='flatten'), layers.Dense(2, name='dense'))
        write(f'batch-norm-{i}', model, data((6, 4, 3, 2), 90 + i), data((6, 2), 95 + i), seed=99 + i)
    model = sequential('bn_dense', (5,), layers.Dense(4, name='dense'), layers.BatchNormalization(name='bn'),
                       layers.Dense(2, name='head'))
    write('batch-norm-dense', model, data((8, 5), 14), data((8, 2), 15))


def sample_normalization():
    table = {
        'layer-norm': (layers.LayerNormalization(name='norm'), (4, 5)),
        'layer-norm-axes': (layers.LayerNormalization(axis=[1, 2], epsilon=0.1, center=False, name='norm'), (3, 4, 2)),
        'layer-norm-inner': (layers.LayerNormalization(axis=1, scale=False, name='norm'), (4, 5)),
        'rms-norm': (layers.RMSNormalization(name='norm'), (4, 5)),
        'group-norm': (layers.GroupNormalization(groups=2, name='norm'), (3, 4, 6)),
        'group-norm-axis': (layers.GroupNormalization(groups=-1, axis=1, name='norm'), (4, 5)),
        'unit-norm': (layers.UnitNormalization(axis=[1, 2], name='norm'), (4, 5)),
        'normalization': (layers.Normalization(mean=[0.1, 0.2, -0.3], variance=[0.5, 2.0, 1.5], name='norm'), (4, 3)),
        'normalization-kept': (layers.Normalization(axis=1, invert=True, name='norm'), (4, 3)),
        'batch-norm-axis': (layers.BatchNormalization(axis=1, name='norm'), (3, 4, 2)),
        'softmax-axis': (layers.Softmax(axis=1, name='norm'), (4, 5)),
        'dense-rank-4': (layers.Dense(3, activation='relu', name='norm'), (2, 3, 4)),
        'einsum-dense': (layers.EinsumDense('abc,cde->abde', output_shape=(4, 3, 2), bias_axes='de', activation='tanh',
                                            name='norm'), (4, 5)),
        'einsum-dense-dots': (layers.EinsumDense('...x,xy->...y', output_shape=3, bias_axes='y', name='norm'), (4, 5)),
        'einsum-dense-turned': (layers.EinsumDense('abc,bd->adc', output_shape=(3, 5), bias_axes='d', name='norm'), (4, 5)),
    }
    for i, (name, (layer, shape)) in enumerate(table.items()):
        model = sequential(name.replace('-', '_'), shape, layers.Dense(shape[-1], name='dense'), layer,
                           layers.Flatten(name='flatten'), layers.Dense(2, name='head'))
        write(name, model, data((5, *shape), 200 + i), data((5, 2), 230 + i), seed=260 + i)


def attention():
    def ends(x, out):
        return keras.Model(x, layers.Dense(2, name='head')(layers.Flatten(name='flatten')(out)), name='attention')

    def seen(x):
        """A mask out of the data in which every step sees itself."""
        products = layers.Rescaling(1e6, name='large')(layers.Dot(axes=2, name='products')([x, x]))
        return layers.Activation('hard_sigmoid', name='seen')(products)

    def make(name, call, seed):
        x = keras.Input((6, 4), name='input')
        write(name, ends(x, call(x, layers.Dense(5, activation='tanh', name='other')(x))), data((3, 6, 4), seed),
              data((3, 2), seed + 1), seed=seed)

    mha = layers.MultiHeadAttention
    make('mha', lambda x, y: mha(2, 3, name='mha')(x, x), 300)
    make('mha-causal', lambda x, y: mha(2, 3, use_bias=False, name='mha')(x, y, use_causal_mask=True), 302)
    make('mha-mask', lambda x, y: mha(2, 3, output_shape=7, name='mha')(x, y, x, attention_mask=seen(x)), 304)
    make('mha-both-masks', lambda x, y: mha(2, 3, name='mha')(y, x, attention_mask=seen(x), use_causal_mask=True), 306)
    make('attention', lambda x, y: layers.Attention(name='attention')([x, x]), 308)
    make('attention-scaled', lambda x, y: layers.Attention(use_scale=True, name='attention')(
        [x, layers.Dense(4, name='key')(y)], use_causal_mask=True), 310)
    make('attention-concat', lambda x, y: layers.Attention(use_scale=True, score_mode='concat', name='attention')([x, x]), 312)
    make('attention-additive', lambda x, y: layers.AdditiveAttention(name='attention')([x, x]), 314)
    make('softmax-mask', lambda x, y: layers.Softmax(name='softmax')(layers.Dot(2, name='dot')([x, x]), mask=seen(x)), 316)
    make('dot', lambda x, y: layers.Dot(axes=(1, 1), name='dot')([x, y]), 318)
    make('dot-normalize', lambda x, y: layers.Dot(axes=2, normalize=True, name='dot')([x, x]), 320)


def transformer():
    x = keras.Input((16, 8), name='input')
    products = layers.Rescaling(1e6, name='large')(layers.Dot(axes=2, name='products')([x, x]))
    seen = layers.Activation('hard_sigmoid', name='seen')(products)
    h = layers.Dense(32, name='embed')(x)
    for i in range(2):
        a = layers.LayerNormalization(name=f'norm_{i}')(h)
        a = layers.MultiHeadAttention(4, 8, name=f'mha_{i}')(a, a, attention_mask=seen, use_causal_mask=True)
        h = layers.Add(name=f'add_{i}')([h, a])
        f = layers.LayerNormalization(name=f'norm_feed_{i}')(h)
        f = layers.Dense(64, activation='gelu', name=f'wide_{i}')(f)
        h = layers.Add(name=f'add_feed_{i}')([h, layers.Dense(32, name=f'narrow_{i}')(f)])
    h = layers.Flatten(name='flatten')(layers.LayerNormalization(name='norm_end')(h))
    model = keras.Model(x, layers.Dense(4, name='head')(h), name='transformer')
    write('model-transformer', model, data((4, 16, 8), 330), labels(4, 4, 331),
          keras.losses.SparseCategoricalCrossentropy(from_logits=True), keras.optimizers.SGD(learning_rate=0.02), seed=332)


def losses():
    def classifier(name, activation):
        return sequential(name, (6,), layers.Dense(8, activation='relu', name='dense'),
                          layers.Dense(4, activation=activation, name='head'))

    x, y = data((9, 6), 16), labels(9, 4, 17)
    write('sparse-crossentropy-logits', classifier('a', None), x, y,
          keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    write('sparse-crossentropy-softmax', classifier('b', 'softmax'), x, y, 'sparse_categorical_crossentropy')
    write('categorical-crossentropy-logits', classifier('c', None), x, one_hot(y, 4),
          keras.losses.CategoricalCrossentropy(from_logits=True))
    write('categorical-crossentropy-softmax', classifier('d', 'softmax'), x, one_hot(y, 4), 'categorical_crossentropy')
    # A sigmoid is no softmax: the loss must take the probabilities as they are and normalise them.
    write('sparse-crossentropy-probabilities', classifier('e', 'sigmoid'), x, y, 'sparse_categorical_crossentropy')
    write('categorical-crossentropy-probabilities', classifier('f', 'sigmoid'), x, one_hot(y, 4), 'categorical_crossentropy')
    write('mse', classifier('g', 'sigmoid'), x, data((9, 4), 18), 'mse')


def optimizers():
    def regression(name):
        return sequential(name, (6,), layers.Dense(8, activation='tanh', name='dense'), layers.Dense(2, name='head'))

    x, y = data((9, 6), 19), data((9, 2), 20)
    cases = {
        'sgd': keras.optimizers.SGD(learning_rate=0.1),
        'sgd-momentum': keras.optimizers.SGD(learning_rate=0.05, momentum=0.9),
        'sgd-nesterov': keras.optimizers.SGD(learning_rate=0.05, momentum=0.8, nesterov=True),
        'adam': keras.optimizers.Adam(learning_rate=0.01),
        'adam-arguments': keras.optimizers.Adam(learning_rate=0.02, beta_1=0.8, beta_2=0.95, epsilon=1e-3),
    }
    for name, optimizer in cases.items():
        write(f'optimizer-{name}', regression(name.replace('-', '_')), x, y, optimizer=optimizer)
    write('clip-global-norm', regression('clip'), x, 5 * y,
          optimizer=keras.optimizers.SGD(learning_rate=0.1, global_clipnorm=0.5), fit={'clip': {'global_norm': 0.5}})


def more_optimizers():
    def regression(name):
        return sequential(name, (6,), layers.Dense(8, activation='tanh', name='dense'), layers.Dense(2, name='head'))

    o, s = keras.optimizers, keras.optimizers.schedules
    x, y = data((9, 6), 19), data((9, 2), 20)
    cases = {
        'sgd-decay': o.SGD(learning_rate=0.1, weight_decay=0.1),
        'sgd-momentum-decay': o.SGD(learning_rate=0.05, momentum=0.9, weight_decay=0.1),
        'rmsprop': o.RMSprop(learning_rate=0.01),
        'rmsprop-centered': o.RMSprop(learning_rate=0.01, rho=0.8, centered=True, epsilon=1e-3),
        'rmsprop-momentum': o.RMSprop(learning_rate=0.01, momentum=0.8, weight_decay=0.05),
        'rmsprop-all': o.RMSprop(learning_rate=0.01, rho=0.7, momentum=0.5, centered=True, epsilon=1e-2),
        'adagrad': o.Adagrad(learning_rate=0.05),
        'adagrad-arguments': o.Adagrad(learning_rate=0.05, initial_accumulator_value=0.01, epsilon=1e-3, weight_decay=0.02),
        'adadelta': o.Adadelta(learning_rate=1.0),
        'adadelta-arguments': o.Adadelta(learning_rate=0.5, rho=0.8, epsilon=1e-3, weight_decay=0.02),
        'adam-amsgrad': o.Adam(learning_rate=0.02, beta_2=0.8, amsgrad=True),
        'adam-decay': o.Adam(learning_rate=0.02, weight_decay=0.05),
        'adamw': o.AdamW(learning_rate=0.01),
        'adamw-amsgrad': o.AdamW(learning_rate=0.01, weight_decay=0.1, amsgrad=True, beta_2=0.8),
        'adamax': o.Adamax(learning_rate=0.01),
        'adamax-arguments': o.Adamax(learning_rate=0.01, beta_1=0.8, beta_2=0.9, epsilon=1e-2, weight_decay=0.05),
        'nadam': o.Nadam(learning_rate=0.01),
        'nadam-arguments': o.Nadam(learning_rate=0.01, beta_1=0.8, beta_2=0.95, epsilon=1e-3, weight_decay=0.05),
        'ftrl': o.Ftrl(learning_rate=0.05),
        'ftrl-arguments': o.Ftrl(learning_rate=0.05, learning_rate_power=-0.6, initial_accumulator_value=0.2,
                                 l1_regularization_strength=0.01, l2_regularization_strength=0.02,
                                 l2_shrinkage_regularization_strength=0.03, beta=0.1),
        'lion': o.Lion(learning_rate=0.002),
        'adafactor': o.Adafactor(learning_rate=0.05),
        'adafactor-arguments': o.Adafactor(learning_rate=0.1, beta_2_decay=-0.6, epsilon_1=1e-4, epsilon_2=0.2,
                                           clip_threshold=0.5, relative_step=False, weight_decay=0.05),
        'lion-arguments': o.Lion(learning_rate=0.002, beta_1=0.8, beta_2=0.95, weight_decay=0.1),
        'clipnorm': o.SGD(learning_rate=0.1, clipnorm=0.1),
        'clipvalue': o.SGD(learning_rate=0.1, clipvalue=0.03),
        'global-clipnorm': o.Adam(learning_rate=0.01, global_clipnorm=0.1),
        'ema': o.SGD(learning_rate=0.1, use_ema=True, ema_momentum=0.9),
        'ema-overwrite': o.Adam(learning_rate=0.02, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=3),
        'schedule-exponential': o.SGD(s.ExponentialDecay(0.2, 4, 0.5)),
        'schedule-exponential-staircase': o.SGD(s.ExponentialDecay(0.2, 4, 0.5, staircase=True)),
        'schedule-cosine': o.SGD(s.CosineDecay(0.2, 7, alpha=0.1)),
        'schedule-cosine-warmup': o.SGD(s.CosineDecay(0.02, 5, alpha=0.1, warmup_target=0.2, warmup_steps=3)),
        'schedule-restarts': o.SGD(s.CosineDecayRestarts(0.2, 3, t_mul=2.0, m_mul=0.8, alpha=0.05)),
        'schedule-restarts-even': o.SGD(s.CosineDecayRestarts(0.2, 4, t_mul=1.0, m_mul=0.5)),
        'schedule-polynomial': o.SGD(s.PolynomialDecay(0.2, 6, end_learning_rate=0.02, power=2.0)),
        'schedule-polynomial-cycle': o.SGD(s.PolynomialDecay(0.2, 4, end_learning_rate=0.02, cycle=True)),
        'schedule-piecewise': o.SGD(s.PiecewiseConstantDecay([2, 5], [0.2, 0.1, 0.02])),
        'schedule-inverse-time': o.SGD(s.InverseTimeDecay(0.2, 2, 0.5)),
    }
    for name, optimizer in cases.items():
        write(f'optimizer-{name}', regression(name.replace('-', '_')), x, y, optimizer=optimizer)
    optimizer = o.AdamW(learning_rate=0.01, weight_decay=0.3)
    optimizer.exclude_from_weight_decay(var_names=['bias'])
    write('optimizer-adamw-exclude', regression('adamw_exclude'), x, y, optimizer=optimizer,
          more={'exclude_from_weight_decay': ['bias']})


def regularisation():
    r, c = keras.regularizers, keras.constraints
    x, y = data((9, 6), 27), data((9, 2), 28)

    def model(name, **arguments):
        return sequential(name, (6,), layers.Dense(8, activation='tanh', name='dense', **arguments), layers.Dense(2, name='head'))

    cases = {
        'l1': dict(kernel_regularizer=r.L1(0.02)),
        'l2': dict(kernel_regularizer=r.L2(0.05), bias_regularizer='l2'),
        'l1-l2': dict(kernel_regularizer=r.L1L2(0.02, 0.03), bias_regularizer=r.L1(0.01)),
        'activity': dict(activity_regularizer=r.L2(0.1)),
        'orthogonal-rows': dict(kernel_regularizer=r.OrthogonalRegularizer(0.3)),
        'orthogonal-columns': dict(kernel_regularizer=r.OrthogonalRegularizer(0.3, mode='columns')),
        'frozen': dict(kernel_regularizer=r.L2(0.05), trainable=False),
        'max-norm': dict(kernel_constraint=c.MaxNorm(0.4)),
        'max-norm-rows': dict(kernel_constraint=c.MaxNorm(0.4, axis=1), bias_constraint='non_neg'),
        'unit-norm': dict(kernel_constraint=c.UnitNorm()),
        'min-max-norm': dict(kernel_constraint=c.MinMaxNorm(0.5, 0.6, rate=0.7)),
        'non-neg': dict(kernel_constraint=c.NonNeg()),
    }
    for name, arguments in cases.items():
        write(f'regularise-{name}', model(name.replace('-', '_'), **arguments), x, y)
    write('regularise-activity-layer', sequential('activity_layer', (6,), layers.Dense(8, name='dense'),
          layers.ActivityRegularization(0.01, 0.02, name='activity'), layers.Dense(2, name='head')), x, y)
    image = sequential('convolution', (6, 6, 2),
                       layers.Conv2D(4, 3, name='conv2d', use_bias=False, kernel_regularizer=r.L2(0.02),
                                     kernel_constraint=c.MaxNorm(0.8, axis=[0, 1, 2])),
                       layers.BatchNormalization(name='bn', gamma_regularizer=r.L1(0.01), beta_constraint=c.NonNeg()),
                       layers.Flatten(name='flatten'), layers.Dense(2, name='head'))
    frozen = sequential('frozen_norm', (6,), layers.Dense(8, name='dense'),
                        layers.BatchNormalization(name='bn', trainable=False, gamma_regularizer=r.L2(0.1)),
                        layers.Dense(2, name='head', kernel_regularizer=r.L2(0.01)))
    write('regularise-frozen-norm', frozen, x, y)
    write('regularise-convolution', image, data((5, 6, 6, 2), 29), data((5, 2), 30))


def whole_models():
    x, y = data((8, 28), 21, 0, 1), labels(8, 5, 22)
    model = sequential('mlp', (28,), layers.Dense(16, activation='relu', name='dense'),
                       layers.Dense(12, activation='relu', name='dense_1'), layers.Dense(5, activation='softmax', name='head'))
    write('model-mlp', model, x, y, 'sparse_categorical_crossentropy', keras.optimizers.Adam(learning_rate=0.005))

    x, y = data((6, 10, 10, 1), 23, 0, 1), labels(6, 5, 24)
    model = sequential('lenet', (10, 10, 1), layers.Conv2D(4, 3, activation='relu', name='conv2d'),
                       layers.Conv2D(6, 3, activation='relu', name='conv2d_1'), layers.MaxPooling2D(name='pool'),
                       layers.Flatten(name='flatten'), layers.Dense(12, activation='relu', name='dense'),
                       layers.Dense(5, activation='softmax', name='head'))
    write('model-lenet', model, x, y, 'sparse_categorical_crossentropy', keras.optimizers.Adam(learning_rate=0.005))

    x, y = data((5, 8, 8, 3), 25), labels(5, 4, 26)
    inputs = keras.Input((8, 8, 3), name='input')
    a = layers.Conv2D(4, 3, padding='same', use_bias=False, name='conv')(inputs)
    a = layers.Activation('relu', name='relu')(layers.BatchNormalization(name='bn')(a))
    b = layers.Conv2D(4, 3, padding='same', use_bias=False, name='conv_1')(a)
    b = layers.Add(name='add')([layers.BatchNormalization(name='bn_1')(b), a])
    b = layers.GlobalAveragePooling2D(name='pool')(layers.Activation('relu', name='relu_1')(b))
    out = layers.Dense(4, name='head')(b)
    write('model-residual', keras.Model(inputs, out, name='residual'), x, y,
          keras.losses.SparseCategoricalCrossentropy(from_logits=True),
          keras.optimizers.SGD(learning_rate=0.05, momentum=0.9))


MAKERS = (
    activations, convolutions, pooling, wide_convolutions, wide_pooling, resampling, shapes_and_merges, merges,
    activation_layers, arrangements,
    normalization, sample_normalization, attention, transformer, losses, optimizers, more_optimizers,
    regularisation, whole_models
)
for make in MAKERS:
    if len(sys.argv) == 1 or make.__name__ in sys.argv:
        make()
