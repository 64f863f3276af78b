"""Times PyTorch on a problem, and compares its output with another's. Jobs are lines of JSON on standard input, answers lines of JSON on
the descriptor 3 (torchtimes.go has their form). A job asks whether PyTorch is there, is a problem to prepare, has the inputs and the output to
compare with, asks for a turn, or is empty and ends the problem. PyTorch is imported before the first job comes. A line may also say
that there is a hurry: it has no answer, and what torch.compile has not made by then is left out."""
import contextlib
import json
import math
import os
import queue
import signal
import statistics
import sys
import threading

from torch_calls import alone, channels_last, dtype, found, lying, standing, timed, uniform, values

JOBS = queue.Queue()  # None: there are no more


class Hurry:
    """Whether torch.compile is to end, and whether it is at work."""

    wanted = compiling = False

    def read():
        """Takes lines while PyTorch is busy. A hurry interrupts torch.compile, also where it waits for a process."""
        for line in sys.stdin:
            job = json.loads(line)
            if "hurry" in job:
                Hurry.wanted = True
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            else:
                JOBS.put(job)
        JOBS.put(None)

    def interrupt(number, frame):
        if Hurry.compiling and Hurry.wanted:
            Hurry.compiling = False
            raise KeyboardInterrupt

    def bounded(make):
        """Calls what compiles; False: it was not ready in time."""
        try:
            Hurry.compiling = not Hurry.wanted
            if Hurry.wanted:
                return False
            make()
            return True
        except KeyboardInterrupt:
            return False
        finally:
            Hurry.compiling = False


signal.signal(signal.SIGINT, Hurry.interrupt)
threading.Thread(target=Hurry.read, daemon=True).start()

# One function is few kernels. Processes that compile side by side take longer to start, and the search needs the processor's cores.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
try:
    import torch
except ImportError:
    torch = None

ANSWERS = os.fdopen(3, "w")
PART = 1 << 26  # elements that are compared at a time


def answer(**fields):
    print(json.dumps(fields), file=ANSWERS, flush=True)


def read(t):
    """What a tensor's file holds, as it lies."""
    return torch.from_file(t["file"], size=math.prod(t["shape"]), dtype=dtype(t["type"])).to("cuda").reshape(lying(t))


class Problem:
    """PyTorch's function with its arguments, called in different ways."""

    def __init__(self, job):
        self.job = job
        self.function, call = found(job["calls"])
        self.lie = {argument: uniform(t) for argument, t in call["tensors"].items()}
        made = {argument: standing(t, self.lie[argument]) for argument, t in call["tensors"].items()}
        self.values = values(call)
        self.tensors = {False: alone(call, made)}
        self.flush = torch.empty(job["flush"], dtype=torch.uint8, device="cuda") if job["flush"] else None
        self.made = {}

    def fill(self, calls):
        """Takes the contents of files."""
        _, call = found(calls)
        for argument, t in call["tensors"].items():
            self.lie[argument].copy_(read(t))
        for name, t in self.tensors.get(True, {}).items():
            t.copy_(self.tensors[False][name])

    def given(self, last):
        """The tensors, in PyTorch's order or with the channels last."""
        if last not in self.tensors:
            self.tensors[last] = {name: channels_last(t) for name, t in self.tensors[False].items()}
        return self.tensors[last]

    def call(self, **tensors):
        return self.function(**tensors, **self.values)

    def way(self, name):
        """What is called under a name, and its tensors."""
        if name not in self.made:
            compiled = torch.compile(self.call) if name == "torch_compile" else self.call
            self.made[name] = compiled, self.given(name == "torch_channels_last")
        return self.made[name]

    def apart(self, name, winner, rtol, atol):
        """How far the output of what is called under a name is from the winner's."""
        call, tensors = self.set(name)
        output = call(**tensors)
        output = output if torch.is_tensor(output) else output[0]
        if output.numel() != winner.numel():
            raise ValueError(f"it has the shape {tuple(output.shape)}, and the winner's {tuple(winner.shape)}")
        largest, differing = 0.0, 0
        for ours, theirs in zip(winner.flatten().split(PART), output.flatten().split(PART)):
            ours, theirs = ours.double(), theirs.double()
            largest = max(largest, (ours - theirs).abs().nan_to_num(0, 0, 0).max().item())
            near = torch.isclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True)
            differing += near.numel() - near.sum().item()
        return {"max_abs_error": largest, "differing": differing, "elements": winner.numel()}

    def set(self, name):
        """Sets PyTorch up for a way, and gives what is called and its tensors."""
        torch.backends.cudnn.allow_tf32 = name != "torch_eager_fp32"
        torch.backends.cuda.matmul.allow_tf32 = self.job["tf32"]
        torch.backends.cudnn.benchmark = name == "torch_cudnn_benchmark"
        return self.way(name)

    def turn(self, name, samples):
        call, tensors = self.set(name)
        return timed(lambda: call(**tensors), samples, self.flush)


def load_compiler():
    """Imports what torch.compile imports when it is first used: modules whose import was interrupted work no more."""
    with contextlib.suppress(ImportError):  # an older PyTorch has others, and says so itself
        import torch._dynamo
        import torch._inductor.compile_fx  # noqa: F401


def said(error):
    return f"{type(error).__name__}: {error}".splitlines()[0]


def look():
    """Whether PyTorch and a GPU are there."""
    if torch is None:
        answer(fault="python3 has no torch")
    elif not torch.cuda.is_available():
        answer(fault=f"PyTorch {torch.__version__} finds no GPU")
    else:
        answer()


def prepare(job):
    """The problem, and under which names it can be called."""
    torch.cuda.set_device(job["ordinal"])
    torch.set_grad_enabled(False)
    try:
        problem, ready, left = Problem(job), [], {}
    except Exception as error:
        answer(fault=said(error))
        return None
    for name in job["names"]:
        try:
            if name != "torch_compile":
                problem.turn(name, 1)  # cuDNN tries its kernels
                ready.append(name)
                continue
            if not Hurry.wanted:
                load_compiler()
            if not Hurry.bounded(lambda: problem.turn("torch_compile", 1)):
                left[name] = "it was still compiling when the search had waited for it"
            else:
                ready.append(name)
        except (Exception, KeyboardInterrupt) as error:  # a hurry may come between two statements
            left[name] = said(error)
    answer(torch=torch.__version__, names=ready, left=left)
    return problem


def compare(problem, job):
    """Fills the problem's tensors, and compares what each way gives with the winner's output."""
    outputs, unlike, winner = {}, {}, None
    try:
        problem.fill(job["fill"])
        winner = standing(job["output"], read(job["output"])) if job["output"] else None
    except Exception as error:
        answer(fault=said(error))
        return
    for name in job["names"] if winner is not None else []:
        try:
            outputs[name] = problem.apart(name, winner, job["rtol"], job["atol"])
        except Exception as error:
            unlike[name] = said(error)
    answer(outputs=outputs, unlike=unlike)


def end():
    """Frees what the problem held. What was compiled for it would count against the next one's."""
    Hurry.wanted = False
    try:
        torch.compiler.reset()
        torch.cuda.empty_cache()
    except Exception as error:  # another process takes over
        answer(fault=said(error))
        return
    answer()


def main():
    problem = None
    while (job := JOBS.get()) is not None:
        if "calls" in job:
            problem = prepare(job)
        elif "fill" in job:
            compare(problem, job)
        elif "name" in job:
            answer(ms=statistics.median(problem.turn(job["name"], job["samples"])))
        elif job:
            look()
        else:
            problem = None
            end()


main()
