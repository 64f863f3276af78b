#!/usr/bin/env python3
"""Where PyTorch is faster: every built-in operator in every layout and type that it takes, at three shapes of networks
each (scripts/holes.txt), searched and timed in turns with PyTorch eager and torch.compile on this machine's GPU.

    scripts/holes.py                        # measure what is not measured yet, and write the table
    scripts/holes.py --rows 0:100 --limit 500
    scripts/holes.py --only conv_transpose2d --again
    scripts/holes.py --table                # the table alone, of what is there
    scripts/holes.py --problems scripts/layers.txt --work bench-out/layers

Three things are done one after another. PyTorch's compiler fills its cache, in several processes at a time. What
PyTorch has no function for is timed. Then one `autotune search --problems` times all rows. What was done is in the
folder of --work: rows.jsonl has a line for each row, and the same command goes on where the last one ended. Where the
environment names a folder OUT, rows and table are copied to it.

A row is an operator's problem of a type and a layout. Floats, and by turns bf16 or f16, make some 300 rows; with
--all-types each problem has all types.
"""
import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import holes_table
import problems
from holes_torch import composed, warm
from kept import ROOT, Kept, copy_out, results_page
from problems import AUTOTUNE

GRACE_S = 20  # in which an interrupted search ends


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=pathlib.Path, default=ROOT / "scripts/holes.txt", help="lines as in scripts/holes.txt")
    parser.add_argument("--all-types", action="store_true", help="each problem in f32, bf16 and f16")
    parser.add_argument("--rows", metavar="A:B", default=":", help="only the rows from A to before B; --list numbers them")
    parser.add_argument("--only", metavar="OPERATOR", action="append", help="only an operator's rows; may be repeated")
    parser.add_argument("--again", action="store_true", help="measure rows again that are there")
    parser.add_argument("--list", action="store_true", help="print the rows and end")
    parser.add_argument("--table", action="store_true", help="write the table and end")
    parser.add_argument("--time", default="700ms", help="how long a row is searched")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="how long all may take; the rest is for the next time")
    parser.add_argument("--processes", type=int, default=max(1, min(14, (os.cpu_count() or 1) - 2)), help="that fill torch.compile's cache; 0: it is left as it is")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "bench-out/holes", help="folder for all that is kept")
    parser.add_argument("--markdown", type=pathlib.Path, help="where the table goes (docs/results/<gpu>/holes.md, or layers.md of layers.txt)")
    return parser.parse_args()


def choices(operator, parameter):
    """The words that a parameter takes; one, which is empty, if the operator lacks it."""
    return next((p["choices"] for p in problems.described(operator)["parameters"] if p["name"] == parameter), [""])


def same(given, known):
    """Whether a parameter is as it was given: one number stands for as many as there are."""
    return set(given.split("x")) == set(known.split("x")) if "x" not in given else given == known


def answers(best, asked):
    """Whether a best configuration is of the problem that was asked for."""
    problem = best["problem"]
    parameters = {"type": "f32", "layout": "nchw", **problem["parameters"]}  # a document may leave these out
    return (best["operator"] == asked["operator"] and "x".join(map(str, problem["shape"])) == asked["shape"] and
            asked["math"] in ("auto", problem["math"]) and
            all(same(value, str(parameters[name])) for name, value in asked["parameters"].items()))


def all_rows(path, all_types):
    """The rows by name, in the order in which they are measured: all operators' first problems, then their second, then others."""
    made, seen = [], {}
    for line, asked in problems.listed(path.read_text().splitlines()):
        operator = asked["operator"]
        at = seen[operator] = seen.get(operator, -1) + 1
        there = choices(operator, "type")
        types = [t for t in there if all_types or t in ("", "f32") or t == ("bf16", "f16")[at % 2]]
        for kind in [asked["parameters"].get("type")] if "type" in asked["parameters"] else types:
            for layout in [asked["parameters"].get("layout")] if "layout" in asked["parameters"] else choices(operator, "layout"):
                more = {key: word for key, word in (("type", kind), ("layout", layout)) if word}
                name = "-".join(filter(None, (line, kind, layout)))
                made.append((at, name, {**asked, "parameters": {**asked["parameters"], **more}, "network": line}))
    made.sort(key=lambda row: row[0])
    return {name: asked for _, name, asked in made}


def chosen(rows, options):
    first, _, last = options.rows.partition(":")
    names = list(rows)[int(first or 0):int(last) if last else None]
    return {name: rows[name] for name in names if not options.only or rows[name]["operator"] in options.only}


def torch_version():
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def left(options, began):
    return options.limit - (time.monotonic() - began) if options.limit else None


def prepare(rows, ready, environment, options, log):
    """Has torch.compile's cache filled for rows that it was not filled for, and times what PyTorch has no function for."""
    bound = dict(zip(rows, problems.bound(list(rows.values()))))
    wanted, began = {name: p for name, p in bound.items() if name not in ready.all}, time.monotonic()
    if options.processes and wanted:
        warm(wanted, environment, min(options.processes, len(wanted)), log, ready.keep)
        print(f"torch.compile's cache has {len(wanted)} more rows after {time.monotonic() - began:.0f} s", flush=True)
    names = [name for name, p in bound.items() if p.operator in problems.COMPOSED and not p.call() and "baselines" not in ready.all.get(name, {})]
    for name, times in zip(names, composed([rows[name] for name in names], environment, log) if names else ()):
        ready.keep(name, {"fault": times["fault"]} if "fault" in times else {"baselines": times})


