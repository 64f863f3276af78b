#!/usr/bin/env python3
"""Holds exported PyTorch modules against PyTorch itself, on a GPU.

    scripts/check_modules.py FILE...

Each FILE is what `autotune export --format pytorch` wrote. Beyond the tuned problem it tries other shapes and
parameters, views, streams, gradients and inputs that must be refused. Prints a line a check; the exit code is 1 if one
failed.

The tuned problem is compared with PyTorch's answer in FILE's math mode and type of tensors. All others are compared
with PyTorch's answer in double precision, from factors rounded to TF32 where FILE's kernels do that: whether PyTorch's
own convolution does depends on the shape.
"""
import copy
import importlib.util
import pathlib
import sys

import torch
from torch import nn

import problems
from problems import rounded, tolerance
from torch_vectors import listed

failures = []


def dtype(module):
    """The type of a module's tensors. Modules of f32 alone do not name it."""
    return getattr(module, "DTYPE", torch.float32)


def check(name, passed, note=""):
    print(f"{'ok  ' if passed else 'FAIL'} {name} {note}", flush=True)
    if not passed:
        failures.append(name)


def close(ours, theirs, usual=1e-4):
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    return torch.allclose(ours.float(), theirs.float(), **tolerance(ours.dtype, usual), equal_nan=True)


NAMES = {"kernel": "kernel_size", "c_out": "out_channels"}  # of constructors

# What only modules take: tensors without a batch, and other padding than zeros on both sides.
MORE = {
    "avg_pool1d": [([2, 5], [6, 37])], "avg_pool2d": [([3, 2, 1, True, True, 5], [2, 9, 11])],
    "max_pool1d": [([2, 5], [6, 37])], "max_pool2d": [([2, 3, 1, 1], [3, 17, 17])],
    "max_pool3d": [([3, 1, 1], [3, 7, 9, 11])],
    "conv1d": [
        ([6, 9, 4, 1, "same", 3, 3, True], [2, 6, 31]), ([6, 9, 4, 1, "same", 1, 1, True, "replicate"], [2, 6, 31])],
    "conv2d": [
        ([5, 7, 1, 1, 0, 1, 1, True], [5, 9, 9]), ([6, 9, (3, 4), 1, "same", (2, 1), 3], [2, 6, 15, 21]),
        ([4, 5, 2, 2, "valid"], [4, 9, 11]), ([6, 9, 3, 2, (1, 2), 1, 1, True, "reflect"], [2, 6, 15, 21]),
        ([6, 9, (2, 5), 1, "same", 1, 1, False, "circular"], [2, 6, 15, 21])],
    "conv3d": [([4, 6, (2, 3, 4), 1, "same"], [2, 4, 7, 8, 9])],
    "conv_transpose3d": [([4, 6, 3, (1, 2, 3), 1], [4, 3, 4, 3])],
    "depthwise_conv2d": [
        ([3, (4, 3), 1, "same", True, (1, 2)], [2, 3, 15, 21]), ([5, 3, 2, "valid", False, 2], [5, 15, 21])],
}
# A matmul's module takes no arguments: whether there is a bias, and the shape as --shape takes it.
PRODUCTS = [
    ([False], [3, 70, 33, 90]), ([True], [2, 65, 100, 131]), ([False], [1, 128, 64, 256]), ([False], [2, 1, 40, 1]),
    ([True], [1, 5, 1, 7]),
]


def cases_of(operator):
    """Pairs of a constructor's arguments and shapes: the problems of scripts/vectors.txt, and more."""
    if operator == "matmul":
        return PRODUCTS
    found = []
    asked = listed((problems.ROOT / "scripts/vectors.txt").read_text().splitlines())[operator]
    for p in problems.bound([request for *_, request in asked if "type" not in request["parameters"]]):
        given = {NAMES.get(name, name): v for name, v in p.parameters.items() if name not in ("type", "layout")}
        if "divisor_override" in given:
            given["divisor_override"] = given["divisor_override"] or None
        found.append((given | ({"in_channels": p.shape[1]} if "bias" in given else {}), p.shape))
    return found + MORE.get(operator, [])


def sums_in_float():
    """PyTorch adds products of 16 bits up in float32 throughout, not only within a part of a sum."""
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


