#!/usr/bin/env python3
"""Writes internal/test/torchvectors/testdata/OPERATOR.json.gz: what PyTorch answers to small cases
of every built-in operator, for the tests to hold the reference kernels against.

    python3 scripts/torch_vectors.py [FOLDER]

Needs PyTorch (the CPU build will do), bin/autotune and no GPU. The files do not change from run
to run: seeds are fixed, sums are made in float64 and rounded once at the end, to the type of the
case's tensors.

A file is one JSON object: operator, torch (its version) and cases. A case has
name, shape, parameters (as --set takes them), math, inputs (tensor name -> data)
and output {shape, data}; data are little-endian float32 in base64.
"""

import base64
import gzip
import json
import pathlib
import struct
import sys

import torch

import problems
from problems import as_set, rounded


def pack(tensor):
    values = tensor.to(torch.float32).flatten().tolist()
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def fill(shape, seed, distribution="normal"):
    """A tensor of a kind that kernels get wrong in different ways."""
    generator = torch.Generator().manual_seed(seed)
    if distribution == "normal":
        return torch.randn(shape, generator=generator)
    if distribution == "negative":
        return -0.5 - torch.rand(shape, generator=generator)
    if distribution == "coarse":  # many of them are the same
        return torch.randint(-2, 3, shape, generator=generator).float()
    if distribution == "nan":
        x = torch.randn(shape, generator=generator)
        x[torch.rand(shape, generator=generator) < 0.03] = float("nan")
        return x
    if distribution == "infinite":
        x = torch.randn(shape, generator=generator)
        x[torch.rand(shape, generator=generator) < 0.2] = float("-inf")
        return x
    if distribution == "both infinities":
        x = torch.randn(shape, generator=generator)
        return torch.where(torch.rand(shape, generator=generator) < 0.1, x * float("inf"), x)
    if distribution == "nothing":
        return torch.full(shape, float("-inf"))
    if distribution == "integers":
        return torch.randint(-3, 4, shape, generator=generator).float()
    raise ValueError(distribution)


AVG_POOL1D = [
    ("plain", (2, 3, 20), dict(kernel=4), "normal"),
    ("kernel 1", (1, 2, 7), dict(kernel=1), "normal"),
    ("whole row", (2, 2, 9), dict(kernel=9), "normal"),
    ("overlapping, padded", (2, 3, 33), dict(kernel=8, stride=1, padding=4), "normal"),
    ("padding left out of the divisor", (2, 3, 21), dict(kernel=5, stride=2, padding=2, count_include_pad=False), "normal"),
    ("ceil", (2, 3, 16), dict(kernel=3, stride=2, ceil_mode=True), "normal"),
    ("ceil drops the last window", (1, 2, 5), dict(kernel=2, stride=3, padding=1, ceil_mode=True), "normal"),
    ("ceil, padding in the divisor", (2, 2, 14), dict(kernel=4, stride=3, padding=2, ceil_mode=True), "normal"),
    ("ceil, padding left out", (2, 2, 14), dict(kernel=4, stride=3, padding=2, ceil_mode=True, count_include_pad=False), "normal"),
    ("stride above kernel", (2, 2, 23), dict(kernel=2, stride=5), "normal"),
    ("kernel above the input, ceil", (1, 1, 3), dict(kernel=4, stride=2, ceil_mode=True), "normal"),
    ("negative", (1, 4, 64), dict(kernel=7, stride=3, padding=3), "negative"),
]

AVG_POOL2D = [
    ("plain", (2, 3, 8, 12), dict(kernel=2), "normal"),
    ("large", (1, 2, 22, 25), dict(kernel=11), "normal"),
    ("rectangular", (2, 2, 9, 14), dict(kernel=(3, 5)), "normal"),
    ("rectangular throughout", (1, 3, 13, 17), dict(kernel=(3, 4), stride=(2, 3), padding=(1, 2)), "normal"),
    ("padding left out of the divisor", (2, 2, 9, 10), dict(kernel=3, stride=1, padding=1, count_include_pad=False), "normal"),
    ("padding in the divisor", (2, 2, 9, 10), dict(kernel=3, stride=1, padding=1), "normal"),
    ("ceil", (2, 2, 8, 10), dict(kernel=3, stride=2, ceil_mode=True), "normal"),
    ("ceil, padding in the divisor", (1, 2, 8, 11), dict(kernel=4, stride=3, padding=2, ceil_mode=True), "normal"),
    ("ceil, padding left out", (1, 2, 8, 11), dict(kernel=4, stride=3, padding=2, ceil_mode=True, count_include_pad=False), "normal"),
    ("ceil drops the last window", (1, 2, 5, 6), dict(kernel=2, stride=3, padding=1, ceil_mode=True), "normal"),
    ("stride above kernel", (2, 2, 11, 13), dict(kernel=2, stride=(3, 5)), "normal"),
    ("whole plane", (2, 4, 5, 7), dict(kernel=(5, 7)), "normal"),
    ("negative", (1, 3, 12, 19), dict(kernel=5, stride=2, padding=2), "negative"),
]

