"""Writes the page of scripts/holes.py, with its rows as Markdown tables."""
import statistics

from kept import between, table

SLOWER = 0.95  # a speedup below this makes the row a hole
WAYS = ("torch_eager", "torch_compile")
HEAD = ("operator", "network", "problem", "math", "type", "layout", "winner", "ms", "eager, ms", "compile, ms",
        "over the better")
STORY = """{rows} of {wanted} rows were measured by `{command}`. A row is a problem of a network, searched by itself. \
The factor is the winner's over the better of PyTorch eager and torch.compile, timed in turns in the row's layout and \
type, with its 95 % interval."""


def better(row):
    """Returns the baseline of the faster way to run PyTorch, or None if PyTorch was not timed."""
    baselines = row.get("baselines") or {}
    return min((baselines[way] for way in WAYS if way in baselines), key=lambda b: b["speedup"], default=None)


def over_the_better(row):
    """Returns the speedup with its interval and whether outputs differ, or why there is no speedup."""
    if "fault" in row:
        return row["fault"]
    if not (found := better(row)):
        return next((w for w in row.get("warnings") or [] if "torch" in w.lower()), "PyTorch was not timed")
    text = f"{found['speedup']:.2f}x [{found['speedup_ci95'][0]:.2f}, {found['speedup_ci95'][1]:.2f}]"
    outputs = row["baselines"].get("torch_eager", {}).get("outputs") or {}
    if outputs.get("differing"):
        text += f": eager's output differs in {outputs['differing']} of {outputs['elements']} elements"
    return text


def cells(row):
    asked, parameters = row["asked"], dict(row["asked"]["parameters"])
    kind, layout = (parameters.pop(name, "") for name in ("type", "layout"))
    problem = " ".join([asked["shape"], *(f"{k}={v}" for k, v in parameters.items())])
    times = [row.get("time_ms", {}).get("median")]
    times += [(row.get("baselines") or {}).get(way, {}).get("time_ms") for way in WAYS]
    return [
        asked["operator"], asked["network"], problem, row.get("math", asked["math"]), kind, layout,
        row.get("template", ""), *(f"{ms:.4g}" if ms else "" for ms in times), over_the_better(row),
    ]


def by_operator(timed):
    """Returns a line for each operator: the number of rows, the geometric mean and the lowest speedup."""
    groups = {}
    for row in timed:
        groups.setdefault(row["asked"]["operator"], []).append(better(row)["speedup"])
    lines = sorted((statistics.geometric_mean(factors), operator, factors) for operator, factors in groups.items())
    cells = [(operator, len(f), f"{mean:.2f}x", f"{min(f):.2f}x") for mean, operator, f in lines]
    return table(("operator", "rows", "over the better", "lowest"), cells)


def measured_on(rows):
    """Returns the device, the driver, PyTorch's version and the dates as text."""
    found = [row for row in rows if "device" in row]
    if not found:
        return "Nothing was found on any device."
    device, torch = found[-1]["device"], found[-1]["torch"]
    when = between([row["recorded_at"][:10] for row in found if row.get("recorded_at")])
    driver, compiler = device.get("driver", "unknown"), device.get("compiler", "")
    return f"{device['name']}, driver {driver}, {compiler}, PyTorch {torch}, {when}."


def page(rows, wanted, command):
    timed = sorted((row for row in rows if better(row)), key=lambda row: better(row)["speedup"])
    others = [row for row in rows if not better(row)]
    slower = [row for row in timed if better(row)["speedup"] < SLOWER]
    parts = ["# Every operator, layout and type beside PyTorch", measured_on(rows)]
    parts.append(STORY.format(rows=len(rows), wanted=wanted, command=command))
    if timed:
        factors = [better(row)["speedup"] for row in timed]
        mean, behind = statistics.geometric_mean(factors), sum(f < 1 for f in factors)
        parts.append(f"Over the better of PyTorch: {mean:.2f}x in the geometric mean of {len(factors)} rows. "
                     f"{len(slower)} of them are below {SLOWER}x, {behind} below 1x.")
    parts += [f"## Below {SLOWER}x", table(HEAD, map(cells, slower)) if slower else "No row."]
    if others:
        parts += ["## Without a factor", table(HEAD, map(cells, others))]
    if timed:
        parts += ["## By operator", by_operator(timed), "## All rows", table(HEAD, map(cells, timed))]
    return "\n\n".join(parts) + "\n"
