"""PyTorch itself on the CPU, whose tensors a pack takes for those of a GPU: its kernels run nothing, and a stand-in for the driver says what it is asked for."""
import types

import torch

torch.Tensor.get_device = lambda self: -1 if type(self) not in (torch.Tensor, torch.nn.Parameter) else 0
torch.Tensor.is_cuda = property(lambda self: True)
torch.cuda.current_device = torch._C._cuda_getDevice = lambda: 0
torch._C._cuda_getCurrentRawStream = lambda device: 7
torch._C._dynamo.guards._empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cpu
torch.cuda.get_device_properties = lambda index: types.SimpleNamespace(
    name="NVIDIA H100", major=9, minor=0, multi_processor_count=132, shared_memory_per_block_optin=227 << 10)
own = torch.library.Library.impl
torch.library.Library.impl = lambda self, name, function, key="", **more: own(self, name, function, key.replace("CUDA", "CPU"), **more)
torch.cuda.get_rng_state, torch.cuda.set_rng_state = lambda device: None, lambda state, device: None