MAX_POOL2D = [
    ("plain", (2, 3, 8, 12), dict(kernel=2, stride=2, padding=0), "normal"),
    ("the preset", (1, 2, 14, 17), dict(kernel=4, stride=1, padding=1), "normal"),
    ("rectangular", (2, 2, 9, 14), dict(kernel=(3, 5), stride=(3, 5), padding=0), "normal"),
    ("rectangular throughout", (1, 2, 17, 21), dict(kernel=(3, 4), stride=(2, 3), padding=(1, 2), dilation=(2, 1)), "normal"),
    ("dilated", (1, 2, 15, 15), dict(kernel=3, stride=1, padding=1, dilation=3), "normal"),
    ("ceil", (2, 2, 8, 10), dict(kernel=3, stride=2, padding=0, ceil_mode=True), "normal"),
    ("ceil, padded", (1, 2, 8, 11), dict(kernel=4, stride=3, padding=2, ceil_mode=True), "normal"),
    ("ceil drops the last window", (1, 2, 5, 6), dict(kernel=2, stride=3, padding=1, ceil_mode=True), "normal"),
    ("ceil, dilated", (1, 2, 12, 13), dict(kernel=3, stride=4, padding=1, dilation=2, ceil_mode=True), "normal"),
    ("stride above kernel", (2, 2, 11, 13), dict(kernel=2, stride=(3, 5), padding=0), "normal"),
    ("negative, padded", (1, 3, 9, 11), dict(kernel=3, stride=1, padding=1), "negative"),
    ("NaN", (2, 2, 13, 16), dict(kernel=3, stride=2, padding=1), "nan"),
    ("minus infinity", (1, 2, 9, 12), dict(kernel=2, stride=1, padding=1), "infinite"),
]

# Of one and three axes. A case is (name, shape, parameters, distribution).
MAX_POOL1D = [
    ("plain", (2, 3, 20), dict(kernel=4), "normal"),
    ("dilated, padded", (2, 2, 33), dict(kernel=8, stride=1, padding=4, dilation=3), "normal"),
    ("ceil", (2, 3, 16), dict(kernel=3, stride=2, ceil_mode=True), "normal"),
    ("ceil drops the last window", (1, 2, 5), dict(kernel=2, stride=3, padding=1, ceil_mode=True), "normal"),
    ("ceil, dilated", (1, 2, 13), dict(kernel=3, stride=4, padding=1, dilation=2, ceil_mode=True), "normal"),
    ("stride above kernel", (2, 2, 23), dict(kernel=2, stride=5), "normal"),
    ("negative, padded", (1, 3, 12), dict(kernel=3, stride=1, padding=1), "negative"),
    ("NaN", (2, 2, 41), dict(kernel=3, stride=2, padding=1), "nan"),
    ("minus infinity", (1, 2, 37), dict(kernel=2, stride=1, padding=1), "infinite"),
]

MAX_POOL3D = [
    ("plain", (2, 2, 4, 6, 8), dict(kernel=2), "normal"),
    ("dilated, padded", (1, 2, 9, 11, 10), dict(kernel=3, stride=2, padding=1, dilation=3), "normal"),
    ("everything", (1, 2, 8, 9, 13), dict(kernel=(2, 3, 4), stride=(1, 2, 3), padding=(1, 0, 2), dilation=(3, 2, 1), ceil_mode=True), "normal"),
    ("ceil", (1, 2, 6, 8, 7), dict(kernel=3, stride=2, ceil_mode=True), "normal"),
    ("ceil drops the last window", (1, 2, 5, 5, 6), dict(kernel=2, stride=3, padding=1, ceil_mode=True), "normal"),
    ("stride above kernel", (1, 2, 7, 8, 9), dict(kernel=(1, 2, 2), stride=(2, 3, 5)), "normal"),
    ("negative, padded", (1, 2, 4, 5, 6), dict(kernel=3, stride=1, padding=1), "negative"),
    ("NaN", (1, 2, 5, 7, 8), dict(kernel=3, stride=2, padding=1), "nan"),
    ("minus infinity", (1, 2, 4, 5, 6), dict(kernel=2, stride=1, padding=1), "infinite"),
]

