"""KernelBench's own evaluation of one exported module."""
import importlib.machinery
import importlib.util
import re
import sys
import time

CORRECTNESS_TRIALS = 5

# A compiler's line about one: "conv.cu(12): error: ...", "ptxas error : ...".
ERROR = re.compile(r"\berror\s*:")


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


def import_kernelbench(checkout, inputs):
    """KernelBench's evaluation, with inputs made on the "cpu", as it does, or the "gpu". Its package also imports
    what asks language models for kernels; where that is not installed, empty modules do."""
    sys.path.insert(0, str(checkout / "src"))
    unused = lambda *_, **__: None
    stand_in("dotenv", load_dotenv=unused)
    stand_in("openai", OpenAI=unused)
    stand_in("litellm", completion=unused)
    stand_in("requests")
    stand_in("tqdm", tqdm=unused)
    stand_in("pydantic", BaseModel=Record)
    from kernelbench import eval as evaluation, kernel_static_checker as checker, timing

    evaluation._process_input_tensor = at_precision
    if inputs == "gpu":
        make_inputs_on_gpu(evaluation)
    return evaluation, checker, timing


def at_precision(given, device, backend="cuda", precision=None):
    """An input on the GPU and, unlike KernelBench's own, cast only where it is of floating point: labels
    and masks stay what they are."""
    import torch

    if not isinstance(given, torch.Tensor):
        return given
    return given.to(device=device, dtype=precision if given.is_floating_point() else given.dtype)


def make_inputs_on_gpu(evaluation):
    """Has KernelBench make inputs on the GPU. PyTorch's default device is that only meanwhile: it costs
    each of PyTorch's functions, and so each call that is timed, microseconds."""
    import torch

    original = evaluation.load_original_model_and_inputs

    def loaded(source, context):
        model, get_init_inputs, get_inputs = original(source, context)

        def made():
            with torch.device("cuda"):
                return get_inputs()

        return model, get_init_inputs, made

    evaluation.load_original_model_and_inputs = loaded


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
        row["compile"] = compiled_ms(evaluation, timing, original, options.trials)
    print(f"{module.name}: {row} in {time.monotonic() - began:.0f} s", flush=True)
    torch.cuda.empty_cache()
    return row


def compiled_ms(evaluation, timing, original, trials):
    """The time of what torch.compile makes of a reference, as KernelBench takes it of others. Its own function
    for that casts labels and masks, too."""
    import torch

    device = torch.device("cuda:0")
    model, *functions = evaluation.load_original_model_and_inputs(original, {})
    given = []
    for function in functions:
        evaluation.set_seed(42)
        given.append([evaluation._process_input_tensor(x, device, precision=torch.float32) for x in function()])
    inputs, init_inputs = reversed(given)
    torch._dynamo.reset()
    try:
        with torch.no_grad():
            model = torch.compile(model(*init_inputs).to(device=device))
            times = timing.get_timing_function("cuda_event")(model, inputs, num_warmup=5, num_trials=trials, verbose=False, device=device)
    except Exception as e:
        print(f"torch.compile: {e}", flush=True)
        return -1
    return timing.get_timing_stats(times, device=device)["mean"]


def fault(metadata):
    """What KernelBench says is wrong, in one line: of what a compiler says, its first error."""
    for what in ("compilation_error", "runtime_error", "correctness_issue"):
        if what in metadata:
            off = f", by {', '.join(metadata['max_difference'])} at most" if "max_difference" in metadata else ""
            lines = str(metadata[what]).strip().splitlines() or ["no reason given"]
            return next(filter(ERROR.search, lines), lines[0])[:200] + off
    return "no reason given"
