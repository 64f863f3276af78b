#!/usr/bin/env python3
"""Writes internal/test/torchvectors/testdata/OPERATOR.json.gz: PyTorch's results for the small
cases in scripts/vectors.txt, with which tests compare the reference kernels.

    python3 scripts/torch_vectors.py [FOLDER]

The script needs PyTorch (a CPU build is enough) and bin/autotune, but no GPU. It always writes the same files: seeds are
fixed, and sums are computed in float64 and rounded once at the end, to the type of the case's tensors. The data are
little-endian float32 in base64.
"""
import base64
import functools
import gzip
import json
import pathlib
import re
import sys

import torch

import problems
from kept import ROOT
from problems import as_set, rounded


def pack(tensor):
    return base64.b64encode(bytes(tensor.to(torch.float32).flatten().view(torch.uint8).tolist())).decode()


def fill(shape, seed, distribution="normal"):
    """Makes a tensor of one of the kinds with which kernels tend to fail."""
    generator = torch.Generator().manual_seed(seed)
    normal, uniform, integers = (functools.partial(getattr(torch, kind), size=shape, generator=generator)
                                 for kind in ("randn", "rand", "randint"))
    return {
        "normal": normal,
        "nothing": lambda: torch.full(shape, float("-inf")),
        "negative": lambda: -0.5 - uniform(),
        "coarse": lambda: integers(-2, 3).float(),  # many elements are equal
        "integers": lambda: integers(-3, 4).float(),
        "nan": lambda: normal().masked_fill(uniform() < 0.03, float("nan")),
        "infinite": lambda: normal().masked_fill(uniform() < 0.2, float("-inf")),
        "both infinities": lambda: (x := normal()).where(uniform() >= 0.1, x * float("inf")),
    }[distribution]()


def nearest(y, dtype):
    """Rounds doubles to a type, ties to even. For 16-bit types, .to() would round to float32 first."""
    if dtype == torch.float32:
        return y
    about = torch.finfo(dtype)
    exponent = torch.frexp(y).exponent - 1
    unit = torch.ldexp(torch.full_like(y, about.eps), exponent).clamp(min=about.tiny * about.eps)
    return (y / unit).round() * unit


def dense(p, seed, distribution):
    """Makes inputs of a distribution, and weights within their bounds."""
    generator = torch.Generator().manual_seed(1000 + seed)
    made = {name: fill(a["Shape"], seed, distribution) for name, a in p.read.items() if a["Role"] == "input"}
    others = [name for name in p.read if name not in made]
    for name in sorted(others, key=lambda name: name.endswith("bias")):
        made[name] = (2 * torch.rand(p.read[name]["Shape"], generator=generator) - 1) * p.read[name]["Scale"]
    return made


def rows(p, seed, distribution):
    """Makes inputs of a distribution, labels, masks, and normal weights."""
    inputs = [a for a in p.read.values() if a["Role"] == "input"]
    made = {a["Name"]: fill(a["Shape"], 2000 + seed + 500 * i, distribution) for i, a in enumerate(inputs)}
    if "target" in made:  # a label, or the one that is ignored
        generator = torch.Generator().manual_seed(seed)
        made["target"] = torch.randint(p.shape[1], made["target"].shape, generator=generator).float()
        made["target"][0, 0] = p.parameters["ignore_index"] % 100
    if "mask" in made:
        made["mask"] = (fill(p.shape, 4000 + seed) > 0).float()
    for name in (name for name in p.read if name not in made):
        made[name] = fill(p.read[name]["Shape"], 3000 + seed)
        if name == "running_var" or p.operator == "cross_entropy":
            made[name] = made[name].to(of_type(p)).float().abs() + 0.5
    return made


def chains(p, seed, distribution):
    """Makes inputs of a distribution, and broadcast tensors with values between 0.5 and 1.5."""
    generator = torch.Generator().manual_seed(3000 + seed)
    beside = {name: 0.5 + torch.rand(a["Shape"], generator=generator) for name, a in p.read.items() if name != "x"}
    return {"x": fill(p.shape, 3000 + seed, distribution), **beside}


def attended(p, seed, distribution):
    """Makes inputs of a distribution, and a mask, which alone may be infinite."""
    kinds = {name: distribution if name == "mask" or distribution != "infinite" else "normal" for name in p.read}
    return {name: fill(a["Shape"], 7 * seed + i, kinds[name]) for i, (name, a) in enumerate(p.read.items())}


def of_type(p):
    return problems.torch_calls.dtype(p.parameters.get("type", "f32"))


def listed(lines):
    """Returns the name, the distribution and the request of each case, by operator."""
    found = {}
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        words, _, name = line.strip().partition(" # ")
        operators, shape, distribution, *settings = words.split()
        for operator in operators.split(","):
            asked = {"operator": operator, "shape": shape, "parameters": dict(s.split("=", 1) for s in settings)}
            found.setdefault(operator, []).append((name, distribution.replace("_", " "), asked))
    return found


def cases(operator, table):
    made = {"elementwise": chains, "scaled_dot_product_attention": attended}.get(operator)
    made = made or (dense if re.search("pool|conv|matmul", operator) else rows)
    maths = ("fp32", "tf32") if re.fullmatch(r"matmul|conv(_transpose)?\dd", operator) else ("fp32",)
    bound = problems.bound([asked for *_, asked in table])
    exact = operator.startswith(("max", "min", "argm"))  # the result is one of the inputs, in any precision
    for seed, (p, (name, distribution, _)) in enumerate(zip(bound, table)):
        of = of_type(p)
        types = {what: problems.torch_calls.dtype(a["Type"]) for what, a in p.read.items() if f"{what}[" in p.parameters.get("epilogue", "")}
        inputs = {what: t.to(types.get(what, of)).float() for what, t in made(p, seed, distribution).items()}
        for math in maths if of == torch.float32 else ["fp32"]:
            factors = {what: t if what == "bias" or what in types else rounded(t, math) for what, t in inputs.items()}
            y = p.answer(factors if exact else {what: t.double() for what, t in factors.items()})
            y = y if exact or y.dtype == torch.int64 else nearest(y, of)
            yield {
                "name": name, "shape": p.shape, "math": math,
                "parameters": {k: as_set(v) for k, v in p.parameters.items()},
                "inputs": {k: pack(v) for k, v in inputs.items()},
                "output": {"shape": list(y.shape), "data": pack(y)},
            }


def main():
    folder = pathlib.Path(*sys.argv[1:2] or [ROOT / "internal/test/torchvectors/testdata"])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for operator, table in listed((ROOT / "scripts/vectors.txt").read_text().splitlines()).items():
        document = {"operator": operator, "torch": torch.__version__, "cases": list(cases(operator, table))}
        path = folder / f"{operator}.json.gz"
        with open(path, "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            packed.write(json.dumps(document, indent=1).encode())
        print(f"{path}: {len(document['cases'])} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
