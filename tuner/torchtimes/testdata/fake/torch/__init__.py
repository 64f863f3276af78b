"""As much of PyTorch as times.py needs, with times that its calls are told to take."""
import math
import os
import struct
import sys
import time
import types

float32, float16, bfloat16, uint8 = "f32", "f16", "bf16", "u8"
__version__ = "9.8.7"
clock = 0.0
state = types.SimpleNamespace(allow_tf32=True, benchmark=False)
backends = types.SimpleNamespace(cudnn=state, cuda=types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=False)))


class Tensor:
    """A tensor; views of one share what it holds."""

    def __init__(self, shape, form=None, data=None, holds=None):
        self.shape, self.form, self.holds = tuple(shape), form, holds or [data]

    @property
    def data(self):
        return self.holds[0]

    def copy_(self, other):
        assert self.numel() == other.numel()
        self.holds[0] = other.data

    def numel(self):
        return math.prod(self.shape)

    def reshape(self, shape):
        return Tensor(shape, self.form, holds=self.holds)

    def permute(self, axes):
        return Tensor([self.shape[a] for a in axes], self.form, holds=self.holds)

    def flatten(self):
        return self

    def double(self):
        return self

    def split(self, most):
        return [self]

    def __sub__(self, other):
        return Tensor(self.shape, data=[a - b for a, b in zip(self.data, other.data)])

    def abs(self):
        return Tensor(self.shape, data=[abs(a) for a in self.data])

    def nan_to_num(self, *numbers):
        return self

    def max(self):
        return Tensor([], data=max(self.data))

    def sum(self):
        return Tensor([], data=sum(self.data))

    def item(self):
        return self.data

    def uniform_(self, low, high):
        assert low < high
        return self

    def to(self, dtype):
        return self

    def dim(self):
        return len(self.shape)

    def movedim(self, at, to):
        return Tensor(self.shape, "last" if to == 1 else self.form, self.data)

    def contiguous(self):
        return self

    def __getitem__(self, at):
        return Tensor(self.shape[1:], self.form, holds=self.holds)

    def zero_(self):
        global clock
        clock += 100  # which no sample may see


class Event:
    def __init__(self, enable_timing):
        if os.environ.get("FAKE_GPU") == "dies":
            print("the GPU is gone", file=sys.stderr)
            sys.exit(3)
        assert enable_timing

    def record(self):
        self.at = clock

    def elapsed_time(self, end):
        return end.at - self.at


class cuda:
    Event = Event
    is_available = staticmethod(lambda: os.environ.get("FAKE_GPU") != "none")
    set_device = staticmethod(lambda ordinal: None)
    synchronize = staticmethod(lambda: None)
    empty_cache = staticmethod(lambda: None)


class compiler:
    reset = staticmethod(lambda: None)


def empty(shape, device, dtype=None):
    return Tensor(shape if isinstance(shape, list) else [shape])


def from_file(path, size, dtype):
    assert os.path.getsize(path) == 4 * size and dtype == float32
    return Tensor([size], data=struct.unpack(f"{size}f", open(path, "rb").read()))


def is_tensor(value):
    return isinstance(value, Tensor)


def isclose(a, b, rtol, atol, equal_nan):
    assert equal_nan
    return Tensor(a.shape, data=[abs(x - y) <= atol + rtol * abs(y) for x, y in zip(a.data, b.data)])


def set_grad_enabled(on):
    assert not on


def taken(ms):
    global clock
    clock += ms


def conv2d(input, weight, stride, groups, bias=None, padding=(0, 0), dilation=(1, 1)):
    assert input.shape == (2, 6, 9, 8) and weight.shape == (4, 3, 3, 3) and stride == (2, 1) and groups == 2
    taken(1 if input.form else 4 if not state.allow_tf32 else 2 if state.benchmark else 3)
    if not state.allow_tf32:
        return Tensor([2, 4])
    data = [0.5] * 192
    data[7] = data[7] + sum(weight.data or [0])  # of the file's weights
    return [Tensor([2, 4, 4, 6], data=data)] if input.form else Tensor([2, 4, 4, 6], data=data)


def matmul(input, other):
    assert input.shape == (3, 4) and other.shape == (4, 5), "a batch of one is none"
    taken(5)


def compile(call):
    if os.environ.get("FAKE_COMPILER") == "slow":
        time.sleep(60)
    raise RuntimeError("no compiler\nat all")


def load(f, **named):
    os.kill(os.getpid(), 9)


nn = types.SimpleNamespace(functional=types.SimpleNamespace(conv2d=conv2d))
overrides = types.SimpleNamespace(get_overridable_functions=lambda: {None: [matmul]})
