#!/usr/bin/env python3
"""Searches layers of realistic networks as `autotune search` does without a flag, and long,
and prints what the short search took and how far its winner is behind, as Markdown.

    scripts/short_searches.py [--seed N] [--layers N] [--long 60s] [--autotune PROGRAM ...] [-o FOLDER]

Layers are drawn with the seed. Every search starts without any cache. Several PROGRAMs take
turns on each layer, and the last of them searches long. Regret is how much slower a short
search's winner is than the fastest winner of all searches of the layer, each by its finals.
FOLDER gets the documents and recordings.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time

from kept import table
from problems import AUTOTUNE, as_set

HEAD = ("layer", "program", "process, s", "search, s", "waiting, s", "finals, s", "trials", "ms", "long, ms", "regret")

SIDES = {  # of images, by their channels
    32: [112, 224], 64: [56, 112, 224], 96: [56, 80], 128: [28, 56, 80], 192: [28, 40], 256: [14, 28, 56],
    384: [13, 14, 20], 512: [7, 14, 28],
}


def layers(draw):
    """Endless layers, as an operator, a shape, a math mode and parameters."""
    def image(most=512):
        c = draw.choice([c for c in SIDES if c <= most])
        return draw.choice([4, 8, 16, 32]), c, draw.choice(SIDES[c])

    def three():
        n, c, s = image()
        return "conv2d", [n, c, s, s], "auto", {"c_out": draw.choice([c, c, 2 * c]), "kernel": 3, "padding": 1}

    def one():
        n, c, s = image()
        return "conv2d", [n, c, s, s], "auto", {"c_out": draw.choice([c // 2, c, 4 * c]), "kernel": 1}

    def strided():
        n, c, s = image(256)
        kernel = draw.choice([3, 3, 5])
        return "conv2d", [n, c, s, s], "auto", {"c_out": 2 * c, "kernel": kernel, "stride": 2, "padding": kernel // 2}

    def stem():
        kernel, stride = draw.choice([(7, 2), (3, 2), (4, 4), (3, 1), (11, 4)])
        s = draw.choice([224, 256, 299, 416])
        shape, c_out = [draw.choice([8, 16, 32]), 3, s, s], draw.choice([32, 48, 64, 96])
        padding = kernel // 2 if stride < 4 else 0
        return "conv2d", shape, "auto", {"c_out": c_out, "kernel": kernel, "stride": stride, "padding": padding}

    def transposed():
        c, s = draw.choice([(512, 16), (512, 28), (256, 32), (256, 64), (128, 64), (128, 128), (64, 112)])
        kernel, padding = draw.choice([(2, 0), (4, 1)])
        window = {"c_out": c // 2, "kernel": kernel, "stride": 2, "padding": padding}
        return "conv_transpose2d", [draw.choice([2, 4, 8, 16]), c, s, s], "auto", window

    def depthwise():
        n, c, s = image()
        kernel, stride = draw.choice([3, 5, 7]), draw.choice([1, 2])
        window = {"kernel": kernel, "stride": stride, "padding": kernel // 2}
        return "depthwise_conv2d", [n, c, s, s], "auto", window

    def pool():
        n, c, s = image()
        kernel, stride, padding = draw.choice([(2, 2, 0), (3, 2, 1), (3, 1, 1)])
        window = {"kernel": kernel, "stride": stride, "padding": padding}
        return draw.choice(["max_pool2d", "avg_pool2d"]), [n, c, s, s], "auto", window

    def product():
        tokens, width = draw.choice([2048, 4096, 8192]), draw.choice([768, 1024, 2048, 4096])
        shape = [1, tokens, width, draw.choice([width, 3 * width, 4 * width])]
        return "matmul", shape, draw.choice(["fp32", "tf32_even"]), {}

    def attention():
        heads = draw.choice([12, 16, 32]) * draw.choice([1, 4, 8])
        length, width = draw.choice([197, 512, 1024]), draw.choice([64, 128])
        k, n = draw.choice([(width, length), (length, width)])
        return "matmul", [heads, length, k, n], "fp32", {}

    kinds = [three, one, strided, stem, transposed, depthwise, pool, product, attention]
    while True:
        draw.shuffle(kinds)
        yield from (kind() for kind in kinds)


def search(program, layer, folder, name, *flags):
    """The seconds of a search's process, from start to end, and its document."""
    operator, shape, mode, parameters = layer
    document = folder / f"{name}.json"
    with tempfile.TemporaryDirectory() as scratch:
        command = [program, "search", operator, "--shape", as_set(shape), "--math", mode, "--device", "cuda", "--quiet",
                   *(word for key, value in parameters.items() for word in ("--set", f"{key}={value}")),
                   "--json", document, "--record", folder / f"{name}.t4.json.gz", *flags]
        begin = time.monotonic()
        environment = os.environ | {"XDG_CACHE_HOME": scratch, "CUDA_CACHE_PATH": scratch}
        ran = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        seconds = time.monotonic() - begin
    (folder / f"{name}.txt").write_text(ran.stdout)
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{ran.stdout}")
    return seconds, json.loads(document.read_text())


def ms(best):
    return best["time_ms"]["median"]


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--layers", type=int, default=8, help="how many are drawn")
    options.add_argument("--skip", type=int, default=0, help="how many of them are left out, from the first")
    options.add_argument("--long", default="60s", help="how long the long search takes; 0s: none")
    options.add_argument("--autotune", action="append", help="the program; may be repeated")
    options.add_argument("-o", "--output", type=pathlib.Path)
    options.add_argument("--flags", default="", help="more flags of the short searches")
    o = options.parse_args()
    folder = o.output or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    programs = o.autotune or [AUTOTUNE]
    totals = [[] for _ in programs]
    print(table(HEAD, []), flush=True)
    for at, layer in enumerate(itertools.islice(layers(random.Random(o.seed)), o.layers)):
        if at < o.skip:
            continue
        operator, shape, mode, parameters = layer
        shown = " ".join([operator, as_set(shape), mode, *(f"{k}={v}" for k, v in parameters.items())])
        found = [search(p, layer, folder, f"{at}-{turn}", *o.flags.split()) for turn, p in enumerate(programs)]
        long = float("nan")
        if o.long != "0s":
            flags = ("--time", o.long, "--target", "0", "--budget", "0")
            long = ms(search(programs[-1], layer, folder, f"{at}-long", *flags)[1])
        best = min([ms(d) for _, d in found] + [long])
        for turn, (seconds, d) in enumerate(found):
            of, regret = d["search"], ms(d) / best - 1
            totals[turn].append((seconds, regret))
            times = [f"{s:.2f}" for s in (seconds, of["seconds"], of["spent"]["wait"], of["spent"]["finals"])]
            cells = [shown, turn, *times, of["evaluations"], f"{ms(d):.4g}", f"{long:.4g}", f"{regret:.2%}"]
            print(f"| {' | '.join(map(str, cells))} |", flush=True)
    for turn, rows in enumerate(totals):
        seconds, regrets = zip(*rows)
        print(f"\nProgram {turn}: {sum(seconds) / len(rows):.2f} s in the mean, {max(seconds):.2f} s at most; "
              f"regret {sum(regrets) / len(rows):.2%} in the mean, {max(regrets):.2%} at most, {len(rows)} layers.")


if __name__ == "__main__":
    main()
