#!/usr/bin/env python3
"""Puts exported PyTorch modules to PyTorch's own tests of operators, on a GPU.

    scripts/torch_opinfo.py [--only OPERATOR...] [--search SECONDS] [--seed NUMBER]

PyTorch describes each of its operators by samples (OpInfo, in
torch.testing._internal.common_methods_invocations). For every operator of autotune's
that has such a description the problem of its largest sample is searched, the winner
exported as a module, and the module is given every sample in float32: its output, and
its gradients where a sample asks for them, are held against PyTorch's by
torch.testing.assert_close with that function's own tolerances. The tuned kernel serves
the samples that are its problem, the general one all others.

What a module refuses in its own words is
outside; it is counted, and the words are printed. Every disagreement is printed, and whether
the tuned kernel computed it; the exit code is 1 if there is one. Samples are the seed's.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import inspect
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch
import torch.nn as nn

import problems
from check_modules import load
from kernelbench_judge import stand_in
from problems import AUTOTUNE, ROOT, NotCovered

DEVICE = "cuda"
SEARCHES = 4  # at a time: which variant wins is of no importance
LIMIT_S = 120  # for one

# What the operators are called in PyTorch's list.
ENTRIES = {f"{kind}{axes}d": [f"nn.functional.{kind}{axes}d"] for kind in ("conv", "conv_transpose", "avg_pool", "max_pool") for axes in (1, 2, 3)}
ENTRIES["matmul"] = ["matmul", "mm", "bmm", "mv"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=sorted(ENTRIES), metavar="OPERATOR", help="operators of autotune's")
    parser.add_argument("--search", type=float, default=2, metavar="SECONDS", help="how long each search may take")
    parser.add_argument("--seed", type=int, default=0, metavar="NUMBER", help="of the samples' random numbers")
    parser.add_argument("--device", default="cuda", help="autotune's device for the searches")
    return parser.parse_args()


def layer_of(operator):
    """PyTorch's layer that computes it: MaxPool1d for max_pool1d."""
    return getattr(nn, "".join(word.capitalize() for word in operator.split("_")))


@dataclasses.dataclass
class Case:
    """A sample, as a module takes it."""

    entry: object  # PyTorch's
    operator: str
    sample: object
    keywords: dict  # of the constructor
    weights: dict  # by the names that the layer has for them

    def given(self):
        """The tensors that forward takes."""
        return [self.sample.input, *(self.sample.args if self.operator == "matmul" else ())]

    def learned(self):
        """All tensors that a gradient is asked for."""
        return [t for t in (*self.given(), *self.weights.values()) if t.requires_grad]

    def call(self, sample=None):
        """PyTorch's answer."""
        sample = sample or self.sample
        return self.entry(sample.input, *sample.args, **sample.kwargs)

    def in_double(self):
        """PyTorch's answer in double precision, and the tensors that it was learned of."""
        twin = {}
        for t in (*self.given(), *self.weights.values()):
            twin[t] = t.detach().double().requires_grad_(t.requires_grad)
        sample = self.sample.transform(lambda v: twin.get(v, v) if isinstance(v, torch.Tensor) else v)
        return self.call(sample), [twin[t] for t in self.learned()]

    def problem(self):
        """What autotune calls it."""
        x = self.sample.input
        batched = x[None] if self.operator != "matmul" and x.dim() == int(self.operator[-2]) + 1 else x
        if self.operator == "matmul" and not x.dim() == self.sample.args[0].dim() in (2, 3):
            raise NotCovered("a problem of matmul has matrices, or as many of both")
        operator, shape, parameters = problems.recognised(self.operator, (batched, *self.sample.args), self.sample.kwargs)
        if operator != self.operator or 0 in shape:
            raise NotCovered("it is another operator's, or there is nothing to compute")
        return operator, shape, parameters


