#!/usr/bin/env python3
"""One network of scripts/networks.py in a process of its own.

    networks_run.py forward NAME            # a few passes, for `autotune capture`
    networks_run.py compile NAME            # torch.compile, for its cache
    networks_run.py measure NAME PACK MODE...   # before and after replace, a line of JSON for each mode

Measured are passes before and after in turns: CUDA events around a pass, medians, and the median of the rounds' ratios
with its 95 % interval. Each mode has a model of its own, and PyTorch runs in that mode, too.
"""
import argparse
import importlib
import json
import pathlib
import statistics
import sys
import time

import torch

from networks_models import NETWORKS, made

ROUNDS, WARM_UP = 40, 5
LOW, HIGH = 13, 26  # of 40 sorted rounds: the interval of their median at 95 %
MODES = ("plain", "graph", "compile")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("forward", "compile", "measure"))
    parser.add_argument("name", choices=NETWORKS)
    parser.add_argument("pack", nargs="?", type=pathlib.Path, help="folder that `autotune pack` wrote")
    parser.add_argument("modes", nargs="*", metavar="MODE", help="plain, graph, compile")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="a small network, to try this script")
    options = parser.parse_args()
    if (options.what == "measure") != bool(options.pack and options.modes):
        parser.error("measure takes a pack and modes, and nothing else does")
    if set(options.modes) - set(MODES):
        parser.error("a mode is plain, graph or compile")
    return options


def package(root):
    """The pack as a Python module."""
    sys.path.insert(0, str(root / "build" / "torch-cuda"))
    return importlib.import_module(json.loads((root / "manifest.json").read_text())["name"])


def graph_of(model, inputs):
    """A call that replays the model's forward pass as a CUDA graph, and gives its output."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(*inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(*inputs)

    def replay():
        graph.replay()
        return y

    return replay


def in_mode(mode, model, inputs):
    """A call of the model as a mode runs it."""
    if mode == "graph":
        return graph_of(model, inputs)
    model = torch.compile(model) if mode == "compile" else model
    return lambda: model(*inputs)


def milliseconds(call, device):
    if device == "cpu":
        begin = time.perf_counter()
        call()
        return 1e3 * (time.perf_counter() - begin)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def in_turns(before, after, device):
    """Milliseconds of each round before and after; which comes first takes turns, too."""
    times = {before: [], after: []}
    for i in range(WARM_UP + ROUNDS):
        for call in (before, after) if i % 2 else (after, before):
            ms = milliseconds(call, device)
            if i >= WARM_UP:
                times[call].append(ms)
    return times[before], times[after]


def first_tensor(y):
    while not torch.is_tensor(y):
        y = next(iter(y.values())) if isinstance(y, dict) else y[0]
    return y.double().clone()


def count(groups):
    """How many modules a report of replace has kept or left."""
    return sum(len(getattr(group, "modules", [group])) for group in groups)


def measure(pack, mode, name, device, tiny):
    """A mode's row."""
    model, inputs = made(name, device, tiny)
    other, _ = made(name, device, tiny)
    begin = time.perf_counter()
    done = pack.replace(other, inputs, run=mode)
    seconds = time.perf_counter() - begin
    torch.compiler.reset()  # what replace compiled counts against what may be compiled
    before, after = in_mode(mode, model, inputs), in_mode(mode, other, inputs)
    y, z = first_tensor(before()), first_tensor(after())
    ours = in_turns(before, after, device)
    ratios = sorted(b / a for b, a in zip(*ours))
    return {
        "before_ms": statistics.median(ours[0]), "after_ms": statistics.median(ours[1]), "faster": statistics.median(ratios),
        "interval": [ratios[LOW], ratios[HIGH]], "apart": ((z - y).norm() / y.norm().clamp_min(1e-30)).item(),
        "replace": {"seconds": seconds, "before_ms": done.before_ms, "after_ms": done.after_ms, "table": str(done)},
        "kept": len(done.replaced), "left": count(done.left),
    }


def main():
    options = arguments()
    with torch.no_grad():
        if options.what != "measure":
            model, inputs = made(options.name, options.device, options.tiny)
            if options.what == "compile":
                model = torch.compile(model)
            for _ in range(options.passes):
                model(*inputs)
            return
        pack = package(options.pack)
        about = {"torch": torch.__version__, "device": torch.cuda.get_device_name(0) if options.device == "cuda" else "cpu"}
        for mode in options.modes:
            try:
                row = measure(pack, mode, options.name, options.device, options.tiny)
            except Exception as error:  # a row of the table
                row = {"fault": f"{type(error).__name__}: {error}".splitlines()[0]}
            print(json.dumps({"network": options.name, "mode": mode, **about, **row}), flush=True)
            torch.compiler.reset()
            if options.device == "cuda":
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
