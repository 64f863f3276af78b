"""Finds out how PyTorch on this machine rounds the factors of a problem: reads a job of
JSON on standard input (torchmath.go has its form) and answers on the descriptor 3."""
import json
import os
import sys
from importlib import metadata, util

JOB = json.loads(sys.stdin.buffer.readline())
ANSWER = os.fdopen(3, "w")


def end(**answer):
    print(json.dumps(answer), file=ANSWER, flush=True)
    os._exit(0)


def version(*packages):
    """The version of the first of them that is installed."""
    return next((known.version for package in packages for known in metadata.distributions(name=package)), "")


def installed():
    """What an answer depends on, without PyTorch's long import."""
    if util.find_spec("torch") is None:
        return {"fault": "python3 has no torch"}
    switches = [os.environ.get(name, "") for name in ("NVIDIA_TF32_OVERRIDE", "TORCH_CUDNN_V8_API_DISABLED")]
    cudnn = version("nvidia-cudnn-cu13", "nvidia-cudnn-cu12", "nvidia-cudnn-cu11")
    return {"torch": version("torch"), "cudnn": cudnn, "switches": switches}


def ties(torch, shape):
    """Numbers of which each lies half way between two of TF32: m + 1/2, with m of 11 bits."""
    few = {"device": "cuda", "dtype": torch.int16}  # bytes, beside a problem that may fill the GPU
    m, sign = torch.randint(1024, 2048, shape, **few), torch.randint(0, 2, shape, **few) * 2 - 1
    return ((m + 0.5) * sign / 2048).float()


def roundings(torch):
    """By what it would be called: ties in double, rounded."""
    return {
        "fp32": lambda v: v,
        "tf32": lambda v: torch.trunc(v * 2048 + torch.sign(v) / 2) / 2048,
        "tf32_even": lambda v: torch.round(v * 2048) / 2048,
        "truncation": lambda v: torch.trunc(v * 2048) / 2048,
    }


def ask():
    """How far PyTorch's answer is from what each rounding gives, at most."""
    import torch

    if not torch.cuda.is_available():
        return {"fault": f"PyTorch {torch.__version__} finds no GPU"}
    torch.cuda.set_device(JOB["ordinal"])
    torch.manual_seed(1)
    operator = {}
    exec(compile(JOB["source"], JOB["file"], "exec"), operator)
    tensors = {name: ties(torch, shape) for name, shape in JOB["tensors"].items()}
    for name, order in JOB.get("orders", {}).items():
        lying = tensors[name].permute(order).contiguous()
        tensors[name] = lying.permute([order.index(axis) for axis in range(len(order))])
    with torch.no_grad():
        y = operator["ask"](JOB["operator"], tensors, JOB["parameters"])
        few, parameters, where = operator["part"](JOB["operator"], tensors, JOB["parameters"])
        y = y[where].double()
        few = {name: t.double() for name, t in few.items()}
        errors = {}
        for rule, rounded in roundings(torch).items():
            factors = {name: rounded(t) if name in operator["FACTORS"] else t for name, t in few.items()}
            exact = operator["ask"](JOB["operator"], factors, parameters)
            errors[rule] = float((y - exact).abs().max())
    return {"torch": torch.__version__, "cudnn": str(torch.backends.cudnn.version()), "errors": errors}


try:
    end(**(ask() if JOB["ask"] else installed()))
except Exception as e:
    end(fault=f"{type(e).__name__}: {e}".split("\n")[0][:200])
