"""Makes operators' problems for the other scripts, as autotune binds them, and computes PyTorch's results for them.

`autotune ops calls` evaluates which PyTorch function computes a problem according to op.yaml, and its arguments. This
file adds problems for which PyTorch has no single function (COMPOSED), and expressions.
"""
import functools
import json
import re
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F
from kept import AUTOTUNE, ROOT

sys.path.append(str(ROOT / "pack/loaders/python"))
import torch_calls  # noqa: E402


def listed(lines):
    """Returns the name and the request of each line with a problem, in files such as scripts/layers.txt."""
    for line in lines:
        if line.strip() and not line.startswith("#"):
            name, operator, shape, math, *settings = line.split()
            parameters = dict(s.split("=", 1) for s in settings)
            yield name, {"operator": operator, "shape": shape, "math": math, "parameters": parameters}


def as_set(value):
    """Writes a value as --set accepts it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "x".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def autotune(*words):
    """Returns the output of an autotune command."""
    return subprocess.run([AUTOTUNE, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def bound(requests):
    """Returns the problems that autotune binds for requests."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([{k: r[k] for k in ("operator", "shape", "parameters")} | {"math": "fp32"} for r in requests], file)
        file.flush()
        return [Problem(about) for about in json.loads(autotune("ops", "calls", file.name))]


class Problem:
    """A problem with its parameters, its tensors and the PyTorch calls that compute it."""

    def __init__(self, about):
        self.about, self.operator, self.shape = about, about["operator"], about["shape"]
        self.calls = about["calls"] or []
        self.parameters = {name: tuple(v) if isinstance(v, list) else v for name, v in about["parameters"].items()}
        self.arguments = {a["Name"]: a for a in about["arguments"]}
        self.output = next(a for a in about["arguments"] if a["Role"] == "output")
        filled = [a for a in about["arguments"] if a["Role"] in ("input", "weight", "inout") and a["Elements"]]
        self.read = {a["Name"]: a for a in filled}

    def drawn(self, device="cuda"):
        """Returns random tensors by name: labels, booleans, or normal numbers. Variances are positive."""
        made = {}
        for name, a in self.read.items():
            kind = torch_calls.dtype(a["Type"])
            if kind.is_floating_point:
                t = torch.randn(a["Shape"], device=device, dtype=kind)
                made[name] = t.abs() + 0.5 if name == "running_var" else t * (a["Scale"] or 1)
            else:
                most = 2 if kind == torch.bool else self.shape[1]
                made[name] = torch.randint(most, a["Shape"], device=device).to(kind)
        return made

    def answer(self, tensors):
        """Returns PyTorch's result for tensors with the operator's names."""
        call = next((c for c in self.calls if torch_calls.function(c["function"])), None)
        if call is None:
            y = COMPOSED[self.operator](self.parameters, {name: t for name, t in tensors.items() if t.numel()})
        else:
            given = {name: self.given(t, tensors[t["is"]]) for name, t in call["tensors"].items()}
            y = torch_calls.function(call["function"])(**torch_calls.alone(call, given), **torch_calls.values(call))
        return y.reshape(-1, *self.output["Shape"][1:])

    def given(self, wanted, t):
        """Returns a tensor in the call's form, reshaped or transposed. A tensor that PyTorch changes is copied
        first."""
        own = self.arguments[wanted["is"]]
        rank = len(own["Shape"])
        if len(wanted["order"]) == rank and wanted["order"] != (own["Order"] or list(range(rank))):
            return t.mT
        t = t.clone() if own["Role"] == "inout" else t.long() if own["Type"] == "i64" else t
        return t if len(wanted["shape"]) == t.dim() else t.reshape(-1, *wanted["shape"][1:])


def rounded(x, math):
    """Rounds inputs as a math mode does: to 10 bits after the leading one, with ties away from zero in tf32 (like
    cvt.rna) and ties to even in tf32_even (like cvt.rn). In fp32 nothing is rounded."""
    if math == "fp32":
        return x
    bits = x.contiguous().view(torch.int32)
    half = 0x1000 if math == "tf32" else 0xFFF + (bits >> 13 & 1)
    return ((bits + half) & ~0x1FFF).view(torch.float32)


