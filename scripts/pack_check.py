#!/usr/bin/env python3
"""Compares a pack with PyTorch on this machine's GPU.

    scripts/pack_check.py PACK

The script calls the pack's functions for each entry's problem, for another shape, and for shapes in each family's range:
directly, with torch.compile, in a CUDA graph, with gradients and exported. It also measures the host's time for a call
and for PyTorch's call. scripts/networks.py tests replace(model, inputs).
"""
import importlib
import json
import pathlib
import random
import subprocess
import sys
import time

if len(sys.argv) != 2:
    sys.exit(__doc__)
begun = time.perf_counter()
import torch  # noqa: E402

imported = time.perf_counter()
import problems  # noqa: E402
from problems import as_set, torch_calls  # noqa: E402

SLOW_S = 0.01  # a slower call, such as a general kernel's of a loss, is not timed on the host
CALLS = 200


def host_us(call):
    """Returns the host's time for a call in microseconds."""
    for _ in range(2):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
    if time.perf_counter() - begin > SLOW_S:
        return float("nan")
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS * 1e6


def largest(t):
    return t.abs().max().item()


class Problem:
    """A problem with random tensors in the kernels' order, and None for tensors that it does not have."""

    def __init__(self, kernels, dense, values, bound):
        operator, self.kernels, self.bound = kernels.operator, kernels, bound
        self.settings = [operator.coded(c, values[c]) for c in operator.components]
        self.dtype = torch_calls.dtype(values.get(operator.word, "f32"))
        self.names = [t["name"] for t in operator.read]
        self.lasts = [bool(bound.arguments[name]["Order"]) for name in self.names]
        drawn = zip(map(bound.drawn().get, self.names), self.lasts)
        self.tensors = [t if t is None else dense(t, last and t.dim() > 2) for t, last in drawn]

    def run(self, mode=""):
        return self.kernels.run(self.settings, *self.tensors, mode=mode)

    def theirs(self, change=lambda t: t):
        """Returns PyTorch's result for these tensors, after an optional change of them."""
        given = zip(self.names, self.tensors)
        return self.bound.answer({name: change(t) for name, t in given if t is not None})


class Check:
    """The checks of an imported pack. seconds is how long the import took, without torch's; wrong counts failures."""

    def __init__(self, root):
        self.manifest, self.wrong = json.loads((root / "manifest.json").read_text()), 0
        sys.path.insert(0, str(root / "python"))
        begin, name = time.perf_counter(), self.manifest["name"]
        importlib.import_module(name)
        self.seconds = time.perf_counter() - begin
        self.pack, self.functions, self.calls = (sys.modules[f"{name}.{m}"] for m in ("pack", "functions", "calls"))

    def problem(self, name, values, math):
        """Returns an operator's problem with these dimensions and components, or None if it is not allowed."""
        kernels = getattr(self.functions, "_" + name)
        spec = kernels.operator.spec
        given = {p["name"]: as_set([values[c["name"]] for c in p["components"]]) for p in spec["parameters"]}
        try:
            shape = as_set([values[n] for n in spec["shape"]])
            bound, = problems.bound([{"operator": name, "shape": shape, "parameters": given}])
        except subprocess.CalledProcessError:
            return None
        return Problem(kernels, self.calls.dense, {**values, "math": math}, bound)

    def say(self, good, words):
        self.wrong += not good
        print(f"{'ok   ' if good else 'WRONG'} {words}", flush=True)

    def compared(self, name, values, mode, what):
        """Compares the pack's result with PyTorch's in double precision. Returns the problem and the result."""
        problem = self.problem(name, values, mode)
        if problem is None:
            return None, None
        tensors, kernels = problem.tensors, problem.kernels
        want = problem.theirs(lambda t: t.double() if t.is_floating_point() else t)
        got = problem.run(mode)
        shapes = [None if t is None else t.shape for t in tensors]
        tuned = kernels.tuned(problem.settings, shapes, problem.dtype, 0, mode, any(problem.lasts))
        kind = "tuned" if tuned else "general"
        error = largest(got.double() - want) / largest(want)
        allowed = 2e-2 if problem.dtype != torch.float32 else 2e-3 if mode != "fp32" else 1e-4
        good = got.shape == want.shape and error < allowed
        with torch.no_grad():
            ours, theirs = host_us(lambda: problem.run(mode)), host_us(problem.theirs)
        self.say(good, f"{what}: {kind}, error {error:.1e}, host {ours:.1f} us, PyTorch's {theirs:.1f}")
        return problem, got

    def family(self, family, draw):
        dims = self.pack.OPERATORS[family["operator"]]["shape"]
        shape = {name: draw.randint(*draw.choice(spans)) for name, spans in zip(dims, family["range"])}
        what = f"{family['operator']} {'x'.join(map(str, shape.values()))}"
        self.compared(family["operator"], {**family["values"], **shape}, family["math"], what)

    def entry(self, entry):
        first, = self.pack.OPERATORS[entry["operator"]]["shape"][:1]
        grown = {**entry["values"], first: entry["values"][first] + 1}
        problem, got = self.compared(entry["operator"], entry["values"], entry["math"], entry["problem"])
        self.compared(entry["operator"], grown, entry["math"], f"{entry['problem']}, {first} one more")
        self.ways(problem, got, entry["math"])

    def ways(self, problem, got, mode):
        """Runs one problem in the ways that programs do."""
        kernels, settings, tensors = problem.kernels, problem.settings, problem.tensors
        run = kernels.run
        torch._dynamo.reset()  # all entries share a function, which may be compiled only a few times
        again = torch.compile(lambda *t: run(settings, *t, mode=mode), fullgraph=True)(*tensors)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = run(settings, *tensors, mode=mode)
        graph.replay()
        torch.cuda.synchronize()
        self.say(torch.equal(again, got) and torch.equal(captured, got), "  under torch.compile and in a CUDA graph")
        if got.is_floating_point():
            self.gradients(run, settings, tensors)
        torch.library.opcheck(kernels.call, (*tensors, settings, mode))

        class Exported(torch.nn.Module):
            def forward(self, *tensors):
                return run(settings, *tensors, mode=mode)

        if all(t is not None for t in tensors):
            exported = torch.export.export(Exported(), tuple(tensors)).module()
            self.say(torch.equal(exported(*tensors), got), "  by torch.export")

    def gradients(self, run, settings, tensors):
        first, found = next(t for t in tensors if t is not None).requires_grad_(), []
        for way in (run, torch.compile(lambda *t: run(settings, *t[1:]), fullgraph=True)):
            first.grad = None
            answer = way(settings, *tensors)
            way(settings, *tensors)  # a later call must not change the result
            answer.sum().backward()
            found.append(first.grad)
        first.requires_grad_(False)
        agree = torch.allclose(*found, rtol=1e-2, atol=1e-2 * largest(found[0]))
        self.say(bool(found[0].isfinite().all()) and agree, "  gradients, also under torch.compile")


def main():
    check, draw = Check(pathlib.Path(sys.argv[1])), random.Random(1)
    print(f"import torch {imported - begun:.2f} s, the pack {check.seconds:.3f} s")
    for family in check.manifest.get("families", ()):
        for _ in range(12):
            check.family(family, draw)
    for entry in check.manifest["entries"]:
        check.entry(entry)
    sys.exit(check.wrong > 0)


if __name__ == "__main__":
    main()
