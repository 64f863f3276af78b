"""PyTorch functions and modules that run the kernels of a pack written by autotune.

A pack has functions with PyTorch's arguments, such as conv2d(x, weight, padding=1), modules that replace PyTorch's,
such as Conv2d, and replace(model), which replaces the modules of a model. Nothing is compiled, and only torch and the
CUDA driver are needed.
"""
from .manifest import PackError, sound

with sound():
    from . import functions
    from .modules import MODULES, Replaced, replace

__all__ = ["PackError", "Replaced", "replace", *functions.__all__, *MODULES]
globals().update({name: getattr(functions, name) for name in functions.__all__}, **MODULES)
