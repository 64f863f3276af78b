#!/usr/bin/env python3
"""Prints, of recordings of searches, how far the best of what was evaluated until SECONDS after
the first evaluation is behind the best of all, as a table in Markdown.

    scripts/first_tries.py SECONDS RECORDING.json.gz ...
"""

import datetime
import gzip
import json
import sys


def trials(path):
    """The problem, and of each trial when it ended and its milliseconds, infinite where wrong."""
    opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    with opened:
        document = json.load(opened)
    return document["metadata"]["problem"], [
        (datetime.datetime.fromisoformat(r["timestamp"]),
         next((m["value"] for m in r["measurements"] if m["name"] == "time"), float("inf")))
        for r in document["results"]
    ]


def main(seconds, paths):
    print(f"| problem | evaluated | in {seconds:g} s | their best, ms | best of all, ms | behind |")
    print("| --- | --- | --- | --- | --- | --- |")
    product, worst = 1.0, 0.0
    for path in paths:
        problem, all_trials = trials(path)
        until = min(ended for ended, _ in all_trials) + datetime.timedelta(seconds=seconds)
        first = [ms for ended, ms in all_trials if ended <= until]
        early, best = min(first), min(ms for _, ms in all_trials)
        product *= early / best
        worst = max(worst, early / best - 1)
        print(f"| {problem} | {len(all_trials)} | {len(first)} | {early:.4g} | {best:.4g} | {early / best - 1:.1%} |")
    if paths:
        print(f"\nGeometric mean: {product ** (1 / len(paths)) - 1:.1%} behind, at most {worst:.1%}.")


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