AVG_POOL3D = [
    ("plain", (2, 2, 4, 6, 8), dict(kernel=2), "normal"),
    ("overlapping, padded", (1, 2, 7, 8, 10), dict(kernel=3, stride=2, padding=1), "normal"),
    ("everything", (1, 2, 8, 9, 13), dict(kernel=(2, 3, 4), stride=(1, 2, 3), padding=(1, 0, 2), ceil_mode=True, count_include_pad=False), "normal"),
    ("ceil, padding in the divisor", (1, 2, 6, 8, 11), dict(kernel=4, stride=3, padding=2, ceil_mode=True), "normal"),
    ("ceil drops the last window", (1, 2, 5, 5, 6), dict(kernel=2, stride=3, padding=1, ceil_mode=True), "normal"),
    ("padding left out of the divisor", (1, 2, 4, 5, 6), dict(kernel=3, stride=1, padding=1, count_include_pad=False), "normal"),
    ("divisor", (1, 2, 5, 6, 7), dict(kernel=3, stride=2, padding=1, divisor_override=5), "normal"),
    ("divisor, ceil, padding left out", (1, 2, 6, 8, 7), dict(kernel=3, stride=2, padding=1, ceil_mode=True, count_include_pad=False, divisor_override=31), "negative"),
    ("stride above kernel", (1, 2, 7, 8, 9), dict(kernel=(1, 2, 2), stride=(2, 3, 5)), "normal"),
    ("whole volume", (2, 3, 3, 4, 5), dict(kernel=(3, 4, 5)), "negative"),
]

DEPTHWISE = [
    ("plain", (2, 3, 8, 12), dict(kernel=3), "normal"),
    ("kernel 1", (1, 3, 5, 6), dict(kernel=1, bias=True), "normal"),
    ("padded", (2, 2, 9, 10), dict(kernel=3, padding=1), "normal"),
    ("bias", (1, 4, 7, 9), dict(kernel=3, padding=1, bias=True), "normal"),
    ("rectangular", (2, 2, 9, 14), dict(kernel=(3, 5)), "normal"),
    ("rectangular throughout", (1, 3, 17, 21), dict(kernel=(3, 4), stride=(2, 3), padding=(1, 5), dilation=(2, 1), bias=True), "normal"),
    ("dilated", (1, 2, 15, 15), dict(kernel=3, dilation=3, padding=3), "normal"),
    ("strided", (2, 3, 16, 18), dict(kernel=5, stride=2, padding=2), "normal"),
    ("padding above kernel", (1, 2, 6, 7), dict(kernel=2, padding=4), "normal"),
    ("one channel", (3, 1, 8, 8), dict(kernel=3, stride=(1, 2), bias=True), "normal"),
    ("negative", (1, 3, 12, 19), dict(kernel=5, padding=2), "negative"),
]

CONV2D = [
    ("plain", (2, 3, 8, 10), dict(c_out=4, kernel=3), "normal"),
    ("kernel 1", (1, 5, 6, 7), dict(c_out=3, kernel=1, bias=True), "normal"),
    ("padded", (1, 4, 7, 9), dict(c_out=5, kernel=3, padding=1), "normal"),
    ("bias", (1, 4, 7, 9), dict(c_out=6, kernel=3, padding=1, bias=True), "normal"),
    ("groups", (1, 6, 8, 9), dict(c_out=9, kernel=3, groups=3), "normal"),
    ("one channel a group", (2, 4, 7, 8), dict(c_out=8, kernel=3, groups=4, padding=1, bias=True), "normal"),
    ("rectangular", (1, 3, 9, 12), dict(c_out=2, kernel=(3, 5)), "normal"),
    ("rectangular throughout", (1, 4, 14, 17), dict(c_out=6, kernel=(3, 4), stride=(2, 3), padding=(1, 5), dilation=(2, 1), groups=2, bias=True), "normal"),
    ("dilated", (1, 2, 13, 13), dict(c_out=3, kernel=3, dilation=3, padding=3), "normal"),
    ("strided", (2, 3, 12, 13), dict(c_out=4, kernel=5, stride=2, padding=2), "normal"),
    ("padding above kernel", (1, 2, 6, 7), dict(c_out=3, kernel=2, padding=4), "normal"),
    ("whole plane", (2, 8, 4, 5), dict(c_out=7, kernel=(4, 5)), "normal"),
    ("negative", (1, 4, 9, 11), dict(c_out=4, kernel=3, padding=1), "negative"),
]


# Of one and three axes, and transposed.
CONV1D = [
    ("plain", (2, 3, 20), dict(c_out=4, kernel=3), "normal"),
    ("everything", (2, 6, 31), dict(c_out=9, kernel=4, stride=2, padding=3, dilation=2, groups=3, bias=True), "normal"),
    ("kernel 1", (1, 5, 9), dict(c_out=3, kernel=1, bias=True), "negative"),
]

