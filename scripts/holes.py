#!/usr/bin/env python3
"""Finds problems for which PyTorch is faster: every built-in operator in each of its layouts and types, at three shapes
from networks (scripts/holes.txt), is searched and timed in turns with PyTorch eager and torch.compile on this GPU.

    scripts/holes.py                        # measure the missing rows, and write the table
    scripts/holes.py --only conv_transpose2d --again
    timeout -s INT 500 scripts/holes.py     # stop after 500 s; the next run continues
    scripts/holes.py --table                # write only the table, from the stored rows
    scripts/holes.py --problems scripts/layers.txt --work bench-out/layers

First torch.compile fills its cache, in several processes at a time. Then one `autotune search --problems` times all
rows. Results are stored in the folder of --work, and the same command continues where the last one ended.

A row is an operator's problem in one type and layout. There are some 300 rows in f32 and, in turns, bf16 or f16.
"""
import argparse
import concurrent.futures
import functools
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time

import holes_page
import problems
import torch
from kept import AUTOTUNE, ROOT, Kept, forget_tried, results_page
from problems import torch_calls

TORCH = importlib.metadata.version("torch")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--problems", type=pathlib.Path, default=ROOT / "scripts/holes.txt", help="lines as in scripts/holes.txt")
    add("--only", metavar="OPERATOR", action="append", help="only an operator's rows; may be repeated")
    add("--again", action="store_true", help="measure rows again that are there")
    add("--table", action="store_true", help="write the table and end")
    add("--time", default="700ms", help="how long a row is searched")
    add("--work", type=pathlib.Path, default=ROOT / "bench-out/holes", help="folder for all that is kept")
    return parser.parse_args()


@functools.cache
def choices(operator, parameter):
    """Returns the values of an enum parameter, or one empty value if the operator does not have it."""
    described = json.loads(problems.autotune("ops", "show", operator, "--json", "-"))
    return next((p["choices"] for p in described["parameters"] if p["name"] == parameter), [""])


def all_rows(path):
    """Returns the rows by name: first each operator's first problem, then the second problems, and so on."""
    made, seen = [], {}
    for line, asked in problems.listed(path.read_text().splitlines()):
        operator, given = asked["operator"], asked["parameters"]
        at = seen[operator] = seen.get(operator, -1) + 1
        types = [t for t in choices(operator, "type") if t in ("", "f32", ("bf16", "f16")[at % 2])]
        for kind in [given["type"]] if "type" in given else types:
            for layout in [given["layout"]] if "layout" in given else choices(operator, "layout"):
                more = {key: value for key, value in (("type", kind), ("layout", layout)) if value}
                name = "-".join(filter(None, (line, kind, layout)))
                made.append((at, name, {**asked, "parameters": {**given, **more}, "network": line}))
    return {name: asked for _, name, asked in sorted(made, key=lambda row: row[0])}


def compiled(calls, modes):
    """Lets torch.compile compile a problem's call with or without TF32, as a search does. Returns the error, if any."""
    try:
        torch.cuda.empty_cache()  # frees the memory of the previous call
        function, call = torch_calls.found(calls)
        lie = {name: torch_calls.standing(t, torch_calls.uniform(t)) for name, t in call["tensors"].items()}
        for mode in modes:
            torch.backends.cuda.matmul.allow_tf32 = mode
            with torch.no_grad():
                run = torch.compile(lambda **t: function(**t, **torch_calls.values(call)))
                run(**torch_calls.alone(call, lie))
            torch.compiler.reset()
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def prepare(rows, ready):
    """Fills torch.compile's cache for the rows that are not in it."""
    bound = dict(zip(rows, problems.bound(list(rows.values()))))
    wanted, began = {name: p for name, p in bound.items() if name not in ready.all}, time.monotonic()
    spawn = multiprocessing.get_context("spawn")
    if wanted:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # the parallel work is done by processes instead
        with concurrent.futures.ProcessPoolExecutor(max(1, min(14, os.cpu_count() - 2)), spawn) as pool:
            # PyTorch has not said yet whether it uses TF32 for a problem whose math mode depends on that.
            modes = {name: (False, True) if p.about["ask_math"] else (rows[name]["math"] not in ("auto", "fp32"),)
                     for name, p in wanted.items()}
            jobs = {pool.submit(compiled, p.calls, modes[name]): name for name, p in wanted.items() if p.calls}
            for job in concurrent.futures.as_completed(jobs):
                ready.keep(jobs[job], {"fault": str(job.exception() or job.result())})
        forget_tried(os.environ["TORCHINDUCTOR_CACHE_DIR"])
        print(f"torch.compile's cache has {len(wanted)} more rows after {time.monotonic() - began:.0f} s", flush=True)


