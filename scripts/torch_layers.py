#!/usr/bin/env python3
"""Time PyTorch on layers, as autotune times a variant.

    torch_layers.py < scripts/layers.txt

Reads a problem a line: a name, the operator, the shape, the math and parameters.
Prints a line for each: its name, and the times of eager and of torch.compile in
milliseconds. Each is the median over samples of CUDA events around one call, with
the L2 cache overwritten before each sample and the first calls not counted.
"""
import sys

import torch
import torch.nn.functional as F

from torch_baselines import median_ms
from torch_operators import value

CONVOLUTIONS = {
    f"{kind}{d}d": getattr(F, f"{kind}{d}d") for kind in ("conv", "conv_transpose") for d in (1, 2, 3)
}
OPTIONS = ("stride", "padding", "output_padding", "dilation", "groups")


def convolution(operator, shape, p):
    """The call and its tensors."""
    kernel = p["kernel"] if isinstance(p["kernel"], tuple) else (p["kernel"],) * (len(shape) - 2)
    c_in, c_out, groups = shape[1], p["c_out"], p.get("groups", 1)
    outer, inner = (c_in, c_out) if "transpose" in operator else (c_out, c_in)
    weight = torch.randn(outer, inner // groups, *kernel, device="cuda")
    bias = torch.randn(c_out, device="cuda") if p.get("bias") else None
    options = {name: p[name] for name in OPTIONS if name in p}
    call = CONVOLUTIONS[operator]
    return lambda t: call(t[0], t[1], t[2], **options), (torch.rand(shape, device="cuda"), weight, bias)


def matmul(shape, p):
    batch, m, k, n = shape
    a = torch.rand(batch, *((k, m) if p.get("transpose_a") else (m, k)), device="cuda")
    b = torch.rand(batch, *((n, k) if p.get("transpose_b") else (k, n)), device="cuda")

    def call(t):
        x = t[0].mT if p.get("transpose_a") else t[0]
        y = t[1].mT if p.get("transpose_b") else t[1]
        return torch.bmm(x, y) if batch > 1 else torch.mm(x[0], y[0])

    return call, (a, b)


def main(lines):
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    flush = torch.empty(2 * l2, dtype=torch.uint8, device="cuda")
    torch.backends.cudnn.allow_tf32 = True
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        name, operator, shape, math, *words = line.split()
        p = {key: value(text) for key, text in (w.split("=", 1) for w in words)}
        shape = [int(d) for d in shape.split("x")]
        torch.backends.cuda.matmul.allow_tf32 = math == "tf32"
        call, tensors = matmul(shape, p) if operator == "matmul" else convolution(operator, shape, p)
        torch._dynamo.reset()
        print(name, *(f"{median_ms(f, tensors, flush):.6g}" for f in (call, torch.compile(call))), flush=True)
        del call, tensors
        torch.cuda.empty_cache()


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.stdin)
