#!/usr/bin/env python3
"""Whole networks before and after README's commands: eight untrained networks (scripts/networks_models.py) are captured,
tuned, packed, given the pack's kernels, and timed plain, in a CUDA graph and under torch.compile.

    scripts/networks.py                               # all; writes docs/results/<gpu>/networks.md
    scripts/networks.py --only resnet50 vit --modes plain graph --limit 500
    scripts/networks.py --table                       # the page alone, of what is there

First `autotune capture` runs, and torch.compile fills its cache, for all networks at a time. Then one network after
another is tuned, packed and timed, with the GPU for itself. The folder of --work has what each step made, and
results.jsonl a line for each network and mode. The same command goes on where the last one ended. Where the environment
names a folder OUT, results, page and logs are copied to it.

With --search each problem is searched by itself, in place of `autotune tune`. `--device cpu --tiny --until capture`
tries the first steps without a GPU.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from kept import ROOT, Kept, copy_out, driver, forget_tried, results_page, table

AUTOTUNE = os.environ.get("AUTOTUNE", str(ROOT / "bin/autotune"))
RUN = ROOT / "scripts/networks_run.py"
NETWORKS = {  # what the page says of each
    "resnet50": "ResNet-50, f16 channels-last, 64x3x224x224",
    "vit": "ViT-B/16, bf16, 32x3x224x224",
    "llama": "Llama of 8 layers, 2048 wide, bf16, 1x1024 tokens",
    "convnext": "ConvNeXt-T, bf16 channels-last, 32x3x224x224",
    "unet": "U-Net, bf16 channels-last, 8x3x256x256",
    "efficientnet": "EfficientNet-B0, f16 channels-last, 64x3x224x224",
    "bert": "BERT-base, f16, 16x384 tokens",
    "wavenet": "WaveNet of 20 layers, 128 wide, f32, 8x1x8000",
}
MODES = ("plain", "graph", "compile")
GRACE_S = 20  # in which what was interrupted ends
HEAD = ("network", "mode", "before, ms", "after, ms", "faster", "as replace says", "kept/left", "apart")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS), metavar="NAME", help=", ".join(NETWORKS))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES), metavar="MODE", help=", ".join(MODES))
    parser.add_argument("--budget", type=float, default=25, metavar="SECONDS", help="of the tuning of a network")
    parser.add_argument("--time", default="400ms", help="of one search of a problem")
    parser.add_argument("--search", action="store_true", help="search each problem by itself; do not tune families")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="begin nothing after so long; the rest is for the next time")
    parser.add_argument("--again", action="store_true", help="tune, pack and time again what is there")
    parser.add_argument("--until", choices=("capture", "pack"), help="do no more than this")
    parser.add_argument("--table", action="store_true", help="write the page and end")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "bench-out/networks", help="folder for all that is kept")
    parser.add_argument("--markdown", type=pathlib.Path, help="where the page goes (docs/results/<gpu>/networks.md)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small networks, to try this script")
    return parser.parse_args()


class Failed(Exception):
    """Why a step of a network failed, in a line."""


class Network:
    """A network's folder, and the commands that fill it."""

    def __init__(self, name, options):
        self.name, self.options, self.folder = name, options, options.work / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.problems, self.pack, self.tuned = self.folder / "problems.yaml", self.folder / f"pack_{name}", self.folder / "tuned"
        self.environment = os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache"), "TORCHINDUCTOR_CACHE_DIR": str(options.work / "inductor")}

    def python(self, *words):
        tiny = ["--tiny"] if self.options.tiny else []
        return ["python3", RUN, *words, "--device", self.options.device, *tiny]

    def begin(self, what, command, **more):
        """A process whose words go to a log of its own."""
        log = open(self.folder / f"{what}.txt", "w")
        log.write("$ " + " ".join(map(str, command)) + "\n")
        log.flush()
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=more.get("stdout", log), stderr=log, env=self.environment, text=True)

    def run(self, what, command, limit=None):
        """Runs a command. One that takes longer than the limit is interrupted, and keeps what it has."""
        process = self.begin(what, command)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(GRACE_S)
                return
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise Failed(f"{what} did not end") from None
        if code:
            raise Failed(f"{what} ended with {code}: {self.last_words(what)}")

    def last_words(self, what):
        lines = (self.folder / f"{what}.txt").read_text().strip().splitlines()
        return lines[-1].removeprefix("autotune: ")[:300] if len(lines) > 1 else "no word"

    def tune(self):
        """Families of the captured problems, or a winner of each. Some may fail, and the others are packed."""
        o = self.options
        flags = ["--problems", self.problems, "--time", o.time, "--device", "cuda:0", "--quiet"]
        if o.search:
            command, limit = [AUTOTUNE, "search", *flags, "--baseline", "torch,torch-compile", "--json", self.folder / "winners.json"], o.budget
        else:
            command, limit = [AUTOTUNE, "tune", *flags, "--budget", f"{o.budget:g}s"], 3 * o.budget
        try:
            self.run("tune", command, limit)
            self.tuned.write_text("all of it\n")
        except Failed as why:
            self.tuned.write_text(f"{why}\n")

    def packed(self):
        shutil.rmtree(self.pack, ignore_errors=True)
        try:
            self.run("pack", [AUTOTUNE, "pack", self.pack])
        except Failed as why:  # also where no problem has a winner
            tuning = self.tuned.read_text().strip()
            raise Failed(str(why) if tuning == "all of it" else f"{why}; {tuning}") from None

    def measure(self, modes):
        """A row for each mode, as it is ready."""
        process = self.begin("measure", self.python("measure", self.name, self.pack, *modes), stdout=subprocess.PIPE)
        left = list(modes)
        for line in process.stdout:
            row = json.loads(line)
            left.remove(row["mode"])
            if "replace" in row:
                (self.folder / f"replace-{row['mode']}.txt").write_text(row["replace"].pop("table") + "\n")
            yield row
        process.wait()
        for mode in left:
            yield {"network": self.name, "mode": mode, "fault": f"measure ended with {process.returncode}: {self.last_words('measure')}"}


