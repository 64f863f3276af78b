"""PyTorch with tensors that have no memory and pass for those of a GPU, and compiled libraries that note what they launch."""
import contextlib
import ctypes
import importlib.util
import tempfile
import types

import torch
from torch.utils import cpp_extension

launches, builds = [], []
own = ctypes.CDLL


class Function:
    """Takes what a C function would, and notes the launch."""

    def __init__(self, tuned):
        self.tuned = tuned

    def __call__(self, *given):
        assert len(given) == len(self.argtypes), (given, self.argtypes)
        launches.append({"sizes": [] if self.tuned else list(given[-3]), "tuned": self.tuned})
        return 0


def functions():
    """What a compiled library has."""
    names = {"launch_general": Function(False), "launch_tuned": Function(True), "error_of": Function(False)}
    return {**names, "allow_tuned": lambda: 0}


def library(path, *rest, **named):
    return types.SimpleNamespace(**functions()) if path == "built" else own(path, *rest, **named)


def load(name, files, extra_cuda_cflags, **rest):
    builds.append(extra_cuda_cflags)
    return "built"


def loaded(path):
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def on(device):
    """Tensors pass for those of a GPU or, with -1, of the CPU."""
    here = torch.Tensor.get_device, torch.Tensor.is_cuda
    torch.Tensor.get_device, torch.Tensor.is_cuda = lambda self: device, property(lambda self: device >= 0)
    yield
    torch.Tensor.get_device, torch.Tensor.is_cuda = here


ctypes.CDLL = library
cpp_extension.load, cpp_extension._get_build_directory = load, lambda name, verbose: tempfile.mkdtemp(prefix="autotune-modules-")
torch.set_default_device("meta")
torch.set_grad_enabled(False)
torch.version.cuda = "13.0"
always = on(0)
always.__enter__()
torch.cuda.current_device, torch._C._cuda_getCurrentRawStream = lambda: 0, lambda device: 0
torch.cuda.get_device_properties = lambda device: types.SimpleNamespace(
    major=9, minor=0, multi_processor_count=132, shared_memory_per_block_optin=227 << 10)
