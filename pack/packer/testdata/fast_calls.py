"""Compares repeated calls with PyTorch's dispatcher and modules, on a driver that runs nothing: fast_calls.py PACK"""
import copy
import ctypes
import pickle
import sys

import torch
from on_cpu import check
from torch import nn
import layers

calls, ready, functions = (sys.modules[f"layers.{name}"] for name in ("calls", "ready", "functions"))
dispatched = []
plain = calls.compute
calls.compute = lambda operator, *arguments: dispatched.append(operator.name) or plain(operator, *arguments)
for name in ("conv2d", "max_pool2d", "elementwise", "batch_norm"):
    kernels = getattr(functions, "_" + name)
    kernels.library.impl(name, lambda *a, o=kernels.operator: calls.compute(o, *a), "CUDA", allow_override=True)


def slow(call):
    """Whether a call goes through PyTorch's dispatcher."""
    dispatched.clear()
    answer = call()
    ctypes.CDLL(None).fflush(None)
    return bool(dispatched), answer


def known(what, call, before=False):
    """Checks that a repeated call skips the dispatcher, and that its output has the same form."""
    (first, a), (second, b) = slow(call), slow(call)
    same = a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype and a.requires_grad == b.requires_grad
    check(what, first != before and not second and same and a.data_ptr() != b.data_ptr())


def anew(what, call):
    """Checks that a call goes through the dispatcher however often it is repeated."""
    check(what, all(slow(call)[0] for _ in range(3)))


x, w, b = torch.randn(1, 4, 9, 9), torch.randn(128, 4, 3, 3), torch.randn(128)
with torch.no_grad():
    known("tuned", lambda: layers.conv2d(x, w))
    known("general, with a bias and lists", lambda: layers.conv2d(x, w, b, stride=[2, 2], padding=[1, 0]))
    known("a view that lies as it must", lambda: layers.conv2d(torch.cat([x, x])[1:], w), True)
    known("without a batch", lambda: layers.conv2d(x[0], w))
    known("channels last, by elements", lambda: layers.relu(x.to(memory_format=torch.channels_last)))
    known("a pool", lambda: layers.max_pool2d(x, 2))
    last = x.to(memory_format=torch.channels_last)
    anew("tensors that are copied first", lambda: layers.max_pool2d(last, 2))
    anew("a stride that is none of a dense tensor", lambda: layers.conv2d(torch.randn(1, 4, 9, 18)[..., ::2], w))
    flat = torch.randn(4 * 81 + 4)
    odd = lambda: layers.conv2d(flat[1:1 + 4 * 81].view(1, 4, 9, 9), w)  # noqa: E731
    anew("an address that kernels cannot load vectors from", odd)
    known("and the same tensors at others", lambda: layers.conv2d(flat[:4 * 81].view(1, 4, 9, 9), w), True)
    anew("the address again, for a call that is new", lambda: layers.conv2d(flat[1:1 + 4 * 81].view(1, 4, 9, 9), w, padding=2))
    known("which others make known", lambda: layers.conv2d(x, w, padding=2))
    y = x.clone()
    check("in place", layers.relu(y, inplace=True) is y)

    class Seen(torch.overrides.TorchFunctionMode):
        names = []

        def __torch_function__(self, function, types, arguments=(), named=None):
            self.names.append(str(function))
            return function(*arguments, **(named or {}))

    with Seen():
        layers.conv2d(x, w)
    check("a mode sees the call", any("conv2d" in name for name in Seen.names))
    from torch.utils._python_dispatch import TorchDispatchMode

    class Below(TorchDispatchMode):
        names, __torch_dispatch__ = [], Seen.__torch_function__

    with Below():
        layers.conv2d(x, w)
    check("and one below the dispatcher", any("conv2d" in name for name in Below.names))
    traced = torch.jit.trace(lambda t: layers.conv2d(t, w), x, check_trace=False)
    check("a trace has it", "conv2d" in str(traced.graph))
    mapped = []
    try:
        torch.func.vmap(lambda t: mapped.append(1) or layers.conv2d(t, w))(x[None])
    except RuntimeError as error:
        mapped.append(str(error))
    check("torch.func is not passed by", len(mapped) == 2 or slow(lambda: None))
try:
    layers.conv2d(x.double(), w)
    check("another type is refused", False)
except (ValueError, RuntimeError):
    check("another type is refused", True)
leaf = x.clone().requires_grad_()
check("a gradient is asked for", layers.conv2d(leaf, w).requires_grad and layers.conv2d(leaf, w).requires_grad)
known("none is, without a block", lambda: layers.conv2d(x, torch.randn(128, 4, 3, 3)), True)
with torch.inference_mode():
    check("inference", layers.conv2d(x, w).is_inference() and layers.conv2d(x, w).is_inference())

# Modules run kernels if a search or the model itself showed that they are faster.
layer = layers.Conv2d(4, 128, 3, bias=False)
with torch.no_grad():
    known("a module", lambda: layer(x))
    own = layers.Conv2d.autotune_own
    asked = []
    layers.Conv2d.autotune_own = lambda self, *arguments, **named: asked.append(1) or own(self, *arguments, **named)
    check("its input by a name", layer(input=x).shape == (1, 128, 7, 7) and not asked)
    torch.is_autocast_enabled, plain_autocast = lambda: True, torch.is_autocast_enabled
    layer(x)
    torch.is_autocast_enabled = plain_autocast
    check("autocast is PyTorch's", len(asked) == 1)
    with Seen():
        layer(x)
    check("so is a call that a mode sees", len(asked) == 2)
    loss = layers.MSELoss() if hasattr(layers, "MSELoss") else nn.MSELoss()
    check("what is given by name", loss(x, target=x) == 0)
    layer.stride = (2, 2)
    check("its parameters change", layer(x).shape == nn.functional.conv2d(x, layer.weight, stride=2).shape)
    layer.stride = (1, 1)
    layer.half()
    check("and its type", layer(x.half()).dtype == torch.float16)
    layer.float()
    check("it can be copied and stored", torch.equal(copy.deepcopy(layer).weight, layer.weight) and pickle.loads(pickle.dumps(layer)).weight.shape == layer.weight.shape)
check("training asks for a gradient", layer(x).requires_grad)
norm = layers.BatchNorm2d(5)
for _ in range(3):
    with torch.no_grad():
        norm(torch.randn(4, 5, 3, 3))
check("batches are counted", norm.num_batches_tracked == 3)
many = {}
for i in range(3 * ready.MOST_READY):
    ready.remember(many, i, i)
check("what is remembered is bounded", len(many) <= ready.MOST_READY)
