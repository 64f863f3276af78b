#!/usr/bin/env python3
"""What an epilogue costs: each product's winner without one, timed with and without one in turns.

    scripts/epilogues.py [--rounds 3] [--time 4s] [--page docs/results/h200/epilogues.md]

A search finds the fastest kernel of a product without an epilogue. Then the same configuration is timed `rounds` times
with and without the epilogue, each time in a process of its own; the table has the medians. Beside them stands what
the bytes of the epilogue's tensors take at the speed at which the GPU copies.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import tempfile

EPILOGUE = "gelu(x + d[n])*s[n] + r[batch,m,n]"
SIZES = ["1x4096x4096x4096", "1x8192x4096x4096", "1x2048x4096x11008", "1x8192x1024x4096", "1x8192x4096x1024",
         "1x1024x4096x4096", "1x512x4096x4096", "16x1024x64x1024", "1x6304x768x3072", "1x6272x3072x768"]
TYPES = {"bf16": ["--set", "type=bf16"], "tf32": ["--math", "tf32_even"]}


def search(size, options, *more):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "best.json"
        subprocess.run(["autotune", "search", "matmul", "--shape", size, "--set", "transpose_b=true", *options, "--no-cache",
                        "--baseline", "none", "--quiet", "--json", str(path), *more], check=True, stdout=subprocess.DEVNULL)
        return json.loads(path.read_text())


def configuration(best):
    return ",".join([f"template={best['template']}"] + [f"{k}={v}" for k, v in best["configuration"].items()])


def copy_ms(best, size, element):
    batch, m, _, n = map(int, size.split("x"))
    return batch * m * n * element / best["roofline"]["copy_bandwidth"] * 1e3


def row(kind, size, args):
    best = search(size, TYPES[kind], "--time", args.time)
    chosen = ["--config", configuration(best)]
    plain, fused = [], []
    for _ in range(args.rounds):
        plain.append(search(size, TYPES[kind], *chosen)["time_ms"]["median"])
        fused.append(search(size, [*TYPES[kind], "--set", "epilogue=" + EPILOGUE], *chosen)["time_ms"]["median"])
    before, after = statistics.median(plain), statistics.median(fused)
    bytes_ms = copy_ms(best, size, 2 if kind == "bf16" else 4)
    resources = best.get("resources", {})
    line = (f"| {kind} {size} | {best['template']} | {before:.4f} | {after:.4f} | {after / before - 1:+.1%} | {bytes_ms:.4f} | "
            f"{(after - bytes_ms) / before - 1:+.1%} | {resources.get('registers', '')} |")
    print(line, flush=True)
    return best["device"]["name"], line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--time", default="4s")
    parser.add_argument("--types", default="bf16,tf32")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--page", type=pathlib.Path, default=pathlib.Path("docs/results/h200/epilogues.md"))
    args = parser.parse_args()
    rows = [row(kind, size, args) for kind in args.types.split(",") for size in args.sizes.split(",")]
    args.page.write_text(
        f"# What an epilogue costs\n\n{rows[0][0]}, {datetime.date.today()}, by `scripts/epilogues.py`: `{EPILOGUE}` on the kernel "
        "that wins without it. Milliseconds, cold L2; medians of processes that took turns.\n\n"
        "| product, batch x m x k x n | template | without | with | more | bytes of r | more than those | registers without |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n" + "\n".join(line for _, line in rows) + "\n")


if __name__ == "__main__":
    main()
