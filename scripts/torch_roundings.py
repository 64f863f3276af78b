#!/usr/bin/env python3
"""How PyTorch on this machine's GPU rounds the factors of its convolutions, as a search with `--math auto` asks it
(tuner/torchmath/ask.py). A line has a problem, its math mode, and how far PyTorch's answer is from each rounding's.

    scripts/torch_roundings.py [FILE...] | tee docs/results/<gpu>/roundings.txt

A FILE has problems as scripts/layers.txt does. Without one, the problems are those of layers.txt and holes.txt.
"""
import json
import pathlib
import subprocess
import sys

import problems
from problems import ROOT

LIMIT_S = 120  # for one answer
CLEAR = 4  # how much nearer than any other rounding the nearest one must be, as for autotune itself


def errors(about, environment=None):
    """The largest error by rounding, for a problem that `autotune ops calls` described, or why it is unknown."""
    process = problems.answering(ROOT / "tuner/torchmath/ask.py", env=environment, stderr=subprocess.DEVNULL)
    try:
        said = json.loads(process.communicate(json.dumps(about["ask_math"]) + "\n", LIMIT_S)[0] or "{}")
    except (subprocess.TimeoutExpired, ValueError):
        process.kill()
        return {}, f"no answer in {LIMIT_S} s"
    return said.get("errors", {}), said.get("fault", "PyTorch rounds in a way that has no mode")


def mode(about, environment=None):
    """The math mode that PyTorch computes a problem in, and the reason if it is not clear."""
    found, why = errors(about, environment)
    return nearest(found, about["math_modes"]), why


def nearest(found, modes):
    first, second = [*sorted((error, rounding) for rounding, error in found.items()), (0, ""), (0, "")][:2]
    return first[1] if first[1] in modes and first[0] * CLEAR <= second[0] else None


def main(paths):
    lines = [line for path in paths for line in path.read_text().splitlines()]
    requests = [asked for _, asked in problems.listed(lines) if asked["parameters"].get("type", "f32") == "f32"]
    for asked, p in zip(requests, problems.bound(requests)):
        if p.about["ask_math"]:
            found, why = errors(p.about)
            said = " ".join(f"{rounding} {error:.2g}" for rounding, error in found.items()) or why
            settings = " ".join(f"{k}={v}" for k, v in asked["parameters"].items())
            print(asked["operator"], asked["shape"], settings, nearest(found, p.about["math_modes"]), said, flush=True)


if __name__ == "__main__":
    main([pathlib.Path(a) for a in sys.argv[1:]] or [ROOT / f"scripts/{name}.txt" for name in ("layers", "holes")])
