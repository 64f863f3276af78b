"""Convolutions as their definitions say, factor by factor."""
import os

import numpy as np

from torch import Tensor

ROUNDS = {
    "fp32": lambda bits: bits,
    "tf32": lambda bits: bits + 0x1000 & ~0x1FFF,
    "tf32_even": lambda bits: bits + 0xFFF + (bits >> 13 & 1) & ~0x1FFF,
    "truncation": lambda bits: bits & ~0x1FFF,
    "bf16": lambda bits: bits + 0x7FFF & ~0xFFFF,
}


def rounded(t):
    last = t.array.strides[1] == t.array.itemsize
    assert last == ("FAKE_LAST" in os.environ), f"the tensor {t.array.shape} lies with strides {t.array.strides}"
    if t.array.dtype == np.float64:
        return t.array
    bits = np.ascontiguousarray(t.array).view(np.int32)
    return ROUNDS[os.environ["FAKE_ROUNDS"]](bits).view(np.float32).astype(np.float64)


def steps(tap, dilation, count, stride):
    return tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, count, stride))


def finish(parts, bias, like):
    y = np.concatenate(parts, 1)
    if bias is not None:
        y = y + bias.array.reshape(1, -1, *[1] * (y.ndim - 2))
    return Tensor(y.astype(like.array.dtype))


def convolution(x, weight, bias, stride, padding, dilation, groups):
    a, w = rounded(x), rounded(weight)
    a = np.pad(a, [(0, 0), (0, 0), *((p, p) for p in padding)])
    count = [(n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(a.shape[2:], dilation, w.shape[2:], stride)]
    parts = []
    for xs, ws in zip(np.split(a, groups, 1), np.split(w, groups, 0)):
        taps = np.ndindex(*w.shape[2:])
        parts.append(sum(np.einsum("nc...,oc->no...", xs[(..., *steps(t, dilation, count, stride))], ws[(..., *t)]) for t in taps))
    return finish(parts, bias, x)


def transposed(x, weight, bias, stride, padding, dilation, groups, output_padding):
    a, w = rounded(x), rounded(weight)
    size = [(n - 1) * s + d * (k - 1) + 1 + o for n, s, d, k, o in zip(a.shape[2:], stride, dilation, w.shape[2:], output_padding)]
    parts = []
    for xs, ws in zip(np.split(a, groups, 1), np.split(w, groups, 0)):
        whole = np.zeros((a.shape[0], w.shape[1], *size))
        for tap in np.ndindex(*w.shape[2:]):
            whole[(..., *steps(tap, dilation, a.shape[2:], stride))] += np.einsum("nc...,co->no...", xs, ws[(..., *tap)])
        parts.append(whole[(..., *(slice(p, n - p) for p, n in zip(padding, size)))])
    return finish(parts, bias, x)


conv1d = conv2d = conv3d = convolution
conv_transpose1d = conv_transpose2d = conv_transpose3d = transposed
