"""Replaces modules of models with made-up times, on the CPU, and checks which are left: replace_model.py PACK"""
import dataclasses
import random
import sys

import torch
from on_cpu import check
from torch import nn


class Clock:
    """A clock that advances only when a module moves it."""

    now = 0.0

    def mark(self):
        return Clock.now

    def ms(self, begin, end):
        return end - begin

    def wait(self):
        assert not torch.cuda.is_available()

    def close(self):
        Clock.closed = True

    def captured(self, call):
        begin = Clock.now
        call()
        taken = Clock.now - begin
        return lambda: tick(taken)


@torch._dynamo.disable
def tick(ms):
    Clock.now += ms


own_forward = nn.Conv2d.forward
nn.Conv2d.forward = lambda self, x: tick(getattr(self, "own", 1.0)) or own_forward(self, x)  # set before the pack is imported
import layers  # noqa: E402

measure, modules = sys.modules["layers.measure"], sys.modules["layers.modules"]


class Own(nn.Linear):
    """A module that takes 1 ms with PyTorch's code and `ours` ms with the kernel, whose output is wrong by `off`."""

    own, ours, off, fails = 1.0, 0.5, 0.0, None

    def forward(self, x):
        tick(self.own)
        return super().forward(x)


class Kernel(Own):
    running = 0  # number of kernels in a pass

    def forward(self, x):
        if self.fails:
            raise self.fails
        Kernel.running += 1
        tick(self.ours)
        return nn.functional.linear(x, self.weight, self.bias) + self.off


@dataclasses.dataclass
class Answer:
    y: torch.Tensor
    more: dict


class Model(nn.Module):
    """Modules in a row. Each kernel beyond the first makes a pass slower by `together` ms."""

    def __init__(self, *layers, together=0.0):
        super().__init__()
        self.layers, self.together = nn.Sequential(*layers), together
        self.unused = make()
        self.eval()

    def forward(self, x, scale=1.0):
        Kernel.running = 0
        y = self.layers(x) * scale
        tick(self.together * max(0, Kernel.running - 1))
        return Answer(y, {"sum": y.sum()})


def make(width=8, **given):
    layer = Own(width, width)
    for name, value in given.items():
        setattr(layer, name, value)
    return layer


def candidates(model, gain=0.0):
    named = [(name, m) for name, m in model.named_modules() if type(m) is Own]
    return [measure.Candidate(name, m, Kernel, "linear", (m.ours, m.off), gain_ms=lambda *_, m=m: m.own - m.ours) for name, m in named]


def measured(model, run="plain", inputs=None):
    inputs = (torch.randn(4, 8),) if inputs is None else inputs
    return measure.measure(model, inputs, run, candidates(model), Clock())


def kinds(model):
    return [type(m) for m in model.modules() if isinstance(m, Own)]


def whys(done):
    return {name: group.why for group in done.left for name in group.modules}


torch.manual_seed(3)
model = Model(make(), make(), make(ours=1.5), make(ours=1.0))
done = measured(model)
kept, = done.kept
check("what pays is kept, with equals in one group", kept.modules == ["layers.0", "layers.1"])
check("and nothing else", kinds(model) == [Kernel, Kernel, Own, Own, Own] and done.replaced == dict.fromkeys(kept.modules, "linear"))
check("the rest is left, with why", whys(done) == {
    "layers.2": "it is not faster in the model", "layers.3": "it is not faster in the model", "unused": "these inputs do not reach it"})
check("times of the group and of the model", (kept.before_ms, kept.after_ms, done.before_ms, done.after_ms) == (2.0, 1.0, 4.0, 3.0))
check("the table", "| layers.0, layers.1 | linear | 2 | 1 | 2.000x [2.000, 2.000] |\n" in str(done))
check("its last line", str(done).endswith("\nmodel: 4 ms before, 3 ms after (plain), 1.333x [1.333, 1.333]"))

for run in ("plain", "graph"):
    model = Model(make(ours=0.1), make(ours=0.6), make(ours=0.7), make(ours=0.8), together=1.5)
    done = measured(model, run)
    check(f"{run}: what does not pay together is put back, the least gain first", kinds(model) == [Kernel, Own, Own, Own, Own])
    check(f"{run}: which the table says", list(whys(done).values()).count("the whole model is not faster with it") == 3)
    model = Model(make(ours=1.1), make(ours=2.0))
    check(f"{run}: nothing pays", "nothing was replaced" in str(measured(model, run)) and kinds(model) == [Own] * 3)

model = Model(make(off=9.0), make(off=float("nan")), make(fails=RuntimeError("no launch\nat all")), make(ours=0.4))
why = whys(measured(model))
check("a wrong kernel is put back, however fast", kinds(model) == [Own, Own, Own, Kernel, Own])
check("and the table says why", "of its spread" in why["layers.0"] and "inf" in why["layers.1"])
check("also where it fails", why["layers.2"] == "it fails: RuntimeError: no launch")
model = Model(make(fails=KeyboardInterrupt()), make())
try:
    measured(model)
    check("interrupted", False)
