"""Times what PyTorch has in the place of the operators under examples/.

    echo "scan ./examples/scan.cu 134217728" | examples_torch.py

Reads an example a line: its name, place and shape. For each one that PyTorch has, it prints the name and the time in
milliseconds, taken as `autotune search --baseline` takes it.
"""
import functools
import sys

import torch
import torch.nn.functional as F

import clocks


# The elements' type, and what PyTorch does with a tensor of the shape.
CALLS = {
    "layer_norm": (torch.float16, lambda x: torch.native_layer_norm(x, x.shape[1:], x[0], x[1], 1e-5)),
    "reduce_sum": (torch.float32, torch.sum),
    "scan": (torch.int32, lambda x: torch.cumsum(x, 0, dtype=torch.int32)),
    "softmax": (torch.bfloat16, lambda x: F.softmax(x, 1)),
    "softmax_long": (torch.bfloat16, lambda x: F.softmax(x, 1)),
    "transpose": (torch.float16, lambda x: x.t().contiguous()),
}


def main():
    flush = clocks.flush()
    for name, _, shape in map(str.split, sys.stdin):
        if name not in CALLS:
            continue
        dtype, call = CALLS[name]
        sizes = [int(d) for d in shape.split("x")]
        x = torch.randint(-100, 100, sizes, dtype=torch.int32, device="cuda").to(dtype)
        print(f"{name} torch_eager={clocks.milliseconds(functools.partial(call, x), flush):.6g}", flush=True)
        del x
        torch.cuda.empty_cache()


with torch.no_grad():
    main()
