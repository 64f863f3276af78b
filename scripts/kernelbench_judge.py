"""Runs KernelBench's evaluation of exported modules in a separate process, which answers many requests, since
PyTorch takes seconds to start. A kernel that hangs or breaks the GPU's context costs only its own answer."""
import gc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import re
import sys
import time

import torch
from kept import nvidia_smi

LIMIT_S = 120  # seconds for one answer
CORRECTNESS_TRIALS, TRIALS = 5, 100  # TRIALS are the samples of a time

# Matches a compiler's error message, such as "conv.cu(12): error: ..." or "ptxas error : ...".
ERROR = re.compile(r"\berror\s*:")


class Judge:
    """Sends requests to the process, and starts a new one when it has ended."""

    def __init__(self, checkout, compiled):
        self.gpu, capability = nvidia_smi("name,compute_cap").split(", ")
        self.capability = capability.split(".")
        self.about = checkout, compiled
        self.start()

    def start(self):
        spawning = multiprocessing.get_context("spawn")
        self.connection, theirs = spawning.Pipe()
        self.process = spawning.Process(target=serve, args=(theirs, *self.about), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, reference, module):
        """Returns the row of a module's evaluation, or its error."""
        row, goes_on = {"fault": f"no answer in {LIMIT_S} s"}, False
        try:
            self.connection.send((reference, module))
            if self.connection.poll(LIMIT_S):
                row, goes_on = self.connection.recv()
        except (EOFError, OSError):
            row = {"fault": "the process that asked KernelBench died"}
        if not goes_on:
            self.process.kill()
            self.process.join()
            self.start()
        return row


def serve(connection, checkout, compiled):
    """Answers requests until there are no more, or the GPU's context is broken."""
    os.dup2(2, 1)  # KernelBench prints to stdout, which is for rows
    kernelbench = import_kernelbench(checkout)
    goes_on = True
    while goes_on:
        try:
            reference, module = connection.recv()
        except EOFError:
            return
        try:
            row = evaluate(kernelbench, reference, module, compiled)
        except Exception as e:
            row = {"fault": f"{type(e).__name__}: {e}".splitlines()[0][:200]}
        goes_on = tidy()
        connection.send((row, goes_on))


def tidy():
    """Frees memory for the next search. Returns whether the GPU still works."""
    gc.collect()
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:
        return False
    return True


class Record:
    """The part of pydantic's BaseModel that the evaluation needs: fields with defaults."""

    def __init__(self, **fields):
        for name, value in vars(type(self)).items():
            if name in type(self).__annotations__:
                setattr(self, name, value.copy() if isinstance(value, dict) else value)
        vars(self).update(fields)


def import_kernelbench(checkout):
    """Imports KernelBench's evaluation, checker and timing. Empty modules replace the packages for language models
    if they are not installed. Inputs are made on the GPU, and labels and masks keep their types."""
    sys.path.insert(0, str(checkout / "src"))
    unused = lambda *_, **__: None
    members = {"dotenv": {"load_dotenv": unused}, "openai": {"OpenAI": unused}, "litellm": {"completion": unused},
               "requests": {}, "tqdm": {"tqdm": unused}, "pydantic": {"BaseModel": Record}}
    for name in members:
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, None))
            vars(sys.modules[name]).update(members[name])
    from kernelbench import eval as evaluation, kernel_static_checker as checker, timing

    evaluation._process_input_tensor = at_precision
    make_inputs_on_gpu(evaluation)
    return evaluation, checker, timing


def at_precision(given, device, backend="cuda", precision=None):
    """Moves an input to the GPU, and converts its type only if it is a floating-point one."""
    if not isinstance(given, torch.Tensor):
        return given
    return given.to(device=device, dtype=precision if given.is_floating_point() else given.dtype)


def make_inputs_on_gpu(evaluation):
    """Lets KernelBench make inputs on the GPU, since that takes minutes on the CPU. PyTorch's default device is set
    only for this, since it adds microseconds to each call that is timed."""
    original = evaluation.load_original_model_and_inputs

    def loaded(source, context):
        model, get_init_inputs, get_inputs = original(source, context)

        def made():
            with torch.device("cuda"):
                return get_inputs()

        return model, get_init_inputs, made

    evaluation.load_original_model_and_inputs = loaded


def evaluate(kernelbench, reference, module, compiled):
    """Evaluates one module, and returns its row of the table."""
    evaluation, checker, timing = kernelbench
    text, original = module.read_text(), reference.read_text()
    valid, errors, warnings = checker.validate_kernel_static(text, backend="cuda", precision="fp32")
    began = time.monotonic()
    result = evaluation.eval_kernel_against_ref(
        original, text, num_correct_trials=CORRECTNESS_TRIALS, num_perf_trials=TRIALS,
        measure_performance=True, device=torch.device("cuda:0"), backend="cuda", precision=torch.float32,
    )
    metadata = result.metadata if result else {}
    row = {
        "static": "clean" if valid and not warnings else "; ".join(errors + warnings),
        "valid": valid,
        "correct": bool(result and result.correctness),
        "trials": metadata.get("correctness_trials", "").strip("()").replace(" / ", " of "),
        "ms": result.runtime if result else -1,
        "eager": result.ref_runtime if result else -1,
    }
    if not row["correct"]:
        row["fault"] = fault(metadata)
    if compiled:
        row["compile"] = compiled_ms(evaluation, timing, original)
    print(f"{module.name}: {row} {metadata} in {time.monotonic() - began:.0f} s", flush=True)
    return row


def compiled_ms(evaluation, timing, original):
    """Times the compiled reference as KernelBench times modules. Its own function would also convert labels and
    masks."""
    device = torch.device("cuda:0")
    model, *functions = evaluation.load_original_model_and_inputs(original, {})
    given = []
    for function in functions:
        evaluation.set_seed(42)
        given.append([evaluation._process_input_tensor(x, device, precision=torch.float32) for x in function()])
    init_inputs, inputs = given
    torch._dynamo.reset()
    try:
        with torch.no_grad():
            model = torch.compile(model(*init_inputs).to(device=device))
            timed = timing.get_timing_function("cuda_event")
            times = timed(model, inputs, num_warmup=5, num_trials=TRIALS, verbose=False, device=device)
    except Exception as e:
        print(f"torch.compile: {e}", flush=True)
        return -1
    return timing.get_timing_stats(times, device=device)["mean"]


def fault(metadata):
    """Returns KernelBench's error in one line: the compiler's first error, if there is one."""
    for what in ("compilation_error", "runtime_error", "correctness_issue"):
        if what in metadata:
            off = f", by {', '.join(metadata['max_difference'])} at most" if "max_difference" in metadata else ""
            lines = str(metadata[what]).strip().splitlines() or ["no reason given"]
            return next(filter(ERROR.search, lines), lines[0])[:200] + off
    return "no reason given"
