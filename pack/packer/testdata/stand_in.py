"""PyTorch, as far as a pack's package asks for it, on a GPU that runs nothing."""
import math
import sys
import types

import torch
import torch.utils

torch.utils._pytree = sys.modules["torch.utils._pytree"] = types.ModuleType("torch.utils._pytree")

for pool in [name for name in vars(torch.nn) if "Pool" in name]:  # modules that only exported files need
    delattr(torch.nn, pool)
places = iter(range(0x1000, 1 << 40, 0x1000))
T = torch.Tensor
T.get_device = lambda self: 0 if self.is_cuda else -1
T.data_ptr = lambda self: self.__dict__.get("place") or self.__dict__.setdefault("place", next(places))
T.new_empty = lambda self, size, dtype=None: torch.Tensor(*(size if isinstance(size, tuple) else (size,)), dtype=dtype or self.dtype)
T.contiguous = lambda self: self
T.is_contiguous = lambda self: True
T.numel = lambda self: self.shape.numel()
torch.int32, torch.uint32, torch.uint8, torch.bool, torch.get_default_dtype = "int32", "uint32", "uint8", "bool", lambda: torch.float32
torch.cuda.current_device = lambda: 0
T.stride = lambda self: tuple(math.prod(self.shape[i + 1:]) for i in range(len(self.shape)))
torch._C = types.SimpleNamespace(
    _cuda_getCurrentRawStream=lambda device: 7, _len_torch_function_stack=lambda: 0, _len_torch_dispatch_stack=lambda: 0, _get_tracing_state=lambda: None,
    _functorch=types.SimpleNamespace(peek_interpreter_stack=lambda: None))
torch.empty_strided = lambda shape, strides, dtype, device: torch.Tensor(*shape, dtype=dtype)
torch.autograd.forward_ad = types.SimpleNamespace(_current_level=-1)
about = torch.cuda.get_device_properties(0)
torch.cuda.get_device_properties = lambda index: types.SimpleNamespace(
    name="NVIDIA H100", major=9, minor=0, multi_processor_count=132, shared_memory_per_block_optin=227 << 10)
torch.autograd.graph = types.SimpleNamespace(increment_version=lambda t: print("changed", hex(t.data_ptr())))
torch.nn.Parameter, torch.float64, torch.no_grad = type("Parameter", (T,), {}), "float64", lambda: lambda function: function
fakes = {}
torch.is_autocast_enabled, torch.Size = lambda: False, tuple
torch.compiler = types.SimpleNamespace(is_compiling=lambda: False)


class Ops:
    def __getattr__(self, namespace):
        self.__dict__[namespace] = types.SimpleNamespace()
        return self.__dict__[namespace]


class Conv2d(torch.nn.Conv2d):
    padding_mode, training, _parameters, _buffers = "zeros", False, {}, {}

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def forward(self, x):
        return print("PyTorch's own")


torch.ops, torch.nn.Conv2d = Ops(), Conv2d
torch.nn.Module._parameters, torch.nn.Module._buffers = {}, {}


class Library:
    def __init__(self, namespace, kind):
        self.space = getattr(torch.ops, namespace)

    def define(self, schema):
        print(schema)

    def impl(self, name, function, key):
        setattr(self.space, name, types.SimpleNamespace(default=function))


torch.library = types.SimpleNamespace(Library=Library, register_fake=lambda name, function, lib: fakes.update({name: function}))