def side_by_side(networks):
    """Captures, and fills torch.compile's cache, for all networks that were not captured yet."""
    begun = []
    for n in networks:
        if n.problems.exists():
            continue
        capture = [AUTOTUNE, "capture", "-o", n.problems, "--", *n.python("forward", n.name)]
        begun.append((n, "capture", n.begin("capture", capture)))
        if "compile" in n.options.modes and n.options.device == "cuda":
            begun.append((n, "compile", n.begin("compile", n.python("compile", n.name, "--passes", "1"))))
    for n, what, process in begun:
        if process.wait():
            print(f"{n.name}: {what} ended with {process.returncode}: {n.last_words(what)}", flush=True)
    if networks:
        forget_tried(networks[0].options.work / "inductor")


def one(network, kept, options):
    """Tunes, packs and times one network."""
    there = {m: kept.all.get(f"{network.name} {m}", {"fault": "not measured"}) for m in options.modes}
    modes = [m for m, row in there.items() if options.again or "fault" in row]
    if not modes:
        return
    seconds, begin = {}, time.monotonic()

    def took(step):
        nonlocal begin
        seconds[step], begin = round(time.monotonic() - begin, 1), time.monotonic()

    try:
        if not network.problems.exists():
            raise Failed(f"capture: {network.last_words('capture')}")
        if options.again or not network.tuned.exists():
            network.tune()
            took("tune")
        if options.again or not (network.pack / "manifest.json").exists():
            network.packed()
            took("pack")
        if options.until:
            return
        for row in network.measure(modes):
            kept.keep(f"{network.name} {row['mode']}", {**row, "driver": driver(), "date": time.strftime("%Y-%m-%d"), "by": words_of(options)})
        took("measure")
    except Failed as why:
        for mode in modes:
            kept.keep(f"{network.name} {mode}", {"network": network.name, "mode": mode, "fault": str(why)})
    finally:
        print(f"{network.name}: " + ", ".join(f"{step} {s} s" for step, s in seconds.items()), flush=True)


def words_of(options):
    """The command, as far as it says how was measured."""
    return " ".join(["scripts/networks.py", *(["--search"] if options.search else []), f"--budget {options.budget:g} --time {options.time}"])


def ratio(faster, interval):
    return f"{faster:.3f}x [{interval[0]:.3f}, {interval[1]:.3f}]"


