#!/usr/bin/env python3
"""Compares exported PyTorch modules with PyTorch itself, on a GPU.

    scripts/check_modules.py FILE...

Each FILE is a convolution or a pool that `autotune export --format pytorch` wrote. Beyond the tuned problem, the script
tries other shapes and parameters, views, streams, gradients and inputs that must be refused. It prints a line for each
check; the exit code is 1 if a check failed.

The tuned problem is compared with PyTorch's result in FILE's math mode and type, all other problems with PyTorch's
result in double precision, for inputs rounded to TF32 if FILE's kernels round them.
"""
import copy
import importlib.util
import pathlib
import sys

import torch

import problems
from problems import rounded
from torch_vectors import listed

failures = []


def check(name, passed, note=""):
    print(f"{'ok  ' if passed else 'FAIL'} {name} {note}", flush=True)
    if not passed:
        failures.append(name)


def close(ours, theirs, usual=1e-4):
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    rtol = max(usual, torch.finfo(ours.dtype).eps)  # a 16-bit sum may round to either neighbour
    return torch.allclose(ours.float(), theirs.float(), rtol, usual, equal_nan=True)


NAMES = {"kernel": "kernel_size", "c_out": "out_channels"}  # names of the constructors' arguments


def cases_of(operator):
    """Returns pairs of a constructor's arguments and shapes, for the problems in scripts/vectors.txt."""
    found = []
    asked = listed((problems.ROOT / "scripts/vectors.txt").read_text().splitlines())[operator]
    for p in problems.bound([request for *_, request in asked if "type" not in request["parameters"]]):
        given = {NAMES.get(name, name): v for name, v in p.parameters.items() if name not in ("type", "layout")}
        if "divisor_override" in given:
            given["divisor_override"] = given["divisor_override"] or None
        found.append((given | ({"in_channels": p.shape[1]} if "bias" in given else {}), p.shape))
    return found


def ties(shape):
    """Returns numbers on the GPU that each lie half way between two TF32 numbers."""
    few = {"device": "cuda", "dtype": torch.int16}  # few bytes, since some shapes nearly fill the GPU
    odd = torch.randint(1024, 2048, shape, **few) * 2 + 1
    return (odd * (torch.randint(0, 2, shape, **few) * 2 - 1) / 4096).float()


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def both_models(module, arguments):
    """Makes our module and PyTorch's with the same type and weights; ours contains PyTorch's layer."""
    ours = (module.ModelNew(**arguments) if isinstance(arguments, dict) else module.ModelNew(*arguments)).cuda()
    return ours, copy.deepcopy(next(ours.children()))


def tensor(module, shape):
    """Makes the input of a call on the GPU, with the module's type."""
    return torch.randn(shape, device="cuda").to(getattr(module, "DTYPE", torch.float32))


def refused(name, call, *words):
    try:
        call()
    except (RuntimeError, ValueError, TypeError) as e:
        check(name, all(w in str(e) for w in words), str(e).splitlines()[0][:110])
    else:
        check(name, False, "was accepted")


class Exact:
    """PyTorch's module in double precision, with inputs and weights rounded as in a math mode."""

    def __init__(self, theirs, math):
        self.math = math
        self.module = copy.deepcopy(theirs)
        for p in self.module.parameters():
            p.data = self.factor(p.data)
        self.module.double()

    def factor(self, tensor):
        return rounded(tensor, self.math) if tensor.dim() > 1 else tensor  # a bias is not rounded

    def __call__(self, x):
        return self.module(self.factor(x).double()).to(x.dtype)


def check_ties(name, ours, theirs, x, math):
    """Checks with inputs half way between two TF32 numbers that the module rounds as its math mode says."""
    for p, q in zip(ours.parameters(), theirs.parameters()):
        q.data = ties(q.shape) if q.dim() > 1 else q.data
        p.data = q.data.clone()
    x = ties(x.shape)
    y = ours(x)
    for rule in ("tf32", "tf32_even"):
        # Errors of tensor cores' sums are below 3e-4, and those of the other rounding above 5e-3.
        same = close(y, Exact(theirs, rule)(x), 3e-4)
        check(f"{name} {math} of ties is {'' if rule == math else 'not '}that of {rule}", same == (rule == math))


