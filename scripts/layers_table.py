#!/usr/bin/env python3
"""The table of scripts/bench-layers.sh, as Markdown.

    layers_table.py FOLDER PROBLEMS ERRORS

FOLDER has the searches' documents, NAME.json; PROBLEMS and ERRORS are what torch_errors.py
reads and writes, the last empty without PyTorch. "Over the better" is over the fastest of
PyTorch's ways in the problem's own layout; "of both layouts" counts channels-last, too.
"""
import json
import math
import pathlib
import sys

WAYS = {"torch_eager": "eager", "torch_compile": "compile", "torch_cudnn_benchmark": "cudnn.benchmark", "torch_channels_last": "channels-last"}
HEAD = ("problem", "math", "winner", "ms", "TFLOP/s", "of copy", *(f"{way}, ms" for way in WAYS.values()), "over the better", "of both layouts",
        "largest error", "PyTorch's", "of PyTorch's", "apart")


def numbers(path):
    """The numbers behind the first word of each line."""
    lines = (line.split() for line in pathlib.Path(path).read_text().splitlines())
    return {words[0]: [float(w) for w in words[1:]] for words in lines if words}


def numerics(best):
    """What is multiplied: the math mode, or the tensors' type where that is of 16 bits."""
    named = best["problem"].get("parameters", {}).get("type", "f32")
    return best["problem"]["math"] if named == "f32" else named


def kind(operator, best):
    """Which rows a problem's ratio is averaged with."""
    what = numerics(best) if operator == "matmul" or numerics(best) in ("bf16", "f16") else ""
    return " ".join(filter(None, [operator, what, best["problem"].get("parameters", {}).get("layout", "").replace("nchw", "")]))


def row(name, best, errors):
    """The cells, and how many times faster the winner is than PyTorch in its layout, and in any."""
    ms = best["time_ms"]["median"]
    timed = {way: best["baselines"][way] for way in WAYS if way in best["baselines"]}
    ratios = [min((b["speedup"] for way, b in timed.items() if way in counted), default=math.nan) for counted in (list(WAYS)[:3], WAYS)]
    winner = " ".join([best["template"], *(f"{k}={v}" for k, v in best["configuration"].items())])
    judged = ["", "", "", ""]
    if name in errors:
        ours, torchs, apart = errors[name]
        judged = [f"{ours:.2g}", f"{torchs:.2g}", f"{ours / torchs:.2f}x" if torchs else "", f"{apart:.2g}"]
    cells = [name, numerics(best), winner, f"{ms:.4g}", f"{best['roofline']['flops'] / ms / 1e9:.1f}", f"{100 * best.get('copy_bandwidth_share', 0):.0f} %",
             *(f"{timed[way]['time_ms']:.4g}" if way in timed else "" for way in WAYS), *(f"{r:.2f}x" if r == r else "" for r in ratios), *judged]
    return cells, ratios[0]


def main(folder, problems, errors):
    errors, ratios, exceeded = numbers(errors), {}, []
    print("| " + " | ".join(HEAD) + " |\n|" + " --- |" * len(HEAD))
    for line in pathlib.Path(problems).read_text().splitlines():
        name, operator = line.split()[:2]
        path = pathlib.Path(folder) / f"{name}.json"
        if not path.exists():
            print("| " + " | ".join([name, "", "none", *[""] * (len(HEAD) - 3)]) + " |")
            continue
        best = json.loads(path.read_text())
        cells, ratio = row(name, best, errors)
        print("| " + " | ".join(cells) + " |")
        if ratio == ratio:
            ratios.setdefault(kind(operator, best), []).append((ratio, name))
        if numerics(best) == "fp32" and name in errors and errors[name][0] > 2 * errors[name][1]:
            exceeded.append(name)
    mean = lambda list_: math.prod(r for r, _ in list_) ** (1 / len(list_))
    if ratios:
        print(f"\nGeometric mean over the better of PyTorch: {mean(sum(ratios.values(), [])):.2f}x; " +
              ", ".join(f"{what} {mean(list_):.2f}x (lowest {min(list_)[0]:.2f}x)" for what, list_ in ratios.items()) + ".")
        print("\nThe five lowest: " + ", ".join(f"{name} {r:.2f}x" for r, name in sorted(sum(ratios.values(), []))[:5]) + ".")
    if errors:
        print("\nIn fp32 the largest error is at most twice that of PyTorch's fp32" + (f", but for {', '.join(exceeded)}." if exceeded else "."))


if __name__ == "__main__":
    main(*sys.argv[1:])
