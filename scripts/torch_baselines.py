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

import torch_operators

SAMPLES, WARM_UP = 30, 5


def tensors(operator, shape, parameters):
    """The problem's inputs and weights by name."""
    weights, bound = torch_operators.weights(operator, shape, parameters)
    made = {name: torch.rand(s, device="cuda") for name, s in torch_operators.inputs(operator, shape, parameters).items()}
    made |= {name: torch.empty(s, device="cuda").uniform_(-bound, bound) for name, s in weights.items()}
    return torch_operators.as_said(made, parameters)


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
    x = tensors(operator, shape, parameters)
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    flush = torch.empty(2 * l2, dtype=torch.uint8, device="cuda")
    call = torch_operators.call(operator, parameters)
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
            parameters = {name: torch_operators.value(text) for name, text in (w.split("=", 1) for w in words)}
            times = baselines(operator, [int(d) for d in shape.split("x")], parameters)
            print(name, *(f"{key}={ms:.6g}" for key, ms in times.items()), flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main(sys.stdin)
