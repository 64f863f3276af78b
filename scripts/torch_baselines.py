#!/usr/bin/env python3
"""Time PyTorch on problems, as autotune times a variant.

    echo "pool max_pool2d 32x64x512x512 kernel=4 stride=1 padding=1" | torch_baselines.py

Reads a problem a line: a name, the operator, the shape, parameters. Prints a line
for each: its name and times in milliseconds as `autotune search --baseline`
takes them:

    torch_eager       torch.nn.functional with PyTorch's default settings
    torch_compile     the same function under torch.compile
    torch_eager_fp32  convolutions with TF32 turned off, where that differs

Each is the median over samples of CUDA events around one call, with the L2
cache overwritten before each sample and the first calls not counted.
"""
import statistics
import sys

import torch
import torch.nn.functional as F

SAMPLES, WARM_UP = 30, 5


def pair(text):
    parts = [int(p) for p in text.split("x")]
    return parts[0] if len(parts) == 1 else tuple(parts)


def truth(text):
    return text.lower() in ("1", "true")


def function(operator, x, p):
    """The PyTorch call that the operator stands for, and its weights."""
    get = lambda name, default: pair(p[name]) if name in p else default
    if operator in ("avg_pool1d", "avg_pool2d"):
        pool = F.avg_pool1d if operator == "avg_pool1d" else F.avg_pool2d
        kernel = get("kernel", 8 if operator == "avg_pool1d" else 11)
        stride = get("stride", kernel)
        return lambda x: pool(x, kernel, stride, get("padding", 0), truth(p.get("ceil_mode", "0")), truth(p.get("count_include_pad", "1")))
    if operator == "max_pool2d":
        kernel = get("kernel", 4)
        return lambda x: F.max_pool2d(x, kernel, get("stride", kernel), get("padding", 0), get("dilation", 1), truth(p.get("ceil_mode", "0")))
    c = x.shape[1]
    depthwise = operator == "depthwise_conv2d"
    groups = c if depthwise else int(p.get("groups", 1))
    out = c if depthwise else int(p.get("c_out", 128))
    kernel = get("kernel", 3)
    kh, kw = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    scale = (c // groups * kh * kw) ** -0.5
    w = torch.empty(out, c // groups, kh, kw, device=x.device).uniform_(-scale, scale)
    b = torch.empty(out, device=x.device).uniform_(-scale, scale) if truth(p.get("bias", "0")) else None
    return lambda x: F.conv2d(x, w, b, get("stride", 1), get("padding", 0), get("dilation", 1), groups)


def median_ms(call, x, flush):
    for _ in range(WARM_UP):
        call(x)
    times = []
    for _ in range(SAMPLES):
        flush.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call(x)
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def baselines(operator, shape, parameters):
    """The times by name."""
    x = torch.rand(shape, device="cuda")
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    flush = torch.empty(2 * l2, dtype=torch.uint8, device="cuda")
    call = function(operator, x, parameters)
    torch.backends.cudnn.allow_tf32 = True
    times = {"torch_eager": median_ms(call, x, flush)}
    torch._dynamo.reset()
    times["torch_compile"] = median_ms(torch.compile(call), x, flush)
    if operator == "conv2d":
        torch.backends.cudnn.allow_tf32 = False
        times["torch_eager_fp32"] = median_ms(call, x, flush)
    return times


def main(lines):
    with torch.no_grad():
        for line in lines:
            if not line.strip():
                continue
            name, operator, shape, *words = line.split()
            parameters = dict(w.split("=", 1) for w in words)
            times = baselines(operator, [int(d) for d in shape.split("x")], parameters)
            print(name, *(f"{key}={ms:.6g}" for key, ms in times.items()), flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main(sys.stdin)
