#!/usr/bin/env python3
"""How PyTorch on this machine's GPU rounds the factors of its convolutions and matrix
products: the largest difference from double precision of factors that lie half way between
two values of TF32, rounded in each way. Small is the way it takes.

    scripts/torch_roundings.py | tee docs/results/<gpu>/roundings.txt

With --layers N it draws so many convolutions of networks, and says the math mode of each.
"""
import argparse
import functools
import itertools
import pathlib
import random
import sys

import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "templates/include"))
import torch_convolution
from problems import rounded, ties

MODES = ("fp32", "tf32", "tf32_even")
CLEAR = 4  # how much nearer than every other way the nearest must be, as for autotune itself
WAYS = {
    **{math: functools.partial(rounded, math=math) for math in MODES},
    "truncated": lambda x: (x.contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32),
}

# Operator, input, output channels, kernel, stride, padding, groups.
CONVOLUTIONS = [
    ("conv1d", (4, 64, 4000), 64, (3,), 1, 1, 1),
    ("conv1d", (4, 64, 4000), 64, (1,), 1, 0, 1),
    ("conv1d", (4, 64, 4000), 64, (3,), 2, 1, 1),
    ("conv1d", (4, 64, 4000), 64, (3,), 1, 1, 8),
    ("conv1d", (4, 64, 4000), 64, (3,), 1, 1, 64),
    ("conv2d", (8, 64, 56, 56), 128, (3, 3), 1, 1, 1),
    ("conv2d", (8, 64, 56, 56), 128, (3, 3), 2, 1, 1),
    ("conv2d", (8, 64, 56, 56), 128, (5, 5), 2, 2, 1),
    ("conv2d", (8, 64, 56, 56), 128, (1, 1), 1, 0, 1),
    ("conv2d", (8, 64, 56, 56), 128, (3, 3), 1, 1, 8),
    ("conv2d", (8, 64, 56, 56), 64, (3, 3), 1, 1, 64),
    ("conv2d", (8, 3, 224, 224), 64, (7, 7), 2, 3, 1),
    ("conv2d", (8, 3, 224, 224), 96, (3, 3), 2, 1, 1),
    ("conv3d", (2, 32, 8, 28, 28), 64, (3, 3, 3), 1, 1, 1),
    ("conv3d", (2, 32, 8, 28, 28), 64, (1, 1, 1), 1, 0, 1),
    ("conv3d", (2, 32, 8, 28, 28), 64, (3, 3, 3), 2, 1, 1),
    ("conv3d", (2, 32, 8, 28, 28), 64, (3, 3, 3), 1, 1, 4),
    ("conv3d", (2, 32, 8, 28, 28), 32, (3, 3, 3), 1, 1, 32),
    ("conv3d", (2, 3, 8, 112, 112), 64, (3, 7, 7), 2, 1, 1),
    ("conv_transpose1d", (4, 64, 2000), 32, (4,), 2, 1, 1),
    ("conv_transpose1d", (4, 64, 2000), 32, (3,), 1, 1, 1),
    ("conv_transpose2d", (8, 128, 16, 16), 64, (4, 4), 2, 1, 1),
    ("conv_transpose2d", (8, 128, 16, 16), 64, (2, 2), 2, 0, 1),
    ("conv_transpose2d", (8, 128, 16, 16), 64, (3, 3), 1, 1, 1),
    ("conv_transpose2d", (8, 128, 16, 16), 64, (3, 3), 1, 1, 4),
    ("conv_transpose3d", (2, 64, 8, 8, 8), 32, (2, 2, 2), 2, 0, 1),
    ("conv_transpose3d", (2, 64, 8, 8, 8), 32, (3, 3, 3), 1, 1, 1),
]
PRODUCTS = [(1024, 1024, 1024), (4096, 4096, 4096), (128, 512, 64), (300, 129, 601)]


def apart(y, exact):
    """The largest difference of y from exact(rounding), for each way of rounding."""
    return {way: float((y.double() - exact(rounding)).abs().max()) for way, rounding in WAYS.items()}


def show(name, differences):
    print(f"{name:56}", *(f"{way} {difference:.2g}" for way, difference in differences.items()), flush=True)