def cells(row):
    shown = [NETWORKS[row["network"]], row["mode"]]
    if "fault" in row:
        return [*shown, "", "", row["fault"], "", "", ""]
    said = row["replace"]
    theirs = f"{said['before_ms']:.4g} to {said['after_ms']:.4g}" if said["before_ms"] is not None and said["after_ms"] is not None else "not timed"
    faster = ratio(row["faster"], row["interval"]) if row["kept"] else "unchanged"
    return [*shown, f"{row['before_ms']:.4g}", f"{row['after_ms']:.4g}", faster, theirs, f"{row['kept']}/{row['left']}",
            f"{row['apart']:.1e}"]


def best_of(rows):
    """Of each network the fastest mode before and after."""
    for name in NETWORKS:
        timed = [row for row in rows if row["network"] == name and "fault" not in row]
        if timed:
            before, after = (min(timed, key=lambda row: row[key]) for key in ("before_ms", "after_ms"))
            yield [NETWORKS[name], f"{before['before_ms']:.4g}", before["mode"], f"{after['after_ms']:.4g}", after["mode"],
                   f"{before['before_ms'] / after['after_ms']:.3f}x"]


def page(rows):
    """The page, of rows in any order."""
    rows = sorted(rows, key=lambda row: (list(NETWORKS).index(row["network"]), MODES.index(row["mode"])))
    timed = [row for row in rows if "fault" not in row]
    parts = ["# Networks before and after"]
    if timed:
        last = timed[-1]
        dates = sorted({row["date"] for row in timed})
        parts.append(f"{last['device']}, driver {last['driver']}, PyTorch {last['torch']}, {' to '.join(dict.fromkeys([dates[0], dates[-1]]))}, "
                     f"by {', '.join('`' + by + '`' for by in dict.fromkeys(row['by'] for row in timed))}.")
    parts.append("Untrained networks, inference. Each was captured, tuned and packed, and its modules replaced with `replace(model, inputs, run=mode)`. "
                 "Milliseconds of a forward pass in the mode, with PyTorch's kernels (before) and as replace left the model (after), which take turns. "
                 "*Faster* has the 95 % interval. A model of which replace kept nothing is *unchanged*: it runs the same code before and after, and its two "
                 "times show how much they scatter. Beside it stands what replace itself measured, how many modules have a kernel and how many "
                 "were left, and how far the outputs are apart: the norm of the difference over that of PyTorch's output.")
    parts.append(table(HEAD, map(cells, rows)))
    slower = [f"{NETWORKS[row['network']]} ({row['mode']})" for row in timed if row["kept"] and row["interval"][1] < 1]
    if timed:
        parts.append(f"Slower than before: {'; '.join(slower) if slower else 'no network in any mode'}.")
        parts += ["The fastest mode of each, before and after. The factor has no interval, since modes did not take turns:",
                  table(("network", "before, ms", "in", "after, ms", "in", "faster"), best_of(rows))]
    return "\n\n".join(parts) + "\n"


def write_page(kept, options):
    rows = list(kept.all.values())
    if not rows:
        sys.exit("networks.py: nothing was measured yet")
    gpu = next((row["device"] for row in rows if "device" in row), "gpu")
    target = options.markdown or results_page(gpu, "networks.md")
    target.write_text(page(rows))
    print(f"wrote {target}: {len(rows)} rows")
    copy_out(kept.path, target)
    for path in options.work.glob("*/*.txt"):
        if os.environ.get("OUT"):
            shutil.copy(path, pathlib.Path(os.environ["OUT"]) / f"{path.parent.name}-{path.name}")


def main():
    options, began = arguments(), time.monotonic()
    kept = Kept(options.work / "results.jsonl")
    if not options.table:
        networks = [Network(name, options) for name in options.only]
        side_by_side(networks)
        print(f"captured after {time.monotonic() - began:.0f} s", flush=True)
        for network in networks if options.until != "capture" else []:
            if options.limit and time.monotonic() - began > options.limit:
                print(f"{network.name} is left for the next time", flush=True)
                continue
            one(network, kept, options)
        if options.until:
            return
    write_page(kept, options)


if __name__ == "__main__":
    main()
