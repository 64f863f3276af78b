#!/usr/bin/env python3
"""Holds a pack against PyTorch on this machine's GPU.

    scripts/pack_check.py PACK

Every entry's problem, one of another shape, and shapes of every family's range, through the pack's functions; under
torch.compile, in a CUDA graph, with gradients and exported; the time of a call on the host, and of PyTorch's.

    scripts/pack_check.py PACK --replace [MODEL [BATCH]]

looks at replace(model, inputs) alone, plain and in a CUDA graph: whether the model then answers the same, in no more
time, and everything else of it is as it was. MODEL is one of torchvision's, as resnet50 (64 pictures of 224x224 in f16,
channels last), or else the modules of the pack's own problems side by side. It takes some 30 s.
"""
import copy
import pathlib
import random
import sys
import time

if len(sys.argv) != 2 and sys.argv[2:3] != ["--replace"]:
    sys.exit(__doc__)
begun = time.perf_counter()
import torch  # noqa: E402

imported = time.perf_counter()
import pack_problems  # noqa: E402

SLOW_S = 0.01  # of a call with the GPU's time, as of a general kernel of a loss: its host's time is not asked for
CALLS = 200


def host_us(call):
    """Microseconds of the host for a call."""
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


class Check:
    """The checks of a pack; wrong counts those that failed."""

    def __init__(self, opened):
        self.opened, self.manifest, self.wrong = opened, opened.manifest, 0

    def say(self, good, words):
        self.wrong += not good
        print(f"{'ok   ' if good else 'WRONG'} {words}", flush=True)

    def compared(self, name, values, mode, what):
        """Compares the pack's answer with PyTorch's in double precision. Returns the problem and the answer."""
        problem = self.opened.problem(name, values, mode)
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
        if hasattr(kernels, "in_place") and got.shape == tensors[0].shape:
            over = tensors[0].clone()
            kernels.renew(over, *tensors[1:], problem.settings, mode)
            good, kind = good and torch.equal(over, got), kind + " and in place"
        with torch.no_grad():
            ours, theirs = host_us(lambda: problem.run(mode)), host_us(problem.theirs)
        self.say(good, f"{what}: {kind}, error {error:.1e}, host {ours:.1f} us, PyTorch's {theirs:.1f}")
        return problem, got

    def family(self, family, draw):
        dims = self.opened.pack.OPERATORS[family["operator"]]["shape"]
        shape = {name: draw.randint(*draw.choice(spans)) for name, spans in zip(dims, family["range"])}
        what = f"{family['operator']} {'x'.join(map(str, shape.values()))}"
        self.compared(family["operator"], {**family["values"], **shape}, family["math"], what)

    def entry(self, entry):
        first, = self.opened.pack.OPERATORS[entry["operator"]]["shape"][:1]
        grown = {**entry["values"], first: entry["values"][first] + 1}
        problem, got = self.compared(entry["operator"], entry["values"], entry["math"], entry["problem"])
        self.compared(entry["operator"], grown, entry["math"], f"{entry['problem']}, {first} one more")
        self.ways(problem, got, entry["math"])

    def ways(self, problem, got, mode):
        """One problem as programs run it."""
        kernels, settings, tensors = problem.kernels, problem.settings, problem.tensors
        run = kernels.run
        torch._dynamo.reset()  # the same function for each entry, and few compilations of one are allowed
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
            way(settings, *tensors)  # a later call changes nothing of it
            answer.sum().backward()
            found.append(first.grad)
        first.requires_grad_(False)
        agree = torch.allclose(*found, rtol=1e-2, atol=1e-2 * largest(found[0]))
        self.say(bool(found[0].isfinite().all()) and agree, "  gradients, also under torch.compile")

    def model(self, arguments):
        """A model for replace, and its inputs."""
        if arguments:
            import torchvision

            model = getattr(torchvision.models, arguments[0])().cuda().half().to(memory_format=torch.channels_last)
            batch = int(arguments[1]) if arguments[1:] else 64
            x = torch.randn(batch, 3, 224, 224, device="cuda", dtype=torch.half)
            return model.eval(), (x.to(memory_format=torch.channels_last),)
        problems = [self.opened.problem(e["operator"], e["values"], e["math"]) for e in self.manifest["entries"]]
        layers = [layer for problem in problems if (layer := problem.module())]
        return Layers([module for module, _ in layers]).cuda().eval(), tuple(x for _, x in layers)

    def replace(self, arguments):
        package, measure = (sys.modules[self.manifest["name"] + part] for part in ("", ".measure"))
        (model, inputs), clock = self.model(arguments), measure.Clock()
        before = {name: t.clone() for name, t in model.state_dict().items()}
        for run in ("plain", "graph"):
            other, begin, numbers = copy.deepcopy(model), time.perf_counter(), torch.cuda.get_rng_state()
            print(package.replace(other, inputs, run), f"\n{run}: it took {time.perf_counter() - begin:.1f} s")
            ways = [measure.Program(m, inputs, run, clock).way([]) for m in (model, other)]
            timed = measure.Times(measure.Program(model, inputs, run, clock).in_turns(*ways))
            with torch.no_grad():
                outputs = zip(*(measure.tensors_of(m(*inputs)) for m in (other, model)))
                off = max((measure.distance(ours, theirs) for ours, theirs in outputs), default=0.0)
            same = all(torch.equal(t, before[name]) for name, t in other.state_dict().items())
            same = same and torch.equal(torch.cuda.get_rng_state(), numbers)
            self.say(timed.interval[1] >= 0.99 and off < 0.3 and same,
                     f"{run}: timed again {timed}, outputs differ by {off:.1e} of their spread, state "
                     f"{'as it was' if same else 'changed'}")


class Layers(torch.nn.Module):
    """The modules of the pack's problems, each on an input of its own."""

    def __init__(self, modules):
        super().__init__()
        self.layers = torch.nn.ModuleList(modules)

    def forward(self, *inputs):
        return [module(x) for module, x in zip(self.layers, inputs)]


def main():
    opened = pack_problems.Pack(pathlib.Path(sys.argv[1]))
    print(f"import torch {imported - begun:.2f} s, the pack {opened.seconds:.3f} s")
    check, draw = Check(opened), random.Random(1)
    if sys.argv[2:]:
        check.replace(sys.argv[3:])
    else:
        for family in check.manifest.get("families", ()):
            for _ in range(12):
                check.family(family, draw)
        for entry in check.manifest["entries"]:
            check.entry(entry)
    sys.exit(check.wrong > 0)


if __name__ == "__main__":
    main()
