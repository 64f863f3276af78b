"""Prints what scripts/bench-examples.sh found: table.py FOLDER GPU, with an example a
line (its name, place and shape) on standard input."""
import datetime
import json
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from kept import configuration, table  # noqa: E402


def cells(name, shape, d):
    if d is None:
        return [name, shape, "no winner"] + [""] * 6
    ms, others = d["time_ms"]["median"], d["baselines"]
    share = d.get("copy_bandwidth_share")
    torch = others.get("torch_eager")
    return [
        name, shape, configuration(d), f"{ms:.4g}", f"{others['default']['speedup']:.2f}x" if "default" in others else "",
        f"{100 * share:.1f} %" if share else "", f"{d['roofline']['flops'] / ms / 1e9:.3g}" if d["roofline"].get("flops") else "",
        f"{torch['time_ms']:.4g}" if torch else "", f"{torch['speedup']:.2f}x" if torch else "",
    ]


def main(folder, gpu):
    rows, documents = [], []
    for line in sys.stdin:
        name, _, shape = line.split()
        path = os.path.join(folder, name + ".json")
        d = None
        if os.path.exists(path):
            with open(path) as file:
                d = json.load(file)
            documents.append(d)
        rows.append(cells(name, shape, d))
    print("# The operators under examples/\n")
    if documents:
        first = documents[0]
        copies = [d["roofline"]["copy_bandwidth"] / 1e12 for d in documents if "roofline" in d and "copy_bandwidth" in d["roofline"]]
        between = f"; copies moved {min(copies):.2f} to {max(copies):.2f} TB/s" if copies else ""
        print(f"{gpu}, driver {first['device'].get('driver', 'unknown')}, {first['device'].get('compiler', '')}, {datetime.date.today()}, "
              f"by scripts/bench-examples.sh{between}.\n")
    head = ["example", "shape", "winner", "ms", "over its default", "of copy bandwidth", "TFLOP/s", "PyTorch, ms", "over PyTorch"]
    print(table(head, rows))


main(*sys.argv[1:])
