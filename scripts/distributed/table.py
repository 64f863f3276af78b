"""Prints what scripts/bench-distributed.sh found: table.py FOLDER GPU"""
import datetime
import json
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from kept import configuration, table  # noqa: E402


def read(folder, name):
    """A run's documents, and the seconds that its process took; none if it failed."""
    try:
        with open(os.path.join(folder, name + ".json")) as file:
            d = json.load(file)
        with open(os.path.join(folder, name + ".wall")) as file:
            return d if isinstance(d, list) else [d], float(file.read())
    except FileNotFoundError:
        return [], 0


def tied(d):
    """All that a search could not tell from its winner."""
    return {configuration(d)} | {configuration(t) for t in d.get("ties", [])}


def rate(d):
    """Trials a second, from the search's start until its finals."""
    return d["search"]["evaluations"] / (d["search"]["seconds"] - d["search"]["spent"]["finals"])


def ended(d):
    """When a search had its result, in seconds."""
    whole, _, part = d["recorded_at"].rstrip("Z").partition(".")
    return datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").timestamp() + float("0." + (part or "0"))


def show(head, rows):
    print(table(head, rows) + "\n")


def searches(folder):
    rows, winners, driver = [], [], ""
    for file in sorted(os.listdir(folder)):
        operator, ok, _ = file.partition(".1.json")
        if not ok or operator == "problems":
            continue
        runs = [read(folder, f"{operator}.{n}") for n in (1, 2)]
        if not all(documents for documents, _ in runs):
            continue
        one, two = runs[0][0][0], runs[1][0][0]
        driver = f"driver {one['device'].get('driver', 'unknown')}, {one['device'].get('compiler', '')}"
        both = tied(one) & tied(two)
        rows.append([
            one["problem"]["text"], f"{one['search']['evaluations']}", f"{two['search']['evaluations']}", f"{rate(one):.1f}", f"{rate(two):.1f}",
            f"**{rate(two) / rate(one):.2f}x**", f"{runs[0][1]:.1f} s, {runs[1][1]:.1f} s",
        ])
        for n, d in ((1, one), (2, two)):
            winners.append([operator, n, configuration(d), f"{d['time_ms']['median']:.4g}", len(tied(d)), len(both),
                            "yes" if both & {configuration(one), configuration(two)} else "no"])
    return driver, rows, winners


def problems(folder):
    rows, rates = [], []
    for n in (1, 2):
        documents, wall = read(folder, f"problems.{n}")
        if not documents:
            return []
        trials = sum(d["search"]["evaluations"] for d in documents)
        ends = [ended(d) for d in documents]
        span = max(ends) - min(e - d["search"]["seconds"] for e, d in zip(ends, documents))
        rates.append(trials / span)
        rows.append([n, len(documents), trials, f"{span:.1f}", f"{wall:.1f}", f"{trials / span:.1f}", f"{rates[-1] / rates[0]:.2f}x"])
    return rows


def main(folder, gpu):
    driver, rows, winners = searches(folder)
    print("# One GPU and two\n")
    print(f"{gpu}, {driver + ', ' if driver else ''}{datetime.date.today()}, by scripts/bench-distributed.sh.\n")
    if rows:
        print("Trials a second are those from the search's start until its finals; the seconds are of the whole process.\n")
        show(["problem", "trials, one GPU", "two", "a second, one GPU", "two", "ratio", "seconds"], rows)
        show(["search", "GPUs", "winner", "ms", "tied", "tied in both", "a winner of one ties with the other's"], winners)
    many = problems(folder)
    if many:
        print("Problems side by side, one on each GPU, from the start of the first search to the end of the last:\n")
        show(["GPUs", "problems", "trials", "seconds", "seconds of the process", "trials a second", "of one GPU's"], many)


main(*sys.argv[1:])