def ties(shape):
    """Numbers on the GPU that each lie half way between two of TF32."""
    few = {"device": "cuda", "dtype": torch.int16}  # bytes, for shapes that nearly fill the GPU
    odd = torch.randint(1024, 2048, shape, **few) * 2 + 1
    return (odd * (torch.randint(0, 2, shape, **few) * 2 - 1) / 4096).float()


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def both_models(module, arguments):
    """Ours and PyTorch's, of the module's type and with the same weights: a module has PyTorch's own layer within."""
    if module.OPERATOR == "matmul":
        return module.ModelNew().cuda(), Product(module.TUNED)
    ours = (module.ModelNew(**arguments) if isinstance(arguments, dict) else module.ModelNew(*arguments)).cuda()
    return ours, copy.deepcopy(next(ours.children()))


class Product(nn.Module):
    """A product of matrices as a matmul's parameters say."""

    def __init__(self, parameters):
        super().__init__()
        self.of = {"epilogue": "x", **parameters}

    def forward(self, a, b, bias=None):
        return problems.product(self.of, {"a": a, "b": b, **({} if bias is None else {"bias": bias})})


def tensors(module, arguments, shape):
    """What a call takes, on the GPU, of the module's type: first the tensor that is seen in other ways."""
    if module.OPERATOR != "matmul":
        return [torch.randn(shape, device="cuda").to(dtype(module))]
    names = ("transpose_a", "transpose_b", "broadcast_a", "broadcast_b")
    parameters = {name: bool(module.TUNED[name]) for name in names}
    bound, = problems.bound([problems.request("matmul", shape, {**parameters, "bias": arguments[0]})])
    return [torch.randn(a["Shape"], device="cuda").to(dtype(module)) for a in bound.read.values()]


def refused(name, call, *words):
    try:
        call()
    except (RuntimeError, ValueError, TypeError) as e:
        check(name, all(w in str(e) for w in words), str(e).splitlines()[0][:110])
    else:
        check(name, False, "was accepted")


class Exact:
    """PyTorch's module in double precision, from factors as a math mode rounds them."""

    def __init__(self, theirs, math):
        self.math = math
        self.module = copy.deepcopy(theirs)
        for p in self.module.parameters():
            p.data = self.factor(p.data)
        self.module.double()

    def factor(self, tensor):
        return rounded(tensor, self.math) if tensor.dim() > 1 else tensor  # a bias is no factor

    def __call__(self, *tensors):
        return self.module(*(self.factor(t).double() for t in tensors)).to(tensors[0].dtype)


def check_ties(name, ours, theirs, x, math):
    """Factors that lie on ties: the answer is that of the module's own rounding alone."""
    for p in theirs.parameters():
        if p.dim() > 1:
            p.data = ties(p.shape)
    for p, q in zip(ours.parameters(), theirs.parameters()):
        p.data = q.data.clone()
    x = [ties(t.shape) if t.dim() > 1 else t for t in x]
    y = ours(*x)
    for rule in ("tf32", "tf32_even"):
        # Sums of tensor cores are off by less than 3e-4, the other rounding by more than 5e-3.
        same = close(y, Exact(theirs, rule)(*x), 3e-4)
        check(f"{name} {math} of ties is {'' if rule == math else 'not '}that of {rule}", same == (rule == math))


def check_broadcast(name, module, ours, exact):
    """Batches that are broadcast; vectors, too, where nothing is stored transposed."""
    transposed = [bool(module.TUNED[which]) for which in ("transpose_a", "transpose_b")]

    def factor(batch, rows, columns, swapped):
        return torch.randn(*batch, *((columns, rows) if swapped else (rows, columns)), device="cuda").to(dtype(module))

    for batches in (((5, 3), ()), ((3, 1), (4,)), ((), (2,)), ((2,), (1,)), ((), ())):
        a, b = factor(batches[0], 7, 33, transposed[0]), factor(batches[1], 33, 20, transposed[1])
        check(f"{name} of batches {batches[0]} and {batches[1]}", close(ours(a, b), exact(a, b)))
    if not any(transposed):
        a, b = factor((), 7, 33, False), factor((4,), 33, 20, False)
        check(f"{name} of a vector and matrices", close(ours(a[0], b), exact(a[:1], b).squeeze(-2)))
        check(f"{name} of a matrix and a vector", close(ours(a, b[0, :, 0]), exact(a, b[0, :, :1]).squeeze(-1)))
        check(f"{name} of two vectors", close(ours(a[0], b[0, :, 0]), exact(a[:1], b[0, :, :1]).squeeze()))
        check(f"{name} of matrices without elements", close(ours(a[:, :0], b[:, :0]), a.new_zeros(4, 7, 20)))