def case(entry, operator, sample):
    """The case that a sample is."""
    if operator == "matmul":
        return Case(entry, operator, sample, {}, {})
    names = [a.name for a in problems.function(operator).given[1:]]
    given = dict(zip(names, sample.args)) | sample.kwargs
    weights = {name: given.pop(name) for name in ("weight", "bias") if given.get(name) is not None}
    given.pop("bias", None)
    if weights:
        given |= sizes(operator, sample.input, weights, given.get("groups", 1))
    known = inspect.signature(layer_of(operator)).parameters
    given = {name: v for name, v in given.items() if name == "bias" or name not in known or v != known[name].default}
    return Case(entry, operator, sample, given, weights)


def sizes(operator, x, weights, groups):
    """What the constructor of a convolution learns from its tensors."""
    weight = weights["weight"]
    c_out = weight.shape[1] * groups if "transpose" in operator else weight.shape[0]
    named = {"in_channels": x.shape[1 - weight.dim()], "out_channels": c_out, "kernel_size": tuple(weight.shape[2:])}
    return named | {"bias": "bias" in weights}


def cases(operators):
    """All cases of operators, in lists by what one module serves."""
    stand_in("expecttest", TestCase=unittest.TestCase, ACCEPT=False)  # PyTorch's tests need it, its descriptions do not
    from torch.testing._internal.common_methods_invocations import op_db

    served = collections.defaultdict(list)
    for operator in operators:
        entries = [e for e in op_db if e.name in ENTRIES[operator] and not e.variant_test_name]
        for entry in entries:
            for sample in entry.sample_inputs(DEVICE, torch.float32, requires_grad=entry.supports_autograd):
                c = case(entry, operator, sample)
                served[operator].append(c)
    return served


def largest(served):
    """The problem of the sample with the most to compute."""
    found = []
    for c in served:
        with contextlib.suppress(NotCovered):
            found.append(c.problem())
    if not found:
        raise NotCovered("no sample is a problem of autotune's")
    return max(found, key=lambda p: math.prod(p[1]))


def exported(served, options, path):
    """Searches the largest problem of some cases and exports the winner; gives the process that compiles it, or why there is none."""
    try:
        operator, shape, parameters = largest(served)
        best = path.with_suffix(".json")
        flags = [operator, "--shape", problems.as_set(shape), *(w for name, v in parameters.items() for w in ("--set", f"{name}={problems.as_set(v)}"))]
        flags += ["--math", "fp32"] if "pool" not in operator else []
        flags += ["--device", options.device, "--time", f"{options.search:g}s", "--no-cache", "--quiet", "--json", best]
        for command in (["search", *flags], ["export", "--from", best, "--format", "pytorch", "-o", path]):
            subprocess.run([AUTOTUNE, *command], check=True, capture_output=True, text=True, timeout=LIMIT_S)
        return subprocess.Popen([sys.executable, path])
    except subprocess.CalledProcessError as e:
        return e.stderr.strip()
    except (subprocess.TimeoutExpired, NotCovered) as e:
        return str(e)


def watched(module):
    """A counter of the calls that a module's tuned kernel computes."""
    prepared, tuned, count = module.prepared, module.kernels(torch.cuda.current_device())[2], collections.Counter()

    def counting(*call):
        answer = prepared(*call)
        count["tuned"] += answer[1] is not None and answer[1] is tuned
        return answer

    module.prepared = counting
    return count


def outside(module, error):
    """Whether an error is the module's own word for what it does not take."""
    return isinstance(error, TypeError) and "keyword" in str(error) or str(error).startswith(f"{module.OPERATOR}: ")


def model_of(module, c):
    """The module, with the sample's weights."""
    model = module.ModelNew(**c.keywords).to(DEVICE)
    for name, weight in c.weights.items():
        getattr(model, c.operator)._parameters[name] = weight
    return model


def answers(y, learned):
    """An output, and the gradients of the sum of all its elements, each by another factor."""
    if not (learned and y.requires_grad):
        return [y]
    factors = torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype, device=y.device).view(y.shape)
    return [y, *torch.autograd.grad(y, learned, factors, allow_unused=True)]


