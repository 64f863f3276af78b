#!/usr/bin/env python3
"""Lets KernelBench judge autotune's winners for the problems of its level 1, with KernelBench's own functions.

    scripts/kernelbench.py CHECKOUT [--level 2] [--search SECONDS] [--only N...] [--compile]

CHECKOUT is a clone of https://github.com/ScalingIntelligence/KernelBench. scripts/kernelbench.txt lists the operator,
shape and parameters of each problem. A problem's winner is searched, exported as a PyTorch module, read by KernelBench's
static checker and evaluated by its eval_kernel_against_ref: five correctness trials, then the times of both. Modules
are compiled while other problems are searched or judged. The exit code is 1 if a problem failed.

Results are stored in the folder of --work: rows.jsonl has a line for each problem, and the same command continues where
the last one ended. The page is docs/results/<gpu>/kernelbench-level1.md.

Problems of level 2 are programs: `autotune optimize` writes the module, and the row lists its regions.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import datetime
import importlib.metadata
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from kept import AUTOTUNE, ROOT, Failed, Kept, between, results_page, table
from kernelbench_judge import TRIALS, Judge

COMPILE_LIMIT_S = 120

# Code after an exported module, for problems whose sizes come in another order.
ADAPTER = '''

class ModelOfProblem(ModelNew):
    """The module of the tuned problem, whatever the order of the arguments that name its sizes."""

    def __init__(self, *sizes):
        super().__init__(*ARGUMENTS)
'''

# Code after an exported module, for problems whose inputs come in another order.
REORDERED = '''
    def forward(self, *inputs):
        return super().forward(PASSED)
'''

# Compiles a module for a GPU that this process cannot see, so that measurements are not disturbed.
COMPILE = """
import runpy, sys, types
module = runpy.run_path(sys.argv[1])
gpu = types.SimpleNamespace(major=int(sys.argv[2]), minor=int(sys.argv[3]))
module["compiled"](module["architecture"](gpu), True)
"""

STORY = """# KernelBench's judgement of {title}

{gpu}, PyTorch {torch}, KernelBench at commit {commit}, {dates}, by
`scripts/kernelbench.py CHECKOUT --level {level} --search {search:g}`.

{how} *Correct* counts KernelBench's trials in which the outputs agree with PyTorch's within 1e-4 (absolute and
relative). Times are means over {trials} samples by its `eval_kernel_against_ref`, and for torch.compile by its timing
function (CUDA events, cold L2); inputs were made on the GPU.{behind}"""

OPERATORS = {"title": "every problem of its level 1 that is an operator", "how": """\
scripts/kernelbench.txt has each problem's operator, shape and parameters. Each was searched for at most {search:g} s
in the math mode that PyTorch computes it in. The winner was exported by `autotune export --format pytorch`, and a
class behind the module makes the tuned problem's module whatever the order of KernelBench's arguments. *Tried* are
the variants that the search evaluated.""", "behind": """ Unlike in KernelBench, labels and masks keep their types \
and are not cast to float32."""}

PROGRAMS = {"title": "programs of its level 2", "how": """\
`autotune optimize` read each problem's graph, searched its regions for {search:g} s in all, and wrote ModelNew. *Kernels*
lists the operators of the regions, whose epilogues compute the rest; *PyTorch's* lists the calls that no kernel computes.
Products are in plain fp32 and convolutions in TF32, as PyTorch computes them by default.""", "behind": """

