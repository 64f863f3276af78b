"""PyTorch on the CPU with a made-up GPU, whose calls take the milliseconds that stand here."""
import os
import sys
import time
import types

import torch
from torch.overrides import TorchFunctionMode

F, cudnn = torch.nn.functional, torch.backends.cudnn
state = types.SimpleNamespace(clock=0.0)


class Event:
    def __init__(self, enable_timing):
        if os.environ.get("FAKE_GPU") == "dies":
            print("the GPU is gone", file=sys.stderr, flush=True)
            os._exit(3)  # PyTorch may take long to end

    def record(self):
        self.at = state.clock

    def elapsed_time(self, end):
        return end.at - self.at


class Timed(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), named=None):
        named = {name: value for name, value in (named or {}).items() if value != "cuda"}
        if function is torch.Tensor.to and arguments[1] == "cuda":
            return arguments[0]
        if function is torch.Tensor.zero_:
            state.clock += 100  # which no sample may see
        if function is torch.matmul:
            assert named["input"].shape == (3, 4), "a batch of one is none"
            state.clock += 5
        return convolved(**named) if function is F.conv2d else function(*arguments, **named)


def convolved(input, weight, **named):
    assert input.shape == (2, 6, 9, 8) and weight.shape == (4, 3, 3, 3) and named["stride"] == (2, 1) and named["groups"] == 2
    state.clock += 3 if cudnn.allow_tf32 else 4
    if not cudnn.allow_tf32:
        return torch.ones(2, 4)
    found = torch.full((2, 4, 4, 6), 0.5)
    found.view(-1)[7] += weight.sum()  # of the file's weights
    return [found]


def compile(call):
    if os.environ.get("FAKE_COMPILER") == "slow":
        time.sleep(60)
    raise RuntimeError("no compiler\nat all")


torch.__version__, torch.compile, torch.cuda.Event = "9.8.7", compile, Event
torch.cuda.is_available = lambda: os.environ.get("FAKE_GPU") != "none"
torch.cuda.set_device = lambda ordinal: None
torch.cuda.synchronize = torch.cuda.empty_cache = torch.compiler.reset = lambda: None
Timed().__enter__()