CONV3D = [
    ("plain", (2, 3, 5, 6, 7), dict(c_out=4, kernel=3), "normal"),
    ("everything", (1, 4, 7, 8, 9), dict(c_out=6, kernel=(2, 3, 4), stride=(1, 2, 3), padding=(1, 0, 5), dilation=(2, 1, 2), groups=2, bias=True), "normal"),
    ("kernel 1", (1, 5, 3, 4, 5), dict(c_out=3, kernel=1, bias=True), "negative"),
]

CONV_TRANSPOSE1D = [
    ("plain", (2, 3, 9), dict(c_out=4, kernel=3), "normal"),
    ("everything", (2, 6, 11), dict(c_out=9, kernel=4, stride=3, padding=2, output_padding=1, dilation=2, groups=3, bias=True), "normal"),
    ("kernel above twice the stride", (1, 4, 7), dict(c_out=3, kernel=5, stride=2, padding=1), "negative"),
]

CONV_TRANSPOSE2D = [
    ("plain", (2, 3, 5, 6), dict(c_out=4, kernel=3), "normal"),
    ("everything", (1, 4, 5, 6), dict(c_out=6, kernel=(3, 4), stride=(2, 3), padding=(1, 2), output_padding=(1, 0), dilation=(2, 1), groups=2, bias=True), "normal"),
    ("kernel as the stride", (2, 4, 4, 5), dict(c_out=3, kernel=2, stride=2, bias=True), "negative"),
    ("kernel below the stride", (1, 2, 4, 3), dict(c_out=2, kernel=2, stride=3, output_padding=1), "normal"),
]

CONV_TRANSPOSE3D = [
    ("plain", (1, 3, 3, 4, 5), dict(c_out=4, kernel=2), "normal"),
    ("everything", (1, 4, 3, 4, 3), dict(c_out=6, kernel=(2, 3, 4), stride=(1, 2, 3), padding=(0, 1, 2), output_padding=(0, 1, 0), dilation=(2, 1, 1), groups=2, bias=True), "normal"),
]

MATMUL = [
    ("plain", (1, 5, 6, 7), dict(), "normal"),
    ("batch, bias", (3, 4, 9, 5), dict(bias=True), "normal"),
    ("transposed", (2, 5, 4, 6), dict(transpose_a=True, transpose_b=True), "negative"),
    ("first transposed", (1, 9, 70, 3), dict(transpose_a=True), "normal"),
    ("second transposed", (1, 3, 130, 8), dict(transpose_b=True, bias=True), "normal"),
    ("first broadcast", (3, 4, 9, 5), dict(broadcast_a=True, transpose_b=True), "normal"),
    ("second broadcast", (2, 5, 4, 6), dict(broadcast_b=True, transpose_a=True, bias=True), "negative"),
    ("activation", (2, 5, 7, 6), dict(bias=True, activation="gelu(x)"), "normal"),
    ("activation of a triangle", (1, 6, 5, 7), dict(triangular_output=1, activation="sigmoid(x)", type="bf16"), "normal"),
]


def typed(cases):
    """Cases with the type of their elements in the name."""
    return [(f"{parameters['type']}, {name}", shape, parameters, distribution) for name, shape, parameters, distribution in cases]


MATMUL += typed([
    ("plain", (1, 5, 6, 7), dict(type="bf16"), "normal"),
    ("batch, bias", (3, 4, 9, 5), dict(bias=True, type="bf16"), "normal"),
    ("transposed", (2, 5, 72, 6), dict(transpose_a=True, transpose_b=True, type="bf16"), "negative"),
    ("second broadcast", (2, 9, 130, 8), dict(broadcast_b=True, transpose_b=True, bias=True, type="bf16"), "normal"),
    ("plain", (1, 5, 70, 7), dict(type="f16"), "normal"),
    ("second transposed", (1, 3, 24, 8), dict(transpose_b=True, bias=True, type="f16"), "normal"),
    ("first broadcast", (3, 4, 9, 5), dict(broadcast_a=True, transpose_a=True, type="f16"), "negative"),
])
MATMUL += [
    ("upper triangles", (2, 6, 6, 6), dict(triangular_a=1, triangular_b=1, triangular_output=1), "normal"),
    ("lower triangles", (1, 7, 70, 9), dict(triangular_a=-1, triangular_b=-1, transpose_a=True, bias=True), "normal"),
    ("a triangle of the output", (1, 9, 5, 6), dict(triangular_output=-1, transpose_b=True, type="bf16"), "negative"),
]
for cases, rank in ((MAX_POOL1D, 1), (MAX_POOL2D, 2), (MAX_POOL3D, 3)):
    shape = (2, 3, 21) if rank == 1 else (1, 3, 9, 12) if rank == 2 else (1, 2, 5, 6, 9)
    cases += typed([
        ("ties", shape, dict(kernel=3, stride=2, padding=1, type="bf16"), "coarse"),
        ("NaN", shape, dict(kernel=3, stride=1, padding=1, type="bf16"), "nan"),
        ("NaN", shape, dict(kernel=2, stride=2, padding=0, type="f16"), "nan"),
        ("minus infinity", shape, dict(kernel=2, stride=1, padding=1, ceil_mode=True, type="f16"), "infinite"),
    ])
