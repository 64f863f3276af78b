"""Times PyTorch on a problem, and compares its output with another's. Jobs are lines of JSON on standard input, answers lines of JSON on
the descriptor 3 (torchtimes.go has their form). A job asks whether PyTorch is there, is a problem,
asks for a turn, or is empty and ends the problem. PyTorch is imported before the first job comes."""
import json
import math
import os
import statistics
import sys

try:
    import torch
except ImportError:
    torch = None

ANSWERS = os.fdopen(3, "w")
WARM_UP = 3  # calls before a turn's samples
# To these a batch of one would be a batch.
OF_MATRICES = ("matmul", "mm", "linear")
TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "bool": "bool",
         "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}
PART = 1 << 26  # elements that are compared at a time


def answer(**fields):
    print(json.dumps(fields), file=ANSWERS, flush=True)


def tensor(t):
    """A tensor of what its file holds, or of uniform numbers."""
    dtype, lying = getattr(torch, TYPES[t["type"]]), [t["shape"][axis] for axis in t["order"]]
    if t["file"]:
        made = torch.from_file(t["file"], size=math.prod(lying), dtype=dtype).to("cuda").reshape(lying)
    else:
        made = torch.empty(lying, device="cuda").uniform_(t["low"], t["high"]).to(dtype)
    return made.permute([t["order"].index(axis) for axis in range(len(lying))])


def channels_last(t):
    return t.movedim(1, -1).contiguous().movedim(-1, 1) if t.dim() > 2 else t


def found(calls):
    """The first function that PyTorch has, and its call."""
    for call in calls:
        for module in (torch.nn.functional, torch):
            if hasattr(module, call["function"]):
                return getattr(module, call["function"]), call
    raise AttributeError("PyTorch has no " + " or ".join(c["function"] for c in calls))


class Problem:
    """PyTorch's function with its arguments, called in different ways."""

    def __init__(self, job):
        self.job = job
        self.function, call = found(job["calls"])
        made = {argument: tensor(t) for argument, t in call["tensors"].items()}
        if call["function"] in OF_MATRICES and all(t.shape[0] == 1 for t in made.values() if t.dim() == 3):
            made = {argument: t[0] if t.dim() == 3 else t for argument, t in made.items()}
        self.values = {name: tuple(v) if isinstance(v, list) else v for name, v in call["values"].items()}
        self.tensors = {False: made}
        self.flush = torch.empty(job["flush"], dtype=torch.uint8, device="cuda") if job["flush"] else None
        self.made = {}

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

    def apart(self, name, winner):
        """How far the output of what is called under a name is from the winner's."""
        call, tensors = self.way(name)
        output = call(**tensors)
        output = output if torch.is_tensor(output) else output[0]
        if output.numel() != winner.numel():
            raise ValueError(f"it has the shape {tuple(output.shape)}, and the winner's {tuple(winner.shape)}")
        largest, differing = 0.0, 0
        for ours, theirs in zip(winner.flatten().split(PART), output.flatten().split(PART)):
            ours, theirs = ours.double(), theirs.double()
            largest = max(largest, (ours - theirs).abs().nan_to_num(0, 0, 0).max().item())
            near = torch.isclose(ours, theirs, rtol=self.job["rtol"], atol=self.job["atol"], equal_nan=True)
            differing += near.numel() - near.sum().item()
        return {"max_abs_error": largest, "differing": differing, "elements": winner.numel()}

    def turn(self, name, samples):
        """Times in milliseconds, by events around one call each."""
        torch.backends.cudnn.allow_tf32 = name != "torch_eager_fp32"
        torch.backends.cuda.matmul.allow_tf32 = self.job["tf32"]
        torch.backends.cudnn.benchmark = name == "torch_cudnn_benchmark"
        call, tensors = self.way(name)
        for _ in range(WARM_UP):
            call(**tensors)
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(samples)]
        for start, end in events:
            if self.flush is not None:
                self.flush.zero_()
            start.record()
            call(**tensors)
            end.record()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in events]


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


def begin(job):
    """The problem, and under which names it can be called."""
    torch.cuda.set_device(job["ordinal"])
    torch.set_grad_enabled(False)
    try:
        problem, winner, ready, left, outputs, unlike = Problem(job), None, [], {}, {}, {}
    except Exception as error:
        answer(fault=said(error))
        return None
    for name in job["names"]:
        try:
            problem.turn(name, 1)  # torch.compile compiles, cuDNN tries its kernels
            ready.append(name)
        except Exception as error:
            left[name] = said(error)
            continue
        try:
            if job["output"]:
                winner = tensor(job["output"]) if winner is None else winner
                outputs[name] = problem.apart(name, winner)
        except Exception as error:
            unlike[name] = said(error)
    answer(torch=torch.__version__, names=ready, left=left, outputs=outputs, unlike=unlike)
    return problem


def end():
    """Frees what the problem held. What was compiled for it would count against the next one's."""
    torch.compiler.reset()
    torch.cuda.empty_cache()
    answer()


def main():
    problem = None
    for line in sys.stdin:
        job = json.loads(line)
        if "calls" in job:
            problem = begin(job)
        elif "name" in job:
            answer(ms=statistics.median(problem.turn(job["name"], job["samples"])))
        elif job:
            look()
        else:
            problem = None
            end()


main()
