"""What scripts that measure for long share: results that are kept, processes that are ended, pages in Markdown."""
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Kept:
    """A file with a line of JSON for each name; a later line replaces an earlier one."""

    def __init__(self, path):
        self.path, self.all = path, {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                entry = json.loads(line)
            except ValueError:  # the end of a process that was killed
                continue
            self.all[entry["name"]] = entry

    def keep(self, name, entry):
        self.all[name] = {"name": name, **entry}
        with open(self.path, "a") as file:
            file.write(json.dumps(self.all[name]) + "\n")


def results_page(gpu, name):
    """Where a page about a GPU goes: docs/results/h200/NAME."""
    path = ROOT / "docs/results" / gpu.lower().removeprefix("nvidia ").split()[0] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def forget_tried(cache):
    """Removes what Inductor found to be the fastest configurations of its kernels. On a busy GPU that was a guess."""
    for tried in pathlib.Path(cache).rglob("*.best_config"):
        tried.unlink()


def nvidia_smi(field):
    """What the driver says of the first GPU."""
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()


def table(head, lines):
    """A table of Markdown, of lists of cells."""
    marks = ["---:" if name.endswith(("ms", "rows", "better", "lowest", "speedup")) else "---" for name in head]
    shown = [" | ".join(str(cell).replace("|", "/").replace("\n", " ") for cell in line) for line in lines]
    return "\n".join(f"| {line} |" for line in [" | ".join(head), " | ".join(marks), *shown])


def between(dates):
    """The first and the last date, or the only one."""
    return " to ".join(dict.fromkeys([min(dates), max(dates)])) if dates else "at an unknown time"
