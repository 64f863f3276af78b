#!/usr/bin/env python3
"""Time PyTorch on layers, as autotune times a variant.

    torch_layers.py < scripts/layers.txt

Reads a problem a line: a name, the operator, the shape, the math and parameters.
Prints a line for each: its name, and the times of eager and of torch.compile in
milliseconds. Each is the median over samples of CUDA events around one call, with the
L2 cache overwritten before each sample and the first calls not counted. Convolutions are with TF32 as
PyTorch's defaults have it, products of matrices as the math says. Before them come
lines of what the GPU does in a product of matrices of 8192, in TFLOP/s, by type:
"@tf32 402".
"""
import statistics
import sys

import torch

import torch_operators
from torch_operators import value

SAMPLES, WARM_UP = 30, 5
SIZE = 8192  # of the product that ceilings are taken from


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


def problems(lines):
    """Name, operator, shape, math and parameters of each line that holds a problem."""
    for line in lines:
        if line.strip() and not line.startswith("#"):
            name, operator, shape, math, *words = line.split()
            parameters = {key: value(text) for key, text in (w.split("=", 1) for w in words)}
            yield name, operator, [int(d) for d in shape.split("x")], math, parameters


def single(operator, shape, tensors):
    """The tensors, of a product of two matrices without the batch that PyTorch would loop over."""
    if operator == "matmul" and shape[0] == 1:
        return tensors | {name: tensors[name][0] for name in ("a", "b")}
    return tensors


def allow_tf32(math):
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cuda.matmul.allow_tf32 = math.startswith("tf32")


def ceilings(flush):
    for name, dtype, math in (("tf32", torch.float32, "tf32"), ("bf16", torch.bfloat16, "fp32"), ("f16", torch.float16, "fp32"), ("fp32", torch.float32, "fp32")):
        allow_tf32(math)
        x = torch.rand(SIZE, SIZE, device="cuda").to(dtype)
        print(f"@{name} {2 * SIZE ** 3 / median_ms(lambda t: t @ t, x, flush) / 1e9:.1f}", flush=True)


def main(lines):
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    flush = torch.empty(2 * l2, dtype=torch.uint8, device="cuda")
    ceilings(flush)
    for name, operator, shape, math, parameters in problems(lines):
        allow_tf32(math)
        call = torch_operators.call(operator, parameters)
        given = single(operator, shape, tensors(operator, shape, parameters))
        torch._dynamo.reset()
        print(name, *(f"{median_ms(f, given, flush):.6g}" for f in (call, torch.compile(call))), flush=True)
        del call, given
        torch.cuda.empty_cache()


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.stdin)
