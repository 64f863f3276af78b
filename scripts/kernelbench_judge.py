"""KernelBench's own evaluation of exported modules, in a process. It outlives one question, since PyTorch takes seconds
to start, and a question may outlive it: a kernel that hangs or breaks the GPU's context costs one answer."""
import dataclasses
import gc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import re
import sys
import time

LIMIT_S = 120  # for one answer


class NoAnswer(Exception):
    """Why there is none, in a line."""


@dataclasses.dataclass
class About:
    """The GPU, and the PyTorch that uses it."""

    name: str
    capability: tuple  # (9, 0)
    torch: str


class Judge:
    """Asks the process, and starts another when it is gone."""

    def __init__(self, options):
        self.options = options
        self.start()

    def start(self):
        spawning = multiprocessing.get_context("spawn")
        self.connection, theirs = spawning.Pipe()
        self.process = spawning.Process(target=serve, args=(theirs, self.options), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, question, *about):
        """The answer to a question, which is the name of a method of Questions."""
        try:
            self.connection.send((question, about))
            if not self.connection.poll(LIMIT_S):
                raise NoAnswer(f"no answer in {LIMIT_S} s")
            answer, fault, goes_on = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(5)
            self.restart()
            raise NoAnswer("the process that asked KernelBench died") from None
        except NoAnswer:
            self.restart()
            raise
        if not goes_on:
            self.restart()
        if fault:
            raise NoAnswer(fault)
        return answer

    def restart(self):
        self.process.kill()
        self.process.join()
        self.start()


class Questions:
    """What can be asked."""

    def __init__(self, options):
        self.kernelbench = import_kernelbench(options.checkout, options.inputs)
        self.options = options

    def about(self):
        import torch

        return About(torch.cuda.get_device_name(0), torch.cuda.get_device_capability(0), torch.__version__)

    def math(self, operator, shape, parameters):
        """The math mode that PyTorch computes a convolution in, if that is clear."""
        import torch

        import problems
        from torch_roundings import mode_of_convolution

        bound, = problems.bound([problems.request(operator, shape, parameters)])
        lists = {name: list(v) if isinstance(v, tuple) else [v] for name, v in bound.parameters.items()}
        with torch.no_grad():
            return mode_of_convolution(operator, tuple(shape), bound.arguments["weight"]["Shape"], lists)

    def evaluate(self, reference, module):
        return evaluate(self.kernelbench, reference, module, self.options)


def serve(connection, options):
    """Answers until nobody asks any more, or the GPU's context is broken."""
    os.dup2(2, 1)  # KernelBench talks; the table has standard output for itself
    questions = Questions(options)
    goes_on = True
    while goes_on:
        try:
            question, about = connection.recv()
        except EOFError:
            return
        answer = fault = None
        try:
            answer = getattr(questions, question)(*about)
        except Exception as e:
            fault = f"{type(e).__name__}: {e}".splitlines()[0][:200]
        goes_on = tidy()
        connection.send((answer, fault, goes_on))


def tidy():
    """Gives memory back for the next search; whether the GPU still answers."""
    import torch

    gc.collect()
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:
        return False
    return True


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