def differ(module, c):
    """What is not as PyTorch has it, in a line; None if all is."""
    ours = answers(model_of(module, c)(*c.given()), c.learned())
    theirs = answers(c.call(), c.learned())
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        try:
            torch.testing.assert_close(a, b, equal_nan=True)
        except AssertionError as e:
            off = as_near(a, b, answers(*c.in_double())[i])
            if off:
                return f"{f'gradient {i}' if i else 'output'}: {' '.join(str(e).split())} {off}"
    return None


def as_near(ours, theirs, exact):
    """Nothing, where an answer is as near to that in double precision as an answer in float32 may be
    asked to be: at most twice as far as PyTorch's, or one unit in the last place of the largest element."""
    if not (ours is not None and exact is not None and ours.shape == exact.shape and exact.numel()):
        return "(of another shape, or missing)"
    ours_off, theirs_off = (float((y.double() - exact).abs().max()) for y in (ours, theirs))
    allowed = max(2 * theirs_off, torch.finfo(torch.float32).eps * float(exact.abs().max()))
    return None if ours_off <= allowed else f"(from double precision {ours_off:.2g}, PyTorch's {theirs_off:.2g})"


COLUMNS = ("samples", "agree", "outside", "disagree", "by the tuned kernel")


class Report:
    """What came of all samples."""

    def __init__(self):
        self.tallies, self.words, self.faults = collections.defaultdict(collections.Counter), collections.Counter(), 0

    def fault(self, words):
        """What is wrong, said at once."""
        self.faults += 1
        print(f"DISAGREES {words}", flush=True)

    def take(self, module, count, c):
        """One sample."""
        tally, before, fault = self.tallies[c.entry.name], count["tuned"], None
        tally["samples"] += 1
        try:
            fault = differ(module, c)
        except Exception as e:
            words = str(e).splitlines()[0] if str(e) else ""
            if outside(module, e):
                tally["outside"] += 1
                self.words[c.entry.name, words] += 1
                return
            fault = f"{type(e).__name__}: {words}"
        tuned = count["tuned"] - before
        tally["by the tuned kernel"] += tuned
        tally["disagree" if fault else "agree"] += 1
        if fault:
            self.fault(f"{c.entry.name} of {described(c.sample)}: {fault}{' (tuned kernel)' if tuned else ''}")

    def __str__(self):
        lines = [f"| PyTorch's | {' | '.join(COLUMNS)} |", "| --- " + "| ---: " * len(COLUMNS) + "|"]
        lines += [f"| {name} | {' | '.join(str(t[column]) for column in COLUMNS)} |" for name, t in sorted(self.tallies.items())]
        lines += [f"outside: {count} of {name}: {words}" for (name, words), count in sorted(self.words.items())]
        return "\n".join(lines)


def described(sample):
    """A sample in a line: tensors by their shapes."""
    def text(value):
        return f"tensor{list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)

    words = [text(v) for v in (sample.input, *sample.args)] + [f"{name}={text(v)}" for name, v in sample.kwargs.items()]
    return ", ".join(words)


def main():
    options = arguments()
    # Before PyTorch's tests are imported, which forbid it afterwards.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(options.seed)
    served = cases(options.only or ENTRIES)
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        paths = {operator: pathlib.Path(folder) / f"{operator}.py" for operator in served}
        with concurrent.futures.ThreadPoolExecutor(SEARCHES) as pool:
            compiling = list(pool.map(lambda operator: exported(served[operator], options, paths[operator]), paths))
        for (operator, path), process in zip(paths.items(), compiling):
            if isinstance(process, str) or process.wait():
                report.fault(f"{operator}: {process if isinstance(process, str) else 'the module does not compile'}")
                continue
            module = load(path)
            count = watched(module)
            for c in served[operator]:
                report.take(module, count, c)
            winner = json.loads(path.with_suffix(".json").read_text())["template"]
            print(f"{operator}: {len(served[operator])} samples; tuned is {winner}", file=sys.stderr, flush=True)
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}, float32\n\n{report}")
    print(f"{report.faults} disagree" if report.faults else "all agree, or are outside")
    sys.exit(1 if report.faults else 0)


if __name__ == "__main__":
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", str(ROOT / "build/torch_extensions"))
    main()
