"""What PyTorch has in the place of each built-in operator: the call, its defaults,
its weights and its module. The scripts beside this file take it from here."""
import torch
import torch.nn as nn
import torch.nn.functional as F

POOLS = {"avg_pool1d": F.avg_pool1d, "avg_pool2d": F.avg_pool2d, "max_pool2d": F.max_pool2d}
CONVOLUTIONS = ("conv2d", "depthwise_conv2d")

# PyTorch's own defaults. A pool's stride is its kernel where none is given.
DEFAULTS = {
    "avg_pool1d": {"padding": 0, "ceil_mode": False, "count_include_pad": True},
    "avg_pool2d": {"padding": 0, "ceil_mode": False, "count_include_pad": True},
    "max_pool2d": {"padding": 0, "dilation": 1, "ceil_mode": False},
    "conv2d": {"stride": 1, "padding": 0, "dilation": 1, "bias": False, "groups": 1},
    "depthwise_conv2d": {"stride": 1, "padding": 0, "dilation": 1, "bias": False},
}

# The operators whose answer is one of the inputs: exact in any precision.
EXACT = ("max_pool2d",)


def value(text):
    """A parameter as --set takes it: a truth, a number, or numbers joined by x."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    parts = [int(p) for p in text.split("x")]
    return parts[0] if len(parts) == 1 else tuple(parts)


def as_set(value):
    """The text that --set takes for a value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "x".join(str(v) for v in value)
    return str(value)


def complete(operator, parameters):
    """The parameters with PyTorch's defaults spelt out: an operator here may have others."""
    if operator not in DEFAULTS:
        raise ValueError(f"{operator}: torch_operators.py does not know PyTorch's name for it")
    first = {"stride": parameters["kernel"]} if operator in POOLS else {}
    return {**first, **DEFAULTS[operator], **parameters}


def weights(operator, shape, parameters):
    """The shapes of the weights by name, and the bound that they are uniform within."""
    if operator in POOLS:
        return {}, 0.0
    p = complete(operator, parameters)
    channels = shape[1]
    c_out, groups = (channels, channels) if operator == "depthwise_conv2d" else (p["c_out"], p["groups"])
    kernel = p["kernel"] if isinstance(p["kernel"], tuple) else (p["kernel"],) * (len(shape) - 2)
    weight = (c_out, channels // groups, *kernel)
    shapes = {"weight": weight}
    if p["bias"]:
        shapes["bias"] = (c_out,)
    return shapes, torch.Size(weight[1:]).numel() ** -0.5


def call(operator, parameters):
    """The function that PyTorch computes, of the tensors by name: x, weight, bias."""
    p = complete(operator, parameters)
    if operator in POOLS:
        rest = {name: p[name] for name in ("stride", *DEFAULTS[operator])}
        return lambda t: POOLS[operator](t["x"], p["kernel"], **rest)

    def convolution(t):
        bias = t.get("bias")
        groups = t["x"].shape[1] if operator == "depthwise_conv2d" else p["groups"]
        if bias is not None and not bias.numel():
            bias = None
        return F.conv2d(t["x"], t["weight"], bias, p["stride"], p["padding"], p["dilation"], groups)

    return convolution


class Conv(nn.Module):
    """PyTorch's convolution under the name that exported modules give it."""

    def __init__(self, *arguments, **options):
        super().__init__()
        self.conv2d = nn.Conv2d(*arguments, **options)

    def forward(self, x):
        return self.conv2d(x)


def depthwise(channels, kernel, stride=1, padding=0, bias=False):
    return Conv(channels, channels, kernel, stride=stride, padding=padding, groups=channels, bias=bias)


def convolution(c_in, c_out, kernel, stride=1, padding=0, dilation=1, groups=1, bias=False):
    return Conv(c_in, c_out, kernel, stride, padding, dilation, groups, bias)


# PyTorch's modules, with the arguments of the exported ones.
MODULES = {
    "avg_pool1d": nn.AvgPool1d,
    "avg_pool2d": nn.AvgPool2d,
    "max_pool2d": nn.MaxPool2d,
    "conv2d": convolution,
    "depthwise_conv2d": depthwise,
}


def round_to_tf32(x):
    """To 10 bits after the leading one, nearest, ties away from zero, as cvt.rna does."""
    return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
