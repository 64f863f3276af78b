"""Time what PyTorch has in the place of the operators under examples/.

    echo "scan ./examples/scan.cu 134217728" | torch_times.py

Reads an example a line: its name, place and shape. Prints for each that PyTorch has
its name and the time in milliseconds, as `autotune search --baseline` takes it: the median
over samples of CUDA events around one call, with the L2 cache overwritten before each.
"""
import pathlib
import sys

import torch
import torch.nn.functional as F

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from holes_composed import milliseconds  # noqa: E402


def layer_norm(x):
    cols = x.shape[1]
    gain, bias = (torch.rand(cols, dtype=x.dtype, device=x.device) for _ in range(2))
    return lambda x: torch.native_layer_norm(x, (cols,), gain, bias, 1e-5)


# The elements' type, and what PyTorch does with a tensor of the shape.
CALLS = {
    "layer_norm": (torch.float16, layer_norm),
    "reduce_sum": (torch.float32, lambda _: torch.sum),
    "scan": (torch.int32, lambda _: lambda x: torch.cumsum(x, 0, dtype=torch.int32)),
    "softmax": (torch.bfloat16, lambda _: lambda x: F.softmax(x, 1)),
    "softmax_long": (torch.bfloat16, lambda _: lambda x: F.softmax(x, 1)),
    "transpose": (torch.float16, lambda _: lambda x: x.t().contiguous()),
}


def main(lines):
    flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")
    with torch.no_grad():
        for line in lines:
            name, _, shape = line.split()
            if name not in CALLS:
                continue
            dtype, make = CALLS[name]
            x = torch.randint(-100, 100, [int(d) for d in shape.split("x")], dtype=torch.int32, device="cuda").to(dtype)
            print(f"{name} torch_eager={milliseconds(make(x), x, flush):.6g}", flush=True)
            del x
            torch.cuda.empty_cache()


main(sys.stdin)
