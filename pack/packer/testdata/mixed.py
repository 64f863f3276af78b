"""Calls kernels whose tensors differ in type, are also written, or are several outputs: mixed.py PACK"""
import ctypes

import on_cpu
import torch

on_cpu.shown()
import layers  # noqa: E402

driver, address, copy = ctypes.CDLL("libcuda.so.1"), torch.Tensor.data_ptr, torch.Tensor.copy_
torch.set_grad_enabled(False)


def listed(answer):
    return [(tuple(t.shape), str(t.dtype)) for t in (answer if isinstance(answer, tuple) else (answer,))]


def attempt(what, *arguments, **named):
    try:
        print(what, listed(getattr(layers, what)(*arguments, **named)))
    except ValueError as error:
        print(what, error)


def places(first, place, others):
    """Gives one tensor an address, and all others another."""
    torch.Tensor.data_ptr = lambda self: place if address(self) == first else others


x = torch.ones(4, 5)
labels = torch.zeros(4, dtype=torch.int64)
attempt("cross_entropy", x, labels)
attempt("cross_entropy", x, labels, reduction="none")
attempt("cross_entropy", x, torch.ones(4))
attempt("cross_entropy", x, labels, torch.ones(5, dtype=torch.bfloat16))
attempt("masked_cumsum", x, torch.ones(4, 5, dtype=torch.bool), -1)
spread = torch.ones(10)[::2]
torch.Tensor.copy_ = lambda self, other: print("copied back", address(self) == address(spread) != address(other)) or copy(self, other)
attempt("batch_norm", x, spread, torch.ones(5), training=True)

driver.fake_pointers(4)
attempt("both", torch.ones(64))
print("fake", listed(on_cpu.fakes["both"](torch.ones(64), [], "")))
y = torch.ones(4, 5)
print("in place", layers.relu(y, inplace=True) is y)
driver.fake_pointers(6)
y = torch.ones(4, 6)
places(address(y), 0x9990, 0x7000)
layers.batch_norm(y, None, None, training=True)
