"""Helpers for scripts that measure for a long time: stored results, ending processes, and pages in Markdown."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
AUTOTUNE = os.environ.get("AUTOTUNE", str(ROOT / "bin/autotune"))


class Failed(Exception):
    """The reason, in one line, why a step of a measurement failed."""


class Kept:
    """A file with one line of JSON for each name. A later line replaces an earlier one of the same name."""

    def __init__(self, path):
        self.path, self.all = path, {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                entry = json.loads(line)
            except ValueError:  # the process was killed while it wrote this line
                continue
            self.all[entry["name"]] = entry

    def keep(self, name, entry):
        self.all[name] = {"name": name, **entry}
        with open(self.path, "a") as file:
            file.write(json.dumps(self.all[name]) + "\n")


def results_page(gpu, name):
    """Returns the path of a page about a GPU, such as docs/results/h200/NAME."""
    path = ROOT / "docs/results" / gpu.lower().removeprefix("nvidia ").split()[0] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def forget_tried(cache):
    """Removes Inductor's choices of the fastest configurations, which on a busy GPU were guesses."""
    for tried in pathlib.Path(cache).rglob("*.best_config"):
        tried.unlink()


def nvidia_smi(field):
    """Returns properties of the first GPU from nvidia-smi."""
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()


def table(head, lines):
    """Writes rows of cells as a Markdown table."""
    marks = ["---:" if name.endswith(("ms", "rows", "better", "lowest", "speedup")) else "---" for name in head]
    shown = [" | ".join(str(cell).replace("|", "/").replace("\n", " ") for cell in line) for line in lines]
    return "\n".join(f"| {line} |" for line in [" | ".join(head), " | ".join(marks), *shown])


def between(dates):
    """Returns the first and the last date, or one date if they are equal."""
    return " to ".join(dict.fromkeys([min(dates), max(dates)])) if dates else "at an unknown time"
