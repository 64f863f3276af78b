"""Times what PyTorch has no single function for, as scripts/holes.py needs it: reads a problem a line and writes its
times, in milliseconds, eager and by torch.compile. They are baselines that a search is given, so nothing else may run on
the GPU meanwhile."""
import functools
import json
import statistics
import sys

import torch

import problems

WARM_UP, SAMPLES = 3, 30


def milliseconds(call, tensors, flush):
    """The median of calls, each after the L2 was emptied, as autotune has PyTorch timed."""
    for _ in range(WARM_UP):
        call(tensors)
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(SAMPLES)]
    for start, end in events:
        flush.zero_()
        start.record()
        call(tensors)
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in events)


def times(p):
    torch.backends.cuda.matmul.allow_tf32 = False
    flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")
    call, tensors = functools.partial(problems.COMPOSED[p.operator], p.parameters), p.drawn()
    made = {"torch_eager": milliseconds(call, tensors, flush), "torch_compile": milliseconds(torch.compile(call), tensors, flush)}
    torch.compiler.reset()
    return made


if __name__ == "__main__":
    with torch.no_grad():
        for p in problems.bound([json.loads(line) for line in sys.stdin]):
            try:
                print(json.dumps(times(p)), flush=True)
            except Exception as error:
                print(json.dumps({"fault": f"{type(error).__name__}: {error}".splitlines()[0]}), flush=True)
