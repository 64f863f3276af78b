#!/usr/bin/env python3
"""Times whole networks before and after the commands in README.md: eight untrained networks (networks_models.py) are
captured, tuned, packed and given the pack's kernels, and are timed plain, in a CUDA graph and with torch.compile.

    scripts/networks.py                               # all; writes docs/results/<gpu>/networks.md
    scripts/networks.py --only resnet50 vit --modes plain graph

First `autotune capture` runs, and torch.compile fills its cache, for all networks in parallel. Then one network after
another is tuned, packed and timed, with the GPU to itself. The folder of --work contains the results of each step, and
its results.jsonl a line for each network and mode. The same command continues where the last one ended.
"""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from kept import AUTOTUNE, ROOT, Failed, Kept, between, forget_tried, nvidia_smi, results_page, table

NETWORKS = {  # titles on the page
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
HEAD = ("network", "mode", "before, ms", "after, ms", "faster", "as replace says", "kept/left", "apart")
STORY = """Untrained networks, inference. Each was captured, tuned and packed, and its modules replaced with \
`replace(model, inputs, run=mode)`. Milliseconds of a forward pass in the mode, with PyTorch's kernels (before) and as \
replace left the model (after), which take turns. *Faster* has the 95 % interval. A model of which replace kept \
nothing is *unchanged*: it runs the same code before and after, and its two times show how much they scatter. Beside \
it stands what replace itself measured, how many modules have a kernel and how many were left, and how far the outputs \
are apart: the norm of the difference over that of PyTorch's output."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS), metavar="NAME", help=", ".join(NETWORKS))
    add("--modes", nargs="+", choices=MODES, default=list(MODES), metavar="MODE", help=", ".join(MODES))
    add("--budget", type=float, default=25, metavar="SECONDS", help="of the tuning of a network")
    add("--time", default="400ms", help="of one search of a problem")
    add("--work", type=pathlib.Path, default=ROOT / "bench-out/networks", help="folder for all that is kept")
    return parser.parse_args()


class Network:
    """A network's folder, and the commands that fill it."""

    def __init__(self, name, options):
        self.name, self.options, self.folder = name, options, options.work / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.problems, self.pack = self.folder / "problems.yaml", self.folder / f"pack_{name}"
        caches = {"XDG_CACHE_HOME": self.folder / "cache", "TORCHINDUCTOR_CACHE_DIR": options.work / "inductor"}
        self.environment = os.environ | {name: str(folder) for name, folder in caches.items()}

    def python(self, *words):
        return ["python3", ROOT / "scripts/networks_run.py", *words]

    def begin(self, what, command, stdout=None):
        """Starts a process with its own log file."""
        log = open(self.folder / f"{what}.txt", "w")
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout or log, stderr=log,
                                env=self.environment, text=True)

    def run(self, what, *command):
        if code := self.begin(what, [AUTOTUNE, *command]).wait():
            raise Failed(f"{what} ended with {code}: {self.last_line(what)}")

    def last_line(self, what):
        lines = (self.folder / f"{what}.txt").read_text().strip().splitlines()
        return lines[-1].removeprefix("autotune: ")[:300] if lines else "it wrote nothing"

    def packed(self):
        """Tunes the captured problems and packs the winners. Problems that fail are left out."""
        o, failed = self.options, ""
        shutil.rmtree(self.pack, ignore_errors=True)
        try:
            self.run("tune", "tune", "--problems", self.problems, "--time", o.time, "--budget", f"{o.budget:g}s",
                     "--device", "cuda:0", "--quiet")
        except Failed as why:
            failed = f"; {why}"
        try:
            self.run("pack", "pack", self.pack)
        except Failed as why:  # also if no problem has a winner
            raise Failed(f"{why}{failed}") from None

    def measure(self, modes):
        """Yields the row of each mode when it is ready."""
        command = self.python("measure", self.name, self.pack, *modes)
        process, left = self.begin("measure", command, subprocess.PIPE), list(modes)
        for line in process.stdout:
            row = json.loads(line)
            left.remove(row["mode"])
            if "replace" in row:
                (self.folder / f"replace-{row['mode']}.txt").write_text(row["replace"].pop("table") + "\n")
            yield row
        why = f"measure ended with {process.wait()}: {self.last_line('measure')}"
        yield from ({"network": self.name, "mode": mode, "fault": why} for mode in left)


