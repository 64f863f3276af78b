"""Kernels of a pack that autotune wrote, for PyTorch.

A function an operator, as conv2d(x, weight, padding=1), and a module that takes the place of
PyTorch's, as Conv2d. Nothing is compiled, and nothing is needed beside torch and the driver.
"""
import importlib
import importlib.util

from .pack import MANIFEST, OPERATORS, PackError

__all__ = ["PackError"]

for _name in OPERATORS:
    if importlib.util.find_spec("." + _name + "_module", __name__) is None:
        continue  # it is no function with one result
    _module = importlib.import_module("." + _name + "_module", __name__)
    globals()[_name] = _module.function
    __all__.append(_name)
    if hasattr(_module, "ModelNew"):
        _class = "".join(part.capitalize() for part in _name.split("_"))
        globals()[_class] = _module.ModelNew
        __all__.append(_class)
