#!/usr/bin/env python3
"""Evaluates exported winners with KernelBench's own functions.

    scripts/kernelbench.py CHECKOUT [--results FOLDER] [--out FILE]

CHECKOUT is a clone of https://github.com/ScalingIntelligence/KernelBench. For
each of the problems below the best configuration in FOLDER (by default
docs/results/<gpu>, where make bench-gpu leaves it) is exported as a PyTorch
module by bin/autotune, read by KernelBench's static checker and evaluated by its
eval_kernel_against_ref: five correctness trials, then times of both. The table
goes to standard output and, with how it came about, to FILE (by default
FOLDER/kernelbench.md). The exit code is 1 if anything failed.

Inputs are made on the CPU, as KernelBench does, which takes minutes for the
largest; --inputs gpu makes them on the GPU instead, from another sequence.

    scripts/kernelbench.py CHECKOUT --search SECONDS [--budget SECONDS] [--only N...] [--out FILE]

judges every problem of level 1 that is an operator of autotune's: it reads shape and
parameters off the problem's model, searches for so many seconds, exports, and evaluates.
The most different problems come first, inputs are made on the GPU and torch.compile is not
timed, unless the flags say otherwise. A row is in FILE (by default
docs/results/<gpu>/kernelbench-level1.md) as soon as it is known; with --budget no problem
is begun that would not be done in time. --list says which problems they are, and searches nothing.
"""
import argparse
import os
import pathlib
import platform
import subprocess
import sys
import time

from kernelbench_evaluation import evaluate, import_kernelbench

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Problem of level 1, its file there, and the best configuration of ours.
PROBLEMS = [
    (45, "45_Average_Pooling_2D.py", "avg_pool2d.json"),
    (44, "44_Average_Pooling_1D.py", "avg_pool1d.json"),
    (42, "42_Max_Pooling_2D.py", "max_pool2d.json"),
    (63, "63_conv_standard_2D__square_input__square_kernel.py", "conv2d-tf32.json"),
    (82, "82_conv_depthwise_2D_square_input_square_kernel.py", "depthwise_conv2d.json"),
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path, help="folder of best configurations")
    parser.add_argument("--out", type=pathlib.Path, help="file to write the table to")
    parser.add_argument("--search", type=float, metavar="SECONDS", help="search every problem that is an operator's, for so long")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="with --search: how long all may take")
    parser.add_argument("--list", action="store_true", help="print the problems that --search would judge, and those that it would not")
    parser.add_argument("--inputs", choices=("cpu", "gpu"), help="where random inputs are made")
    parser.add_argument("--trials", type=int, default=100, help="samples of a time")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of problems")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, help="whether to time torch.compile")
    options = parser.parse_args()
    if not (options.checkout / "KernelBench/level1").is_dir():
        parser.error(f"{options.checkout} is no clone of KernelBench: it has no folder KernelBench/level1")
    if options.search is not None and options.search <= 0:
        parser.error("--search takes seconds, more than 0")
    if options.inputs is None:
        options.inputs = "gpu" if options.search else "cpu"
    if options.compile is None:
        options.compile = not options.search
    return options


def gpu_name():
    import torch

    return torch.cuda.get_device_name(0)


def slug(gpu):
    """h100 for "NVIDIA H100 80GB HBM3", as in docs/results."""
    words = gpu.lower().removeprefix("nvidia ").replace("-", " ").split()
    return words[0]


def exported(best, folder):
    """The module of a best configuration, as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (best.stem.replace("-", "_") + ".py")
    subprocess.run([ROOT / "bin/autotune", "export", "--from", best, "--format", "pytorch", "-o", path], check=True)
    return path


def compile_all(paths):
    """Imports all files at once, so that their kernels are compiled side by side
    and the evaluation finds them on disk."""
    began = time.monotonic()
    running = [subprocess.Popen([sys.executable, path]) for path in paths]
    codes = [process.wait() for process in running]
    print(f"compiled {len(paths)} modules in {time.monotonic() - began:.0f} s, exit codes {codes}", flush=True)


def table(rows):
    lines = [
        "| problem of level 1 | static checker | correct | ms | eager ms | speedup | torch.compile ms | speedup |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]

    def against(row, name):
        known = row.get(name, -1)
        if known <= 0 or row["ms"] <= 0:
            return "| | |"
        return f"| {known:.3g} | {known / row['ms']:.2f} |"

    for (number, file, _), row in rows:
        name = file.removesuffix(".py").split("_", 1)[1].replace("__", "_").replace("_", " ").strip()
        trials = row["trials"].strip("()").replace(" / ", " of ")
        ms = f"{row['ms']:.3g}" if row["ms"] > 0 else ""
        lines.append(f"| {number} {name} | {row['static']} | {trials} | {ms} {against(row, 'eager')}{against(row, 'compile')[1:]}")
    return "\n".join(lines)


def versions(checkout):
    """Python's and KernelBench's."""
    revision = subprocess.run(["git", "-C", checkout, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    at = f" at commit {revision.stdout.strip()}" if revision.returncode == 0 and (checkout / ".git").exists() else ""
    return f"Python {platform.python_version()}, KernelBench{at}"


def document(rows, options, gpu):
    import torch

    inputs = "the CPU, as KernelBench does" if options.inputs == "cpu" else "the GPU"
    return f"""# KernelBench's judgement of the exported winners

{gpu}, PyTorch {torch.__version__}, {versions(options.checkout)}.

{table(rows)}

Each winner was exported by `autotune export --format pytorch` from the best configuration in this folder. *Static checker* is
KernelBench's `validate_kernel_static` for CUDA and fp32; *correct* counts its trials in which the outputs agree with
PyTorch's within 1e-4 (absolute and relative). Times are means over {options.trials} samples by its `eval_kernel_against_ref`,
those of torch.compile by its timing function (CUDA events, cold L2), all in one process. Inputs were made on {inputs}. PyTorch's convolution
runs in TF32 by default, and so do the reference and the module of problem 63.

To repeat it, on a machine with a GPU, PyTorch and nvcc:

    git clone https://github.com/ScalingIntelligence/KernelBench build/kernelbench
    make
    scripts/kernelbench.py build/kernelbench
"""


def judge_winners(options):
    """Those of a folder; whether nothing failed."""
    kernelbench = import_kernelbench(options.checkout, options.inputs)
    gpu = gpu_name()
    results = options.results or ROOT / "docs/results" / slug(gpu)
    chosen = [p for p in PROBLEMS if not options.only or p[0] in options.only]
    modules = [exported(results / best, ROOT / "build/exported") for _, _, best in chosen]
    compile_all(modules)
    rows = []
    for problem, module in zip(chosen, modules):
        reference = options.checkout / "KernelBench/level1" / problem[1]
        rows.append((problem, evaluate(kernelbench, reference, module, options)))
    text = document(rows, options, gpu)
    print(table(rows))
    (options.out or results / "kernelbench.md").write_text(text)
    return all(row["valid"] and row["correct"] for _, row in rows)


def judge_searched(options):
    """Every problem that is an operator's; whether nothing failed."""
    import kernelbench_search

    if options.list:
        kernelbench_search.list_problems(options)
        return True
    folder = lambda gpu: options.results or ROOT / "docs/results" / slug(gpu)
    return kernelbench_search.run(options, folder, versions(options.checkout))


def main():
    options = arguments()
    judge = judge_searched if options.search or options.list else judge_winners
    sys.exit(0 if judge(options) else 1)


if __name__ == "__main__":
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", str(ROOT / "build/torch_extensions"))
    main()
