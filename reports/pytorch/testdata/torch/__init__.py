"""Stands in for PyTorch where there is none: just enough to import an exported
file, build its module and see what it would launch."""
import math


class Shape(tuple):
    def __getitem__(self, key):
        part = tuple.__getitem__(self, key)
        return Shape(part) if isinstance(key, slice) else part

    def numel(self):
        return math.prod(self)


Size = Shape


float32, bfloat16, float16, int64 = "float32", "bfloat16", "float16", "int64"
channels_last, channels_last_3d = "channels_last", "channels_last_3d"
strided = "strided"


def spread(sizes):
    """Sizes that are given as one tuple, or one by one."""
    return sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes


class Tensor:
    made = 0  # tensors so far, views included

    def __init__(self, *shape, is_cuda=True, requires_grad=False, dtype=float32):
        Tensor.made += 1
        self.shape, self.is_cuda, self.requires_grad, self.dtype = Shape(shape), is_cuda, requires_grad, dtype
        self.device = Device("cuda:0", 0) if is_cuda else Device("cpu", -1)

    layout = strided

    def get_device(self):
        return self.device.index

    data = property(lambda self: self, lambda self, other: None)
    last = False  # it lies channels-last

    def contiguous(self):
        return Tensor(*self.shape, is_cuda=self.is_cuda, dtype=self.dtype) if self.last else self

    def is_contiguous(self):
        return not self.last

    def movedim(self, source, destination):
        axes = [axis for axis in range(len(self.shape)) if axis != source % len(self.shape)]
        axes.insert(destination % len(self.shape), source % len(self.shape))
        moved = Tensor(*(self.shape[axis] for axis in axes), is_cuda=self.is_cuda, dtype=self.dtype)
        moved.last = not self.last
        return moved

    def data_ptr(self):
        return 256

    def new_empty(self, shape, dtype=None):
        return Tensor(*([shape] if isinstance(shape, int) else shape), dtype=dtype or self.dtype)

    def new_empty_strided(self, shape, strides, dtype=None):
        made = Tensor(*shape, dtype=dtype or self.dtype)
        made.last = strides == "last"
        return made

    def stride(self):
        return "last" if self.last else "first"

    def dim(self):
        return len(self.shape)

    def size(self, axis):
        return self.shape[axis]

    def unsqueeze(self, axis):
        return Tensor(*self.shape[:axis], 1, *self.shape[axis:], is_cuda=self.is_cuda, dtype=self.dtype)

    def squeeze(self, axis):
        assert self.shape[axis] == 1
        axis %= len(self.shape)
        return Tensor(*self.shape[:axis], *self.shape[axis + 1:], is_cuda=self.is_cuda, dtype=self.dtype)

    def reshape(self, *sizes):
        sizes = spread(sizes)
        if -1 in sizes:  # what is left, which nothing tells where a size is 0
            sizes = [self.shape.numel() // -math.prod(sizes) if size == -1 else size for size in sizes]
        assert math.prod(sizes) == self.shape.numel()
        return Tensor(*sizes, is_cuda=self.is_cuda, dtype=self.dtype)

    view = reshape

    def numel(self):
        return self.shape.numel()

    def permute(self, order):
        return Tensor(*(self.shape[axis] for axis in order), is_cuda=self.is_cuda, dtype=self.dtype)

    def expand(self, *sizes):
        sizes = spread(sizes)
        own = (1,) * (len(sizes) - len(self.shape)) + self.shape
        assert all(given in (-1, old) or old == 1 for given, old in zip(sizes, own))
        return Tensor(*(old if given == -1 else given for given, old in zip(sizes, own)), is_cuda=self.is_cuda, dtype=self.dtype)


class Device:
    def __init__(self, name, index):
        self.name, self.index = name, index

    def __str__(self):
        return self.name


def rand(*shape, dtype=float32):
    return Tensor(*shape, dtype=dtype)


def ones(*sizes, dtype=float32):
    return Tensor(*spread(sizes), dtype=dtype)


zeros = ones


def broadcast_shapes(*shapes):
    axes = max(map(len, shapes))
    sizes = [set(column) - {1} or {1} for column in zip(*((1,) * (axes - len(s)) + tuple(s) for s in shapes))]
    if any(len(size) > 1 for size in sizes):
        raise RuntimeError("the shapes do not fit each other")
    return Shape(size.pop() for size in sizes)


def is_grad_enabled():
    return False


class version:
    cuda = "13.0"


class cuda:
    @staticmethod
    def is_available():
        return False

    @staticmethod
    def current_device():
        return 0

    @staticmethod
    def get_device_properties(device):
        class properties:
            major, minor, multi_processor_count, shared_memory_per_block_optin = 9, 0, 132, 227 << 10
        return properties


class _C:
    @staticmethod
    def _cuda_getCurrentRawStream(device):
        return 0


class ops:
    class aten:
        @staticmethod
        def pad(x, sizes, mode):
            shape = list(x.shape)
            for i, size in enumerate(sizes):
                shape[-1 - i // 2] += size
            return Tensor(*shape, is_cuda=x.is_cuda, dtype=x.dtype)


class _Function:
    pass


from . import nn  # noqa: E402
from .autograd import function  # noqa: E402
