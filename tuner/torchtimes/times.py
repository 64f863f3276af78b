"""Times PyTorch on a problem, and compares its output with another's. Jobs are lines of JSON on standard input, answers
lines of JSON on the descriptor 3 (torchtimes.go has their form). A job is a problem to prepare, has the inputs and the
output to compare with, asks for a turn, or is empty and ends the problem. PyTorch is imported before the first job."""
import json
import math
import os
import statistics
import sys

# One function is few kernels. Processes that compile side by side start slowly, and the search needs the cores.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
from torch_calls import alone, dtype, found, lying, standing, timed, torch, uniform, values

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
        self.tensors = alone(call, made)
        self.flush = torch.empty(job["flush"], dtype=torch.uint8, device="cuda") if job["flush"] else None
        self.made = {}

    def fill(self, calls):
        """Takes the contents of files."""
        _, call = found(calls)
        for argument, t in call["tensors"].items():
            self.lie[argument].copy_(read(t))

    def call(self, **tensors):
        return self.function(**tensors, **self.values)

    def apart(self, name, winner, rtol, atol):
        """How far the output of what is called under a name is from the winner's."""
        output = self.set(name)(**self.tensors)
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
        """Sets PyTorch up for a way, and gives what is called."""
        torch.backends.cudnn.allow_tf32 = name != "torch_eager_fp32"
        torch.backends.cuda.matmul.allow_tf32 = self.job["tf32"]
        if name not in self.made:
            self.made[name] = torch.compile(self.call) if name == "torch_compile" else self.call
        return self.made[name]

    def turn(self, name, samples):
        call = self.set(name)
        return timed(lambda: call(**self.tensors), samples, self.flush)


def said(error):
    return f"{type(error).__name__}: {error}".splitlines()[0]


def prepare(job):
    """The problem, and under which names it can be called."""
    if torch is None or not torch.cuda.is_available():
        answer(absent=f"PyTorch {torch.__version__} finds no GPU" if torch else "python3 has no torch")
        return None
    torch.cuda.set_device(job["ordinal"])
    torch.set_grad_enabled(False)
    problem, ready, left = Problem(job), [], {}
    for name in job["names"]:
        try:
            problem.turn(name, 1)
            ready.append(name)
        except Exception as error:
            left[name] = said(error)
    answer(names=ready, left=left)
    return problem


def compare(problem, job):
    """Fills the problem's tensors, and compares what each way gives with the winner's output."""
    problem.fill(job["fill"])
    outputs, unlike, winner = {}, {}, standing(job["output"], read(job["output"])) if job["output"] else None
    for name in job["names"] if winner is not None else []:
        try:
            outputs[name] = problem.apart(name, winner, job["rtol"], job["atol"])
        except Exception as error:
            unlike[name] = said(error)
    answer(outputs=outputs, unlike=unlike)


def main():
    problem = None
    for line in sys.stdin:
        job = json.loads(line)
        if "name" in job:
            answer(ms=statistics.median(problem.turn(job["name"], job["samples"])))
            continue
        try:
            if "calls" in job:
                problem = prepare(job)
            elif "fill" in job:
                compare(problem, job)
            else:
                problem = None
                torch.compiler.reset()  # what was compiled would count against the next problem's
                torch.cuda.empty_cache()
                answer()
        except Exception as error:  # after one of the last, another process takes over
            answer(fault=said(error))


main()
