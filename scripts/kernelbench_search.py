"""Searches, exports and has KernelBench judge every problem of its level 1 that is an
operator of autotune's. While one problem is searched and another judged, the modules of
the problems between them are compiled."""
import collections
import dataclasses
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import kernelbench_problems
import kernelbench_table
from kernelbench_judge import Judge, NoAnswer
from torch_operators import CONVOLUTIONS

ROOT = pathlib.Path(__file__).resolve().parent.parent
AUTOTUNE = os.environ.get("AUTOTUNE", ROOT / "bin/autotune")
COMPILE_LIMIT_S = 120

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


def autotune(arguments, limit):
    """Runs a command of autotune's."""
    try:
        done = subprocess.run([AUTOTUNE, *arguments], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Refused(f"autotune {arguments[0]} took more than {limit:.0f} s") from None
    if done.returncode:
        words = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Refused(words[-1].removeprefix("autotune: "))


def math_of(problem, judge):
    """The math mode that PyTorch computes the problem in. `auto` asks the same; asking here saves
    each search PyTorch's start."""
    if problem.operator not in CONVOLUTIONS or problem.operator == "depthwise_conv2d":
        return "auto"
    try:
        return judge.ask("math", problem.operator, problem.shape, problem.parameters) or "auto"
    except NoAnswer:
        return "auto"


def compiling(module, capability, log):
    """A process that compiles a module, behind all that is measured meanwhile."""
    command = ["nice", "-n", "19", sys.executable, "-c", COMPILE, module, *map(str, capability)]
    blind = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    with open(log, "w") as said:
        return subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=blind, start_new_session=True)


def prepare(problem, judge, gpu, seconds, folder):
    """Searches, exports, and begins to compile."""
    began = time.monotonic()
    name = f"level1_{problem.number}_{problem.operator}"
    best, module, log = (folder / f"{name}.{ending}" for ending in ("json", "py", "log"))
    flags = ["--math", math_of(problem, judge), "--device", "cuda", "--time", f"{seconds:g}s", "--quiet", "--json", best]
    autotune(["search", *problem.flags(), *flags], 60 + 5 * seconds)
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
        self.began = time.monotonic()
        self.budget = budget
        self.took = []

    def left(self):
        return self.budget - (time.monotonic() - self.began) if self.budget else math.inf

    def enough(self):
        return self.left() > (statistics.mean(self.took) if self.took else 0)

    def stop(self, candidate):
        self.took.append(time.monotonic() - candidate.began)


def rows(problems, judge, gpu, options, folder, clock):
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

    for problem in problems:
        if not clock.enough():
            yield problem, {"late": True}
            continue
        if len(waiting) == slots:
            yield next_one()
        try:
            waiting.append(prepare(problem, judge, gpu, options.search, folder))
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
        if options.only and number not in options.only:
            continue
        try:
            found.append(kernelbench_problems.derive(number, file))
        except kernelbench_problems.NotCovered as e:
            others.append(f"- {number} {kernelbench_problems.title(file)}: {e}")
    return kernelbench_problems.most_different_first(found), others


def list_problems(options):
    """Prints them, as autotune's command line calls them."""
    problems, others = covered(options)
    for problem in problems:
        print(problem.number, problem.title + ":", *problem.flags())
    print("", "Left out:", *others, sep="\n")


def run(options, results_folder, described):
    """Judges all; whether nothing failed."""
    clock = Clock(options.budget)
    judge = Judge(options)
    problems, others = covered(options)
    try:
        gpu = judge.ask("about")
    except NoAnswer as e:
        sys.exit(f"kernelbench.py: PyTorch, KernelBench and a GPU are needed together: {e}")
    out = options.out or results_folder(gpu.name) / "kernelbench-level1.md"
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = ROOT / "build/exported"
    folder.mkdir(parents=True, exist_ok=True)
    judgements = []
    with open(out, "w") as file, tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache

        def write(*lines):
            for text in lines:
                print(text, flush=True)
                print(text, file=file, flush=True)

        write(kernelbench_table.story(options, gpu, described), *kernelbench_table.head(options))
        for problem, row in rows(problems, judge, gpu, options, folder, clock):
            judgements.append((problem, row))
            write(kernelbench_table.line(problem, row, options))
        write("", *kernelbench_table.summary(judgements))
        if others:
            write("", "Left out:", "", *others)
    judged_rows = [row for _, row in judgements if "late" not in row]
    return bool(judged_rows) and all(map(kernelbench_table.passed, judged_rows))