The table has every problem that was tried. These mean little: the output of 23, 80 and 83 does not depend on the root;
that of 9, 36, 58 and 93 is constant with these inputs and weights. No kernel here uses that."""}

HEAD = ("problem", "autotune's", "winner", "tried", "correct", "static checker", "ms", "eager, ms", "speedup",
        "torch.compile, ms", "speedup")
PROGRAM_HEAD = {"winner": "kernels", "tried": "PyTorch's"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("checkout", type=pathlib.Path)
    add("--level", type=int, default=1, choices=(1, 2))
    add("--search", type=float, default=2, metavar="SECONDS", help="how long a problem is searched")
    add("--only", type=int, nargs="+", metavar="N", help="numbers of problems")
    add("--compile", action="store_true", help="time torch.compile, too")
    add("--again", action="store_true", help="judge problems again that were judged")
    add("--work", type=pathlib.Path, default=ROOT / "bench-out/kernelbench", help="folder for all that is kept")
    options = parser.parse_args()
    if not (options.checkout / f"KernelBench/level{options.level}").is_dir():
        parser.error(f"{options.checkout} is no clone of KernelBench: it has no folder KernelBench/level{options.level}")
    return options


@dataclasses.dataclass
class Problem:
    """A problem of level 1 as a line of scripts/kernelbench.txt describes it, or a program of level 2."""

    level: int
    number: int
    file: pathlib.Path
    operator: str = "program"
    text: str = ""  # shape and parameters
    arguments: str = ""  # arguments of the exported module, or "" for its own
    passed: str = ""  # what forward takes of the problem's `inputs`, or "" for those

    @property
    def name(self):
        return f"level{self.level}-{self.number}"


def wanted_of(options):
    folder = options.checkout / f"KernelBench/level{options.level}"
    files = {int(f.name.split("_")[0]): f for f in sorted(folder.glob("*.py"))}
    if options.level == 2:
        yield from (Problem(2, number, files[number]) for number in options.only or sorted(files))
        return
    for line in (ROOT / "scripts/kernelbench.txt").read_text().splitlines():
        if not line.startswith("#"):
            asked, arguments, passed = [*map(str.strip, line.split("|")), "", ""][:3]
            number, operator, text = asked.split(" ", 2)
            if int(number) in (options.only or files):
                yield Problem(1, int(number), files[int(number)], operator, text, arguments, passed)


def autotune(words, limit, environment):
    try:
        command = [AUTOTUNE, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        raise Failed(f"autotune {words[0]} took more than {limit:.0f} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Failed(said[-1].removeprefix("autotune: "))
    return done.stdout


class Bench:
    """Searches, exports, compiles and judges problems."""

    def __init__(self, options, cache):
        self.options, self.judge = options, Judge(options.checkout, options.compile)
        self.environment = os.environ | {"XDG_CACHE_HOME": cache}
        # A module needs two compiler processes, and searches compile as well.
        self.compilers = concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 3))

    def begin(self, problem):
        """Searches and exports a problem. Returns its row so far, the module, and the running compilation."""
        row, module = self.program(problem) if problem.level == 2 else self.operator(problem)
        return row, module, self.compilers.submit(self.compile, module)

    def program(self, problem):
        module, seconds = self.options.work / f"{problem.name}.py", f"{self.options.search:g}s"
        flags = ["--device", "cuda", "--time", seconds, "--budget", seconds, "--untimed", "--quiet", "-o", module]
        said = autotune(["optimize", problem.file, *flags], 120 + 5 * self.options.search, self.environment)
        module.with_suffix(".txt").write_text(said)
        regions = re.findall(r"^region_\d+ +(?!left)(\S+)", said, re.MULTILINE)
        left = re.findall(r"^PyTorch's +(\S+)", said, re.MULTILINE)
        return {"winner": ", ".join(regions), "tried": ", ".join(left)}, module

    def operator(self, problem):
        best = self.options.work / f"{problem.name}_{problem.operator}.json"
        module = best.with_suffix(".py")
        seconds, (shape, *settings) = self.options.search, problem.text.split()
        words = ["search", problem.operator, "--shape", shape, *(word for s in settings for word in ("--set", s))]
        flags = ["--math", "auto", "--device", "cuda", "--time", f"{seconds:g}s", "--quiet", "--json", best]
        autotune([*words, *flags], 60 + 5 * seconds, self.environment)
        autotune(["export", "--from", best, "--format", "pytorch", "-o", module], 60, self.environment)
        given = f"({problem.arguments},)" if problem.arguments else "get_init_inputs()"
        adapter = ADAPTER + (REORDERED.replace("PASSED", problem.passed) if problem.passed else "")
        adapter = adapter.replace("ARGUMENTS", given) + "\n\nModelNew = ModelOfProblem\n"
        module.write_text(module.read_text() + adapter)
        document = json.loads(best.read_text())
        winner = ", ".join(filter(None, (document["template"], document["problem"].get("math"))))
        return {"winner": winner, "tried": document["search"]["evaluations"]}, module

    def compile(self, module):
        """Compiles a module at low priority, since other problems are measured at the same time."""
        command = ["nice", "-n", "19", sys.executable, "-c", COMPILE, module, *map(str, self.judge.capability)]
        with open(module.with_suffix(".log"), "w") as log:
            unseen = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
            subprocess.run(command, stdout=log, stderr=log, env=unseen, timeout=COMPILE_LIMIT_S)

    def finish(self, problem, row, module, compilation):
        """Returns the finished row after the compilation. If it failed, KernelBench reports the error."""
        try:
            compilation.result()
            return row | self.judge.ask(problem.file, module)
        except subprocess.TimeoutExpired:
            return row | {"fault": f"was not compiled in {COMPILE_LIMIT_S} s"}

    def rows(self, wanted, done):
        """Calls done(problem, row) for each problem."""
        waiting = collections.deque()
        for problem in wanted:
            try:
                waiting.append((problem, *self.begin(problem)))
            except Exception as e:  # an error in one problem becomes its row
                done(problem, {"fault": str(e) if isinstance(e, Failed) else f"{type(e).__name__}: {e}"})
            while waiting and waiting[0][-1].done():
                done(waiting[0][0], self.finish(*waiting.popleft()))
        while waiting:
            done(waiting[0][0], self.finish(*waiting.popleft()))


def speedup(row, over="eager"):
    """Returns the speedup over PyTorch, if both times are known."""
    return row[over] / row["ms"] if row.get("ms", -1) > 0 and row.get(over, -1) > 0 else None


def over_the_better(row):
    """Returns the speedup over the faster of eager and torch.compile."""
    return min(filter(None, (speedup(row), speedup(row, "compile"))), default=None)


def passed(row):
    return bool(row.get("correct") and row["valid"])


def cells(row):
    times = {name: f"{row[name]:.3g}" if row.get(name, -1) > 0 else "" for name in ("ms", "eager", "compile")}
    factors = {over: f"{speedup(row, over):.2f}" if speedup(row, over) else "" for over in ("eager", "compile")}
    correct = ": ".join(filter(None, (row.get("trials"), row.get("fault"))))
    static = row.get("static", "")
    first = [row["title"], row["problem"], row.get("winner", ""), row.get("tried", ""), correct, static]
    if row.get("level") == 2:  # the file contains Model, whose calls the checker warns of
        del first[1]
        first[-1] = "valid" if row.get("valid") else static
    return [*first, times["ms"], times["eager"], factors["eager"], times["compile"], factors["compile"]]


def summary(rows):
    """Summarizes all rows in a few sentences."""
    said = f"Correct, and valid for the static checker: {sum(map(passed, rows))} of {len(rows)}."
    timed = sorted((over_the_better(row), row["number"]) for row in rows if passed(row) and speedup(row))
    if not timed:
        return said
    mean, (least, worst) = statistics.geometric_mean(factor for factor, _ in timed), timed[0]
    slower = ", ".join(f"{number} ({factor:.2f}x)" for factor, number in timed if factor < 1)
    return (f"{said} Over the better of eager and torch.compile {mean:.2f}x in the geometric mean of {len(timed)}, {least:.2f}x at worst "
            f"({worst}). Slower than PyTorch: {slower or 'no problem'}.")


def write_page(kept, options, gpu):
    rows = sorted(kept.all.values(), key=lambda row: row["number"])
    command = ["git", "-C", options.checkout, "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"
    rows = [row for row in rows if row.get("level", 1) == options.level]
    about = OPERATORS if options.level == 1 else PROGRAMS
    given = {"gpu": gpu, "torch": importlib.metadata.version("torch"), "commit": commit, "trials": TRIALS,
             "dates": between([row["date"] for row in rows]), "search": options.search, "level": options.level}
    story = STORY.format(**about | given | {"how": about["how"].format(**given)})
    head = HEAD if options.level == 1 else [PROGRAM_HEAD.get(name, name) for name in HEAD if name != "autotune's"]
    parts = [story, table(head, map(cells, rows)), summary(rows)]
    page = results_page(gpu, f"kernelbench-level{options.level}.md")
    page.write_text("\n\n".join(parts) + "\n")
    print(f"wrote {page}: {len(rows)} rows")


def main():
    options = arguments()
    kept = Kept(options.work / "rows.jsonl")
    wanted = [p for p in wanted_of(options) if options.again or p.name not in kept.all]

    def done(problem, row):
        title = re.sub("[ _]+", " ", problem.file.stem).strip()
        about = {"level": problem.level, "number": problem.number, "title": title, "operator": problem.operator}
        about |= {"problem": f"{problem.operator} {problem.text}", "date": str(datetime.date.today())}
        kept.keep(problem.name, about | row)
        print(" | ".join(map(str, cells(kept.all[problem.name]))), flush=True)

    with tempfile.TemporaryDirectory() as cache:
        bench = Bench(options, cache)
        bench.rows(wanted, done)
    write_page(kept, options, bench.judge.gpu)
    sys.exit(0 if all(map(passed, kept.all.values())) else 1)


if __name__ == "__main__":
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", str(ROOT / "build/torch_extensions"))
    main()
