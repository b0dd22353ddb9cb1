#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models and recipes of the examples beside this file. Needs Keras 3; only for changing them."""

import json
import os

import keras
from keras import layers as L

HERE = os.path.dirname(os.path.abspath(__file__))
FASHION = "/usr/share/datasets/fashion-mnist/"
CLOTHES = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]
ONE_255TH = {"rescale": {"scale": 0.00392156862745098}}


def fashion(echo=False):
    def part(name):
        source = {"type": "idx", "inputs": FASHION + name + "-images-idx3-ubyte.gz",
                  "targets": "inputs" if echo else FASHION + name + "-labels-idx1-ubyte.gz"}
        if not echo:
            source["class_names"] = CLOTHES
        return source
    return {"train": part("train"), "validation": {"split": 0.1}, "test": part("t10k")}


def generated(generator, samples, test, **keys):
    return {"train": {"type": "generator", "generator": generator, "samples": samples, **keys},
            "validation": {"split": 0.1},
            "test": {"type": "generator", "generator": generator, "samples": test, **keys}}


def write(path, value):
    with open(os.path.join(HERE, path), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2)
        file.write("\n")


def example(name, note, model, data, compile, epochs, batch=64, stages=(), fit=None, histograms=64):
    write(f"models/{name}.json", json.loads(model.to_json()))
    write(f"{name}.json", {
        "name": name, "seed": 42, "note": note,
        "data": {**data, "pipeline": [{"cache": "memory"}, {"shuffle": True}, {"batch": batch}, *stages,
                                      {"prefetch": "auto"}]},
        "model": f"models/{name}.json",
        "compile": compile,
        "fit": {"epochs": epochs, **(fit or {})},
        "log": {"scalars_every": 1, "histograms_every": histograms},
        "checkpoints": {"every": "epoch", "keep": 3, "monitor": "validation/loss"}})


def optimizer(name="Adam", rate=0.001, **config):
    return {"class_name": name, "config": {"learning_rate": rate, **config}}


CLASSES = {"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}


def functional(inputs, outputs, name):
    return keras.Model(inputs, outputs, name=name)


def mlp():
    return keras.Sequential([keras.Input((2,), name="point"), L.Dense(32, "relu", name="dense_1"),
                             L.Dense(32, "relu", name="dense_2"), L.Dense(3, "softmax", name="classes")], name="spirals")


def lenet():
    return keras.Sequential([
        keras.Input((28, 28, 1), name="image"),
        L.Conv2D(6, 5, padding="same", activation="tanh", name="conv_1"), L.AveragePooling2D(2, name="pool_1"),
        L.Conv2D(16, 5, activation="tanh", name="conv_2"), L.AveragePooling2D(2, name="pool_2"),
        L.Flatten(name="flatten"), L.Dense(120, "tanh", name="dense_1"), L.Dense(84, "tanh", name="dense_2"),
        L.Dense(10, "softmax", name="classes")], name="lenet")


def resnet(blocks=3):
    """K. He and others, "Deep Residual Learning for Image Recognition", CVPR 2016, section 4.2."""
    def convolution(x, filters, stride, name, relu=True):
        x = L.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False, kernel_initializer="he_normal",
                     name=name)(x)
        x = L.BatchNormalization(name=name + "_norm")(x)
        return L.Activation("relu", name=name + "_relu")(x) if relu else x

    image = keras.Input((28, 28, 1), name="image")
    x = convolution(image, 16, 1, "stem")
    for stage, filters in enumerate((16, 32, 64)):
        for block in range(blocks):
            name = f"stage_{stage + 1}_block_{block + 1}"
            stride = 2 if stage > 0 and block == 0 else 1
            y = convolution(x, filters, stride, name + "_a")
            y = convolution(y, filters, 1, name + "_b", relu=False)
            if stride > 1:
                x = L.Conv2D(filters, 1, strides=2, use_bias=False, kernel_initializer="he_normal", name=name + "_skip")(x)
                x = L.BatchNormalization(name=name + "_skip_norm")(x)
            x = L.Activation("relu", name=name + "_relu")(L.Add(name=name + "_add")([x, y]))
    x = L.GlobalAveragePooling2D(name="pool")(x)
    return functional(image, L.Dense(10, "softmax", name="classes")(x), "resnet_20")


