#!/usr/bin/env python3
"""Has KernelBench judge autotune's winners of its level 1 with its own functions.

    scripts/kernelbench.py CHECKOUT [--results FOLDER] [--out FILE]
    scripts/kernelbench.py CHECKOUT --search SECONDS [--budget SECONDS] [--only N...] [--out FILE]

CHECKOUT is a clone of https://github.com/ScalingIntelligence/KernelBench. The first judges the problems whose best configurations are
in FOLDER (by default docs/results/<gpu>, where make bench-gpu leaves them). The second judges every problem of level 1 that is an
operator of autotune's: it reads shape and parameters off the problem's model, and searches for so many seconds. The most different
problems come first. --list says which problems they are, and searches nothing.

Each winner is exported as a PyTorch module, read by KernelBench's static checker and evaluated by its eval_kernel_against_ref: five
correctness trials, then times of both. A row is in FILE (by default docs/results/<gpu>/kernelbench.md, or kernelbench-level1.md with
--search) as soon as it is known. With --budget no problem is begun that would not be done in time. The exit code is 1 if anything
failed. While one problem is searched and another judged, the modules of the problems between them are compiled.

Inputs are made on the CPU, as KernelBench does, which takes minutes for the largest; with --search or --inputs gpu on the GPU, from
another sequence. torch.compile is timed without --search, or with --compile.
"""
import argparse
import collections
import dataclasses
import json
import math
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import kernelbench_problems
import kept
import problems
from kernelbench_judge import Judge, NoAnswer
from problems import AUTOTUNE, ROOT

COMPILE_LIMIT_S = 120

# Problems of level 1 whose best configurations are kept.
KEPT = {45: "avg_pool2d.json", 44: "avg_pool1d.json", 42: "max_pool2d.json", 63: "conv2d-tf32.json", 82: "depthwise_conv2d.json"}

# What stands behind an exported module: problems name their sizes in orders of their own.
ADAPTER = '''

class ModelOfProblem(ModelNew):
    """The module of the tuned problem, whose sizes the arguments are, in whatever order."""

    def __init__(self, *sizes):
        super().__init__(*ARGUMENTS)
'''

# Of problems whose inputs come in another order.
REORDERED = '''
    def forward(self, *inputs):
        return super().forward(PASSED)
'''

# Compiles a module for a GPU that the process does not see, so that it disturbs no measurement.
COMPILE = """
import runpy, sys, types
module = runpy.run_path(sys.argv[1])
gpu = types.SimpleNamespace(major=int(sys.argv[2]), minor=int(sys.argv[3]))
module["compiled"](module["architecture"](gpu), True)
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path, help="folder of best configurations")
    parser.add_argument("--out", type=pathlib.Path, help="file to write the table to")
    parser.add_argument("--search", type=float, metavar="SECONDS", help="search every problem that is an operator's, for so long")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="how long all may take")
    parser.add_argument("--list", action="store_true", help="print the problems that --search would judge, and those that it would not")
    parser.add_argument("--inputs", choices=("cpu", "gpu"), help="where random inputs are made")
    parser.add_argument("--trials", type=int, default=100, help="samples of a time")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of problems")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, help="whether to time torch.compile")
    options = parser.parse_args()
    if not (options.checkout / "KernelBench/level1").is_dir():
        parser.error(f"{options.checkout} is no clone of KernelBench: it has no folder KernelBench/level1")
    if options.search is not None and options.search <= 0:
        parser.error("--search takes seconds, more than 0")
    if options.inputs is None:
        options.inputs = "gpu" if options.search else "cpu"
    if options.compile is None:
        options.compile = not options.search
    return options


class Refused(Exception):
    """Why a problem has no module, in a line."""


@dataclasses.dataclass
class Candidate:
    """A problem whose module is being compiled."""

    problem: kernelbench_problems.Problem
    began: float
    module: pathlib.Path
    winner: str
    tried: int  # variants that the search evaluated
    compiling: subprocess.Popen

    def give_up(self):
        if self.compiling.poll() is None:
            os.killpg(self.compiling.pid, signal.SIGKILL)


def autotune(words, limit):
    """Runs a command of autotune's."""
    try:
        done = subprocess.run([AUTOTUNE, *words], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Refused(f"autotune {words[0]} took more than {limit:.0f} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Refused(said[-1].removeprefix("autotune: "))


def math_of(problem, judge):
    """The math mode that PyTorch computes the problem in. `auto` asks the same; asking here saves
    each search PyTorch's start."""
    if not problem.operator.startswith("conv") or problem.operator == "conv_separable2d":
        return "auto"
    try:
        return judge.ask("math", problem.operator, problem.shape, problem.parameters) or "auto"
    except NoAnswer:
        return "auto"


def compiling(module, capability, log):
    """A process that compiles a module, behind all that is measured meanwhile."""
    command = ["nice", "-n", "19", sys.executable, "-c", COMPILE, module, *map(str, capability)]
    with open(log, "w") as said:
        return subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""}, start_new_session=True)


