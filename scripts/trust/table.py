"""Prints what scripts/bench-trust.sh found: python3 table.py FOLDER GPU"""
import collections
import datetime
import glob
import json
import os
import re
import sys


def name(winner):
    return winner["template"] + " " + " ".join(f"{k}={v}" for k, v in winner["configuration"].items())


def read(folder):
    """The best-config documents of the folder by operator, in the order of their seeds."""
    runs = collections.defaultdict(list)
    for path in glob.glob(os.path.join(folder, "*.json")):
        operator, seed = re.fullmatch(r"(.+)-(\d+)\.json", os.path.basename(path)).groups()
        with open(path) as file:
            runs[operator].append((int(seed), json.load(file)))
    return {operator: [document for _, document in sorted(list_, key=lambda r: r[0])] for operator, list_ in runs.items()}


def tied(a, b):
    """Whether the winner of b is one of those that a's search cannot tell from its own."""
    return name(a) == name(b) or name(b) in [name(t) for t in a.get("ties", [])]


def main(folder, gpu):
    runs = read(folder)
    first = next(iter(runs.values()))[0]
    print(f"{gpu}, driver {first['device'].get('driver', 'unknown')}, {datetime.date.today()}, by scripts/bench-trust.sh\n")
    twins = runs.pop("twins", [])
    if twins:
        whole = sum(len(run.get("ties", [])) == 10 for run in twins)
        winners = collections.Counter(name(run) for run in twins)
        print(f"One kernel under ten names, {len(twins)} searches: all ten tie in {whole}; "
              f"the winner is {', '.join(f'{w} ({n} times)' for w, n in winners.most_common())}.\n")
    if not runs:
        return
    print("| operator | searches | winners | apart | in each other's tie set | trials | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for operator, documents in sorted(runs.items()):
        times = [d["time_ms"]["median"] for d in documents]
        winners = collections.Counter(name(d) for d in documents)
        pairs = [(a, b) for a in documents for b in documents if a is not b]
        agree = sum(tied(a, b) for a, b in pairs)
        print(f"| {operator} | {len(documents)} | {len(winners)} | {100 * (max(times) / min(times) - 1):.2f} % | "
              f"{agree} of {len(pairs)} | {min(d['trials']['total'] for d in documents)} to {max(d['trials']['total'] for d in documents)} | "
              f"{sum(d['search']['seconds'] for d in documents) / len(documents):.1f} |")


main(*sys.argv[1:])
