#!/usr/bin/env python3
"""What scripts/bench-layers.sh has autotune search, and what it found.

    layers_problems.py ask < LINES > FILE.json
    layers_problems.py split DOCUMENTS FOLDER < LINES

LINES have a problem each, as scripts/layers.txt. The first writes them as the list that `autotune search --problems` reads.
The second gives each its best configuration of the list DOCUMENTS that `--json` wrote: FOLDER/NAME.json. One without a winner has none.
"""
import json
import pathlib
import sys


def problems(lines):
    """Name and request of each line that holds a problem."""
    for line in lines:
        if line.strip() and not line.startswith("#"):
            name, operator, shape, math, *settings = line.split()
            yield name, {"operator": operator, "shape": shape, "math": math, "parameters": dict(s.split("=", 1) for s in settings)}


def same(given, known):
    """Whether a parameter is as it was given: one number stands for as many as there are."""
    return set(given.split("x")) == set(known.split("x")) if "x" not in given else given == known


def answers(best, asked):
    problem = best["problem"]
    parameters = {"type": "f32", "layout": "nchw", **problem["parameters"]}  # a document may leave these out
    return (best["operator"] == asked["operator"] and "x".join(map(str, problem["shape"])) == asked["shape"] and
            asked["math"] in ("auto", problem["math"]) and
            all(same(value, str(parameters[name])) for name, value in asked["parameters"].items()))


def split(documents, folder):
    found = json.loads(pathlib.Path(documents).read_text())
    found = found if isinstance(found, list) else [found]
    for name, asked in problems(sys.stdin):
        at = next((i for i, best in enumerate(found) if answers(best, asked)), None)
        if at is not None:  # documents are in the order of the lines
            (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(found.pop(at), indent=2) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "ask":
        json.dump([asked for _, asked in problems(sys.stdin)], sys.stdout, indent=1)
    else:
        split(*sys.argv[2:])