for cases, rank in ((AVG_POOL1D, 1), (AVG_POOL2D, 2), (AVG_POOL3D, 3)):
    shape = (2, 3, 21) if rank == 1 else (1, 3, 9, 12) if rank == 2 else (1, 2, 5, 6, 9)
    cases += typed([
        ("padded", shape, dict(kernel=3, stride=2, padding=1, type="bf16"), "normal"),
        ("ceil, padding left out", shape, dict(kernel=4, stride=3, padding=2, ceil_mode=True, count_include_pad=False, type="f16"), "normal"),
    ])
DEPTHWISE += typed([
    ("padded", (2, 3, 9, 10), dict(kernel=3, padding=1, bias=True, type="bf16"), "normal"),
    ("rectangular throughout", (1, 3, 13, 14), dict(kernel=(3, 4), stride=(2, 3), padding=(1, 5), dilation=(2, 1), type="f16"), "normal"),
])
CONV1D += typed([("bias", (2, 6, 21), dict(c_out=4, kernel=3, groups=2, bias=True, type="f16"), "normal")])
CONV2D += typed([
    ("rectangular throughout", (1, 4, 10, 11), dict(c_out=6, kernel=(3, 4), stride=(2, 3), padding=(1, 5), dilation=(2, 1), groups=2, bias=True, type="bf16"), "normal"),
    ("padded", (1, 5, 7, 9), dict(c_out=5, kernel=3, padding=1, type="f16"), "normal"),
])
CONV3D += typed([("padded", (1, 4, 3, 5, 6), dict(c_out=3, kernel=(2, 3, 3), stride=(1, 2, 1), padding=1, bias=True, type="bf16"), "normal")])
CONV_TRANSPOSE1D += typed([("strided", (2, 4, 9), dict(c_out=6, kernel=5, stride=3, padding=2, groups=2, bias=True, type="bf16"), "normal")])
CONV_TRANSPOSE2D += typed([("strided", (1, 4, 5, 6), dict(c_out=3, kernel=(3, 4), stride=2, padding=1, output_padding=(1, 0), bias=True, type="f16"), "normal")])
CONV_TRANSPOSE3D += typed([("strided", (1, 3, 3, 4, 3), dict(c_out=2, kernel=2, stride=2, bias=True, type="bf16"), "normal")])


def nearest(y, dtype):
    """Numbers of double precision as the nearest of a type, ties to even; .to() would round them
    to float32 on the way to one of 16 bits."""
    if dtype == torch.float32:
        return y
    about = torch.finfo(dtype)
    unit = torch.ldexp(torch.full_like(y, about.eps), torch.frexp(y).exponent - 1).clamp(min=about.tiny * about.eps)
    return (y / unit).round() * unit


# Of operators of rows, whose shape is (outer, length, inner). The kernels take a row's elements in
# vectors, by teams of threads, and columns side by side.
ROWS = [
    ("a row", (3, 37, 1), dict(), "normal"),
    ("one element", (4, 1, 1), dict(), "negative"),
    ("columns", (2, 19, 10), dict(), "normal"),
    ("one element a column", (2, 1, 5), dict(), "normal"),
    ("NaN", (9, 12, 2), dict(), "nan"),
    ("minus infinity", (6, 3, 3), dict(), "infinite"),
    ("nothing but minus infinity", (2, 3, 1), dict(), "nothing"),
    ("infinities", (4, 9, 1), dict(), "both infinities"),
    ("ties", (4, 21, 1), dict(), "integers"),
    ("bf16, a row", (3, 41, 1), dict(type="bf16"), "normal"),
    ("bf16, columns", (2, 19, 4), dict(type="bf16"), "negative"),
    ("f16, a row", (3, 40, 1), dict(type="f16"), "normal"),
]


SCANS = ("cumsum", "cumprod", "masked_cumsum")

