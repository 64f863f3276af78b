#!/usr/bin/env python3
"""One network of scripts/networks.py in a process of its own.

    networks_run.py forward NAME            # a few passes, for `autotune capture`
    networks_run.py compile NAME            # torch.compile, for its cache
    networks_run.py measure NAME PACK MODE...   # before and after replace, a line of JSON for each mode

Measured are passes before and after in turns: CUDA events around a pass, medians, and the median of the pairs' ratios
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
    sys.path.insert(0, str(root / "python"))
    return importlib.import_module(json.loads((root / "manifest.json").read_text())["name"])


def measure(pack, mode, name, device, tiny):
    """A mode's row, by the code with which replace itself times a model."""
    times = sys.modules[pack.__name__ + ".measure"]
    (model, inputs), (other, _) = made(name, device, tiny), made(name, device, tiny)
    begin = time.perf_counter()
    done = pack.replace(other, inputs, run=mode)
    seconds, clock = time.perf_counter() - begin, times.Clock()
    torch.compiler.reset()  # what replace compiled counts against what may be compiled
    programs = [times.Program(m, inputs, mode, clock) for m in (model, other)]
    pairs = programs[0].in_turns(*(program.way([]) for program in programs))
    faster, interval = times.between([before / after for before, after in pairs])
    y, z = (next(times.tensors_of(program.forward())).double() for program in programs)
    before, after = (statistics.median(column) for column in zip(*pairs))
    return {
        "before_ms": before, "after_ms": after, "faster": faster, "interval": interval,
        "apart": ((z - y).norm() / y.norm().clamp_min(1e-30)).item(),
        "replace": {"seconds": seconds, "before_ms": done.before_ms, "after_ms": done.after_ms, "table": str(done)},
        "kept": len(done.replaced), "left": sum(len(group.modules) for group in done.left),
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
        device = torch.cuda.get_device_name(0) if options.device == "cuda" else "cpu"
        about = {"torch": torch.__version__, "device": device}
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
