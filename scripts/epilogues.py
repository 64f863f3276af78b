#!/usr/bin/env python3
"""What the epilogue gelu(x + d[n])*s[n] + r[batch,m,n] costs: products' winners without it, timed with and without in turns.

    scripts/epilogues.py f32|bf16|f16 BATCHxMxKxN...    # b is stored as n x k; fp32 is multiplied as TF32
"""
import json
import subprocess
import sys


def search(size, *options):
    command = ["autotune", "search", "matmul", "--shape", size, "--set", "transpose_b=true", "--set", "type=" + sys.argv[1],
               *(["--math", "tf32_even"] if sys.argv[1] == "f32" else []), "--no-cache", "--baseline", "none", "--json", "-", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


print("| product | template | without, ms | with, ms | bytes of r, ms | more than those |\n| --- | --- | --- | --- | --- | --- |")
for size in sys.argv[2:]:
    best = search(size, "--time", "4s")
    winner = ["--config", ",".join([f"template={best['template']}", *(f"{k}={v}" for k, v in best["configuration"].items())])]
    fused = ["--set", "epilogue=gelu(x + d[n])*s[n] + r[batch,m,n]"]
    times = [[search(size, *winner, *more)["time_ms"]["median"] for more in ([], fused)] for _ in range(3)]
    before, after = (sorted(of)[1] for of in zip(*times))  # medians of three
    batch, m, _, n = map(int, size.split("x"))
    read = batch * m * n * (4 if sys.argv[1] == "f32" else 2) / best["roofline"]["copy_bandwidth"] * 1e3
    print(f"| {sys.argv[1]} {size} | {best['template']} | {before:.4f} | {after:.4f} | {read:.4f} | {(after - read) / before - 1:+.1%} |", flush=True)
