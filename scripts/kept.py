"""What scripts that measure for long keep: lines of JSON by name, and copies of files for a machine that is lent."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

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


def copy_out(*paths):
    """Copies files into the folder that the environment names as OUT, if it does."""
    for path in paths if os.environ.get("OUT") else ():
        if path.exists() and path.parent != pathlib.Path(os.environ["OUT"]):
            shutil.copy(path, os.environ["OUT"])


def results_page(gpu, name):
    """Where a page about a GPU goes: docs/results/h200/NAME."""
    path = ROOT / "docs/results" / gpu.lower().removeprefix("nvidia ").split()[0] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def forget_tried(cache):
    """Removes which configurations of its kernels Inductor found the fastest: on a busy GPU that is a guess. It tries again."""
    for tried in pathlib.Path(cache).rglob("*.best_config"):
        tried.unlink()


def driver():
    """The NVIDIA driver's version, as far as known."""
    try:
        said = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=True).stdout
        return said.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def table(head, lines):
    """A table of Markdown, of lists of cells."""
    marks = ["---:" if name.endswith(("ms", "rows", "better", "lowest")) else "---" for name in head]
    shown = [" | ".join(str(cell).replace("|", "/").replace("\n", " ") for cell in line) for line in lines]
    return "\n".join(f"| {line} |" for line in [" | ".join(head), " | ".join(marks), *shown])


def configuration(of):
    """A configuration, as a best-config document has it, in autotune's words."""
    return " ".join([of["template"], *(f"{k}={json.dumps(v).strip(chr(34))}" for k, v in of["configuration"].items())])


if __name__ == "__main__":  # the winner's configuration in a document, for scripts in shell
    print(configuration(json.loads(pathlib.Path(sys.argv[1]).read_text())))
