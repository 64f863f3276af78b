"""KernelBench's own evaluation of one exported module."""
import importlib.machinery
import importlib.util
import sys
import time

CORRECTNESS_TRIALS = 5


def stand_in(name, **members):
    """A module in the place of one that is not installed."""
    if importlib.util.find_spec(name) is None:
        module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, None))
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
    stand_in("requests")
    stand_in("tqdm", tqdm=unused)
    stand_in("pydantic", BaseModel=Record)
    from kernelbench import eval as evaluation, kernel_static_checker as checker, timing

    return evaluation, checker, timing


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
        row["fault"] = fault(result.metadata)
    if options.compile:
        stats = timing.measure_ref_program_time(
            reference.stem, original, num_trials=options.trials, use_torch_compile=True, device=torch.device("cuda:0"),
        )
        row["compile"] = stats["mean"] if stats else -1
    print(f"{module.name}: {row} in {time.monotonic() - began:.0f} s", flush=True)
    torch.cuda.empty_cache()
    return row


def fault(metadata):
    """What KernelBench says is wrong, in one line."""
    for what in ("compilation_error", "runtime_error", "correctness_issue"):
        if what in metadata:
            off = f", by {', '.join(metadata['max_difference'])} at most" if "max_difference" in metadata else ""
            return str(metadata[what]).strip().splitlines()[0][:200] + off
    return "no reason given"