def prepare(problem, judge, gpu, options, folder):
    """Searches, unless the best configuration is kept; exports, and begins to compile."""
    began = time.monotonic()
    name = f"level1_{problem.number}_{problem.operator}"
    best, module, log = (folder / f"{name}.{ending}" for ending in ("json", "py", "log"))
    if options.search:
        flags = ["--math", math_of(problem, judge), "--device", "cuda", "--time", f"{options.search:g}s", "--quiet", "--json", best]
        autotune(["search", *problem.flags(), *flags], 60 + 5 * options.search)
    else:
        best = options.results / KEPT[problem.number]
    autotune(["export", "--from", best, "--format", "pytorch", "-o", module], 60)
    given = "get_init_inputs()" if problem.arguments is None else repr(problem.arguments)
    adapter = ADAPTER + (REORDERED.replace("PASSED", ", ".join(problem.passed)) if problem.passed else "")
    module.write_text(module.read_text() + adapter.replace("ARGUMENTS", given) + "\n\nModelNew = ModelOfProblem\n")
    document = json.loads(best.read_text())
    winner = ", ".join(filter(None, (document["template"], document["problem"].get("math"))))
    return Candidate(problem, began, module, winner, document["search"]["evaluations"], compiling(module, gpu.capability, log))


def judged(candidate, judge):
    """The row of a problem, once its module is compiled; if it was not, KernelBench says so."""
    row = {"winner": candidate.winner, "tried": str(candidate.tried)}
    try:
        candidate.compiling.wait(COMPILE_LIMIT_S)
        return row | judge.ask("evaluate", candidate.problem.file, candidate.module)
    except subprocess.TimeoutExpired:
        candidate.give_up()
        return row | {"refused": f"was not compiled in {COMPILE_LIMIT_S} s"}
    except NoAnswer as e:
        return row | {"refused": str(e)}


class Clock:
    """Tells whether there is time for one more problem: as long as those before it took, in the mean."""

    def __init__(self, budget):
        self.began, self.budget, self.took = time.monotonic(), budget, []

    def left(self):
        return self.budget - (time.monotonic() - self.began) if self.budget else math.inf

    def enough(self):
        return self.left() > (statistics.mean(self.took) if self.took else 0)

    def stop(self, candidate):
        self.took.append(time.monotonic() - candidate.began)


