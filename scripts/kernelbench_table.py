"""The table of KernelBench's judgements, in Markdown, and what it comes to."""
import statistics

HEAD = ("problem of level 1", "autotune's", "winner", "tried", "correct", "static checker", "ms", "eager ms", "speedup")
COMPILED = ("torch.compile ms", "speedup")
NUMBERS = ("ms", "speedup", "tried")


def story(options, gpu, kernelbench):
    """What stands above the table."""
    inputs = "the CPU, as KernelBench does" if options.inputs == "cpu" else "the GPU"
    return f"""# KernelBench's judgement of every problem of its level 1 that is an operator's

{gpu.name}, PyTorch {gpu.torch}, {kernelbench}.

Shapes and parameters are read off the problems' own models. Each was searched for at most {options.search:g} s in the math mode
that PyTorch computes it in, all with one cache that was empty at first; the winner was exported by `autotune export --format pytorch`, and a class
behind the module makes the tuned problem's module whatever the order of KernelBench's arguments. *Tried* are the variants that the search evaluated. *Correct* counts KernelBench's trials in
which the outputs agree with PyTorch's within 1e-4 (absolute and relative). Times are means over {options.trials} samples by its
`eval_kernel_against_ref`, inputs were made on {inputs}. Unlike there, labels and masks keep their types and are not cast to float32. By `scripts/kernelbench.py CHECKOUT --search {options.search:g}`.
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


def mean(timed):
    return f"{statistics.geometric_mean(t[0] for t in timed):.2f}x"
