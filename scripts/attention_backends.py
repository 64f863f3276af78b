#!/usr/bin/env python3
"""Times PyTorch's ways to compute attention beside a search's winner.

    scripts/attention_backends.py BEST.json...

Each file is a best configuration of scaled_dot_product_attention's. PyTorch's backends (flash, cuDNN,
efficient, math) take turns on tensors of its problem, by events around one call each with the L2
flushed. The table has the winner's own time, and PyTorch's best over it. Needs a GPU and PyTorch.
"""
import json
import pathlib
import statistics
import sys
import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import torch_operators

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}
TURNS, SAMPLES = 3, 7


def sample(call, backend, flush):
    """The median time of a few calls in milliseconds; None where the backend does not take the problem."""
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(SAMPLES)]
    with sdpa_kernel(backend):
        call()
        for start, end in events:
            flush.zero_()
            start.record()
            call()
            end.record()
        torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in events)


def times(call, flush):
    """The median time of each backend that takes the problem."""
    all_times = {name: [] for name in BACKENDS}
    for _ in range(TURNS):
        for name, backend in list(BACKENDS.items()):
            if name in all_times:
                try:
                    all_times[name].append(sample(call, backend, flush))
                except (RuntimeError, torch.OutOfMemoryError):
                    del all_times[name]
                    torch.cuda.empty_cache()
    return {name: statistics.median(t) for name, t in all_times.items()}


def main():
    warnings.filterwarnings("ignore")  # why a backend does not take a problem
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    print(f"| problem | ours, ms | {' | '.join(f'{name}, ms' for name in BACKENDS)} | best over ours |")
    print("| --- " * (len(BACKENDS) + 3) + "|")
    for path in sys.argv[1:]:
        best = json.loads(pathlib.Path(path).read_text())
        ours, shape = best["time_ms"]["median"], best["problem"]["shape"]
        parameters = {name: torch_operators.value(text) for name, text in best["problem"]["parameters"].items()}
        inputs = torch_operators.inputs(torch_operators.ATTENTION, shape, parameters)
        made = {name: torch.rand(s, device="cuda").to(torch_operators.dtype(parameters)) for name, s in inputs.items()}
        call = torch_operators.call(torch_operators.ATTENTION, parameters)
        with torch.no_grad():
            found = times(lambda: call(made), flush)
        cells = " | ".join(f"{found[name]:.4g}" if name in found else "" for name in BACKENDS)
        print(f"| {pathlib.Path(path).stem} | {ours:.4g} | {cells} | {min(found.values()) / ours:.2f}x |", flush=True)


if __name__ == "__main__":
    main()