def rows(wanted, judge, gpu, options, folder, clock):
    """A row a problem as soon as it is there."""
    waiting = collections.deque()
    slots = max(1, os.cpu_count() // 3)  # a module takes two compilers, and searches compile too

    def next_one():
        candidate = waiting.popleft()
        if clock.left() <= 0:
            candidate.give_up()
            return candidate.problem, {"late": True}
        row = judged(candidate, judge)
        clock.stop(candidate)
        return candidate.problem, row

    for problem in wanted:
        if not clock.enough():
            yield problem, {"late": True}
            continue
        if len(waiting) == slots:
            yield next_one()
        try:
            waiting.append(prepare(problem, judge, gpu, options, folder))
        except Exception as e:  # one problem's trouble is a row, not the end
            yield problem, {"refused": str(e) if isinstance(e, Refused) else f"{type(e).__name__}: {e}"}
        while waiting and waiting[0].compiling.poll() is not None:
            yield next_one()
    while waiting:
        yield next_one()


def covered(options):
    """The problems that are an operator's, and of the others a line each."""
    found, others = [], []
    for number, file in kernelbench_problems.numbered(options.checkout).items():
        kept_alone = not options.search and not options.list
        if options.only and number not in options.only or kept_alone and number not in KEPT:
            continue
        try:
            found.append(kernelbench_problems.derive(number, file))
        except problems.NotCovered as e:
            others.append(f"- {number} {kernelbench_problems.title(file)}: {e}")
    return kernelbench_problems.most_different_first(found), others


HEAD = ("problem of level 1", "autotune's", "winner", "tried", "correct", "static checker", "ms", "eager ms", "speedup")
COMPILED = ("torch.compile ms", "speedup")
NUMBERS = ("ms", "speedup", "tried")


def story(options, gpu):
    """What stands above the table."""
    revision = subprocess.run(["git", "-C", options.checkout, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    at = f" at commit {revision.stdout.strip()}" if revision.returncode == 0 and (options.checkout / ".git").exists() else ""
    inputs = "the CPU, as KernelBench does" if options.inputs == "cpu" else "the GPU"
    how = (f"Each was searched for at most {options.search:g} s in the math mode that PyTorch computes it in, all with one cache that was empty at first."
           if options.search else "Best configurations are those of this folder.")
    command = "scripts/kernelbench.py CHECKOUT" + (f" --search {options.search:g}" if options.search else "")
    return f"""# KernelBench's judgement of {'every problem of its level 1 that is an operator' if options.search else 'the kept winners'}

{gpu.name}, PyTorch {gpu.torch}, Python {platform.python_version()}, KernelBench{at}.

Shapes and parameters are read off the problems' own models. {how} The winner was exported by `autotune export --format pytorch`, and a
class behind the module makes the tuned problem's module whatever the order of KernelBench's arguments. *Tried* are the variants that
the search evaluated. *Correct* counts KernelBench's trials in which the outputs agree with PyTorch's within 1e-4 (absolute and
relative). Times are means over {options.trials} samples by its `eval_kernel_against_ref`, those of torch.compile by its timing function
(CUDA events, cold L2); inputs were made on {inputs}. Unlike there, labels and masks keep their types and are not cast to float32. By `{command}`.
"""


def head(options):
    names = HEAD + (COMPILED if options.compile else ())
    marks = ["---:" if name.endswith(NUMBERS) else "---" for name in names]
    return [f"| {' | '.join(names)} |", f"| {' | '.join(marks)} |"]


def line(problem, row, options):
    """A row of the table: of an evaluation, or of why there is none."""
    cells = [f"{problem.number} {problem.title}", str(problem), row.get("winner", ""), row.get("tried", "")]
    if "late" in row or "refused" in row:
        cells += [row.get("refused", "no time left"), "", "", "", ""]
    else:
        fault = f": {row['fault']}" if "fault" in row else ""
        cells += [row["trials"].strip("()").replace(" / ", " of ") + fault, row["static"]]
        cells += [f"{row[name]:.3g}" if row[name] > 0 else "" for name in ("ms", "eager")]
        cells += [f"{speedup(row):.2f}" if speedup(row) else ""]
    if options.compile:
        known = row.get("compile", -1)
        cells += [f"{known:.3g}", f"{known / row['ms']:.2f}"] if known > 0 and row["ms"] > 0 else ["", ""]
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def speedup(row):
    """Over PyTorch, where both times are known."""
    return row["eager"] / row["ms"] if row.get("ms", -1) > 0 and row["eager"] > 0 else None


def passed(row):
    return bool(row.get("correct") and row["valid"])


def mean(timed):
    return f"{statistics.geometric_mean(t[0] for t in timed):.2f}x"


def summary(judgements):
    """All rows in a few sentences."""
    there = [(problem, row) for problem, row in judgements if "late" not in row]
    said = f"Correct, and valid for the static checker: {sum(passed(row) for _, row in there)} of {len(there)}."
    if len(there) < len(judgements):
        said += f" There was no time for {len(judgements) - len(there)} more."
    timed = sorted((speedup(row), problem.number, problem.operator) for problem, row in there if passed(row) and speedup(row))
    if not timed:
        return [said]
    least, worst, _ = timed[0]
    slower = ", ".join(f"{number} ({s:.2f}x)" for s, number, _ in timed if s < 1)
    said += f" Over PyTorch eager {mean(timed)} in the geometric mean of {len(timed)}, {least:.2f}x at worst (problem {worst})."
    groups = [(operator, [t for t in timed if t[2] == operator]) for operator in sorted({o for *_, o in timed})]
    by_operator = ", ".join(f"{operator} {mean(group)} of {len(group)}" for operator, group in groups)
    return [said, f"By operator: {by_operator}.", f"Slower than PyTorch: {slower or 'none'}."]


def run(options):
    """Judges all; whether nothing failed."""
    clock, judge = Clock(options.budget), Judge(options)
    wanted, others = covered(options)
    try:
        gpu = judge.ask("about")
    except NoAnswer as e:
        sys.exit(f"kernelbench.py: PyTorch, KernelBench and a GPU are needed together: {e}")
    page = kept.results_page(gpu.name, "kernelbench-level1.md" if options.search else "kernelbench.md")
    options.results = options.results or page.parent
    folder = ROOT / "build/exported"
    folder.mkdir(parents=True, exist_ok=True)
    judgements = []
    with open(options.out or page, "w") as file, tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache

        def write(*lines):
            for text in lines:
                print(text, flush=True)
                print(text, file=file, flush=True)

        write(story(options, gpu), *head(options))
        for problem, row in rows(wanted, judge, gpu, options, folder, clock):
            judgements.append((problem, row))
            write(line(problem, row, options))
        write("", *summary(judgements))
        if others:
            write("", "Left out:", "", *others)
    judged_rows = [row for _, row in judgements if "late" not in row]
    return bool(judged_rows) and all(map(passed, judged_rows))


def main():
    options = arguments()
    if not options.list:
        sys.exit(0 if run(options) else 1)
    found, others = covered(options)
    for problem in found:
        print(problem.number, problem.title + ":", *problem.flags())
    print("", "Left out:", *others, sep="\n")


if __name__ == "__main__":
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", str(ROOT / "build/torch_extensions"))
    main()
