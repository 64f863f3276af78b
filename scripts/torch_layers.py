#!/usr/bin/env python3
"""Time PyTorch on layers, as autotune times a variant.

    torch_layers.py < scripts/layers.txt

Reads a problem a line: a name, the operator, the shape, the math and parameters.
Prints a line for each: its name, and the times of eager and of torch.compile in
milliseconds, as torch_baselines.py takes them. Convolutions are with TF32 as
PyTorch's defaults have it, products of matrices as the math says.
"""
import sys

import torch

import torch_operators
from torch_baselines import median_ms
from torch_operators import value


def tensors(operator, shape, parameters):
    """The problem's inputs and weights by name; one matrix is no batch."""
    weights, bound = torch_operators.weights(operator, shape, parameters)
    made = {name: torch.rand(s, device="cuda") for name, s in torch_operators.inputs(operator, shape, parameters).items()}
    made |= {name: torch.empty(s, device="cuda").uniform_(-bound, bound) for name, s in weights.items()}
    if operator == "matmul" and shape[0] == 1:
        made |= {name: made[name][0] for name in ("a", "b")}
    return made


def main(lines):
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    flush = torch.empty(2 * l2, dtype=torch.uint8, device="cuda")
    torch.backends.cudnn.allow_tf32 = True
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        name, operator, shape, math, *words = line.split()
        parameters = {key: value(text) for key, text in (w.split("=", 1) for w in words)}
        torch.backends.cuda.matmul.allow_tf32 = math == "tf32"
        call = torch_operators.call(operator, parameters)
        given = tensors(operator, [int(d) for d in shape.split("x")], parameters)
        torch._dynamo.reset()
        print(name, *(f"{median_ms(f, given, flush):.6g}" for f in (call, torch.compile(call))), flush=True)
        del call, given
        torch.cuda.empty_cache()


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.stdin)
