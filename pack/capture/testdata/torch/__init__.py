"""An imitation of PyTorch: tensors without data, a few functions that a function mode intercepts, and a GPU on which
each function takes a given number of milliseconds."""
import math
import threading
import types

__version__ = "2.99.0"


class dtype(str):
    pass


float32, bfloat16, float16, float64, uint8, int64, bool = (
    dtype("torch." + name) for name in ("float32", "bfloat16", "float16", "float64", "uint8", "int64", "bool"))
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


def function(name, cost, answer=lambda x, *more: Tensor(1, device=x.device.type)):
    """Makes a function that takes milliseconds of GPU time, and by default returns a number. The innermost mode
    intercepts it, and is off while it handles the call."""

    def run(*args, **kwargs):
        stack, given = getattr(modes, "stack", []), (*args, *kwargs.values())
        if stack:
            mode = stack.pop()
            try:
                return mode.__torch_function__(run, (), args, kwargs)
            finally:
                stack.append(mode)
        first = next((a for a in given if isinstance(a, Tensor)), None)
        if first is not None and first.is_cuda:
            cuda.now += cost
        return answer(*given)

    run.__name__ = name
    return run


conv2d, conv1d, conv_transpose2d = function("conv2d", 3), function("conv1d", 1), function("conv_transpose2d", 0)
relu, numel = function("relu", 1, lambda x, *more: x), function("numel", 0, lambda x: math.prod(x.shape))
backward = function("backward", 8, lambda x: None)
mm = function("mm", 0.5, lambda x, y, *more: Tensor(x.shape[0], y.shape[1], device=x.device.type))
autocast, is_autocast_enabled, get_autocast_dtype = False, lambda device: autocast, lambda device: bfloat16
compiler = types.SimpleNamespace(is_compiling=lambda: False)
_C = types.SimpleNamespace(_functorch=types.SimpleNamespace(peek_interpreter_stack=lambda: None))
products = types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=False))
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(allow_tf32=True), cuda=products)

from . import cuda, nn, overrides  # noqa: E402, F401
