"""Uses a pack of conv2d with the stand-in for PyTorch, as a program would: use_pack.py STAND_IN PACK"""
import sys
import types

sys.path[:0] = [sys.argv[1], sys.argv[2] + "/build/torch-cuda"]
import torch  # noqa: E402

places = iter(range(0x1000, 1 << 40, 0x1000))
T = torch.Tensor
T.get_device = lambda self: 0 if self.is_cuda else -1
T.data_ptr = lambda self: self.__dict__.setdefault("place", next(places))
T.new_empty = lambda self, size, dtype=None: torch.Tensor(*(size if isinstance(size, tuple) else (size,)), dtype=dtype or self.dtype)
T.contiguous = lambda self: self
T.is_contiguous = lambda self: True
T.numel = lambda self: self.shape.numel()
torch.uint8, torch.get_default_dtype = "uint8", lambda: torch.float32
torch.cuda.current_device = lambda: 0
torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 7)
about = torch.cuda.get_device_properties(0)
torch.cuda.get_device_properties = lambda index: types.SimpleNamespace(
    name="NVIDIA H100", major=9, minor=0, multi_processor_count=132, shared_memory_per_block_optin=227 << 10)
fakes = {}
torch.is_autocast_enabled, torch.Size = lambda: False, tuple
torch.compiler = types.SimpleNamespace(is_compiling=lambda: False)


class Ops:
    def __getattr__(self, namespace):
        self.__dict__[namespace] = types.SimpleNamespace()
        return self.__dict__[namespace]


class Conv2d(torch.nn.Conv2d):
    padding_mode = "zeros"

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def forward(self, x):
        return print("PyTorch's own")


torch.ops, torch.nn.Conv2d = Ops(), Conv2d


class Library:
    def __init__(self, namespace, kind):
        self.space = getattr(torch.ops, namespace)

    def define(self, schema):
        print(schema)

    def impl(self, name, function, key):
        setattr(self.space, name, types.SimpleNamespace(default=function))


torch.library = types.SimpleNamespace(Library=Library, register_fake=lambda name, function, lib: fakes.update({name: function}))

import layers  # noqa: E402
from layers import functions, pack  # noqa: E402


def attempt(what, call):
    try:
        print(what, tuple(call().shape))
    except Exception as e:
        print(what, type(e).__name__, e)


x, w = torch.Tensor(1, 4, 9, 9), torch.Tensor(128, 4, 3, 3)
attempt("tuned", lambda: layers.conv2d(x, w))
attempt("workspaces", lambda: layers.conv2d(torch.Tensor(1, 32, 20, 20), torch.Tensor(64, 32, 3, 3)))
attempt("general", lambda: layers.conv2d(torch.Tensor(2, 4, 9, 9), w, torch.Tensor(128), stride=2, padding=(1, 0)))
attempt("module", lambda: layers.Conv2d(4, 128, 3, bias=False)(x))
model = types.SimpleNamespace(named_modules=lambda: [("a", Conv2d(4, 128, 3, bias=False)), ("b", Conv2d(4, 100, 3)), ("c", torch.nn.ConvTranspose2d(4, 8, 3, 1, 0, 1, 1, 1))])
print(layers.replace(model))
settings = functions.CALLS["conv2d"][-1].of([None, w.shape, None], (1, 0, 1, 1))
attempt("fake", lambda: next(iter(fakes.values()))(x, w, None, settings, ""))
attempt("unbatched", lambda: layers.conv2d(torch.Tensor(4, 9, 9), w))
attempt("rank", lambda: layers.conv2d(torch.Tensor(9, 9), w))
attempt("groups", lambda: layers.conv2d(x, w, groups=3))
attempt("channels", lambda: layers.conv2d(torch.Tensor(1, 5, 9, 9), w))
attempt("stride", lambda: layers.conv2d(x, w, stride=0))
attempt("mode", lambda: layers.conv2d(x, w, mode="fp8"))
attempt("name", lambda: layers.conv2d(x, w, size=3))
attempt("type", lambda: layers.conv2d(torch.Tensor(1, 4, 9, 9, dtype="int8"), torch.Tensor(128, 4, 3, 3, dtype="int8")))
attempt("cpu", lambda: layers.conv2d(torch.Tensor(1, 4, 9, 9, is_cuda=False), w))
for text in ("().__class__", "[x for x in ()]", "open('a')", "(lambda: 1)()", "max(key=1)"):
    try:
        pack.formula(text)
        print("TAKEN", text)
    except pack.PackError:
        pass