# What some of them are asked for beside.
MORE = {
    "layer_norm": [("without weights", (4, 15, 3), dict(affine=False, bias=True), "normal"), ("without a bias", (3, 21, 1), dict(bias=False, eps=0.25), "negative")],
    "rms_norm": [("without weights", (4, 15, 3), dict(affine=False, eps=0.25), "negative")],
    "normalize": [("p 1", (3, 17, 2), dict(p=1), "normal"), ("p 1, mean", (3, 17, 1), dict(p=1, mean=True), "normal"),
                  ("p 2, mean", (3, 17, 1), dict(mean=True), "normal"), ("the largest", (3, 17, 2), dict(p=0), "normal"),
                  ("eps", (3, 5, 1), dict(p=1, eps=10.0), "normal")],
    **{name: [("reverse", (3, 17, 2), dict(reverse=True), "normal"), ("exclusive", (2, 40, 1), dict(exclusive=True), "normal"),
              ("both", (2, 21, 1), dict(reverse=True, exclusive=True), "negative")] for name in SCANS},
    "norm": [("p 1", (3, 17, 2), dict(p=1), "normal"), ("the largest", (3, 17, 2), dict(p=0), "negative")],
}


CHANNEL_NORMS = {
    "group_norm": [
        ("groups", (3, 6, 7), dict(groups=2), "normal"),
        ("one group", (2, 3, 40), dict(groups=1), "negative"),
        ("as instance_norm", (2, 5, 12), dict(groups=5, weight=False, bias=False), "normal"),
        ("without a bias", (1, 4, 9), dict(groups=2, bias=False, eps=0.25), "normal"),
        ("NaN", (5, 4, 4), dict(groups=2), "nan"),
        ("bf16", (2, 6, 20), dict(groups=3, type="bf16"), "normal"),
        ("f16", (2, 6, 21), dict(groups=3, type="f16"), "negative"),
    ],
    "batch_norm": [
        ("training", (3, 5, 7), dict(training=True), "normal"),
        ("training, one pixel", (9, 4, 1), dict(training=True), "negative"),
        ("training, one image", (1, 4, 12), dict(training=True, bias=False, momentum=0.5), "normal"),
        ("NaN", (4, 6, 5), dict(training=True, eps=0.25), "nan"),
        ("inference", (3, 5, 7), dict(training=False), "normal"),
        ("inference without weights", (2, 3, 16), dict(training=False, weight=False, bias=False, eps=1e-3), "nan"),
        ("bf16", (4, 3, 10), dict(training=True, type="bf16"), "normal"),
        ("f16, inference", (2, 3, 10), dict(training=False, type="f16"), "negative"),
    ],
}


# A label of 1 is ignored in each, where that is said.
CROSS_ENTROPY = [
    (f"{name}, {how}", shape, {**parameters, "mean": how == "mean", "sum": how == "sum"}, distribution)
    for how in ("each", "mean", "sum")
    for name, shape, parameters, distribution in (
        ("a row", (5, 37, 1), dict(), "normal"),
        ("columns", (2, 19, 3), dict(ignore_index=1), "negative"),
        ("weights", (4, 9, 1), dict(weight=True, ignore_index=1), "normal"),
        ("smoothing", (3, 12, 2), dict(label_smoothing=0.25, ignore_index=1), "normal"),
    )
] + [
    ("NaN", (9, 12, 2), dict(mean=False), "nan"),
    ("minus infinity", (6, 3, 3), dict(mean=False), "infinite"),
    ("bf16", (3, 41, 1), dict(mean=False, type="bf16"), "normal"),
    ("f16", (3, 40, 1), dict(type="f16", weight=True), "normal"),
]

TRIPLET = [
    (f"{name}, {how}", shape, {**parameters, "mean": how == "mean", "sum": how == "sum"}, distribution)
    for how in ("each", "mean", "sum")
    for name, shape, parameters, distribution in (
        ("rows", (5, 37), dict(), "normal"),
        ("p 1, swap", (4, 19), dict(p=1, swap=True, margin=0.5), "negative"),
        ("p 3", (6, 8), dict(p=3, eps=0.125, swap=True), "normal"),
        ("the largest", (7, 11), dict(p=0, margin=0.25), "normal"),
    )
] + [
    ("one element", (9, 1), dict(mean=False, swap=True), "normal"),
    ("NaN", (9, 12), dict(mean=False, swap=True), "nan"),
    ("infinities", (6, 3), dict(mean=False), "both infinities"),
    ("bf16", (3, 41), dict(mean=False, type="bf16"), "normal"),
    ("f16", (3, 40), dict(type="f16", swap=True), "normal"),
]


