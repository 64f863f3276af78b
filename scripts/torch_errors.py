#!/usr/bin/env python3
"""Hold exported modules, and PyTorch's own answers, against double precision.

    torch_errors.py FOLDER < scripts/layers.txt

Reads a problem a line: a name, the operator, the shape, the math and parameters.
FOLDER/NAME.py is what `autotune export --format pytorch` wrote of each. Prints for each of them that is there: its name; the largest
error of the module's answer, and of PyTorch's as its defaults have it (of products of
matrices as the math says); and how far the two are apart at most. Inputs are normal, and
the answer in double precision is that of all tensors, of a batch of its first four.
"""
import importlib.util
import pathlib
import sys

import torch

import layers_problems
import torch_operators
from torch_operators import value

IMAGES = 4  # that are computed in double precision


def problems(lines):
    """Name, operator, shape, math and parameters of each line that holds a problem."""
    for name, asked in layers_problems.problems(lines):
        parameters = {key: value(text) for key, text in asked["parameters"].items()}
        yield name, asked["operator"], [int(d) for d in asked["shape"].split("x")], asked["math"], parameters


def single(operator, shape, tensors):
    """The tensors, of a product of two matrices without the batch that PyTorch would loop over."""
    if operator == "matmul" and shape[0] == 1:
        return tensors | {name: tensors[name][0] for name in ("a", "b")}
    return tensors


def allow_tf32(math):
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cuda.matmul.allow_tf32 = math.startswith("tf32")


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tensors(operator, shape, parameters):
    weights, bound = torch_operators.weights(operator, shape, parameters)
    made = {name: torch.randn(s, device="cuda") for name, s in torch_operators.inputs(operator, shape, parameters).items()}
    made |= {name: torch.randn(s, device="cuda") * bound for name, s in weights.items()}
    return {name: t.to(torch_operators.dtype(parameters)) for name, t in made.items()}


def apart(a, b):
    return (a.double() - b).abs().max().item()


def main(folder, lines):
    for name, operator, shape, math, parameters in problems(lines):
        path = pathlib.Path(folder) / f"{name}.py"
        if not path.exists():
            continue
        torch.manual_seed(1)
        module, call = load(path), torch_operators.call(operator, parameters)
        given = tensors(operator, shape, parameters)
        ours = module.run(module.settings(), *(given.get(read) for read in module.READ))[:IMAGES]
        allow_tf32(math)
        theirs = call(single(operator, shape, given)).reshape(-1, *ours.shape[1:])[:IMAGES]
        exact = call({what: t.double() for what, t in torch_operators.part(operator, given, 0, IMAGES).items()})
        print(name, f"{apart(ours, exact):.4g} {apart(theirs, exact):.4g} {apart(ours, theirs.double()):.4g}", flush=True)
        del given, ours, theirs, exact
        torch.cuda.empty_cache()


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.argv[1], sys.stdin)
