#!/usr/bin/env python3
"""Measures the cost of an epilogue with a row, a column and a full tensor: winners are timed with and without it in turns.

    scripts/epilogues.py 'matmul 1x4096x4096x4096 type=bf16 transpose_b=true' 'conv2d 64x64x56x56 c_out=64 padding=1'...
"""
import json
import subprocess
import sys

EPILOGUES = {"matmul": "gelu(x + d[n])*e[n] + r[batch,m,n]"}  # all others are operators of images


def search(problem, *options):
    operator, shape, *given = problem.split()
    parameters = [word for name in given for word in (["--math", name[5:]] if name.startswith("math=") else ["--set", name])]
    command = ["autotune", "search", operator, "--shape", shape, *parameters, "--no-cache", "--baseline", "none", "--json", "-", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


print("| problem | template | without, ms | with, ms | tensors' bytes, ms | more than those |\n| --- | --- | --- | --- | --- | --- |")
for problem in sys.argv[1:]:
    best = search(problem, "--time", "3s")
    winner = ["--config", ",".join([f"template={best['template']}", *(f"{k}={v}" for k, v in best["configuration"].items())])]
    fused = ["--set", "epilogue=" + EPILOGUES.get(problem.split()[0], "gelu(x + q[c])*e[c] + r[n,c,h,w]")]
    runs = [[search(problem, *winner, *more) for more in ([], fused)] for _ in range(3)]
    before, after = (sorted(run["time_ms"]["median"] for run in of)[1] for of in zip(*runs))  # medians of three runs
    moved = runs[0][1]["roofline"]["bytes"] - best["roofline"]["bytes"]
    read = moved / best["roofline"]["copy_bandwidth"] * 1e3
    print(f"| {problem} | {best['template']} | {before:.4f} | {after:.4f} | {read:.4f} | {(after - read) / before - 1:+.1%} |", flush=True)