# Of expressions: every function once, and the ways in which w and b are broadcast.
EXPRESSIONS = [
    (f"{f}, {distribution}", (3, 7, 2), dict(f=f), distribution)
    for f in (
        "relu(x)", "relu6(x*4.0)", "leaky_relu(x)", "leaky_relu(x,0.2)", "sigmoid(x)", "tanh(x)", "silu(x)", "swish(x)+x", "gelu(x)", "gelu_tanh(x)",
        "min_gpt_new_gelu(x)", "elu(x,0.7)", "selu(x)", "hardsigmoid(x*3)", "hardswish(x*3)", "hardtanh(x,-0.5,2)", "softplus(x*9)",
        "softplus(x,2,3)", "logsigmoid(x)", "softsign(x)", "mish(x)", "max(x,0.25)", "min(x,-x)", "clamp(x,-0.5,1)", "exp(x)/(1+expm1(x))",
        "sqrt(abs(x))", "log(x)+log1p(square(x))", "erf(x)-sin(x)*cos(x)", "pow(x,3)+pow(x,2.0)", "-(-x)*3.25e-3+0.125",
    )
    for distribution in ("normal", "nan")
] + [
    ("both, a row", (5, 12, 1), dict(f="gelu(x*w+b)"), "normal"),
    ("both, a channel", (2, 3, 10), dict(f="(x-b)*w"), "normal"),
    ("one number", (5, 1, 9), dict(f="x/w"), "normal"),
    ("as many", (1, 31, 1), dict(f="silu(x)*w"), "normal"),
    ("bf16", (3, 37, 1), dict(f="gelu(x*w+b)", type="bf16"), "normal"),
    ("f16", (3, 5, 7), dict(f="mish(x)+b", type="f16"), "normal"),
    *[(f"{f}, {how}", (3, 7, 2), dict(f=f, **{how: True}), distribution) for f, how, distribution in (
        ("square(x-w)", "mean", "normal"), ("smooth_l1(x-w,0.5)", "sum", "normal"), ("huber(x*3,2)", "mean", "negative"), ("smooth_l1(x)+huber(x)", "sum", "normal"),
        ("max(1-x*w,0)", "mean", "nan"), ("xlogy(w,w)-w*x", "sum", "normal"), ("xlogy(x,x)", "sum", "integers"))],
    ("sum, bf16", (5, 31, 1), dict(f="abs(x-w)", sum=True, type="bf16"), "normal"),
    ("mean, f16", (1, 200, 1), dict(f="abs(x-w)", mean=True, type="f16"), "normal"),
]


# Of separable convolutions.
SEPARABLE = [
    ("plain", (2, 3, 7, 8), dict(c_out=5, kernel=3), "normal"),
    ("everything", (1, 4, 9, 11), dict(c_out=6, kernel=(3, 2), stride=(2, 1), padding=(1, 3), dilation=(1, 2), bias=True), "negative"),
    ("kernel 1", (1, 5, 4, 3), dict(c_out=2, kernel=1, bias=True), "normal"),
    ("bf16", (2, 3, 7, 8), dict(c_out=5, kernel=3, padding=1, bias=True, type="bf16"), "normal"),
    ("f16", (1, 4, 7, 9), dict(c_out=6, kernel=3, stride=2, type="f16"), "normal"),
]

# Of attention; a shape is batch, heads, queries, keys and the width.
ATTENTION = [
    ("plain", (2, 3, 5, 7, 8), dict(), "normal"),
    ("one key", (1, 2, 3, 1, 4), dict(), "negative"),
    ("another width of values", (1, 2, 6, 9, 5), dict(width_v=11, scale=0.75), "normal"),
    ("causal", (2, 2, 9, 9, 16), dict(causal=True), "normal"),
    ("causal, more keys", (1, 2, 5, 9, 8), dict(causal=True), "normal"),
    ("causal, fewer keys", (1, 2, 9, 5, 8), dict(causal=True), "normal"),
    ("grouped queries", (2, 6, 4, 7, 8), dict(heads_kv=2), "normal"),
    ("a mask of all", (2, 3, 5, 7, 8), dict(mask_batch=1, mask_heads=1), "normal"),
    ("a mask a batch", (2, 3, 5, 7, 8), dict(mask_batch=2, mask_heads=1), "normal"),
    ("a mask a head", (2, 3, 5, 7, 8), dict(mask_batch=1, mask_heads=3), "normal"),
    ("a mask that leaves keys out", (1, 2, 5, 6, 8), dict(mask_batch=1, mask_heads=2), "infinite"),
    ("large products", (1, 2, 5, 7, 40), dict(scale=9.0), "normal"),
    ("bf16", (1, 2, 9, 17, 32), dict(type="bf16"), "normal"),
    ("f16, causal, grouped queries", (1, 4, 9, 9, 24), dict(type="f16", causal=True, heads_kv=1), "normal"),
]


def uniform(shape, generator):
    return torch.rand(shape, generator=generator)


def dense(p, seed, distribution):
    """Inputs of a distribution, and weights within their bounds."""
    generator = torch.Generator().manual_seed(1000 + seed)
    made = {name: fill(a["Shape"], seed, distribution) for name, a in p.read.items() if a["Role"] == "input"}
    for name in sorted((name for name in p.read if name not in made), key=lambda name: name.endswith("bias")):
        made[name] = (2 * uniform(p.read[name]["Shape"], generator) - 1) * p.read[name]["Scale"]
    return made