def side_by_side(networks):
    """Captures all networks that were not captured yet, and fills torch.compile's cache, in parallel."""
    begun = []
    for n in (n for n in networks if not n.problems.exists()):
        capture = [AUTOTUNE, "capture", "-o", n.problems, "--", *n.python("forward", n.name)]
        begun.append((n, "capture", n.begin("capture", capture)))
        if "compile" in n.options.modes:
            begun.append((n, "compile", n.begin("compile", n.python("compile", n.name))))
    for n, what, process in begun:
        if process.wait():
            print(f"{n.name}: {what} ended with {process.returncode}: {n.last_line(what)}", flush=True)
    forget_tried(networks[0].options.work / "inductor")


def one(network, kept, options):
    """Tunes, packs and times one network."""
    there = {mode: kept.all.get(f"{network.name} {mode}", {"fault": "not measured"}) for mode in options.modes}
    modes, begin = [mode for mode, row in there.items() if "fault" in row], time.monotonic()
    if not modes:
        return
    try:
        if not network.problems.exists():
            raise Failed(f"capture: {network.last_line('capture')}")
        if not (network.pack / "manifest.json").exists():
            network.packed()
        by = f"scripts/networks.py --budget {options.budget:g} --time {options.time}"
        about = {"driver": nvidia_smi("driver_version"), "date": str(datetime.date.today()), "by": by}
        for row in network.measure(modes):
            kept.keep(f"{network.name} {row['mode']}", row | about)
        print(f"{network.name}: {time.monotonic() - begin:.1f} s", flush=True)
    except Failed as why:
        print(f"{network.name}: {why}", flush=True)
        for mode in modes:
            kept.keep(f"{network.name} {mode}", {"network": network.name, "mode": mode, "fault": str(why)})


def cells(row):
    shown = [NETWORKS[row["network"]], row["mode"]]
    if "fault" in row:
        return [*shown, "", "", row["fault"], "", "", ""]
    theirs = [row["replace"][name] for name in ("before_ms", "after_ms")]
    return [
        *shown, f"{row['before_ms']:.4g}", f"{row['after_ms']:.4g}", row["faster"] if row["kept"] else "unchanged",
        "not timed" if None in theirs else " to ".join(f"{ms:.4g}" for ms in theirs),
        f"{row['kept']}/{row['left']}", f"{row['apart']:.1e}",
    ]


def write_page(kept):
    rows = sorted(kept.all.values(), key=lambda row: (list(NETWORKS).index(row["network"]), MODES.index(row["mode"])))
    timed = [row for row in rows if "fault" not in row]
    if not timed:
        sys.exit("networks.py: nothing was measured yet")
    last, by = timed[-1], ", ".join(dict.fromkeys(f"`{row['by']}`" for row in timed))
    when = between([row["date"] for row in timed])
    slower = [f"{NETWORKS[row['network']]} ({row['mode']})" for row in timed if row["kept"] and row["slower"]]
    parts = ["# Networks before and after",
             f"{last['device']}, driver {last['driver']}, PyTorch {last['torch']}, {when}, by {by}.",
             STORY, table(HEAD, map(cells, rows)),
             f"Slower than before: {'; '.join(slower) or 'no network in any mode'}."]
    target = results_page(last["device"], "networks.md")
    target.write_text("\n\n".join(parts) + "\n")
    print(f"wrote {target}: {len(rows)} rows")


def main():
    options = arguments()
    kept = Kept(options.work / "results.jsonl")
    networks = [Network(name, options) for name in options.only]
    side_by_side(networks)
    for network in networks:
        one(network, kept, options)
    write_page(kept)


if __name__ == "__main__":
    main()
