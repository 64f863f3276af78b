#!/usr/bin/env python3
"""Prints, of recordings of searches, how far the best of the first N evaluations is behind the
best of all, as a table in Markdown. N counts the defaults and what has the lowest estimates.

    scripts/first_tries.py N RECORDING.json.gz ...
"""

import gzip
import json
import sys


def times(path):
    """The problem, and the milliseconds of a recording's trials in order, infinite where wrong."""
    opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    with opened:
        document = json.load(opened)
    results = sorted(document["results"], key=lambda r: r["timestamp"])
    return document["metadata"]["problem"], [
        next((m["value"] for m in r["measurements"] if m["name"] == "time"), float("inf")) for r in results
    ]


def main(first, paths):
    print(f"| problem | evaluations | best of the first {first}, ms | best, ms | behind |")
    print("| --- | --- | --- | --- | --- |")
    product, worst = 1.0, 0.0
    for path in paths:
        problem, all_times = times(path)
        early, best = min(all_times[:first]), min(all_times)
        product *= early / best
        worst = max(worst, early / best - 1)
        print(f"| {problem} | {len(all_times)} | {early:.4g} | {best:.4g} | {early / best - 1:.1%} |")
    if paths:
        print(f"\nGeometric mean: {product ** (1 / len(paths)) - 1:.1%} behind, at most {worst:.1%}.")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
