"""Holds a pack against PyTorch on this machine's GPU: python3 scripts/pack_check.py PACK

Every entry's problem, one of another shape, and shapes of every family's range, through the pack's
functions; the drop-in modules with gradients, under torch.compile and in a CUDA graph; the time of a
call on the host.

    python3 scripts/pack_check.py PACK --replace [MODEL [BATCH]]

looks at replace(model, inputs) alone, plain and in a CUDA graph: whether the model then answers the same, in no more time, and
all else of it is as it was. MODEL is one of torchvision's, as resnet50 (64 pictures of 224x224 in f16, channels last), or else the modules
of the pack's own problems side by side. It takes some 30 s.
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

opened = pack_problems.Pack(pathlib.Path(sys.argv[1]))
manifest = opened.manifest
print(f"import torch {imported - begun:.2f} s, the pack {opened.seconds:.3f} s")


def host_us(call):
    """The host's time of a call; not a number where the GPU's would take the check's, as a general kernel's of a loss."""
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    if time.perf_counter() - begin > 0.01:
        return float("nan")
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(200):
        call()
    taken = time.perf_counter() - begin
    torch.cuda.synchronize()
    return taken / 200 * 1e6


def compared(name, values, mode, what):
    """Computes a problem with the pack, and holds it against PyTorch's own answer in double precision. Whether it is wrong, the problem, and the answer."""
    problem = opened.problem(name, values, mode)
    if problem is None:
        return False, None, None
    tensors, dtype, kernels = problem.tensors, problem.dtype, problem.kernels
    want = problem.theirs(lambda t: t.double() if t.is_floating_point() else t)
    got = problem.run(mode)
    shapes = [None if t is None else t.shape for t in tensors]
    kind = "tuned" if kernels.tuned(problem.settings, shapes, dtype, 0, mode, any(problem.lasts)) else "general"
    error = (got.double() - want).abs().max().item() / want.abs().max().item()
    bad = got.shape != want.shape or not error < (2e-2 if dtype != torch.float32 else 2e-3 if mode != "fp32" else 1e-4)
    if hasattr(kernels, "in_place") and got.shape == tensors[0].shape:
        over = tensors[0].clone()
        kernels.renew(over, *tensors[1:], problem.settings, mode)
        bad = bad or not torch.equal(over, got)
        kind += " and in place"
    print(f"{'WRONG' if bad else 'ok'}  {kind}  error {error}  host {host_us(lambda: problem.run(mode)):.1f} us  {what}")
    return bad, problem, got


class Layers(torch.nn.Module):
    """The modules of the pack's problems, each on an input of its own."""

    def __init__(self, modules):
        super().__init__()
        self.layers = torch.nn.ModuleList(modules)

    def forward(self, *inputs):
        return [module(x) for module, x in zip(self.layers, inputs)]


def to_replace(arguments):
    """A model and its inputs."""
    if arguments:
        import torchvision

        model = getattr(torchvision.models, arguments[0])().cuda().half().to(memory_format=torch.channels_last).eval()
        x = torch.randn(int(arguments[1]) if arguments[1:] else 64, 3, 224, 224, device="cuda", dtype=torch.half)
        return model, (x.to(memory_format=torch.channels_last),)
    problems = [opened.problem(e["operator"], e["values"], e["math"]) for e in manifest["entries"]]
    layers = [layer for problem in problems if (layer := problem.module())]
    return Layers([module for module, _ in layers]).cuda().eval(), tuple(x for _, x in layers)


def checked_replace(arguments):
    """How many of the ways in which a program may run a model are not as they should be."""
    module, wrong = sys.modules[manifest["name"]], 0
    model, inputs = to_replace(arguments)
    measure, clock = sys.modules[manifest["name"] + ".measure"], sys.modules[manifest["name"] + ".measure"].Clock()
    before = {name: t.clone() for name, t in model.state_dict().items()}
    for run in ("plain", "graph"):
        other, begin, numbers = copy.deepcopy(model), time.perf_counter(), torch.cuda.get_rng_state()
        done = module.replace(other, inputs, run)
        print(done, f"\n{run}: it took {time.perf_counter() - begin:.1f} s")
        ways = [measure.Program(m, inputs, run, clock).way([]) for m in (model, other)]
        ratio, (low, high) = measure.between([b / a for b, a in measure.Program(model, inputs, run, clock).in_turns(*ways)])
        with torch.no_grad():
            off = max((measure.distance(f, w) for f, w in zip(measure.tensors_of(other(*inputs)), measure.tensors_of(model(*inputs)))), default=0.0)
        same = all(torch.equal(t, before[name]) for name, t in other.state_dict().items()) and torch.equal(torch.cuda.get_rng_state(), numbers)
        good = high >= 0.99 and off < 0.3 and same
        print(f"{'ok' if good else 'WRONG'}  {run}: timed again {ratio:.3f}x [{low:.3f}, {high:.3f}], outputs differ by {off:.1e} of their spread, state {'as it was' if same else 'CHANGED'}")
        wrong += not good
    return wrong


if sys.argv[2:]:
    sys.exit(checked_replace(sys.argv[3:]))
failed = 0
draw = random.Random(1)
for family in manifest.get("families", ()):
    for _ in range(12):
        dims = opened.pack.OPERATORS[family["operator"]]["shape"]
        shape = {name: draw.randint(*draw.choice(spans)) for name, spans in zip(dims, family["range"])}
        failed += compared(family["operator"], {**family["values"], **shape}, family["math"], f"{family['operator']} {'x'.join(map(str, shape.values()))}")[0]
for entry in manifest["entries"]:
    dims = opened.pack.OPERATORS[entry["operator"]]["shape"]
    for grown in (0, 1):
        values = dict(entry["values"])
        values[dims[0]] += grown
        bad, problem, got = compared(entry["operator"], values, entry["math"], f"{entry['problem']} +{grown}")
        failed += bad
        if grown:
            continue
        kernels, settings, tensors = problem.kernels, problem.settings, problem.tensors
        run = kernels.run
        torch._dynamo.reset()  # the same function for each entry, and few compilations of one are allowed
        again = torch.compile(lambda *t: run(settings, *t, mode=entry["math"]), fullgraph=True)(*tensors)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = run(settings, *tensors, mode=entry["math"])
        graph.replay()
        torch.cuda.synchronize()
        same = torch.equal(again, got) and torch.equal(captured, got)
        print("    torch.compile and a CUDA graph:", "the same" if same else "OTHER RESULTS")
        if got.is_floating_point():
            first, found = next(iter(t for t in tensors if t is not None)).requires_grad_(), []
            for way in (run, torch.compile(lambda *t: run(settings, *t[1:]), fullgraph=True)):
                first.grad = None
                answer = way(settings, *tensors)
                way(settings, *tensors)  # a later call changes nothing of it
                answer.sum().backward()
                found.append(first.grad)
            agree = found[0].isfinite().all() and torch.allclose(*found, rtol=1e-2, atol=1e-2 * found[0].abs().max().item())
            print("    gradients, also under torch.compile:", "ok" if agree else "WRONG")
            first.requires_grad_(False)
        torch.library.opcheck(kernels.call, (*tensors, settings, entry["math"]))
        print("    opcheck ok")

        class Exported(torch.nn.Module):
            def forward(self, *tensors):
                return run(settings, *tensors, mode=entry["math"])

        given = tuple(t for t in tensors if t is not None)
        exported = torch.export.export(Exported(), given) if len(given) == len(tensors) else None
        if exported is not None:
            print("    torch.export", "the same" if torch.equal(exported.module()(*given), got) else "OTHER RESULTS")
sys.exit(failed > 0)