def problem_of(name, asked, ready):
    about = ready.all.get(name, {})
    made = {"operator": asked["operator"], "shape": asked["shape"], "parameters": asked["parameters"], "math": about.get("math") or asked["math"]}
    return made | ({"baselines": about["baselines"]} if "baselines" in about else {})


def search(rows, ready, environment, options, log, limit):
    """One search of all the rows; its exit code, negative for a signal, and what it said. None: the limit was over."""
    listed, said = options.work / "problems.json", options.work / "search.txt"
    listed.write_text(json.dumps([problem_of(name, asked, ready) for name, asked in rows.items()], indent=1))
    given = all("baselines" in ready.all.get(name, {}) for name in rows)
    command = [AUTOTUNE, "search", "--problems", listed, "--run", "holes", "--device", "cuda:0", "--time", options.time, "--quiet",
               "--baseline", "default" if given else "torch,torch-compile"]
    log.write(" ".join(map(str, command)) + "\n")
    log.flush()
    with open(said, "w") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=errors, env=environment)
        try:
            code = process.wait(limit)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            code = None
            process.send_signal(signal.SIGINT)
            try:
                process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    words = said.read_text()
    log.write(words)
    return code, [line.removeprefix("autotune: ") for line in words.splitlines() if line.startswith("autotune: ")]


def documents(environment):
    """The best configurations that the run has kept."""
    folder = pathlib.Path(environment["XDG_CACHE_HOME"]) / "autotune/runs/holes"
    return [(path, json.loads(path.read_text())) for path in folder.glob("*.json")]


def take(rows, ready, kept, environment):
    """Keeps the rows that the run has found, and names them. Their documents go, so that the next search of such a row is a new one."""
    found, names = documents(environment), []
    for name, asked in rows.items():
        wanted = problem_of(name, asked, ready)
        at = next((i for i, (_, best) in enumerate(found) if answers(best, wanted)), None)
        if at is None:
            continue
        path, best = found.pop(at)
        few = {key: best.get(key) for key in ("device", "template", "configuration", "time_ms", "baselines", "trials", "warnings", "recorded_at")}
        row = {"asked": asked, "math": best["problem"]["math"], "torch": torch_version(), "time": best["search"]["seconds"]}
        kept.keep(name, {**row, **few, "in_turns": "baselines" not in wanted})
        path.unlink()
        names.append(name)
    return names


def measure(rows, ready, kept, environment, options, log, began):
    """Searches all rows that are not measured. A row without a winner is kept as a failure; one that ends the search is, too."""
    wanted = dict(rows)
    while wanted:
        limit = left(options, began)
        if limit is not None and limit < GRACE_S:
            return
        code, faults = search(wanted, ready, environment, options, log, limit and limit - GRACE_S / 2)
        found = take(wanted, ready, kept, environment)
        print(f"{len(found)} of {len(wanted)} rows have a winner", flush=True)
        wanted = {name: asked for name, asked in wanted.items() if name not in found}
        if code is None:
            return
        if code == 2:
            sys.exit("holes.py: " + "; ".join(faults))
        if code < 0:  # the first row without an answer was under way
            if name := next(iter(wanted), None):
                kept.keep(name, {"asked": wanted.pop(name), "fault": f"the search ended by signal {-code}"})
            continue
        for name, asked in wanted.items():
            at = next((i for i, fault in enumerate(faults) if fault.startswith(f"{asked['operator']} {asked['shape']} ")), None)  # in the rows' order
            kept.keep(name, {"asked": asked, "fault": "no winner" if at is None else faults.pop(at).split(": ", 1)[-1]})
        return


def write_table(rows, kept, options):
    command = "scripts/holes.py" + (f" --time {options.time}" if options.time != "700ms" else "") + (" --all-types" if options.all_types else "")
    there = [kept.all[name] for name in rows if name in kept.all]
    if not there:
        sys.exit("holes.py: nothing was measured yet")
    gpu = next((row["device"]["name"] for row in there if "device" in row), "gpu")
    text = holes_table.page(there, len(rows), command)
    target = options.markdown or results_page(gpu, f"{options.problems.stem}.md")
    target.write_text(text)
    print(f"wrote {target}: {len(there)} of {len(rows)} rows")
    copy_out(kept.path, target, options.work / "log.txt")


def main():
    options, began = arguments(), time.monotonic()
    rows = all_rows(options.problems, options.all_types)
    here = chosen(rows, options)
    if options.list:
        for at, (name, asked) in enumerate(rows.items()):
            if name in here:
                print(at, name, asked["operator"], asked["shape"], *(f"{k}={v}" for k, v in asked["parameters"].items()))
        return
    kept, ready = Kept(options.work / "rows.jsonl"), Kept(options.work / "ready.jsonl")
    if not options.table:
        wanted = {name: asked for name, asked in here.items() if options.again or name not in kept.all}
        environment = os.environ | {"XDG_CACHE_HOME": str(options.work / "cache"), "TORCHINDUCTOR_CACHE_DIR": str(options.work / "inductor")}
        with open(options.work / "log.txt", "a") as log:
            log.write(f"{datetime.datetime.now().isoformat(timespec='seconds')} {' '.join(sys.argv)}\n")
            prepare(wanted, ready, environment, options, log)
            for given in False, True:  # of these PyTorch's times are
                part = {name: asked for name, asked in wanted.items() if ("baselines" in ready.all.get(name, {})) == given}
                measure(part, ready, kept, environment, options, log, began)
        print(f"{len(wanted)} rows took {time.monotonic() - began:.0f} s", flush=True)
    write_table(rows, kept, options)


if __name__ == "__main__":
    main()
