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
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time


def layers(draw):
    """Endless layers, as an operator, a shape, a math mode and parameters."""
    channels = [32, 64, 96, 128, 192, 256, 384, 512]
    sides = {32: [112, 224], 64: [56, 112, 224], 96: [56, 80], 128: [28, 56, 80], 192: [28, 40], 256: [14, 28, 56], 384: [13, 14, 20], 512: [7, 14, 28]}

    def image(most=512):
        c = draw.choice([c for c in channels if c <= most])
        return draw.choice([4, 8, 16, 32]), c, draw.choice(sides[c])

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
        return "conv2d", [draw.choice([8, 16, 32]), 3, s, s], "auto", {"c_out": draw.choice([32, 48, 64, 96]), "kernel": kernel, "stride": stride, "padding": kernel // 2 if stride < 4 else 0}

    def transposed():
        c, s = draw.choice([(512, 16), (512, 28), (256, 32), (256, 64), (128, 64), (128, 128), (64, 112)])
        kernel, padding = draw.choice([(2, 0), (4, 1)])
        return "conv_transpose2d", [draw.choice([2, 4, 8, 16]), c, s, s], "auto", {"c_out": c // 2, "kernel": kernel, "stride": 2, "padding": padding}

    def depthwise():
        n, c, s = image()
        kernel = draw.choice([3, 5, 7])
        return "depthwise_conv2d", [n, c, s, s], "auto", {"kernel": kernel, "stride": draw.choice([1, 2]), "padding": kernel // 2}

    def pool():
        n, c, s = image()
        kernel, stride, padding = draw.choice([(2, 2, 0), (3, 2, 1), (3, 1, 1)])
        return draw.choice(["max_pool2d", "avg_pool2d"]), [n, c, s, s], "auto", {"kernel": kernel, "stride": stride, "padding": padding}

    def product():
        tokens, width = draw.choice([2048, 4096, 8192]), draw.choice([768, 1024, 2048, 4096])
        return "matmul", [1, tokens, width, draw.choice([width, 3 * width, 4 * width])], draw.choice(["fp32", "tf32_even"]), {}

    def attention():
        heads, length, width = draw.choice([12, 16, 32]) * draw.choice([1, 4, 8]), draw.choice([197, 512, 1024]), draw.choice([64, 128])
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
        command = [program, "search", operator, "--shape", "x".join(map(str, shape)), "--math", mode, "--device", "cuda", "--quiet",
                   *(word for key, value in parameters.items() for word in ("--set", f"{key}={value}")),
                   "--json", document, "--record", folder / f"{name}.t4.json.gz", *flags]
        begin = time.monotonic()
        ran = subprocess.run(command, env={**os.environ, "XDG_CACHE_HOME": scratch, "CUDA_CACHE_PATH": scratch},
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
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
    programs = o.autotune or ["bin/autotune"]
    drawn = layers(random.Random(o.seed))
    totals = [[] for _ in programs]
    print("| layer | program | process, s | search, s | trials | waiting, s | finals, s | ms | long, ms | regret |")
    print("| --- |" + " --- |" * 9, flush=True)
    for at in range(o.layers):
        layer = next(drawn)
        if at < o.skip:
            continue
        shown = f"{layer[0]} {'x'.join(map(str, layer[1]))} {layer[2]} " + " ".join(f"{k}={v}" for k, v in layer[3].items())
        found = [search(p, layer, folder, f"{at}-{turn}", *o.flags.split()) for turn, p in enumerate(programs)]
        long = [] if o.long == "0s" else [search(programs[-1], layer, folder, f"{at}-long", "--time", o.long, "--target", "0", "--budget", "0")[1]]
        best = min(map(ms, [d for _, d in found] + long))
        for turn, (seconds, d) in enumerate(found):
            spent = d["search"]["spent"]
            totals[turn].append((seconds, ms(d) / best - 1))
            print(f"| {shown} | {turn} | {seconds:.2f} | {d['search']['seconds']:.2f} | {d['search']['evaluations']} | {spent['wait']:.2f} | "
                  f"{spent['finals']:.2f} | {ms(d):.4g} | {ms(long[0]) if long else float('nan'):.4g} | {ms(d) / best - 1:.2%} |", flush=True)
    for turn, rows in enumerate(totals):
        seconds, regrets = zip(*rows)
        print(f"\nProgram {turn}: {sum(seconds) / len(rows):.2f} s in the mean, {max(seconds):.2f} s at most; "
              f"regret {sum(regrets) / len(rows):.2%} in the mean, {max(regrets):.2%} at most, {len(rows)} layers.")


if __name__ == "__main__":
    main()
