"""Prints what scripts/bench-trust.sh found: python3 table.py FOLDER GPU"""
import collections
import datetime
import glob
import gzip
import json
import os
import pathlib
import re
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from kept import configuration as name, table  # noqa: E402


def ms(document):
    return document["time_ms"]["median"]


def read(folder):
    """The documents by part of the script and operator, in the order of their seeds."""
    runs = collections.defaultdict(lambda: collections.defaultdict(dict))
    for path in glob.glob(os.path.join(folder, "*.json")):
        part, operator, seed = re.fullmatch(r"(?:(\w+)\.)?(.+)-(\d+)\.json", os.path.basename(path)).groups()
        with open(path) as file:
            runs[part or operator][operator][int(seed)] = json.load(file)
    return {part: {o: [seeds[s] for s in sorted(seeds)] for o, seeds in sorted(operators.items())} for part, operators in runs.items()}


def tied(a, b):
    """Whether the winner of b is one of those that a's search cannot tell from its own."""
    return name(a) == name(b) or name(b) in [name(t) for t in a.get("ties", [])]


def show(head, rows):
    print(table(head, rows) + "\n")


def behind(slow, fast):
    return f"{100 * (slow / fast - 1):.2f} %"


def twins(runs):
    whole = sum(len(run.get("ties", [])) == 10 for run in runs)
    winners = collections.Counter(name(run) for run in runs)
    print(f"One kernel under ten names, {len(runs)} searches: all ten tie in {whole}; "
          f"the winner is {', '.join(f'{w} ({n} times)' for w, n in winners.most_common())}.\n")


def seeds(operators):
    rows, total = [], 0
    for operator, runs in operators.items():
        times = [ms(d) for d in runs]
        pairs = [(a, b) for a in runs for b in runs if a is not b]
        following = list(zip(runs, runs[1:]))
        mean = statistics.mean(d["search"]["seconds"] for d in runs)
        total += mean
        rows.append([
            operator, len(runs), len({name(d) for d in runs}), behind(max(times), min(times)),
            f"{sum(name(a) != name(b) for a, b in following)} of {len(following)}",
            f"{sum(tied(a, b) for a, b in pairs)} of {len(pairs)}",
            f"{min(d['trials']['total'] for d in runs)} to {max(d['trials']['total'] for d in runs)}", f"{mean:.1f}",
            ", ".join(f"{stop} {n}" for stop, n in collections.Counter(d["search"]["stop"] for d in runs).most_common()),
        ])
    print("Searches without a flag, with one seed after another:\n")
    show(["operator", "searches", "winners", "medians apart", "another winner than the run before", "winner in the other's tie set",
           "trials", "seconds", "ended by"], rows)
    print(f"One search of each takes {total:.1f} s together.\n")


def long(operators, searched):
    print("Their medians beside that of a long search:\n")
    show(["operator", "seconds", "trials", "long search, ms", "the searches are behind by"], [
        [operator, f"{run['search']['seconds']:.0f}", run["trials"]["total"], f"{ms(run):.4g}",
         f"{behind(min(map(ms, searched[operator])), ms(run))} to {behind(max(map(ms, searched[operator])), ms(run))}"]
        for operator, (run,) in operators.items() if searched.get(operator)])


def oracle(operators, searched, folder):
    rows = []
    for operator, (run,) in operators.items():
        known = {}
        for path in glob.glob(os.path.join(folder, f"oracle-{operator}.json.gz")):
            with gzip.open(path) as file:
                for trial in json.load(file)["results"]:
                    if trial["times"]["runtimes"]:
                        known[json.dumps(trial["configuration"], sort_keys=True)] = statistics.median(trial["times"]["runtimes"])
        winners = [known[json.dumps({"template": d["template"], **d["configuration"]}, sort_keys=True)] for d in searched.get(operator, [])]
        if winners:
            best = min(known.values())
            rows.append([operator, len(known), f"{run['search']['seconds']:.0f}", f"{best:.4g}",
                         behind(min(winners), best), behind(statistics.mean(winners), best), behind(max(winners), best)])
    print("Spaces searched whole: where the winners of the searches stand there.\n")
    show(["operator", "configurations", "seconds", "best, ms", "regret at least", "mean", "at most"], rows)


def l2(cold, warm):
    print("The last winner with a cold and with a warm L2:\n")
    show(["operator", "cold, ms", "warm, ms", "cold over warm"], [
        [operator, f"{ms(run):.4g}", f"{ms(warm[operator][0]):.4g}", f"{ms(run) / ms(warm[operator][0]):.3f}"]
        for operator, (run,) in cold.items() if operator in warm])


def main(folder, gpu):
    runs = read(folder)
    first = next(iter(next(iter(runs.values())).values()))[0]
    print(f"{gpu}, driver {first['device'].get('driver', 'unknown')}, {datetime.date.today()}, by scripts/bench-trust.sh\n")
    if "twins" in runs:
        twins(runs["twins"]["twins"])
    searched = runs.get("seeds", {})
    if searched:
        seeds(searched)
    if "long" in runs:
        long(runs["long"], searched)
    if "oracle" in runs:
        oracle(runs["oracle"], searched, folder)
    if "cold" in runs:
        l2(runs["cold"], runs.get("warm", {}))


main(*sys.argv[1:])
