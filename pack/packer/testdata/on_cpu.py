"""Lets the pack that the first argument names treat PyTorch's CPU tensors as a GPU's. Kernels run nothing, and an
imitated driver prints calls."""
import sys
import types

import torch

sys.path[:0] = [sys.argv[1] + "/python"]
torch.Tensor.get_device = lambda self: -1 if type(self) not in (torch.Tensor, torch.nn.Parameter) else 0
torch.Tensor.is_cuda = property(lambda self: True)
torch.cuda.current_device = torch._C._cuda_getDevice = lambda: 0
torch._C._cuda_getCurrentRawStream = lambda device: 7
torch._C._dynamo.guards._empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cpu
H100 = types.SimpleNamespace(name="NVIDIA H100", major=9, minor=0, multi_processor_count=132, shared_memory_per_block_optin=227 << 10)
torch.cuda.get_device_properties = lambda index: H100
fakes, library = {}, torch.library.Library
own, define, register = library.impl, library.define, torch.library.register_fake
library.impl = lambda self, name, function, key="", **more: own(self, name, function, key.replace("CUDA", "CPU"), **more)
torch.cuda.get_rng_state, torch.cuda.set_rng_state = lambda device: None, lambda state, device: None


def check(what, ok):
    print("ok" if ok else "WRONG", what)


def shown():
    """Prints the operators that a pack registers, and keeps the functions that compute their outputs' shapes."""
    library.define = lambda self, schema, *more, **named: print(schema) or define(self, schema, *more, **named)

    def kept(name, function=None, **named):
        fakes[name.split("::")[1]] = function
        return register(name, function, **named)

    torch.library.register_fake = kept