def same(given, known):
    """Whether a parameter has the requested value. One number stands for all components."""
    return set(given.split("x")) == set(known.split("x")) if "x" not in given else given == known


def answers(best, asked):
    """Whether a best configuration is for the requested problem."""
    problem = best["problem"]
    parameters = {"type": "f32", "layout": "nchw", **problem["parameters"]}  # a document may leave these out
    return (best["operator"] == asked["operator"] and "x".join(map(str, problem["shape"])) == asked["shape"] and
            asked["math"] in ("auto", problem["math"]) and
            all(same(value, str(parameters[name])) for name, value in asked["parameters"].items()))


def search(rows, options):
    """Searches all rows. Returns the exit code (negative for a signal, None for an interruption) and the errors."""
    listed, said = options.work / "problems.json", options.work / "search.txt"
    (options.work / "found.json").unlink(missing_ok=True)
    asked = [{key: row[key] for key in ("operator", "shape", "parameters", "math")} for row in rows.values()]
    listed.write_text(json.dumps(asked, indent=1))
    command = [AUTOTUNE, "search", "--problems", listed, "--json", options.work / "found.json", "--device", "cuda:0",
               "--time", options.time, "--quiet", "--baseline", "torch,torch-compile"]
    with open(said, "w") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)  # the search saves what it has found
            process.wait()
            code = None
    lines = said.read_text().splitlines()
    return code, [line.removeprefix("autotune: ") for line in lines if line.startswith("autotune: ")]


def take(rows, kept, path):
    """Saves the rows that the search has found, and returns their names."""
    found, names = json.loads(path.read_text()) if path.exists() else [], []
    found = [found] if isinstance(found, dict) else found
    for name, asked in rows.items():
        at = next((i for i, best in enumerate(found) if answers(best, asked)), None)
        if at is None:
            continue
        best = found.pop(at)
        row = {"asked": asked, "math": best["problem"]["math"], "torch": TORCH}
        fields = ("device", "template", "configuration", "time_ms", "baselines", "trials", "warnings", "recorded_at")
        kept.keep(name, row | {field: best.get(field) for field in fields})
        names.append(name)
    return names


def measure(rows, kept, options):
    """Searches rows, and saves a row without a winner as a failure."""
    if not rows:
        return
    code, faults = search(rows, options)
    found = take(rows, kept, options.work / "found.json")
    print(f"{len(found)} of {len(rows)} rows have a winner", flush=True)
    if code is None:
        return
    if code == 2 or code < 0:  # what was searched before the signal is in the cache
        sys.exit("holes.py: " + ("; ".join(faults) if code == 2 else f"the search ended by signal {-code}"))
    for name, asked in rows.items():  # errors come in the order of the rows
        if name in found:
            continue
        start = f"{asked['operator']} {asked['shape']} "
        at = next((i for i, fault in enumerate(faults) if fault.startswith(start)), None)
        fault = "no winner" if at is None else faults.pop(at).split(": ", 1)[-1]
        kept.keep(name, {"asked": asked, "fault": fault})


def write_page(rows, kept, options):
    command = "scripts/holes.py" + (f" --time {options.time}" if options.time != "700ms" else "")
    there = [kept.all[name] for name in rows if name in kept.all]
    if not there:
        sys.exit("holes.py: nothing was measured yet")
    gpu = next((row["device"]["name"] for row in there if "device" in row), "gpu")
    target = results_page(gpu, f"{options.problems.stem}.md")
    target.write_text(holes_page.page(there, len(rows), command))
    print(f"wrote {target}: {len(there)} of {len(rows)} rows")


def main():
    options = arguments()
    rows = all_rows(options.problems)
    kept, ready = Kept(options.work / "rows.jsonl"), Kept(options.work / "ready.jsonl")
    if not options.table:
        only = options.only or {asked["operator"] for asked in rows.values()}
        wanted = {name: asked for name, asked in rows.items()
                  if asked["operator"] in only and (options.again or name not in kept.all)}
        caches = {"XDG_CACHE_HOME": "cache", "TORCHINDUCTOR_CACHE_DIR": "inductor"}
        os.environ |= {name: str(options.work / folder) for name, folder in caches.items()}
        prepare(wanted, ready)
        measure(wanted, kept, options)
    write_page(rows, kept, options)


if __name__ == "__main__":
    main()