def check_gradients(name, ours, theirs, x):
    a, b = ([t.clone().requires_grad_() for t in x] for _ in range(2))
    direction = torch.rand_like(theirs(*b))
    ours(*a).backward(direction)
    theirs(*b).backward(direction)
    for which, (p, q) in enumerate(zip(a, b), 1):
        check(f"{name} gradient of input {which}", p.grad.dtype == p.dtype and close(p.grad, q.grad, 1e-3))
    for (what, p), q in zip(ours.named_parameters(), theirs.parameters()):
        check(f"{name} gradient of {what}", close(p.grad, q.grad, 1e-2))


def check_views(name, ours, exact, x, *others):
    for what, view in {
        "transposed": x.transpose(-1, -2).contiguous().transpose(-1, -2),
        "every other image": torch.stack([x, x + 1], 1)[:, 1],
        "misaligned": torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape),
    }.items():
        check(f"{name} of a tensor that is {what}", close(ours(view, *others), exact(view, *others)))
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


def check_streams(name, ours, exact, x, *others):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        y = x * 2  # only this stream knows when it is ready
        output = ours(y, *others)
    side.synchronize()
    check(f"{name} on another stream", close(output, exact(x * 2, *others)))
    torch.cuda.set_sync_debug_mode("error")
    ours(x, *others)
    torch.cuda.set_sync_debug_mode("default")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = ours(x, *others)
    graph.replay()
    check(f"{name} in a CUDA graph", close(output, exact(x, *others)))


def check_refusals(name, module, ours, x, *others):
    dtype = str(x.dtype).removeprefix("torch.")
    for other in (torch.float32, torch.bfloat16, torch.float16):
        if other != x.dtype:
            words = f"is {other}; the kernel computes in {dtype}"
            refused(f"{name} refuses {other}", lambda: ours(x.to(other), *others), words)
    refused(f"{name} refuses the CPU", lambda: ours(x.cpu(), *others), "cpu", "GPU")
    wrong = "shape" if name == "matmul" else "dimensions"  # a vector may be a factor, but not of that length
    refused(f"{name} refuses a flat tensor", lambda: ours(x.flatten(), *others), wrong)
    if list(ours.parameters()):
        on_gpu = torch.rand(x.shape, device="cuda", dtype=x.dtype)
        refused(f"{name} refuses weights on the CPU", lambda: module.ModelNew(*module.get_init_inputs())(on_gpu))


def check_file(path):
    module = load(path)
    name = module.OPERATOR
    math = module.MATH
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = math != "fp32"
    sums_in_float()
    cases = cases_of(name)
    with torch.no_grad():
        ours, theirs = both_models(module, module.get_init_inputs())
        torch.set_default_device("cuda")
        x = module.get_inputs()
        torch.set_default_device("cpu")
        check(f"{name} {module.MATH} as tuned", close(ours(*x), theirs(*x)))
        if math != "fp32":
            check_ties(f"{name} as tuned,", ours, theirs, x, math)
        del x
        torch.cuda.empty_cache()
        for arguments, shape in cases:
            ours, theirs = both_models(module, arguments)
            x = tensors(module, arguments, shape)
            check(f"{name} {arguments} of {shape}", close(ours(*x), Exact(theirs, math)(*x)))
        arguments, shape = cases[0]
        if math != "fp32":
            ours, theirs = both_models(module, arguments)
            check_ties(name, ours, theirs, tensors(module, arguments, shape), math)
        ours, theirs = both_models(module, arguments)
        empty = tensors(module, arguments, [0, *shape[1:]])
        check(f"{name} of no images", ours(*empty).shape == theirs(*empty).shape)
        x = tensors(module, arguments, shape)
        check_views(name, ours, Exact(theirs, math), *x)
        check_streams(name, ours, Exact(theirs, math), *x)
        if name == "matmul":
            check_broadcast(name, module, ours, Exact(theirs, math))
        check_refusals(name, module, ours, *x)
    check_gradients(name, ours, theirs, x)


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    for path in map(pathlib.Path, sys.argv[1:]):
        check_file(path)
    print(f"{len(failures)} failed" if failures else "all passed")
    sys.exit(1 if failures else 0)