def rows(p, seed, distribution):
    """Inputs of a distribution, labels, masks, and normal weights."""
    inputs = [name for name, a in p.read.items() if a["Role"] == "input"]
    made = {name: fill(p.read[name]["Shape"], 2000 + seed + 500 * i, distribution) for i, name in enumerate(inputs)}
    if "target" in made:  # a label, or one that is ignored
        made["target"] = torch.randint(p.shape[1], made["target"].shape, generator=torch.Generator().manual_seed(seed)).float()
        made["target"][0, 0] = p.parameters["ignore_index"] % 100
    if "mask" in made:
        made["mask"] = (fill(p.shape, 4000 + seed) > 0).float()
    for name in (name for name in p.read if name not in made):
        made[name] = fill(p.read[name]["Shape"], 3000 + seed)
        if name == "running_var" or p.operator == "cross_entropy":
            made[name] = made[name].to(of_type(p)).float().abs() + 0.5
    return made


def chains(p, seed, distribution):
    """Inputs of a distribution, and what is broadcast between 0.5 and 1.5."""
    generator = torch.Generator().manual_seed(3000 + seed)
    beside = {name: 0.5 + uniform(a["Shape"], generator) for name, a in p.read.items() if name != "x"}
    return {"x": fill(p.shape, 3000 + seed, distribution), **beside}


def attended(p, seed, distribution):
    """Inputs of a distribution; only a mask may be infinite."""
    kinds = {name: distribution if name == "mask" or distribution != "infinite" else "normal" for name in p.read}
    return {name: fill(a["Shape"], 7 * seed + i, kinds[name]) for i, (name, a) in enumerate(p.read.items())}


def of_type(p):
    return problems.torch_calls.dtype(p.parameters.get("type", "f32"))


def cases(operator, made, table, maths=("fp32",)):
    """The cases of an operator, whose tensors a function makes."""
    bound = problems.bound([problems.request(operator, shape, parameters) for _, shape, parameters, _ in table])
    for seed, (p, (name, shape, _, distribution)) in enumerate(zip(bound, table)):
        of = of_type(p)
        inputs = {what: t.to(of).float() for what, t in made(p, seed, distribution).items()}
        for math in maths if of == torch.float32 else ["fp32"]:
            factors = {what: t if what == "bias" else rounded(t, math) for what, t in inputs.items()}
            y = p.answer(factors if problems.exact(operator) else {what: t.double() for what, t in factors.items()})
            y = y if problems.exact(operator) or y.dtype == torch.int64 else nearest(y, of)
            yield {
                "name": name, "shape": list(shape), "parameters": {k: as_set(v) for k, v in p.parameters.items()}, "math": math,
                "inputs": {k: pack(v) for k, v in inputs.items()}, "output": {"shape": list(y.shape), "data": pack(y)},
            }


ALONG = ("softmax", "log_softmax", "sum", "mean", "prod", "max", "min", "argmax", "argmin", "layer_norm", "rms_norm", "norm", "normalize", *SCANS)
ALL = {
    **{name: (dense, table) for name, table in {
        "avg_pool1d": AVG_POOL1D, "avg_pool2d": AVG_POOL2D, "avg_pool3d": AVG_POOL3D, "max_pool1d": MAX_POOL1D, "max_pool2d": MAX_POOL2D,
        "max_pool3d": MAX_POOL3D, "depthwise_conv2d": DEPTHWISE, "conv_separable2d": SEPARABLE}.items()},
    **{name: (dense, table, ("fp32", "tf32")) for name, table in {
        "conv2d": CONV2D, "conv1d": CONV1D, "conv3d": CONV3D, "conv_transpose1d": CONV_TRANSPOSE1D, "conv_transpose2d": CONV_TRANSPOSE2D,
        "conv_transpose3d": CONV_TRANSPOSE3D, "matmul": MATMUL}.items()},
    **{name: (rows, [*ROWS, *MORE.get(name, [])]) for name in ALONG},
    **{name: (rows, table) for name, table in {"cross_entropy": CROSS_ENTROPY, "triplet_margin_loss": TRIPLET, **CHANNEL_NORMS}.items()},
    "elementwise": (chains, EXPRESSIONS),
    "scaled_dot_product_attention": (attended, ATTENTION),
}


def main():
    default = problems.ROOT / "internal/test/torchvectors/testdata"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for operator, how in ALL.items():
        document = {"operator": operator, "torch": torch.__version__, "cases": list(cases(operator, *how))}
        path = folder / f"{operator}.json.gz"
        with open(path, "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            packed.write(json.dumps(document, indent=1).encode())
        print(f"{path}: {len(document['cases'])} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
