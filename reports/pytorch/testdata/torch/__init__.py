"""Stands in for PyTorch where there is none: just enough to import an exported
file, build its module and see what it would launch."""


class Shape(tuple):
    pass


class Tensor:
    def __init__(self, *shape, is_cuda=True, requires_grad=False):
        self.shape, self.is_cuda, self.requires_grad = Shape(shape), is_cuda, requires_grad
        self.device = Device("cuda:0" if is_cuda else "cpu", 0)

    def dim(self):
        return len(self.shape)

    def size(self, axis):
        return self.shape[axis]

    def unsqueeze(self, axis):
        return Tensor(*self.shape[:axis], 1, *self.shape[axis:], is_cuda=self.is_cuda)

    def squeeze(self, axis):
        assert self.shape[axis] == 1
        return Tensor(*self.shape[:axis], *self.shape[axis + 1:], is_cuda=self.is_cuda)


class Device:
    def __init__(self, name, index):
        self.name, self.index = name, index

    def __str__(self):
        return self.name


def rand(*shape):
    return Tensor(*shape)


def is_grad_enabled():
    return False


class version:
    cuda = "13.0"


class cuda:
    @staticmethod
    def is_available():
        return False

    @staticmethod
    def get_device_properties(device):
        class properties:
            major, minor, multi_processor_count, shared_memory_per_block_optin = 9, 0, 132, 227 << 10
        return properties


class ops:
    class aten:
        @staticmethod
        def pad(x, sizes, mode):
            shape = list(x.shape)
            for i, size in enumerate(sizes):
                shape[-1 - i // 2] += size
            return Tensor(*shape, is_cuda=x.is_cuda)


class _Function:
    pass


from . import nn  # noqa: E402
from .autograd import function  # noqa: E402
