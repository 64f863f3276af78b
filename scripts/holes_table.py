"""The page of scripts/holes.py: its rows as tables in Markdown."""
import math

from kept import table

SLOWER = 0.95  # a row below it is a hole
WAYS = ("torch_eager", "torch_compile")
HEAD = ("operator", "network", "problem", "math", "type", "layout", "winner", "ms", "eager, ms", "compile, ms", "over the better")


def factor(row):
    """How many times faster the winner is than the better way of PyTorch, and the interval of that; None if it was not timed."""
    timed = [row["baselines"][way] for way in WAYS if way in (row.get("baselines") or {})]
    better = min(timed, key=lambda b: b["speedup"], default=None)
    return better and (better["speedup"], better.get("speedup_ci95"))


def remark(row):
    """What to know beside the numbers: why there are none, or that PyTorch's outputs are others."""
    if "fault" in row:
        return row["fault"]
    outputs = row.get("baselines", {}).get("torch_eager", {}).get("outputs") or {}
    if outputs.get("differing"):
        return f"eager's output differs in {outputs['differing']} of {outputs['elements']} elements"
    if not factor(row):
        return next((w for w in row.get("warnings", []) if "PyTorch" in w or "torch" in w), "PyTorch was not timed")
    return ""


def cells(row):
    asked, over = row["asked"], factor(row)
    settings = {k: v for k, v in asked["parameters"].items() if k not in ("type", "layout")}
    problem = " ".join([asked["shape"], *(f"{k}={v}" for k, v in settings.items())])
    timed = row.get("baselines") or {}
    ms = [f"{row['time_ms']['median']:.4g}" if "time_ms" in row else "", *(f"{timed[way]['time_ms']:.4g}" if way in timed else "" for way in WAYS)]
    said = ""
    if over:
        interval = f" [{over[1][0]:.2f}, {over[1][1]:.2f}]" if over[1] else " (not in turns)"
        said = f"{over[0]:.2f}x{interval}"
    if why := remark(row):
        said = f"{said}: {why}" if said else why
    return [asked["operator"], asked["network"], problem, row.get("math", asked["math"]), asked["parameters"].get("type", ""),
            asked["parameters"].get("layout", ""), row.get("template", ""), *ms, said]


def mean(factors):
    return math.exp(sum(map(math.log, factors)) / len(factors))


def by_operator(timed):
    """An operator a line: how many rows, their geometric mean, and the lowest."""
    groups = {}
    for row in timed:
        groups.setdefault(row["asked"]["operator"], []).append(factor(row)[0])
    lines = sorted((mean(factors), operator, factors) for operator, factors in groups.items())
    return table(("operator", "rows", "over the better", "lowest"), [(operator, str(len(f)), f"{m:.2f}x", f"{min(f):.2f}x") for m, operator, f in lines])


def measured_on(rows):
    """Device, driver, PyTorch and dates, in words."""
    found = [row for row in rows if "device" in row]
    if not found:
        return "Nothing was found on any device."
    device = found[-1]["device"]
    dates = sorted({row["recorded_at"][:10] for row in found if row.get("recorded_at")})
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "at an unknown time"
    return f"{device['name']}, driver {device.get('driver', 'unknown')}, {device.get('compiler', '')}, PyTorch {found[-1]['torch']}, {when}."


def page(rows, wanted, command):
    timed = sorted((row for row in rows if factor(row)), key=lambda row: factor(row)[0])
    others = [row for row in rows if not factor(row)]
    slower = [row for row in timed if factor(row)[0] < SLOWER]
    parts = ["# Every operator, layout and type beside PyTorch", measured_on(rows)]
    parts.append(f"{len(rows)} of {wanted} rows were measured by `{command}`. A row is a problem of a network, searched by itself. The factor is the winner's "
                 "over the better of PyTorch eager and torch.compile, timed in turns in the row's layout and type, with its 95 % interval. Where PyTorch "
                 "has no function for the operator, several were timed before the search, and there is no interval.")
    if timed:
        parts.append(f"Over the better of PyTorch: {mean([factor(row)[0] for row in timed]):.2f}x in the geometric mean of {len(timed)} rows. "
                     f"{len(slower)} of them are below {SLOWER}x, {sum(factor(row)[0] < 1 for row in timed)} below 1x.")
    parts += [f"## Below {SLOWER}x", table(HEAD, map(cells, slower)) if slower else "No row."]
    if others:
        parts += ["## Without a factor", table(HEAD, map(cells, others))]
    if timed:
        parts += ["## By operator", by_operator(timed), "## All rows", table(HEAD, map(cells, timed))]
    return "\n\n".join(parts) + "\n"
