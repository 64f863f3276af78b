#!/usr/bin/env python3
"""The table of scripts/bench-layers.sh, as Markdown.

    layers_table.py FOLDER PROBLEMS TIMES ERRORS

FOLDER has the searches' documents, NAME.json; PROBLEMS, TIMES and ERRORS are what
torch_layers.py and torch_errors.py read and write, the last two empty without PyTorch.

A problem's ceiling is the longer of two times: of the bytes that it must move, at the
copy bandwidth that the search measured, and of its multiplications, at the rate of
cuBLAS in a product of matrices of 8192, of the tensors' type, or a third of bf16's where three
bf16 products stand for one of fp32, or fp16's where scaled factors of TF32 are multiplied as
fp16. Which of them it is limits the problem.
"""
import json
import math
import pathlib
import sys

HEAD = ("problem", "math", "winner", "ms", "reached", "ceiling", "of it", "limit", "eager, ms", "torch.compile, ms", "over the better",
        "largest error", "PyTorch's", "of PyTorch's", "apart")


def numbers(path):
    """The numbers behind the first word of each line."""
    lines = (line.split() for line in pathlib.Path(path).read_text().splitlines())
    return {words[0]: [float(w) for w in words[1:]] for words in lines if words}


def percent(share):
    return f"{100 * share:.0f} %"


def numerics(best):
    """What is multiplied: the math mode, or the tensors' type where that is of 16 bits."""
    named = best["problem"].get("parameters", {}).get("type", "f32")
    return best["problem"]["math"] if named == "f32" else named


def ceiling(best, rates):
    """The rates reached and possible, in TFLOP/s or TB/s, and what limits; the share."""
    ms, roof = best["time_ms"]["median"], best["roofline"]
    flops, bytes_, copy = roof["flops"], roof["bytes"], roof.get("copy_bandwidth", 0)
    of = {name: rates.get(f"@{name}", [0])[0] for name in ("fp32", "tf32", "bf16", "f16")}
    multiplied = "f16" if best["configuration"].get("scaled") == 1 else numerics(best).removesuffix("_even")
    rate = max(of["fp32"], of["bf16"] / 3) if multiplied == "fp32" else of[multiplied]
    multiplying = flops / rate / 1e9 if rate else 0.0
    moving = bytes_ / copy * 1e3 if copy else 0.0
    if moving >= multiplying > 0 or not rate and not flops:
        return f"{bytes_ / ms / 1e9:.2f} TB/s", f"{copy / 1e12:.2f} TB/s", percent(moving / ms), "memory"
    if multiplying:
        return f"{flops / ms / 1e9:.1f} TFLOP/s", f"{rate:.0f} TFLOP/s", percent(multiplying / ms), "multiplications"
    return f"{flops / ms / 1e9:.1f} TFLOP/s", "", "", ""


def row(name, best, times, errors):
    ms, theirs = best["time_ms"]["median"], times.get(name, [])
    winner = " ".join([best["template"], *(f"{k}={v}" for k, v in best["configuration"].items())])
    ratio = min(theirs) / ms if theirs else math.nan
    shown = [f"{t:.4g}" for t in theirs] + [f"{ratio:.2f}x"] if theirs else ["", "", ""]
    error = errors.get(name)
    judged = ["", "", "", ""]
    if error:
        ours, torchs, apart = error
        judged = [f"{ours:.2g}", f"{torchs:.2g}", f"{ours / torchs:.2f}x" if torchs else "", f"{apart:.2g}"]
    return [name, numerics(best), winner, f"{ms:.4g}", *ceiling(best, times), *shown, *judged], ratio


def main(folder, problems, times, errors):
    times, errors = numbers(times), numbers(errors)
    ratios, exceeded = {}, []
    print("| " + " | ".join(HEAD) + " |\n|" + " --- |" * len(HEAD))
    for line in pathlib.Path(problems).read_text().splitlines():
        name, operator = line.split()[:2]
        path = pathlib.Path(folder) / f"{name}.json"
        if not path.exists():
            print("| " + " | ".join([name, "", "none", *[""] * (len(HEAD) - 3)]) + " |")
            continue
        best = json.loads(path.read_text())
        cells, ratio = row(name, best, times, errors)
        print("| " + " | ".join(cells) + " |")
        if ratio == ratio:
            of_floats = operator != "matmul" and "type" not in best["problem"].get("parameters", {})
            ratios.setdefault(operator if of_floats else f"{operator} {numerics(best)}", []).append(ratio)
        if numerics(best) == "fp32" and name in errors and errors[name][0] > 2 * errors[name][1]:
            exceeded.append(name)
    mean = lambda list_: math.prod(list_) ** (1 / len(list_))
    if ratios:
        print(f"\nGeometric mean over the better of PyTorch eager and torch.compile: {mean(sum(ratios.values(), [])):.2f}x; " +
              ", ".join(f"{what} {mean(list_):.2f}x" for what, list_ in ratios.items()) + ".")
    if errors:
        print("\nIn fp32 the largest error is at most twice that of PyTorch's fp32" + (f", but for {', '.join(exceeded)}." if exceeded else "."))


if __name__ == "__main__":
    main(*sys.argv[1:])
