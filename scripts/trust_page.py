"""Prints what scripts/bench-trust.sh found, as a page: trust_page.py FOLDER GPU

FOLDER has best-config documents, NAME.json.
"""
import collections
import datetime
import gzip
import json
import pathlib
import re
import statistics
import sys

from kept import configuration, table


def ms(document):
    return document["time_ms"]["median"]


def configurations(document):
    """All that a search could not tell from its winner, the winner included."""
    return {configuration(d) for d in (document, *document.get("ties", []))}


def show(head, rows, before=""):
    if rows:
        print(before + table(head, rows) + "\n")


def behind(slow, fast):
    return f"{100 * (slow / fast - 1):.2f} %"


def trust(folder, gpu):
    runs = collections.defaultdict(lambda: collections.defaultdict(dict))  # part, operator, seed
    for path in folder.glob("*.json"):
        part, operator, seed = re.fullmatch(r"(?:(\w+)\.)?(.+)-(\d+)", path.stem).groups()
        runs[part or operator][operator][int(seed)] = json.loads(path.read_text())
    runs = {part: {o: [seeds[s] for s in sorted(seeds)] for o, seeds in sorted(operators.items())}
            for part, operators in runs.items()}
    print("# How far a winner can be believed\n")
    device = next(iter(next(iter(runs.values())).values()))[0]["device"]
    words = [gpu, f"driver {device.get('driver', 'unknown')}", device.get("compiler", ""), str(datetime.date.today())]
    print(f"{', '.join(filter(None, words))}, by scripts/bench-trust.sh.\n")
    searched = runs.get("seeds", {})
    if "twins" in runs:
        twins(runs["twins"]["twins"])
    seeds(searched)
    show(["operator", "seconds", "trials", "long search, ms", "the searches are behind by"], [
        [operator, f"{run['search']['seconds']:.0f}", run["trials"]["total"], f"{ms(run):.4g}",
         " to ".join(behind(most(map(ms, searched[operator])), ms(run)) for most in (min, max))]
        for operator, (run,) in runs.get("long", {}).items() if searched.get(operator)],
        "Their medians beside that of a long search:\n\n")
    oracle(runs.get("oracle", {}), searched, folder)
    warm = runs.get("warm", {})
    show(["operator", "cold, ms", "warm, ms", "cold over warm"], [
        [operator, f"{ms(run):.4g}", f"{ms(warm[operator][0]):.4g}", f"{ms(run) / ms(warm[operator][0]):.3f}"]
        for operator, (run,) in runs.get("cold", {}).items() if operator in warm],
        "The last winner with a cold and with a warm L2:\n\n")


def twins(runs):
    whole = sum(len(configurations(run)) == 10 for run in runs)
    winners = collections.Counter(map(configuration, runs)).most_common()
    print(f"One kernel under ten names, {len(runs)} searches: all ten tie in {whole}; "
          f"the winner is {', '.join(f'{w} ({n} times)' for w, n in winners)}.\n")


def seeds(operators):
    rows, total = [], 0
    for operator, runs in operators.items():
        times, following = [ms(d) for d in runs], list(zip(runs, runs[1:]))
        pairs = [(a, b) for a in runs for b in runs if a is not b]
        seconds = statistics.mean(d["search"]["seconds"] for d in runs)
        total += seconds
        trials = [d["trials"]["total"] for d in runs]
        stops = collections.Counter(d["search"]["stop"] for d in runs).most_common()
        rows.append([
            operator, len(runs), len(set(map(configuration, runs))), behind(max(times), min(times)),
            f"{sum(configuration(a) != configuration(b) for a, b in following)} of {len(following)}",
            f"{sum(configuration(b) in configurations(a) for a, b in pairs)} of {len(pairs)}",
            f"{min(trials)} to {max(trials)}", f"{seconds:.1f}", ", ".join(f"{stop} {n}" for stop, n in stops),
        ])
    show(["operator", "searches", "winners", "medians apart", "another winner than the run before",
          "winner in the other's tie set", "trials", "seconds", "ended by"], rows,
         "Searches without a flag, with one seed after another:\n\n")
    if rows:
        print(f"One search of each takes {total:.1f} s together.\n")


def key(of):
    return json.dumps(of, sort_keys=True)


def oracle(operators, searched, folder):
    rows = []
    for operator, (run,) in operators.items():
        with gzip.open(folder / f"oracle-{operator}.json.gz") as file:
            trials = [t for t in json.load(file)["results"] if t["times"]["runtimes"]]
        known = {key(t["configuration"]): statistics.median(t["times"]["runtimes"]) for t in trials}
        found = [{"template": d["template"], **d["configuration"]} for d in searched.get(operator, [])]
        winners, best = [known[key(c)] for c in found], min(known.values())
        if winners:
            regrets = [behind(of(winners), best) for of in (min, statistics.mean, max)]
            rows.append([operator, len(known), f"{run['search']['seconds']:.0f}", f"{best:.4g}", *regrets])
    show(["operator", "configurations", "seconds", "best, ms", "regret at least", "mean", "at most"], rows,
         "Spaces searched whole: where the winners of the searches stand there.\n\n")


if __name__ == "__main__":
    trust(pathlib.Path(sys.argv[1]), sys.argv[2])
