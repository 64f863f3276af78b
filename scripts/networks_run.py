#!/usr/bin/env python3
"""Runs one network of scripts/networks.py in a separate process.

    networks_run.py forward NAME            # a few passes, for `autotune capture`
    networks_run.py compile NAME            # fill torch.compile's cache
    networks_run.py measure NAME PACK MODE...   # times before and after replace, one JSON line per mode
"""
import importlib
import json
import pathlib
import sys

import torch

from networks_models import made


def package(root):
    """Imports the pack as a Python module."""
    sys.path.insert(0, str(root / "python"))
    return importlib.import_module(json.loads((root / "manifest.json").read_text())["name"])


def measure(pack, mode, name):
    """Measures the row of a mode, with the code by which replace itself times a model."""
    times = sys.modules[pack.__name__ + ".measure"]
    (model, inputs), (other, _) = made(name), made(name)
    done, clock = pack.replace(other, inputs, run=mode), times.Clock()
    torch.compiler.reset()  # compilations by replace count against torch.compile's limit
    programs = [times.Program(m, inputs, mode, clock) for m in (model, other)]
    timed = times.Times(programs[0].in_turns(*(program.way([]) for program in programs)))
    y, z = (next(times.tensors_of(program.forward())).double() for program in programs)
    return {
        "before_ms": timed.before_ms, "after_ms": timed.after_ms, "faster": str(timed), "slower": timed.interval[1] < 1,
        "apart": ((z - y).norm() / y.norm().clamp_min(1e-30)).item(),
        "replace": {"before_ms": done.before_ms, "after_ms": done.after_ms, "table": str(done)},
        "kept": len(done.replaced), "left": sum(len(group.modules) for group in done.left),
    }


def main(what, name, root=None, *modes):
    with torch.no_grad():
        if what != "measure":
            model, inputs = made(name)
            if what == "compile":
                model = torch.compile(model)
            for _ in range(5 if what == "forward" else 1):
                model(*inputs)
            return
        pack = package(pathlib.Path(root))
        about = {"torch": torch.__version__, "device": torch.cuda.get_device_name(0)}
        for mode in modes:
            try:
                row = measure(pack, mode, name)
            except Exception as error:  # the error becomes a row of the table
                row = {"fault": f"{type(error).__name__}: {error}".splitlines()[0]}
            print(json.dumps({"network": name, "mode": mode, **about, **row}), flush=True)
            torch.compiler.reset()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main(*sys.argv[1:])