def check_gradients(name, ours, theirs, x):
    a, b = (x.clone().requires_grad_() for _ in range(2))
    direction = torch.rand_like(theirs(b))
    ours(a).backward(direction)
    theirs(b).backward(direction)
    check(f"{name} gradient of the input", a.grad.dtype == a.dtype and close(a.grad, b.grad, 1e-3))
    for (what, p), q in zip(ours.named_parameters(), theirs.parameters()):
        check(f"{name} gradient of {what}", close(p.grad, q.grad, 1e-2))


def check_views(name, ours, exact, x):
    for what, view in {
        "transposed": x.transpose(-1, -2).contiguous().transpose(-1, -2),
        "every other image": torch.stack([x, x + 1], 1)[:, 1],
        "misaligned": torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape),
    }.items():
        check(f"{name} of a tensor that is {what}", close(ours(view), exact(view)))
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    if x.dim() in formats:
        last = x.contiguous(memory_format=formats[x.dim()])
        check(f"{name} of channels last", close(ours(last), exact(last)))
        settings = getattr(ours, "settings", {})
        if "layout" in settings:
            tuned, settings["layout"] = settings["layout"], "auto"
            y = ours(last)
            followed = y.is_contiguous(memory_format=formats[x.dim()])
            check(f"{name} follows channels last", close(y, exact(last)) and followed)
            contiguous = ours(x.contiguous()).is_contiguous()
            check(f"{name} follows contiguous tensors", close(ours(x), exact(x)) and contiguous)
            settings["layout"] = tuned


def check_streams(name, ours, exact, x):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        y = x * 2  # only this stream knows when x * 2 is ready
        output = ours(y)
    side.synchronize()
    check(f"{name} on another stream", close(output, exact(x * 2)))
    torch.cuda.set_sync_debug_mode("error")
    ours(x)
    torch.cuda.set_sync_debug_mode("default")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = ours(x)
    graph.replay()
    check(f"{name} in a CUDA graph", close(output, exact(x)))


def check_refusals(name, module, ours, x):
    dtype = str(x.dtype).removeprefix("torch.")
    for other in (torch.float32, torch.bfloat16, torch.float16):
        if other != x.dtype:
            words = f"is {other}; the kernel computes in {dtype}"
            refused(f"{name} refuses {other}", lambda: ours(x.to(other)), words)
    refused(f"{name} refuses the CPU", lambda: ours(x.cpu()), "cpu", "GPU")
    refused(f"{name} refuses a flat tensor", lambda: ours(x.flatten()), "dimensions")
    if list(ours.parameters()):
        on_gpu = torch.rand(x.shape, device="cuda", dtype=x.dtype)
        refused(f"{name} refuses weights on the CPU", lambda: module.ModelNew(*module.get_init_inputs())(on_gpu))


def check_file(path):
    module = load(path)
    name, math = module.OPERATOR, module.MATH
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = math != "fp32"
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False  # no reductions of partial sums in bf16
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    cases = cases_of(name)
    with torch.no_grad():
        ours, theirs = both_models(module, module.get_init_inputs())
        with torch.device("cuda"):
            x, = module.get_inputs()
        check(f"{name} {math} as tuned", close(ours(x), theirs(x)))
        if math != "fp32":
            check_ties(f"{name} as tuned,", ours, theirs, x, math)
        del x
        torch.cuda.empty_cache()
        for arguments, shape in cases:
            ours, theirs = both_models(module, arguments)
            x = tensor(module, shape)
            check(f"{name} {arguments} of {shape}", close(ours(x), Exact(theirs, math)(x)))
        arguments, shape = cases[0]
        if math != "fp32":
            check_ties(name, *both_models(module, arguments), tensor(module, shape), math)
        ours, theirs = both_models(module, arguments)
        x, empty, exact = tensor(module, shape), tensor(module, [0, *shape[1:]]), Exact(theirs, math)
        check(f"{name} of no images", ours(empty).shape == theirs(empty).shape)
        check_views(name, ours, exact, x)
        check_streams(name, ours, exact, x)
        check_refusals(name, module, ours, x)
    check_gradients(name, ours, theirs, x)


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    for path in map(pathlib.Path, sys.argv[1:]):
        check_file(path)
    print(f"{len(failures)} failed" if failures else "all passed")
    sys.exit(1 if failures else 0)