def separable():
    x = image = keras.Input((28, 28, 1), name="image")
    x = L.Conv2D(32, 3, padding="same", use_bias=False, name="stem")(x)
    x = L.Activation("relu", name="stem_relu")(L.BatchNormalization(name="stem_norm")(x))
    for i, (filters, stride) in enumerate(((64, 2), (128, 1), (128, 2))):
        name = f"block_{i + 1}"
        x = L.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False, name=name + "_depthwise")(x)
        x = L.Activation("relu", name=name + "_relu_1")(L.BatchNormalization(name=name + "_norm_1")(x))
        x = L.Conv2D(filters, 1, use_bias=False, name=name + "_pointwise")(x)
        x = L.Activation("relu", name=name + "_relu_2")(L.BatchNormalization(name=name + "_norm_2")(x))
    x = L.Dropout(0.2, name="dropout")(L.GlobalAveragePooling2D(name="pool")(x))
    return functional(image, L.Dense(10, "softmax", name="classes")(x), "separable")


def unet():
    """O. Ronneberger and others, "U-Net", MICCAI 2015, with padding."""
    def twice(x, filters, name):
        for part in "ab":
            x = L.Conv2D(filters, 3, padding="same", activation="relu", name=f"{name}_{part}")(x)
        return x

    x = image = keras.Input((32, 32, 1), name="image")
    kept = []
    for i, filters in enumerate((8, 16)):
        x = twice(x, filters, f"down_{i + 1}")
        kept.append(x)
        x = L.MaxPooling2D(2, name=f"pool_{i + 1}")(x)
    x = twice(x, 32, "bottom")
    for i, filters in ((1, 16), (0, 8)):
        x = L.Conv2DTranspose(filters, 2, strides=2, name=f"up_{i + 1}")(x)
        x = twice(L.Concatenate(name=f"join_{i + 1}")([kept[i], x]), filters, f"wide_{i + 1}")
    return functional(image, L.Conv2D(1, 1, activation="sigmoid", name="mask")(x), "unet")


def heads():
    x = image = keras.Input((32, 32, 1), name="image")
    for i, filters in enumerate((8, 16, 32)):
        x = L.Conv2D(filters, 3, padding="same", activation="relu", name=f"conv_{i + 1}")(x)
        x = L.MaxPooling2D(2, name=f"pool_{i + 1}")(x)
    x = L.Dense(64, "relu", name="trunk")(L.Flatten(name="flatten")(x))
    return functional(image, [L.Dense(3, "softmax", name="shape")(x), L.Dense(2, "softmax", name="half")(x),
                              L.Dense(2, name="position")(x)], "heads")


def autoencoder():
    return keras.Sequential([
        keras.Input((28, 28), name="image"), L.Flatten(name="flatten"),
        L.Dense(128, "relu", name="encoder_1"), L.Dense(16, name="code"), L.Dense(128, "relu", name="decoder_1"),
        L.Dense(784, "sigmoid", name="decoder_2"), L.Reshape((28, 28), name="picture")], name="autoencoder")


def recurrent(layer, name):
    return keras.Sequential([keras.Input((None,), dtype="int32", name="words"),
                             L.Embedding(400, 32, mask_zero=True, name="embedding"), layer(48, name=name),
                             L.Dense(2, "softmax", name="mood")], name=name + "_text")


