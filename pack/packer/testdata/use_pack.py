"""Uses a pack of conv2d as a program would, with PyTorch on the CPU: use_pack.py PACK"""
import sys
import types
import warnings

import on_cpu
import torch

on_cpu.shown()
torch.nn.Conv2d.forward = lambda self, x: print("PyTorch's own")
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
entry, = pack.MANIFEST["entries"]
baselines, modules = entry["evidence"].setdefault("baselines", {}), sys.modules["layers.modules"]


def model():
    found = torch.nn.Module()
    found.a, found.b, found.c = torch.nn.Conv2d(4, 128, 3, bias=False), torch.nn.Conv2d(4, 100, 3), torch.nn.ConvTranspose2d(4, 8, 3)
    return found


def beside(low, way="torch_eager", device="NVIDIA H100"):
    baselines[way], entry["device"] = {"time_ms": 1, "speedup": 1.2, "speedup_ci95": [low, 1.4]}, device


for found in (lambda: None, lambda: beside(0.99), lambda: beside(1.1, device="NVIDIA A100"), lambda: beside(1.001), lambda: beside(1.1)):
    found()
    print(layers.replace(model()))
del entry["evidence"]["baselines"]["torch_eager"]["speedup_ci95"]
print(layers.replace(model()))
beside(1.001)
print(layers.replace(model(), run="graph"))
beside(1.1)
layer = layers.Conv2d(4, 128, 3, bias=False)
modules.is_compiling = lambda: True
attempt("compiled", lambda: layer(x))
modules.Conv2d.autotune_compiles = True  # as for a pack whose search timed torch.compile
for low in (0.99, 1.1):
    beside(low, "torch_compile")
    attempt("timed beside", lambda: layer(x))
modules.is_compiling = lambda: False
settings = functions.CALLS["conv2d"][-1].of([None, w.shape, None], (1, 0, 1, 1))
attempt("fake", lambda: on_cpu.fakes["conv2d"](x, w, None, settings, ""))
attempt("unbatched", lambda: layers.conv2d(torch.Tensor(4, 9, 9), w))
attempt("rank", lambda: layers.conv2d(torch.Tensor(9, 9), w))
attempt("groups", lambda: layers.conv2d(x, w, groups=3))
attempt("channels", lambda: layers.conv2d(torch.Tensor(1, 5, 9, 9), w))
attempt("stride", lambda: layers.conv2d(x, w, stride=0))
attempt("mode", lambda: layers.conv2d(x, w, mode="fp8"))
attempt("name", lambda: layers.conv2d(x, w, size=3))
attempt("type", lambda: layers.conv2d(x.to(torch.int8), w.to(torch.int8)))
attempt("cpu", lambda: layers.conv2d(x.as_subclass(type("Elsewhere", (torch.Tensor,), {})), w))
for text in ("().__class__", "[x for x in ()]", "open('a')", "(lambda: 1)()", "1+1", "9**9**9", "a", "(" * 300 + ")" * 300, "\0"):
    try:
        print("TAKEN", text, pack.evaluate(text, {"a": 1}))  # no text of a manifest may run as code
    except pack.PackError:
        pass
about = types.SimpleNamespace(name="NVIDIA A100", major=8, minor=0, shared_memory_per_block_optin=163 << 10)
torch.cuda.get_device_properties = lambda index: about
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    pack.gpu(1), pack.gpu(1)
print("warned", len(said), *[s.message for s in said])
