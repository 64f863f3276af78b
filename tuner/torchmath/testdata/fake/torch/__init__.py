"""As much of PyTorch as is asked, on NumPy: a GPU whose convolutions round their factors
as FAKE_ROUNDS says. Each import leaves a letter in the file FAKE_LOG."""
import contextlib
import os
import types

import numpy as np

__version__ = "2.99.0"
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write("i")


class Tensor:
    def __init__(self, array):
        self.array = np.asarray(array)

    shape = property(lambda self: self.array.shape)
    numel = lambda self: self.array.size
    float = lambda self: Tensor(self.array.astype(np.float32))
    double = lambda self: Tensor(self.array.astype(np.float64))
    abs = lambda self: Tensor(np.abs(self.array))
    permute = lambda self, axes: Tensor(self.array.transpose(axes))
    contiguous = lambda self: Tensor(np.ascontiguousarray(self.array))
    max = lambda self: Tensor(self.array.max())
    __getitem__ = lambda self, where: Tensor(self.array[where])
    __float__ = lambda self: float(self.array)
    __add__ = lambda self, other: Tensor(self.array + bare(other))
    __sub__ = lambda self, other: Tensor(self.array - bare(other))
    __mul__ = lambda self, other: Tensor(self.array * bare(other))
    __truediv__ = lambda self, other: Tensor(self.array / bare(other))


def bare(value):
    return value.array if isinstance(value, Tensor) else value


generator = np.random.default_rng(1)
int16 = None
randint = lambda least, most, shape, device, dtype: Tensor(generator.integers(least, most, tuple(shape)))
sign = lambda t: Tensor(np.sign(t.array))
trunc = lambda t: Tensor(np.trunc(t.array))
round = lambda t: Tensor(np.round(t.array))  # half to even
manual_seed = lambda seed: None
no_grad = contextlib.nullcontext
cuda = types.SimpleNamespace(is_available=lambda: os.environ["FAKE_ROUNDS"] != "no GPU", set_device=lambda ordinal: None)
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 99000))