except KeyboardInterrupt:
    hooks = any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    check("interrupted: all is as it was", kinds(model) == [Own] * 3 and not hooks)


class Stateful(nn.Module):
    """A module that in training draws numbers, updates statistics, replaces a buffer and overwrites its input."""

    def __init__(self):
        super().__init__()
        self.norm, self.drop, self.layer = nn.BatchNorm1d(8), nn.Dropout(0.5), make()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        x.mul_(0.5)
        self.seen = self.seen + random.random()
        return self.layer(self.drop(self.norm(x)))


model, x = Stateful(), torch.randn(16, 8)
before = {name: t.clone() for name, t in model.state_dict().items()}
given, seen, state, drawn, grad = x.clone(), model.seen, torch.get_rng_state(), random.getstate(), []
model.layer.register_forward_hook(lambda *_: grad.append(torch.is_grad_enabled()))
done = measured(model, inputs=x)
same = all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
check("buffers, inputs and random numbers are as before", same and torch.equal(x, given) and model.seen is seen and torch.equal(torch.get_rng_state(), state) and random.getstate() == drawn)
check("a model in training is measured with gradients", model.training and all(grad) and [type(model.layer)] == [Kernel] and len(model.layer._forward_hooks) == 1)
grad.clear()
model.eval().layer.__class__ = Own
measured(model, inputs={"x": x})
check("one in inference without, and stays so", not model.training and grad and not any(grad) and torch.is_grad_enabled())

model = Model(make(ours=0.1), make(ours=0.6), make(ours=0.7), make(ours=0.8), together=1.0)
compiled = torch.compile(model, backend="eager")
check("a compiled model tells how it runs", measure.way_of(compiled, None) == "compile" and measure.way_of(model, None) == "plain" and measure.way_of(nn.Sequential(compiled), None) == "compile")
done = measured(compiled, "compile")
check("compiled: halved until it pays", kinds(model) == [Kernel, Kernel, Own, Own, Own] and done.run == "compile" and done.after_ms < done.before_ms)
torch._dynamo.reset()
for run, of in (("fast", model), ("plain", compiled)):
    try:
        measure.way_of(of, run)
        check("another way is refused", False)
    except ValueError as error:
        check(f"another way is refused: {error}", "\n" not in str(error))

one = torch.randn(100)
for what, found, wanted, least, most in (
    ("equal", one, one, 0, 0), ("near", one + 1e-3, one, 5e-4, 2e-3), ("infinite where it was", torch.tensor([1.0, float("inf")]), torch.tensor([1.0, float("inf")]), 0, 0),
    ("a new NaN", torch.tensor([1.0, float("nan")]), torch.tensor([1.0, 2.0]), float("inf"), float("inf")), ("no NaN any more", torch.tensor([1.0, 2.0]), torch.tensor([1.0, float("nan")]), 0, 0),
    ("other labels", torch.tensor([1, 2]), torch.tensor([1, 3]), 0.5, 0.5), ("another shape", one[:9], one, float("inf"), float("inf")), ("nothing", one[:0], one[:0], 0, 0),
    ("of one value", torch.full((9,), 2.2), torch.full((9,), 2.0), 0.09, 0.11), ("complex", one + 1j, one + 0j, 0.5, 2),
):
    check(f"distance: {what}", least <= measure.distance(found, wanted) <= most)
check("graphs' memory is given back", Clock.closed)
check("an interval of the median", measure.between(list(range(1, 41))) == (20.5, (14, 27)))

# The pack's own classes, with PyTorch's computation in place of kernels, which run nothing here.
torch.cuda.device = lambda index: __import__("contextlib").nullcontext()
modules.Clock = Clock
modules.learned = lambda call, tensors, order: (call(), None)
layers.Conv2d.autotune_call = lambda self, place, settings, tensors: tick(0.25) or own_forward(self, tensors[0])
model = nn.Sequential(nn.Conv2d(4, 128, 3, bias=False), nn.ReLU(), nn.Conv2d(128, 4, 1))
x = torch.randn(1, 4, 9, 9)
done = layers.replace(model, x)
check("through the pack", type(model[0]) is layers.Conv2d and type(model[2]) is nn.Conv2d and abs(done.faster - 2 / 1.25) < 1e-9)
check("other inputs are left to PyTorch, which nobody measured", modules.choice(layers.Conv2d, model[0], torch.randn(2, 4, 9, 9), (), "plain", False)[0] < 0)
begin = Clock.now
model(x)
check("and those measured are not", Clock.now - begin == 1.25)
print(done)
done = layers.replace(model)
check("without inputs it goes by what searches measured", type(model[0]) is nn.Conv2d and "autotune_measured" not in vars(model[0]) and not done.kept)
layers.Conv2d.autotune_call = lambda self, place, settings, tensors: tick(4.0) or own_forward(self, tensors[0])
done = layers.replace(model, [x])
check("a slow kernel leaves no trace", type(model[0]) is nn.Conv2d and not [name for name in vars(model[0]) if name.startswith("autotune")] and not done.kept)
