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
"""
import argparse
import importlib.util
import os
import pathlib
import platform
import subprocess
import sys
import time
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Problem of level 1, its file there, and the best configuration of ours.
PROBLEMS = [
    (45, "45_Average_Pooling_2D.py", "avg_pool2d.json"),
    (44, "44_Average_Pooling_1D.py", "avg_pool1d.json"),
    (42, "42_Max_Pooling_2D.py", "max_pool2d.json"),
    (63, "63_conv_standard_2D__square_input__square_kernel.py", "conv2d-tf32.json"),
    (82, "82_conv_depthwise_2D_square_input_square_kernel.py", "depthwise_conv2d.json"),
]
CORRECTNESS_TRIALS = 5


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path, help="folder of best configurations")
    parser.add_argument("--out", type=pathlib.Path, help="file to write the table to")
    parser.add_argument("--inputs", choices=("cpu", "gpu"), default="cpu", help="where random inputs are made")
    parser.add_argument("--trials", type=int, default=100, help="samples of a time")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of problems")
    parser.add_argument("--no-compile", action="store_true", help="do not time torch.compile")
    return parser.parse_args()


def stand_in(name, **members):
    """A module in the place of one that is not installed."""
    if importlib.util.find_spec(name) is None:
        module = types.ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module


class Record:
    """What the evaluation needs of pydantic's BaseModel: fields with defaults."""

    def __init__(self, **fields):
        for name, value in vars(type(self)).items():
            if name in type(self).__annotations__:
                setattr(self, name, value.copy() if isinstance(value, dict) else value)
        vars(self).update(fields)


def import_kernelbench(checkout):
    """KernelBench's evaluation. Its package also imports what asks language models
    for kernels; where that is not installed, empty modules do."""
    sys.path.insert(0, str(checkout / "src"))
    unused = lambda *_, **__: None
    stand_in("dotenv", load_dotenv=unused)
    stand_in("openai", OpenAI=unused)
    stand_in("litellm", completion=unused)
    stand_in("pydantic", BaseModel=Record)
    from kernelbench import eval as evaluation, kernel_static_checker as checker, timing

    return evaluation, checker, timing


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


def evaluate(kernelbench, reference, module, options):
    """A row of the table."""
    import torch

    evaluation, checker, timing = kernelbench
    text, original = module.read_text(), reference.read_text()
    valid, errors, warnings = checker.validate_kernel_static(text, backend="cuda", precision="fp32")
    began = time.monotonic()
    result = evaluation.eval_kernel_against_ref(
        original, text, num_correct_trials=CORRECTNESS_TRIALS, num_perf_trials=options.trials,
        measure_performance=True, device=torch.device("cuda:0"), backend="cuda", precision=torch.float32,
    )
    row = {
        "static": "clean" if valid and not warnings else "; ".join(errors + warnings),
        "valid": valid,
        "correct": bool(result and result.correctness),
        "trials": (result.metadata if result else {}).get("correctness_trials", "none"),
        "ms": result.runtime if result else -1,
        "eager": result.ref_runtime if result else -1,
    }
    if not row["correct"] and result:
        print(f"{module.name}: {result.metadata}", flush=True)
    if not options.no_compile:
        stats = timing.measure_ref_program_time(
            reference.stem, original, num_trials=options.trials, use_torch_compile=True, device=torch.device("cuda:0"),
        )
        row["compile"] = stats["mean"] if stats else -1
    print(f"{module.name}: {row} in {time.monotonic() - began:.0f} s", flush=True)
    torch.cuda.empty_cache()
    return row


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


def document(rows, options, gpu):
    import torch

    revision = subprocess.run(["git", "-C", options.checkout, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    inputs = "the CPU, as KernelBench does" if options.inputs == "cpu" else "the GPU"
    at = f" at commit {revision.stdout.strip()}" if revision.returncode == 0 and (options.checkout / ".git").exists() else ""
    return f"""# KernelBench's judgement of the exported winners

{gpu}, PyTorch {torch.__version__}, Python {platform.python_version()}, KernelBench{at}.

{table(rows)}

Each winner was exported by `autotune export --format pytorch` from the best configuration in this folder. *Static checker* is
KernelBench's `validate_kernel_static` for CUDA and fp32; *correct* counts its trials in which the outputs agree with
PyTorch's within 1e-4 (absolute and relative). Times are means over {options.trials} samples by its `eval_kernel_against_ref` and
`measure_ref_program_time` (CUDA events, cold L2), all in one process. Inputs were made on {inputs}. PyTorch's convolution
runs in TF32 by default, and so do the reference and the module of problem 63.

To repeat it, on a machine with a GPU, PyTorch and nvcc:

    git clone https://github.com/ScalingIntelligence/KernelBench build/kernelbench
    make
    scripts/kernelbench.py build/kernelbench
"""


def main():
    options = arguments()
    kernelbench = import_kernelbench(options.checkout)
    import torch

    gpu = gpu_name()
    results = options.results or ROOT / "docs/results" / slug(gpu)
    chosen = [p for p in PROBLEMS if not options.only or p[0] in options.only]
    modules = [exported(results / best, ROOT / "build/exported") for _, _, best in chosen]
    compile_all(modules)
    if options.inputs == "gpu":
        torch.set_default_device("cuda")
    rows = []
    for problem, module in zip(chosen, modules):
        reference = options.checkout / "KernelBench/level1" / problem[1]
        rows.append((problem, evaluate(kernelbench, reference, module, options)))
    text = document(rows, options, gpu)
    print(table(rows))
    (options.out or results / "kernelbench.md").write_text(text)
    sys.exit(0 if all(row["valid"] and row["correct"] for _, row in rows) else 1)


if __name__ == "__main__":
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", str(ROOT / "build/torch_extensions"))
    main()