@functools.cache
def functions():
    known = {"torch": torch}
    exec((ROOT / "templates/include/functions.py").read_text(), known)
    return known["Functions"]()


def expression(text, **tensors):
    """Computes an autotune expression of tensors by name."""
    code = compile(text, "f", "eval")
    known = {name: getattr(functions(), name) for name in code.co_names if name not in tensors}
    return eval(code, {"__builtins__": {}}, known | tensors)


def epilogue(text, axes, x, tensors):
    """Applies an epilogue to outputs. Its tensors, such as `r[m,n]`, have some of the output's axes."""
    named = {}
    for name, within in re.findall(r"(\w+)\[([\w,]*)\]", text):
        has = within.split(",")
        named[name] = tensors[name].reshape([size if axis in has else 1 for axis, size in zip(axes, x.shape)])
    return expression(re.sub(r"\[[\w,]*\]", "", text), x=x, **named).expand_as(x)


def elementwise(p, t):
    y = expression(p["f"], **{name: v if name == "x" else v.reshape(1, -1, 1) for name, v in t.items()})
    return y.sum() if p["sum"] else y.mean() if p["mean"] else y


def product(p, t):
    def triangle(t, which):
        return t.triu() if which > 0 else t.tril() if which < 0 else t

    a, b = (triangle(t[name].mT if p[f"transpose_{name}"] else t[name], p[f"triangular_{name}"]) for name in ("a", "b"))
    y = triangle(a @ b, p["triangular_output"])
    return epilogue(p["epilogue"], ("batch", "m", "n"), y + t["bias"] if "bias" in t else y, t)


def separable(p, t):
    """A depthwise convolution followed by a 1 x 1 convolution over its channels."""
    window, channels = (p["stride"], p["padding"], p["dilation"]), t["x"].shape[1]
    between = F.conv2d(t["x"], t["depthwise"], t.get("depthwise_bias"), *window, channels)
    if p["type"] != "f32":  # rounded even if the sums are computed in double
        between = between.to(torch_calls.dtype(p["type"])).to(between.dtype)
    return F.conv2d(between, t["pointwise"], t.get("pointwise_bias"))


def row_norm(p, t):
    """A norm along dimension 1: layer_norm if there is, or may be, a bias, and otherwise rms_norm."""
    last, weight = t["x"].movedim(1, -1), t.get("weight")
    if "bias" in p:
        return F.layer_norm(last, last.shape[-1:], weight, t.get("bias"), p["eps"]).movedim(-1, 1)
    return F.rms_norm(last, last.shape[-1:], weight, p["eps"]).movedim(-1, 1)


def p_norm(p, t):
    """The p-norm along dimension 1 or, if there is an eps, the elements divided by it."""
    size = torch.linalg.vector_norm(t["x"], p["p"] or float("inf"), 1, "eps" in p)
    if "eps" not in p:
        return size
    return t["x"] / (size / t["x"].shape[1] ** (1 / p["p"]) if p["mean"] and p["p"] else size).clamp(min=p["eps"])


def scan(name, p, t):
    """A scan along dimension 1: cumulative, reversed, or excluding each element itself."""
    x = t["x"] * t["mask"] if "mask" in t else t["x"]
    x = x.flip(1) if p["reverse"] else x
    if p["exclusive"]:
        x = torch.cat([torch.full_like(x[:, :1], name == "cumprod"), x[:, :-1]], 1)
    y = getattr(torch, name)(x, 1)
    return y.flip(1) if p["reverse"] else y


# Functions of parameters and tensors for operators that PyTorch has no single function for.
COMPOSED = {
    "elementwise": elementwise, "matmul": product, "conv_separable2d": separable, "layer_norm": row_norm,
    "rms_norm": row_norm, "norm": p_norm, "normalize": p_norm, "cumsum": functools.partial(scan, "cumsum"),
    "masked_cumsum": functools.partial(scan, "cumsum"), "cumprod": functools.partial(scan, "cumprod"),
}
