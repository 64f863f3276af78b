"""An imitation of PyTorch: tensors without data, a few functions that a function mode intercepts, and a GPU on which
each function takes a given number of milliseconds."""
import math
import threading

__version__ = "2.99.0"


class dtype:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return "torch." + self.name

    __repr__ = __str__


float32, bfloat16, float16, float64, uint8, int64 = map(dtype, ("float32", "bfloat16", "float16", "float64", "uint8", "int64"))
bool = dtype("bool")
strided, sparse = "strided", "sparse"
channels_last, channels_last_3d = "channels_last", "channels_last_3d"
modes = threading.local()


class Tensor:
    __module__, layout, is_nested = "torch", strided, False

    def __init__(self, *shape, device="cpu", dtype=float32, form=""):
        self.shape, self.dtype, self.form = tuple(shape), dtype, form
        self.device = type("device", (), {"type": device})()
        self.is_cuda = device == "cuda"

    def is_contiguous(self, memory_format=""):
        if self.layout is sparse:
            raise RuntimeError("a sparse tensor has no contiguity")
        return self.form == memory_format

    def dim(self):
        return len(self.shape)

    def get_device(self):
        return 0 if self.is_cuda else -1

    @property
    def mT(self):
        return Tensor(*self.shape, form={"": "transposed", "transposed": ""}.get(self.form, self.form))


def seen(cost):
    """Makes a function that the innermost mode intercepts. The mode is off while it handles the call."""

    def decorate(run):
        def function(*args, **kwargs):
            stack = getattr(modes, "stack", [])
            if stack:
                mode = stack.pop()
                try:
                    return mode.__torch_function__(function, (), args, kwargs)
                finally:
                    stack.append(mode)
            first = next((a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)), None)
            if first is not None and first.is_cuda:
                cuda.now += cost
            return run(*args, **kwargs)

        function.__name__ = run.__name__
        return function

    return decorate


def function(name, cost, answer=lambda x, *more: Tensor(1, device=x.device.type)):
    """Makes a function that takes the given milliseconds of GPU time. By default it returns a number."""

    def run(*args, **kwargs):
        return answer(*args, *kwargs.values())

    run.__name__ = name
    return seen(cost)(run)


conv2d, conv1d, conv_transpose2d = function("conv2d", 3), function("conv1d", 1), function("conv_transpose2d", 0)
relu, numel = function("relu", 1, lambda x, *more: x), function("numel", 0, lambda x: math.prod(x.shape))
backward = function("backward", 8, lambda x: None)
mm = function("mm", 0.5, lambda x, y, *more: Tensor(x.shape[0], y.shape[1], device=x.device.type))


def is_autocast_enabled(device):
    return autocast


def get_autocast_dtype(device):
    return bfloat16


autocast = False

from . import _C, backends, compiler, cuda, nn, overrides  # noqa: E402, F401
