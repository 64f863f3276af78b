"""Kernels of a pack that autotune wrote, for PyTorch.

A function as PyTorch's own, as conv2d(x, weight, padding=1); a module that takes the place of
PyTorch's, as Conv2d; and replace(model), which swaps a model's. Nothing is compiled, and nothing
is needed beside torch and the driver.
"""
from .manifest import PackError, sound

with sound():
    from . import functions
    from .modules import MODULES, Replaced, replace

__all__ = ["PackError", "Replaced", "replace", *functions.__all__, *MODULES]
globals().update({name: getattr(functions, name) for name in functions.__all__}, **MODULES)
