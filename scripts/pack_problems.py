"""A pack as a Python module, and its problems with tensors: for scripts that hold packs against PyTorch."""
import importlib
import json
import subprocess
import sys
import time

import torch  # which the pack's time shall not have
from torch import nn

import problems
from problems import torch_calls


class Pack:
    """A pack, opened; seconds is how long Python took to import it, beyond torch."""

    def __init__(self, root):
        self.manifest = json.loads((root / "manifest.json").read_text())
        sys.path.insert(0, str(root / "python"))
        begin, name = time.perf_counter(), self.manifest["name"]
        importlib.import_module(name)
        self.seconds = time.perf_counter() - begin
        parts = (importlib.import_module(f"{name}.{part}") for part in ("pack", "calls", "functions", "modules"))
        self.pack, self.calls, self.functions, self.modules = parts

    def problem(self, name, values, math):
        """An operator's problem of values of dimensions and components; None if the operator does not allow them."""
        operator = self.pack.Operator(self.pack.OPERATORS[name])
        parameters = {p["name"]: [values[c["name"]] for c in p["components"]] for p in operator.spec["parameters"]}
        try:
            bound, = problems.bound([problems.request(name, [values[n] for n in operator.spec["shape"]], parameters)])
        except subprocess.CalledProcessError:
            return None
        return Problem(self, operator, {**values, "math": math}, bound)


class Problem:
    """A problem with tensors that are drawn: None where it has none, in the order that its kernels take."""

    def __init__(self, opened, operator, values, bound):
        self.operator, self.kernels, self.bound = operator, getattr(opened.functions, "_" + operator.name), bound
        self.settings = [operator.coded(c, values[c]) for c in operator.components]
        self.dtype = torch_calls.dtype(values.get(operator.word, "f32"))
        drawn = bound.drawn()
        self.lasts = [bool(bound.arguments[t["name"]]["Order"]) for t in operator.read]
        self.names = [t["name"] for t in operator.read]
        given = {name: drawn[name] for name in self.names if name in drawn}
        given |= {name: torch_calls.channels_last(given[name]) for name, last in zip(self.names, self.lasts)
                  if last and name in given}
        self.tensors = [given.get(name) for name in self.names]
        self.parameters = bound.parameters

    def run(self, mode=""):
        return self.kernels.run(self.settings, *self.tensors, mode=mode)

    def theirs(self, change=lambda t: t):
        """PyTorch's own answer, of tensors that may be changed first."""
        given = zip(self.names, self.tensors)
        return self.bound.answer({name: change(t) for name, t in given if t is not None})

    def module(self):
        """PyTorch's module of the problem and its input; None where no module is just that problem."""
        make = LAYERS.get(self.operator.name)
        if make is None:
            return None
        x = self.tensors[0]
        form = torch.channels_last if any(self.lasts) and x.dim() == 4 else torch.preserve_format
        return make(x.shape, self.parameters).to(x.device, x.dtype, memory_format=form).eval(), x


def convolution(kind):
    def make(shape, p):
        channels = shape[1]
        window = (p[name] for name in ("kernel", "stride", "padding", "dilation"))
        return kind(channels, p.get("c_out", channels), *window, p.get("groups", channels), bool(p["bias"]))

    return make


def maximum(kind):
    return lambda shape, p: kind(p["kernel"], p["stride"], p["padding"], p["dilation"], False, bool(p["ceil_mode"]))


# PyTorch's modules by the operators that they have alone.
LAYERS = {
    "conv1d": convolution(nn.Conv1d), "conv2d": convolution(nn.Conv2d), "conv3d": convolution(nn.Conv3d),
    "depthwise_conv2d": convolution(nn.Conv2d),
    "max_pool1d": maximum(nn.MaxPool1d), "max_pool2d": maximum(nn.MaxPool2d), "max_pool3d": maximum(nn.MaxPool3d),
}