def weight_and_parameters(operator, shape, c_out, kernel, stride, padding, groups):
    """A convolution's shape of the weight, and its parameters, each a list of its components."""
    axes = len(kernel)
    channels = (shape[1], c_out // groups) if "transpose" in operator else (c_out, shape[1] // groups)
    return (*channels, *kernel), {"c_out": [c_out], "stride": [stride] * axes, "padding": [padding] * axes, "dilation": [1] * axes, "groups": [groups]}


def show_convolution(operator, shape, c_out, kernel, stride, padding, groups):
    sizes = ["x".join(map(str, numbers)) for numbers in (shape, kernel)]
    differences = of_convolution(operator, shape, *weight_and_parameters(operator, shape, c_out, kernel, stride, padding, groups))
    show(f"{operator} {sizes[0]} c_out={c_out} kernel={sizes[1]} stride={stride} groups={groups}", differences)


def of_convolution(operator, shape, weight, parameters):
    """How far PyTorch's answer is from that of each way of rounding. A parameter is a list of its components."""
    tensors = {"x": ties(shape), "weight": ties(weight), "bias": torch.zeros(0, device="cuda")}
    y = torch_convolution.ask(operator, tensors, parameters)
    few, fewer, where = torch_convolution.part(operator, tensors, parameters)

    def exact(rounding):
        rounded = {name: (rounding(t) if name in torch_convolution.FACTORS else t).double() for name, t in few.items()}
        return torch_convolution.ask(operator, rounded, fewer)

    return apart(y[where], exact)


def mode_of_convolution(operator, shape, weight, parameters):
    """The math mode that PyTorch computes a convolution in; None if that is not clear."""
    nearest, second, *_ = sorted((difference, way) for way, difference in of_convolution(operator, shape, weight, parameters).items())
    return nearest[1] if nearest[0] * CLEAR <= second[0] and nearest[1] in MODES else None


# What is drawn: kernel, stride and padding by the operator's kind, and the sides of images by their dimensions.
WINDOWS = {"conv": [(3, 1, 1), (3, 2, 1), (1, 1, 0), (5, 2, 2), (7, 2, 3), (4, 4, 0)], "conv_transpose": [(4, 2, 1), (3, 1, 1), (2, 2, 0)]}
SIDES = {1: [500, 2000, 4000], 2: [7, 14, 28, 56, 112], 3: [8, 16, 28]}


def drawn(draw):
    """Endless convolutions as networks have them: most of images, some of rows and volumes, some in groups."""
    while True:
        kind, axes = draw.choice(["conv", "conv", "conv_transpose"]), draw.choice([1, 2, 2, 2, 3])
        c, (kernel, stride, padding) = draw.choice([3, 32, 64, 128, 256]), draw.choice(WINDOWS[kind])
        c_out, groups = draw.choice([64, 128]) if c == 3 else c * draw.choice([1, 2]), draw.choice([1, 1, 1, 8]) if c > 3 else 1
        yield f"{kind}{axes}d", (draw.choice([1, 4, 16]), c, *[draw.choice(SIDES[axes])] * axes), c_out, kernel, stride, padding, groups


def show_mode(operator, shape, c_out, kernel, stride, padding, groups):
    window = (kernel,) * (len(shape) - 2)
    mode = mode_of_convolution(operator, shape, *weight_and_parameters(operator, shape, c_out, window, stride, padding, groups))
    words = f"c_out={c_out} kernel={kernel} stride={stride} padding={padding} groups={groups}"
    print(operator, "x".join(map(str, shape)), words, mode, flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--layers", type=int, default=0, help="how many convolutions are drawn")
    options.add_argument("--seed", type=int, default=1)
    o = options.parse_args()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    with torch.no_grad():
        if o.layers > 0:
            for layer in itertools.islice(drawn(random.Random(o.seed)), o.layers):
                show_mode(*layer)
            sys.exit()
        for convolution in CONVOLUTIONS:
            show_convolution(*convolution)
        torch.backends.cuda.matmul.allow_tf32 = True
        for m, k, n in PRODUCTS:
            a, b = ties((m, k)), ties((k, n))
            show(f"matmul 1x{m}x{k}x{n} allow_tf32", apart(a @ b, lambda rounding: rounding(a).double() @ rounding(b).double()))