def transformer(length, width=32, heads=4):
    """Blocks after A. Vaswani and others, "Attention Is All You Need", 2017; a convolution before them tells words
    what stands beside them."""
    words = keras.Input((length,), dtype="int32", name="words")
    x = L.Embedding(400, width, name="embedding")(words)
    x = L.Conv1D(width, 3, padding="same", activation="relu", name="neighbours")(x)
    for i in range(2):
        name = f"block_{i + 1}"
        y = L.MultiHeadAttention(heads, width // heads, name=name + "_attention")(x, x)
        x = L.LayerNormalization(epsilon=1e-6, name=name + "_norm_1")(L.Add(name=name + "_add_1")([x, y]))
        y = L.Dense(2 * width, "relu", name=name + "_wide")(x)
        y = L.Dense(width, name=name + "_narrow")(y)
        x = L.LayerNormalization(epsilon=1e-6, name=name + "_norm_2")(L.Add(name=name + "_add_2")([x, y]))
    x = L.GlobalAveragePooling1D(name="pool")(x)
    return functional(words, L.Dense(2, "softmax", name="mood")(x), "transformer")


def houses():
    return keras.Sequential([keras.Input((12,), name="features"), L.Dense(64, "relu", name="dense_1"),
                             L.Dense(32, "relu", name="dense_2"), L.Dense(1, name="price")], name="houses")


def texts():
    def part(name):
        return {"type": "text", "file": f"data/{name}.csv", "column": "review", "targets": "mood"}
    return {"train": part("reviews"), "validation": {"split": 0.1}, "test": part("reviews-test")}


def table():
    def part(name):
        return {"type": "csv", "file": f"data/{name}.csv", "targets": "price"}
    return {"train": part("houses"), "validation": {"split": 0.1}, "test": part("houses-test")}


WORDS = {"vectorize": {"vocabulary": 400, "length": 80}}


def main():
    example("spirals", "A small dense network winds three spirals apart.", mlp(),
            generated("spirals", 3000, 1000, noise=0.02, classes=3), {"optimizer": optimizer(rate=0.01), **CLASSES}, 30,
            batch=32)
    example("lenet", "LeNet-5 of 1998, the first network to read cheques, looks at clothing.", lenet(), fashion(),
            {"optimizer": optimizer(), **CLASSES}, 5, stages=[ONE_255TH])
    example("resnet-20", "Twenty layers with shortcuts tell ten kinds of clothing apart.", resnet(), fashion(),
            {"optimizer": optimizer("SGD", 0.05, momentum=0.9, nesterov=True), **CLASSES}, 2, stages=[ONE_255TH])
    example("separable", "Depthwise separable convolutions do with few weights.", separable(), fashion(),
            {"optimizer": optimizer(rate=0.002), **CLASSES}, 2, stages=[ONE_255TH])
    example("unet", "A U-Net finds the pixels of a shape in a noisy picture.", unet(),
            generated("shapes", 4000, 500, noise=0.2), {"optimizer": optimizer(rate=0.002), "loss": "binary_crossentropy",
                                                        "metrics": ["binary_accuracy"]}, 4, batch=32)
    example("heads", "One trunk, three answers: which shape, in which half, and exactly where.", heads(),
            generated("shapes", 6000, 1000, noise=0.2, targets=["shape", "half", "position"]),
            {"optimizer": optimizer(rate=0.002),
             "loss": {"shape": "sparse_categorical_crossentropy", "half": "sparse_categorical_crossentropy",
                      "position": "mean_squared_error"},
             "loss_weights": {"shape": 1.0, "half": 0.5, "position": 10.0},
             "metrics": {"shape": ["accuracy"], "half": ["accuracy"], "position": ["mean_absolute_error"]}}, 8, batch=32)
    example("autoencoder", "Pictures of 784 pixels squeezed into 16 numbers, and back.", autoencoder(), fashion(True),
            {"optimizer": optimizer(), "loss": "binary_crossentropy", "metrics": ["mean_squared_error"]}, 5,
            stages=[ONE_255TH])
    example("lstm", "An LSTM reads reviews word by word and tells their mood.", recurrent(L.LSTM, "lstm"), texts(),
            {"optimizer": optimizer(rate=0.003), **CLASSES}, 8, batch=32, stages=[WORDS])
    example("gru", "A GRU reads reviews word by word and tells their mood.", recurrent(L.GRU, "gru"), texts(),
            {"optimizer": optimizer(rate=0.003), **CLASSES}, 8, batch=32, stages=[WORDS])
    example("transformer", "A small Transformer looks at all words of a review at once.", transformer(80), texts(),
            {"optimizer": optimizer(rate=0.001), **CLASSES}, 8, batch=32, stages=[WORDS])
    example("houses", "Prices from a table with gaps and categories.", houses(), table(),
            {"optimizer": optimizer(rate=0.003), "loss": "mean_squared_error", "metrics": ["mean_absolute_error", "r2_score"]},
            40, batch=32, stages=[{"fill_missing": {"value": "mean"}}, {"normalize": {"fit": "train"}}])


if __name__ == "__main__":
    main()
